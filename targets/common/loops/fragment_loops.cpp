#include "targets/common/loops/fragment_loops.h"

#include <algorithm>
#include <utility>

#include "ir/nests/walk_nest.h"
#include "support/abilities.h"
#include "support/integer_division.h"

namespace polyweft::targets {
namespace {

constexpr VarId kLaneDigit = 0x7ffffc00;  ///< the first of the variables that stand for digits of the lane's number
constexpr int64_t kWordBytes = 4;
constexpr int64_t kMatrixRows = 8, kMatrixRowBytes = 16;  ///< GridHooks::load_matrices

[[noreturn]] void refuse(const std::string& what) {
  throw Refusal{fail("PW0523", "sums that a warp holds: " + what)};
}

/// Most significant first.
std::vector<int64_t> digit_values(const std::vector<ir::Fragment::Digit>& digits, int64_t number) {
  std::vector<int64_t> out(digits.size());
  for (size_t k = digits.size(); k-- > 0; number /= digits[k].extent) out[k] = number % digits[k].extent;
  return out;
}

bool is_statement(const Node& node) {
  return std::holds_alternative<Compute>(node) || std::holds_alternative<Copy>(node);
}

}  // namespace

// ---- where warps work together ----

bool FragmentLoops::allocates(const Alloc& alloc) {
  const Buffer& buffer = nest_.buffers[alloc.buffer];
  if (buffer.scope != Scope::tile || !hooks_.grid || !hooks_.grid->multiplies()) return false;
  Held held;
  held.fragments = buffer.extents;
  ir::walk_nodes(nest_, alloc.body, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || !ir::is_warp_product(*loop)) return true;
    const auto match = ir::match_tensor_loop(nest_, *loop);
    if (!match || match->compute->dst[0].id != alloc.buffer || held.instruction) return false;
    held.instruction = match->instruction;
    for (uint32_t axis : held.instruction->operands[0].loops)
      for (size_t d = 0; d < buffer.extents.size(); ++d)
        if (match->compute->dst[0].index[d].affine.coefficient(match->loops[axis]->var) == 1) held.dims.push_back(d);
    return false;
  });
  if (!held.instruction) return false;
  const auto& result = held.instruction->operands[0];
  if (held.dims.size() != result.loops.size()) refuse("subscripts other than those of the product's result");
  for (size_t k = 0; k < held.dims.size(); ++k) {
    int64_t& extent = held.fragments[held.dims[k]];
    const int64_t own = held.instruction->axes[result.loops[k]].extent;
    if (extent % own != 0) refuse(buffer.name + " is no whole number of fragments");
    extent /= own;
  }
  if (!buffer.folds.empty() || buffer.layout.pieces.size() != buffer.extents.size() || !buffer.layout.pad.empty())
    refuse(buffer.name + " has a layout of its own");
  ir::walk_nodes(nest_, nest_.root, [&](const Node& each) {
    const auto* loop = std::get_if<Loop>(&each);
    if (loop && loop->mark.kind == MarkKind::axis && loop->mark.detail == "thread_x" && variables_.is_bound(loop->var))
      lane_ = loop->var;
    return true;
  });
  const Interval lanes = lane_ == kNoVar ? Interval{} : facts_.range(Affine::variable(lane_));
  const int64_t all = held.instruction->lanes();
  if (lanes.lo != 0 || lanes.hi + 1 != all)
    refuse("there are not " + std::to_string(all) + " threads along x around " + buffer.name);
  for (const auto& operand : held.instruction->operands) {
    if (operand.is_shared()) continue;
    int64_t below = all;
    for (const ir::Fragment::Digit& digit : operand.fragment.lane) bind_digit(below /= digit.extent, digit.extent);
    below = kMatrixRows;
    bind_digit(1, kMatrixRows);
    for (size_t k = operand.fragment.cell.size(); k-- > 1; below *= operand.fragment.cell[k - 1].extent)
      if (below < all) bind_digit(below, operand.fragment.cell[k - 1].extent);
  }
  held_[alloc.buffer] = held;
  buffers_.place(alloc.buffer,
                 on_stack(scalar_.memory_type(buffer.type), allocated_elements(buffer) / all, buffer.name));
  further_.emit(alloc.body);
  finish();
  buffers_.remove(alloc.buffer);
  held_.erase(alloc.buffer);
  return true;
}

/// Does it make sums that a warp holds, or has to do with such?
bool FragmentLoops::is_for_warp(NodeId id) const {
  bool makes_sums = false;
  ir::walk_nodes(nest_, id, [&](const Node& node) {
    const auto* alloc = std::get_if<Alloc>(&node);
    makes_sums |= alloc && nest_.buffers[alloc->buffer].scope == Scope::tile &&
                  ir::warp_instruction_of(nest_, alloc->body, alloc->buffer);
    return true;
  });
  return makes_sums || touches_held(id);
}

