#include "options.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <utility>

#include "deadline.h"
#include "program_files.h"
#include "standard_streams.h"
#include "status_line.h"

namespace polyweft::cli {

void CommonOptions::add_to(CLI::App& app) {
  app.add_option("-p,--parameter", parameters, "Bind a parameter: NAME=VALUE (repeat for more)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--threads", threads, "Threads a kernel may use")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--numerics", numerics, "How far arithmetic may be changed: strict, contract or reassoc")
      ->type_name("CLASS")
      ->check(CLI::IsMember({"strict", "contract", "reassoc"}))
      ->capture_default_str();
  app.add_option("--database", database, "Schedule database (default: the XDG data folder)")->type_name("PATH");
  app.add_option("--target", target,
                 "Target: host, x86-64-v3, x86-64-v4, a description by its name (targets lists them) or its file")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--instructions", instructions,
                 "A folder of files NAME.instruction that descriptions and traces may name, beside the known ones")
      ->type_name("FOLDER");
  app.add_option(
         "--deadline", deadline,
         "End the command with an error after this time: 60s, 500ms, 5m (default: none; each analysis has 10 s)")
      ->type_name("TIME");
  app.add_option("--color", color, "Colours: auto, always or never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.add_flag("--no-cache", no_cache,
               "Make analyses and first choices anew, and keep none of them for later commands");
  app.add_flag("--timings", timings, "Say at the end where the processor's time went, by stage");
  app.add_flag("--json", json, "JSON Lines on standard output");
}

void CommonOptions::add_schedule_to(CLI::App& app) {
  app.add_option("--schedule", schedule, "Use this trace instead of record and model; it is proven first")
      ->type_name("TRACE");
}

void CommonOptions::add_workspace_to(CLI::App& app) {
  app.add_option("--max-workspace", max_workspace,
                 "Most bytes that a call may ask of halide_malloc, all tasks at once; what needs more is refused "
                 "(default: no limit)")
      ->type_name("BYTES")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
}

std::string default_database() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data && *data) return std::string(data) + "/polyweft/schedules.db";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : ".") + "/.local/share/polyweft/schedules.db";
}

std::string database_of(const CommonOptions& options) {
  return options.database.empty() ? default_database() : options.database;
}

namespace {

Result<std::pair<std::string, int64_t>> parse_parameter(const std::string& text) {
  const auto equals = text.find('=');
  int64_t value = 0;
  const char* end = text.data() + text.size();
  if (equals != std::string::npos) {
    const auto [stop, problem] = std::from_chars(text.data() + equals + 1, end, value);
    if (problem == std::errc() && stop == end && equals > 0) return std::pair(text.substr(0, equals), value);
  }
  return fail("PW0003", "-p " + text + ": expected NAME=VALUE with an integer value, e.g. -p M=512");
}

}  // namespace

Result<std::string> read_trace(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text;
  auto parsed = parse_trace(*text);
  if (parsed) return text;
  Error error = parsed.error();
  error.source_name = is_standard_stream(path) ? kStandardInput : path;
  return error;
}

Status fill_task(const CommonOptions& options, TaskOptions& task) {
  for (const auto& text : options.parameters) {
    auto parameter = parse_parameter(text);
    if (!parameter) return parameter.error();
    if (!task.parameters.insert(*parameter).second)
      return fail("PW0003", "-p " + text + ": " + parameter->first + " is bound twice");
  }
  task.cls = *numerics_class_named(options.numerics);
  task.threads = options.threads;
  task.max_workspace = options.max_workspace;
  if (options.schedule.empty()) return Ok{};
  auto trace = read_trace(options.schedule);
  if (!trace) return trace.error();
  task.trace = std::move(trace).value();
  return Ok{};
}

namespace {

Status default_folder_is_there(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(folder, problem);
  if (!problem) return Ok{};
  return fail("PW0704", "database " + path + ": its folder cannot be made: " + problem.message(),
              {"give --database PATH, where you may write"});
}

// A path that was given and does not exist is mistyped, unless the verb may make the file: the library says so, for
// verbs too that would not look. The default's folders are ours to make.
Status database_is_there(const CommonOptions& options) {
  std::error_code problem;
  const std::string path = database_of(options);
  if (options.makes_database && options.database.empty()) return default_folder_is_there(path);
  if (options.makes_database || options.database.empty() || std::filesystem::exists(path, problem)) return Ok{};
  const auto opened = open_database(path, Missing::refuse);
  return opened ? Status(Ok{}) : opened.error();
}

}  // namespace

void add_runner_to(CLI::App& app, std::string& command) {
  app.add_option(
         "--runner", command,
         "Run kernels by this command, a polyweft-runner for the target behind an emulator or ssh (docs/runner.md)")
      ->type_name("COMMAND");
}

