#include "ir/passes/lanes_as_threads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/nests/axes.h"
#include "ir/nests/instruction.h"
#include "ir/nests/row_walk.h"
#include "ir/nests/walk_nest.h"
#include "ir/passes/block_copies.h"
#include "ir/passes/block_memory.h"

namespace polyweft::ir {
namespace {

/// What a subtree does with memory that several threads touch.
struct Touched {
  std::set<BufferId> read, written, written_twice;
};

class ThreadMaker {
 public:
  explicit ThreadMaker(const LoopNest& nest) : in_(nest), out_(nest), memory_(nest) {}

  LoopNest run() {
    has_axis_ = nodes_with(in_, [](const Node& node) {
      const auto* loop = std::get_if<Loop>(&node);
      return loop && loop->mark.kind == MarkKind::axis;
    });
    has_lanes_ = nodes_with(in_, [](const Node& node) {
      const auto* loop = std::get_if<Loop>(&node);
      return loop && (loop->mark.kind == MarkKind::vector || is_warp_product(*loop));
    });
    out_.root = place(in_.root);
    return std::move(out_);
  }

 private:
  std::string name_of(VarId var) const { return in_.loop_names[var - in_.params.size()]; }

  // ---- where loops over threads stand ----

  bool is_thread(const Loop& loop) const { return loop.mark.kind == MarkKind::axis && is_thread_axis(loop); }

  /// Outside of the threads along x.
  NodeId place(NodeId id) {
    if (id == kNoNode) return kNoNode;
    const Node node = in_.nodes[id];
    if (!has_lanes_[id] || !has_axis_[id]) return has_lanes_[id] ? threads_around(id) : plain(id);
    if (const auto* seq = std::get_if<Seq>(&node)) {
      Seq out;
      for (NodeId child : seq->children) out.children.push_back(place(child));
      return out_.add(std::move(out));
    }
    if (const auto* choice = std::get_if<If>(&node)) {
      const NodeId then = place(choice->then), otherwise = place(choice->otherwise);
      return out_.add(If{substitute(choice->condition, values_), then, otherwise});
    }
    if (const auto* alloc = std::get_if<Alloc>(&node)) return with_memory(*alloc, place(alloc->body));
    const Loop& loop = std::get<Loop>(node);
    const bool is_outermost = is_thread(loop) && threads_.empty(), is_inside = is_thread(loop) || !threads_.empty();
    if (is_inside) inner_loops_.push_back(loop.var);
    const NodeId made = is_thread(loop) ? thread_loop(loop) : around(loop, [&] { return place(loop.body); });
    if (is_inside) inner_loops_.pop_back();
    return is_outermost ? with_hoisted(made) : made;
  }

  NodeId with_memory(const Alloc& alloc, NodeId body) {
    for (Affine& e : out_.buffers[alloc.buffer].element) e = substitute(e, values_);
    return out_.add(Alloc{alloc.buffer, body});
  }

  /// A copy of it with new variables.
  template <class Inside>
  NodeId around(const Loop& loop, const Inside& inside) {
    Loop out = loop;
    out.var = out_.new_loop_var(name_of(loop.var));
    for (Bound* bound : {&out.lo, &out.hi})
      for (Affine& e : bound->of) e = substitute(e, values_);
    values_[loop.var] = Affine::variable(out.var);
    out.body = inside();
    values_.erase(loop.var);
    return out_.add(std::move(out));
  }

  NodeId plain(NodeId id) {
    const Node node = in_.nodes[id];
    if (const auto* alloc = std::get_if<Alloc>(&node)) return with_memory(*alloc, plain(alloc->body));
    if (const auto* seq = std::get_if<Seq>(&node)) {
      Seq out;
      for (NodeId child : seq->children) out.children.push_back(plain(child));
      return out_.add(std::move(out));
    }
    if (const auto* choice = std::get_if<If>(&node)) {
      const NodeId then = plain(choice->then);
      return out_.add(If{substitute(choice->condition, values_), then,
                         choice->otherwise == kNoNode ? kNoNode : plain(choice->otherwise)});
    }
    if (const auto* loop = std::get_if<Loop>(&node)) return around(*loop, [&] { return plain(loop->body); });
    return copy_subtree(out_, id, values_);
  }

