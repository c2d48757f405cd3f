#include "targets/common/values/registers.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "targets/common/nest_walk.h"

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

Registers::Key Registers::register_key(const Access& access) const {
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
llvm::Value* Registers::register_value(const Key& key) {
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
  const bool goes_on = next != file_.end() && next->first == Key{key.first, start.second + lanes} &&
                       next->second->getType() == value->getType();
  return b_.CreateShuffleVector(value, goes_on ? next->second : llvm::PoisonValue::get(value->getType()), part);
}

// Elements that are written lie apart, or a narrower one is part of a wider one: two that share some of their lanes
// would be two values of these.
bool Registers::are_apart_or_parts(const std::map<Key, DeclaredLanes>& elements) {
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
void Registers::leave_out_spans(std::map<Key, DeclaredLanes>& elements) {
  std::vector<Key> spans;
  const auto holds = [&](const std::map<Key, DeclaredLanes>::const_iterator& at, int64_t width) {
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
  for (const Key& key : spans) {
    elements.erase(key);
    file_.erase(key);
  }
}

/// Lanes of each element that some access reads or writes, those of narrower ones inside it among them; what the others
/// hold is nobody's.
void Registers::note_lanes_in_use(const std::map<Key, DeclaredLanes>& elements, std::map<Key, int64_t>& in_use) {
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
void Registers::declare_registers(BufferId id, NodeId at) {
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
    visit_accesses(nest_, at, [&](const Access& access, bool is_write) {
      if (access.id != id) return;
      const Key key = register_key(access);
      file_.emplace(key, llvm::PoisonValue::get(type));
      DeclaredLanes& known = declared_[key];
      known.width = std::max<int64_t>(known.width, lanes_.width);
      known.active = std::max<int64_t>(known.active, lanes_.width > 1 ? lanes_.active : 1);
      known.is_written |= is_write;
    });
  }
}

void Registers::declare_registers_of_loop(BufferId id, const Loop& loop) {
  const bool is_vector = loop.mark.kind == MarkKind::vector && loop.mark.width > 1;
  const bool is_expanded = loop.mark.kind == MarkKind::unroll || loop.mark.kind == MarkKind::vector;
  bool touches = false;
  visit_accesses(nest_, loop.body, [&](const Access& access, bool) { touches |= access.id == id; });
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
bool Registers::registers_fit(BufferId id, NodeId body) const {
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
        visit_accesses(nest_, loop->body, [&](const Access& a, bool) { fits &= a.id != id; });
      walk(loop->body);
      if (loop->mark.kind == MarkKind::vector && loop->mark.width > 1) vectors.pop_back();
      if (loop->mark.kind == MarkKind::unroll || (loop->mark.kind == MarkKind::vector && loop->mark.width == 1))
        unrolled.pop_back();
    } else {
      visit_accesses(nest_, at, [&](const Access& access, bool) {
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

void Registers::written_registers(NodeId id, std::vector<bool>& buffers) const {
  visit_accesses(nest_, id, [&](const Access& access, bool written) {
    if (written && in_registers(access.id)) buffers[access.id] = true;
  });
}

llvm::Type* Registers::register_type_of(BufferId id) const {
  return short_[id] ? llvm::Type::getInt32Ty(module_.getContext()) : scalar_.register_type(nest_.buffers[id].type);
}

// Twice as many lanes an instruction. What is written must be an index in reach of 32 bits, none yet, or come from a
// register of this kind.
bool Registers::holds_small_indices(BufferId id, NodeId at) {
  if (nest_.buffers[id].type != ElementType::i64 || at == kNoNode) return at == kNoNode;
  const Node& node = nest_.nodes[at];
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::all_of(seq->children.begin(), seq->children.end(),
                       [&](NodeId child) { return holds_small_indices(id, child); });
  if (const auto* choice = std::get_if<If>(&node))
    return holds_small_indices(id, choice->then) && holds_small_indices(id, choice->otherwise);
  if (const auto* alloc = std::get_if<Alloc>(&node)) return holds_small_indices(id, alloc->body);
  if (const auto* copy = std::get_if<Copy>(&node)) return copy->dst.id != id || (copy->has_src && short_[copy->src.id]);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    variables_.set_facts(loop->var, variables_.loop_facts(*loop));
    const bool out = holds_small_indices(id, loop->body);
    variables_.forget_facts(loop->var);
    return out;
  }
  const auto* compute = std::get_if<Compute>(&node);
  if (!compute) return true;
  const bool ranks = compute->reducer == Reducer::argmax || compute->reducer == Reducer::argmin;
  for (size_t k = 0; k < compute->dst.size(); ++k) {
    if (compute->dst[k].id != id || compute->how == Write::init || (compute->how == Write::merge && ranks && k > 0))
      continue;
    if (!ranks || k == 0 || compute->how != Write::accumulate || compute->rhs[k]->op != Op::affine) return false;
    const auto values = facts_.range(fold(compute->rhs[k]->affine));
    if (values.lo < INT32_MIN || values.hi >= INT32_MAX) return false;
  }
  return true;
}

// Every element exists since its Alloc (poison at first), so both sides know the same ones.
void Registers::merge_registers(const File& a, llvm::BasicBlock* from_a, const File& b, llvm::BasicBlock* from_b) {
  File merged;
  for (const auto& [key, value_a] : a) {
    llvm::Value* value_b = b.at(key);
    if (value_b == value_a) {
      merged[key] = value_a;
      continue;
    }
    llvm::PHINode* phi = b_.CreatePHI(value_a->getType(), 2);
    phi->addIncoming(value_a, from_a);
    phi->addIncoming(value_b, from_b);
    merged[key] = phi;
  }
  file_ = std::move(merged);
}

llvm::Value* Registers::short_index(llvm::Value* index) {
  llvm::Value* least =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, llvm::ConstantInt::get(index->getType(), INT32_MAX));
  return b_.CreateTrunc(least, index->getType()->getWithNewBitWidth(32));
}

llvm::Value* Registers::long_index(llvm::Value* index) {
  llvm::Type* wide = index->getType()->getWithNewBitWidth(64);
  llvm::Value* is_none = b_.CreateICmpEQ(index, llvm::ConstantInt::get(index->getType(), INT32_MAX));
  return b_.CreateSelect(is_none, llvm::ConstantInt::get(wide, static_cast<uint64_t>(INT64_MAX)),
                         b_.CreateSExt(index, wide));
}

bool Registers::open(BufferId id, NodeId body) {
  if (!registers_fit(id, body)) return false;
  registers_[id] = true;
  short_[id] = holds_small_indices(id, body);
  declared_.clear();
  declare_registers(id, body);
  leave_out_spans(declared_);
  note_lanes_in_use(declared_, in_use_);
  const bool holds = are_apart_or_parts(declared_);
  if (!holds) close(id);
  return holds;
}

void Registers::close(BufferId id) {
  registers_[id] = false;
  short_[id] = false;
  std::erase_if(file_, [&](const auto& cell) { return cell.first.first == id; });
}

llvm::Value* Registers::read(const Access& access) {
  if (llvm::Value* known = register_value(register_key(access))) return known;
  llvm::Type* type = register_type_of(access.id);
  return llvm::PoisonValue::get(
      lanes_.width > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(type, lanes_.width)) : type);
}

void Registers::write(const Access& access, llvm::Value* value) {
  const Key key = register_key(access);
  if (!lanes_.mask && lanes_.width > 1)  // whole lanes replace what was known of single ones
    file_.erase(file_.upper_bound(key),
                file_.lower_bound({key.first, key.second + static_cast<int64_t>(lanes_.width)}));
  llvm::Value*& cell = file_[key];
  llvm::Value* wide = scalar_.splat(value, lanes_.width);
  // Lanes that nothing ever reads need not be kept: a blend would lengthen each step of an accumulation.
  const bool keeps_lanes = cell && lanes_.mask && lanes_.active != in_use_[key];
  cell = keeps_lanes ? b_.CreateSelect(lanes_.mask, wide, cell) : wide;
}

Registers::Carried Registers::begin_loop(std::vector<bool> written, llvm::BasicBlock* before) {
  Carried out{std::exchange(carried_, std::move(written)), file_, {}};
  for (const auto& [key, value] : out.entry) {
    if (!carried_[key.first]) continue;
    llvm::PHINode* phi = b_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    file_[key] = phi;
    out.phis[key] = phi;
  }
  return out;
}

Registers::File Registers::end_loop(Carried& carried, llvm::BasicBlock* latch) {
  carried_.swap(carried.outside);
  File leaving = carried.entry;
  for (const auto& [key, phi] : carried.phis) {
    phi->addIncoming(file_.at(key), latch);
    leaving[key] = file_.at(key);
  }
  return leaving;
}

}  // namespace polyweft::targets
