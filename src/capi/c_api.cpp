// The C ABI over Tuner: handles own C++ values, errors become a status and this thread's message.
#include "polyweft/c_api.h"

#include <cstring>
#include <exception>

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

namespace {

using polyweft::Error;

thread_local std::string last_error;

static_assert(static_cast<int>(polyweft::ErrorKind::no) == PW_NO && static_cast<int>(polyweft::ErrorKind::bad_input) == PW_BAD_INPUT &&
              static_cast<int>(polyweft::ErrorKind::environment) == PW_ENVIRONMENT && static_cast<int>(polyweft::ErrorKind::internal) == PW_INTERNAL);

pw_status fail_with(pw_status status, std::string message) {
  last_error = std::move(message);
  return status;
}

pw_status status_of(const std::string& code) {
  return static_cast<pw_status>(polyweft::kind_of(code));
}

pw_status fail_with(const Error& error) {
  return fail_with(status_of(error.code), polyweft::render(error, ""));
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

pw_status fill(const pw_task_options* given, polyweft::TuneOptions& out) {
  const pw_task_options options = known_part(given);
  if (options.parameter_count > 0 && (!options.parameter_names || !options.parameter_values)) return null_argument("parameter_names or parameter_values");
  for (size_t i = 0; i < options.parameter_count; ++i) {
    if (!options.parameter_names[i]) return null_argument("a parameter name");
    out.parameters[options.parameter_names[i]] = options.parameter_values[i];
  }
  if (options.numerics) {
    const auto cls = polyweft::numerics_class_named(options.numerics);
    if (!cls) return fail_with(PW_BAD_INPUT, std::string("numerics: '") + options.numerics + "' is not strict, contract or reassoc");
    out.cls = *cls;
  }
  if (options.threads < 0) return fail_with(PW_BAD_INPUT, "threads is negative");
  if (options.threads > 0) out.threads = options.threads;
  if (options.trace) out.trace = options.trace;
  if (options.budget_ms > 0)
    out.budget = std::chrono::milliseconds(options.budget_ms);
  else if (options.trials > 0)
    out.budget = std::chrono::milliseconds(0);
  out.trials = options.trials;
  if (options.seed != 0) out.seed = options.seed;
  return PW_OK;
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

pw_status pw_program_parse(const char* text, pw_program** out) {
  if (!text) return null_argument("text");
  if (!out) return null_argument("out");
  return guarded([&] {
    auto program = polyweft::parse_program(text);
    if (!program) return fail_with(status_of(program.error().code), polyweft::render(program.error(), text));
    std::string key = polyweft::program_key(*program);
    *out = new pw_program{std::move(program).value(), std::move(key)};
    return PW_OK;
  });
}
void pw_program_free(pw_program* program) {
  delete program;
}
const char* pw_program_key(const pw_program* program) {
  return program ? program->key.c_str() : "";
}

pw_status pw_tuner_create(const pw_tuner_options* given, pw_tuner** out) {
  if (!out) return null_argument("out");
  return guarded([&] {
    const pw_tuner_options options = known_part(given);
    auto target = polyweft::find_target(options.target ? options.target : "host");
    if (!target) return fail_with(target.error());
    polyweft::TunerOptions tuner;
    if (options.database) tuner.database = options.database;
    if (options.helper_directory) tuner.helper_directory = options.helper_directory;
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
    for (const auto& d : report.errors) text += polyweft::render(d, program->program.source_name, program->program.source_text);
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
    if (!*record) return fail_with(PW_NO, "the database has no record of this task");
    *out = new pw_record{std::move(**record)};
    return PW_OK;
  });
}

pw_status pw_tuner_compile(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, pw_kernel** out) {
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

pw_status pw_kernel_run(pw_kernel* kernel, void* const* buffers, const size_t* bytes, size_t count) {
  if (!kernel) return null_argument("kernel");
  if (count > 0 && (!buffers || !bytes)) return null_argument("buffers or bytes");
  return guarded([&] {
    const auto& arguments = kernel->kernel.arguments();
    if (count != arguments.size()) return fail_with(PW_BAD_INPUT, "the kernel has " + std::to_string(arguments.size()) + " arguments, not " + std::to_string(count));
    for (size_t i = 0; i < count; ++i) {
      const size_t expected = polyweft::make_tensor(arguments[i].type, arguments[i].extents).bytes.size();
      if (bytes[i] != expected) return fail_with(PW_BAD_INPUT, arguments[i].name + " has " + std::to_string(expected) + " bytes, not " + std::to_string(bytes[i]));
      if (!buffers[i] && expected > 0) return null_argument(arguments[i].name.c_str());
    }
    if (auto called = kernel->kernel.call(std::vector<void*>(buffers, buffers + count)); !called) return fail_with(called.error());
    return PW_OK;
  });
}
void pw_kernel_free(pw_kernel* kernel) {
  delete kernel;
}

}  // extern "C"