bool FragmentLoops::touches_held(NodeId id) const {
  bool found = false;
  ir::visit_accesses(nest_, id, [&](const Access& access, bool) { found |= held_.contains(access.id); });
  return found;
}

bool FragmentLoops::takes(NodeId id) {
  if (!hooks_.grid || !hooks_.grid->multiplies()) return false;
  const Node& node = nest_.nodes[id];
  if (!is_together_) {
    const auto* choice = std::get_if<If>(&node);
    if (!choice || !ir::lane_of_warp(nest_, *choice)) return false;
    is_together_ = true;
    loaded_.clear();
    further_.emit(choice->then);
    if (may_leave_ != id || !only_products(choice->then)) finish();
    is_together_ = false;
    return true;
  }
  if (!in_products_ && only_products(id)) {
    hooks_.grid->begin_products(b_);
    in_products_ = true;
    further_.emit(id);
    in_products_ = false;
    return true;
  }
  if (!in_products_) finish_before(id);
  if (const auto* alloc = std::get_if<Alloc>(&node); alloc && allocates(*alloc)) return true;
  if (!is_for_warp(id)) {
    by_first_lane(id);
    return true;
  }
  if (is_statement(node)) refuse("a statement for one cell");
  const auto* loop = std::get_if<Loop>(&node);
  if (!loop) return false;
  if (ir::is_warp_product(*loop)) {
    product(*loop);
    return true;
  }
  if (cells(*loop)) return true;
  if (const auto trips = variables_.constant_trips(*loop, fold(loop->lo.of[0]));
      trips && loop->mark.kind == MarkKind::unroll) {
    const Affine lo = fold(loop->lo.of[0]);
    for (int64_t n = 0; n < *trips; n += loop->step) {
      variables_.substitute(loop->var, lo + Affine::of(n));
      further_.emit(loop->body);
    }
    variables_.end_substitution(loop->var);
  } else {
    serial_loops_.serial_loop(*loop, {[&](llvm::Value*) { further_.emit(loop->body); }, 0});
  }
  return true;
}

/// What has nothing to do with sums in fragments: its own work of the thread in whose name the warp is here.
void FragmentLoops::by_first_lane(NodeId id) {
  constexpr int64_t kWarp = 32;
  if (facts_.range(Affine::variable(lane_)).hi >= kWarp) refuse("work of one thread beside those of several warps");
  is_together_ = false;
  branches_.branch(
      b_.CreateICmpEQ(variables_.value(lane_), b_.getInt64(0)), [&] { further_.emit(id); }, [] {});
  is_together_ = true;
  hooks_.grid->warp_barrier(b_);
  loaded_.clear();
}

// ---- products ----

/// number / below % extent, of the lane's number; both powers of two.
void FragmentLoops::bind_digit(int64_t below, int64_t extent) {
  const std::string key = std::to_string(below) + " " + std::to_string(extent);
  const auto [at, is_new] = digits_.emplace(key, kLaneDigit + static_cast<VarId>(digits_.size()));
  if (!is_new) return;
  llvm::Value* const value =
      b_.CreateAnd(b_.CreateLShr(variables_.value(lane_), b_.getInt64(llvm::Log2_64(static_cast<uint64_t>(below)))),
                   b_.getInt64(static_cast<uint64_t>(extent - 1)), "lane");
  variables_.bind(at->second, value, VarFacts{0, extent - 1});
}

Affine FragmentLoops::digit(int64_t below, int64_t extent) const {
  return Affine::variable(digits_.at(std::to_string(below) + " " + std::to_string(extent)));
}

Affine FragmentLoops::coordinate(const ir::Fragment& fragment, uint32_t dim, int64_t cell) const {
  Affine out;
  int64_t below = ir::places_of(fragment.lane);
  for (const ir::Fragment::Digit& digit : fragment.lane) {
    below /= digit.extent;
    if (digit.dim == dim) out = out + digit.divisor * this->digit(below, digit.extent);
  }
  const std::vector<int64_t> values = digit_values(fragment.cell, cell);
  for (size_t k = 0; k < values.size(); ++k)
    if (fragment.cell[k].dim == dim) out.constant += values[k] * fragment.cell[k].divisor;
  return out;
}

/// Do operands have cells for all values that the instruction takes along the axis, whatever the loop's bounds are?
bool FragmentLoops::lies_inside(const ir::TensorMatch& match, size_t axis) {
  constexpr VarId kAxis = kLaneDigit + 0x80;  ///< stands for the loops' variables
  bool out = true;
  for (size_t k = 0; k < match.loops.size(); ++k) {
    const VarId var = kAxis + static_cast<VarId>(k);
    variables_.set_facts(var, VarFacts{0, k == axis ? match.instruction->axes[k].extent - 1 : 0});
    variables_.substitute(match.loops[k]->var, fold(match.loops[k]->lo.of[0]) + Affine::variable(var));
  }
  for (const auto& access : match.binding.access)
    for (size_t d = 0; access && d < access->index.size(); ++d) {
      const Interval range = facts_.range(fold(access->index[d].affine));
      out = out && range.lo >= 0 && range.hi < nest_.buffers[access->id].extents[d];
    }
  for (size_t k = 0; k < match.loops.size(); ++k) {
    variables_.end_substitution(match.loops[k]->var);
    variables_.forget_facts(kAxis + static_cast<VarId>(k));
  }
  return out;
}

