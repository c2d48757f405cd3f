#include "cost_models/walk.h"

#include <algorithm>
#include <cmath>

#include "ir/nests/instruction.h"
#include "ir/nests/sample_points.h"
#include "ir/nests/shared_memory.h"

namespace polyweft::cost {
namespace {

bool is_division(Op op) {
  return op == Op::div || op == Op::sqrt || op == Op::rsqrt;
}
// Port cycles of one vector of the operation on current server cores.
double slow_cycles(Op op) {
  switch (op) {
    case Op::floor_div:
    case Op::floor_mod:
      return 24;
    case Op::exp:
      return 8;
    case Op::log:
    case Op::tanh:
    case Op::sigmoid:
    case Op::erf:
      return 14;
    case Op::sin:
    case Op::cos:
    case Op::pow:
      return 40;
    default:
      return 0;
  }
}

constexpr double kTestCycles = 1;

bool is_leaf_op(Op op) {
  return op == Op::literal || op == Op::variable || op == Op::read || op == Op::affine || op == Op::tuple;
}

/// A leaf, and what its next sample is made of.
struct Known {
  Leaf leaf;
  std::vector<const Access*> accesses;  ///< those of `leaf.accesses`
  double operations = 0;                ///< but for conversions of what is read
  std::vector<AccessUse> converted;
};

}  // namespace

class Walk::Walker {
 public:
  Walker(const LoopNest& nest, int64_t lockstep)
      : nest_(nest),
        lockstep_(lockstep),
        values_(nest.params.size() + nest.loop_names.size(), 0),
        known_(nest.nodes.size()) {
    for (size_t p = 0; p < nest.params.size(); ++p) values_[p] = nest.params[p].value;
    for (const Node& node : nest.nodes)
      if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.detail == "thread_x")
        along_x_.push_back(loop->var);
    std::sort(along_x_.begin(), along_x_.end());
  }
  const std::vector<const Leaf*>& run(int sample) {
    sample_ = sample;
    leaves_.clear();
    visit(nest_.root);
    return leaves_;
  }

 private:
  void visit(NodeId id) {
    if (id == kNoNode) return;
    std::visit([this, id](const auto& node) { on(node, id); }, nest_.nodes[id]);
  }
  void on(const Seq& seq, NodeId) {
    for (NodeId child : seq.children) visit(child);
  }
  void on(const If& node, NodeId id) {
    if (const auto lane = ir::lane_of_warp(nest_, node)) {
      const int64_t value = std::exchange(values_[*lane], 0);
      const bool around = std::exchange(is_of_warp_, true);
      visit(node.then);
      is_of_warp_ = around;
      values_[*lane] = value;
      return;
    }
    if (!loops_.empty() && loops_.back().mark == MarkKind::serial) test(node, id);
    visit(evaluate(node.condition, values_) ? node.then : node.otherwise);
  }
  /// Each iteration of plain loops around a condition tests it, and guesses wrongly now and then.
  void test(const If& node, NodeId id) {
    if (!known_[id]) start(id).leaf.slow_operations = kTestCycles * static_cast<double>(tests_of(node.condition));
    meet(*known_[id]);
  }
  static int64_t tests_of(const Guard& guard) {
    int64_t tests = guard.of.empty() ? 1 : 0;
    for (const Guard& part : guard.of) tests += tests_of(part);
    return tests;
  }
  void on(const Alloc& node, NodeId) {
    allocs_.emplace_back(node.buffer, loops_.size());
    visit(node.body);
    allocs_.pop_back();
  }
  void on(const Sync&, NodeId) {}
  void on(const Loop& loop, NodeId) {
    const int64_t lo = ir::value_of(loop.lo, true, values_), hi = ir::value_of(loop.hi, false, values_);
    if (hi <= lo) return;
    const int64_t trips = (hi - lo + loop.step - 1) / loop.step;
    values_[loop.var] = lo + loop.step * ir::sample_point(sample_, loops_.size(), trips);
    const bool is_axis_of_tile = instruction_ && (instruction_->is_tile() || instruction_->is_of_warp() ||
                                                  instruction_->is_of_unit());  // its loops are one instruction
    loops_.push_back({loop.var, static_cast<double>(trips), loop.step,
                      is_axis_of_tile ? MarkKind::tensor : loop.mark.kind, loop.mark.width, loop.mark.non_temporal,
                      &loop.mark.prefetch});
    if (loop.mark.kind == MarkKind::tensor)
      if (auto instruction = ir::instruction_named(loop.mark.detail)) instruction_ = *instruction;
    visit(loop.body);
    if (loop.mark.kind == MarkKind::tensor) instruction_ = nullptr;
    loops_.pop_back();
  }
  void on(const Compute& compute, NodeId id) {
    if (compute.how == Write::store && compute.rhs[0]->op == Op::read &&
        ir::stays_in_place(nest_, compute, compute.rhs[0]->access.id))
      return;
    if (!known_[id]) {
      Known& known = start(id);
      Leaf& leaf = known.leaf;
      leaf.type = compute.rhs.empty() ? nest_.buffers[compute.dst.front().id].type : compute.rhs.front()->type;
      for (const auto& access : compute.dst) {
        add(access, true, known);
        if (compute.how == Write::accumulate) add(access, false, known);
        leaf.accumulates_in_register |=
            nest_.buffers[access.id].scope == Scope::reg || nest_.buffers[access.id].scope == Scope::tile;
        leaf.accumulates_in_register |=
            nest_.auto_vectorized && compute.how == Write::accumulate && stays(leaf.accesses[0]);
      }
      for (const auto& rhs : compute.rhs) count(rhs, known);
      leaf.is_copy = compute.how == Write::store && compute.rhs.size() == 1 && compute.rhs[0]->op == Op::read;
      if (compute.how == Write::accumulate && !compute.fused) known.operations += 1;
      if (instruction_) known.operations = instruction_->issues, known.converted.clear();
      leaf.is_instruction = instruction_ != nullptr;
      leaf.reads_shared = instruction_ && instruction_->reads_shared();
      leaf.is_tile = instruction_ && instruction_->is_tile();
    }
    meet(*known_[id]);
  }
  void on(const Copy& copy, NodeId id) {
    if (!known_[id]) {
      Known& known = start(id);
      known.leaf.is_copy = true;
      known.leaf.type = nest_.buffers[copy.dst.id].type;
      add(copy.dst, true, known);
      if (copy.has_src) add(copy.src, false, known);
    }
    meet(*known_[id]);
  }

