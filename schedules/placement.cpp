#include "schedules/placement.h"

#include <algorithm>

namespace polyweft::schedules {

Status sources_are_ready(const NestTemplate& t, uint32_t guest, uint32_t host, uint32_t depth, const std::string& subject) {
  Error error = fail("PW0314", subject + ": not all that it reads is ready there");
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const Stage& source = t.stages[k];
    bool is_read = false;
    for (TensorId id : equation_of(t, source).targets) is_read |= reads(t, t.stages[guest], id);
    if (!is_read || k == guest || k == host) continue;
    bool is_earlier_nest = source.placement.kind == Placement::Kind::at_root && k < host;
    bool is_neighbour = source.placement.kind == Placement::Kind::compute_at && source.placement.host == host && source.placement.depth <= depth;
    bool is_before = source.placement.kind == Placement::Kind::fused && source.placement.host < host;
    if (is_earlier_nest || is_neighbour || is_before || source.placement.kind == Placement::Kind::inlined) continue;
    error.notes.push_back(source.name + " is made elsewhere: place it at the same loop or further out first");
    return error;
  }
  return Ok{};
}

Status is_open_place(const Stage& host, uint32_t depth, const std::string& subject) {
  for (uint32_t k = 0; k < depth; ++k)
    if (is_register_loop(host.loops[k])) return fail("PW0304", subject + ": the place is inside a register block");
  return Ok{};
}

}  // namespace polyweft::schedules