void FragmentLoops::product(const Loop& loop) {
  auto match = ir::match_tensor_loop(nest_, loop);
  if (!match) throw Refusal{match.error()};
  const ir::Instruction& instruction = *match->instruction;
  std::vector<Guard> inside;  // tests that edges of the program may fail
  for (size_t axis = 0; axis < match->loops.size(); ++axis) {
    const Loop& own = *match->loops[axis];
    const Affine first = fold(own.lo.of[0]);
    if (lies_inside(*match, axis)) continue;
    for (const Affine& hi : own.hi.of)
      if (const Guard test = guard_ge0(fold(hi) - first - Affine::of(instruction.axes[axis].extent));
          facts_.decide(test) != true)
        inside.push_back(test);
  }
  for (const Loop* own : match->loops) variables_.substitute(own->var, fold(own->lo.of[0]));
  const Access& sums = match->compute->dst[0];
  std::vector<Affine> at;
  for (const Subscript& s : sums.index) at.push_back(fold(s.affine));
  for (const Loop* own : match->loops) variables_.end_substitution(own->var);
  const int64_t first = first_cell(held_.at(sums.id), at);
  if (instruction.reads_shared()) return product_of_shared(*match, sums, first);
  llvm::Type* const type = scalar_.memory_type(nest_.buffers[sums.id].type);
  const auto multiply = [&](bool is_whole) {
    LaneFragments of;
    of.first = words(*match, 1, is_whole), of.second = words(*match, 2, is_whole);
    std::vector<llvm::Value*> places;
    for (int64_t c = 0; c < instruction.operands[0].register_lanes; ++c) {
      places.push_back(places_.pointer_to(sums.id, Affine::of(first + c)));
      of.sums.push_back(b_.CreateLoad(type, places.back()));
    }
    const std::vector<llvm::Value*> made = hooks_.grid->multiply(b_, instruction, of);
    if (made.size() != places.size()) refuse("this machine has no " + instruction.name);
    for (size_t c = 0; c < made.size(); ++c) b_.CreateStore(made[c], places[c]);
  };
  if (inside.empty()) return multiply(true);
  loaded_.clear();
  branches_.branch(
      integers_.condition(guard_all(std::move(inside))),
      [&] {
        multiply(true);
        loaded_.clear();
      },
      [&] {
        multiply(false);
        loaded_.clear();
      });
}

// ---- products of what lies in shared memory ----

/// Loops and sequences around products of factors in shared memory, and nothing else.
bool FragmentLoops::only_products(NodeId id) const {
  bool found = false, others = false;
  ir::walk_nodes(nest_, id, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    const ir::Instruction* const instruction = loop ? ir::warp_product(*loop) : nullptr;
    found |= instruction && instruction->reads_shared();
    others |= instruction ? !instruction->reads_shared() : !loop && !std::holds_alternative<Seq>(node);
    return !instruction && !others;
  });
  return found && !others;
}

void FragmentLoops::begin_kernel(NodeId root) {
  kernel_ = root;
  ir::walk_nodes(nest_, root, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    const ir::Instruction* const instruction = loop ? ir::warp_product(*loop) : nullptr;
    publishes_ |= instruction && instruction->reads_shared();
    return true;
  });
}

void FragmentLoops::product_of_shared(const ir::TensorMatch& match, const Access& sums, int64_t first) {
  const ir::Instruction& instruction = *match.instruction;
  const SharedFactor a = shared_factor(match, 1), b = shared_factor(match, 2);
  llvm::Type* const type = scalar_.memory_type(nest_.buffers[sums.id].type);
  std::vector<llvm::Value*> places, values;
  for (int64_t c = 0; c < instruction.operands[0].register_lanes; ++c) {
    places.push_back(places_.pointer_to(sums.id, Affine::of(first + c)));
    values.push_back(b_.CreateLoad(type, places.back()));
  }
  const std::vector<llvm::Value*> made = hooks_.grid->multiply_shared(b_, instruction, values, a, b);
  if (made.size() != places.size()) refuse("this machine has no " + instruction.name);
  for (size_t c = 0; c < made.size(); ++c) b_.CreateStore(made[c], places[c]);
  sums_under_way_.insert(sums.id);
  is_open_ = true;
}

