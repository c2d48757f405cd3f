// The C ABI over Tuner: handles own C++ values, errors become a status and this thread's message.
#include "polyweft/c_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

#include "polyweft/tuner.h"

struct pw_program {
  polyweft::Program program;
  std::string key;
};
struct pw_tuner {
  polyweft::Tuner tuner;
};
struct pw_record {
  polyweft::TuningRecord record;
};
struct pw_kernel {
  polyweft::Kernel kernel;
};
struct pw_record_list {
  std::vector<pw_record> records;
};
struct pw_buffer {
  std::vector<unsigned char> bytes;
};

namespace {

using polyweft::Error;

thread_local std::string last_error, last_code;

static_assert(static_cast<int>(polyweft::ErrorKind::no) == PW_NO &&
              static_cast<int>(polyweft::ErrorKind::bad_input) == PW_BAD_INPUT &&
              static_cast<int>(polyweft::ErrorKind::environment) == PW_ENVIRONMENT &&
              static_cast<int>(polyweft::ErrorKind::internal) == PW_INTERNAL);

pw_status fail_with(pw_status status, std::string message) {
  last_error = std::move(message);
  last_code.clear();
  return status;
}

pw_status status_of(const std::string& code) {
  return static_cast<pw_status>(polyweft::kind_of(code));
}

pw_status fail_with(const Error& error) {
  const pw_status status = fail_with(status_of(error.code), polyweft::render(error, ""));
  last_code = error.code;
  return status;
}

pw_status null_argument(const char* name) {
  return fail_with(PW_BAD_INPUT, std::string(name) + " is NULL");
}

/// No exception leaves a C function.
template <class F>
pw_status guarded(const F& body) {
  try {
    return body();
  } catch (const std::exception& problem) {
    return fail_with(PW_INTERNAL, problem.what());
  } catch (...) {
    return fail_with(PW_INTERNAL, "unknown exception");
  }
}

/// The caller's struct, cut or filled up to the size that this library knows.
template <class T>
T known_part(const T* options) {
  T out{};
  if (options) std::memcpy(&out, options, options->struct_size < sizeof(T) ? options->struct_size : sizeof(T));
  return out;
}

/// A struct that does not even have its own size was not filled in by the caller.
template <class T>
bool has_size(const T* options) {
  return !options || options->struct_size >= sizeof(size_t);
}

pw_progress told_to_c(const polyweft::TuneProgress& p) {
  constexpr const char* kEvents[] = {"start", "hit", "trial", "best", "done", "doing"};
  pw_progress out{};
  out.struct_size = sizeof out;
  out.event = kEvents[static_cast<size_t>(p.event)];
  out.trial = p.trial;
  out.measured = p.measured;
  out.failed = p.failed;
  out.elapsed_s = p.elapsed_s;
  out.status = polyweft::name_of(p.status);
  out.ns = p.ns;
  out.best_ns = p.best_ns;
  out.peak_gflops = p.peak_gflops;
  out.what = p.what.c_str();
  out.trace = p.trace.c_str();
  if (p.plan) out.before_s = p.plan->before.wall_s;
  if (p.plan) out.before_trials = p.plan->before.trials;
  return out;
}

pw_status fill(const pw_task_options* given, polyweft::TuneOptions& out) {
  if (!has_size(given)) return fail_with(PW_BAD_INPUT, "pw_task_options: struct_size is not set");
  const pw_task_options options = known_part(given);
  if (options.parameter_count > 0 && (!options.parameter_names || !options.parameter_values))
    return null_argument("parameter_names or parameter_values");
  for (size_t i = 0; i < options.parameter_count; ++i) {
    if (!options.parameter_names[i]) return null_argument("a parameter name");
    out.parameters[options.parameter_names[i]] = options.parameter_values[i];
  }
  if (options.numerics) {
    const auto cls = polyweft::numerics_class_named(options.numerics);
    if (!cls)
      return fail_with(PW_BAD_INPUT,
                       std::string("numerics: '") + options.numerics + "' is not strict, contract or reassoc");
    out.cls = *cls;
  }
  if (options.threads < 0 || options.threads > 1024) return fail_with(PW_BAD_INPUT, "threads is not in 0 .. 1024");
  if (options.budget_ms < -1) return fail_with(PW_BAD_INPUT, "budget_ms is below -1");
  if (options.trials < 0) return fail_with(PW_BAD_INPUT, "trials is negative");
  if (options.threads > 0) out.threads = options.threads;
  if (options.max_workspace < -1) return fail_with(PW_BAD_INPUT, "max_workspace is below -1");
  if (options.max_workspace != 0) out.max_workspace = options.max_workspace < 0 ? 0 : options.max_workspace;
  if (options.trace) out.trace = options.trace;
  out.symbolic = options.symbolic != 0;
  if (options.budget_ms != 0)
    out.budget = std::chrono::milliseconds(std::max<int64_t>(options.budget_ms, 0));
  else if (options.trials > 0)
    out.budget = polyweft::TuneOptions::kNoLimit;
  out.trials = options.trials;
  if (options.seed != 0) out.seed = options.seed;
  if (options.seeds) out.seeds = options.seeds;
  out.uses_library = options.no_library == 0;
  if (options.progress)
    out.progress = [progress = options.progress, user = options.user](const polyweft::TuneProgress& p) {
      const pw_progress told = told_to_c(p);
      progress(user, &told);
    };
  if (options.cancelled)
    out.cancelled = [cancelled = options.cancelled, user = options.user] { return cancelled(user) != 0; };
  return PW_OK;
}

Error missed(polyweft::Tuner& tuner, const polyweft::Program& program, const polyweft::TaskOptions& task) {
  std::vector<std::string> notes;
  if (auto nearest = tuner.nearest(program, task); nearest && *nearest)
    notes.push_back("the nearest is record #" + std::to_string((*nearest)->id) + ", which differs in " +
                    (*nearest)->differs_in);
  notes.emplace_back("pw_tuner_tune makes one; pw_tuner_compile takes the first choice of the model without");
  return polyweft::fail("PW0713", program.name + ": the database has no record of this task", std::move(notes));
}

/// The first program, or the one of this name.
pw_status parse(const char* text, const char* name, pw_program** out) {
  auto parsed = polyweft::parse_programs(text, "");
  if (!parsed) {
    const pw_status status = fail_with(parsed.error());
    last_error = polyweft::render(parsed.error(), text);
    return status;
  }
  for (auto& program : parsed->programs) {
    if (name && program.name != name) continue;
    std::string key = polyweft::program_key(program);
    *out = new pw_program{std::move(program), std::move(key)};
    return PW_OK;
  }
  return fail_with(polyweft::fail("PW0002", "the text has no program '" + std::string(name ? name : "") + "'"));
}

const polyweft::ArgumentSpec* argument(const pw_kernel* kernel, size_t index) {
  if (!kernel || index >= kernel->kernel.arguments().size()) return nullptr;
  return &kernel->kernel.arguments()[index];
}

size_t bytes_of(const polyweft::ArgumentSpec& spec) {
  auto bytes = static_cast<size_t>(polyweft::size_bytes(spec.type));
  for (int64_t extent : spec.extents) bytes *= static_cast<size_t>(extent);
  return bytes;
}

}  // namespace

