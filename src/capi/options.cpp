#include "options.h"

#include <algorithm>

namespace polyweft::capi {
namespace {

pw_progress told_to_c(const TuneProgress& p) {
  constexpr const char* kEvents[] = {"start", "hit", "trial", "best", "done", "doing"};
  pw_progress out{};
  out.struct_size = sizeof out;
  out.event = kEvents[static_cast<size_t>(p.event)];
  out.trial = p.trial;
  out.measured = p.measured;
  out.failed = p.failed;
  out.elapsed_s = p.elapsed_s;
  out.status = name_of(p.status);
  out.ns = p.ns;
  out.best_ns = p.best_ns;
  out.peak_gflops = p.peak_gflops;
  out.what = p.what.c_str();
  out.trace = p.trace.c_str();
  if (p.plan) out.before_s = p.plan->before.wall_s;
  if (p.plan) out.before_trials = p.plan->before.trials;
  return out;
}

pw_status fill_numbers(const pw_task_options& options, TuneOptions& out) {
  if (options.threads < 0 || options.threads > 1024) return out_of_range("threads is not in 0 .. 1024");
  if (options.budget_ms < -1) return out_of_range("budget_ms is below -1");
  if (options.trials < 0) return out_of_range("trials is negative");
  if (options.max_workspace < -1) return out_of_range("max_workspace is below -1");
  if (!(options.until >= 0 && options.until <= 1)) return out_of_range("until is not in 0 .. 1");
  if (options.deadline_ms < 0) return out_of_range("deadline_ms is negative");
  if (options.threads > 0) out.threads = options.threads;
  if (options.max_workspace != 0) out.max_workspace = std::max<int64_t>(options.max_workspace, 0);
  if (options.budget_ms != 0)
    out.budget = std::chrono::milliseconds(std::max<int64_t>(options.budget_ms, 0));
  else if (options.trials > 0)
    out.budget = TuneOptions::kNoLimit;
  out.trials = options.trials;
  out.until = options.until;
  out.deadline = std::chrono::milliseconds(options.deadline_ms);
  if (options.seed != 0) out.seed = options.seed;
  return PW_OK;
}

pw_status fill_names(const pw_task_options& options, TuneOptions& out) {
  if (options.parameter_count > 0 && (!options.parameter_names || !options.parameter_values))
    return null_argument("parameter_names or parameter_values");
  for (size_t i = 0; i < options.parameter_count; ++i) {
    if (!options.parameter_names[i]) return null_argument("a parameter name");
    out.parameters[options.parameter_names[i]] = options.parameter_values[i];
  }
  const auto cls = numerics_class_named(options.numerics ? options.numerics : "reassoc");
  if (!cls) return out_of_range(std::string("numerics: '") + options.numerics + "' is not strict, contract or reassoc");
  out.cls = *cls;
  const std::string abi = options.abi ? options.abi : "halide";
  if (abi != "halide" && abi != "c") return out_of_range("abi: '" + abi + "' is not halide or c");
  out.abi = abi == "c" ? Abi::c : Abi::halide;
  return PW_OK;
}

}  // namespace

pw_status fill(const pw_tuner_options* given, TunerOptions& out, std::string& target) {
  if (!has_size(given)) return no_size("pw_tuner_options");
  const pw_tuner_options options = known_part(given);
  target = options.target ? options.target : "host";
  if (options.database) out.database = options.database;
  if (options.helper_directory) out.helper_directory = options.helper_directory;
  if (options.secret) out.secret = options.secret;
  if (options.cache) out.cache = options.cache;
  if (options.runner_count > 0 && !options.runner) return null_argument("runner");
  for (size_t i = 0; i < options.runner_count; ++i) {
    if (!options.runner[i]) return null_argument("a word of runner");
    out.runner.emplace_back(options.runner[i]);
  }
  if (options.analysis_ms < 0) return out_of_range("analysis_ms is negative");
  if (options.analysis_ms > 0) out.isl_deadline = std::chrono::milliseconds(options.analysis_ms);
  out.may_miss_database = options.may_miss_database != 0;
  if (options.notice)
    out.notice = [notice = options.notice, user = options.notice_user](const std::string& text) {
      notice(user, text.c_str());
    };
  if (options.doing)
    out.doing = [doing = options.doing, user = options.doing_user](const std::string& what) {
      doing(user, what.c_str());
    };
  return PW_OK;
}

pw_status fill(const pw_task_options* given, TuneOptions& out) {
  if (!has_size(given)) return no_size("pw_task_options");
  const pw_task_options options = known_part(given);
  if (const pw_status status = fill_names(options, out); status != PW_OK) return status;
  if (const pw_status status = fill_numbers(options, out); status != PW_OK) return status;
  if (options.trace) out.trace = options.trace;
  if (options.seeds) out.seeds = options.seeds;
  out.symbolic = options.symbolic != 0;
  out.refresh = options.refresh != 0;
  out.uses_library = options.no_library == 0;
  if (options.progress)
    out.progress = [progress = options.progress, user = options.user](const TuneProgress& p) {
      const pw_progress told = told_to_c(p);
      progress(user, &told);
    };
  if (options.cancelled)
    out.cancelled = [cancelled = options.cancelled, user = options.user] { return cancelled(user) != 0; };
  return PW_OK;
}

pw_status fill_inputs(const pw_task_options* given, Tuner& tuner, const Program& program, TuneOptions& out) {
  const pw_task_options options = known_part(given);
  if (options.input_count == 0) return PW_OK;
  if (!options.input_names || !options.input_data || !options.input_bytes)
    return null_argument("input_names, input_data or input_bytes");
  auto all = tuner.make_inputs(program, out, InputSet::integer_valued, 1);
  if (!all) return fail_with(all.error());
  const auto ids = program.inputs();
  for (size_t i = 0; i < options.input_count; ++i) {
    if (!options.input_names[i]) return null_argument("an input's name");
    const std::string name = options.input_names[i];
    const auto found =
        std::find_if(ids.begin(), ids.end(), [&](TensorId id) { return program.tensors[id].name == name; });
    if (found == ids.end()) return fail_with(fail("PW0005", name + " is no input of " + program.name));
    TensorData& data = (*all)[static_cast<size_t>(found - ids.begin())];
    if (options.input_bytes[i] != data.bytes.size())
      return fail_with(fail("PW0006", name + " has " + std::to_string(data.bytes.size()) + " bytes, not " +
                                          std::to_string(options.input_bytes[i])));
    if (!options.input_data[i] && !data.bytes.empty()) return null_argument("the data of " + name);
    if (!data.bytes.empty()) std::memcpy(data.bytes.data(), options.input_data[i], data.bytes.size());
    out.inputs[name] = std::move(data);
  }
  return PW_OK;
}

}  // namespace polyweft::capi
