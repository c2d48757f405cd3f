// Register buffers: which can be values of the code (SSA), and what they hold: an element by where it begins, as wide
// as its lanes.
#include <algorithm>
#include <bit>
#include <functional>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kMostRegisterLanes = 64;

/// Unrolled, or all lanes of a vector: no branch, no mask.
bool runs_straight(const Loop& loop) {
  if (loop.mark.kind == MarkKind::unroll) return true;
  if (loop.mark.kind != MarkKind::vector || loop.lo.of.size() != 1 || loop.hi.of.size() != 1) return false;
  return std::has_single_bit(static_cast<unsigned>(loop.mark.width)) &&
         loop.hi.of[0] - loop.lo.of[0] == Affine::of(loop.mark.width);
}

}  // namespace

NestCode::RegKey NestCode::register_key(const Access& access) const {
  std::vector<Affine> index;
  for (const auto& s : access.index) index.push_back(fold(s.affine));
  const Affine offset = facts_.offset(nest_.buffers[access.id], index);
  Affine at_lane_0 = offset - Affine::variable(kLane, offset.coefficient(kLane));
  if (!at_lane_0.is_constant())
    throw Refusal{fail("PW0503", "register buffer " + nest_.buffers[access.id].name + " is indexed by a serial loop")};
  return {access.id, at_lane_0.constant};
}

/// The element of that key; the lanes from there on of a wider vector that holds it (merges of lanes read its upper
/// half); lanes of two vectors that are contiguous (a window that moves by less than a vector). Null where there is
/// none.
llvm::Value* NestCode::register_value(const RegKey& key) {
  auto found = file_.upper_bound(key);
  if (found == file_.begin()) return nullptr;
  const auto next = found--;
  const auto& [start, value] = *found;
  const int64_t lanes = ScalarCode::lanes(value), first = key.second - start.second;
  if (start.first != key.first || (first > 0 && first >= lanes)) return nullptr;
  if (first == 0 && lanes <= static_cast<int64_t>(lanes_.width)) return value;
  if (lanes_.width == 1) return b_.CreateExtractElement(value, static_cast<uint64_t>(first));
  std::vector<int> part;
  for (int lane = 0; lane < static_cast<int>(lanes_.width); ++lane) part.push_back(static_cast<int>(first) + lane);
  if (first + static_cast<int64_t>(lanes_.width) <= lanes) return b_.CreateShuffleVector(value, part);
  if (lanes != static_cast<int64_t>(lanes_.width)) return nullptr;
  const bool goes_on = next != file_.end() && next->first == RegKey{key.first, start.second + lanes} &&
                       next->second->getType() == value->getType();
  return b_.CreateShuffleVector(value, goes_on ? next->second : llvm::PoisonValue::get(value->getType()), part);
}

// Elements that are written lie apart, or a narrower one is part of a wider one: two that share some of their lanes
// would be two values of these.
bool NestCode::are_apart_or_parts(const std::map<RegKey, DeclaredLanes>& elements) {
  for (auto later = elements.begin(); later != elements.end(); ++later)
    for (auto earlier = later; earlier != elements.begin();) {
      --earlier;
      const int64_t apart = later->first.second - earlier->first.second;
      if (apart >= kMostRegisterLanes) break;
      if (apart < earlier->second.active && later->second.width >= earlier->second.width) return false;
    }
  return true;
}

/// Elements that are only read, out of two that are written: no values of their own. Their lanes must all be written,
/// by vectors as wide as they are.
void NestCode::leave_out_spans(std::map<RegKey, DeclaredLanes>& elements) {
  std::vector<RegKey> spans;
  const auto holds = [&](const std::map<RegKey, DeclaredLanes>::const_iterator& at, int64_t width) {
    return at != elements.end() && at->second.is_written && at->second.width == width;
  };
  for (auto at = elements.begin(); at != elements.end(); ++at) {
    if (at->second.is_written || at->second.width == 1) continue;
    auto low = at;
    while (low != elements.begin() && !low->second.is_written) --low;
    const int64_t width = at->second.width, first = at->first.second - low->first.second,
                  past = first + at->second.active - width;
    if (!holds(low, width) || first >= width) continue;
    const auto high = elements.find({at->first.first, low->first.second + width});
    if (first + at->second.active <= low->second.active ||
        (low->second.active == width && holds(high, width) && past <= high->second.active))
      spans.push_back(at->first);
  }
  for (const RegKey& key : spans) {
    elements.erase(key);
    file_.erase(key);
  }
}

/// Lanes of each element that some access reads or writes, those of narrower ones inside it among them; what the others
/// hold is nobody's.
void NestCode::note_lanes_in_use(const std::map<RegKey, DeclaredLanes>& elements, std::map<RegKey, int64_t>& in_use) {
  for (auto at = elements.begin(); at != elements.end(); ++at) {
    int64_t most = at->second.active;
    for (auto later = std::next(at); later != elements.end() && later->first.first == at->first.first; ++later) {
      const int64_t apart = later->first.second - at->first.second;
      if (apart >= at->second.width) break;
      if (later->second.width < at->second.width) most = std::max(most, apart + later->second.active);
    }
    in_use[at->first] = most;
  }
}

