#include "tune_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "status_line.h"
#include "trace_diff.h"

namespace polyweft::cli {
namespace {

constexpr std::chrono::milliseconds kStatusEvery{100};
constexpr int kNarrow = 76;           // where the table has no room for what changed
constexpr size_t kHeaderIndent = 10;  // of what does not fit a line of the header
constexpr size_t kShort = 60;         // of what changed, in a pipe

const char* name_of_event(TuneEvent event) {
  constexpr const char* kNames[] = {"start", "hit", "trial", "best", "done", "doing"};
  return kNames[static_cast<size_t>(event)];
}

// "avx512f, 512-bit vectors": the widest thing that a reader wants to know of a target.
std::string describe_units(const Target& target) {
  return fmt::format("{}-bit vectors, {} registers", target.machine.units.vector_bits,
                     target.machine.units.vector_registers);
}

bool is_failure(RunStatus status) {
  return status != RunStatus::ok && status != RunStatus::slower && status != RunStatus::not_run;
}

/// A figure that was not measured is no number.
nlohmann::json known(double figure) {
  return figure > 0 ? nlohmann::json(figure) : nlohmann::json();
}

std::string effort_text(const SearchEffort& effort) {
  return fmt::format("{} trial{} in {:.1f} s", effort.trials, effort.trials == 1 ? "" : "s", effort.wall_s);
}

/// A value of a line of name=value.
std::string underscored(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

}  // namespace

TuneDisplay::TuneDisplay(const CommonOptions& options, TuneView view, const Target& target)
    : options_(options), view_(std::move(view)), target_(target), terminal_(options.terminal()) {}

void TuneDisplay::operator()(const TuneProgress& event) {
  if (!has_begun_ && (event.event == TuneEvent::doing || event.event == TuneEvent::start)) begin();
  if (event.event == TuneEvent::start) return start(event);
  if (event.event == TuneEvent::doing) return doing(event);
  if (event.event == TuneEvent::hit || event.event == TuneEvent::done) return;  // finish() has the whole report
  if (event.event == TuneEvent::trial && is_failure(event.status)) ++failed_by_status_[name_of(event.status)];
  if (options_.json)
    json(event);
  else if (event.event == TuneEvent::best)
    best(event);
  else if (terminal_.watched && event.event == TuneEvent::trial)
    status(event);
  if (event.event == TuneEvent::best) {
    best_trace_ = event.trace;
    last_gain_s_ = event.elapsed_s;
  }
}

// Who wins the races at the end need not be the last that was ahead: the first choice, the base nest, a record.
void TuneDisplay::final_row(const TuneReport& r) {
  if (!has_table_ || r.hit || r.record.trace_text == best_trace_) return;
  const Timing& timing = r.record.measurement.timing;
  const std::string changed = printable(what_changed(best_trace_, r.record.trace_text));
  row({"final", timing.median_ns, r.record.measurement.predicted_ns, r.peak_gflops, r.wall_s,
       "final race: " + changed});
}

void TuneDisplay::begin() {
  has_begun_ = true;
  const std::string& key = view_.key;
  if (options_.json)
    return print_json("tune", {{"event", "begin"},
                               {"program", view_.program},
                               {"key", key},
                               {"target", target_.name},
                               {"numerics", options_.numerics},
                               {"threads", options_.threads},
                               {"database", database_of(options_)}});
  if (!terminal_.watched)
    return line(fmt::format("begin program={} key={} target={} numerics={} threads={}", view_.program, key.substr(0, 8),
                            printable_line(target_.name), options_.numerics, options_.threads));
  line(fmt::format("{}  {}  {}   key {}", painted(view_.program, Paint::bold, terminal_.color_err), view_.binding,
                   options_.numerics, key.substr(0, 8)));
  line(fmt::format("target    {}: {}, {} thread{}", printable_line(target_.name), describe_units(target_),
                   options_.threads, options_.threads == 1 ? "" : "s"));
  line(fmt::format("database  {}", printable(database_of(options_))));
}

// A pipe gets what takes long: a line for each, with the time at which it began.
void TuneDisplay::doing(const TuneProgress& event) {
  if (options_.json)
    return print_json(
        "tune", {{"event", "doing"}, {"program", view_.program}, {"what", event.what}, {"wall_s", event.elapsed_s}});
  if (terminal_.watched) return show_status(fmt::format("{}  {}", bar(event.elapsed_s), event.what), terminal_.width);
  line(fmt::format("doing what=\"{}\" wall_s={:.1f}", event.what, event.elapsed_s));
}

void TuneDisplay::start(const TuneProgress& event) {
  const TuneStart& plan = *event.plan;
  flops_ = plan.flops;
  peak_gflops_ = plan.peak_gflops;
  before_s_ = plan.before.wall_s;
  if (options_.json)
    return print_json("tune", {{"event", "start"},
                               {"program", view_.program},
                               {"key", plan.key},
                               {"target", target_.name},
                               {"numerics", options_.numerics},
                               {"threads", options_.threads},
                               {"seed", view_.seed},
                               {"budget_s", view_.budget_s},
                               {"trials", view_.trials},
                               {"database", database_of(options_)},
                               {"flops", plan.flops},
                               {"bytes", plan.bytes},
                               {"peak_gflops", plan.peak_gflops},
                               {"memory_gb_s", plan.memory_gb_s},
                               {"bound_ns", plan.bound_ns},
                               {"before_s", plan.before.wall_s},
                               {"before_trials", plan.before.trials},
                               {"sketches", plan.sketches},
                               {"points", plan.points},
                               {"nearest", plan.nearest ? nlohmann::json(plan.nearest->id) : nlohmann::json()},
                               {"wall_s", event.elapsed_s}});
  has_table_ = true;
  if (terminal_.watched) return header(plan);
  line(fmt::format(
      "start program={} key={} target={} numerics={} db={} budget_s={:g} seed={} sketches={} peak_gflops={:.1f}",
      view_.program, plan.key.substr(0, 8), printable_line(target_.name), options_.numerics,
      printable(database_of(options_)), view_.budget_s, view_.seed, plan.sketches, plan.peak_gflops));
  if (plan.before.trials > 0)
    line(fmt::format("continue before_trials={} before_s={:.1f}", plan.before.trials, plan.before.wall_s));
}

void TuneDisplay::header_of_before(const TuneStart& plan) {
  if (plan.before.trials > 0) line(fmt::format("so far    {}: goes on from there", effort_text(plan.before)));
}

void TuneDisplay::header(const TuneStart& plan) {
  if (peak_gflops_ > 0)
    line(fmt::format("measured  peak {:.0f} GFLOP/s, {:.1f} GB/s, now", peak_gflops_, plan.memory_gb_s));
  std::string work = fmt::format("work      {} in and out", human_bytes(plan.bytes));
  if (flops_ > 0) work += fmt::format(", {:.3g} GFLOP", flops_ / 1e9);
  if (plan.bound_ns > 0) work += fmt::format(": at least {}", human_time(plan.bound_ns));
  line(work);
  if (plan.nearest && plan.nearest->differs_in.empty())
    line(fmt::format("found     record #{} of this task; searching again", plan.nearest->id));
  else if (plan.nearest)
    line(fmt::format("found     no record of this task; nearest: #{}, of another {}", plan.nearest->id,
                     plan.nearest->differs_in));
  else
    line("found     no record of this program");
  header_of_before(plan);
  line(fmt::format("space     {} sketch{}, {} points", plan.sketches, plan.sketches == 1 ? "" : "es",
                   human_count(plan.points)));
  line("");
  if (terminal_.width < kNarrow) return line(fmt::format("{:>7}   {:<9} {}", "trial", "best", "what changed"));
  line(fmt::format("{:>7}   {:<24}{:>8}  {:>10}   {}", "trial", "best", peak_gflops_ > 0 ? "of peak" : "", "predicted",
                   "what changed"));
}

std::string TuneDisplay::rate(double ns) const {
  return flops_ > 0 ? fmt::format("{:.1f} GFLOP/s", gflops(flops_, ns)) : "";
}

std::string TuneDisplay::share(double ns, double peak_gflops) const {
  return flops_ > 0 && peak_gflops > 0 ? share_of_peak(gflops(flops_, ns), peak_gflops, 0) : "";
}

// In turns it was ahead of the row above, whose time is of another minute.
void TuneDisplay::best(const TuneProgress& p) {
  const bool seems_slower = best_ns_ > 0 && p.ns >= best_ns_;
  row({std::to_string(p.trial), p.ns, p.predicted_ns, p.peak_gflops, p.elapsed_s,
       (seems_slower ? "faster in turns: " : "") + printable(what_changed(best_trace_, p.trace))});
  best_ns_ = p.ns;
}

void TuneDisplay::row(const TableRow& r) {
  if (!terminal_.watched) {
    std::string text = fmt::format("best trial={} ns={:.0f}", r.trial, r.ns);
    if (flops_ > 0) text += fmt::format(" gflops={:.1f}", gflops(flops_, r.ns));
    if (flops_ > 0 && r.peak_gflops > 0) text += fmt::format(" peak={:.2f}", gflops(flops_, r.ns) / r.peak_gflops);
    return line(text + fmt::format(" predicted_ns={:.0f} wall_s={:.1f} changed=\"{}\"", r.predicted_ns, r.elapsed_s,
                                   cut(r.changed, kShort)));
  }
  const std::string figures = terminal_.width < kNarrow
                                  ? fmt::format("{:>7}   {:<9} ", r.trial, human_time(r.ns))
                                  : fmt::format("{:>7}   {:<9} {:<14}{:>8}  {:>10}   ", r.trial, human_time(r.ns),
                                                rate(r.ns), share(r.ns, r.peak_gflops), human_time(r.predicted_ns));
  constexpr size_t kLeast = 8;
  const auto width = static_cast<size_t>(std::max(terminal_.width, 0));
  line(figures + cut(r.changed, std::max(width, figures.size() + kLeast) - figures.size()));
}

std::string TuneDisplay::bar(double elapsed_s) const {
  if (view_.budget_s <= 0) return fmt::format("{:.0f} s", elapsed_s);
  constexpr int kCells = 20;
  const double spent_s = before_s_ + elapsed_s;
  const int full = static_cast<int>(kCells * std::min(1.0, spent_s / view_.budget_s));
  return fmt::format("[{}{}] {:.0f} s of {:.0f} s", std::string(static_cast<size_t>(full), '#'),
                     std::string(static_cast<size_t>(kCells - full), '-'), spent_s, view_.budget_s);
}

std::string TuneDisplay::failures() const {
  std::string out;
  for (const auto& [status, count] : failed_by_status_)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, status);
  return out.empty() ? "" : " (" + out + ")";
}

void TuneDisplay::status(const TuneProgress& p) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_status_ < kStatusEvery) return;
  last_status_ = now;
  std::string text = fmt::format("{}  {} measured, {} failed{}   ^C stops, keeps   last gain {:.0f} s ago, {} scored",
                                 bar(p.elapsed_s), p.measured, p.failed, failures(), p.elapsed_s - last_gain_s_,
                                 human_count(static_cast<double>(p.scored)));
  show_status(text, terminal_.width);
}

