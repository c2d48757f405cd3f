// What Tuner prints of a program or a record: stages, assembly, dependences, roofline, storage.
#include "driver/device_key.h"
#include "driver/memory.h"
#include "driver/recorded_task.h"
#include "driver/storage.h"
#include "driver/threads.h"
#include "driver/tune_start.h"
#include "driver/tuner_impl.h"
#include "ir/passes/passes.h"

namespace polyweft {

std::vector<std::string> code_passes() {
  std::vector<std::string> out;
  for (const ir::NestPass& pass : ir::nest_passes()) out.emplace_back(pass.name);
  return out;
}

namespace {

Status is_pass(const std::string& name) {
  std::string known;
  for (const std::string& pass : code_passes()) {
    if (name.empty() || name == pass) return Ok{};
    known += (known.empty() ? "" : ", ") + pass;
  }
  return fail("PW0524", "code generation has no pass '" + name + "'", {"its passes, in their order: " + known});
}

}  // namespace

// Which device ran it, or what played the machine, changes nothing about its code.
Status Tuner::Impl::is_of_this_target(const TuningRecord& record) const {
  const std::string wanted = fingerprint_in(record.key);
  if (wanted == fingerprint(compiler.target())) return Ok{};
  return fail(
      "PW0540",
      "record #" + std::to_string(record.id) + " is of another target than " + compiler.target().name + ": " + wanted,
      {"name that target with --target, or give a description of it"});
}

/// What the stages of code generation make of a nest.
Result<std::string> Tuner::Impl::code_text(const LoopNest& nest, ShowStage stage, const std::string& after) const {
  if (stage == ShowStage::vectors) {
    auto made = compiler.behind_passes(nest, after);
    return made ? Result<std::string>(print(*made)) : made.error();
  }
  if (stage == ShowStage::levels) return compiler.levels(nest);
  auto bytes = compiler.product(nest, stage == ShowStage::llvm ? Emit::llvm : Emit::assembly, "");
  if (!bytes) return bytes.error();
  return std::string(bytes->begin(), bytes->end());
}

Result<std::string> Tuner::show(const Program& program, const TaskOptions& options, ShowStage stage,
                                const std::string& after) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  if (auto known = is_pass(after); !known) return known.error();
  if (stage == ShowStage::program) return print(program);
  if (stage == ShowStage::storage) {
    auto found = storage(program, options);
    return found ? Result<std::string>(found->text) : found.error();
  }
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  if (stage == ShowStage::scop || stage == ShowStage::dependences || stage == ShowStage::schedule) {
    if (auto ok = impl_->planner.checked(program); !ok) return ok.error();
    return impl_->isl.show(*task, stage == ShowStage::scop          ? "scop"
                                  : stage == ShowStage::dependences ? "dependences"
                                                                    : "schedule");
  }
  auto plan = impl_->plan(*task, options);
  if (!plan) return plan.error();
  if (stage == ShowStage::trace) return plan->trace;
  if (stage == ShowStage::loops) return print(plan->nest);
  return impl_->code_text(on_threads(plan->nest, options.threads), stage, after);
}

Result<std::string> Tuner::show(const TuningRecord& record, ShowStage stage, const std::string& after) {
  const Turn turn(impl_->calls);
  if (auto known = is_pass(after); !known) return known.error();
  if (stage == ShowStage::storage) {
    auto found = storage(record);
    return found ? Result<std::string>(found->text) : found.error();
  }
  if (stage == ShowStage::program) return record.program_text;
  if (stage == ShowStage::trace) return record.trace_text;
  auto task = task_of(record, target());
  if (!task) return task.error();
  const bool is_of_code = stage == ShowStage::vectors || stage == ShowStage::llvm || stage == ShowStage::assembly ||
                          stage == ShowStage::levels;
  if (auto ours = is_of_code ? impl_->is_of_this_target(record) : Status(Ok{}); !ours) return ours.error();
  if (stage == ShowStage::loops || is_of_code) {
    auto nest = impl_->nest_of(record, *task);
    if (!nest) return nest.error();
    if (stage == ShowStage::loops) return print(*nest);
    return impl_->code_text(on_threads(*nest, record.key.threads), stage, after);
  }
  return impl_->isl.show(*task, stage == ShowStage::scop          ? "scop"
                                : stage == ShowStage::dependences ? "dependences"
                                                                  : "schedule");
}

Result<Assembly> Tuner::assembly(const Program& program, const TaskOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  auto plan = impl_->plan(*task, options);
  if (!plan) return plan.error();
  return impl_->compiler.marked_assembly(on_threads(plan->nest, options.threads));
}

Result<Assembly> Tuner::assembly(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  if (auto ours = impl_->is_of_this_target(record); !ours) return ours.error();
  auto nest = impl_->nest_of(record);
  if (!nest) return nest.error();
  return impl_->compiler.marked_assembly(on_threads(std::move(*nest), record.key.threads));
}

Result<std::vector<Dependence>> Tuner::dependences(const Program& program, const TaskOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  auto task = impl_->planner.task(program, options);
  if (!task) return task.error();
  if (auto ok = impl_->planner.checked(program); !ok) return ok.error();
  return impl_->isl.dependences(*task);
}

Result<std::vector<Dependence>> Tuner::dependences(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  auto task = task_of(record, target());
  if (!task) return task.error();
  return impl_->isl.dependences(*task);
}

Result<Roofline> Tuner::roofline(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  auto task = task_of(record, target());
  if (!task) return task.error();
  if (auto ours = impl_->is_of_this_target(record); !ours) return ours.error();
  task->device = impl_->compiler.device_here();
  const bool is_ours = record.key.target == task->key.target || record.key == on_device(task->key, task->device);
  if (!is_ours) {
    Roofline none;
    if (!is_emulated(record.key)) none.unknown = "the record is of another device than that of this machine";
    return none;
  }
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return nest.error();
  const TuneStart start = tune_start(*task, argument_specs(*nest, task->program), {}, impl_->compiler, nullptr);
  Roofline out{start.flops, start.bytes, start.peak_gflops, start.memory_gb_s, 0, start.bound_ns, start.memory_ns};
  auto timed = impl_->time_again(*task, *nest, record.measurement.timing.median_ns);
  if (!timed) return timed.error();
  out.kernel_ns = timed->timing.median_ns;
  out.peak_gflops = fastest_gflops(start, start.peak_gflops, " multiply-adds");
  if (timed->peak_gflops > 0) out.peak_gflops = fastest_gflops(start, timed->peak_gflops, timed->peak_of);
  const double bound_ns = roofline_ns(start, out.peak_gflops);
  out.bound_ns = believable_bound_ns(bound_ns, out.kernel_ns);
  if (bound_ns > 0 && out.bound_ns == 0)
    out.unknown = "the kernel is faster than the arithmetic that the program asks for: its schedule does less";
  return out;
}

Result<Storage> Tuner::storage(const Program& program, const TaskOptions& options) {
  const Turn turn(impl_->calls, impl_->call, options);
  if (auto came = turn.came(); !came) return came.error();
  auto task = impl_->planner.sized_task(program, options);
  if (!task) return task.error();
  auto plan = impl_->planner.plan(*task, options);
  if (!plan) return plan.error();
  return storage_of(plan->nest, task->program);
}

Result<Storage> Tuner::storage(const TuningRecord& record) {
  const Turn turn(impl_->calls);
  auto task = task_of(record, target());
  if (!task) return task.error();
  auto nest = impl_->nest_of(record, *task);
  if (!nest) return nest.error();
  return storage_of(*nest, task->program);
}

}  // namespace polyweft