/// Where a factor lies, as the instruction wants it: what its offset in memory is, in digits of its two dimensions.
SharedFactor FragmentLoops::shared_factor(const ir::TensorMatch& match, size_t operand) {
  const auto& own = match.instruction->operands[operand];
  const auto& access = match.binding.access[operand - 1];
  const std::string name = access ? nest_.buffers[access->id].name : "a constant factor";
  if (!access || nest_.buffers[access->id].scope != Scope::shared || !nest_.buffers[access->id].layout.by_xor)
    refuse(match.instruction->name + " reads shared memory, where " + name + " does not lie by xor");
  constexpr VarId kLine = kLaneDigit + 0x90, kCell = kLaneDigit + 0x91, kNext = kLaneDigit + 0x92;
  const int64_t row = kXorLineBytes / size_bytes(own.type);
  std::vector<Affine> starts;
  for (const Loop* loop : match.loops) starts.push_back(fold(loop->lo.of[0]));
  UnderWay reads{access->id, {}, std::vector<int64_t>(access->index.size(), 1)};
  for (size_t axis = 0; axis < match.loops.size(); ++axis) variables_.substitute(match.loops[axis]->var, starts[axis]);
  for (size_t d = 0; d < access->index.size(); ++d) {
    reads.first.push_back(fold(access->index[d].affine));
    for (size_t axis = 0; axis < match.loops.size(); ++axis)
      reads.length[d] +=
          access->index[d].affine.coefficient(match.loops[axis]->var) * (match.instruction->axes[axis].extent - 1);
  }
  const Affine first = places_.offset_of(*access, nullptr);
  // Elements of a line along one dimension, lines along the other.
  SharedFactor out;
  bool fits = false;
  for (const bool is_turned : {false, true}) {
    if (fits) break;
    size_t across = match.loops.size(), along = across;
    for (uint32_t axis : own.loops) (match.instruction->axes[axis].is_reduced == is_turned ? across : along) = axis;
    const int64_t length = match.instruction->axes[along].extent, lines = match.instruction->axes[across].extent;
    const int64_t cells = std::min(length, row), spans = length / cells;
    variables_.set_facts(kLine, VarFacts{0, lines - 1});
    variables_.set_facts(kCell, VarFacts{0, cells - 1});
    variables_.set_facts(kNext, VarFacts{0, spans - 1});
    variables_.substitute(match.loops[across]->var, starts[across] + Affine::variable(kLine));
    variables_.substitute(match.loops[along]->var, starts[along] + Affine::variable(kCell) +
                                                       (spans > 1 ? cells * Affine::variable(kNext) : Affine::of(0)));
    const Affine moved = places_.offset_of(*access, nullptr) - first;
    out.is_turned = is_turned;
    const int64_t next = moved.coefficient(kNext);
    fits = moved == Affine::variable(kLine, row) + Affine::variable(kCell) +
                        (next == 0 ? Affine::of(0) : Affine::variable(kNext, next)) &&
           (spans == 1 || next != 0) && (!is_turned || size_bytes(own.type) == 2);
    out.next_lines = next * size_bytes(own.type);
    for (const VarId var : {kLine, kCell, kNext}) variables_.forget_facts(var);
    variables_.substitute(match.loops[across]->var, starts[across]);
    variables_.substitute(match.loops[along]->var, starts[along]);
  }
  for (const Loop* loop : match.loops) variables_.end_substitution(loop->var);
  if (!fits || places_.alignment_of(access->id, first) % kXorUnitBytes != 0)
    refuse(match.instruction->name + " cannot read " + name + " as it lies in shared memory");
  const auto bytes = static_cast<uint64_t>(size_bytes(own.type));
  out.first = b_.CreateInBoundsGEP(b_.getInt8Ty(), buffers_.base_of(access->id),
                                   b_.CreateMul(integers_.integer(first), b_.getInt64(bytes)));
  under_way_.push_back(std::move(reads));
  return out;
}

void FragmentLoops::finish() {
  if (sums_under_way_.empty()) return;
  if (std::exchange(is_open_, false)) hooks_.grid->commit_products(b_);
  hooks_.grid->wait_for_products(b_, 0);
  for (BufferId id : std::exchange(sums_under_way_, {})) {
    const Held& held = held_.at(id);
    llvm::Type* const type = scalar_.memory_type(nest_.buffers[id].type);
    std::vector<llvm::Value*> places, values;
    for (int64_t c = 0; c < allocated_elements(nest_.buffers[id]) / held.instruction->lanes(); ++c) {
      places.push_back(places_.pointer_to(id, Affine::of(c)));
      values.push_back(b_.CreateLoad(type, places.back()));
    }
    const std::vector<llvm::Value*> made = hooks_.grid->settle(b_, values);
    for (size_t c = 0; c < made.size(); ++c) b_.CreateStore(made[c], places[c]);
  }
  under_way_.clear();
}

void FragmentLoops::finish_before(NodeId id) {
  if (!sums_under_way_.empty() && !leaves_alone(id)) finish();
}

/// More products, or copies into other cells than those that products under way read.
bool FragmentLoops::leaves_alone(NodeId id) {
  const Node& node = nest_.nodes[id];
  if (const auto* choice = std::get_if<If>(&node); choice && ir::lane_of_warp(nest_, *choice))
    return choice->otherwise == kNoNode && only_products(choice->then);
  return only_products(id) || only_copies_apart(id, {});
}