void TuneDisplay::clear() {
  clear_status();
}

void TuneDisplay::line(const std::string& text) {
  clear_status();
  std::cerr << (terminal_.watched ? wrapped(text, terminal_.width, kHeaderIndent) : text) << "\n" << std::flush;
}

void TuneDisplay::json(const TuneProgress& p) {
  nlohmann::json out = {{"event", name_of_event(p.event)},
                        {"program", view_.program},
                        {"n", p.trial},
                        {"status", name_of(p.status)},
                        {"median_ns", p.ns},
                        {"predicted_ns", p.predicted_ns},
                        {"best_ns", p.best_ns},
                        {"measured", p.measured},
                        {"failed", p.failed},
                        {"scored", p.scored},
                        {"wall_s", p.elapsed_s},
                        {"what", p.what}};
  if (p.event == TuneEvent::best)
    out.update({{"changed", what_changed(best_trace_, p.trace)}, {"peak_gflops", known(p.peak_gflops)}});
  print_json("tune", out);
}

void TuneDisplay::finish(const TuneReport& report) {
  clear();
  if (!options_.json) final_row(report);
  if (options_.json)
    json_result(report);
  else if (terminal_.watched)
    human_result(report);
  else
    plain_result(report);
}

void TuneDisplay::json_result(const TuneReport& r) {
  const auto& m = r.record.measurement;
  print_json("tune",
             {{"event", "result"},
              {"program", view_.program},
              {"key", r.record.key.program},
              {"record", r.record.id},
              {"hit", r.hit},
              {"median_ns", m.timing.median_ns},
              {"times", is_emulated(r.record.key) ? "expected" : "measured"},
              {"ci_rel", m.timing.ci_rel},
              {"gflops", gflops(r.flops, m.timing.median_ns)},
              {"peak_gflops", known(r.peak_gflops)},
              {"peak_of", r.peak_of},
              {"reference_ns", known(r.reference_ns)},
              {"verdict", r.beside_base.ratio > 0 ? nlohmann::json(comparison_word(r.beside_base)) : nlohmann::json()},
              {"served", r.served},
              {"effort_s", r.effort.wall_s},
              {"effort_trials", r.effort.trials},
              {"warnings", r.warnings},
              {"measured", r.measured},
              {"failed", r.failed},
              {"failures", failed_by_status_},
              {"refuted", r.refuted},
              {"scored", r.scored},
              {"sketches", r.sketches},
              {"wall_s", r.wall_s},
              {"reason", r.reason},
              {"trace", r.record.trace_text},
              {"proof", name_of(r.record.certificate.verdict)},
              {"check_ms", r.record.certificate.check_ms},
              {"interrupted", r.interrupted}});
}

