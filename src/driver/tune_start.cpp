#include "driver/tune_start.h"

#include <algorithm>

namespace polyweft {
namespace {

double points_of(const Trace& trace) {
  double points = 1;
  for (const auto& decision : trace.decisions) points *= decision.candidates.empty() ? 1 : static_cast<double>(decision.candidates.size());
  return points;
}

double bytes_of(const ArgumentSpec& argument) {
  double bytes = static_cast<double>(size_bytes(argument.type));
  for (int64_t extent : argument.extents) bytes *= static_cast<double>(extent);
  return bytes;
}

// What no schedule can beat: the arithmetic at the peak, and the arguments once through memory where they cannot stay in a cache.
double roofline_ns(const TuneStart& plan, int64_t cache_bytes) {
  const double compute = plan.peak_gflops > 0 ? plan.flops / plan.peak_gflops : 0;
  const double memory = plan.memory_gb_s > 0 && plan.bytes > static_cast<double>(cache_bytes) ? plan.bytes / plan.memory_gb_s : 0;
  return std::max(compute, memory);
}

}  // namespace

double peak_factor(const Program& program, const Target& target) {
  bool wide = false, single = false, half = false;
  const auto meet = [&](ElementType type) {
    wide |= type == ElementType::f64;
    single |= type == ElementType::f32 || type == ElementType::bf16;
    half |= type == ElementType::f16;
  };
  for (const Tensor& tensor : program.tensors) meet(tensor.type);
  for (const Equation& equation : program.equations) visit(equation.rhs, [&](const ExprNode& node) { meet(node.type); });
  if (wide) return 0.5;
  return half && !single && target.computes_halves() ? 2 : 1;
}

TuneStart tune_start(const Task& task, const LoopNest& base, const std::vector<NestTemplate>& templates, const Workshop& workshop, Database* database) {
  TuneStart out;
  out.key = task.key.program;
  out.flops = count_flops(base);
  for (const auto& argument : argument_specs(base, task.program)) out.bytes += bytes_of(argument);
  out.peak_gflops = workshop.measured_peak_gflops(task.key.threads) * peak_factor(task.program, workshop.target());
  out.memory_gb_s = workshop.measured_memory_gb_s(task.key.threads);
  const auto& caches = workshop.machine_model(task.key.threads).cache_bytes;
  out.bound_ns = roofline_ns(out, caches.empty() ? 0 : caches.back());
  out.sketches = static_cast<int>(templates.size());
  for (const auto& nest_template : templates) out.points += points_of(nest_template.trace);
  if (!database) return out;
  if (auto nearest = database->nearest(task.key)) out.nearest = *nearest;
  return out;
}

void announce(const TuneStart& plan, const TuneOptions& options, double elapsed_s) {
  if (!options.progress) return;
  TuneProgress event;
  event.event = TuneEvent::start;
  event.elapsed_s = elapsed_s;
  event.plan = &plan;
  options.progress(event);
}

}  // namespace polyweft
