#include "ir/passes/lanes_as_threads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/nests/axes.h"
#include "ir/nests/walk_nest.h"
#include "ir/passes/copy_subtree.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

struct Refused {
  Error error;
};
[[noreturn]] void refuse(const std::string& what) {
  throw Refused{fail("PW0311", "lanes as threads: " + what)};
}

struct Interval {
  int64_t lo = 0, hi = 0;
};

/// A loop over threads of the block around what is being written.
struct ThreadLoop {
  VarId var = kNoVar;   ///< of the nest that is read
  Affine number;        ///< of the thread, from 0
  int64_t threads = 0;  ///< 0: not the same for all blocks
};

/// What a subtree does with memory that several threads touch.
struct Touched {
  std::set<BufferId> read, written, written_twice;
};

/// How the cells of a buffer move out of the loops inside the block.
struct Hoisted {
  std::vector<Affine> shift;        ///< added to the subscripts
  std::vector<Affine> leading;      ///< subscripts of new dimensions, in front
  std::vector<bool> is_told_apart;  ///< by loop over threads: has each one cells of its own?
};

class ThreadMaker {
 public:
  explicit ThreadMaker(const LoopNest& nest) : in_(nest), out_(nest) {}

  LoopNest run() {
    has_axis_ = nodes_with(in_, [](const Node& node) {
      const auto* loop = std::get_if<Loop>(&node);
      return loop && loop->mark.kind == MarkKind::axis;
    });
    has_lanes_ = nodes_with(in_, [](const Node& node) {
      const auto* loop = std::get_if<Loop>(&node);
      return loop && loop->mark.kind == MarkKind::vector;
    });
    note_ranges(in_.root);
    out_.root = place(in_.root);
    return std::move(out_);
  }

 private:
  // ---- ranges of variables ----

  Interval range_of(const Affine& e) const {
    Interval out{e.constant, e.constant};
    const auto add = [&](int64_t coeff, Interval part) {
      out.lo += coeff * (coeff > 0 ? part.lo : part.hi);
      out.hi += coeff * (coeff > 0 ? part.hi : part.lo);
    };
    for (const Term& term : e.terms) {
      if (!term.quasi) {
        add(term.coeff, term.var < in_.params.size() ? Interval{in_.params[term.var].value, in_.params[term.var].value}
                                                     : ranges_.at(term.var));
        continue;
      }
      const Interval inner = range_of(term.quasi->e);
      if (term.quasi->kind == Quasi::Kind::floor_div)
        add(term.coeff, {floor_quotient(inner.lo, term.quasi->den), floor_quotient(inner.hi, term.quasi->den)});
      else
        add(term.coeff, {range_of(term.quasi->lo).lo, range_of(term.quasi->hi).hi});
    }
    return out;
  }

