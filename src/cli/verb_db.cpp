#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct DbOptions : CommonOptions {
  int64_t limit = 100, offset = 0;
};

int64_t measured_by_others(const TargetStats& row) {
  int64_t count = 0;
  for (const auto& [name, records] : row.toolchains) count += name == toolchain() ? 0 : records;
  return count;
}

nlohmann::json target_json(const TargetStats& row) {
  return {
      {"target", row.fingerprint},        {"numerics", name_of(row.cls)}, {"records", row.records}, {"proven", row.proven}, {"other_toolchain", measured_by_others(row)},
      {"measurements", row.measurements}, {"failures", row.failures}};
}

void stats_json(const DatabaseStats& s) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : s.by_target) rows.push_back(target_json(row));
  print_json("db.stats", {{"event", "stats"},
                          {"path", s.path},
                          {"bytes", s.bytes},
                          {"journal", s.journal},
                          {"version", s.schema},
                          {"programs", s.programs},
                          {"targets", s.targets},
                          {"records", s.records},
                          {"measurements", s.measurements},
                          {"failures", s.failures},
                          {"proven", s.proven},
                          {"unproven", s.unproven},
                          {"by_target", rows}});
}

void stats_text(const DatabaseStats& s) {
  std::cout << fmt::format("{}   {}   schema {}   {}   {} programs   {} targets   {} measurements\n", printable(s.path), human_bytes(static_cast<double>(s.bytes)),
                           s.schema, s.journal, s.programs, s.targets, human_count(static_cast<double>(s.measurements)));
  if (s.by_target.empty()) return;
  std::cout << fmt::format("  {:<26}{:>9}{:>9}{:>10}{:>18}{:>14}   {}\n", "target", "records", "proven", "unproven", "other toolchain", "measurements", "failures kept");
  for (const auto& row : s.by_target) {
    std::string failures;
    for (const auto& [status, count] : row.failures) failures += fmt::format("{}{} {}", failures.empty() ? "" : " · ", status, count);
    std::cout << fmt::format("  {:<26}{:>9}{:>9}{:>10}{:>18}{:>14}   {}\n", printable(row.fingerprint.substr(0, row.fingerprint.find(','))) + "/" + name_of(row.cls),
                             row.records, row.proven, row.records - row.proven, measured_by_others(row), row.measurements, failures.empty() ? "none" : failures);
  }
}

int stats(Database& database, const DbOptions& options) {
  auto s = database.stats();
  if (!s) return report(s.error(), options);
  if (options.json)
    stats_json(*s);
  else
    stats_text(*s);
  return kDone;
}

int list(Database& database, const DbOptions& options) {
  auto rows = database.list(options.limit, options.offset);
  if (!rows) return report(rows.error(), options);
  for (const auto& r : *rows) {
    if (options.json)
      print_json("db.list", to_json(r));
    else
      std::cout << fmt::format("#{:<6}{:<24}{}  {:<20}{:<9}{} thr {:>12}  proof {}\n", r.id, printable(r.program_name), r.key.program.substr(0, 8),
                               binding_text(r.key.binding), name_of(r.key.cls), r.key.threads, human_time(r.measurement.timing.median_ns),
                               name_of(r.certificate.verdict));
  }
  return kDone;
}

// Digests and SQLite's own checks first, then every proof is made again from the stored texts.
int verify(Tuner& tuner, Database& database, const DbOptions& options) {
  auto problems = database.integrity();
  if (!problems) return report(problems.error(), options);
  int64_t proven = 0;
  for (int64_t offset = 0;; offset += 100) {
    auto rows = database.list(100, offset);
    if (!rows) return report(rows.error(), options);
    for (const auto& r : *rows) {
      auto certificate = tuner.prove(r);
      if (!certificate)
        problems->push_back(fmt::format("record #{}: {}", r.id, certificate.error().message));
      else if (certificate->verdict == Verdict::proven)
        ++proven;
      else if (r.certificate.verdict == Verdict::proven)
        problems->push_back(fmt::format("record #{}: stored as proven, now {}", r.id, name_of(certificate->verdict)));
    }
    if (rows->size() < 100) break;
  }
  for (const auto& problem : *problems) {
    if (options.json)
      print_json("db.verify", {{"event", "problem"}, {"text", problem}});
    else
      std::cout << printable(problem) << "\n";
  }
  if (options.json)
    print_json("db.verify", {{"event", "done"}, {"proven", proven}, {"problems", problems->size()}});
  else
    std::cout << fmt::format("{} records proven again, {} problems\n", proven, problems->size());
  return problems->empty() ? kDone : kNo;
}

int with_database(const DbOptions& options, const std::function<int(Tuner&, Database&)>& action) {
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  auto database = tuner->database();
  if (!database) return report(database.error(), options);
  return action(*tuner, **database);
}

}  // namespace

Verb add_db(CLI::App& app) {
  auto options = std::make_shared<DbOptions>();
  app.require_subcommand(1);
  CLI::App* stats_app = app.add_subcommand("stats", "Counts and sizes");
  CLI::App* list_app = app.add_subcommand("list", "Records, one a line");
  CLI::App* verify_app = app.add_subcommand("verify", "Check integrity and prove every record again");
  for (CLI::App* sub : {stats_app, list_app, verify_app}) options->add_to(*sub);
  list_app->add_option("--limit", options->limit, "At most this many")->capture_default_str();
  list_app->add_option("--offset", options->offset, "Skip this many")->capture_default_str();
  return [=] {
    return with_database(*options, [&](Tuner& tuner, Database& database) {
      if (stats_app->parsed()) return stats(database, *options);
      if (list_app->parsed()) return list(database, *options);
      return verify(tuner, database, *options);
    });
  };
}

}  // namespace polyweft::cli
