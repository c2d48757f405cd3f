#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>

#include "deadline.h"
#include "input_files.h"
#include "program_files.h"
#include "tune_batches.h"
#include "tune_progress.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

struct TuneCommand : CommonOptions {
  std::vector<std::string> files;
  std::string budget, total, effort, until, runner;
  std::vector<std::string> calls, inputs;
  int trials = 0;
  uint64_t seed = 1;
  bool refresh = false, no_library = false;
  std::string seeds;
  BatchOptions batches;
};

// The signal that asked to stop; 0 while none did.
std::atomic<int> stop_signal{0};

extern "C" void on_signal(int number) {
  if (stop_signal.exchange(number) != 0) _exit(128 + number);
}

// The first Ctrl-C ends the search and keeps what was found; the second ends the process at once.
void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// "0.9-of-roofline", "0.9".
Result<double> parse_share(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  if (end == text.c_str() || !(rest.empty() || rest == "-of-roofline") || !(value > 0 && value <= 1))
    return fail("PW0003", "--until " + text + ": expected a share above 0 and at most 1, e.g. 0.9-of-roofline");
  return value;
}

// Words for people who do not want to think about seconds.
constexpr std::pair<const char*, std::chrono::seconds> kEfforts[] = {
    {"quick", std::chrono::seconds(10)}, {"normal", std::chrono::seconds(60)}, {"full", std::chrono::seconds(600)}};

/// What is left is for what was found: a proof, a row.
std::chrono::milliseconds before_deadline(std::chrono::milliseconds deadline) {
  constexpr std::chrono::milliseconds kForRecord{900};
  return std::max<std::chrono::milliseconds>(std::max(deadline - kForRecord, deadline / 2),
                                             std::chrono::milliseconds(1));
}

Result<TuneOptions> tune_options(const TuneCommand& command) {
  TuneOptions tune;
  if (auto filled = fill_task(command, tune); !filled) return filled.error();
  if (!command.budget.empty()) {
    auto budget = parse_duration_or_zero("--budget", command.budget);
    if (!budget) return budget.error();
    tune.budget = *budget;
  } else if (command.trials > 0) {
    tune.budget = TuneOptions::kNoLimit;
  }
  for (const auto& [word, budget] : kEfforts)
    if (command.effort == word) tune.budget = budget;
  if (!command.until.empty()) {
    auto share = parse_share(command.until);
    if (!share) return share.error();
    tune.until = *share;
  }
  tune.trials = command.trials;
  tune.seed = command.seed;
  tune.refresh = command.refresh;
  tune.uses_library = !command.no_library;
  tune.seeds = command.seeds;
  tune.cancelled = [] { return stop_signal.load() != 0; };
  if (!command.deadline.empty()) {
    auto deadline = parse_duration("--deadline", command.deadline);
    if (!deadline) return deadline.error();
    tune.deadline = before_deadline(*deadline);
  }
  return tune;
}

// CLI11's own message about a number that is not positive has 309 digits.
CLI::Validator trials_check() {
  const auto check = [](std::string& text) {
    int trials = 0;
    const bool is_number = CLI::detail::lexical_cast(text, trials);
    return is_number && trials >= 1 ? std::string()
                                    : text + " is not a number from 1 to 2147483647; --budget 0 measures nothing";
  };
  return {check, ""};
}

std::string bound_parameters(const Program& program, const TaskOptions& task) {
  auto binding = make_binding(program, task.parameters);
  std::string out;
  for (size_t p = 0; binding && p < program.parameters.size() && p < binding->size(); ++p)
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", program.parameters[p].name, (*binding)[p]);
  return out;
}

TuneView view_of(const Program& program, const TuneOptions& tune) {
  TuneView view;
  view.program = program.name;
  view.key = program_key(program);
  view.binding = bound_parameters(program, tune);
  view.budget_s = tune.budget == TuneOptions::kNoLimit ? 0 : std::chrono::duration<double>(tune.budget).count();
  view.trials = tune.trials;
  view.seed = tune.seed;
  return view;
}

/// --deadline is a promise of a time, and what it kept is named.
Error deadline_passed(const TuneCommand& command, const TuneReport& result) {
  const std::string kept =
      result.record.id > 0 ? "record #" + std::to_string(result.record.id) + " is stored" : "nothing was stored";
  return fail("PW0836", "the command did not end within " + command.deadline, {"give more time; " + kept});
}