void TuneDisplay::human_result(const TuneReport& r) {
  const auto& m = r.record.measurement;
  const std::string proof = name_of(r.record.certificate.verdict);
  const bool proven = r.record.certificate.verdict == Verdict::proven;
  flops_ = r.flops;
  human_head(r);
  if (r.served != 0 && r.served != r.record.id)
    std::cout << fmt::format("  record #{} stays the one that is served: it is faster\n", r.served);
  if (!r.hit && r.sketches > 0)
    std::cout << fmt::format("  {} sketches, {} scored, {} measured, {} failed{}\n", r.sketches, r.scored, r.measured,
                             r.failed, failures());
  if (r.refuted > 0)
    std::cout << fmt::format("  {} that ran refuted by the checker: a defect of polyweft, please report this program\n",
                             r.refuted);
  if (r.reference_ns > 0)
    std::cout << fmt::format("  vs untuned base nest  {:.1f}x{}", r.reference_ns / m.timing.median_ns,
                             r.beside_base.ratio > 0 ? fmt::format(", {}", comparison_word(r.beside_base)) : "");
  std::cout << "  proof: " << painted(proof, proven ? Paint::green : Paint::red, terminal_.color_out)
            << fmt::format(" in {:.0f} ms\n", r.record.certificate.check_ms);
  std::cout << printable(r.record.trace_text);
}