void FragmentLoops::end_iteration(const Loop& loop) {
  if (sums_under_way_.empty()) return;
  if (!may_run_on(loop)) return finish();
  if (std::exchange(is_open_, false)) hooks_.grid->commit_products(b_);
  hooks_.grid->wait_for_products(b_, 1);
}

/// Each iteration begins with a barrier, before which a thread has waited for its products of the one before the last;
/// besides products and waits it has copies, which leave the cells alone that products of the last one read.
bool FragmentLoops::may_run_on(const Loop& loop) {
  const auto* seq = std::get_if<Seq>(&nest_.nodes[loop.body]);
  if (!seq || !is_on("code.products_under_way")) return false;
  const std::map<VarId, Affine> later = {{loop.var, Affine::variable(loop.var) + Affine::of(loop.step)}};
  bool has_met = false;
  for (NodeId child : seq->children) {
    if (const auto* sync = std::get_if<Sync>(&nest_.nodes[child])) {
      has_met |= sync->kind == Sync::Kind::block;
      continue;
    }
    const auto* choice = std::get_if<If>(&nest_.nodes[child]);
    const bool is_product = choice && ir::lane_of_warp(nest_, *choice) && only_products(choice->then);
    if (!has_met || (!is_product && !only_copies_apart(child, later))) return false;
  }
  return true;
}

/// `later`: for variables of the loops around.
bool FragmentLoops::only_copies_apart(NodeId id, const std::map<VarId, Affine>& later) {
  bool out = true;
  std::vector<VarId> inner;  // loops of the node, which are not being emitted yet
  ir::walk_nodes(nest_, id, [&](const Node& each) {
    const auto* loop = std::get_if<Loop>(&each);
    if (!loop) return true;
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    for (const Affine& e : loop->lo.of) lo = std::max(lo, facts_.range(fold(e)).lo);
    for (const Affine& e : loop->hi.of) hi = std::min(hi, facts_.range(fold(e)).hi);
    if (lo >= hi) return true;
    const bool begins_there =
        std::all_of(loop->lo.of.begin(), loop->lo.of.end(), [&](const Affine& e) { return fold(e).is_constant(); });
    variables_.set_facts(loop->var, VarFacts{lo, begins_there ? lo + (hi - 1 - lo) / loop->step * loop->step : hi - 1});
    inner.push_back(loop->var);
    return true;
  });
  ir::walk_nodes(nest_, id, [&](const Node& each) {
    const auto* copy = std::get_if<Copy>(&each);
    out &= !std::holds_alternative<Compute>(each) && !std::holds_alternative<Alloc>(each);
    out &=
        !copy || (copy->is_async && lies_apart(copy->dst, later) && !(copy->has_src && held_.contains(copy->src.id)));
    return out;
  });
  for (VarId var : inner) variables_.forget_facts(var);
  return out;
}

/// In another slot of a circular buffer, or another buffer.
bool FragmentLoops::lies_apart(const Access& access, const std::map<VarId, Affine>& later) const {
  if (held_.contains(access.id) || nest_.buffers[access.id].within) return false;
  return std::all_of(under_way_.begin(), under_way_.end(), [&](const UnderWay& reads) {
    if (reads.buffer != access.id) return true;
    for (const Fold& f : nest_.buffers[access.id].folds) {
      Interval apart = facts_.range(fold(substitute(access.index[f.dim].affine, later)) - reads.first[f.dim]);
      apart.lo -= reads.length[f.dim] - 1;
      if (apart.lo > INT64_MIN / 2 && apart.hi < INT64_MAX / 2 && apart.hi - apart.lo < f.window &&
          floor_remainder(apart.lo, f.window) != 0 &&
          floor_remainder(apart.lo, f.window) <= floor_remainder(apart.hi, f.window))
        return true;
    }
    return false;
  });
}

/// A lane's part of an operand. Not whole: cells beyond the loops' bounds are copies of others, whose products nobody
/// reads.
std::vector<llvm::Value*> FragmentLoops::words(const ir::TensorMatch& match, size_t operand, bool is_whole) {
  const auto& own = match.instruction->operands[operand];
  const auto& access = match.binding.access[operand - 1];
  const int64_t cells = kWordBytes / size_bytes(own.type);
  std::vector<llvm::Value*> out;
  if (!access) {
    llvm::Constant* const one = llvm::ConstantInt::get(scalar_.memory_type(own.type), 1);
    llvm::Constant* const all =
        llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(cells)), one);
    out.assign(static_cast<size_t>(own.register_lanes / cells), b_.CreateBitCast(all, b_.getInt32Ty()));
    return out;
  }
  if (b_.GetInsertBlock() != loaded_in_) loaded_.clear();
  loaded_in_ = b_.GetInsertBlock();
  std::string key = match.instruction->name + " " + std::to_string(operand) + " " + std::to_string(access->id);
  for (const Loop* loop : match.loops) variables_.substitute(loop->var, fold(loop->lo.of[0]));
  for (const Subscript& s : access->index) key += " " + key_of(fold(s.affine));
  for (const Loop* loop : match.loops) variables_.end_substitution(loop->var);
  if (const auto known = loaded_.find(key); known != loaded_.end()) return known->second;
  if (is_whole && nest_.buffers[access->id].scope == Scope::shared) out = matrices(match, operand);
  if (out.empty())
    for (int64_t c = 0; c < own.register_lanes; c += cells) out.push_back(word(match, operand, c, cells, is_whole));
  return loaded_[key] = out;
}

