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

constexpr double kMostFlops = 3e6;  // of the evaluator: about a second
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

/// Does the equation give an element of the tensor that is not finite?
bool gives_special(const Program& bound, const Equation& equation, const ir::Evaluation& all, size_t k) {
  const TensorData& data = all.tensors[k];
  for (int64_t i = 0; is_float(data.type) && i < data.elements(); ++i) {
    if (all.written[k][static_cast<size_t>(i)] == 0 || std::isfinite(data.at(i).f)) continue;
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

/// The first equation in the order of the text that gives something that is not finite.
const Equation* first_equation(const Program& bound, const DataOfTask& data, InputSet set) {
  if (count_flops(data.task.program) > kMostFlops) return nullptr;
  ir::EvaluateOptions options;
  options.wanted = ir::Wanted::all;
  options.element_limit = int64_t{1} << 20;
  const auto all = ir::evaluate(bound, inputs_like_the_runners(bound, data, set), options);
  if (!all) return nullptr;
  for (const Equation& equation : bound.equations)
    for (const TensorId target : equation.targets)
      for (size_t k = 0; k < all->ids.size(); ++k)
        if (all->ids[k] == target && gives_special(bound, equation, *all, k)) return &equation;
  return nullptr;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", 100 * share);
  return text;
}

}  // namespace

std::string note_text(const DataOfTask& data, const SetNote& note) {
  const Program bound = bind(data.task.source, data.task.binding);
  std::string text = std::string(note.set == InputSet::integer_valued ? "whole" : "random") +
                     " numbers: the reference's " + note.element;
  if (const Equation* const equation = first_equation(bound, data, note.set))
    text += ", by the equation of " + bound.tensors[equation->targets.front()].name + " in line " +
            std::to_string(equation->where_defined.line);
  text += "; " + percent(note.usual_judged) + " of the elements are finite and judged";
  if (note.drawn != kUsual) text += ", with " + note.drawn + " instead " + percent(note.judged);
  return text + "; --input NAME=FILE.npy or 'values lo..hi' of an input gives better data";
}

}  // namespace polyweft
