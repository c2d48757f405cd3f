// Tuners: each function is one of polyweft::Tuner's.
#include <memory>

#include "errors.h"
#include "handles.h"
#include "options.h"

using namespace polyweft::capi;
using polyweft::Error;
using polyweft::Result;
using polyweft::TuneOptions;
using polyweft::Tuner;

namespace {

/// A call that has a tuner, a program, options and a place for its result.
template <class Out, class F>
pw_status on_task(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, Out** out,
                  const F& body) {
  if (!tuner || !program) return null_argument("tuner or program");
  if (!out) return null_argument("out");
  return guarded([&] {
    TuneOptions task;
    if (const pw_status status = fill(options, task); status != PW_OK) return status;
    if (const pw_status status = fill_inputs(options, tuner->tuner, program->program, task); status != PW_OK)
      return status;
    auto made = body(tuner->tuner, program->program, task);
    if (!made) return fail_with(made.error());
    *out = made.value().release();
    return PW_OK;
  });
}

template <class Handle>
using Made = Result<std::unique_ptr<Handle>>;

template <class Handle, class T>
Made<Handle> made(Result<T> value) {
  if (!value) return value.error();
  return std::unique_ptr<Handle>(new Handle{std::move(value).value()});
}

Made<pw_buffer> text_of(const Result<std::string>& text) {
  if (!text) return text.error();
  return std::unique_ptr<pw_buffer>(new_buffer(*text));
}

Error missed(Tuner& tuner, const polyweft::Program& program, const polyweft::TaskOptions& task) {
  std::vector<std::string> notes;
  if (auto nearest = tuner.nearest(program, task); nearest && *nearest)
    notes.push_back("the nearest is record #" + std::to_string((*nearest)->id) + ", which differs in " +
                    (*nearest)->differs_in);
  notes.emplace_back("pw_tuner_tune makes one; pw_tuner_compile takes the first choice of the model without");
  return polyweft::fail("PW0713", program.name + ": the database has no record of this task", std::move(notes));
}

Result<polyweft::TuningRecord> record_of(Tuner& tuner, int64_t id) {
  const auto database = tuner.database();
  if (!database) return database.error();
  auto record = (*database)->record(id);
  if (!record) return record.error();
  if (!*record) return polyweft::fail("PW0710", "record #" + std::to_string(id) + " is not in the database");
  return std::move(**record);
}

pw_report report_of(Result<polyweft::TuneReport> result) {
  pw_report out;
  if (!result) {
    out.error = result.error();
    out.error_text = polyweft::render(result.error(), "");
    return out;
  }
  out.report = std::move(result).value();
  out.record = pw_record{out.report.record};
  return out;
}

/// PW_OK, or what the stage's name is not.
pw_status stage_of(const char* name, polyweft::ShowStage& out) {
  if (!name) return null_argument("stage");
  const auto stage = polyweft::stage_named(name);
  if (!stage)
    return out_of_range(std::string("stage: '") + name +
                        "' is not program, scop, dependences, schedule, trace, loops, storage, vectors, levels, llvm "
                        "or assembly");
  out = *stage;
  return PW_OK;
}

}  // namespace