  void note_ranges(NodeId id) {
    if (id == kNoNode) return;
    const Node& node = in_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) note_ranges(child);
    if (const auto* choice = std::get_if<If>(&node)) note_ranges(choice->then), note_ranges(choice->otherwise);
    if (const auto* alloc = std::get_if<Alloc>(&node)) note_ranges(alloc->body);
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop) return;
    Interval range{INT64_MIN, INT64_MAX};
    for (const Affine& e : loop->lo.of) range.lo = std::max(range.lo, range_of(e).lo);
    for (const Affine& e : loop->hi.of) range.hi = std::min(range.hi, range_of(e).hi - 1);
    if (loop->lo.of.size() == 1 && loop->lo.of[0].is_constant())
      range.hi = range.lo + floor_quotient(range.hi - range.lo, loop->step) * loop->step;
    ranges_[loop->var] = {range.lo, std::max(range.lo, range.hi)};
    note_ranges(loop->body);
  }

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
    for (const Affine& hi : loop.hi.of)
      if (loop.lo.of.size() == 1)
        if (const Affine apart = hi - loop.lo.of[0]; apart.is_constant())
          length = std::min(length.value_or(apart.constant), apart.constant);
    if (!length) refuse("a loop over threads has no constant number of iterations");
    const int64_t threads = (*length + loop.step - 1) / loop.step;
    const Affine lo = substitute(loop.lo.of[0], values_), number = Affine::variable(out.var),
                 value = lo + loop.step * number;
    out.lo.of = {Affine::of(0)}, out.hi.of = {Affine::of(threads)}, out.step = 1;
    const size_t guards = guards_.size();
    for (const Affine& hi : loop.hi.of) {
      const Affine apart = hi - loop.lo.of[0];
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
    walk_nodes(in_, id, [&](const Node& node) {
      if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.kind == MarkKind::vector)
        width = std::max(width, loop->mark.width);
      return true;
    });
    width_ = width;
    const size_t outer = inner_loops_.size();
    analyse(id);
    Loop out;
    out.var = out_.new_loop_var("t");
    out.lo.of = {Affine::of(0)}, out.hi.of = {Affine::of(width_)};
    out.mark = {MarkKind::axis, 0, "thread_x"};
    thread_ = Affine::variable(out.var);
    thread_vars_.insert(out.var);
    threads_of_[out.var] = width_;
    for (auto& [buffer, hoisted] : hoisted_) hoist(buffer, hoisted);
    for (BufferId buffer : private_) shrink(buffer);
    out.body = together(id);
    thread_vars_.erase(out.var);
    inner_loops_.resize(outer);
    NodeId made = out_.add(std::move(out));
    hoisted_.clear(), private_.clear(), crossing_.clear(), known_.clear();
    return threads_.empty() ? with_hoisted(made) : made;
  }

  // ---- whose cells are whose ----

  struct Use {
    std::vector<Subscript> index;
    std::optional<Affine> first;  ///< value of lane 0, where a loop over lanes is around
    VarId lane = kNoVar;
    bool is_write = false;
  };

  void gather(NodeId id, const Loop* lanes) {
    if (id == kNoNode) return;
    const Node& node = in_.nodes[id];
    const auto use = [&](const Access& access, bool is_write) {
      Use out{access.index, {}, kNoVar, is_write};
      if (lanes) out.first = *first_lane(*lanes), out.lane = lanes->var;
      uses_[access.id].push_back(std::move(out));
    };
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) gather(child, lanes);
    if (const auto* choice = std::get_if<If>(&node)) gather(choice->then, lanes), gather(choice->otherwise, lanes);
    if (const auto* alloc = std::get_if<Alloc>(&node)) allocated_.insert(alloc->buffer), gather(alloc->body, lanes);
    if (const auto* loop = std::get_if<Loop>(&node)) {
      inner_loops_.push_back(loop->var);
      gather(loop->body, loop->mark.kind == MarkKind::vector ? loop : lanes);
    }
    if (std::holds_alternative<Compute>(node) || std::holds_alternative<Copy>(node)) visit_accesses(in_, id, use);
  }

  /// Without terms that are multiples of the threads' number.
  Affine residue(const Affine& e) const {
    Affine out = Affine::of(floor_remainder(e.constant, width_));
    for (const Term& term : e.terms)
      if (term.coeff % width_ != 0) out.terms.push_back(term);
    return out;
  }

  /// The dimension whose subscripts are the thread and multiples of the number of threads, plus always the same.
  std::optional<size_t> dimension_of_threads(const std::vector<Use>& uses, Affine* rest = nullptr) const {
    if (uses.empty() || uses[0].lane == kNoVar) return std::nullopt;
    for (size_t d = 0; d < uses[0].index.size(); ++d) {
      std::optional<Affine> known;
      const bool is_own = std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
        if (use.lane == kNoVar || use.index[d].data || use.index[d].affine.coefficient(use.lane) != 1) return false;
        for (size_t other = 0; other < use.index.size(); ++other)
          if (other != d && (use.index[other].data || mentions(use.index[other].affine, use.lane))) return false;
        const Affine before = use.index[d].affine - Affine::variable(use.lane);
        if (mentions(before, use.lane)) return false;
        const Affine own = residue(before + *use.first);
        if (!known) known = own;
        return own == *known;
      });
      if (!is_own) continue;
      if (rest) *rest = *known;
      return d;
    }
    return std::nullopt;
  }

  static bool mentions(const Affine& e, VarId var) {
    std::vector<VarId> used;
    collect_variables(e, used);
    return std::find(used.begin(), used.end(), var) != used.end();
  }

  void analyse(NodeId id) {
    uses_.clear(), allocated_.clear(), dims_.clear();
    gather(id, nullptr);
    for (const auto& [buffer, uses] : uses_) {
      Affine rest;
      const auto dim = dimension_of_threads(uses, &rest);
      const Scope scope = in_.buffers[buffer].scope;
      if (allocated_.count(buffer) == 0) {
        const bool is_written = std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.is_write; });
        const bool is_read = std::any_of(uses.begin(), uses.end(), [](const Use& use) { return !use.is_write; });
        if (is_written && is_read && (!dim || !threads_.empty())) crossing_.insert(buffer);
        continue;
      }
      const bool by_lane = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        return use.lane != kNoVar && std::any_of(use.index.begin(), use.index.end(), [&](const Subscript& s) {
                 return s.data || mentions(s.affine, use.lane);
               });
      });
      const bool written_in_lane =
          std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.is_write && use.lane != kNoVar; });
      if (dim && rest == Affine::of(0) && in_.buffers[buffer].folds.empty()) {
        private_.insert(buffer);
        dims_[buffer] = *dim;
      } else if (!by_lane && !written_in_lane &&
                 (scope == Scope::reg || allocated_elements(in_.buffers[buffer]) == 1)) {
        private_.insert(buffer);
      } else {
        hoisted_[buffer] = {};
        crossing_.insert(buffer);
      }
    }
  }

  /// A thread's own cells of it.
  void shrink(BufferId id) {
    const auto dim = dims_.find(id);
    Buffer& b = out_.buffers[id];
    if (dim == dims_.end()) {
      for (Affine& e : b.element) e = substitute(e, values_);
      return;
    }
    const size_t d = dim->second;
    b.extents[d] = (b.extents[d] + width_ - 1) / width_;
    b.layout = row_major(b.extents);
    const VarId cell = static_cast<VarId>(kCellVar + d);
    for (Affine& e : b.element)
      e = substitute(substitute(e, values_), {{cell, width_ * Affine::variable(cell) + thread_}});
  }

  /// Cells named by where they lie in what the loops inside the block walk over.
  void hoist(BufferId id, Hoisted& hoisted) {
    Buffer& b = out_.buffers[id];
    const size_t rank = b.extents.size();
    hoisted.shift.assign(rank, Affine::of(0));
    hoisted.is_told_apart.assign(threads_.size(), false);
    std::vector<int64_t> extents = b.extents, windows = b.extents;
    for (const Fold& fold : b.folds) windows[fold.dim] = fold.window;
    std::vector<int64_t> new_extents, new_windows;
    std::vector<Affine> leading_starts;
    const std::set<VarId> inner(inner_loops_.begin(), inner_loops_.end());
    for (Affine& e : b.element) {
      Affine moving, fixed = Affine::of(e.constant);
      std::optional<Term> cell;
      for (const Term& term : e.terms) {
        std::vector<VarId> used;
        Affine alone;
        alone.terms = {term};
        collect_variables(alone, used);
        const bool moves = std::any_of(used.begin(), used.end(), [&](VarId v) { return inner.count(v) > 0; });
        if (!term.quasi && term.var >= kCellVar) {
          if (cell) refuse("memory of a block in cells of several dimensions");
          cell = term;
        } else if (moves) {
          moving.terms.push_back(term);
        } else {
          fixed.terms.push_back(term);
        }
      }
      if (moving.terms.empty()) continue;
      const int64_t unit = cell ? cell->coeff : 1;
      Affine by_thread;
      for (const Term& term : moving.terms) {
        if (term.quasi || term.coeff % unit != 0) refuse("memory of a block whose cells move by quotients");
        for (size_t t = 0; t < threads_.size(); ++t)
          if (term.var == threads_[t].var) by_thread.terms.push_back(term), hoisted.is_told_apart[t] = true;
      }
      const Interval all = range_of(moving), threads = range_of(by_thread);
      Affine steps;
      for (Term term : moving.terms) term.coeff /= unit, steps.terms.push_back(term);
      steps.constant = -all.lo / unit;
      const int64_t reach = (all.hi - all.lo) / unit, apart = (threads.hi - threads.lo) / unit;
      const bool is_walked = by_thread.terms.size() < moving.terms.size();
      if (cell) {
        const size_t d = cell->var - kCellVar;
        hoisted.shift[d] = steps;
        extents[d] += reach;
        windows[d] = is_walked ? windows[d] + apart : extents[d];
        e = Affine::variable(cell->var, unit) + fixed + Affine::of(all.lo);
      } else {
        hoisted.leading.push_back(steps);
        new_extents.push_back(reach + 1), new_windows.push_back(is_walked ? apart + 1 : reach + 1);
        leading_starts.push_back(Affine::of(all.lo) + fixed);
        e = Affine::variable(static_cast<VarId>(kMarked + hoisted.leading.size() - 1)) + fixed + Affine::of(all.lo);
      }
    }
    const size_t more = new_extents.size();
    std::map<VarId, Affine> renumbered;
    for (size_t d = 0; d < rank; ++d)
      renumbered[static_cast<VarId>(kCellVar + d)] = Affine::variable(static_cast<VarId>(kCellVar + more + d));
    for (size_t d = 0; d < more; ++d)
      renumbered[static_cast<VarId>(kMarked + d)] = Affine::variable(static_cast<VarId>(kCellVar + d));
    for (Affine& e : b.element) e = substitute(substitute(e, renumbered), values_);
    new_extents.insert(new_extents.end(), extents.begin(), extents.end());
    new_windows.insert(new_windows.end(), windows.begin(), windows.end());
    b.extents = new_extents;
    b.folds.clear();
    for (size_t d = 0; d < b.extents.size(); ++d)
      if (new_windows[d] < b.extents[d]) b.folds.push_back({static_cast<uint32_t>(d), new_windows[d]});
    b.layout = row_major(new_windows);
    b.within.reset();
    if (b.scope != Scope::heap) b.scope = Scope::shared;
    hoisted_allocs_.push_back(id);
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
        if (crossing_.count(buffer)) out.read.insert(buffer);
      };
      const auto add_write = [&](BufferId buffer) {
        if (crossing_.count(buffer) && !out.written.insert(buffer).second) out.written_twice.insert(buffer);
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
    if (!is_shared(id)) return guarded(guards_, apart(id));
    if (const auto fill = fill_of(id)) return divided(*fill);
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
        if (by_thread(substitute(e, values_))) refuse("threads wait for each other in a loop that differs for them");
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
        if (!hoisted_.count(alloc->buffer)) break;
        child = alloc->body;
        node = &in_.nodes[child];
      }
      if (const auto* inner = std::get_if<Seq>(node); inner && !fill_of(child)) {
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
    if (hoisted_.count(alloc.buffer)) return inside();
    return out_.add(Alloc{alloc.buffer, inside()});
  }

  NodeId guarded(const std::vector<Guard>& guards, NodeId node) {
    if (node == kNoNode || guards.empty()) return node;
    return out_.add(If{guards.size() == 1 ? guards[0] : guard_all(guards), node, kNoNode});
  }

  // ---- statements ----

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
      if (loop->mark.kind == MarkKind::vector) return lane(*loop, [&] { return apart(loop->body); });
      return around(*loop, [&] { return apart(loop->body); });
    }
    return statement(id);
  }

  template <class Inside>
  NodeId lane(const Loop& loop, const Inside& inside) {
    const Affine& first = *first_lane(loop);
    const Affine value = substitute(first, values_) + thread_;
    std::vector<Guard> guards;
    for (const Affine& lo : loop.lo.of)
      if (lo != first) guards.push_back(guard_ge0(value - substitute(lo, values_)));
    for (const Affine& hi : loop.hi.of) {
      const Affine length = hi - first;
      if (!length.is_constant() || length.constant < width_)
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
      is_private &= private_.count(buffer) > 0;
      if (const auto hoisted = hoisted_.find(buffer); hoisted != hoisted_.end())
        for (size_t t = 0; t < threads_.size(); ++t)
          if (!hoisted->second.is_told_apart[t]) guards.push_back(guard_ge0(Affine::of(0) - threads_[t].number));
    }
    if (!is_private && !in_lane_) guards.push_back(guard_ge0(Affine::of(0) - thread_));
    const NodeId made = copy_subtree(out_, id, values_);
    Node& out = out_.nodes[made];
    if (auto* compute = std::get_if<Compute>(&out)) {
      for (Access& dst : compute->dst) dst = moved(dst);
      for (Expr& e : compute->rhs)
        e = rewrite(e, [&](const Expr& part) -> Expr {
          if (part->op != Op::read || (!private_.count(part->access.id) && !hoisted_.count(part->access.id)))
            return nullptr;
          return make_read(part->type, moved(part->access));
        });
    }
    if (auto* copy = std::get_if<Copy>(&out)) {
      copy->dst = moved(copy->dst);
      if (copy->has_src) copy->src = moved(copy->src);
    }
    return guarded(guards, made);
  }

  /// Subscripts are in the new variables already.
  Access moved(Access access) const {
    if (const auto dim = dims_.find(access.id); dim != dims_.end()) {
      Affine rest = access.index[dim->second].affine - thread_;
      for (Term& term : rest.terms) {
        if (term.coeff % width_ != 0) refuse("a register would belong to several threads");
        term.coeff /= width_;
      }
      rest.constant = floor_quotient(rest.constant, width_);
      access.index[dim->second].affine = std::move(rest);
    }
    const auto hoisted = hoisted_.find(access.id);
    if (hoisted == hoisted_.end()) return access;
    std::vector<Subscript> index;
    for (const Affine& e : hoisted->second.leading) {
      Subscript s;
      s.affine = substitute(e, values_);
      index.push_back(std::move(s));
    }
    for (size_t d = 0; d < access.index.size(); ++d) {
      Subscript s = access.index[d];
      s.affine = s.affine + substitute(hoisted->second.shift[d], values_);
      index.push_back(std::move(s));
    }
    access.index = std::move(index);
    return access;
  }

  // ---- copies that all threads of the block make ----

  /// A box of elements of a tensor, at an offset, into the cells of a copy.
  struct Fill {
    BufferId to = 0, from = 0;
    std::vector<Affine> offset;
    bool operator==(const Fill&) const = default;
  };

  static std::optional<Fill> fill_of(const Copy& copy) {
    if (!copy.has_src || !copy.valid.is_true() || copy.dst.index.size() != copy.src.index.size()) return std::nullopt;
    Fill out{copy.dst.id, copy.src.id, {}};
    for (size_t d = 0; d < copy.dst.index.size(); ++d) {
      if (copy.src.index[d].data) return std::nullopt;
      out.offset.push_back(copy.src.index[d].affine - copy.dst.index[d].affine);
    }
    return out;
  }

  /// Loops around copies of one tensor into memory that threads share, all at one offset.
  std::optional<Fill> fill_of(NodeId id) const {
    std::optional<Fill> out;
    std::set<VarId> own;
    bool is_fill = true;
    walk_nodes(in_, id, [&](const Node& node) {
      if (const auto* loop = std::get_if<Loop>(&node)) own.insert(loop->var);
      const auto* copy = std::get_if<Copy>(&node);
      is_fill &= !std::holds_alternative<Compute>(node) && !std::holds_alternative<Alloc>(node);
      if (!copy) return is_fill;
      const auto found = fill_of(*copy);
      is_fill &= found && (!out || *out == *found);
      out = found;
      return is_fill;
    });
    if (!is_fill || !out || !hoisted_.count(out->to) || hoisted_.count(out->from) || private_.count(out->from) ||
        !in_.buffers[out->from].folds.empty() || !in_.buffers[out->to].folds.empty())
      return std::nullopt;
    for (const Affine& e : out->offset)
      for (VarId var : own)
        if (mentions(e, var)) return std::nullopt;
    return out;
  }

  /// The whole box, as far as it lies in the tensor, by all threads of the block. Where each row of threads has a box
  /// of its own, which may overlap with others', all of them are one.
  NodeId divided(const Fill& fill) {
    const Hoisted& to = hoisted_.at(fill.to);
    const std::vector<int64_t>& own = in_.buffers[fill.to].extents;
    std::vector<int64_t> extents = own;
    const VariableValues values = values_;
    std::vector<std::pair<Affine, int64_t>> rows;  // of threads: number, how many
    for (size_t t = 0; t < threads_.size(); ++t) {
      rows.emplace_back(threads_[t].number, threads_[t].threads);
      if (!to.is_told_apart[t]) continue;
      const Interval range = ranges_.at(threads_[t].var);
      for (size_t d = 0; d < extents.size(); ++d) {
        const int64_t by = to.shift[d].coefficient(threads_[t].var);
        if (by < 0) refuse("rows of threads whose copies run backwards");
        extents[d] += by * (range.hi - range.lo);
      }
      values_[threads_[t].var] = extreme(values_.at(threads_[t].var), false).value_or(Affine::of(range.lo));
    }
    // Threads along x take what is contiguous, rows of them another dimension: one that they fill evenly, else the
    // longest.
    std::vector<std::pair<Affine, int64_t>> by(extents.size(), {Affine::of(0), 1});
    const size_t last = extents.size() - 1;
    by[last] = {thread_, width_};
    std::vector<Guard> guards;
    for (const auto& [number, count] : rows) {
      size_t best = last;
      for (size_t d = last; d-- > 0;) {
        if (by[d].second > 1 || extents[d] == 1) continue;
        const bool is_even = extents[d] % count == 0;
        if (is_even || best == last || extents[d] > extents[best]) best = d;
        if (is_even) break;
      }
      if (best == last)
        guards.push_back(guard_ge0(Affine::of(0) - number));
      else
        by[best] = {number, count};
    }
    std::vector<Loop> loops;
    std::vector<Affine> cell;
    for (size_t d = 0; d < extents.size(); ++d) {
      const auto& [number, count] = by[d];
      Affine at = number;
      if (extents[d] > count) {
        Loop loop;
        loop.var = out_.new_loop_var("c" + std::to_string(d));
        loop.lo.of = {Affine::of(0)}, loop.hi.of = {Affine::of(extents[d])}, loop.step = count;
        at = at + Affine::variable(loop.var);
        loops.push_back(std::move(loop));
      }
      if (extents[d] % count != 0) guards.push_back(guard_ge0(Affine::of(extents[d] - 1) - at));
      cell.push_back(std::move(at));
    }
    Copy copy;
    copy.dst.id = fill.to, copy.src.id = fill.from;
    copy.fill.type = in_.buffers[fill.to].type;
    for (size_t d = 0; d < extents.size(); ++d) {
      Subscript to_cell, from;
      to_cell.affine = cell[d];
      from.affine = cell[d] + substitute(fill.offset[d], values_);
      const Interval reach = range_of(fill.offset[d]);
      if (reach.lo < 0) guards.push_back(guard_ge0(from.affine));
      if (reach.hi + extents[d] > in_.buffers[fill.from].extents[d])
        guards.push_back(guard_ge0(Affine::of(in_.buffers[fill.from].extents[d] - 1) - from.affine));
      copy.dst.index.push_back(std::move(to_cell));
      copy.src.index.push_back(std::move(from));
    }
    copy.dst = moved(copy.dst);
    NodeId made = guarded(guards, out_.add(std::move(copy)));
    for (size_t k = loops.size(); k-- > 0;) {
      loops[k].body = made;
      made = out_.add(std::move(loops[k]));
    }
    values_ = values;
    return made;
  }

  static constexpr VarId kMarked = kCellVar + 0x4000;

  const LoopNest& in_;
  LoopNest out_;
  std::vector<bool> has_axis_, has_lanes_;
  std::map<VarId, Interval> ranges_;     ///< of the variables of loops
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
  bool in_lane_ = false;
  std::map<BufferId, std::vector<Use>> uses_;
  std::set<BufferId> allocated_, private_, crossing_;
  std::map<BufferId, size_t> dims_;  ///< the dimension of a private buffer that lanes were along
  std::map<BufferId, Hoisted> hoisted_;
  std::map<NodeId, Touched> known_;
};

}  // namespace

Result<LoopNest> lanes_as_threads(const LoopNest& nest) {
  try {
    return ThreadMaker(nest).run();
  } catch (const Refused& refused) {
    return refused.error;
  }
}

}  // namespace polyweft::ir
