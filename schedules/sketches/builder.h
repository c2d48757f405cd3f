// What the rules that plan stages share: the program after the first steps, the stage that does most, and how each
// stage is planned beside the others.
#pragma once

#include <optional>
#include <vector>

#include "schedules/queries.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {

struct Builder {
  const NestTemplate& t;  ///< after the first steps
  const Machine& machine;
  uint32_t dominant = 0;

  bool lanes_outside = false, rows_outside = false, panels_outside = false;
  bool is_whole_depth = false, uses_all_registers = false;  ///< see PlanContext
  bool has_more_sizes = false;                              ///< and sizes of every stage are decisions

  PlanContext context(uint32_t stage, Packing packing, Site site = Site::root) const {
    PlanContext c = context_for(t, stage, machine);
    c.lanes_outside = lanes_outside;
    c.rows_outside = rows_outside;
    c.panels_outside = panels_outside && stage == dominant;
    c.is_whole_depth = is_whole_depth;
    c.uses_all_registers = uses_all_registers;
    c.has_more_sizes = has_more_sizes;
    c.openness = stage == dominant || has_more_sizes ? Openness::open : Openness::settled;
    c.packing = packing;
    c.site = site;
    if (stage != dominant && shares_constant(stage)) c.panel = dominant_panel(packing);
    return c;
  }
  bool shares_constant(uint32_t stage) const {
    bool shares = false;
    visit(equation_of(t, t.stages[stage]).rhs, [&](const ExprNode& e) {
      shares |= e.op == Op::read && t.program.tensors[e.access.id].is_const_input &&
                reads(t, t.stages[dominant], e.access.id);
    });
    return shares;
  }
  /// The panel of the dominant stage in a tensor unit's lanes.
  std::optional<Size> dominant_panel(Packing packing) const {
    PlanContext c = context(dominant, packing);
    auto shape = block_shape(c);
    if (!shape || !shape->tensor) return std::nullopt;
    return lane_tile(c, *shape);
  }
  bool is_alive(uint32_t stage) const { return schedules::is_alive(t, stage); }
};

/// ahead: rows are prefetched; streamed: and elementwise outputs are stored by streaming stores; all_streamed: those,
/// too, that the last cache could keep.
enum class Stores : uint8_t { cached, ahead, streamed, all_streamed };

/// Stages that read what this one makes.
std::vector<uint32_t> readers_of(const NestTemplate& t, uint32_t producer);
/// Does the plan store the stage's values by lanes along their rows?
bool stores_lines(const Plan& plan, const PlanContext& c);
/// An elementwise output.
bool writes_output(const NestTemplate& t, uint32_t stage);

}  // namespace polyweft::schedules