Result<std::vector<std::string>> words_of(const std::string& option, const std::string& text) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (const char c : text) {
    const bool opens = !quote && (c == '\'' || c == '"');
    if (opens || c == quote) {
      quote = opens ? c : 0;
    } else if (!quote && std::isspace(static_cast<unsigned char>(c))) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (!opens && (quote || (c != '\'' && c != '"'))) words.back() += c;
  }
  if (quote) return fail("PW0003", option + " " + text + ": a quote is not closed");
  return words;
}

Result<Tuner> make_tuner(const CommonOptions& options, std::vector<std::string> runner) {
  if (auto there = database_is_there(options); !there) return there.error();
  auto description = readable_path(options.target, kMostSettings);
  if (!description) return description.error();
  auto target = find_target(*description);
  if (!target) return target.error();
  TunerOptions tuner;
  tuner.database = database_of(options);
  tuner.may_miss_database = options.database.empty();
  tuner.runner = std::move(runner);
  if (!options.no_cache) tuner.cache = default_cache_path();
  tuner.notice = [](const std::string& text) {
    clear_status();
    std::cerr << "note: " << printable_line(text) << std::endl;
  };
  if (!options.deadline.empty()) {
    auto deadline = parse_duration("--deadline", options.deadline);
    if (!deadline) return deadline.error();
    tuner.isl_deadline = *deadline;
  }
  if (const char* helpers = std::getenv("POLYWEFT_HELPERS")) tuner.helper_directory = helpers;
  return Tuner(std::move(target).value(), std::move(tuner));
}

namespace {

/// Of this process and of all that it waited for.
double processor_ms_of_all() {
  double out = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    if (getrusage(who, &used) != 0) continue;
    for (const timeval& time : {used.ru_utime, used.ru_stime})
      out += 1e3 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e3;
  }
  return out;
}

}  // namespace

TimingsAtEnd::~TimingsAtEnd() {
  if (!options_.timings) return;
  const std::vector<StageTime> stages = tuner_.timings();
  { const Tuner ended = std::move(tuner_); }
  const double whole_ms = processor_ms_of_all();
  if (options_.json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const StageTime& each : stages)
      rows.push_back({{"stage", each.stage}, {"processor_ms", each.processor_ms}, {"entered", each.entered}});
    print_json("timings", {{"event", "timings"}, {"stages", rows}, {"whole_ms", whole_ms}});
    return;
  }
  double all_ms = 0;
  for (const StageTime& each : stages) all_ms += each.processor_ms;
  std::cerr << fmt::format("{:<44}{:>12}{:>8}{:>7}\n", "stage", "processor ms", "share", "times");
  for (const StageTime& each : stages)
    std::cerr << fmt::format("{:<44}{:>12.1f}{:>6.1f} %{:>7}\n", each.stage, each.processor_ms,
                             all_ms > 0 ? 100 * each.processor_ms / all_ms : 0, each.entered);
  std::cerr << fmt::format("{:<44}{:>12.1f}\n", "all stages", all_ms);
  std::cerr << fmt::format("{:<44}{:>12.1f}\n", "the command with its helper processes", whole_ms);
}

Result<Program> load(const std::string& file_and_program) {
  std::error_code problem;
  if (std::filesystem::is_directory(file_and_program, problem))
    return fail("PW0001", file_and_program + ": is a folder, not a file");
  auto parsed = parse_file(program_file(file_and_program));
  if (!parsed) return parsed.error();
  return std::move(parsed->programs.front());
}

Result<Job> make_job(const CommonOptions& options, const std::string& file, std::vector<std::string> runner) {
  auto program = load(file);
  if (!program) return program.error();
  TaskOptions task;
  if (auto filled = fill_task(options, task); !filled) return filled.error();
  auto tuner = make_tuner(options, std::move(runner));
  if (!tuner) return tuner.error();
  return Job{std::move(program).value(), std::move(task), std::move(tuner).value()};
}

bool is_record_number(const std::string& text) {
  return !text.empty() && text.size() < 19 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

Result<Tuner> tuner_of(const TuningRecord& record, Tuner tuner, const CommonOptions& options) {
  const std::string wanted = fingerprint_in(record.key);
  if (fingerprint(tuner.target()) == wanted) return tuner;
  const auto target = target_of_fingerprint(wanted);
  if (!target) return tuner;
  CommonOptions other = options;
  other.target = target->name;
  return make_tuner(other);
}

Result<TuningRecord> find_record(Tuner& tuner, const std::string& number) {
  auto database = tuner.database();
  const bool is_made =
      database || database.error().code != "PW0724";  // a default that nobody has made yet holds no record either
  if (!database && is_made) return database.error();
  Result<std::optional<TuningRecord>> record = std::optional<TuningRecord>();
  if (is_made) record = (*database)->record(std::stoll(number));
  if (!record) return record.error();
  if (!*record)
    return fail("PW0710", "record #" + number + " is not in the database", {"list them with: polyweft db list"});
  return std::move(**record);
}

}  // namespace polyweft::cli
