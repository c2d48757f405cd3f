#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>

#include "input_files.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

struct BenchOptions : CommonOptions {
  std::string file, runner;
  std::vector<std::string> against, inputs;
  int milliseconds = 1000;
};

const char* kind_of_times(const BenchReport& r) {
  return r.is_emulated ? "emulated" : "measured";
}

std::string half_width(const Timing& t) {
  if (t.is_exact) return "exact";
  return t.samples > 1 ? fmt::format("{:.1f} %", 100 * t.ci_rel) : "";
}

void print_row_json(const std::string& name, const Timing& t, const BenchReport& r) {
  print_json("bench", {{"event", "row"},
                       {"name", name},
                       {"median_ns", t.median_ns},
                       {"ci_rel", t.ci_rel},
                       {"samples", t.samples},
                       {"exact", t.is_exact},
                       {"ratio", t.ratio},
                       {"ratio_lo", t.ratio_lo},
                       {"ratio_hi", t.ratio_hi},
                       {"times", kind_of_times(r)},
                       {"verdict", comparison_word(t)}});
}

void print_json_report(const BenchReport& r, const Program& program) {
  for (const auto& row : r.rivals) print_row_json(row.name, row.timing, r);
  if (r.reference.median_ns > 0) print_row_json("base nest", r.reference, r);
  print_json("bench", {{"event", "result"},
                       {"program", program.name},
                       {"origin", r.origin},
                       {"times", kind_of_times(r)},
                       {"median_ns", r.kernel.median_ns},
                       {"ci_rel", r.kernel.ci_rel},
                       {"samples", r.kernel.samples},
                       {"exact", r.kernel.is_exact},
                       {"reference_ns", r.reference.median_ns},
                       {"gflops", gflops(r.flops, r.kernel.median_ns)},
                       {"peak_gflops", r.peak_gflops},
                       {"peak_of", r.peak_of},
                       {"cold_ns", r.kernel.cold_ns},
                       {"clock_mhz", {r.kernel.clock_mhz_lo, r.kernel.clock_mhz_hi}},
                       {"warnings", r.warnings}});
}

constexpr double kNoInterval = 1e6;  // the runner's upper end where pairs were too few

using Cells = std::vector<std::string>;

Cells cells_of(const std::string& name, const Timing& t, const BenchReport& r) {
  const bool is_kernel = &t == &r.kernel;
  const double rate = gflops(r.flops, t.median_ns);
  const std::string ratio = is_kernel ? "1.00" : t.ratio > 0 ? fmt::format("{:.3f}", t.ratio) : "";
  const std::string interval = is_kernel || t.ratio <= 0   ? ""
                               : t.is_exact                ? "exact"
                               : t.ratio_hi >= kNoInterval ? "none"
                                                           : fmt::format("{:.3f} .. {:.3f}", t.ratio_lo, t.ratio_hi);
  const bool has_share = r.flops > 0 && r.peak_gflops > 0;
  return {printable(name),
          human_time(t.median_ns),
          ratio,
          interval,
          std::to_string(t.samples),
          half_width(t),
          r.flops > 0 ? fmt::format("{:.1f}", rate) : "",
          has_share ? share_of_peak(rate, r.peak_gflops, 1) : "",
          is_kernel ? "" : comparison_word(t)};
}

