#include "tune_batches.h"

#include <fmt/format.h>

#include <iostream>

namespace polyweft::cli {
namespace {

/// Where no target is named.
constexpr const char* kNoTarget = "host";

void print_warnings(const std::vector<std::string>& warnings, const OutputOptions& output) {
  for (const auto& warning : warnings)
    std::cerr << fmt::format("{} {}\n", painted("warning:", Paint::yellow, output.terminal().color_err),
                             printable(warning));
}

void print_observed(const ObserveReport& report, const OutputOptions& output) {
  const std::string where = report.device.empty() ? "the CPU of " + report.host : report.device;
  const auto& record = report.record;
  if (output.json) {
    print_json("tune", {{"event", "observed"},
                        {"candidates", report.candidates},
                        {"measured", report.measured},
                        {"failed", report.failed},
                        {"rows", report.rows},
                        {"device", where},
                        {"times", report.is_emulated ? "expected" : "measured"},
                        {"record", record ? record->id : 0},
                        {"is_new", report.is_new},
                        {"median_ns", record ? record->measurement.timing.median_ns : 0},
                        {"trace", record ? record->trace_text : ""}});
    return;
  }
  std::cout << fmt::format("{} of {} candidates measured on {}, {} failed; {} rows are new\n", report.measured,
                           report.candidates, printable(where), report.failed, report.rows);
  if (!record) {
    const bool is_all = report.measured == report.candidates;
    std::cout << (is_all ? "no record: the winner is not stored\n" : "no record yet: not all was measured\n");
    return;
  }
  std::cout << fmt::format("record #{}{}: {}{}, {}\n", record->id, report.is_new ? "" : " stays",
                           report.is_emulated ? "expected " : "", human_time(record->measurement.timing.median_ns),
                           name_of(record->certificate.verdict));
}

}  // namespace

void BatchOptions::add_to(CLI::App& app) {
  auto* const proposes =
      app.add_option("--propose", propose, "Measure nothing: write the next N candidates of the search to a file")
          ->type_name("N")
          ->check(CLI::Range(1, 10'000));
  app.add_option("-o,--output", output, "With --propose: the file, for polyweft measure")
      ->type_name("WORK")
      ->needs(proposes);
  app.add_option("--references", references,
                 "With --propose, for a device: target of the CPU kernels that compute the right answers, on whatever "
                 "machine has the device (default: the least that is usual)")
      ->type_name("NAME")
      ->needs(proposes);
  app.add_option("--observe", observe, "Store what polyweft measure WORK has found, its winner if it is no slower here")
      ->type_name("WORK")
      ->excludes(proposes);
}

// A machine with a device may have another CPU than this one.
int propose_candidates(Tuner& tuner, const Program& program, const TuneOptions& tune, const BatchOptions& options,
                       const OutputOptions& output) {
  const auto failed = [&](const Error& error) { return report(error, output); };
  if (options.output.empty()) return failed(fail("PW0003", "--propose: the file is missing", {"give -o WORK"}));
  ProposeOptions proposal;
  proposal.candidates = options.propose;
  proposal.path = options.output;
  proposal.references = options.references.empty() ? usual_references() : options.references;
  auto result = tuner.propose(program, tune, proposal);
  if (!result) return failed(result.error());
  print_warnings(result->warnings, output);
  if (output.json) {
    print_json("tune", {{"event", "proposed"},
                        {"program", program.name},
                        {"output", options.output},
                        {"candidates", result->candidates},
                        {"without_code", result->without_code},
                        {"is_exhausted", result->is_exhausted}});
    return kDone;
  }
  std::cout << fmt::format("{}: {} candidates of {}{}{}\n", printable(options.output), result->candidates,
                           printable(program.name),
                           result->without_code ? fmt::format(", {} without code", result->without_code) : "",
                           result->is_exhausted ? ": there are no more" : "");
  std::cerr << fmt::format("next: polyweft measure {0} · polyweft tune --observe {0}\n", printable(options.output));
  return kDone;
}

int observe_results(CommonOptions common, const BatchOptions& options) {
  if (common.target == kNoTarget) {
    auto target = target_of_work(options.observe);
    if (!target) return report(target.error(), common);
    common.target = std::move(*target);
  }
  auto tuner = make_tuner(common);
  if (!tuner) return report(tuner.error(), common);
  auto result = tuner->observe(options.observe);
  if (!result) return report(result.error(), common);
  print_observed(*result, common);
  return kDone;
}

}  // namespace polyweft::cli
