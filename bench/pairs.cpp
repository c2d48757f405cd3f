// Pairs of schedules, one for each term of the analytic model: measures them on this machine and writes what
// tests/cost_models reads.
//
//   bench_pairs measure CASES TO [--only TEXT] [--runner WORDS]
//                         measures all pairs of CASES (tests/cost_models/pairs/cases.txt) and writes TO with the
//                         machine as it was found; pairs that are nearer to one another than 1.15 are named and left
//                         out
//   bench_pairs predict FILE [--only TEXT]
//                         predicts the pairs of a measured file anew and lists them beside what was measured; those of
//                         CASES for this machine as it is described
//
// Both schedules are compared with the base nest, then run in turns. --runner has words before the runner's command
// (`chrt -r 10`).
#include "cost_models/pairs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/take.h"
#include "driver/compile_service.h"
#include "driver/probed_machine.h"
#include "driver/rule_of_thumb.h"
#include "driver/task.h"
#include "driver/threads.h"
#include "polyweft/cost_model.h"
#include "polyweft/runner.h"
#include "support/helper_path.h"

using namespace polyweft;
using bench::stop;
using bench::take;
using pairs::Pair;
using pairs::PairFile;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path);
  if (!in) stop("no file " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Settings {
  std::string only;
  std::vector<std::string> runner;
};

/// As first choices see it: described. As searches do: with what was probed of its rates.
std::vector<std::pair<std::string, std::string>> machines_of(const Target& target) {
  Target probed = target;
  probed.machine = with_probed_rates(target.machine, take(probe(target)));
  return {{"first_choices", describe(target)}, {"searches", describe(probed)}};
}

class Measurement {
 public:
  Measurement(const Pair& pair, const CompileService& compiler, const Settings& settings)
      : pair_(pair), compiler_(compiler) {
    TaskOptions options;
    options.threads = pair.threads;
    task_ = take(make_task(take(parse_program(pair.program)), options, compiler.target()));
    const LoopNest base = nest("");
    RunnerTask lab;
    lab.arguments = argument_specs(base, task_.program);
    lab.reference = kernel(base);
    lab.id = lab.reference.id;
    lab.threads = pair.threads;
    set_rule_of_thumb(task_, lab);
    std::vector<std::string> command = settings.runner;
    command.push_back(helper_program("polyweft-runner"));
    runner_ = take(start_local_runner({.command = command}));
    if (auto begun = runner_->begin(lab); !begun) stop(begun.error().message);
  }
  pairs::MeasuredPair run() {
    const LoadableKernel one = kernel(nest(pair_.one)), other = kernel(nest(pair_.other));
    const double alone_ns = timed(other, 0).median_ns;
    if (auto set = runner_->set_incumbent(other); !set) stop(set.error().message);
    const Timing timing = timed(one, alone_ns);
    if (timing.ratio <= 0 || timing.beside_ns.empty()) stop(pair_.name + ": not timed in turns");
    return {median(timing.samples_ns), median(timing.beside_ns), timing.ratio, timing.ratio_lo, timing.ratio_hi};
  }

 private:
  LoopNest nest(const std::string& trace) const { return take(pairs::nest_of(pair_, trace, compiler_.target())); }
  static double median(std::vector<float> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    return static_cast<double>(*middle);
  }
  LoadableKernel kernel(const LoopNest& nest) const {
    return take(compiler_.for_runner(nest, CompileService::Spills::allow));
  }
  Timing timed(const LoadableKernel& kernel, double incumbent_ns) {
    RunRequest request;
    request.candidate = kernel;
    request.time_budget = std::chrono::milliseconds(1000);
    request.pair_with_incumbent = request.pair_to_the_end = incumbent_ns > 0;
    request.most_pairs = 60;
    request.incumbent_ns = incumbent_ns;
    request.deadline = std::chrono::milliseconds(5000);
    const RunOutcome outcome = take(runner_->run(request));
    if (outcome.status != RunStatus::ok) stop(pair_.name + ": " + outcome.detail);
    return outcome.timing;
  }

  const Pair& pair_;
  const CompileService& compiler_;
  Task task_;
  std::unique_ptr<Runner> runner_;
};

void print_predictions(const Pair& pair, const PairFile& file) {
  std::printf("%-28s %10.2f %10.2f us measured, ratio %6.3f;", pair.name.c_str(), pair.measured.one_ns / 1e3,
              pair.measured.other_ns / 1e3, pair.measured.ratio);
  for (const auto& [name, description] : file.machines) {
    const Target target = take(parse_target(description, name));
    const auto model = analytic_model(on_cores(target.machine, pair.threads));
    const double one = model->predict_ns(take(pairs::nest_of(pair, pair.one, target))),
                 other = model->predict_ns(take(pairs::nest_of(pair, pair.other, target)));
    std::printf("  %s %10.2f %10.2f, %6.3f%s", name.c_str(), one / 1e3, other / 1e3, one / other,
                pair.measured.ratio > 0 && (one > other) != (pair.measured.ratio > 1) ? " WRONG" : "");
  }
  std::printf("  %s\n", pair.term.c_str());
  std::fflush(stdout);
}

PairFile cases_for(const std::string& path, const CompileService& compiler) {
  return take(pairs::read_pairs(take(pairs::expand_sizes(contents(path), compiler.machine(1)))));
}

void measure(const std::string& cases, const std::string& to, const Settings& settings) {
  const CompileService compiler(take(find_target("host")));
  PairFile out = cases_for(cases, compiler);
  out.machines = machines_of(compiler.target());
  std::vector<Pair> kept;
  for (Pair& pair : out.pairs) {
    if (pair.name.find(settings.only) == std::string::npos) continue;
    pair.measured = Measurement(pair, compiler, settings).run();
    print_predictions(pair, out);
    const pairs::MeasuredPair& m = pair.measured;
    if (m.ratio_lo >= pairs::kLeastRatio || m.ratio_hi <= 1 / pairs::kLeastRatio)
      kept.push_back(std::move(pair));
    else
      out.near.emplace_back(pair.name, m.ratio);
  }
  out.pairs = std::move(kept);
  std::ofstream(to) << "# Written by bench_pairs; ../pairs.h says what stands here.\n" << pairs::text_of(out);
}

void predict(const std::string& path, const Settings& settings) {
  const CompileService compiler(take(find_target("host")));
  PairFile file = cases_for(path, compiler);
  if (file.machines.empty()) file.machines = {{"described", describe(compiler.target())}};
  for (const Pair& pair : file.pairs)
    if (pair.name.find(settings.only) != std::string::npos) print_predictions(pair, file);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_measured = words.size() >= 3 && words[0] == "measure";
  if (!is_measured && (words.size() < 2 || words[0] != "predict"))
    stop("usage: bench_pairs measure CASES TO [options], or predict FILE [options]");
  Settings settings;
  for (size_t k = is_measured ? 3 : 2; k < words.size(); k += 2) {
    std::istringstream value(k + 1 < words.size() ? words[k + 1] : "");
    if (words[k] == "--only" && k + 1 < words.size())
      settings.only = words[k + 1];
    else if (words[k] == "--runner")
      for (std::string word; value >> word;) settings.runner.push_back(word);
    else
      stop("no such option: " + words[k]);
  }
  if (is_measured)
    measure(words[1], words[2], settings);
  else
    predict(words[1], settings);
}
