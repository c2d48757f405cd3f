// Facts about schedules of a normalized, bound program: distances of its dependences along the members of a band, and whether an order
// of execution keeps them (SCHEDULES.md section 1).
#pragma once

#include "polyweft/nest_template.h"

namespace polyweft::poly {

/// A statement and affine functions of its indices (index_var(k) of the normalized program): the members of a band, or the components
/// of a time vector, outermost first. Constants are allowed.
struct MappedStatement {
  EquationId equation = 0;
  std::vector<Affine> functions;
};
/// Whether folds of one reduction keep their order: yes in class strict; else the class lets them go (T6).
enum class ReductionOrder : uint8_t { kept, free };

/// lo and hi of b_m(sink) - b_m(source) for every relation between the given statements: "flow X -> Y" (all folds of a reduction are sources)
/// and "order of sum". All statements must have the same number of functions. Relations without instances are left out.
/// 2-7 ms a relation; PW083x where isl gives up.
Result<std::vector<DeltaBox>> delta_boxes(const Program& program, const std::vector<MappedStatement>& band, ReductionOrder order);

/// Two instances that a proposed order runs the wrong way round.
struct Violation {
  EquationId source = 0, sink = 0;
  std::vector<int64_t> source_point, sink_point;  ///< values of the indices
  std::string relation;
  std::string text;  ///< "A[t=3, i=4] must run before A[t=4, i=3]"
};
/// The first dependence that lexicographic order of the given times (padded with zeros) does not keep; nothing: legal. Only dependences among the
/// given statements count.
Result<std::optional<Violation>> first_violation(const Program& program, const std::vector<MappedStatement>& times, ReductionOrder order);

}  // namespace polyweft::poly