  /// All threads are there in each block, so that all come to the barriers; conditions say which have something to do.
  NodeId thread_loop(const Loop& loop) {
    Loop out = loop;
    out.var = out_.new_loop_var(name_of(loop.var));
    std::optional<int64_t> length;
    const Affine* first = nullptr;
    for (const Affine& lo : loop.lo.of)
      for (const Affine& hi : loop.hi.of)
        if (const Affine apart = hi - lo; apart.is_constant() && (!length || apart.constant < *length))
          length = apart.constant, first = &lo;
    if (!length) refuse_threads("a loop over threads has no constant number of iterations");
    const int64_t threads = (*length + loop.step - 1) / loop.step;
    const Affine lo = substitute(*first, values_), number = Affine::variable(out.var), value = lo + loop.step * number;
    out.lo.of = {Affine::of(0)}, out.hi.of = {Affine::of(threads)}, out.step = 1;
    const size_t guards = guards_.size();
    for (const Affine& other : loop.lo.of) {
      if (other == *first) continue;
      const Affine apart = other - *first;
      bool is_aligned = apart.constant % loop.step == 0;
      for (const Term& term : apart.terms) is_aligned &= term.coeff % loop.step == 0;
      if (!is_aligned) refuse_threads("a loop over threads that begins between two of its steps");
      guards_.push_back(guard_ge0(value - substitute(other, values_)));
    }
    for (const Affine& hi : loop.hi.of) {
      const Affine apart = hi - *first;
      if (!apart.is_constant() || apart.constant <= loop.step * (threads - 1))
        guards_.push_back(guard_ge0(substitute(hi, values_) - value - Affine::of(1)));
    }
    values_[loop.var] = value;
    thread_vars_.insert(out.var);
    threads_of_[out.var] = threads;
    threads_.push_back({loop.var, number, threads});
    out.body = place(loop.body);
    threads_.pop_back();
    thread_vars_.erase(out.var);
    values_.erase(loop.var);
    guards_.resize(guards);
    return out_.add(std::move(out));
  }

  /// Memory of the block around the outermost of its loops over threads.
  NodeId with_hoisted(NodeId node) {
    for (BufferId id : hoisted_allocs_) node = out_.add(Alloc{id, node});
    hoisted_allocs_.clear();
    return node;
  }

  NodeId threads_around(NodeId id) {
    int32_t width = 1;
    int64_t lanes = 0;  // of products
    walk_nodes(in_, id, [&](const Node& node) {
      const auto* loop = std::get_if<Loop>(&node);
      if (loop && loop->mark.kind == MarkKind::vector) width = std::max(width, loop->mark.width);
      if (const Instruction* product = loop ? warp_product(*loop) : nullptr) lanes = product->lanes();
      return true;
    });
    width_ = lanes > 0 ? lanes : width;
    memory_.analyse(id, width_, threads_, inner_loops_);
    Loop out;
    out.var = out_.new_loop_var("t");
    out.lo.of = {Affine::of(0)}, out.hi.of = {Affine::of(width_)};
    out.mark = {MarkKind::axis, 0, "thread_x"};
    thread_ = Affine::variable(out.var);
    thread_vars_.insert(out.var);
    threads_of_[out.var] = width_;
    const auto around = memory_.set_buffers(out_, values_, thread_);
    hoisted_allocs_.insert(hoisted_allocs_.end(), around.begin(), around.end());
    out.body = together(id);
    thread_vars_.erase(out.var);
    NodeId made = out_.add(std::move(out));
    known_.clear();
    return threads_.empty() ? with_hoisted(made) : made;
  }

  // ---- barriers ----

  const Touched& touched(NodeId id) {
    auto [at, is_new] = known_.try_emplace(id);
    if (!is_new) return at->second;
    Touched out;
    walk_nodes(in_, id, [&](const Node& node) {
      const auto* compute = std::get_if<Compute>(&node);
      const auto* copy = std::get_if<Copy>(&node);
      const auto add_read = [&](BufferId buffer) {
        if (memory_.is_crossing(buffer)) out.read.insert(buffer);
      };
      const auto add_write = [&](BufferId buffer) {
        if (memory_.is_crossing(buffer) && !out.written.insert(buffer).second) out.written_twice.insert(buffer);
      };
      if (compute) {
        for (const Expr& rhs : compute->rhs)
          polyweft::visit(rhs, [&](const ExprNode& e) {
            if (e.op == Op::read) add_read(e.access.id);
          });
        for (const Access& dst : compute->dst) {
          add_write(dst.id);
          if (compute->how == Write::accumulate || compute->how == Write::merge) add_read(dst.id);
        }
      }
      if (copy) {
        add_write(copy->dst.id);
        if (copy->has_src) add_read(copy->src.id);
      }
      return true;
    });
    return known_[id] = std::move(out);
  }
  static bool meet(const std::set<BufferId>& some, const std::set<BufferId>& others) {
    return std::any_of(some.begin(), some.end(), [&](BufferId id) { return others.count(id) > 0; });
  }
  static bool conflict(const Touched& a, const Touched& b) {
    return meet(a.written, b.read) || meet(a.written, b.written) || meet(a.read, b.written);
  }
  bool repeats_conflict(NodeId body) {
    const Touched& all = touched(body);
    return meet(all.written, all.read) || !all.written_twice.empty();
  }
  /// Do threads have to walk through it together?
  bool is_shared(NodeId id) { return id != kNoNode && !touched(id).written.empty(); }

