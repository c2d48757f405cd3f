#include "db_records.h"

#include <fmt/format.h>

#include <iostream>
#include <sstream>

namespace polyweft::cli {
namespace {

constexpr size_t kMostFreeText = 1024;
constexpr uint64_t kMostRecords = uint64_t{1} << 30;  ///< bytes of a file of records

Result<RecordFilter> filter_of(const DbOptions& options) {
  RecordFilter out;
  out.program = options.program;
  out.origin = options.origin;
  for (const Verdict verdict : {Verdict::not_checked, Verdict::proven, Verdict::refuted, Verdict::not_proven})
    if (options.proof == name_of(verdict)) out.verdict = verdict;
  if (options.given.contains("--numerics")) out.cls = numerics_class_named(options.numerics);
  if (options.given.contains("--threads")) out.threads = options.threads;
  if (!options.given.contains("--target")) return out;
  auto target = find_target(options.target);
  if (!target) return target.error();
  out.target = fingerprint(*target);
  return out;
}

bool has_sizes(const TuningRecord& record, const std::map<std::string, int64_t>& wanted) {
  const Sizes sizes = sizes_of(record);
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& size) {
    return std::find(sizes.begin(), sizes.end(), std::pair(size.first, size.second)) != sizes.end();
  });
}

nlohmann::json exported(const TuningRecord& r) {
  const Measurement& m = r.measurement;
  return {{"schema", "polyweft.db.export/1"},
          {"event", "record"},
          {"program", r.program_name},
          {"key", r.key.program},
          {"binding", r.key.binding},
          {"numerics", name_of(r.key.cls)},
          {"target", r.key.target},
          {"abi", r.key.abi},
          {"threads", r.key.threads},
          {"text", r.program_text},
          {"trace", r.trace_text},
          {"nest", r.nest_text},
          {"median_ns", m.timing.median_ns},
          {"min_ns", m.timing.min_ns},
          {"ci_rel", m.timing.ci_rel},
          {"samples", m.timing.samples},
          {"toolchain", m.toolchain},
          {"unix_time", m.unix_time}};
}

// Never with a byte replaced: another host proves these texts.
Result<std::string> line_of(const TuningRecord& record) {
  try {
    return exported(record).dump(-1, ' ', true) + "\n";
  } catch (const nlohmann::json::exception&) {
    return fail("PW0711", fmt::format("record #{}: its texts are not UTF-8", record.id), {"run: polyweft db verify"});
  }
}

Result<std::vector<TuningRecord>> records_to_export(Database& database, const DbOptions& options) {
  DbOptions all = options;
  all.limit = INT64_MAX;
  if (options.records.empty()) return chosen_records(database, all);
  std::vector<TuningRecord> out;
  for (int64_t id : options.records) {
    auto record = database.record(id);
    if (!record) return record.error();
    if (!*record)
      return fail("PW0710", fmt::format("record #{} is not in the database", id), {"list them with: polyweft db list"});
    out.push_back(std::move(**record));
  }
  return out;
}

std::string short_text(const nlohmann::json& line, const char* field) {
  return line.value(field, std::string()).substr(0, kMostFreeText);
}

// What a line claims; adopt() finds out what of it is true.
Result<TuningRecord> record_of(const std::string& text) {
  try {
    const auto line = nlohmann::json::parse(text);
    if (line.at("schema") != "polyweft.db.export/1") return fail("PW0726", "its schema is not polyweft.db.export/1");
    const auto cls = numerics_class_named(line.at("numerics").get<std::string>());
    if (!cls) return fail("PW0726", "its numerics is none");
    TuningRecord r;
    r.program_name = short_text(line, "program");
    r.key = {line.at("key"),    line.at("binding").get<std::vector<int64_t>>(), *cls, line.at("target"), line.at("abi"),
             line.at("threads")};
    r.program_text = line.at("text");
    r.trace_text = line.at("trace");
    r.nest_text = line.at("nest");
    r.measurement.timing.median_ns = line.at("median_ns");
    r.measurement.timing.min_ns = line.value("min_ns", 0.0);
    r.measurement.timing.ci_rel = line.value("ci_rel", 0.0);
    r.measurement.timing.samples = line.value("samples", 0);
    r.measurement.toolchain = short_text(line, "toolchain");
    r.measurement.unix_time = line.value("unix_time", int64_t{0});
    return r;
  } catch (const nlohmann::json::exception& problem) {
    return fail("PW0726", std::string("not a record: ") + problem.what());
  }
}