/// All words of an operand's fragment at once, where they are parts of matrices of eight rows of 16 bytes: a lane has
/// the l % 4th word of row l / 4 along one dimension, or elements of column l / 4.
std::vector<llvm::Value*> FragmentLoops::matrices(const ir::TensorMatch& match, size_t operand) {
  const auto& own = match.instruction->operands[operand];
  const Access& access = *match.binding.access[operand - 1];
  const int64_t bytes = size_bytes(own.type), cells = kWordBytes / bytes, count = own.register_lanes / cells;
  const auto &lane = own.fragment.lane, &cell = own.fragment.cell;
  const bool has_form = lane.size() == 2 && lane[0].extent == kMatrixRows && lane[0].divisor == 1 &&
                        lane[1].divisor == cells && lane[0].dim != lane[1].dim && !cell.empty() &&
                        cell.back().extent == cells && cell.back().divisor == 1 && cell.back().dim == lane[1].dim;
  if (!has_form || count > 4) return {};
  const uint32_t row_dim = lane[0].dim, column_dim = lane[1].dim;
  // The place of the row whose address this lane says; `by`: of the element beside it along a dimension.
  const auto offset_at = [&](bool is_transposed, uint32_t by_dim, int64_t by) {
    std::vector<Affine> starts;
    for (const Loop* loop : match.loops) starts.push_back(fold(loop->lo.of[0]));
    for (size_t axis = 0; axis < match.loops.size(); ++axis)
      variables_.substitute(match.loops[axis]->var, starts[axis]);
    for (uint32_t dim = 0; dim < own.loops.size(); ++dim) {
      Affine at = Affine::of(dim == by_dim ? by : 0);
      if (dim == (is_transposed ? column_dim : row_dim)) at = at + digit(1, kMatrixRows);
      int64_t below = kMatrixRows;
      for (size_t k = cell.size() - 1; k-- > 0; below *= cell[k].extent)
        if (cell[k].dim == dim) at = at + cell[k].divisor * digit(below, cell[k].extent);
      variables_.substitute(match.loops[own.loops[dim]]->var, starts[own.loops[dim]] + at);
    }
    return places_.offset_of(access, nullptr);
  };
  std::vector<llvm::Value*> out;
  for (const bool is_transposed : {false, true}) {
    if (!out.empty() || (is_transposed && bytes != 2)) continue;
    const uint32_t along = is_transposed ? row_dim : column_dim;
    const Affine start = offset_at(is_transposed, along, 0);
    bool is_row = places_.alignment_of(access.id, start) >= kMatrixRowBytes;
    for (int64_t c = 1; c < kMatrixRowBytes / bytes; ++c)
      is_row = is_row && offset_at(is_transposed, along, c) - start == Affine::of(c);
    if (is_row)
      out = hooks_.grid->load_matrices(b_, places_.pointer_to(access.id, start), static_cast<size_t>(count),
                                       is_transposed);
  }
  for (const Loop* loop : match.loops) variables_.end_substitution(loop->var);
  return out;
}

