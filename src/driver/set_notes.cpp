#include "driver/set_notes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "driver/flops.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/domain.h"
#include "ir/values/seeded_data.h"

namespace polyweft {
namespace {

constexpr double kMostFlops = 2e6;  // of the evaluator: less than a second
constexpr const char* kUsual = "the usual numbers";

std::vector<int64_t> point_of(const Box& box, int64_t flat) {
  std::vector<int64_t> out(box.lo.size());
  for (size_t d = out.size(); d-- > 0;) {
    const int64_t extent = std::max<int64_t>(box.extent(static_cast<uint32_t>(d)), 1);
    out[d] = box.lo[d] + flat % extent;
    flat /= extent;
  }
  return out;
}

/// Does the equation give an element of the tensor that is not finite, or has no finite bound?
bool gives_special(const Program& bound, const Equation& equation, const ir::Evaluation& all, size_t k) {
  const TensorData& data = all.tensors[k];
  for (int64_t i = 0; is_float(data.type) && i < data.elements(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (all.written[k][at] == 0 || (std::isfinite(data.at(i).f) && std::isfinite(all.bound[k][at]))) continue;
    ir::Environment env = ir::environment_of(bound, equation);
    if (ir::solve(equation, point_of(all.boxes[k], i), env)) return true;
  }
  return false;
}

std::vector<TensorData> inputs_like_the_runners(const Program& bound, const DataOfTask& data, InputSet set) {
  const auto kind = set == InputSet::integer_valued ? ir::DataKind::integers : ir::DataKind::random;
  auto out = ir::seeded_inputs(bound, data.seed, kind);
  const auto ids = bound.inputs();
  for (size_t k = 0; k < ids.size(); ++k)
    if (const auto found = data.given.find(bound.tensors[ids[k]].name); found != data.given.end())
      out[k] = found->second;
  return out;
}

/// The sizes of the task, then smaller ones in one parameter, then in all: who overflows after many steps does so for
/// few items, too.
std::vector<Binding> sizes_to_try(const Task& task) {
  constexpr int64_t kFew = 32;
  std::vector<Binding> out = {task.binding};
  Binding all = task.binding;
  for (size_t p = 0; p < task.binding.size(); ++p) {
    out.push_back(task.binding);
    out.back()[p] = all[p] = std::min(task.binding[p], kFew);
  }
  out.push_back(std::move(all));
  return out;
}

/// By the program's assumptions.
bool is_allowed(const Program& program, const Binding& sizes) {
  std::map<std::string, int64_t> values;
  for (size_t p = 0; p < sizes.size(); ++p) values[program.parameters[p].name] = sizes[p];
  return make_binding(program, values).ok();
}

/// The first equation in the order of the text that gives something that is not finite.
const Equation* first_equation(const Program& bound, const DataOfTask& data, InputSet set) {
  ir::EvaluateOptions options;
  options.wanted = ir::Wanted::all;
  options.with_bounds = true;
  const auto all = ir::evaluate(bound, inputs_like_the_runners(bound, data, set), options);
  if (!all) return nullptr;
  for (const Equation& equation : bound.equations)
    for (const TensorId target : equation.targets)
      for (size_t k = 0; k < all->ids.size(); ++k)
        if (all->ids[k] == target && gives_special(bound, equation, *all, k)) return &equation;
  return nullptr;
}

/// ", by the equation of v in line 7"; empty where no sizes are small enough to find it.
std::string equation_text(const DataOfTask& data, InputSet set) {
  constexpr int kMostTries = 2;
  int tries = 0;
  for (const Binding& sizes : sizes_to_try(data.task)) {
    if (!is_allowed(data.task.source, sizes)) continue;
    const Program bound = bind(data.task.source, sizes);
    if (tries == kMostTries || count_flops(bound) > kMostFlops) continue;
    ++tries;
    if (const Equation* const equation = first_equation(bound, data, set))
      return ", by the equation of " + bound.tensors[equation->targets.front()].name + " in line " +
             std::to_string(equation->where_defined.line);
  }
  return "";
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", 100 * share);
  return text;
}

/// What helps depends on what it is: a number that is not finite, or an element that a rounding may decide.
std::string remedy(const DataOfTask& data, const SetNote& note) {
  if (!note.element.ends_with(" has no finite error bound"))  // the runner's words
    return "--input NAME=FILE.npy or 'values lo..hi' of an input gives better data";
  return "a rounding may change such elements by any amount; other data (--input NAME=FILE.npy) " +
         std::string(data.task.key.cls == NumericsClass::strict ? "" : "or class strict ") + "may leave fewer";
}

}  // namespace

std::string note_text(const DataOfTask& data, const SetNote& note) {
  std::string text = std::string(note.set == InputSet::integer_valued ? "whole" : "random") +
                     " numbers: the reference's " + note.element + equation_text(data, note.set);
  text += "; " + percent(note.usual_judged) + " of the elements are finite and judged";
  if (note.drawn != kUsual) text += ", with " + note.drawn + " instead " + percent(note.judged);
  return text + "; " + remedy(data, note);
}

}  // namespace polyweft
