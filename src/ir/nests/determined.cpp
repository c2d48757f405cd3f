#include "ir/nests/determined.h"

#include <algorithm>
#include <map>

namespace polyweft::ir {

bool is_point_loop(const TemplateLoop& loop) {
  return loop.kind == TemplateLoop::Kind::point;
}

namespace {

/// Number of the only loop over an index that emission may leave out; nothing where there is none.
std::optional<size_t> plain_loop(const NestTemplate& t, const Stage& stage, uint32_t index) {
  std::optional<size_t> found;
  for (size_t k = 0; k < stage.loops.size(); ++k) {
    const TemplateLoop& loop = stage.loops[k];
    if (loop.index != index) continue;
    const bool is_point = is_point_loop(loop);
    if (!is_point && stage.is_frame && !found)
      continue;  // tiles of a frame stay, and the value is tested or cut by them
    if (found || !is_point || loop.step != Size{1, ""} || loop.mark != Mark{} || !loop.cuts.empty())
      return std::nullopt;
    found = k;
  }
  if (stage.is_frame || !found) return found;
  const Stage& frame = t.stages[stage.placement.host];
  for (auto [own, member] : stage.placement.ties)
    for (size_t k = 0; own == index && k < stage.placement.depth && k < frame.loops.size(); ++k)
      if (frame.loops[k].index == member && is_point_loop(frame.loops[k])) return std::nullopt;  // a point already
  return found;
}

bool is_linear_equality(const std::vector<Affine>& inside, size_t k) {
  const Affine negative = Affine::of(0) - inside[k];
  return inside[k].is_linear() &&
         std::find(inside.begin() + static_cast<std::ptrdiff_t>(k) + 1, inside.end(), negative) != inside.end();
}

/// Do statements of a frame run inside loop `from` and outside loop `to`, where the value is not known yet?
bool needs_value_between(const NestTemplate& t, uint32_t frame, size_t from, size_t to) {
  return t.stages[frame].is_frame && std::any_of(t.stages.begin(), t.stages.end(), [&](const Stage& stage) {
           return stage.placement.kind == Placement::Kind::fused && stage.placement.host == frame &&
                  stage.placement.depth > from && stage.placement.depth <= to;
         });
}

}  // namespace

std::vector<Determined> determined_indices(const NestTemplate& t, uint32_t id) {
  const Stage& stage = t.stages[id];
  const bool is_attached = stage.placement.kind == Placement::Kind::fused && t.stages[stage.placement.host].is_frame;
  if ((!stage.is_frame && !is_attached) || stage.accumulator || !stage.promotions.empty()) return {};
  const VarId first = t.program.index_var(0);
  std::vector<Determined> out;
  for (size_t k = 0; k < stage.inside.size(); ++k) {
    if (!is_linear_equality(stage.inside, k)) continue;
    std::map<VarId, Affine> known;
    for (const Determined& each : out) known[first + each.index] = each.value;
    const Affine row = substitute(stage.inside[k], known);
    const Term* pivot = nullptr;
    size_t innermost = 0, last = 0;  // loops: of the pivot, of any index in the row
    bool is_reduced = false;
    for (const Term& term : row.terms) {
      const uint32_t index = term.var - first;
      is_reduced |= index >= stage.data_indices;
      for (size_t j = 0; j < stage.loops.size(); ++j)
        if (stage.loops[j].index == index) last = std::max(last, j);
      const auto loop = plain_loop(t, stage, index);
      if (!loop || (term.coeff != 1 && term.coeff != -1) || (pivot && *loop < innermost)) continue;
      pivot = &term;
      innermost = *loop;
    }
    if (!pivot || is_reduced || needs_value_between(t, id, innermost, last)) continue;
    const VarId var = pivot->var;
    const Affine value = -pivot->coeff * (row - Affine::variable(var, pivot->coeff));
    for (Determined& each : out) each.value = substitute(each.value, {{var, value}});
    out.push_back({var - first, value});
  }
  return out;
}

}  // namespace polyweft::ir
