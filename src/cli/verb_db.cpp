#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "db_records.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

int64_t measured_by_others(const TargetStats& row) {
  int64_t count = 0;
  for (const auto& [name, records] : row.toolchains) count += name == toolchain() ? 0 : records;
  return count;
}

nlohmann::json target_json(const TargetStats& row) {
  return {{"target", row.fingerprint},
          {"numerics", name_of(row.cls)},
          {"records", row.records},
          {"proven", row.proven},
          {"other_toolchain", measured_by_others(row)},
          {"measurements", row.measurements},
          {"failures", row.failures}};
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
  std::cout << fmt::format("{}   {}   schema {}   {}   {} programs   {} targets   {} measurements\n",
                           printable_line(s.path), human_bytes(static_cast<double>(s.bytes)), s.schema, s.journal,
                           s.programs, s.targets, human_count(static_cast<double>(s.measurements)));
  if (s.by_target.empty()) return;
  std::cout << fmt::format("  {:<38}{:>9}{:>9}{:>10}{:>18}{:>14}   {}\n", "target", "records", "proven", "unproven",
                           "other toolchain", "measurements", "failures kept");
  for (const auto& row : s.by_target) {
    std::string failures;
    for (const auto& [status, count] : row.failures)
      failures += fmt::format("{}{} {}", failures.empty() ? "" : " · ", status, count);
    std::cout << fmt::format(
        "  {:<38}{:>9}{:>9}{:>10}{:>18}{:>14}   {}\n",
        printable_line(row.fingerprint.substr(0, row.fingerprint.find(','))) + "/" + name_of(row.cls), row.records,
        row.proven, row.records - row.proven, measured_by_others(row), row.measurements,
        failures.empty() ? "none" : failures);
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

// "M=64 N=64": the names stand in the program's text, the values in the row.
std::string parameters_text(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", printable_line(name), value);
  return out;
}

// What this host knows of the proof, which is more than the row claims or less.
std::string proof_text(const TuningRecord& r, Standing standing) {
  if (standing == Standing::altered) return "altered";
  if (r.certificate.verdict != Verdict::proven) return name_of(r.certificate.verdict);
  return standing == Standing::attested ? "proven" : "unattested";
}

void list_json(const TuningRecord& r, const Sizes& sizes, Standing standing, double rate) {
  auto line = to_json(r);
  auto parameters = nlohmann::json::object();
  for (const auto& [name, value] : sizes) parameters[name] = value;
  line.update({{"parameters", parameters},
               {"standing", name_of(standing)},
               {"gflops", rate > 0 ? nlohmann::json(rate) : nlohmann::json()},
               {"unix_time", r.measurement.unix_time},
               {"date", day(r.measurement.unix_time)}});
  print_json("db.list", std::move(line));
}

void list_text(const TuningRecord& r, const Sizes& sizes, Standing standing, double rate) {
  std::cout << fmt::format("#{:<6}{:<24}{}  {:<20} {:<9}{} thr {:>12} {:>15}  {}  proof {}{}\n", r.id,
                           printable_line(r.program_name), printable_line(r.key.program.substr(0, 8)),
                           parameters_text(sizes), name_of(r.key.cls), r.key.threads,
                           human_time(r.measurement.timing.median_ns),
                           rate > 0 ? fmt::format("{:.1f} GFLOP/s", rate) : "", day(r.measurement.unix_time),
                           proof_text(r, standing), r.origin == "local" ? "" : ", " + printable_line(r.origin));
}

int list(Tuner& tuner, Database& database, const DbOptions& options) {
  auto chosen = chosen_records(database, options);
  if (!chosen) return report(chosen.error(), options);
  if (chosen->empty() && !options.json) std::cerr << "no record matches\n";
  for (const auto& r : *chosen) {
    const Standing standing = tuner.standing(r);
    (options.json ? list_json : list_text)(r, sizes_of(r), standing,
                                           gflops(tuner.flops(r), r.measurement.timing.median_ns));
  }
  return kDone;
}

// What a proof of now says against a row; empty: nothing.
std::string problem_of(Tuner& tuner, const TuningRecord& r, int64_t& proven) {
  const bool altered = tuner.standing(r) == Standing::altered;
  auto certificate = tuner.prove(r);
  proven += certificate.ok();
  if (!certificate && certificate.error().code == "PW0721" && r.certificate.verdict != Verdict::proven) return "";
  if (!certificate) return certificate.error().message;
  return altered ? fmt::format("record #{} was changed after this host had proven it; its nest is still proven", r.id)
                 : "";
}

// Digests and SQLite's own checks first, then every proof is made again from the stored texts.
int verify_records(Tuner& tuner, Database& database, const DbOptions& options) {
  auto problems = database.integrity();
  if (!problems) return report(problems.error(), options);
  int64_t proven = 0;
  for (int64_t offset = 0;; offset += 100) {
    auto rows = database.list({.limit = 100, .offset = offset});
    if (!rows) return report(rows.error(), options);
    for (const auto& r : *rows)
      if (std::string problem = problem_of(tuner, r, proven); !problem.empty()) problems->push_back(std::move(problem));
    if (rows->size() < 100) break;
  }
  for (const auto& problem : *problems) {
    if (options.json)
      print_json("db.verify", {{"event", "problem"}, {"text", problem}});
    else
      std::cout << printable_line(problem) << "\n";
  }
  if (options.json)
    print_json("db.verify", {{"event", "done"}, {"proven", proven}, {"problems", problems->size()}});
  else
    std::cout << fmt::format("{} records proven again, {} problems\n", proven, problems->size());
  return problems->empty() ? kDone : kNo;
}

int erase(Database& database, const DbOptions& options) {
  int worst = kDone;
  for (int64_t id : options.records) {
    auto erased = database.erase(id, options.measurements ? Erase::record_and_measurements : Erase::record);
    if (!erased)
      worst = std::max(worst, report(erased.error(), options));
    else if (options.json)
      print_json("db.delete", {{"event", "deleted"}, {"record", id}});
    else
      std::cout << fmt::format("record #{} deleted\n", id);
  }
  return worst;
}

nlohmann::json host_json(const ProbedHost& host, const char* event) {
  return {{"event", event},
          {"host", host.host},
          {"name", host.name},
          {"date", day(host.unix_time)},
          {"toolchain", host.toolchain},
          {"text", host.figures}};
}

/// The figures that were measured, one a line; the others are the target's.
void host_text(const ProbedHost& host) {
  std::cout << fmt::format("{}  {}  probed {} by {}\n", printable_line(host.host.substr(0, 8)),
                           printable_line(host.name), day(host.unix_time), printable_line(host.toolchain));
  const auto target = parse_target(host.figures, host.name);
  if (!target) return;
  for (const NamedFigure& figure : figures(target->machine))
    if (figure.origin == FigureOrigin::probed)
      std::cout << fmt::format("  {:<30}{:>12} {}\n", figure.key, figure.value, figure.unit);
}

int hosts(Database& database, const DbOptions& options) {
  const auto all = database.probed_hosts();
  if (!all) return report(all.error(), options);
  if (all->empty() && !options.json) std::cerr << "no host was probed: polyweft db probe measures this one\n";
  for (const ProbedHost& host : *all) {
    if (options.json)
      print_json("db.hosts", host_json(host, "host"));
    else
      host_text(host);
  }
  return kDone;
}

int probe_host(const DbOptions& options) {
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  const auto host = tuner->probe();
  if (!host) return report(host.error(), options);
  if (options.json)
    print_json("db.probe", host_json(*host, "probed"));
  else
    host_text(*host);
  return kDone;
}

int with_database(const DbOptions& options, const std::function<int(Tuner&, Database&)>& action) {
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  auto database = tuner->database();
  if (!database) return report(database.error(), options);
  return action(*tuner, **database);
}

void add_filters(CLI::App& app, DbOptions& options) {
  app.add_option("PROGRAM", options.program, "Only of this program: its name, or the first digits of its key");
  app.add_option("--proof", options.proof, "Only with this verdict: proven, not_proven, refuted or not_checked")
      ->type_name("VERDICT")
      ->check(CLI::IsMember({"proven", "not_proven", "refuted", "not_checked"}));
  app.add_option("--origin", options.origin, "Only of this origin: local, adopted or imported")->type_name("ORIGIN");
  // Settings come later: those of a file choose how a kernel is made, not which rows are shown.
  app.parse_complete_callback([&app, &options] {
    for (const char* name : {"--numerics", "--threads", "--target"})
      if (app.get_option(name)->count() > 0) options.given.insert(name);
  });
}

}  // namespace

Verb add_db(CLI::App& app) {
  auto options = std::make_shared<DbOptions>();
  app.require_subcommand(1);
  CLI::App* stats_app = app.add_subcommand("stats", "Counts and sizes");
  CLI::App* list_app = app.add_subcommand("list", "Records, one a line");
  CLI::App* verify_app = app.add_subcommand("verify", "Check integrity and prove every record again");
  CLI::App* export_app = app.add_subcommand("export", "Write records as JSON Lines, for another database");
  CLI::App* import_app = app.add_subcommand("import", "Prove, time and store records that 'db export' wrote");
  CLI::App* delete_app = app.add_subcommand("delete", "Remove records by number");
  CLI::App* hosts_app = app.add_subcommand("hosts", "What searches measured of their machines, a host after the other");
  CLI::App* probe_app = app.add_subcommand("probe", "Measure this machine again, for the searches that follow");
  for (CLI::App* sub : {stats_app, list_app, verify_app, export_app, import_app, delete_app, hosts_app, probe_app})
    options->add_to(*sub);
  for (CLI::App* sub : {list_app, export_app}) add_filters(*sub, *options);
  list_app->add_option("--limit", options->limit, "At most this many")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  list_app->add_option("--offset", options->offset, "Skip this many")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  export_app->add_option("--record", options->records, "Only these records, by number")->type_name("N");
  export_app->add_option("-o,--output", options->file, "Write here (default: standard output)")->type_name("FILE");
  import_app->add_option("FILE", options->file, "What 'db export' wrote; - is standard input")->required();
  delete_app->add_option("RECORD", options->records, "Numbers of records")->required();
  delete_app->add_flag("--measurements", options->measurements,
                       "Forget what was measured for their tasks, too: a search measures it again");
  return [=] {
    if (import_app->parsed()) return import_records(*options);
    if (probe_app->parsed()) return probe_host(*options);
    return with_database(*options, [&](Tuner& tuner, Database& database) {
      if (stats_app->parsed()) return stats(database, *options);
      if (hosts_app->parsed()) return hosts(database, *options);
      if (list_app->parsed()) return list(tuner, database, *options);
      if (export_app->parsed()) return export_records(database, *options);
      if (delete_app->parsed()) return erase(database, *options);
      return verify_records(tuner, database, *options);
    });
  };
}

}  // namespace polyweft::cli
