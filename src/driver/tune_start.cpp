#include "driver/tune_start.h"

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

}  // namespace

TuneStart tune_start(const Task& task, const LoopNest& base, const std::vector<NestTemplate>& templates, double peak_gflops, Database* database) {
  TuneStart out;
  out.key = task.key.program;
  out.flops = count_flops(base);
  for (const auto& argument : argument_specs(base, task.program)) out.bytes += bytes_of(argument);
  out.peak_gflops = peak_gflops;
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