// Puts every element that `at` touches into the register file, undefined.
void NestCode::declare_registers(BufferId id, NodeId at) {
  if (at == kNoNode) return;
  const Node& node = nest_.nodes[at];
  if (const auto* seq = std::get_if<Seq>(&node)) {
    for (NodeId child : seq->children) declare_registers(id, child);
  } else if (const auto* branch_node = std::get_if<If>(&node)) {
    declare_registers(id, branch_node->then);
    declare_registers(id, branch_node->otherwise);
  } else if (const auto* alloc = std::get_if<Alloc>(&node)) {
    declare_registers(id, alloc->body);
  } else if (const auto* loop = std::get_if<Loop>(&node)) {
    declare_registers_of_loop(id, *loop);
  } else {
    llvm::Type* type = register_type_of(id);
    if (lanes_.width > 1) type = llvm::FixedVectorType::get(type, lanes_.width);
    visit_accesses(at, [&](const Access& access, bool is_write) {
      if (access.id != id) return;
      const RegKey key = register_key(access);
      file_.emplace(key, llvm::PoisonValue::get(type));
      DeclaredLanes& known = declared_[key];
      known.width = std::max<int64_t>(known.width, lanes_.width);
      known.active = std::max<int64_t>(known.active, lanes_.width > 1 ? lanes_.active : 1);
      known.is_written |= is_write;
    });
  }
}

void NestCode::declare_registers_of_loop(BufferId id, const Loop& loop) {
  const bool is_vector = loop.mark.kind == MarkKind::vector && loop.mark.width > 1;
  const bool is_expanded = loop.mark.kind == MarkKind::unroll || loop.mark.kind == MarkKind::vector;
  bool touches = false;
  visit_accesses(loop.body, [&](const Access& access, bool) { touches |= access.id == id; });
  if (!touches) return;
  if (!is_expanded) return declare_registers(id, loop.body);
  const Affine lo = loop.mark.kind == MarkKind::vector && first_lane(loop) ? lane_0(loop) : fold(loop.lo.of[0]);
  const int64_t trips = is_vector ? 1 : variables_.constant_trips(loop, lo).value_or(1);
  const Lanes outer = lanes_;
  if (is_vector) {
    Lanes inside = outer;
    inside.width = lanes_of(loop);
    inside.active = loop.mark.width;
    for (const Affine& e : loop.hi.of)
      if (const Affine length = fold(e) - lo; length.is_constant())
        inside.active = std::min(inside.active, length.constant);
    masks_.set(inside);
  }
  for (int64_t n = 0; n < trips; n += loop.step) {
    variables_.substitute(loop.var, is_vector ? lo + Affine::variable(kLane) : lo + Affine::of(n));
    declare_registers(id, loop.body);
  }
  variables_.end_substitution(loop.var);
  masks_.set(outer);
}

// SSA needs every index free of serial loops, and one shape an element: always a vector of one width along a unit lane
// stride, or never inside a vector loop that its index moves with. In straight code the lanes may be halved (merges):
// what a narrower access leaves of a vector is not used again.
bool NestCode::registers_fit(BufferId id, NodeId body) const {
  const Buffer& buffer = nest_.buffers[id];
  std::vector<std::pair<VarId, int32_t>> vectors;
  std::vector<VarId> unrolled;
  bool fits = true;
  bool is_straight = true, is_halved = false;
  int64_t shape = -1;
  const std::function<void(NodeId)> walk = [&](NodeId at) {
    if (at == kNoNode || !fits) return;
    const Node& node = nest_.nodes[at];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      for (NodeId child : seq->children) walk(child);
    } else if (const auto* branch_node = std::get_if<If>(&node)) {
      is_straight = false;
      walk(branch_node->then);
      walk(branch_node->otherwise);
    } else if (const auto* alloc = std::get_if<Alloc>(&node)) {
      walk(alloc->body);
    } else if (const auto* loop = std::get_if<Loop>(&node)) {
      is_straight &= runs_straight(*loop);
      if (loop->mark.kind == MarkKind::vector && loop->mark.width > 1)
        vectors.emplace_back(loop->var, static_cast<int32_t>(lanes_of(*loop)));
      if (loop->mark.kind == MarkKind::unroll || (loop->mark.kind == MarkKind::vector && loop->mark.width == 1))
        unrolled.push_back(loop->var);
      if (loop->mark.kind == MarkKind::parallel)
        visit_accesses(loop->body, [&](const Access& a, bool) { fits &= a.id != id; });
      walk(loop->body);
      if (loop->mark.kind == MarkKind::vector && loop->mark.width > 1) vectors.pop_back();
      if (loop->mark.kind == MarkKind::unroll || (loop->mark.kind == MarkKind::vector && loop->mark.width == 1))
        unrolled.pop_back();
    } else {
      visit_accesses(at, [&](const Access& access, bool) {
        if (access.id != id) return;
        int64_t width = 1;
        std::vector<Affine> index;
        for (const auto& s : access.index) {
          if (s.data || !s.affine.is_linear()) fits = false;
          for (const auto& term : s.affine.terms) {
            const bool is_unrolled = std::find(unrolled.begin(), unrolled.end(), term.var) != unrolled.end() ||
                                     variables_.is_substituted(term.var);
            const bool is_lane = !vectors.empty() && vectors.back().first == term.var;
            if (!is_unrolled && !is_lane) fits = false;
          }
          index.push_back(s.affine);
        }
        if (!fits) return;
        const Affine offset = facts_.offset(buffer, index);
        if (!vectors.empty()) {
          const int64_t stride = offset.coefficient(vectors.back().first);
          if (stride == 1 && offset.is_linear())
            width = vectors.back().second;
          else
            fits = false;
        }
        if (shape == -1) shape = width;
        is_halved |= width < shape;
        fits &= width <= shape;
        shape = width;
      });
    }
  };
  walk(body);
  return fits && (is_straight || !is_halved) && lanes_.width == 1;
}

}  // namespace polyweft::targets