/// Columns as wide as their widest cell, so that none meets the next one; names and words to the left.
void print_columns(const std::vector<Cells>& rows) {
  std::vector<size_t> widths = {24, 8, 7, 18, 6, 9, 8, 8, 0};
  for (const Cells& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  for (const Cells& row : rows) {
    std::string line = fmt::format("{:<{}}", row.front(), widths[0]);
    for (size_t c = 1; c + 1 < row.size(); ++c) line += fmt::format("  {:>{}}", row[c], widths[c]);
    line += "   " + row.back();
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << "\n";
  }
}

void print_table(const BenchReport& r) {
  std::vector<Cells> rows = {{r.is_emulated ? "in an emulator" : "", "median", "ratio", "95 % interval", "runs", "+-",
                              "GFLOP/s", "of peak", ""}};
  rows.push_back(cells_of(r.origin, r.kernel, r));
  for (const auto& row : r.rivals) rows.push_back(cells_of(row.name, row.timing, r));
  if (r.reference.median_ns > 0) rows.push_back(cells_of("base nest", r.reference, r));
  print_columns(rows);
  if (r.kernel.cold_ns > 0) std::cout << fmt::format("with empty caches: {}\n", human_time(r.kernel.cold_ns));
  if (r.kernel.clock_mhz_hi > 0)
    std::cout << fmt::format("clock: {:.0f} to {:.0f} MHz\n", r.kernel.clock_mhz_lo, r.kernel.clock_mhz_hi);
  if (r.peak_gflops > 0)
    std::cout << fmt::format("peak: {:.1f} GFLOP/s, {} in registers, in turns with the kernel\n", r.peak_gflops,
                             r.peak_of);
  if (is_beyond_peak(gflops(r.flops, r.kernel.median_ns), r.peak_gflops)) std::cout << kWhyBeyondPeak << "\n";
}

Result<BenchRival> parse_rival(const std::string& text) {
  BenchRival rival;
  rival.name = text;
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon), value = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "record" && is_record_number(value) && std::stoll(value) > 0) {
    rival.record = std::stoll(value);
    return rival;
  }
  if (kind != "trace" || value.empty())
    return fail("PW0003", "--against " + text + ": expected record:NUMBER or trace:FILE");
  auto trace = read_trace(value);
  if (!trace) return trace.error();
  rival.trace = std::move(trace).value();
  return rival;
}

Result<std::vector<BenchRival>> parse_rivals(const std::vector<std::string>& texts) {
  std::vector<BenchRival> out;
  for (const auto& text : texts) {
    auto rival = parse_rival(text);
    if (!rival) return rival.error();
    out.push_back(std::move(rival).value());
  }
  return out;
}

int run_bench(const BenchOptions& options) {
  auto runner = words_of("--runner", options.runner);
  if (!runner) return report(runner.error(), options);
  auto job = make_job(options, options.file, std::move(*runner));
  if (!job) return report(job.error(), options);
  const TimingsAtEnd timings(job->tuner, options);
  auto rivals = parse_rivals(options.against);
  if (!rivals) return report(rivals.error(), options);
  auto inputs = read_inputs(options.inputs, job->program, job->task.parameters);
  if (!inputs) return report(inputs.error(), options);
  job->task.inputs = std::move(*inputs);
  auto result = job->tuner.bench(job->program, job->task, std::chrono::milliseconds(options.milliseconds), *rivals);
  if (!result) return report(result.error(), options);
  for (const auto& warning : result->warnings)
    std::cerr << fmt::format("{} {}\n", painted("warning:", Paint::yellow, options.terminal().color_err),
                             printable(warning));
  if (options.json)
    print_json_report(*result, job->program);
  else
    print_table(*result);
  return kDone;
}

}  // namespace

Verb add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  options->add_to(app);
  options->add_workspace_to(app);
  options->add_schedule_to(app);
  app.add_option("FILE", options->file, "Program text, FILE:PROGRAM, or - for standard input")->required();
  app.add_option("--against", options->against,
                 "Time this beside it, interleaved: record:NUMBER or trace:FILE (repeat or separate by commas)")
      ->type_name("RIVAL")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--input", options->inputs,
                 "Compare and time on an input from a file: NAME=FILE.npy (others are seeded); - is standard input")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  add_runner_to(app, options->runner);
  app.add_option("--milliseconds", options->milliseconds, "Time to spend on measuring")
      ->type_name("N")
      ->check(CLI::Range(1, 600'000))
      ->capture_default_str();
  return [options] { return run_bench(*options); };
}

}  // namespace polyweft::cli