extern "C" {

pw_status pw_tuner_create(const pw_tuner_options* given, pw_tuner** out) {
  if (!out) return null_argument("out");
  return guarded([&] {
    polyweft::TunerOptions options;
    std::string name;
    if (const pw_status status = fill(given, options, name); status != PW_OK) return status;
    auto target = polyweft::find_target(name);
    if (!target) return fail_with(target.error());
    *out = new pw_tuner{Tuner(std::move(target).value(), std::move(options))};
    return PW_OK;
  });
}
void pw_tuner_free(pw_tuner* tuner) {
  delete tuner;
}

pw_status pw_tuner_check(pw_tuner* tuner, const pw_program* program) {
  if (!tuner || !program) return null_argument("tuner or program");
  return guarded([&] {
    auto report = tuner->tuner.check(program->program);
    if (report.errors.empty()) return PW_OK;
    Error error = polyweft::fail(report.errors.front().code, report.errors.front().text, report.errors.front().notes);
    error.diagnostics = std::move(report.errors);
    error.source_name = program->program.source_name;
    return fail_with(error, program->program.source_text);
  });
}

pw_status pw_tuner_tune_report(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                               pw_report** out) {
  return on_task(tuner, program, options, out,
                 [&](Tuner& by, const polyweft::Program& of, TuneOptions& task) -> Made<pw_report> {
                   auto report = by.tune(of, task);
                   if (!report) return report.error();
                   return std::make_unique<pw_report>(report_of(std::move(report)));
                 });
}

pw_status pw_tuner_tune(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, pw_record** out) {
  return on_task(tuner, program, options, out,
                 [&](Tuner& by, const polyweft::Program& of, TuneOptions& task) -> Made<pw_record> {
                   auto report = by.tune(of, task);
                   if (!report) return report.error();
                   return std::unique_ptr<pw_record>(new pw_record{std::move(report->record)});
                 });
}

pw_status pw_tuner_tune_several(pw_tuner* tuner, const pw_shared_program* const* programs, size_t count,
                                int64_t budget_ms, pw_report_list** out) {
  if (!tuner) return null_argument("tuner");
  if (count > 0 && !programs) return null_argument("programs");
  if (!out) return null_argument("out");
  if (budget_ms < 1) return out_of_range("budget_ms is below 1");
  return guarded([&] {
    std::vector<polyweft::SharedProgram> shared(count);
    for (size_t i = 0; i < count; ++i) {
      if (!programs[i]) return null_argument("one of programs");
      if (!has_size(programs[i])) return no_size("pw_shared_program");
      const pw_shared_program given = known_part(programs[i]);
      if (!given.program) return null_argument("the program of a pw_shared_program");
      if (!(given.calls >= 0)) return out_of_range("calls is negative");
      shared[i].program = given.program->program;
      if (given.calls > 0) shared[i].calls = given.calls;
      TuneOptions& task = shared[i].options;
      if (const pw_status status = fill(given.options, task); status != PW_OK) return status;
      if (const auto status = fill_inputs(given.options, tuner->tuner, shared[i].program, task); status != PW_OK)
        return status;
    }
    auto list = std::make_unique<pw_report_list>();
    for (auto& report : tuner->tuner.tune(shared, std::chrono::milliseconds(budget_ms)))
      list->reports.push_back(report_of(std::move(report)));
    *out = list.release();
    return PW_OK;
  });
}

pw_status pw_tuner_best(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, pw_record** out) {
  return on_task(tuner, program, options, out,
                 [&](Tuner& by, const polyweft::Program& of, TuneOptions& task) -> Made<pw_record> {
                   auto record = by.best(of, task);
                   if (!record) return record.error();
                   if (!*record) return missed(by, of, task);
                   return std::unique_ptr<pw_record>(new pw_record{std::move(**record)});
                 });
}

pw_status pw_tuner_nearest(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                           pw_record** out) {
  return on_task(tuner, program, options, out,
                 [&](Tuner& by, const polyweft::Program& of, TuneOptions& task) -> Made<pw_record> {
                   auto nearest = by.nearest(of, task);
                   if (!nearest) return nearest.error();
                   if (!*nearest)
                     return polyweft::fail("PW0713", of.name + ": the database has no record of this program");
                   auto record = record_of(by, (*nearest)->id);
                   if (!record) return record.error();
                   return std::unique_ptr<pw_record>(new pw_record{std::move(*record), (*nearest)->differs_in});
                 });
}

pw_status pw_tuner_compile(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                           pw_kernel** out) {
  return on_task(tuner, program, options, out, [&](Tuner& by, const polyweft::Program& of, TuneOptions& task) {
    return made<pw_kernel>(by.compile(of, task));
  });
}

pw_status pw_tuner_show(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, const char* stage,
                        const char* after, pw_buffer** out) {
  polyweft::ShowStage wanted{};
  if (const pw_status status = stage_of(stage, wanted); status != PW_OK) return status;
  return on_task(tuner, program, options, out, [&](Tuner& by, const polyweft::Program& of, TuneOptions& task) {
    return text_of(by.show(of, task, wanted, after ? after : ""));
  });
}

pw_status pw_tuner_build(pw_tuner* tuner, const pw_program* program, const pw_task_options* options, const char* emit,
                         const char* symbol, pw_buffer** out) {
  if (!emit) return null_argument("emit");
  const auto kind = polyweft::emit_named(emit);
  if (!kind)
    return out_of_range(std::string("emit: '") + emit +
                        "' is not object, assembly, llvm, shared, static, header, c or artifact");
  return on_task(tuner, program, options, out,
                 [&](Tuner& by, const polyweft::Program& of, TuneOptions& task) -> Made<pw_buffer> {
                   auto built = by.build(of, task, *kind, symbol ? symbol : "");
                   if (!built) return built.error();
                   return std::unique_ptr<pw_buffer>(new_buffer(built->bytes));
                 });
}

pw_status pw_tuner_verify(pw_tuner* tuner, const pw_program* program, const pw_task_options* options) {
  if (!tuner || !program) return null_argument("tuner or program");
  return guarded([&] {
    TuneOptions task;
    if (const pw_status status = fill(options, task); status != PW_OK) return status;
    for (const auto set : {polyweft::InputSet::integer_valued, polyweft::InputSet::random}) {
      auto inputs = tuner->tuner.make_inputs(program->program, task, set, task.seed);
      if (!inputs) return fail_with(inputs.error());
      auto compared = tuner->tuner.verify(program->program, task, *inputs);
      if (!compared) return fail_with(compared.error());
      if (!compared->equal) return fail_with(polyweft::fail("PW0651", compared->detail));
    }
    return PW_OK;
  });
}

pw_status pw_tuner_bench(pw_tuner* tuner, const pw_program* program, const pw_task_options* options,
                         int64_t milliseconds, pw_bench_result* out) {
  if (!tuner || !program) return null_argument("tuner or program");
  if (!out) return null_argument("out");
  if (!has_size(out)) return no_size("pw_bench_result");
  if (milliseconds < 1 || milliseconds > 600'000) return out_of_range("milliseconds is not in 1 .. 600000");
  return guarded([&] {
    TuneOptions task;
    if (const pw_status status = fill(options, task); status != PW_OK) return status;
    if (const pw_status status = fill_inputs(options, tuner->tuner, program->program, task); status != PW_OK)
      return status;
    auto report = tuner->tuner.bench(program->program, task, std::chrono::milliseconds(milliseconds));
    if (!report) return fail_with(report.error());
    const polyweft::Timing& t = report->kernel;
    give_known_part(out, pw_bench_result{0, t.median_ns, t.min_ns, t.ci_rel, t.samples, report->reference.median_ns,
                                         report->flops, report->peak_gflops});
    return PW_OK;
  });
}

pw_status pw_tuner_list(pw_tuner* tuner, int64_t limit, int64_t offset, pw_record_list** out) {
  if (!tuner) return null_argument("tuner");
  if (!out) return null_argument("out");
  if (limit < 0 || offset < 0) return out_of_range("limit or offset is negative");
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

pw_status pw_tuner_record(pw_tuner* tuner, int64_t id, pw_record** out) {
  if (!tuner) return null_argument("tuner");
  if (!out) return null_argument("out");
  return guarded([&] {
    auto record = record_of(tuner->tuner, id);
    if (!record) return fail_with(record.error());
    *out = new pw_record{std::move(*record)};
    return PW_OK;
  });
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

pw_status pw_tuner_show_record(pw_tuner* tuner, const pw_record* record, const char* stage, const char* after,
                               pw_buffer** out) {
  if (!tuner || !record) return null_argument("tuner or record");
  if (!out) return null_argument("out");
  polyweft::ShowStage wanted{};
  if (const pw_status status = stage_of(stage, wanted); status != PW_OK) return status;
  return guarded([&] {
    const auto text = tuner->tuner.show(record->record, wanted, after ? after : "");
    if (!text) return fail_with(text.error());
    *out = new_buffer(*text);
    return PW_OK;
  });
}

pw_status pw_tuner_roofline(pw_tuner* tuner, const pw_record* record, pw_roofline* out) {
  if (!tuner || !record) return null_argument("tuner or record");
  if (!out) return null_argument("out");
  if (!has_size(out)) return no_size("pw_roofline");
  return guarded([&] {
    const auto r = tuner->tuner.roofline(record->record);
    if (!r) return fail_with(r.error());
    give_known_part(out, pw_roofline{0, r->flops, r->bytes, r->peak_gflops, r->memory_gb_s, r->kernel_ns, r->bound_ns,
                                     r->memory_ns});
    return PW_OK;
  });
}

pw_status pw_tuner_prove(pw_tuner* tuner, const pw_record* record) {
  if (!tuner || !record) return null_argument("tuner or record");
  return guarded([&] {
    const auto proven = tuner->tuner.prove(record->record);
    return proven ? PW_OK : fail_with(proven.error());
  });
}

}  // extern "C"
