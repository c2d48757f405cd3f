#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct TuneCommand : CommonOptions {
  std::vector<std::string> files;
  std::string budget;
  int trials = 0;
  uint64_t seed = 1;
  bool refresh = false;
};

std::atomic<bool> interrupted{false};

extern "C" void on_interrupt(int) {
  if (interrupted.exchange(true)) _exit(kInterrupted);
}

// The first Ctrl-C ends the search and keeps what was found; the second ends the process at once.
void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// "60s", "500ms", "2m", "90" (seconds).
Result<std::chrono::milliseconds> parse_budget(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit == "ms" ? 1 : unit == "s" || unit.empty() ? 1e3 : unit == "m" ? 60e3 : unit == "h" ? 3600e3 : 0;
  if (end == text.c_str() || scale == 0 || !(value > 0) || value * scale > 1e12)
    return fail("PW0003", "--budget " + text + ": expected a duration, e.g. 60s, 500ms or 5m");
  return std::chrono::milliseconds(static_cast<int64_t>(value * scale));
}

const char* event_name(TuneEvent event) {
  switch (event) {
    case TuneEvent::start:
      return "start";
    case TuneEvent::hit:
      return "hit";
    case TuneEvent::trial:
      return "trial";
    case TuneEvent::best:
      return "best";
    case TuneEvent::done:
      return "done";
  }
  return "done";
}

// Three views of one event: JSON Lines, a status line a person watches, plain lines in a pipe.
class Progress {
 public:
  Progress(const TuneCommand& options, std::string program) : options_(options), program_(std::move(program)), watched_(isatty(STDERR_FILENO) && !is_dumb()) {}

  void operator()(const TuneProgress& p) {
    if (options_.json) return json(p);
    if (p.event == TuneEvent::best)
      line(fmt::format("best trial={} ns={:.0f} predicted_ns={:.0f} {}", p.trial, p.ns, p.predicted_ns, printable(p.what)));
    else if (watched_ && p.event == TuneEvent::trial)
      status(p);
  }
  void clear() {
    if (watched_ && dirty_) std::cerr << "\r\x1b[K" << std::flush;
    dirty_ = false;
  }

 private:
  static bool is_dumb() {
    const char* term = std::getenv("TERM");
    return !term || std::string(term) == "dumb";
  }
  void json(const TuneProgress& p) {
    print_json("tune", {{"event", event_name(p.event)},
                        {"program", program_},
                        {"n", p.trial},
                        {"status", name_of(p.status)},
                        {"median_ns", p.ns},
                        {"predicted_ns", p.predicted_ns},
                        {"best_ns", p.best_ns},
                        {"measured", p.measured},
                        {"failed", p.failed},
                        {"scored", p.scored},
                        {"wall_s", p.elapsed_s},
                        {"what", p.what}});
  }
  void line(const std::string& text) {
    clear();
    std::cerr << text << "\n" << std::flush;
  }
  void status(const TuneProgress& p) {
    std::cerr << fmt::format("\r\x1b[K{:5.1f} s  {} measured, {} scored, {} failed  best {}", p.elapsed_s, p.measured, p.scored, p.failed, human_time(p.best_ns))
              << std::flush;
    dirty_ = true;
  }

  const TuneCommand& options_;
  std::string program_;
  bool watched_, dirty_ = false;
};

void print_result(const Program& program, const TuneReport& r, const TuneCommand& options) {
  const auto& m = r.record.measurement;
  if (options.json)
    return print_json("tune", {{"event", "result"},
                               {"program", program.name},
                               {"key", r.record.key.program},
                               {"record", r.record.id},
                               {"hit", r.hit},
                               {"median_ns", m.timing.median_ns},
                               {"ci_rel", m.timing.ci_rel},
                               {"gflops", gflops(r.flops, m.timing.median_ns)},
                               {"reference_ns", r.reference_ns},
                               {"measured", r.measured},
                               {"failed", r.failed},
                               {"scored", r.scored},
                               {"wall_s", r.wall_s},
                               {"reason", r.reason},
                               {"trace", r.record.trace_text},
                               {"proof", name_of(r.record.certificate.verdict)},
                               {"interrupted", r.interrupted}});
  std::cout << fmt::format(
      "{}  key {}  {}\n", printable(program.name), r.record.key.program.substr(0, 8),
      r.hit ? fmt::format("record #{} (nothing measured)", r.record.id) : fmt::format("record #{} after {:.1f} s: {}", r.record.id, r.wall_s, r.reason));
  std::cout << fmt::format("  {} +-{:.1f} %", human_time(m.timing.median_ns), 100 * m.timing.ci_rel);
  if (r.flops > 0) std::cout << fmt::format("   {:.1f} GFLOP/s", gflops(r.flops, m.timing.median_ns));
  if (r.reference_ns > 0) std::cout << fmt::format("   {:.1f}x the untuned base nest", r.reference_ns / m.timing.median_ns);
  std::cout << fmt::format("   proof: {} in {:.0f} ms\n", name_of(r.record.certificate.verdict), r.record.certificate.check_ms);
  if (!r.hit) std::cout << fmt::format("  {} sketches, {} scored, {} measured, {} failed\n", r.sketches, r.scored, r.measured, r.failed);
  std::cout << printable(r.record.trace_text);
}

int tune_one(Tuner& tuner, const Program& program, const TuneCommand& options, TuneOptions tune) {
  Progress progress(options, program.name);
  tune.progress = [&](const TuneProgress& p) { progress(p); };
  tune.cancelled = [] { return interrupted.load(); };
  auto report_or = tuner.tune(program, tune);
  progress.clear();
  if (!report_or) return report(report_or.error(), options);
  print_result(program, *report_or, options);
  if (!options.json)
    std::cerr << fmt::format("next: polyweft build {} --emit object -o {}.o · polyweft show {}\n", printable(program.source_name), printable(program.name),
                             report_or->record.id);
  return kDone;
}

int run(const TuneCommand& options) {
  TuneOptions tune;
  if (auto filled = fill_task(options, tune); !filled) return report(filled.error(), options);
  if (!options.budget.empty()) {
    auto budget = parse_budget(options.budget);
    if (!budget) return report(budget.error(), options);
    tune.budget = *budget;
  } else if (options.trials > 0) {
    tune.budget = std::chrono::milliseconds(0);
  }
  tune.trials = options.trials;
  tune.seed = options.seed;
  tune.refresh = options.refresh;
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  catch_interrupts();
  int worst = kDone;
  for (const auto& file : options.files) {
    if (interrupted) break;
    auto program = load(file);
    const int code = program ? tune_one(*tuner, *program, options, tune) : report(program.error(), options);
    worst = std::max(worst, code);
  }
  return interrupted ? static_cast<int>(kInterrupted) : worst;
}

}  // namespace

Verb add_tune(CLI::App& app) {
  auto options = std::make_shared<TuneCommand>();
  options->add_to(app);
  app.add_option("FILE", options->files, "Program texts, or FILE:PROGRAM")->required();
  app.add_option("--budget", options->budget, "Wall time a program: 60s, 500ms, 5m (default 60s where no limit is given)");
  app.add_option("--trials", options->trials, "At most this many measured candidates")->check(CLI::PositiveNumber);
  app.add_option("--seed", options->seed, "Which candidates are tried")->capture_default_str();
  app.add_flag("--refresh", options->refresh, "Search even where the database has a record");
  return [options] { return run(*options); };
}

}  // namespace polyweft::cli