int tune_one(Tuner& tuner, const Program& program, const TuneCommand& command, TuneOptions tune) {
  auto inputs = read_inputs(command.inputs, program, tune.parameters);
  if (!inputs) return report(inputs.error(), command);
  tune.inputs = std::move(*inputs);
  TuneDisplay display(command, view_of(program, tune), tuner.target());
  tune.progress = [&](const TuneProgress& event) { display(event); };
  auto result = tuner.tune(program, tune);
  display.clear();
  if (!result) return report(result.error(), command);
  for (const auto& warning : result->warnings)
    std::cerr << fmt::format("{} {}\n", painted("warning:", Paint::yellow, command.terminal().color_err),
                             printable(warning));
  display.finish(*result);
  if (result->reason == "deadline") return report(deadline_passed(command, *result), command);
  if (!command.json && result->record.id > 0)
    std::cerr << fmt::format(
        "next: polyweft {} · polyweft show {} · polyweft explain {}\n",
        tuner.target().name == "host"
            ? fmt::format("build {} -o {}.o", printable(program.source_name), printable(program.name))
            : fmt::format("bench {} --target {}", printable(program.source_name), printable(tuner.target().name)),
        result->record.id, result->record.id);
  return kDone;
}

/// Programs that files name, each its first one, and all of folders. What cannot be read is said, and makes the command
/// fail at its end.
std::vector<Program> named_programs(const TuneCommand& command, int& worst) {
  std::vector<Program> out;
  const auto failed = [&](const Error& error) { worst = std::max(worst, report(error, command)); };
  for (const std::string& word : command.files) {
    std::error_code problem;
    if (!std::filesystem::is_directory(word, problem)) {
      if (auto program = load(word); program)
        out.push_back(std::move(*program));
      else
        failed(program.error());
      continue;
    }
    auto files = program_files({word});
    if (!files) failed(files.error());
    for (const ProgramFile& file : files ? *files : std::vector<ProgramFile>()) {
      auto parsed = parse_file(file);
      if (!parsed) failed(parsed.error());
      if (parsed) std::move(parsed->programs.begin(), parsed->programs.end(), std::back_inserter(out));
    }
  }
  return out;
}

/// "PROGRAM=12" of --calls, by name; the others run once.
Result<std::map<std::string, double>> parse_calls(const TuneCommand& command, const std::vector<Program>& programs) {
  std::map<std::string, double> out;
  for (const std::string& word : command.calls) {
    const size_t at = word.find('=');
    char* end = nullptr;
    const std::string name = word.substr(0, at), number = at == std::string::npos ? "" : word.substr(at + 1);
    const double calls = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(calls > 0) || !std::isfinite(calls))
      return fail("PW0003", "--calls " + word + ": expected PROGRAM=NUMBER, a number above 0");
    if (std::none_of(programs.begin(), programs.end(), [&](const Program& each) { return each.name == name; }))
      return fail("PW0002", "--calls " + word + ": no program here has this name");
    out[name] = calls;
  }
  return out;
}

int tune_in_turns(Tuner& tuner, const std::vector<Program>& programs, const TuneCommand& command,
                  const TuneOptions& tune) {
  auto total = parse_duration("--total", command.total);
  if (!total) return report(total.error(), command);
  auto calls = parse_calls(command, programs);
  if (!calls) return report(calls.error(), command);
  std::vector<std::unique_ptr<TuneDisplay>> displays(programs.size());
  std::vector<SharedProgram> shared(programs.size());
  for (size_t k = 0; k < programs.size(); ++k) {
    shared[k].program = programs[k];
    shared[k].options = tune;
    auto inputs = read_inputs(command.inputs, programs[k], tune.parameters);
    if (!inputs) return report(inputs.error(), command);
    shared[k].options.inputs = std::move(*inputs);
    const auto found = calls->find(programs[k].name);
    if (found != calls->end()) shared[k].calls = found->second;
    shared[k].options.progress = [&displays, k](const TuneProgress& event) { (*displays[k])(event); };
    shared[k].turn = [&, k](double until_s) {
      if (displays[k]) displays[k]->clear();
      TuneView view = view_of(programs[k], tune);
      view.budget_s = until_s;
      displays[k] = std::make_unique<TuneDisplay>(command, view, tuner.target());
    };
  }
  const auto reports = tuner.tune(shared, *total);
  int worst = kDone;
  for (size_t k = 0; k < reports.size(); ++k) {
    if (displays[k]) displays[k]->clear();
    if (!reports[k])
      worst = std::max(worst, report(reports[k].error(), command));
    else
      displays[k]->finish(*reports[k]);
  }
  return worst;
}