llvm::Value* FragmentLoops::word(const ir::TensorMatch& match, size_t operand, int64_t first, int64_t cells,
                                 bool is_whole) {
  const auto& own = match.instruction->operands[operand];
  const Access& access = *match.binding.access[operand - 1];
  const auto offset_at = [&](int64_t cell, bool at_first_row) {
    std::vector<Affine> starts;
    for (const Loop* loop : match.loops) starts.push_back(fold(loop->lo.of[0]));
    for (size_t axis = 0; axis < match.loops.size(); ++axis)
      variables_.substitute(match.loops[axis]->var, starts[axis]);
    for (uint32_t dim = 0; dim < own.loops.size(); ++dim)
      if (const uint32_t axis = own.loops[dim]; !at_first_row || match.instruction->axes[axis].is_reduced)
        variables_.substitute(match.loops[axis]->var, starts[axis] + coordinate(own.fragment, dim, cell));
    return places_.offset_of(access, nullptr);
  };
  llvm::Type* const element = scalar_.memory_type(own.type);
  const auto bytes = static_cast<uint64_t>(size_bytes(own.type));
  const Affine start = offset_at(first, false);
  bool is_row = is_whole && places_.alignment_of(access.id, start) >= kWordBytes;
  for (int64_t c = 1; c < cells; ++c) is_row = is_row && offset_at(first + c, false) - start == Affine::of(c);
  llvm::Value* out = nullptr;
  if (is_row) {
    out = b_.CreateAlignedLoad(b_.getInt32Ty(), places_.pointer_to(access.id, start), llvm::Align(kWordBytes));
  } else {
    for (int64_t c = 0; c < cells; ++c) {
      llvm::Value* pointer = places_.pointer_to(access.id, offset_at(first + c, false));
      if (!is_whole) {
        std::vector<Guard> inside;
        for (uint32_t axis : own.loops)
          for (const Affine& hi : match.loops[axis]->hi.of)
            if (!match.instruction->axes[axis].is_reduced)
              inside.push_back(guard_ge0(fold(hi) - fold(Affine::variable(match.loops[axis]->var)) - Affine::of(1)));
        if (!inside.empty())
          pointer = b_.CreateSelect(integers_.condition(fold(guard_all(inside))), pointer,
                                    places_.pointer_to(access.id, offset_at(first + c, true)));
      }
      llvm::Value* cell = b_.CreateAlignedLoad(element, pointer, llvm::Align(bytes));
      cell = b_.CreateZExt(b_.CreateBitCast(cell, b_.getIntNTy(static_cast<unsigned>(8 * bytes))), b_.getInt32Ty());
      if (c > 0) cell = b_.CreateShl(cell, b_.getInt32(static_cast<uint32_t>(8 * bytes * static_cast<uint64_t>(c))));
      out = out ? b_.CreateOr(out, cell) : cell;
    }
  }
  for (const Loop* loop : match.loops) variables_.end_substitution(loop->var);
  return out;
}

// ---- cells that lanes hold ----

/// The register of the first cell of the fragment that begins at these coordinates.
int64_t FragmentLoops::first_cell(const Held& held, const std::vector<Affine>& index) const {
  int64_t number = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!index[d].is_constant()) refuse("a fragment that loops choose, which are not unrolled");
    int64_t own = 1;
    for (size_t k = 0; k < held.dims.size(); ++k)
      if (held.dims[k] == d) own = held.instruction->axes[held.instruction->operands[0].loops[k]].extent;
    if (index[d].constant % own != 0) refuse("a product that begins inside a fragment");
    number = number * held.fragments[d] + index[d].constant / own;
  }
  return number * held.instruction->operands[0].register_lanes;
}

/// What walks over the coordinates of held cells, for each dimension of the fragments: the loop of `chain` whose
/// iterations are neighbours, or none. Nothing where several are.
std::optional<std::vector<FragmentLoops::Along>> FragmentLoops::along(const Access& access,
                                                                      const std::vector<const Loop*>& chain) const {
  std::vector<Along> out;
  for (size_t d : held_.at(access.id).dims) {
    const Affine e = fold(access.index[d].affine);
    Along found{nullptr, e};
    for (const Loop* loop : chain) {
      if (e.coefficient(loop->var) != 1 || loop->step != 1) continue;
      if (found.loop) return std::nullopt;
      found = {loop, e - Affine::variable(loop->var)};
    }
    out.push_back(found);
  }
  return out;
}

