#include "driver/rule_of_thumb.h"

#include <algorithm>

#include "schedules/hulls.h"
#include "schedules/steps.h"

namespace polyweft {

// Sums of n terms round n times; the functions of the language are within 4 ULP. A wrong element exceeds this by orders
// of magnitude.
void set_rule_of_thumb(const Task& task, RunnerTask& out) {
  double longest = 1;
  bool approximate = false;
  for (const auto& equation : task.program.equations)
    visit(equation.rhs, [&](const ExprNode& node) {
      approximate |= node.op >= Op::exp && node.op <= Op::cos && node.op != Op::sqrt;
      if (node.op != Op::reduce) return;
      double terms = 1;
      for (const auto& range : node.reduction.ranges)
        terms *= 1 + std::max<double>(0, static_cast<double>(range.hi.constant - range.lo.constant));
      longest = std::max(longest, terms);
    });
  // What a recurrence rounds comes back at each of its steps: at most as many as its indices have values, one index
  // after the other.
  double steps = 0;
  if (schedules::has_recurrence(task.program))
    for (const auto& equation : task.program.equations) {
      double values = 0;
      for (const int64_t extent : schedules::slot_extents(task.program, equation))
        values += static_cast<double>(extent);
      steps = std::max(steps, values);
    }
  double unit = 0;
  for (const auto& tensor : task.program.tensors)
    if (is_float(tensor.type))
      unit = std::max(unit, tensor.type == ElementType::f64   ? 0x1p-53
                            : tensor.type == ElementType::f32 ? 0x1p-24
                            : tensor.type == ElementType::f16 ? 0x1p-11
                                                              : 0x1p-8);
  out.bit_exact = task.key.cls == NumericsClass::strict && !approximate;
  out.relative_bound = unit * (16 + 2 * (longest + steps)) * (approximate ? 8 : 1);
}

}  // namespace polyweft
