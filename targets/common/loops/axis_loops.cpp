#include "targets/common/loops/axis_loops.h"

#include <algorithm>
#include <utility>

#include "ir/nests/axes.h"
#include "ir/nests/walk_nest.h"
#include "targets/common/loops/fragment_loops.h"

namespace polyweft::targets {
namespace {

/// 0 where it is no number.
int64_t constant_iterations(const Loop& loop) {
  if (loop.lo.of.size() != 1 || loop.hi.of.size() != 1) return 0;
  const Affine length = loop.hi.of[0] - loop.lo.of[0];
  return length.is_constant() ? std::max<int64_t>(0, (length.constant + loop.step - 1) / loop.step) : 0;
}

}  // namespace

void AxisLoops::begin_kernel(NodeId root) {
  fragment_loops_.begin_kernel(root);
  walks_together_ = true;
  is_met_ = ir::nodes_with_sync(nest_);
  is_parted_ = ir::nodes_with(nest_, [](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    return loop && loop->mark.kind == MarkKind::axis;
  });
  ir::walk_nodes(nest_, root, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (loop && loop->mark.kind == MarkKind::axis) {
      const int64_t iterations = constant_iterations(*loop);
      const auto [known, is_new] = iterations_.emplace(loop->mark.detail, iterations);
      if (!is_new && known->second != iterations) known->second = 0;
    }
    if (loop && ir::is_thread_axis(*loop) && !std::count(threads_.begin(), threads_.end(), loop->mark.detail))
      threads_.push_back(loop->mark.detail);
    return true;
  });
}

bool AxisLoops::takes(NodeId id) {
  if (!walks_together_) return false;
  const Node& node = nest_.nodes[id];
  if (const auto* sync = std::get_if<Sync>(&node)) {
    must_wait_ |= sync->kind == Sync::Kind::block;
    async_copies_.meet(*sync);
  } else if (!is_met_[id] && !is_parted_[id]) {
    work(id);
  } else if (const auto* choice_node = std::get_if<If>(&node)) {
    choice(*choice_node);
  } else if (const auto* loop = std::get_if<Loop>(&node)) {
    loop->mark.kind == MarkKind::axis ? axis_loop(*loop) : serial_loop(*loop);
  } else if (const auto* alloc = std::get_if<Alloc>(&node); alloc && bases_[alloc->buffer]) {
    further_.emit(alloc->body);
  } else {
    return false;
  }
  return true;
}

llvm::Value* AxisLoops::both(llvm::Value* some, llvm::Value* other) {
  return !some ? other : !other ? some : b_.CreateAnd(some, other);
}

void AxisLoops::wait() {
  if (!std::exchange(must_wait_, false) || threads_.empty()) return;
  async_copies_.finish();
  fragment_loops_.finish();
  if (fragment_loops_.publishes()) hooks_.grid->publish_shared(b_);
  hooks_.grid->barrier(b_);
  loads_.clear();
}

void AxisLoops::work(NodeId id) {
  wait();
  llvm::Value* numbers = nullptr;
  for (const std::string& axis : threads_) {
    if (bound_.contains(axis)) continue;
    llvm::Value* number = hooks_.grid->index(b_, axis);
    numbers = numbers ? b_.CreateOr(numbers, number) : number;
  }
  llvm::Value* const first = numbers ? b_.CreateICmpEQ(numbers, b_.getInt64(0)) : nullptr;
  llvm::Value* const does = both(active_, first);
  walks_together_ = false;
  fragment_loops_.finish_before(id);
  fragment_loops_.may_leave(does ? kNoNode : id);
  does ? branches_.branch(
             does, [&] { further_.emit(id); }, [] {})
       : further_.emit(id);
  walks_together_ = true;
  must_wait_ = numbers != nullptr;
}

bool AxisLoops::mentions_threads(const Affine& e) const {
  return std::any_of(bound_.begin(), bound_.end(),
                     [&](const auto& each) { return ir::is_thread_axis(each.first) && uses(e, each.second); });
}

bool AxisLoops::mentions_threads(const Guard& g) const {
  return mentions_threads(g.e) ||
         std::any_of(g.of.begin(), g.of.end(), [&](const Guard& part) { return mentions_threads(part); });
}

void AxisLoops::under(llvm::Value* condition, const std::function<void()>& emit) {
  llvm::Value* const outer = std::exchange(active_, both(active_, condition));
  emit();
  active_ = outer;
}

void AxisLoops::choice(const If& node) {
  const Guard g = fold(node.condition);
  if (const auto known = facts_.decide(g)) return further_.emit(*known ? node.then : node.otherwise);
  wait();
  llvm::Value* const holds = integers_.condition(g);
  const Facts outside = facts_;
  const auto side = [&](bool is_then) {
    variables_.assume(g, is_then);
    further_.emit(is_then ? node.then : node.otherwise);
    wait();
    variables_.restore(outside);
  };
  if (!mentions_threads(g))
    return branches_.branch(
        holds, [&] { side(true); }, [&] { side(false); });
  under(holds, [&] { side(true); });
  under(b_.CreateNot(holds), [&] { side(false); });
}

void AxisLoops::serial_loop(const Loop& loop) {
  for (const Bound* bound : {&loop.lo, &loop.hi})
    for (const Affine& e : bound->of)
      if (mentions_threads(fold(e)))
        throw Refusal{
            fail("PW0523", "threads of a block wait for each other in a loop that is longer for some of them")};
  wait();
  serial_loops_.serial_loop(loop, {[&](llvm::Value*) {
                                     further_.emit(loop.body);
                                     fragment_loops_.end_iteration(loop);
                                     wait();
                                   },
                                   0});
}

void AxisLoops::axis_loop(const Loop& loop) {
  const std::string& axis = loop.mark.detail;
  const bool is_thread = ir::is_thread_axis(axis);
  llvm::Value* const lo = integers_.bound(loop.lo, true);
  llvm::Value* const hi = integers_.bound(loop.hi, false);
  llvm::Value* const offset = b_.CreateMul(hooks_.grid->index(b_, axis), b_.getInt64(static_cast<uint64_t>(loop.step)));
  llvm::Value* const value = b_.CreateAdd(lo, offset, axis);
  llvm::Value* const is_there = b_.CreateICmpSLT(value, hi);
  const VarFacts facts = variables_.loop_facts(loop);
  const Facts outside = facts_;
  bound_[axis] = loop.var;
  variables_.bind(loop.var, value, facts);
  for (const Affine& first : loop.lo.of)  // where there is an iteration
    for (const Affine& end : loop.hi.of) variables_.assume(fold(end) - fold(first) - Affine::of(1));
  const auto body = [&] { further_.emit(loop.body); };
  const bool is_always_there = iterations_[axis] > 0;
  if (is_thread) {
    is_always_there ? body() : under(is_there, body);
    must_wait_ = true;
  } else if (is_always_there) {
    wait();
    body();
    must_wait_ = false;  // the kernel ends
  } else {
    wait();
    branches_.branch(
        is_there,
        [&] {
          body();
          must_wait_ = false;  // the kernel ends
        },
        [] {});
  }
  variables_.unbind(loop.var);
  variables_.restore(outside);
  bound_.erase(axis);
  integers_.clear();
}

}  // namespace polyweft::targets
