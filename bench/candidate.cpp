// What one candidate of a search costs besides its timing: instantiate, code generation and link, run and compare on
// two cached input sets. Medians over many candidates of gemm 512^3 f32, one thread.
//
//   bench_candidate [CANDIDATES]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/take.h"
#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/spaces.h"
#include "driver/task.h"
#include "polyweft/cost_model.h"
#include "polyweft/search.h"
#include "schedules/sketches/sketches.h"
#include "support/helper_path.h"
#include "targets/cpu/build.h"
#include "tests/cpu.h"

using namespace polyweft;
using bench::stop;
using bench::take;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kGemm =
    "program gemm(M = 512, N = 512, K = 512)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] "
    "* B[k, j]\n";

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}
double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Parts {
  std::vector<double> instantiate, build, run, total;
};

/// Where the time of code generation goes, a column a part.
class Split {
 public:
  void add(const LoopNest& nest, const Target& target) {
    const auto object = take(targets::compile_object(nest, target, "", targets::Caller::lab));
    const auto start = Clock::now();
    take(targets::shared_object(object, targets::exported_symbols(nest), targets::Runtime::external));
    const auto& t = object.times;
    const double parts[] = {t.lowering_ms,   t.light_ms,     t.setup_ms,    t.preparation_ms, t.selection_ms,
                            t.scheduling_ms, t.registers_ms, t.emission_ms, t.inspection_ms,  ms_since(start)};
    for (size_t p = 0; p < std::size(parts); ++p) columns_[p].push_back(parts[p]);
  }
  void print() const {
    static constexpr const char* kNames[] = {
        "IR built",  "IR passes", "pipeline built",    "IR prepared",    "instructions selected",
        "scheduled", "registers", "laid out, encoded", "spills counted", "linked"};
    std::printf("code and link, medians in ms:");
    for (size_t p = 0; p < columns_.size(); ++p)
      std::printf("%s %s %.2f", p ? "," : "", kNames[p], median(columns_[p]));
    std::printf("\n");
  }

 private:
  std::array<std::vector<double>, 10> columns_;
};

}  // namespace

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 60;
  const Target target = take(find_target("host"));
  const CompileService compiler(target);
  const Task task = take(make_task(take(parse_program(kGemm)), {}, target));
  IslClient::Options isl_options;
  isl_options.helper = helper_program("polyweft-isl");
  IslClient isl(isl_options);
  const LoopNest base = take(isl.base_nest(task));
  RunnerTask lab;
  lab.arguments = argument_specs(base, task.program);
  lab.reference = take(compiler.for_runner(base));
  lab.id = lab.reference.id;
  lab.relative_bound = 1e-4;
  auto runner = take(start_local_runner({.command = {helper_program("polyweft-runner")}}));
  if (auto begun = runner->begin(lab); !begun) stop(begun.error().message);

  const Machine machine = compiler.machine(1);
  const auto templates = take(schedules::sketch_templates(task.program, task.key.cls, machine));
  const auto model = analytic_model(machine);
  auto strategy = enumerate_by_model(search_spaces(templates, *model), {.enumeration_limit = 4000, .epsilon = 0});
  Parts parts;
  Split split;
  int refused = 0;
  for (const auto& candidate : strategy->ask(static_cast<size_t>(wanted))) {
    const auto start = Clock::now();
    const LoopNest nest = take(instantiate(templates[candidate.sketch], candidate.decisions));
    const double instantiated = ms_since(start);
    auto kernel = compiler.for_runner(nest);
    const double built = ms_since(start);
    if (!kernel) {
      ++refused;
      continue;
    }
    RunRequest request;
    request.candidate = *kernel;
    request.time_budget = std::chrono::milliseconds(0);
    const RunOutcome outcome = take(runner->run(request));
    if (outcome.status != RunStatus::ok)
      return std::fprintf(stderr, "bench_candidate: %s\n", outcome.detail.c_str()), 1;
    if (parts.total.empty() && parts.run.empty()) {  // the first one makes the input sets and the expected outputs
      parts.run.push_back(0);
      continue;
    }
    const double ended = ms_since(start);
    parts.instantiate.push_back(instantiated);
    parts.build.push_back(built - instantiated);
    parts.run.push_back(ended - built);
    parts.total.push_back(ended);
    split.add(nest, target);
  }
  if (parts.total.empty()) return std::fprintf(stderr, "bench_candidate: no candidate was built\n"), 1;
  parts.run.erase(parts.run.begin());
  std::printf(
      "candidate, gemm 512^3, %zu candidates, %d refused; medians: instantiate %.2f ms, code and link %.2f ms, run and "
      "compare on 2 sets %.2f ms, whole %.2f ms\n",
      parts.total.size(), refused, median(parts.instantiate), median(parts.build), median(parts.run),
      median(parts.total));
  split.print();
}
