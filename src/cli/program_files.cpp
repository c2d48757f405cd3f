#include "program_files.h"

#include <algorithm>
#include <filesystem>

#include "files.h"
#include "standard_streams.h"

namespace polyweft::cli {
namespace {

namespace fs = std::filesystem;

Result<std::vector<ProgramFile>> files_below(const std::string& folder) {
  std::vector<ProgramFile> out;
  std::error_code problem;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, problem), end;
       !problem && at != end; at.increment(problem)) {
    std::error_code of_entry;
    if (at->path().extension() == ".weft" && !at->is_directory(of_entry)) out.push_back({at->path().string(), ""});
  }
  if (problem) return fail("PW0001", folder + ": cannot be read", {"is the path right, and may you read it?"});
  if (out.empty()) return fail("PW0001", folder + ": has no .weft file in it");
  std::sort(out.begin(), out.end(), [](const ProgramFile& a, const ProgramFile& b) { return a.path < b.path; });
  return out;
}

}  // namespace

std::string ProgramFile::shown() const {
  return is_standard_stream(path) ? kStandardInput : path;
}

ProgramFile program_file(const std::string& word) {
  std::error_code problem;
  const auto colon = word.rfind(':');
  if (colon == std::string::npos || colon == 0 || fs::exists(word, problem)) return {word, ""};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

Result<std::vector<ProgramFile>> program_files(const std::vector<std::string>& words) {
  std::vector<ProgramFile> out;
  for (const std::string& word : words) {
    std::error_code problem;
    if (!fs::is_directory(word, problem)) {
      out.push_back(program_file(word));
      continue;
    }
    auto below = files_below(word);
    if (!below) return below;
    out.insert(out.end(), below->begin(), below->end());
  }
  return out;
}

Result<ParsedPrograms> parse_file(const ProgramFile& file) {
  auto text = read_file(file.path);
  if (!text) return text.error();
  auto parsed = parse_programs(*text, file.shown());
  if (!parsed || file.program.empty()) return parsed;
  std::string names;
  for (const Program& program : parsed->programs) names += (names.empty() ? "" : ", ") + program.name;
  std::erase_if(parsed->programs, [&](const Program& program) { return program.name != file.program; });
  if (parsed->programs.empty())
    return fail("PW0002", file.shown() + " has no program '" + file.program + "'", {"it has: " + names});
  return parsed;
}

}  // namespace polyweft::cli