extern "C" {

const char* pw_version(void) {
  static const std::string version = polyweft::toolchain();
  return version.c_str();
}
const char* pw_last_error(void) {
  return last_error.c_str();
}
const char* pw_last_error_code(void) {
  return last_code.c_str();
}

pw_status pw_hold_host(const char* level) {
  if (!level) return null_argument("level");
  return guarded([&] {
    const auto held = polyweft::hold_host(level);
    return held ? PW_OK : fail_with(held.error());
  });
}

pw_status pw_program_parse(const char* text, pw_program** out) {
  if (!text) return null_argument("text");
  if (!out) return null_argument("out");
  return guarded([&] { return parse(text, nullptr, out); });
}
pw_status pw_program_parse_named(const char* text, const char* name, pw_program** out) {
  if (!text) return null_argument("text");
  if (!name) return null_argument("name");
  if (!out) return null_argument("out");
  return guarded([&] { return parse(text, name, out); });
}
const char* pw_program_name(const pw_program* program) {
  return program ? program->program.name.c_str() : "";
}
void pw_program_free(pw_program* program) {
  delete program;
}
const char* pw_program_key(const pw_program* program) {
  return program ? program->key.c_str() : "";
}

pw_status pw_tuner_create(const pw_tuner_options* given, pw_tuner** out) {
  if (!out) return null_argument("out");
  if (!has_size(given)) return fail_with(PW_BAD_INPUT, "pw_tuner_options: struct_size is not set");
  return guarded([&] {
    const pw_tuner_options options = known_part(given);
    auto target = polyweft::find_target(options.target ? options.target : "host");
    if (!target) return fail_with(target.error());
    polyweft::TunerOptions tuner;
    if (options.database) tuner.database = options.database;
    if (options.helper_directory) tuner.helper_directory = options.helper_directory;
    if (options.secret) tuner.secret = options.secret;
    if (options.notice)
      tuner.notice = [notice = options.notice, user = options.notice_user](const std::string& text) {
        notice(user, text.c_str());
      };
    *out = new pw_tuner{polyweft::Tuner(std::move(target).value(), std::move(tuner))};
    return PW_OK;
  });
}
void pw_tuner_free(pw_tuner* tuner) {
  delete tuner;
}

pw_status pw_tuner_check(pw_tuner* tuner, const pw_program* program) {
  if (!tuner || !program) return null_argument("tuner or program");
  return guarded([&] {
    const auto report = tuner->tuner.check(program->program);
    if (report.errors.empty()) return PW_OK;
    std::string text;
    for (const auto& d : report.errors)
      text += polyweft::render(d, program->program.source_name, program->program.source_text);
    return fail_with(PW_BAD_INPUT, text);
  });
}

pw_status pw_tuner_tune(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, pw_record** out) {
  if (!tuner || !program) return null_argument("tuner or program");
  if (!out) return null_argument("out");
  return guarded([&] {
    polyweft::TuneOptions task;
    if (pw_status status = fill(options, task); status != PW_OK) return status;
    auto report = tuner->tuner.tune(program->program, task);
    if (!report) return fail_with(report.error());
    *out = new pw_record{std::move(report->record)};
    return PW_OK;
  });
}

pw_status pw_tuner_best(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, pw_record** out) {
  if (!tuner || !program) return null_argument("tuner or program");
  if (!out) return null_argument("out");
  return guarded([&] {
    polyweft::TuneOptions task;
    if (pw_status status = fill(options, task); status != PW_OK) return status;
    auto record = tuner->tuner.best(program->program, task);
    if (!record) return fail_with(record.error());
    if (!*record) return fail_with(missed(tuner->tuner, program->program, task));
    *out = new pw_record{std::move(**record)};
    return PW_OK;
  });
}

pw_status pw_tuner_compile(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                           pw_kernel** out) {
  if (!tuner || !program) return null_argument("tuner or program");
  if (!out) return null_argument("out");
  return guarded([&] {
    polyweft::TuneOptions task;
    if (pw_status status = fill(options, task); status != PW_OK) return status;
    auto kernel = tuner->tuner.compile(program->program, task);
    if (!kernel) return fail_with(kernel.error());
    *out = new pw_kernel{std::move(kernel).value()};
    return PW_OK;
  });
}

pw_status pw_tuner_verify(pw_tuner* tuner, const pw_program* program, const pw_task_options* options) {
  if (!tuner || !program) return null_argument("tuner or program");
  return guarded([&] {
    polyweft::TuneOptions task;
    if (pw_status status = fill(options, task); status != PW_OK) return status;
    for (const auto set : {polyweft::InputSet::integer_valued, polyweft::InputSet::random}) {
      auto inputs = tuner->tuner.make_inputs(program->program, task, set, task.seed);
      if (!inputs) return fail_with(inputs.error());
      auto compared = tuner->tuner.verify(program->program, task, *inputs);
      if (!compared) return fail_with(compared.error());
      if (!compared->equal) return fail_with(PW_NO, compared->detail);
    }
    return PW_OK;
  });
}

pw_status pw_tuner_bench(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                         int64_t milliseconds, pw_bench_result* out) {
  if (!tuner || !program) return null_argument("tuner or program");
  if (!out) return null_argument("out");
  if (!has_size(out)) return fail_with(PW_BAD_INPUT, "pw_bench_result: struct_size is not set");
  if (milliseconds < 1 || milliseconds > 600'000) return fail_with(PW_BAD_INPUT, "milliseconds is not in 1 .. 600000");
  return guarded([&] {
    polyweft::TuneOptions task;
    if (pw_status status = fill(options, task); status != PW_OK) return status;
    auto report = tuner->tuner.bench(program->program, task, std::chrono::milliseconds(milliseconds));
    if (!report) return fail_with(report.error());
    const polyweft::Timing& t = report->kernel;
    const pw_bench_result result = {out->struct_size, t.median_ns,        t.min_ns,
                                    t.ci_rel,         t.samples,          report->reference.median_ns,
                                    report->flops,    report->peak_gflops};
    std::memcpy(out, &result, std::min(out->struct_size, sizeof result));
    return PW_OK;
  });
}

pw_status pw_tuner_list(pw_tuner* tuner, int64_t limit, int64_t offset, pw_record_list** out) {
  if (!tuner) return null_argument("tuner");
  if (!out) return null_argument("out");
  if (limit < 0 || offset < 0) return fail_with(PW_BAD_INPUT, "limit or offset is negative");
  return guarded([&] {
    auto database = tuner->tuner.database();
    if (!database) return fail_with(database.error());
    auto rows = (*database)->list({.limit = limit, .offset = offset});
    if (!rows) return fail_with(rows.error());
    auto list = std::make_unique<pw_record_list>();
    for (auto& row : *rows) list->records.push_back({std::move(row)});
    *out = list.release();
    return PW_OK;
  });
}
size_t pw_record_list_count(const pw_record_list* list) {
  return list ? list->records.size() : 0;
}
const pw_record* pw_record_list_at(const pw_record_list* list, size_t index) {
  return list && index < list->records.size() ? &list->records[index] : nullptr;
}
void pw_record_list_free(pw_record_list* list) {
  delete list;
}

pw_status pw_tuner_compile_record(pw_tuner* tuner, const pw_record* record, pw_kernel** out) {
  if (!tuner || !record) return null_argument("tuner or record");
  if (!out) return null_argument("out");
  return guarded([&] {
    auto kernel = tuner->tuner.compile(record->record);
    if (!kernel) return fail_with(kernel.error());
    *out = new pw_kernel{std::move(kernel).value()};
    return PW_OK;
  });
}

pw_status pw_tuner_build(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, const char* emit,
                         const char* symbol, pw_buffer** out) {
  if (!tuner || !program) return null_argument("tuner or program");
  if (!emit) return null_argument("emit");
  if (!out) return null_argument("out");
  return guarded([&] {
    polyweft::TuneOptions task;
    if (pw_status status = fill(options, task); status != PW_OK) return status;
    const auto kind = polyweft::emit_named(emit);
    if (!kind)
      return fail_with(PW_BAD_INPUT, std::string("emit: '") + emit +
                                         "' is not object, assembly, llvm, shared, static, header, c or artifact");
    auto built = tuner->tuner.build(program->program, task, *kind, symbol ? symbol : "");
    if (!built) return fail_with(built.error());
    *out = new pw_buffer{std::move(built->bytes)};
    return PW_OK;
  });
}

const void* pw_buffer_data(const pw_buffer* buffer) {
  return buffer ? buffer->bytes.data() : nullptr;
}
size_t pw_buffer_bytes(const pw_buffer* buffer) {
  return buffer ? buffer->bytes.size() : 0;
}
void pw_buffer_free(pw_buffer* buffer) {
  delete buffer;
}

void pw_record_free(pw_record* record) {
  delete record;
}
int64_t pw_record_id(const pw_record* record) {
  return record ? record->record.id : 0;
}
double pw_record_median_ns(const pw_record* record) {
  return record ? record->record.measurement.timing.median_ns : 0;
}
const char* pw_record_trace(const pw_record* record) {
  return record ? record->record.trace_text.c_str() : "";
}

const char* pw_record_program_name(const pw_record* record) {
  return record ? record->record.program_name.c_str() : "";
}
const char* pw_record_program_key(const pw_record* record) {
  return record ? record->record.key.program.c_str() : "";
}
const char* pw_record_numerics(const pw_record* record) {
  return record ? polyweft::name_of(record->record.key.cls) : "";
}
int32_t pw_record_threads(const pw_record* record) {
  return record ? record->record.key.threads : 0;
}
int64_t pw_record_unix_time(const pw_record* record) {
  return record ? record->record.measurement.unix_time : 0;
}
size_t pw_record_parameter_count(const pw_record* record) {
  return record ? record->record.key.binding.size() : 0;
}
int64_t pw_record_parameter(const pw_record* record, size_t index) {
  return record && index < record->record.key.binding.size() ? record->record.key.binding[index] : 0;
}

int pw_record_is_proven(const pw_record* record) {
  return record && record->record.certificate.verdict == polyweft::Verdict::proven ? 1 : 0;
}

const char* pw_kernel_origin(const pw_kernel* kernel) {
  return kernel ? kernel->kernel.origin().c_str() : "";
}
size_t pw_kernel_argument_count(const pw_kernel* kernel) {
  return kernel ? kernel->kernel.arguments().size() : 0;
}
const char* pw_kernel_argument_name(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? spec->name.c_str() : "";
}
const char* pw_kernel_argument_type(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? polyweft::name_of(spec->type) : "";
}
int pw_kernel_argument_is_output(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec && spec->is_output ? 1 : 0;
}
size_t pw_kernel_argument_rank(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? spec->extents.size() : 0;
}
int64_t pw_kernel_argument_extent(const pw_kernel* kernel, size_t index, size_t dimension) {
  const auto* spec = argument(kernel, index);
  return spec && dimension < spec->extents.size() ? spec->extents[dimension] : 0;
}
size_t pw_kernel_argument_bytes(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? bytes_of(*spec) : 0;
}

pw_status pw_kernel_run(pw_kernel* kernel, void* const* buffers, const size_t* bytes, size_t count) {
  if (!kernel) return null_argument("kernel");
  if (count > 0 && (!buffers || !bytes)) return null_argument("buffers or bytes");
  return guarded([&] {
    const auto& arguments = kernel->kernel.arguments();
    if (count != arguments.size())
      return fail_with(PW_BAD_INPUT, "the kernel has " + std::to_string(arguments.size()) + " arguments, not " +
                                         std::to_string(count));
    for (size_t i = 0; i < count; ++i) {
      const size_t expected = bytes_of(arguments[i]);
      if (bytes[i] != expected)
        return fail_with(PW_BAD_INPUT, arguments[i].name + " has " + std::to_string(expected) + " bytes, not " +
                                           std::to_string(bytes[i]));
      if (!buffers[i] && expected > 0) return null_argument(arguments[i].name.c_str());
    }
    if (auto called = kernel->kernel.call(std::vector<void*>(buffers, buffers + count)); !called)
      return fail_with(called.error());
    return PW_OK;
  });
}
void pw_kernel_free(pw_kernel* kernel) {
  delete kernel;
}

}  // extern "C"
