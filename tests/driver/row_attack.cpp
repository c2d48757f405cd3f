#include "driver/row_attack.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "db/record_rows.h"
#include "db/row_digest.h"
#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/values/seeded_data.h"
#include "schedules/mutator.h"
#include "support/rng.h"

namespace polyweft::test {
namespace {

// Integers: what is right is equal, whatever its order.
constexpr const char* kPrograms[] = {
    "program rows(M = 6, K = 24)\nin A: i32[M, K] values -99..99\nin B: i32[K] values -99..99\nout C[i: M] = sum[k: "
    "K](A[i, k] * B[k])\n",
    "program prefix(N = 40)\nin A: i64[N] values -99..99\nout S[i: N]: i64 = A[i] + (S[i-1] where i >= 1 else 0)\n",
    "program stages(N = 33)\nin A: i32[N + 2] values -99..99\nlet T[i: N + 1] = A[i] + 3 * A[i+1]\nout Y[i: N] = T[i] "
    "- 2 * T[i+1]\n",
};

Program program_of(const std::string& text) {
  auto parsed = parse_program(text);
  PW_CHECK(parsed.ok());
  return *parsed;
}

/// One change of a text: of its numbers, of its lines as a schedule's bug would, of its bytes, and what a terminal or
/// JSON would trip over.
std::string changed(const std::string& text, Rng& rng) {
  const uint64_t seed = rng();
  std::string out = text;
  const size_t at = text.empty() ? 0 : rng.below(text.size());
  switch (rng.below(10)) {
    case 0:
      return "";
    case 1:
      return out.insert(at, "\x1b]0;evil\x07\x1b[2J");
    case 2:
      return out.insert(at, "\xff\xc3");
    case 3:
      return out + out;
    case 4:
      return out.insert(at, std::string(1, '\0'));
    case 5:
      if (!text.empty()) out[at] = static_cast<char>(rng.below(256));
      return out;
    case 6:
      return out.erase(at, 1 + rng.below(12));
    default:
      return text.find("\nbody") == std::string::npos ? out.insert(at, std::to_string(rng.below(100)))
                                                      : Mutator(text, seed).mutated();
  }
}

/// Of nests mostly what still is one: an extent, a subscript far outside, a step of 0, a mark, a fused store.
std::string changed_nest(const std::string& nest, Rng& rng) {
  const std::pair<const char*, const char*> kRewrites[] = {{" .. ", " .. 1"},
                                                           {"[i", "[i + 100000000"},
                                                           {"[k", "[k + 3"},
                                                           {"0 .. ", "1 .. "},
                                                           {": i32 [", ": i32 [1"},
                                                           {"accumulate sum: ", "accumulate sum fused: "},
                                                           {" store: ", " store fused: "},
                                                           {"vector", "parallel"},
                                                           {" 0 .. ", " 0 - 1 .. "},
                                                           {"align 64", "align 4096"},
                                                           {"{", "{ seq { } "},
                                                           {" unroll", ""},
                                                           {" vector ", " axis \"thread_x\" vector "},
                                                           {"+", "-"},
                                                           {"i64", "i32"},
                                                           {"heap", "stack"}};
  if (rng.chance(0.5)) return changed(nest, rng);
  for (int tries = 0; tries < 20; ++tries) {
    const auto& [from, to] = kRewrites[rng.below(std::size(kRewrites))];
    std::vector<size_t> places;
    for (size_t at = nest.find(from); at != std::string::npos; at = nest.find(from, at + 1)) places.push_back(at);
    if (places.empty()) continue;
    std::string out = nest;
    return out.replace(places[rng.below(places.size())], std::string(from).size(), to);
  }
  return changed(nest, rng);
}

int64_t changed(int64_t value, Rng& rng) {
  const int64_t choices[] = {value + 1,        value - 1,        0,         -1,        1,         2, 3, 255, 256,
                             int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN, value ^ 4, 77};
  return choices[rng.below(std::size(choices))];
}

double changed(double value, Rng& rng) {
  const double choices[] = {value / 1000, value * 1000, 0.0, -1.0, 1e-300, 1e300, 1.0 / 0.0};
  return choices[rng.below(std::size(choices))];
}

void bind_change(SQLite::Statement& update, const SQLite::Column& cell, const std::string& column, Rng& rng) {
  if (cell.isInteger()) return update.bind(1, changed(cell.getInt64(), rng));
  if (cell.isFloat()) return update.bind(1, changed(cell.getDouble(), rng));
  const std::string text(static_cast<const char*>(cell.getBlob()), static_cast<size_t>(cell.getBytes()));
  if (cell.isText()) return update.bind(1, column == "record.nest" ? changed_nest(text, rng) : changed(text, rng));
  std::string blob = text;
  if (rng.chance(0.3)) blob.resize(rng.below(40));
  for (char& byte : blob)
    if (rng.chance(0.5)) byte = static_cast<char>(rng.below(256));
  update.bind(1, blob.data(), static_cast<int>(blob.size()));
}

/// Whatever digest belongs to a row as it stands now; keys of records, too, where asked: who can do the one can do the
/// other.
void make_digests_fit(SQLite::Database& file, bool keys_too) {
  const auto set = [&](const char* sql, const std::string& digest, int64_t id) {
    SQLite::Statement update(file, sql);
    update.bind(1, digest.data(), static_cast<int>(digest.size()));
    update.bind(2, id);
    update.exec();
  };
  SQLite::Statement records(file, db::record_select());
  while (records.executeStep()) {
    const TuningRecord record = db::record_at(records);
    set("UPDATE record SET digest = ? WHERE id = ?", db::record_digest(record), record.id);
    if (keys_too) set("UPDATE record SET key = ? WHERE id = ?", db::task_digest(record.key), record.id);
  }
  SQLite::Statement programs(file, "SELECT key, canonical, source, name, id FROM program");
  const auto text = [&](int column) { return programs.getColumn(column).getString(); };
  while (programs.executeStep())
    set("UPDATE program SET digest = ? WHERE id = ?", db::program_digest(text(0), text(1), text(2), text(3)),
        programs.getColumn(4).getInt64());
  SQLite::Statement traces(file, "SELECT text, id FROM trace");
  while (traces.executeStep())
    set("UPDATE trace SET digest = ? WHERE id = ?",
        db::RowDigest("trace").text(traces.getColumn(0).getString()).finish(), traces.getColumn(1).getInt64());
  SQLite::Statement efforts(file, "SELECT task, wall_s, trials, until_share, exhausted_by FROM effort");
  while (efforts.executeStep())
    set("UPDATE effort SET digest = ? WHERE task = ?",
        db::RowDigest("effort")
            .integer(efforts.getColumn(0).getInt64())
            .real(efforts.getColumn(1).getDouble())
            .integer(efforts.getColumn(2).getInt64())
            .real(efforts.getColumn(3).getDouble())
            .text(efforts.getColumn(4).getString())
            .finish(),
        efforts.getColumn(0).getInt64());
  SQLite::Statement rows(file, "SELECT tr.text, m.id, " + db::measurement_columns("m") +
                                   " FROM measurement m JOIN trace tr ON tr.id = m.trace");
  while (rows.executeStep())
    set("UPDATE measurement SET digest = ? WHERE id = ?",
        db::measurement_digest(rows.getColumn(0).getString(), db::measurement_at(rows, 2)),
        rows.getColumn(1).getInt64());
}

// False where the change is none, or SQLite does not take it (a key of its own twice).
bool change(const std::string& path, const std::string& column, int64_t record, bool is_unattested, Rng& rng) {
  static const std::map<std::string, const char*> kRowOfRecord = {
      {"record", "id = ?"},
      {"program", "id = (SELECT program FROM record WHERE id = ?)"},
      {"binding", "id = (SELECT k.binding FROM record r JOIN task k ON k.id = r.task WHERE r.id = ?)"},
      {"target", "id = (SELECT k.target FROM record r JOIN task k ON k.id = r.task WHERE r.id = ?)"},
      {"task", "id = (SELECT task FROM record WHERE id = ?)"},
      {"effort", "task = (SELECT task FROM record WHERE id = ?)"},
      {"trace", "id = (SELECT trace FROM record WHERE id = ?)"},
      {"measurement", "id = (SELECT measurement FROM record WHERE id = ?)"},
      {"certificate", "record = ?"},
      {"attestation", "record = ?"},
  };
  const std::string table = column.substr(0, column.find('.')), name = column.substr(column.find('.') + 1),
                    where = kRowOfRecord.at(table);
  SQLite::Database file(path, SQLite::OPEN_READWRITE);
  const auto value = [&] {
    SQLite::Statement row(
        file, "SELECT hex(cast(" + name + " AS BLOB)), typeof(" + name + ") FROM " + table + " WHERE " + where);
    row.bind(1, record);
    return row.executeStep() ? row.getColumn(0).getString() : std::string("gone");
  };
  const std::string before = value();
  try {
    SQLite::Statement row(file, "SELECT " + name + " FROM " + table + " WHERE " + where);
    row.bind(1, record);
    if (!row.executeStep()) return false;
    SQLite::Statement update(file, "UPDATE " + table + " SET " + name + " = ?1 WHERE " +
                                       std::string(where).replace(std::string(where).find('?'), 1, "?2"));
    bind_change(update, row.getColumn(0), column, rng);
    update.bind(2, record);
    row.reset();
    update.exec();
  } catch (const SQLite::Exception&) {
    return false;
  }
  if (value() == before) return false;
  make_digests_fit(file, rng.chance(0.7));
  if (is_unattested) file.exec("DELETE FROM attestation");
  return true;
}

bool is_coded(const Error& error) {
  return error.code.rfind("PW", 0) == 0 && kind_of(error.code) != ErrorKind::internal;
}

}  // namespace

const std::vector<std::string>& RowAttack::columns() {
  static const std::vector<std::string> all = {"record.nest",
                                               "record.key",
                                               "record.task",
                                               "record.program",
                                               "record.trace",
                                               "record.measurement",
                                               "record.median_ns",
                                               "record.origin",
                                               "record.verdict",
                                               "record.checker_version",
                                               "record.isl_version",
                                               "record.check_ms",
                                               "record.trace_text",
                                               "record.nest_hash",
                                               "record.status",
                                               "record.detail",
                                               "record.min_ns",
                                               "record.ci_rel",
                                               "record.samples",
                                               "record.ratio",
                                               "record.predicted_ns",
                                               "record.strategy",
                                               "record.seed",
                                               "record.toolchain",
                                               "record.unix_time",
                                               "record.digest",
                                               "program.key",
                                               "program.canonical",
                                               "program.source",
                                               "program.name",
                                               "binding.parameters",
                                               "target.fingerprint",
                                               "task.class",
                                               "task.abi",
                                               "task.threads",
                                               "task.binding",
                                               "task.target",
                                               "trace.text",
                                               "trace.task",
                                               "measurement.status",
                                               "measurement.median_ns",
                                               "measurement.nest_hash",
                                               "measurement.trace",
                                               "certificate.verdict",
                                               "certificate.checker_version",
                                               "attestation.mac",
                                               "attestation.host",
                                               "attestation.checker"};
  return all;
}

RowAttack::RowAttack(std::filesystem::path folder) : folder_(std::move(folder)) {
  Tuner tuner(*find_target("host"), options((folder_ / "good.db").string()));
  for (const char* text : kPrograms) {
    Subject subject;
    subject.program = program_of(text);
    subject.inputs = *tuner.make_inputs(subject.program, {}, InputSet::integer_valued, 5);
    const auto bound = normalize(polyweft::bind(subject.program, *make_binding(subject.program, {})));
    subject.expected = ir::evaluate(bound, subject.inputs, {})->tensors;
    TuneOptions tune;
    tune.trials = 2;
    auto report = tuner.tune(subject.program, tune);
    PW_CHECK(report.ok() && report->record.id > 0);
    subject.record = report->record.id;
    PW_CHECK(tuner.standing(**(*tuner.database())->record(subject.record)) == Standing::attested);
    subjects_.push_back(std::move(subject));
  }
}

TunerOptions RowAttack::options(const std::string& database) {
  TunerOptions out;
  out.database = database;
  out.secret = (folder_ / "state/secret").string();
  out.notice = [this](const std::string& text) { notices_.push_back(text); };
  return out;
}

std::string RowAttack::run(const std::string& column, uint64_t seed) {
  Rng rng(seed);
  const Subject& subject = subjects_[rng.below(subjects_.size())];
  const std::string path = (folder_ / "evil.db").string();
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::filesystem::copy_file(folder_ / "good.db", path, std::filesystem::copy_options::overwrite_existing);
  const bool is_unattested = rng.chance(0.3);  // as a file that another host wrote
  if (!change(path, column, subject.record, is_unattested, rng)) {
    ++outcomes_["not taken"];
    return "";
  }
  std::string wrong;
  for (const Subject& each : subjects_)
    if (&each == &subject || rng.chance(0.1)) wrong += ask(each, path);
  if (wrong.empty() && !is_unattested && column.rfind("attestation", 0) != 0 && column.rfind("effort", 0) != 0 &&
      column != "record.digest") {
    Tuner tuner(*find_target("host"), options(path));
    wrong = found_by_verify(tuner, subject);
  }
  return wrong.empty() ? "" : column + ", seed " + std::to_string(seed) + ": " + wrong;
}

bool RowAttack::is_right(const Subject& subject, Result<Kernel> kernel, std::string& wrong) {
  if (!kernel) {
    if (!is_coded(kernel.error())) wrong += "compile: " + kernel.error().code + " " + kernel.error().message + "; ";
    if (kernel.error().code == "PW0720") ++outcomes_["refused"];
    return false;
  }
  auto outputs = kernel->run(subject.inputs);
  if (!outputs) {
    wrong += "run: " + outputs.error().code + " " + outputs.error().message + "; ";
    return false;
  }
  for (size_t k = 0; k < outputs->size(); ++k)
    if ((*outputs)[k].bytes != subject.expected[k].bytes) wrong += "WRONG VALUE from " + kernel->origin() + "; ";
  ++outcomes_[kernel->origin().rfind("record", 0) == 0 ? "record ran" : "no record"];
  return true;
}

// Each as a process of its own would ask.
std::string RowAttack::ask(const Subject& subject, const std::string& database) {
  std::string wrong;
  const auto must_be_coded = [&](const char* verb, const auto& result) {
    if (!result && !is_coded(result.error()))
      wrong += std::string(verb) + ": " + result.error().code + " " + result.error().message + "; ";
  };
  notices_.clear();
  {
    Tuner tuner(*find_target("host"), options(database));
    is_right(subject, tuner.compile(subject.program, {}), wrong);
    outcomes_["proven again"] += !notices_.empty();
    auto loops = tuner.show(subject.program, {}, ShowStage::loops);
    must_be_coded("show", loops);
    if (auto nest = loops ? parse_loop_nest(*loops) : Result<LoopNest>(fail("PW0000", ""))) {
      auto run = ir::interpret(*nest, subject.inputs);
      if (!run || run->tensors[0].bytes != subject.expected[0].bytes) wrong += "show: a nest that is wrong; ";
    }
    must_be_coded("build", tuner.build(subject.program, {}, Emit::object, ""));
    must_be_coded("assembly", tuner.assembly(subject.program, {}));
    must_be_coded("storage", tuner.storage(subject.program, {}));
    wrong += ask_record(tuner, subject);
  }
  Tuner tuner(*find_target("host"), options(database));
  TuneOptions tune;
  tune.trials = 1;
  tune.cancelled = [] { return true; };
  auto report = tuner.tune(subject.program, tune);
  must_be_coded("tune", report);
  if (report) is_right(subject, tuner.compile(report->record), wrong);
  if (report) ++outcomes_[report->hit ? "hit" : "search"];
  return wrong;
}

std::string RowAttack::ask_record(Tuner& tuner, const Subject& subject) {
  std::string wrong;
  const auto must_be_coded = [&](const char* verb, const auto& result) {
    if (!result && !is_coded(result.error()))
      wrong += std::string(verb) + " of the record: " + result.error().code + " " + result.error().message + "; ";
  };
  auto database = tuner.database();
  must_be_coded("open", database);
  if (!database) return wrong;
  must_be_coded("list", (*database)->list({}));
  must_be_coded("stats", (*database)->stats());
  must_be_coded("integrity", (*database)->integrity());
  auto record = (*database)->record(subject.record);
  must_be_coded("record", record);
  if (!record || !*record) return wrong;
  is_right(subject, tuner.compile(**record), wrong);
  for (int stage = 0; stage <= static_cast<int>(ShowStage::storage); ++stage)
    must_be_coded("show", tuner.show(**record, static_cast<ShowStage>(stage)));
  tuner.flops(**record);
  return wrong;
}

// A change of what is served cannot stay unseen.
std::string RowAttack::found_by_verify(Tuner& tuner, const Subject& subject) {
  auto database = tuner.database();
  if (!database) return "";
  auto problems = (*database)->integrity();
  if (!problems || !problems->empty()) return "";
  auto record = (*database)->record(subject.record);
  if (!record || !*record) return "";
  return tuner.standing(**record) == Standing::altered ? "" : "db verify would find nothing; ";
}

}  // namespace polyweft::test