struct Imported {
  int64_t adopted = 0, imported = 0, known = 0, refused = 0;
};

void say_taken(const TuningRecord& record, const DbOptions& options) {
  if (options.json)
    print_json("db.import", {{"event", record.origin},
                             {"record", record.id},
                             {"program", record.program_name},
                             {"median_ns", record.measurement.timing.median_ns}});
  else
    std::cout << fmt::format(
        "record #{}   {}   {}   {}\n", record.id, printable_line(record.program_name), record.origin,
        record.origin == "adopted" ? human_time(record.measurement.timing.median_ns) + ", measured here"
                                   : "proven, not measured: of another target");
}

void say_refused(const std::string& place, const Error& error, const DbOptions& options) {
  if (options.json)
    print_json("db.import", {{"event", "refused"}, {"line", place}, {"code", error.code}, {"message", error.message}});
  else
    std::cerr << printable(fmt::format("{}: {} [{}]\n", place, error.message, error.code));
}

void import_line(Tuner& tuner, const std::string& text, const std::string& place, const DbOptions& options,
                 Imported& count) {
  auto claimed = record_of(text);
  auto record = claimed ? tuner.adopt(*claimed) : std::move(claimed);
  if (record) {
    ++(record->origin == "adopted" ? count.adopted : count.imported);
    say_taken(*record, options);
  } else if (record.error().code == "PW0725") {
    ++count.known;
  } else {
    ++count.refused;
    say_refused(place, record.error(), options);
  }
}

}  // namespace

Sizes sizes_of(const TuningRecord& record) {
  std::vector<std::string> names;
  if (auto parsed = parse_programs(record.program_text, ""))
    for (const auto& program : parsed->programs)
      if (names.empty() && program_key(program) == record.key.program)
        for (const auto& parameter : program.parameters) names.push_back(parameter.name);
  Sizes out;
  for (size_t p = 0; p < record.key.binding.size(); ++p)
    out.emplace_back(p < names.size() ? names[p] : "?", record.key.binding[p]);
  return out;
}

Result<std::vector<TuningRecord>> chosen_records(Database& database, const DbOptions& options) {
  auto filter = filter_of(options);
  if (!filter) return filter.error();
  TaskOptions wanted;
  if (auto filled = fill_task(options, wanted); !filled) return filled.error();
  std::vector<TuningRecord> out;
  constexpr int64_t kPage = 100;
  filter->limit = kPage;
  int64_t skipped = 0;
  for (bool more = true; more && static_cast<int64_t>(out.size()) < options.limit; filter->offset += kPage) {
    auto rows = database.list(*filter);
    if (!rows) return rows.error();
    more = rows->size() == static_cast<size_t>(kPage);
    for (auto& row : *rows) {
      if (static_cast<int64_t>(out.size()) == options.limit) break;
      if (!wanted.parameters.empty() && !has_sizes(row, wanted.parameters)) continue;
      if (skipped++ >= options.offset) out.push_back(std::move(row));
    }
  }
  return out;
}

int export_records(Database& database, const DbOptions& options) {
  auto records = records_to_export(database, options);
  if (!records) return report(records.error(), options);
  std::string text;
  for (const auto& record : *records) {
    auto line = line_of(record);
    if (!line) return report(line.error(), options);
    text += *line;
  }
  if (options.file.empty() || options.file == "-") {
    std::cout << text;
    return kDone;
  }
  if (auto written = write_file(options.file, text); !written) return report(written.error(), options);
  std::cerr << fmt::format("{} records\n", records->size());
  return kDone;
}

int import_records(const DbOptions& given) {
  DbOptions options = given;
  options.makes_database = true;
  auto text = read_file(options.file, kMostRecords);
  if (!text) return report(text.error(), options);
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  Imported count;
  std::istringstream lines(*text);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty()) import_line(*tuner, line, fmt::format("{}:{}", options.file, number), options, count);
  }
  if (options.json)
    print_json("db.import", {{"event", "done"},
                             {"adopted", count.adopted},
                             {"imported", count.imported},
                             {"known", count.known},
                             {"refused", count.refused}});
  else
    std::cout << fmt::format("{} adopted, {} imported, {} here already, {} refused\n", count.adopted, count.imported,
                             count.known, count.refused);
  return count.refused == 0 ? kDone : kNo;
}

}  // namespace polyweft::cli