  NodeId barrier() { return out_.add(Sync{Sync::Kind::block, barriers_++}); }

  bool by_thread(const Affine& e) const {
    std::vector<VarId> used;
    collect_variables(e, used);
    return std::any_of(used.begin(), used.end(), [&](VarId v) { return thread_vars_.count(v) > 0; });
  }
  bool by_thread(const Guard& g) const {
    std::vector<VarId> used;
    collect_variables(g, used);
    return std::any_of(used.begin(), used.end(), [&](VarId v) { return thread_vars_.count(v) > 0; });
  }

  NodeId together(NodeId id) {
    if (id == kNoNode) return kNoNode;
    if (is_of_warp(id)) return guarded(guards_, by_warp(id));
    if (!is_shared(id)) return guarded(guards_, apart_or_none(id));
    if (const auto copy = block_copy_of(in_, memory_, id)) return divided(*copy);
    const Node node = in_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      Seq out;
      Touched pending;
      for (NodeId child : in_sequence(*seq)) {
        const Touched own = touched(child);
        if (conflict(pending, own)) out.children.push_back(barrier()), pending = {};
        out.children.push_back(together(child));
        pending.read.insert(own.read.begin(), own.read.end());
        pending.written.insert(own.written.begin(), own.written.end());
      }
      return out_.add(std::move(out));
    }
    if (const auto* alloc = std::get_if<Alloc>(&node)) return allocated(*alloc, [&] { return together(alloc->body); });
    if (const auto* choice = std::get_if<If>(&node)) {
      const Guard condition = substitute(choice->condition, values_);
      if (!by_thread(condition)) {
        const NodeId then = together(choice->then), otherwise = together(choice->otherwise);
        return out_.add(If{condition, then, otherwise});
      }
      guards_.push_back(condition);
      Seq both{{guarded(for_any_thread(condition, true), together(choice->then))}};
      if (choice->otherwise != kNoNode) {
        guards_.back() = guard_not(condition);
        both.children.push_back(guarded(for_any_thread(condition, false), together(choice->otherwise)));
      }
      guards_.pop_back();
      return out_.add(std::move(both));
    }
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind == MarkKind::vector) return guarded(guards_, apart(id));
    for (const Bound* bound : {&loop->lo, &loop->hi})
      for (const Affine& e : bound->of)
        if (by_thread(substitute(e, values_)))
          refuse_threads("threads wait for each other in a loop that differs for them");
    return around(*loop, [&] {
      const NodeId body = together(loop->body);
      return repeats_conflict(loop->body) ? out_.add(Seq{{body, barrier()}}) : body;
    });
  }

  /// Statements one after the other, those of sequences inside and of memory that is hoisted among them.
  std::vector<NodeId> in_sequence(const Seq& seq) const {
    std::vector<NodeId> out;
    for (NodeId child : seq.children) {
      const Node* node = &in_.nodes[child];
      while (const auto* alloc = std::get_if<Alloc>(node)) {
        if (!memory_.is_hoisted(alloc->buffer)) break;
        child = alloc->body;
        node = &in_.nodes[child];
      }
      if (const auto* inner = std::get_if<Seq>(node); inner && !block_copy_of(in_, memory_, child)) {
        const auto more = in_sequence(*inner);
        out.insert(out.end(), more.begin(), more.end());
      } else {
        out.push_back(child);
      }
    }
    return out;
  }

  /// The greatest or least value for the threads of a block; nothing for quotients of their numbers.
  std::optional<Affine> extreme(const Affine& e, bool is_greatest) const {
    Affine out = Affine::of(e.constant);
    for (const Term& term : e.terms) {
      Affine alone;
      alone.terms = {term};
      if (!by_thread(alone)) {
        out = out + alone;
      } else if (const auto threads = threads_of_.find(term.var); !term.quasi && threads != threads_of_.end()) {
        if ((term.coeff > 0) == is_greatest) out.constant += term.coeff * (threads->second - 1);
      } else {
        return std::nullopt;
      }
    }
    return out;
  }

