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
double roofline_ns(const TuneStart& plan, const Program& program, int64_t cache_bytes) {
  const bool wide = std::any_of(program.tensors.begin(), program.tensors.end(), [](const Tensor& tensor) { return tensor.type == ElementType::f64; });
  const double compute = plan.peak_gflops > 0 ? plan.flops / plan.peak_gflops * (wide ? 2 : 1) : 0;
  const double memory = plan.memory_gb_s > 0 && plan.bytes > static_cast<double>(cache_bytes) ? plan.bytes / plan.memory_gb_s : 0;
  return std::max(compute, memory);
}

}  // namespace

TuneStart tune_start(const Task& task, const LoopNest& base, const std::vector<NestTemplate>& templates, const Workshop& workshop, Database* database) {
  TuneStart out;
  out.key = task.key.program;
  out.flops = count_flops(base);
  for (const auto& argument : argument_specs(base, task.program)) out.bytes += bytes_of(argument);
  out.peak_gflops = workshop.measured_peak_gflops(task.key.threads);
  out.memory_gb_s = workshop.measured_memory_gb_s(task.key.threads);
  const auto& caches = workshop.machine_model(task.key.threads).cache_bytes;
  out.bound_ns = roofline_ns(out, task.program, caches.empty() ? 0 : caches.back());
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