void TuneDisplay::human_head(const TuneReport& r) {
  const Timing& timing = r.record.measurement.timing;
  std::string head = r.hit ? fmt::format(
                                 "record #{}: nothing measured; {}; a larger --budget or --trials goes on, "
                                 "--refresh begins again",
                                 r.record.id, effort_text(r.effort))
                           : fmt::format("done in {:.1f} s: {}", r.wall_s, r.reason);
  if (timing.median_ns > 0) {
    head += "   " + painted(human_time(timing.median_ns), Paint::bold, terminal_.color_out);
    head += is_emulated(r.record.key) ? " expected, not measured" : spread_text(timing);
    if (flops_ > 0) head += "   " + rate(timing.median_ns);
    if (const std::string of_peak = share(timing.median_ns, r.peak_gflops); !of_peak.empty())
      head += "   " + of_peak + " of peak";
  }
  head += r.record.id > 0 ? fmt::format("   record #{}", r.record.id) : "   not stored";
  std::cout << wrapped(head, terminal_.width, 2) << "\n";
  if (is_beyond_peak(gflops(flops_, timing.median_ns), r.peak_gflops))
    std::cout << wrapped(std::string("  ") + kWhyBeyondPeak, terminal_.width, 2) << "\n";
}

void TuneDisplay::plain_result(const TuneReport& r) {
  const auto& m = r.record.measurement;
  std::string text = fmt::format("done program={} record={} ns={:.0f} ci={:.4f}", view_.program, r.record.id,
                                 m.timing.median_ns, m.timing.ci_rel);
  if (is_emulated(r.record.key)) text += " times=expected";
  if (r.served != r.record.id) text += fmt::format(" served={}", r.served);
  if (r.flops > 0 && m.timing.median_ns > 0) text += fmt::format(" gflops={:.1f}", gflops(r.flops, m.timing.median_ns));
  if (r.peak_gflops > 0 && r.flops > 0)
    text += fmt::format(" peak={:.3f}", gflops(r.flops, m.timing.median_ns) / r.peak_gflops);
  if (is_beyond_peak(gflops(r.flops, m.timing.median_ns), r.peak_gflops)) text += " peak_was=too_low";
  if (r.reference_ns > 0) text += fmt::format(" speedup={:.2f}", r.reference_ns / m.timing.median_ns);
  if (r.beside_base.ratio > 0) text += fmt::format(" verdict={}", underscored(comparison_word(r.beside_base)));
  const std::string reason = underscored(r.reason), proof = underscored(name_of(r.record.certificate.verdict));
  if (r.refuted > 0) text += fmt::format(" refuted={}", r.refuted);
  text += fmt::format(" proof={} trials={} failed={} wall_s={:.1f} all_trials={} all_s={:.1f} reason={}", proof,
                      r.measured, r.failed, r.wall_s, r.effort.trials, r.effort.wall_s, reason);
  std::cout << printable(text) << "\n" << printable(r.record.trace_text) << std::flush;
}

}  // namespace polyweft::cli
