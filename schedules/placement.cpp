#include "schedules/placement.h"

#include <algorithm>

namespace polyweft::schedules {
namespace {

/// Dimension `dN`, or the one that an index subscripts alone.
Result<uint32_t> dimension_of(const NestTemplate& t, const Stage& stage, TensorId tensor, const std::string& name) {
  uint32_t rank = t.program.tensors[tensor].rank;
  if (auto d = dimension_number(name, rank)) return *d;
  auto index = index_named(t, stage, name);
  if (!index) return index.error();
  std::vector<uint32_t> found;
  for (const Access& access : reads_of(t, stage, tensor))
    for (uint32_t d = 0; d < rank; ++d)
      if (!access.index[d].data && access.index[d].affine == Affine::variable(t.program.index_var(*index)))
        found.push_back(d);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() == 1) return found[0];
  return fail("PW0308",
              t.program.tensors[tensor].name + ": index " + name + " subscripts " + std::to_string(found.size()) +
                  " of its dimensions alone",
              {"name dimensions by number: d0, d1"});
}

/// Is that place loops[depth - 1] of `host`, or one further out?
bool is_around(const NestTemplate& t, const Placement& place, uint32_t host, uint32_t depth) {
  if (place.host == host) return place.depth <= depth;
  const Placement& outer = t.stages[host].placement;
  return outer.kind == Placement::Kind::compute_at && is_around(t, place, outer.host, outer.depth);
}

}  // namespace

Status is_digit_order(const std::vector<LayoutPart>& parts, uint32_t rank, const std::string& subject) {
  for (uint32_t d = 0; d < rank; ++d) {
    std::vector<LayoutPart> own;
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(own), [&](const auto& part) { return part.dim == d; });
    const bool is_whole = own.size() == 1 && own[0].part == LayoutDigit::Part::whole;
    const bool is_split = own.size() == 2 && own[0].part == LayoutDigit::Part::quotient &&
                          own[1].part == LayoutDigit::Part::remainder && own[0].factor == own[1].factor;
    if (!is_whole && !is_split)
      return fail("PW0308", subject + ": the layout does not hold dimension " + std::to_string(d) + " exactly once",
                  {"write it whole, or as d / f and later d % f"});
  }
  return Ok{};
}

Result<std::vector<LayoutPart>> layout_parts(const NestTemplate& t, const Stage& stage, TensorId tensor,
                                             const std::vector<LayoutDigit>& layout) {
  std::vector<LayoutPart> out;
  for (const auto& digit : layout) {
    auto dim = dimension_of(t, stage, tensor, digit.dim);
    if (!dim) return dim.error();
    out.push_back({*dim, digit.part, digit.factor});
  }
  if (out.empty()) return out;
  if (auto status = is_digit_order(out, t.program.tensors[tensor].rank, t.program.tensors[tensor].name); !status)
    return status.error();
  return out;
}

Status sources_are_ready(const NestTemplate& t, uint32_t attached, uint32_t host, uint32_t depth,
                         const std::string& subject) {
  Error error = fail("PW0314", subject + ": not all that it reads is ready there");
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const Stage& source = t.stages[k];
    bool is_read = false;
    for (TensorId id : equation_of(t, source).targets) is_read |= reads(t, t.stages[attached], id);
    if (!is_read || k == attached || k == host) continue;
    bool is_earlier_nest = source.placement.kind == Placement::Kind::at_root && k < host;
    bool is_neighbour =
        source.placement.kind == Placement::Kind::compute_at && is_around(t, source.placement, host, depth);
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