/// Loops around one statement, for the cells that this lane holds. False: the outermost of them walks over no
/// coordinate of held cells.
bool FragmentLoops::cells(const Loop& loop) {
  std::vector<const Loop*> chain = {&loop};
  while (const auto* inner = std::get_if<Loop>(&nest_.nodes[chain.back()->body])) chain.push_back(inner);
  const NodeId leaf_id = chain.back()->body;
  const Node& leaf = nest_.nodes[leaf_id];
  if (!is_statement(leaf) || !touches_held(leaf_id)) return false;
  std::optional<Access> held_access;
  ir::visit_accesses(nest_, leaf_id, [&](const Access& access, bool) {
    if (held_.contains(access.id) && !held_access) held_access = access;
  });
  const auto walked = along(*held_access, chain);
  const bool has_walk =
      walked && std::any_of(walked->begin(), walked->end(), [](const Along& one) { return one.loop; });
  if (!has_walk) refuse("loops that do not walk over its cells one by one");
  const auto is_walked = [&](const Loop* each) {
    return std::any_of(walked->begin(), walked->end(), [&](const Along& one) { return one.loop == each; });
  };
  if (!is_walked(&loop)) return false;
  for (const Along& one : *walked)
    if (!one.rest.is_constant()) refuse("loops inside those over its cells that choose a fragment");
  std::vector<const Loop*> inner;
  for (const Loop* each : chain)
    if (!is_walked(each)) inner.push_back(each);
  const Held& held = held_.at(held_access->id);
  const auto& result = held.instruction->operands[0];
  std::vector<int64_t> count;
  int64_t all = 1;
  for (size_t d : held.dims) count.push_back(held.fragments[d]), all *= held.fragments[d];
  for (int64_t number = 0; number < all; ++number) {
    std::vector<int64_t> first(count.size());
    int64_t rest = number;
    for (size_t k = count.size(); k-- > 0; rest /= count[k])
      first[k] = rest % count[k] * held.instruction->axes[result.loops[k]].extent;
    for (cell_now_ = 0; cell_now_ < result.register_lanes; ++cell_now_) {
      std::vector<Guard> tests;
      bool is_there = true;
      const auto test = [&](const Affine& e) {
        const auto known = facts_.decide(guard_ge0(e));
        is_there = is_there && known != false;
        if (!known) tests.push_back(guard_ge0(e));
      };
      for (size_t k = 0; k < count.size(); ++k) {
        const auto& [own, rest_of_it] = (*walked)[k];
        const Affine value =
            coordinate(held.fragment(), static_cast<uint32_t>(k), cell_now_) + Affine::of(first[k]) - rest_of_it;
        if (!own) {
          test(value), test(Affine::of(0) - value);
          continue;
        }
        variables_.substitute(own->var, value);
        for (const Affine& lo : own->lo.of) test(value - fold(lo));
        for (const Affine& hi : own->hi.of) test(fold(hi) - value - Affine::of(1));
      }
      if (!is_there) continue;
      if (tests.empty())
        cell(inner, 0, leaf);
      else
        branches_.branch(
            integers_.condition(guard_all(std::move(tests))), [&] { cell(inner, 0, leaf); }, [] {});
    }
  }
  for (const Along& one : *walked)
    if (one.loop) variables_.end_substitution(one.loop->var);
  loaded_.clear();
  if (writes_what_others_read(leaf)) {
    constexpr int64_t kWarp = 32;
    if (held.instruction->lanes() > kWarp) refuse("results of several warps that the same kernel reads");
    hooks_.grid->warp_barrier(b_);
  }
  return true;
}

void FragmentLoops::cell(const std::vector<const Loop*>& inner, size_t depth, const Node& leaf) {
  if (depth < inner.size())
    return serial_loops_.serial_loop(*inner[depth], {[&](llvm::Value*) { cell(inner, depth + 1, leaf); }, 0});
  const Node own = with_places(leaf);
  if (const auto* compute = std::get_if<Compute>(&own)) statements_.compute(*compute);
  if (const auto* copy = std::get_if<Copy>(&own)) statements_.copy(*copy);
}

/// Accesses to held buffers as those to the lane's registers.
Node FragmentLoops::with_places(const Node& leaf) const {
  Node out = leaf;
  if (auto* compute = std::get_if<Compute>(&out)) {
    for (Access& dst : compute->dst) dst = place(dst);
    for (Expr& e : compute->rhs)
      e = rewrite(e, [&](const Expr& part) -> Expr {
        if (part->op != Op::read || !held_.contains(part->access.id)) return nullptr;
        return make_read(part->type, place(part->access));
      });
  }
  if (auto* copy = std::get_if<Copy>(&out)) {
    copy->dst = place(copy->dst);
    if (copy->has_src) copy->src = place(copy->src);
  }
  return out;
}

/// With the coordinates that the register's number is the offset of.
Access FragmentLoops::place(const Access& access) const {
  const auto at = held_.find(access.id);
  if (at == held_.end()) return access;
  const Held& held = at->second;
  std::vector<Affine> first;
  for (const Subscript& s : access.index) {
    if (s.data) refuse("a cell that data choose");
    first.push_back(fold(s.affine));
  }
  for (size_t k = 0; k < held.dims.size(); ++k) {
    Affine& e = first[held.dims[k]];
    const int64_t extent = held.instruction->axes[held.instruction->operands[0].loops[k]].extent;
    if (e.is_constant())  // of the one lane that has it
      e.constant -= e.constant % extent;
    else
      e = e - coordinate(held.fragment(), static_cast<uint32_t>(k), cell_now_);
  }
  int64_t offset = first_cell(held, first) + cell_now_;
  Access out = access;
  const std::vector<Piece>& pieces = nest_.buffers[access.id].layout.pieces;
  for (size_t p = pieces.size(); p-- > 0; offset /= pieces[p].factor)
    out.index[pieces[p].dim].affine = Affine::of(offset % pieces[p].factor);
  return out;
}

bool FragmentLoops::writes_what_others_read(const Node& leaf) const {
  std::set<BufferId> written;
  if (const auto* compute = std::get_if<Compute>(&leaf))
    for (const Access& dst : compute->dst) written.insert(dst.id);
  if (const auto* copy = std::get_if<Copy>(&leaf)) written.insert(copy->dst.id);
  bool found = false;
  ir::visit_accesses(nest_, kernel_ == kNoNode ? nest_.root : kernel_, [&](const Access& access, bool is_write) {
    found |= !is_write && !held_.contains(access.id) && written.contains(access.id);
  });
  return found;
}

}  // namespace polyweft::targets