/// One program: each has a file of its own.
int propose_one(const TuneCommand& command, const TuneOptions& tune) {
  if (command.files.size() != 1)
    return report(fail("PW0003", "--propose takes one program, and a file for it"), command);
  auto program = load(command.files.front());
  if (!program) return report(program.error(), command);
  auto tuner = make_tuner(command);
  if (!tuner) return report(tuner.error(), command);
  return propose_candidates(*tuner, *program, tune, command.batches, command);
}

int run_tune(const TuneCommand& command) {
  if (!command.batches.observe.empty()) {
    if (!command.files.empty()) return report(fail("PW0003", "--observe takes no program: its file has one"), command);
    return observe_results(command, command.batches);
  }
  if (command.files.empty())
    return report(fail("PW0008", "polyweft tune: FILE is required", {"see: polyweft tune --help"}), command);
  auto tune = tune_options(command);
  if (!tune) return report(tune.error(), command);
  if (command.batches.propose > 0) return propose_one(command, *tune);
  auto runner = words_of("--runner", command.runner);
  if (!runner) return report(runner.error(), command);
  auto tuner = make_tuner(command, std::move(*runner));
  if (!tuner) return report(tuner.error(), command);
  const TimingsAtEnd timings(*tuner, command);
  catch_signals();
  int worst = kDone;
  const std::vector<Program> programs = named_programs(command, worst);
  if (!command.total.empty()) {
    worst = std::max(worst, tune_in_turns(*tuner, programs, command, *tune));
  } else {
    for (const Program& program : programs)
      if (stop_signal == 0) worst = std::max(worst, tune_one(*tuner, program, command, *tune));
  }
  return stop_signal != 0 ? 128 + stop_signal : worst;
}

}  // namespace

Verb add_tune(CLI::App& app) {
  auto options = std::make_shared<TuneCommand>();
  options->makes_database = true;
  options->add_to(app);
  options->add_workspace_to(app);
  app.add_option("--schedule", options->schedule, "Search nothing: prove, measure and store this trace")
      ->type_name("TRACE");
  app.add_option("FILE", options->files,
                 "Program texts, FILE:PROGRAM, folders of .weft files, or - for standard input");
  app.add_option("--budget", options->budget,
                 "Wall time a program, all searches of it together: 60s, 500ms, 5m (default 60s where no limit is "
                 "given); 0 measures nothing")
      ->type_name("TIME");
  app.add_option("--effort", options->effort,
                 "quick (10 s), normal (60 s) or full (10 minutes) a program, instead of --budget")
      ->type_name("WORD")
      ->check(CLI::IsMember({"quick", "normal", "full"}))
      ->excludes("--budget");
  app.add_option("--total", options->total,
                 "Wall time of all programs together, all commands with this database included: each gets a turn, the "
                 "next ones go where most time is expected to be saved")
      ->type_name("TIME")
      ->excludes("--budget")
      ->excludes("--effort")
      ->excludes("--schedule");
  app.add_option("--calls", options->calls,
                 "With --total: PROGRAM=N, the calls of it that count as one of the others (repeat for more)")
      ->type_name("PROGRAM=N")
      ->needs("--total");
  app.add_option("--until", options->until, "End at this share of the roofline: 0.9-of-roofline")->type_name("SHARE");
  app.add_option("--trials", options->trials, "At most this many measured candidates, all searches together")
      ->type_name("N")
      ->check(trials_check());
  app.add_option("--seed", options->seed, "Which candidates are tried")->type_name("N")->capture_default_str();
  app.add_option(
         "--input", options->inputs,
         "Compare and time candidates on an input from a file: NAME=FILE.npy (others are seeded); - is standard "
         "input")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  add_runner_to(app, options->runner);
  app.add_flag("--refresh", options->refresh, "Search from the beginning, whatever the database has");
  app.add_option("--seeds", options->seeds,
                 "Begin with the schedules of this folder too: files NAME.trace as in the library")
      ->type_name("FOLDER");
  options->batches.add_to(app);
  app.add_flag("--no-library", options->no_library, "Begin with no schedule of the installed library");
  return [options] { return run_tune(*options); };
}

}  // namespace polyweft::cli
