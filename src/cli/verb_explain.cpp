// Explains a code, or a record: what it is, what lost against it and why, what a further step would do.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

#include "status_line.h"
#include "suggest.h"
#include "trace_diff.h"
#include "verbs.h"

namespace polyweft::cli {
namespace {

struct ExplainOptions : CommonOptions {
  std::string what, why_not;
};
using Measured = std::vector<std::pair<std::string, Measurement>>;

int explain_message(const ExplainOptions& options) {
  std::string code = options.what;
  std::transform(code.begin(), code.end(), code.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  auto text = explain_code(code);
  if (std::error_code ignored; !text && std::filesystem::is_regular_file(options.what, ignored))
    return report(fail("PW0007", options.what + ": a file; codes of messages and records are explained",
                       {"what it becomes: polyweft show " + options.what,
                        "what was found for its programs: polyweft db list, then polyweft explain NUMBER"}),
                  options);
  if (!text)
    return report(fail("PW0007", options.what + ": no such message code",
                       {"codes look like PW0204 and stand at the end of a message"}),
                  options);
  if (options.json)
    print_json("explain", {{"event", "code"}, {"code", code}, {"text", *text}});
  else
    std::cout << *text << (text->back() == '\n' ? "" : "\n");
  return kDone;
}

bool is_timed(const Measurement& m) {
  return m.status == RunStatus::ok;
}

struct Summary {
  std::map<std::string, std::pair<int64_t, std::string>> failures;  // status -> count and an example
  int64_t timed = 0, slower = 0;
  const std::pair<std::string, Measurement>* second = nullptr;
};

/// One row a candidate: a record has its own beside that of its trial. What was timed counts, the last time of all.
std::vector<const std::pair<std::string, Measurement>*> candidates_in(const Measured& rows) {
  std::vector<const std::pair<std::string, Measurement>*> out;
  std::map<std::string, size_t> places;
  for (const auto& row : rows) {
    const auto [known, is_new] = places.try_emplace(row.second.nest_hash, out.size());
    if (is_new)
      out.push_back(&row);
    else if (is_timed(row.second) || !is_timed(out[known->second]->second))
      out[known->second] = &row;
  }
  return out;
}

Summary summarize(const TuningRecord& record, const Measured& rows) {
  Summary out;
  for (const auto* const candidate : candidates_in(rows)) {
    const auto& row = *candidate;
    const Measurement& m = row.second;
    if (m.status == RunStatus::slower) {
      ++out.slower;
    } else if (!is_timed(m)) {
      auto& [count, example] = out.failures[name_of(m.status)];
      if (count++ == 0) example = m.detail;
    } else {
      ++out.timed;
      const bool other = m.nest_hash != record.measurement.nest_hash;
      if (other && (!out.second || m.timing.median_ns < out.second->second.timing.median_ns)) out.second = &row;
    }
  }
  return out;
}

/// What the machine code says, and how far the record is from what no schedule beats.
struct Inside {
  std::string model;  ///< of the cost of code; empty: there is none for the target
  std::optional<LoopCost> hot;
  int spills = 0;  ///< of all innermost loops
  Roofline roofline;
};

Result<Inside> look_inside(Tuner& tuner, const TuningRecord& record) {
  auto assembly = tuner.assembly(record);
  if (!assembly && assembly.error().code == "PW0540") {
    Inside unknown;
    unknown.roofline.unknown = assembly.error().message + "; " + assembly.error().notes.front();
    return unknown;
  }
  const bool has_costs = assembly || assembly.error().code != "PW0523";
  if (!assembly && has_costs) return assembly.error();
  auto roofline = tuner.roofline(record);
  if (!roofline) return roofline.error();
  Inside out{"", std::nullopt, 0, *roofline};
  if (!has_costs) return out;
  out.model = assembly->model;
  for (const LoopCost& loop : assembly->loops) {
    out.spills += loop.spills;
    if (loop.hot) out.hot = loop;
  }
  return out;
}

/// The kernel in the minute of the peak; of a long one the record's time.
double time_beside(const Roofline& r, double median_ns) {
  return r.kernel_ns > 0 ? r.kernel_ns : median_ns;
}

bool is_bound_by_memory(const Roofline& r) {
  return r.memory_ns > 0 && r.memory_ns >= r.bound_ns;
}

nlohmann::json inside_json(const Inside& in, double median_ns) {
  nlohmann::json out = {{"model", in.model}, {"spills", in.spills}, {"hot", nullptr}, {"roofline", nullptr}};
  if (in.hot)
    out["hot"] = {{"label", in.hot->label},   {"depth", in.hot->depth},   {"instructions", in.hot->instructions},
                  {"fmas", in.hot->fmas},     {"loads", in.hot->loads},   {"stores", in.hot->stores},
                  {"spills", in.hot->spills}, {"cycles", in.hot->cycles}, {"bound", in.hot->bound}};
  const Roofline& r = in.roofline;
  if (r.bound_ns > 0)
    out["roofline"] = {{"bound_ns", r.bound_ns},
                       {"by", is_bound_by_memory(r) ? "memory" : "arithmetic"},
                       {"peak_gflops", r.peak_gflops},
                       {"memory_gb_s", r.memory_gb_s},
                       {"kernel_ns", r.kernel_ns},
                       {"gap", time_beside(r, median_ns) > 0 ? nlohmann::json(time_beside(r, median_ns) / r.bound_ns)
                                                             : nlohmann::json()}};
  return out;
}

void inside_text(const Inside& in, double median_ns) {
  if (in.hot)
    std::cout << fmt::format(
        "hot loop: {} multiply-adds, {} loads, {} stores, {} spills; {:.1f} cycles an iteration, bound by {} ({}, "
        "every access in L1)\n",
        in.hot->fmas, in.hot->loads, in.hot->stores, in.hot->spills, in.hot->cycles, in.hot->bound, in.model);
  if (!in.model.empty()) std::cout << fmt::format("spills: {} in all innermost loops\n", in.spills);
  const Roofline& r = in.roofline;
  if (!r.unknown.empty()) std::cout << fmt::format("roofline: not known: {}\n", printable(r.unknown));
  if (r.bound_ns <= 0) return;
  const std::string rate =
      is_bound_by_memory(r) ? fmt::format("memory, {} at {:.1f} GB/s", human_bytes(r.bytes), r.memory_gb_s)
                            : fmt::format("arithmetic, {:.3g} GFLOP at {:.1f} GFLOP/s", r.flops / 1e9, r.peak_gflops);
  std::cout << fmt::format("roofline: at least {} by {} (measured now)", human_time(r.bound_ns), rate);
  const double ns = time_beside(r, median_ns);
  std::cout << (ns > 0 ? fmt::format("; {} {}, {:.2f} times that\n",
                                     r.kernel_ns > 0 ? "in turns with it the kernel takes" : "the record took",
                                     human_time(ns), ns / r.bound_ns)
                       : "\n");
}

void summary_json(const TuningRecord& r, const Summary& s, const Inside& inside) {
  nlohmann::json failures = nlohmann::json::object();
  for (const auto& [status, entry] : s.failures) failures[status] = {{"count", entry.first}, {"example", entry.second}};
  nlohmann::json second;
  if (s.second)
    second = {{"median_ns", s.second->second.timing.median_ns},
              {"ci_rel", s.second->second.timing.ci_rel},
              {"changed", what_changed(r.trace_text, s.second->first)},
              {"trace", s.second->first}};
  print_json("explain", {{"event", "record"},
                         {"record", r.id},
                         {"program", r.program_name},
                         {"median_ns", r.measurement.timing.median_ns},
                         {"predicted_ns", r.measurement.predicted_ns},
                         {"timed", s.timed},
                         {"slower", s.slower},
                         {"failures", failures},
                         {"second", second},
                         {"inside", inside_json(inside, r.measurement.timing.median_ns)}});
}

/// A terminal gets lines that fit, whoever reads a pipe one line.
void print_text(const std::string& text, const Terminal& terminal) {
  constexpr size_t kIndent = 2;
  std::cout << (terminal.watched ? wrapped(text, terminal.width, kIndent) : text) << "\n";
}

void summary_text(const TuningRecord& r, const Summary& s, const Inside& inside, const Terminal& terminal) {
  const double best = r.measurement.timing.median_ns;
  std::cout << fmt::format("record {}   {} {}   {}{}", r.id, printable_line(r.program_name),
                           binding_text(r.key.binding), human_time(best), spread_text(r.measurement.timing));
  if (r.measurement.predicted_ns > 0)
    std::cout << fmt::format("   the model predicted {}", human_time(r.measurement.predicted_ns));
  std::cout << fmt::format("\ntried: {} timed, {} dropped early as slower", s.timed, s.slower);
  for (const auto& [status, entry] : s.failures) std::cout << fmt::format(", {} {}", entry.first, status);
  std::cout << "\n";
  if (s.second) {
    const Timing& t = s.second->second.timing;
    print_text(
        fmt::format("second best: {}{}, {:+.1f} % (medians of different moments; bench --against compares pairs): {}",
                    human_time(t.median_ns), spread_text(t), best > 0 ? 100 * (t.median_ns / best - 1) : 0,
                    printable(what_changed(r.trace_text, s.second->first))),
        terminal);
  } else {
    std::cout << "second best: nothing else was timed\n";
  }
  for (const auto& [status, entry] : s.failures)
    if (!entry.second.empty())
      print_text(fmt::format("{}, e.g.: {}", status, printable(first_line(entry.second))), terminal);
  inside_text(inside, best);
  std::cout << "every loop: polyweft show " << r.id << " --stage assembly\n"
            << "a step that is not there: polyweft explain " << r.id << " --why-not 'parallel C i'\n";
}

constexpr const char* kLastStep = "autovectorize";

bool has_last_step(const std::string& trace) {
  return trace.find(std::string("\n  ") + kLastStep) != std::string::npos;
}

// The steps of a trace are its indented lines, before the decisions. What no step may follow stays the last one.
std::string with_step(const std::string& trace, const std::string& step) {
  const size_t last = step.starts_with(kLastStep) ? std::string::npos : trace.find(std::string("\n  ") + kLastStep);
  const size_t end = last != std::string::npos ? last : trace.find("\ndecide ");
  const size_t at = end == std::string::npos ? trace.size() : end + 1;
  return trace.substr(0, at) + "  " + step + "\n" + trace.substr(at);
}

Result<TaskOptions> task_of(const TuningRecord& record, const Program& program) {
  TaskOptions task;
  task.cls = record.key.cls;
  task.threads = record.key.threads;
  for (size_t p = 0; p < program.parameters.size() && p < record.key.binding.size(); ++p)
    task.parameters[program.parameters[p].name] = record.key.binding[p];
  return task;
}

Result<Program> program_of(const TuningRecord& record) {
  auto parsed = parse_programs(record.program_text, "");
  if (!parsed) return parsed.error();
  for (auto& program : parsed->programs)
    if (program_key(program) == record.key.program) return std::move(program);
  return fail("PW0711", "record #" + std::to_string(record.id) + ": its program text does not have its key",
              {"run: polyweft db verify"});
}

// A word that begins no step: PW0301 with the steps that there are.
Status is_kind_of_step(const std::string& word) {
  auto parsed = parse_trace("trace 1\n  " + word + "\n");
  static const std::string kUnknown = "unknown step", kKnown = "known are ";
  if (parsed || parsed.error().message.find(kUnknown) == std::string::npos) return Ok{};
  const std::string& text = parsed.error().message;
  const size_t at = text.find(kKnown);
  const std::string names = at == std::string::npos ? "" : text.substr(at + kKnown.size());
  std::istringstream words(names);
  const std::vector<std::string> known{std::istream_iterator<std::string>(words), {}};
  return fail("PW0301", "--why-not " + word + ": no such step" + did_you_mean(word, known), {"the steps are " + names});
}

// What the search measured with a step of this kind: the only answer there is for a bare word.
int why_not_kind(const TuningRecord& record, const Measured& rows, const ExplainOptions& options) {
  if (auto kind = is_kind_of_step(options.why_not); !kind) return report(kind.error(), options);
  const Measurement* best = nullptr;
  int64_t count = 0;
  for (const auto& [trace, m] : rows) {
    if (trace.find("\n  " + options.why_not + " ") == std::string::npos) continue;
    ++count;
    if (is_timed(m) && (!best || m.timing.median_ns < best->timing.median_ns)) best = &m;
  }
  const bool has_it = record.trace_text.find("\n  " + options.why_not + " ") != std::string::npos;
  std::string text = has_it ? fmt::format("record {} has a step '{}'", record.id, options.why_not)
                            : fmt::format("{} of {} candidates had a step '{}'", count, rows.size(), options.why_not);
  if (!has_it && best)
    text += fmt::format("; the fastest took {}, {:+.1f} %", human_time(best->timing.median_ns),
                        100 * (best->timing.median_ns / record.measurement.timing.median_ns - 1));
  text += "; a whole step, as a trace has it, can be tried: --why-not '" + options.why_not + " STATEMENT ...'";
  if (options.json)
    print_json("explain", {{"event", "why_not"},
                           {"record", record.id},
                           {"step", options.why_not},
                           {"answer", has_it ? "has_it" : "measured"},
                           {"text", text},
                           {"code", nullptr}});
  else
    std::cout << printable(text) << "\n";
  return kDone;
}

// The record's trace with the step behind its others, replayed and proven: either a refusal with its instance pair, or
// a legal schedule to measure.
int why_not_step(Tuner& tuner, const TuningRecord& record, const ExplainOptions& options) {
  auto program = program_of(record);
  if (!program) return report(program.error(), options);
  auto task = task_of(record, *program);
  if (!task) return report(task.error(), options);
  task->trace = with_step(record.trace_text, options.why_not);
  auto nest = tuner.show(*program, *task, ShowStage::loops);
  if (!nest && (kind_of(nest.error().code) == ErrorKind::environment || nest.error().code == "PW0301"))
    return report(nest.error(), options);
  const std::string where = has_last_step(record.trace_text) ? std::string(", before its step ") + kLastStep : "";
  std::string text =
      nest ? "legal and proven; the search did not choose it. Measure it: polyweft bench FILE --against record:" +
                 std::to_string(record.id) + " --schedule TRACE, with this line added to the trace of `polyweft show " +
                 std::to_string(record.id) + " --stage trace`" + where
           : "refused (" + nest.error().code + "): " + nest.error().message;
  if (!nest)
    for (const auto& note : nest.error().notes) text += "\n   " + note;
  if (options.json)
    print_json("explain", {{"event", "why_not"},
                           {"record", record.id},
                           {"step", options.why_not},
                           {"answer", nest ? "legal" : "refused"},
                           {"text", text},
                           {"code", nest ? nlohmann::json() : nlohmann::json(nest.error().code)}});
  else
    std::cout << printable(options.why_not + " " + text) << "\n";
  return kDone;
}

int explain_record(const ExplainOptions& options) {
  auto tuner = make_tuner(options);
  if (!tuner) return report(tuner.error(), options);
  auto record = find_record(*tuner, options.what);
  if (!record) return report(record.error(), options);
  tuner = tuner_of(*record, std::move(*tuner), options);
  if (!tuner) return report(tuner.error(), options);
  auto database = tuner->database();
  if (!database) return report(database.error(), options);
  auto rows = (*database)->measurements(record->key);
  if (!rows) return report(rows.error(), options);
  if (!options.why_not.empty())
    return options.why_not.find(' ') == std::string::npos ? why_not_kind(*record, *rows, options)
                                                          : why_not_step(*tuner, *record, options);
  const Summary summary = summarize(*record, *rows);
  auto inside = look_inside(*tuner, *record);
  if (!inside) return report(inside.error(), options);
  if (options.json)
    summary_json(*record, summary, *inside);
  else
    summary_text(*record, summary, *inside, options.terminal());
  return kDone;
}

}  // namespace

Verb add_explain(CLI::App& app) {
  auto options = std::make_shared<ExplainOptions>();
  options->add_to(app);
  app.add_option("CODE|RECORD", options->what, "A message code, e.g. PW0204, or the number of a record")->required();
  app.add_option("--why-not", options->why_not,
                 "Of a record: why it has not this step, e.g. 'parallel C i', or a kind of step, e.g. fuse")
      ->type_name("STEP");
  return [options] { return is_record_number(options->what) ? explain_record(*options) : explain_message(*options); };
}

}  // namespace polyweft::cli
