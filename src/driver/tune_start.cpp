#include "driver/tune_start.h"

#include <algorithm>
#include <set>

#include "driver/flops.h"
#include "ir/nests/instruction.h"

namespace polyweft {
namespace {

double points_of(const Trace& trace) {
  double points = 1;
  for (const auto& decision : trace.decisions)
    points *= decision.candidates.empty() ? 1 : static_cast<double>(decision.candidates.size());
  return points;
}

double argument_bytes(const ArgumentSpec& argument) {
  double bytes = static_cast<double>(size_bytes(argument.type));
  for (int64_t extent : argument.extents) bytes *= static_cast<double>(extent);
  return bytes;
}

// The arguments once through memory where they cannot stay in a cache.
double memory_ns(const TuneStart& plan, const Machine& machine) {
  const bool fits = plan.bytes <= static_cast<double>(machine.cache_bytes(machine.caches() - 1));
  return plan.memory_gb_s > 0 && !fits ? plan.bytes / plan.memory_gb_s : 0;
}

}  // namespace

// What no schedule can beat.
double roofline_ns(const TuneStart& plan, double peak_gflops) {
  return std::max(peak_gflops > 0 ? plan.flops / peak_gflops : 0, plan.memory_ns);
}

double peak_factor(const Program& program, const Target& target) {
  bool wide = false, single = false, half = false;
  const auto meet = [&](ElementType type) {
    wide |= type == ElementType::f64;
    single |= type == ElementType::f32 || type == ElementType::bf16;
    half |= type == ElementType::f16;
  };
  for (const Tensor& tensor : program.tensors) meet(tensor.type);
  for (const Equation& equation : program.equations)
    visit(equation.rhs, [&](const ExprNode& node) { meet(node.type); });
  if (wide) return 0.5;
  return half && !single && target.can.half_arithmetic ? 2 : 1;
}

namespace {

/// The element types of a program's tensors and of all that it computes, conditions apart.
std::set<ElementType> types_of(const Program& program) {
  std::set<ElementType> out;
  for (const Tensor& tensor : program.tensors) out.insert(tensor.type);
  for (const Equation& equation : program.equations)
    visit(equation.rhs, [&](const ExprNode& node) { out.insert(node.type); });
  out.erase(ElementType::boolean);
  return out;
}

double vector_factor(const std::set<ElementType>& types, const Target& target) {
  double most = 0;
  for (const ElementType type : types) {
    const bool is_narrow_float = type == ElementType::f16 || type == ElementType::bf16;
    const bool is_wide_inside = is_narrow_float && !(type == ElementType::f16 && target.can.half_arithmetic);
    most = std::max(most, is_wide_inside ? 1 : 4 / static_cast<double>(size_bytes(type)));
  }
  return most > 0 ? most : 1;
}

double instruction_factor(const ir::Instruction& instruction, const Target& target) {
  double products = 1;
  for (const auto& axis : instruction.axes) products *= static_cast<double>(axis.extent);
  const double lanes = static_cast<double>(target.machine.units.vector_bits) / 32;
  return products / std::max(instruction.issues * lanes, 1.0);
}

bool can_use(const ir::Instruction& instruction, const std::set<ElementType>& types) {
  const auto is_factor = [&](const auto& operand) { return types.contains(operand.type); };
  return instruction.operands.size() > 1 &&
         std::any_of(instruction.operands.begin() + 1, instruction.operands.end(), is_factor);
}

}  // namespace

double fastest_factor(const Task& task, const Target& target) {
  const auto types = types_of(task.program);
  double most = vector_factor(types, target);
  for (const ir::Instruction& instruction : ir::known_instructions())
    if (instruction.runs_on(target) && instruction.allows(task.key.cls) && can_use(instruction, types))
      most = std::max(most, instruction_factor(instruction, target));
  return most;
}

double fastest_gflops(const TuneStart& plan, double peak_gflops, const std::string& peak_of) {
  return peak_of.ends_with(" multiply-adds") ? peak_gflops * plan.fastest_over_peak : peak_gflops;
}

double believable_bound_ns(double bound_ns, double took_ns) {
  constexpr double kNoise = 1.03;
  if (took_ns <= 0 || bound_ns <= took_ns) return bound_ns;
  return bound_ns <= kNoise * took_ns ? took_ns : 0;
}

TuneStart tune_start(const Task& task, const std::vector<ArgumentSpec>& arguments,
                     const std::vector<NestTemplate>& templates, const CompileService& compiler, Database* database,
                     Rates rates) {
  TuneStart out;
  out.key = task.key.program;
  out.flops = count_flops(task.program);
  for (const auto& argument : arguments) out.bytes += argument_bytes(argument);
  if (rates == Rates::measured_here) {
    out.peak_gflops = compiler.measured_peak_gflops(task.key.threads) * peak_factor(task.program, compiler.target());
    out.memory_gb_s = compiler.measured_memory_gb_s(task.key.threads);
  }
  out.fastest_over_peak = fastest_factor(task, compiler.target()) / peak_factor(task.program, compiler.target());
  out.memory_ns = memory_ns(out, compiler.target().machine);
  out.bound_ns = roofline_ns(out, out.peak_gflops * out.fastest_over_peak);
  out.sketches = static_cast<int>(templates.size());
  for (const auto& nest_template : templates) out.points += points_of(nest_template.trace);
  if (!database) return out;
  if (auto nearest = database->nearest(task.key)) out.nearest = *nearest;
  if (auto before = database->effort(task.key)) out.before = *before;
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

void announce_doing(const std::string& what, double elapsed_s, const TuneOptions& options) {
  if (!options.progress) return;
  TuneProgress event;
  event.event = TuneEvent::doing;
  event.elapsed_s = elapsed_s;
  event.what = what;
  options.progress(event);
}

void announce_end(const TuneReport& report, const TuneOptions& options) {
  if (!options.progress) return;
  TuneProgress event;
  event.trial = report.measured + report.failed;
  event.measured = report.measured;
  event.failed = report.failed;
  event.scored = report.scored;
  event.elapsed_s = report.wall_s;
  event.status = report.record.measurement.status;
  event.ns = event.best_ns = report.record.measurement.timing.median_ns;
  event.predicted_ns = report.record.measurement.predicted_ns;
  event.peak_gflops = report.peak_gflops;
  event.what = report.reason;
  event.trace = report.record.trace_text;
  for (const TuneEvent last : {TuneEvent::hit, TuneEvent::done}) {
    event.event = last;
    if (last == TuneEvent::done || report.hit) options.progress(event);
  }
}

}  // namespace polyweft
