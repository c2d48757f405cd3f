#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "replay/recorded_space.h"

namespace polyweft::replay {
namespace {

std::vector<int64_t> numbers_in(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream in(text);
  std::vector<int64_t> out;
  for (int64_t v = 0; in >> v;) out.push_back(v);
  return out;
}

/// `mr:2,4,6 nc:64`
std::vector<Choice> choices_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<Choice> out;
  for (std::string word; in >> word;) {
    const size_t at = word.rfind(':');
    out.push_back({word.substr(0, at), numbers_in(word.substr(at + 1))});
  }
  return out;
}

EdgeKind kind_in(const std::string& text) {
  return text == "d" ? EdgeKind::decision : text == "c" ? EdgeKind::crossed : EdgeKind::mutated;
}

}  // namespace

RecordedSpace recorded_space(const std::string& file) {
  SQLite::Database db(file, SQLite::OPEN_READONLY);
  std::map<int64_t, uint32_t> structure_of, candidate_of;
  std::vector<Structure> structures;
  SQLite::Statement rows(db, "select id, family, is_first, choices from structure order by id");
  while (rows.executeStep()) {
    structure_of.emplace(rows.getColumn(0).getInt64(), static_cast<uint32_t>(structures.size()));
    structures.push_back(
        {rows.getColumn(1).getUInt(), rows.getColumn(2).getInt() != 0, choices_in(rows.getColumn(3).getString())});
  }
  std::vector<RecordedCandidate> candidates;
  SQLite::Statement measured(db,
                             "select id, structure, decisions, predicted_ns, status, ratio, spread, first_choice from "
                             "candidate order by id");
  while (measured.executeStep()) {
    candidate_of.emplace(measured.getColumn(0).getInt64(), static_cast<uint32_t>(candidates.size()));
    RecordedCandidate c;
    c.structure = structure_of.at(measured.getColumn(1).getInt64());
    c.decisions = numbers_in(measured.getColumn(2).getString());
    c.predicted_ns = measured.getColumn(3).getDouble();
    c.status = static_cast<RunStatus>(measured.getColumn(4).getInt());
    c.ratio = measured.getColumn(5).getDouble();
    c.spread = measured.getColumn(6).getDouble();
    if (!measured.getColumn(7).isNull()) c.first_choice = measured.getColumn(7).getInt();
    candidates.push_back(std::move(c));
  }
  std::vector<Edge> edges;
  SQLite::Statement derived(db, "select parent, child, kind from edge order by parent, child, kind");
  while (derived.executeStep())
    edges.push_back({candidate_of.at(derived.getColumn(0).getInt64()), candidate_of.at(derived.getColumn(1).getInt64()),
                     kind_in(derived.getColumn(2).getString())});
  return {db.execAndGet("select name from space").getString(), std::move(structures), std::move(candidates), edges};
}

std::vector<RecordedSpace> recorded_spaces(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".sqlite") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<RecordedSpace> out;
  for (const std::string& file : files) out.push_back(recorded_space(file));
  return out;
}

}  // namespace polyweft::replay