  /// What is true, and the same for all threads of a block, where the condition holds (or does not) for some of them.
  std::vector<Guard> for_any_thread(const Guard& g, bool holds) const {
    std::vector<Guard> parts;
    for (const Guard& part : g.kind == Guard::Kind::all ? g.of : std::vector<Guard>{g}) {
      const auto e = part.kind == Guard::Kind::ge0 ? extreme(part.e, holds) : std::nullopt;
      if (!e && !holds) return {};
      if (!e) continue;
      parts.push_back(holds ? guard_ge0(*e) : guard_ge0(Affine::of(-1) - *e));
    }
    if (parts.empty()) return {};
    return {holds ? guard_all(std::move(parts)) : guard_any(std::move(parts))};
  }

  template <class Inside>
  NodeId allocated(const Alloc& alloc, const Inside& inside) {
    if (memory_.is_hoisted(alloc.buffer)) return inside();
    for (Affine& e : out_.buffers[alloc.buffer].element) e = substitute(e, values_);  // of loops inside the threads
    return out_.add(Alloc{alloc.buffer, inside()});
  }

  NodeId guarded(const std::vector<Guard>& guards, NodeId node) {
    if (node == kNoNode || guards.empty()) return node;
    return out_.add(If{guards.size() == 1 ? guards[0] : guard_all(guards), node, kNoNode});
  }

  // ---- sums that a warp holds ----

  /// Does it have to do with such sums, and nothing with cells that threads share and write?
  bool is_of_warp(NodeId id) const {
    bool has_sums = false, is_alone = true;
    walk_nodes(in_, id, [&](const Node& node) {
      if (const auto* alloc = std::get_if<Alloc>(&node)) is_alone &= memory_.is_private(alloc->buffer);
      return is_alone;
    });
    if (!is_alone) return false;
    visit_accesses(in_, id, [&](const Access& access, bool is_write) {
      has_sums |= in_.buffers[access.id].scope == Scope::tile;
      is_alone &= !is_write || !memory_.is_hoisted(access.id);
    });
    return has_sums && is_alone;
  }

  /// In the name of its first thread: code generation lets all of them do their part.
  NodeId by_warp(NodeId id) {
    in_warp_ = in_lane_ = true;
    const NodeId made = apart(id);
    in_warp_ = in_lane_ = false;
    return guarded({guard_ge0(Affine::of(0) - thread_)}, made);
  }

  // ---- statements ----

  /// Lanes that all loops over lanes in a subtree have, from the first on, where that are fewer than threads and
  /// nothing else is done in it: the others have nothing to do in the whole subtree.
  std::optional<int64_t> lanes_of_all(NodeId id) const {
    std::optional<int64_t> out;
    bool is_same = true;
    walk_nodes(in_, id, [&](const Node& node) {
      is_same &= !std::holds_alternative<Compute>(node) && !std::holds_alternative<Copy>(node);
      const auto* loop = std::get_if<Loop>(&node);
      if (!loop || loop->mark.kind != MarkKind::vector) return is_same;
      const bool is_constant = loop->lo.of.size() == 1 && loop->hi.of.size() == 1 && loop->lo.of[0] == Affine::of(0) &&
                               loop->hi.of[0].is_constant();
      is_same &= is_constant && (!out || *out == loop->hi.of[0].constant);
      if (is_constant) out = loop->hi.of[0].constant;
      return false;
    });
    return is_same && out && *out < width_ ? out : std::nullopt;
  }

  NodeId apart_or_none(NodeId id) {
    const auto lanes = lanes_of_all(id);
    if (!lanes) return apart(id);
    tested_lanes_ = *lanes;
    const NodeId made = apart(id);
    tested_lanes_ = 0;
    return guarded({guard_ge0(Affine::of(*lanes - 1) - thread_)}, made);
  }