  /// The compiler keeps in a register what its innermost loop does not move.
  static bool stays(const AccessUse& use) {
    return !use.has_gather && !use.coeff.empty() &&
           std::all_of(use.coeff.back().begin(), use.coeff.back().end(), [](int64_t c) { return c == 0; });
  }

  Known& start(NodeId id) {
    known_[id] = std::make_unique<Known>();
    Leaf& leaf = known_[id]->leaf;
    leaf.node = id;
    leaf.loops = loops_;
    leaf.is_of_warp = is_of_warp_;
    leaf.allocs = allocs_;
    return *known_[id];
  }
  void meet(Known& known) {
    for (size_t l = 0; l < loops_.size(); ++l) known.leaf.loops[l].trips = loops_[l].trips;
    for (size_t a = 0; a < known.accesses.size(); ++a) {
      index(*known.accesses[a], known.leaf.accesses[a].at);
      along_threads(*known.accesses[a], known.leaf.accesses[a]);
    }
    known.leaf.operations = known.operations;
    for (const AccessUse& converted : known.converted) known.leaf.operations += share(converted);
    leaves_.push_back(&known.leaf);
  }
  void index(const Access& access, std::vector<int64_t>& at) const {
    for (size_t d = 0; d < access.index.size(); ++d) at[d] = evaluate(access.index[d].affine, values_);
  }
  /// Copies by blocks give rows of a tile to some threads each: no slope says where those lie.
  void along_threads(const Access& access, AccessUse& use) {
    use.of_threads.clear();
    for (const LoopContext& loop : loops_) {
      if (lockstep_ == 0 || loop.mark != MarkKind::axis || !is_along_x(loop.var)) continue;
      const bool has_quotients = std::any_of(access.index.begin(), access.index.end(), [&](const Subscript& s) {
        return std::any_of(s.affine.terms.begin(), s.affine.terms.end(),
                           [&](const Term& term) { return term.quasi && slope(term.quasi->e, loop.var) != 0; });
      });
      if (!has_quotients) continue;
      const int64_t value = values_[loop.var], threads = std::min(lockstep_, static_cast<int64_t>(loop.trips));
      for (int64_t t = 0; t < threads; ++t) {
        values_[loop.var] = t * loop.step;
        index(access, use.of_threads.emplace_back(access.index.size(), 0));
      }
      values_[loop.var] = value;
    }
  }
  bool is_along_x(VarId var) const { return std::binary_search(along_x_.begin(), along_x_.end(), var); }
  void add(const Access& access, bool is_store, Known& known) const {
    known.leaf.accesses.push_back(use(access, is_store));
    known.accesses.push_back(&access);
  }
  void count(const Expr& e, Known& known) const {
    polyweft::visit(e, [&](const ExprNode& node) {
      if (node.op == Op::read) add(node.access, false, known);
      if (is_leaf_op(node.op)) return;
      if (node.op == Op::convert && node.type == ElementType::bf16) known.operations += 8;  // two vectors of floats
      const double slow = slow_cycles(node.op);
      if (is_division(node.op))
        known.leaf.divisions += 1;
      else if (slow > 0)
        known.leaf.slow_operations += slow;
      else if (node.op == Op::convert && node.args[0]->op == Op::read)
        known.converted.push_back(use(node.args[0]->access, false));
      else
        known.operations += 1;
    });
  }
  // What is read once for several iterations of the register block is also converted once.
  double share(const AccessUse& use) const {
    double iterations = 1;
    for (size_t l = loops_.size();
         l-- > 0 && (loops_[l].mark == MarkKind::unroll || loops_[l].mark == MarkKind::vector);) {
      const bool moves = std::any_of(use.coeff[l].begin(), use.coeff[l].end(), [](int64_t c) { return c != 0; });
      if (!moves && loops_[l].mark == MarkKind::unroll) iterations *= std::max(1.0, loops_[l].trips);
    }
    return 1 / iterations;
  }
  AccessUse use(const Access& access, bool is_store) const {
    AccessUse out;
    out.buffer = access.id;
    out.is_store = is_store;
    out.is_streamed = is_store && nest_.buffers[access.id].scope == Scope::argument &&
                      std::any_of(loops_.begin(), loops_.end(), [](const LoopContext& loop) { return loop.streams; });
    for (const LoopContext& loop : loops_)
      for (const Prefetch& ahead : *loop.ahead) out.is_asked_for |= ahead.buffer == access.id;
    out.coeff.assign(loops_.size(), std::vector<int64_t>(access.index.size(), 0));
    out.at.assign(access.index.size(), 0);
    out.gathers_along.assign(loops_.size(), 0);
    for (const Subscript& s : access.index) {
      if (!s.data) continue;
      const std::vector<VarId> used = free_variables(s.data);
      for (size_t l = 0; l < loops_.size(); ++l)
        out.gathers_along[l] |= std::binary_search(used.begin(), used.end(), loops_[l].var);
    }
    for (size_t d = 0; d < access.index.size(); ++d) {
      out.has_gather |= access.index[d].data != nullptr;
      for (size_t l = 0; l < loops_.size(); ++l)
        out.coeff[l][d] = slope(access.index[d].affine, loops_[l].var) * loops_[l].step;
    }
    return out;
  }
  // A quasi-affine term counts with the slope of its argument: floor(e / den) moves by slope / den, at least 1 when it
  // moves.
  int64_t slope(const Affine& e, VarId var) const {
    int64_t out = 0;
    for (const auto& term : e.terms) {
      if (!term.quasi) {
        if (term.var == var) out += term.coeff;
        continue;
      }
      const int64_t inner = slope(term.quasi->e, var);
      if (inner != 0) out += term.coeff * std::max<int64_t>(1, std::abs(inner) / term.quasi->den);
    }
    return out;
  }
  const LoopNest& nest_;
  int sample_ = 0;
  const int64_t lockstep_;
  std::vector<VarId> along_x_;  ///< of loops over threads along x, in order
  std::vector<int64_t> values_;
  std::vector<LoopContext> loops_;
  const ir::Instruction* instruction_ = nullptr;  ///< of the tensor mark around
  bool is_of_warp_ = false;
  std::vector<std::pair<BufferId, size_t>> allocs_;
  std::vector<std::unique_ptr<Known>> known_;  ///< by node
  std::vector<const Leaf*> leaves_;
};

Walk::Walk(const LoopNest& nest, int64_t lockstep) : walker_(std::make_unique<Walker>(nest, lockstep)) {}
Walk::~Walk() = default;

const std::vector<const Leaf*>& Walk::at(int sample) {
  return walker_->run(sample);
}

}  // namespace polyweft::cost
