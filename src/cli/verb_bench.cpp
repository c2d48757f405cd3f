#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "verbs.h"

namespace polyweft::cli {
namespace {

struct BenchOptions : CommonOptions {
  std::string file;
  int milliseconds = 1000;
};

void print(const BenchReport& r, const Program& program, const BenchOptions& options) {
  const double rate = gflops(r.flops, r.kernel.median_ns);
  if (options.json)
    return print_json("bench", {{"event", "result"},
                                {"program", program.name},
                                {"origin", r.origin},
                                {"median_ns", r.kernel.median_ns},
                                {"ci_rel", r.kernel.ci_rel},
                                {"samples", r.kernel.samples},
                                {"reference_ns", r.reference.median_ns},
                                {"gflops", rate},
                                {"peak_gflops", r.peak_gflops}});
  std::cout << fmt::format("{:<24}{:>12}{:>10}{:>8}{:>12}\n", "", "median", "+-", "runs", "GFLOP/s");
  std::cout << fmt::format("{:<24}{:>12}{:>8.1f} %{:>8}{:>12.1f}\n", r.origin, human_time(r.kernel.median_ns), 100 * r.kernel.ci_rel, r.kernel.samples, rate);
  std::cout << fmt::format("{:<24}{:>12}{:>8.1f} %{:>8}\n", "base nest", human_time(r.reference.median_ns), 100 * r.reference.ci_rel, r.reference.samples);
  if (r.peak_gflops > 0) std::cout << fmt::format("FMA peak in the same run: {:.1f} GFLOP/s; share {:.3f}\n", r.peak_gflops, rate / r.peak_gflops);
}

int run(const BenchOptions& options) {
  auto job = make_job(options, options.file);
  if (!job) return report(job.error(), options);
  auto result = job->tuner.bench(job->program, job->task, std::chrono::milliseconds(options.milliseconds));
  if (!result) return report(result.error(), options);
  print(*result, job->program, options);
  return kDone;
}

}  // namespace

Verb add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  options->add_to(app);
  options->add_schedule_to(app);
  app.add_option("FILE", options->file, "Program text, or FILE:PROGRAM")->required();
  app.add_option("--milliseconds", options->milliseconds, "Time to spend on measuring")->check(CLI::Range(1, 600'000))->capture_default_str();
  return [options] { return run(*options); };
}

}  // namespace polyweft::cli