  /// Each thread for itself.
  NodeId apart(NodeId id) {
    if (id == kNoNode) return kNoNode;
    const Node node = in_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      Seq out;
      for (NodeId child : seq->children) out.children.push_back(apart(child));
      return out_.add(std::move(out));
    }
    if (const auto* alloc = std::get_if<Alloc>(&node)) return allocated(*alloc, [&] { return apart(alloc->body); });
    if (const auto* choice = std::get_if<If>(&node)) {
      const NodeId then = apart(choice->then), otherwise = apart(choice->otherwise);
      return out_.add(If{substitute(choice->condition, values_), then, otherwise});
    }
    if (const auto* loop = std::get_if<Loop>(&node)) {
      if (loop->mark.kind == MarkKind::vector && in_warp_) {
        Loop serial = *loop;
        serial.mark = {};
        return around(serial, [&] { return apart(loop->body); });
      }
      if (loop->mark.kind == MarkKind::vector) return lane(*loop, [&] { return apart(loop->body); });
      return around(*loop, [&] { return apart(loop->body); });
    }
    return statement(id);
  }

  template <class Inside>
  NodeId lane(const Loop& loop, const Inside& inside) {
    if (loop.mark.width > width_)
      refuse_threads("a warp that multiplies has " + std::to_string(width_) + " lanes, vectors beside it have " +
                     std::to_string(loop.mark.width));
    const Affine& first = *first_lane(loop);
    const Affine value = substitute(first, values_) + thread_;
    std::vector<Guard> guards;
    for (const Affine& lo : loop.lo.of)
      if (lo != first) guards.push_back(guard_ge0(value - substitute(lo, values_)));
    for (const Affine& hi : loop.hi.of) {
      const Affine length = hi - first;
      if (!length.is_constant() || (length.constant < width_ && length.constant != tested_lanes_))
        guards.push_back(guard_ge0(substitute(hi, values_) - value - Affine::of(1)));
    }
    values_[loop.var] = value;
    in_lane_ = true;
    const NodeId body = inside();
    in_lane_ = false;
    values_.erase(loop.var);
    return guarded(guards, body);
  }

  NodeId statement(NodeId id) {
    std::vector<BufferId> written;
    const Node node = in_.nodes[id];
    if (const auto* compute = std::get_if<Compute>(&node))
      for (const Access& dst : compute->dst) written.push_back(dst.id);
    if (const auto* copy = std::get_if<Copy>(&node)) written.push_back(copy->dst.id);
    std::vector<Guard> guards;
    bool is_private = true;
    for (BufferId buffer : written) {
      is_private &= memory_.is_private(buffer);
      if (memory_.is_hoisted(buffer))
        for (size_t t = 0; t < threads_.size(); ++t)
          if (!memory_.hoisted(buffer).is_told_apart[t])
            guards.push_back(guard_ge0(Affine::of(0) - threads_[t].number));
    }
    if (!is_private && !in_lane_) guards.push_back(guard_ge0(Affine::of(0) - thread_));
    const NodeId made = copy_subtree(out_, id, values_);
    Node& out = out_.nodes[made];
    if (auto* compute = std::get_if<Compute>(&out)) {
      for (Access& dst : compute->dst) dst = memory_.moved(dst, values_, thread_);
      for (Expr& e : compute->rhs)
        e = rewrite(e, [&](const Expr& part) -> Expr {
          if (part->op != Op::read || (!memory_.is_private(part->access.id) && !memory_.is_hoisted(part->access.id)))
            return nullptr;
          return make_read(part->type, memory_.moved(part->access, values_, thread_));
        });
    }
    if (auto* copy = std::get_if<Copy>(&out)) {
      copy->dst = memory_.moved(copy->dst, values_, thread_);
      if (copy->has_src) copy->src = memory_.moved(copy->src, values_, thread_);
    }
    return guarded(guards, made);
  }

  // ---- copies that all threads of the block make ----

  NodeId divided(const BlockCopy& copy) {
    VariableValues least;
    for (const ThreadLoop& row : threads_)
      least[row.var] = extreme(values_.at(row.var), false).value_or(Affine::of(memory_.range_of(row.var).least));
    return divided_copy(in_, out_, memory_, copy, {threads_, std::move(least), thread_, width_}, values_);
  }

  const LoopNest& in_;
  LoopNest out_;
  BlockMemory memory_;
  std::vector<bool> has_axis_, has_lanes_;
  VariableValues values_;                ///< of variables of the nest that is read
  std::vector<ThreadLoop> threads_;      ///< around, outermost first; without those along x
  std::vector<VarId> inner_loops_;       ///< of loops inside the block's memory
  std::vector<Guard> guards_;            ///< of threads that have something to do
  std::set<VarId> thread_vars_;          ///< of the nest that is written
  std::map<VarId, int64_t> threads_of_;  ///< by the variables of loops over threads of the nest that is written
  std::vector<BufferId> hoisted_allocs_;
  int32_t barriers_ = 0;
  // of the threads along x being written
  int64_t width_ = 1;
  Affine thread_;
  bool in_lane_ = false, in_warp_ = false;
  int64_t tested_lanes_ = 0;  ///< the thread is known to be one of the first so many; 0: nothing is known
  std::map<NodeId, Touched> known_;
};

}  // namespace

Result<LoopNest> lanes_as_threads(const LoopNest& nest) {
  try {
    return ThreadMaker(nest).run();
  } catch (const NoThreads& refused) {
    return refused.error;
  }
}

}  // namespace polyweft::ir
