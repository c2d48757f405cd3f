#include "bench/recorded_spaces/store.h"

#include <SQLiteCpp/VariadicBind.h>

#include <ctime>
#include <sstream>

namespace polyweft::bench {
namespace {

std::string text_of(const std::vector<int64_t>& values) {
  std::string out;
  for (const int64_t v : values) out += (out.empty() ? "" : " ") + std::to_string(v);
  return out;
}
std::vector<int64_t> values_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<int64_t> out;
  for (int64_t v = 0; in >> v;) out.push_back(v);
  return out;
}
/// `mr:2,4,6 nc:64`: one value where a decision is not open.
std::string text_of(const std::vector<Choice>& choices) {
  std::string out;
  for (const Choice& choice : choices) {
    out += (out.empty() ? "" : " ") + choice.name + ":";
    for (size_t k = 0; k < choice.values.size(); ++k) out += (k ? "," : "") + std::to_string(choice.values[k]);
  }
  return out;
}

std::string today() {
  std::string out(16, '\0');
  const std::time_t now = std::time(nullptr);
  out.resize(std::strftime(out.data(), out.size(), "%Y-%m-%d", std::gmtime(&now)));
  return out;
}

}  // namespace

SpaceStore::SpaceStore(const std::string& path) : db_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
  db_.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;");
  db_.exec(R"(
create table if not exists space(name text, program text, sizes text, target text, machine text, seed integer,
  recorded text, peak_gflops real, memory_gb_s real, sentinel text, sentinel_ns real);
create table if not exists structure(id integer primary key, family integer, is_first integer, choices text,
  trace text);
create table if not exists candidate(id integer primary key, structure integer, decisions text, predicted_ns real,
  nest_hash text unique, status integer, ratio real, spread real, first_choice integer);
create table if not exists edge(parent integer, child integer, kind text, primary key(parent, child, kind));
)");
}

std::optional<SpaceHeader> SpaceStore::header() const {
  SQLite::Statement row(db_,
                        "select name, program, sizes, target, machine, seed, peak_gflops, memory_gb_s, sentinel, "
                        "sentinel_ns from space");
  if (!row.executeStep()) return std::nullopt;
  SpaceHeader out;
  int at = 0;
  for (std::string* text : {&out.name, &out.program, &out.sizes, &out.target, &out.machine})
    *text = row.getColumn(at++).getString();
  out.seed = static_cast<uint64_t>(row.getColumn(5).getInt64());
  out.peak_gflops = row.getColumn(6).getDouble(), out.memory_gb_s = row.getColumn(7).getDouble();
  out.sentinel = row.getColumn(8).getString(), out.sentinel_ns = row.getColumn(9).getDouble();
  return out;
}

void SpaceStore::set_header(const SpaceHeader& h) {
  SQLite::Statement insert(db_, "insert into space values(?,?,?,?,?,?,?,?,?,?,?)");
  SQLite::bind(insert, h.name, h.program, h.sizes, h.target, h.machine, static_cast<int64_t>(h.seed), today(),
               h.peak_gflops, h.memory_gb_s, h.sentinel, h.sentinel_ns);
  insert.exec();
}

void SpaceStore::set_sentinel(const std::string& nest_hash, double ns) {
  SQLite::Statement update(db_, "update space set sentinel = ?, sentinel_ns = ?");
  SQLite::bind(update, nest_hash, ns);
  update.exec();
}

bool SpaceStore::has_structures() const {
  SQLite::Statement row(db_, "select 1 from structure limit 1");
  return row.executeStep();
}

void SpaceStore::add(const Structure& s, bool is_first, const std::vector<Choice>& choices) {
  SQLite::Statement insert(db_, "insert into structure values(?,?,?,?,?)");
  SQLite::bind(insert, s.id, s.family, is_first ? 1 : 0, text_of(choices), s.trace);
  insert.exec();
}

std::vector<Structure> SpaceStore::structures() const {
  std::vector<Structure> out;
  SQLite::Statement row(db_, "select id, family, trace from structure order by id");
  while (row.executeStep())
    out.push_back({row.getColumn(0).getInt64(), row.getColumn(1).getUInt(), row.getColumn(2).getString(), nullptr});
  return out;
}

void SpaceStore::add(const Member& m) {
  SQLite::Statement insert(db_, "insert into candidate values(?,?,?,?,?,?,?,?,?)");
  SQLite::bind(insert, m.id, m.structure, text_of(m.decisions), m.predicted_ns, m.nest_hash, static_cast<int>(m.status),
               m.ratio, m.spread);
  if (m.first_choice) insert.bind(9, *m.first_choice);
  insert.exec();
}

void SpaceStore::set_time(const Member& m) {
  SQLite::Statement update(db_, "update candidate set ratio = ?, spread = ? where id = ?");
  SQLite::bind(update, m.ratio, m.spread, m.id);
  update.exec();
}

std::vector<Member> SpaceStore::members() const {
  std::vector<Member> out;
  SQLite::Statement row(
      db_,
      "select id, structure, decisions, predicted_ns, nest_hash, status, ratio, spread from candidate "
      "order by id");
  while (row.executeStep()) {
    Member m;
    m.id = row.getColumn(0).getInt64(), m.structure = row.getColumn(1).getInt64();
    m.decisions = values_in(row.getColumn(2).getString());
    m.predicted_ns = row.getColumn(3).getDouble();
    m.nest_hash = row.getColumn(4).getString();
    m.status = static_cast<RunStatus>(row.getColumn(5).getInt());
    m.ratio = row.getColumn(6).getDouble(), m.spread = row.getColumn(7).getDouble();
    out.push_back(std::move(m));
  }
  return out;
}

void SpaceStore::add_edge(int64_t parent, int64_t child, const char* kind) {
  SQLite::Statement insert(db_, "insert or ignore into edge values(?,?,?)");
  SQLite::bind(insert, parent, child, kind);
  insert.exec();
}

Status export_space(const std::filesystem::path& from, const std::filesystem::path& to) try {
  std::filesystem::remove(to);
  SQLite::Database out(to.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Statement attach(out, "attach ? as recorded");
  attach.bind(1, from.string());
  attach.exec();
  out.exec(R"(
create table space(name text, program text, sizes text, target text, machine text, seed integer, recorded text,
  sentinel_ns real);
create table structure(id integer primary key, family integer, is_first integer, choices text);
create table candidate(id integer primary key, structure integer, decisions text, predicted_ns real, nest_hash text,
  status integer, ratio real, spread real, first_choice integer);
create table edge(parent integer, child integer, kind text, primary key(parent, child, kind)) without rowid;
insert into space select name, program, sizes, target, machine, seed, recorded, sentinel_ns from recorded.space;
insert into structure select id, family, is_first, choices from recorded.structure;
insert into candidate select id, structure, decisions, round(predicted_ns), substr(nest_hash, 1, 12), status,
  round(ratio, 4), round(spread, 4), first_choice from recorded.candidate;
insert into edge select parent, child, substr(kind, 1, 1) from recorded.edge;
)");
  out.exec("detach recorded");
  out.exec("vacuum");
  return Ok{};
} catch (const SQLite::Exception& e) {
  return fail("", from.string() + " is no recorded space: " + e.what());
}

}  // namespace polyweft::bench
