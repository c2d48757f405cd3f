#include "ir/passes/pipelined.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/nests/instruction.h"
#include "ir/nests/walk_nest.h"
#include "ir/passes/copy_subtree.h"
#include "support/abilities.h"

namespace polyweft::ir {
namespace {

/// Copies at the start of an iteration, what follows them, and the buffers that are allocated around both.
struct CopiesAhead {
  std::vector<NodeId> copies, work;
  std::vector<BufferId> inside;   ///< allocated in the loop: they get a dimension of slots
  std::vector<BufferId> outside;  ///< circular buffers around the loop
};

/// The loop in steps of one, from 0: v = lo + step * t, t below each of `ends`.
struct CountedLoop {
  Affine value_of(const Affine& t) const { return lo + step * t; }
  Affine lo;
  int64_t step = 1, most = 0;
  std::vector<Affine> ends;
};

class Pipeliner {
 public:
  explicit Pipeliner(LoopNest nest) : nest_(std::move(nest)) {}

  LoopNest run() {
    std::vector<Marked> marked;
    for (const Pack& pack : nest_.packs) find(pack.root, false, marked);
    find(nest_.root, false, marked);
    for (const Marked& each : marked) rewrite(each);
    return std::move(nest_);
  }

 private:
  struct Marked {
    NodeId loop = kNoNode;
    bool is_repeated = false;  ///< by a loop around that is none over an axis
  };

  /// Marked loops, inner ones first.
  void find(NodeId id, bool is_repeated, std::vector<Marked>& out) const {
    if (id == kNoNode) return;
    const Node& node = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) find(child, is_repeated, out);
    if (const auto* choice = std::get_if<If>(&node))
      find(choice->then, is_repeated, out), find(choice->otherwise, is_repeated, out);
    if (const auto* alloc = std::get_if<Alloc>(&node)) find(alloc->body, is_repeated, out);
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop) return;
    find(loop->body, is_repeated || loop->mark.kind != MarkKind::axis, out);
    if (loop->mark.kind == MarkKind::pipeline) out.push_back({id, is_repeated});
  }

  void rewrite(const Marked& at) {
    const NodeId id = at.loop;
    auto& marked = std::get<Loop>(nest_.nodes[id]);
    int64_t slots = marked.mark.width;
    marked.mark = {};
    const Loop loop = marked;
    const auto counted = counted_of(loop);
    if (counted) slots = std::min(slots, counted->most);
    CopiesAhead parts;
    gather(loop.body, parts);
    const bool has_copies =
        std::any_of(parts.copies.begin(), parts.copies.end(), [&](NodeId copy) { return moves(copy, loop.var); });
    if (slots < 2 || !counted || !has_copies || parts.work.empty() || !takes_buffers(parts, loop, slots)) return;
    make_ahead(at, loop, *counted, parts, slots);
  }

  static std::optional<CountedLoop> counted_of(const Loop& loop) {
    if (loop.lo.of.size() != 1) return std::nullopt;
    CountedLoop out{loop.lo.of[0], loop.step, 0, {}};
    for (const Affine& hi : loop.hi.of) {
      const Affine trips = floor_div(hi - out.lo + Affine::of(loop.step - 1), loop.step);
      out.ends.push_back(trips);
      if (trips.is_constant() && (out.most == 0 || trips.constant < out.most)) out.most = trips.constant;
    }
    return out.most > 1 ? std::optional(out) : std::nullopt;
  }

  // ---- what is copied ahead ----

  /// The buffer that copies alone, and nothing else of the node, write; nothing where it does more.
  std::optional<BufferId> filled_by(NodeId id) const {
    std::optional<BufferId> out;
    bool fits = true;
    walk_nodes(nest_, id, [&](const Node& node) {
      const auto* copy = std::get_if<Copy>(&node);
      fits &= !std::holds_alternative<Compute>(node) && !std::holds_alternative<Alloc>(node) &&
              !std::holds_alternative<Sync>(node) && (!copy || !out || *out == copy->dst.id);
      if (copy) out = copy->dst.id;
      return fits;
    });
    return fits ? out : std::nullopt;
  }

  bool moves(NodeId id, VarId var) const {
    bool found = false;
    walk_nodes(nest_, id, [&](const Node& node) {
      const auto* copy = std::get_if<Copy>(&node);
      if (copy && copy->has_src)
        for (const Subscript& s : copy->src.index) found |= mentions_var(s.affine, var);
      return true;
    });
    return found;
  }
  static bool mentions_var(const Affine& e, VarId var) {
    std::vector<VarId> used;
    collect_variables(e, used);
    return std::count(used.begin(), used.end(), var) > 0;
  }

  void gather(NodeId id, CopiesAhead& parts) const {
    const Node& node = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      for (NodeId child : seq->children) gather(child, parts);
      return;
    }
    const auto* alloc = std::get_if<Alloc>(&node);
    if (alloc && parts.work.empty() && first_filled(alloc->body) == alloc->buffer) {
      parts.inside.push_back(alloc->buffer);
      gather(alloc->body, parts);
      return;
    }
    const auto filled = parts.work.empty() ? filled_by(id) : std::nullopt;
    if (!filled) {
      parts.work.push_back(id);
      return;
    }
    parts.copies.push_back(id);
    for (const auto* known : {&parts.inside, &parts.outside})
      if (std::count(known->begin(), known->end(), *filled)) return;
    parts.outside.push_back(*filled);
  }

  std::optional<BufferId> first_filled(NodeId id) const {
    const auto* seq = std::get_if<Seq>(&nest_.nodes[id]);
    return seq && !seq->children.empty() ? first_filled(seq->children[0]) : filled_by(id);
  }

  /// Does the work leave alone what the copies read and write? Then circular buffers around the loop grow.
  bool takes_buffers(const CopiesAhead& parts, const Loop& loop, int64_t slots) {
    std::set<BufferId> filled(parts.inside.begin(), parts.inside.end()), sources;
    filled.insert(parts.outside.begin(), parts.outside.end());
    for (NodeId copy : parts.copies)
      visit_accesses(nest_, copy, [&](const Access& access, bool is_write) {
        if (!is_write) sources.insert(access.id);
      });
    bool fits = true;
    for (NodeId work : parts.work)
      visit_accesses(nest_, work, [&](const Access& access, bool is_write) {
        fits &= !is_write || (filled.count(access.id) == 0 && sources.count(access.id) == 0);
      });
    for (BufferId id : filled) fits &= sources.count(id) == 0 && !nest_.buffers[id].within;
    std::map<BufferId, Buffer> longer;
    for (BufferId id : parts.outside) {
      auto buffer = fits ? with_slots(id, parts, loop, slots) : std::nullopt;
      if (!buffer) return false;
      longer[id] = *std::move(buffer);
    }
    for (auto& [id, buffer] : longer) nest_.buffers[id] = std::move(buffer);
    return fits;
  }

  /// A buffer that is circular along the loop, one iteration's cells long, with so many times the cells.
  std::optional<Buffer> with_slots(BufferId id, const CopiesAhead& parts, const Loop& loop, int64_t slots) const {
    std::optional<uint32_t> along;
    int64_t by = 0;
    bool fits = true;
    for (NodeId copy : parts.copies)
      visit_accesses(nest_, copy, [&](const Access& access, bool is_write) {
        if (!is_write || access.id != id) return;
        for (uint32_t d = 0; d < access.index.size(); ++d) {
          const Affine& e = access.index[d].affine;
          if (!mentions_var(e, loop.var)) continue;
          fits &= !along || (*along == d && by == e.coefficient(loop.var));
          along = d, by = e.coefficient(loop.var);
        }
      });
    if (!fits || !along || by <= 0) return std::nullopt;
    Buffer out = nest_.buffers[id];
    const auto fold = std::find_if(out.folds.begin(), out.folds.end(), [&](const Fold& f) { return f.dim == *along; });
    if (fold == out.folds.end()) return out;
    if (fold->window != by * loop.step) return std::nullopt;
    const auto is_own = [&](const Piece& piece) { return piece.dim == *along; };
    const auto leading = std::find_if(out.layout.pieces.begin(), out.layout.pieces.end(), is_own);
    int64_t others = 1;
    for (auto piece = leading + 1; piece != out.layout.pieces.end(); ++piece)
      if (is_own(*piece)) others *= piece->factor;
    fold->window = std::min(slots * fold->window, out.extents[*along]);
    leading->factor = (fold->window + others - 1) / others;
    if (fold->window == out.extents[*along]) out.folds.erase(fold);
    return out;
  }

  // ---- the new loop ----

  void make_ahead(const Marked& at, Loop loop, const CountedLoop& counted, const CopiesAhead& parts, int64_t slots) {
    for (BufferId buffer : parts.inside) add_dimension(buffer, loop.var, counted, slots);
    const std::set<BufferId> slotted(parts.inside.begin(), parts.inside.end());
    for (const auto* nodes : {&parts.copies, &parts.work})
      for (NodeId node : *nodes) name_slots(node, slotted, Affine::variable(loop.var));
    for (NodeId copy : parts.copies) set_async(copy);
    // From here on the loop's variable counts iterations, and a value of it is what the text of the parts means.
    // Threads that meet before the work have done that of the iteration before, whose slot the next copies take: they
    // need not meet behind it.
    std::vector<NodeId> work = parts.work;
    const bool meets = work.size() > 2 && is_barrier(work.front()) && is_barrier(work.back());
    // Products that a thread starts, and waits for later, run while it begins the next copies; those of the iteration
    // before, too, where they have a slot.
    const bool starts_products = meets && has_started_products(parts);
    const int64_t ahead = starts_products && slots > 3 && is_on("code.products_under_way") ? slots - 2 : slots - 1;
    const NodeId before = ahead_of_loop(loop, counted, parts, ahead, slotted);
    const Affine t = Affine::variable(loop.var), later = t + Affine::of(ahead);
    std::vector<Guard> is_there;
    for (const Affine& end : counted.ends) is_there.push_back(guard_ge0(end - Affine::of(1) - later));
    const NodeId next = copies_of(parts, loop.var, counted, later, slotted);
    const NodeId guarded = nest_.add(If{is_there.size() == 1 ? is_there[0] : guard_all(is_there), next, kNoNode});
    const auto wait = [&](int64_t groups) {
      return nest_.add(Sync{Sync::Kind::async_wait, static_cast<int32_t>(groups)});
    };
    Seq body;
    const NodeId commit = nest_.add(Sync{Sync::Kind::async_commit, 0});
    if (meets) {
      body.children = {wait(ahead - 1), work.front()};
      if (!starts_products) body.children.insert(body.children.end(), {guarded, commit});
      work.erase(work.begin());
    } else {
      body.children = {guarded, commit, wait(ahead)};
    }
    const NodeId last = work.back();
    if (meets) work.pop_back();
    for (NodeId each : work) {
      replace(each, loop.var, counted.value_of(t), slotted);
      body.children.push_back(each);
    }
    if (starts_products) body.children.insert(body.children.end(), {guarded, commit});
    loop.body = nest_.add(std::move(body));
    loop.lo.of = {Affine::of(0)}, loop.hi.of = counted.ends, loop.step = 1;
    NodeId made = nest_.add(Seq{{before, nest_.add(std::move(loop))}});
    if (meets && at.is_repeated) std::get<Seq>(nest_.nodes[made]).children.push_back(last);
    for (size_t k = parts.inside.size(); k-- > 0;) made = nest_.add(Alloc{parts.inside[k], made});
    nest_.nodes[at.loop] = Node(nest_.nodes[made]);
  }

  bool has_started_products(const CopiesAhead& parts) const {
    bool found = false;
    for (NodeId id : parts.work)
      walk_nodes(nest_, id, [&](const Node& node) {
        const auto* loop = std::get_if<Loop>(&node);
        const Instruction* const instruction = loop ? warp_product(*loop) : nullptr;
        found |= instruction && instruction->reads_shared();
        return !instruction;
      });
    return found;
  }

  bool is_barrier(NodeId id) const {
    const auto* sync = std::get_if<Sync>(&nest_.nodes[id]);
    return sync && sync->kind == Sync::Kind::block;
  }

  /// A dimension in front: the number of the iteration, modulo the slots.
  void add_dimension(BufferId id, VarId var, const CountedLoop& counted, int64_t slots) {
    Buffer& b = nest_.buffers[id];
    VariableValues later;
    for (size_t d = 0; d < b.extents.size(); ++d)
      later[static_cast<VarId>(kCellVar + d)] = Affine::variable(static_cast<VarId>(kCellVar + d + 1));
    later[var] = counted.value_of(Affine::variable(kCellVar));
    for (Affine& e : b.element) e = substitute(e, later);
    b.extents.insert(b.extents.begin(), counted.most);
    for (Fold& fold : b.folds) ++fold.dim;
    for (Piece& piece : b.layout.pieces) ++piece.dim;
    const int64_t own = std::min(slots, counted.most);
    if (own < counted.most) b.folds.insert(b.folds.begin(), Fold{0, own});
    b.layout.pieces.insert(b.layout.pieces.begin(), Piece{0, own});
    if (!b.layout.pad.empty()) b.layout.pad.insert(b.layout.pad.begin(), 0);
  }

  /// The first iterations' copies, each a group: as many groups as waits count on, where there are fewer iterations
  /// some are empty.
  NodeId ahead_of_loop(const Loop& loop, const CountedLoop& counted, const CopiesAhead& parts, int64_t ahead,
                       const std::set<BufferId>& slotted) {
    Loop first;
    Affine at = Affine::of(0);
    if (ahead > 1) {
      first.var = nest_.new_loop_var(nest_.loop_names[loop.var - nest_.params.size()]);
      first.lo.of = {Affine::of(0)}, first.hi.of = {Affine::of(ahead)};
      at = Affine::variable(first.var);
    }
    NodeId copies = copies_of(parts, loop.var, counted, at, slotted);
    std::vector<Guard> is_there;
    for (const Affine& end : counted.ends)
      if (!end.is_constant()) is_there.push_back(guard_ge0(end - Affine::of(1) - at));
    if (!is_there.empty()) copies = nest_.add(If{guard_all(is_there), copies, kNoNode});
    const NodeId made = nest_.add(Seq{{copies, nest_.add(Sync{Sync::Kind::async_commit, 0})}});
    if (ahead == 1) return made;
    first.body = made;
    return nest_.add(std::move(first));
  }

  /// The copies of iteration `t`.
  NodeId copies_of(const CopiesAhead& parts, VarId var, const CountedLoop& counted, const Affine& t,
                   const std::set<BufferId>& slotted) {
    Seq out;
    for (NodeId copy : parts.copies) {
      const NodeId made = copy_subtree(nest_, copy, {{var, counted.value_of(t)}});
      name_first(made, slotted, t);
      out.children.push_back(made);
    }
    return nest_.add(std::move(out));
  }

  void set_async(NodeId id) {
    each_node(id, [](Node& node) {
      if (auto* copy = std::get_if<Copy>(&node)) copy->is_async = true;
    });
  }

  template <class F>
  void each_node(NodeId id, const F& f) {
    if (id == kNoNode) return;
    f(nest_.nodes[id]);
    const Node node = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) each_node(child, f);
    if (const auto* choice = std::get_if<If>(&node)) each_node(choice->then, f), each_node(choice->otherwise, f);
    if (const auto* alloc = std::get_if<Alloc>(&node)) each_node(alloc->body, f);
    if (const auto* loop = std::get_if<Loop>(&node)) each_node(loop->body, f);
  }

  template <class F>
  static void each_access(Node& node, const F& f) {
    if (auto* copy = std::get_if<Copy>(&node)) {
      f(copy->dst);
      if (copy->has_src) f(copy->src);
    }
    auto* compute = std::get_if<Compute>(&node);
    if (!compute) return;
    for (Access& dst : compute->dst) f(dst);
    for (Expr& e : compute->rhs)
      e = polyweft::rewrite(e, [&](const Expr& part) -> Expr {
        if (part->op != Op::read) return nullptr;
        Access access = part->access;
        f(access);
        return make_read(part->type, std::move(access));
      });
  }

  /// The slot in front of the subscripts of these buffers.
  void name_slots(NodeId id, const std::set<BufferId>& slotted, const Affine& slot) {
    each_node(id, [&](Node& node) {
      each_access(node, [&](Access& access) {
        if (slotted.count(access.id) == 0) return;
        Subscript front;
        front.affine = slot;
        access.index.insert(access.index.begin(), std::move(front));
      });
    });
  }
  /// The slot where name_slots() has put one.
  void name_first(NodeId id, const std::set<BufferId>& slotted, const Affine& slot) {
    each_node(id, [&](Node& node) {
      each_access(node, [&](Access& access) {
        if (slotted.count(access.id) > 0) access.index[0].affine = slot;
      });
    });
  }

  /// A value for the variable, everywhere but in slots, which count by it.
  void replace(NodeId id, VarId var, const Affine& value, const std::set<BufferId>& slotted) {
    const VariableValues values = {{var, value}};
    each_node(id, [&](Node& node) {
      if (auto* loop = std::get_if<Loop>(&node))
        for (Bound* bound : {&loop->lo, &loop->hi})
          for (Affine& e : bound->of) e = substitute(e, values);
      if (auto* choice = std::get_if<If>(&node)) choice->condition = substitute(choice->condition, values);
      if (auto* alloc = std::get_if<Alloc>(&node))
        for (Affine& e : nest_.buffers[alloc->buffer].element) e = substitute(e, values);
      if (auto* copy = std::get_if<Copy>(&node)) {
        copy->dst = ir::substitute(copy->dst, values);
        if (copy->has_src) copy->src = ir::substitute(copy->src, values);
        copy->valid = substitute(copy->valid, values);
      }
      if (auto* compute = std::get_if<Compute>(&node)) *compute = ir::substitute(*compute, values);
    });
    name_first(id, slotted, Affine::variable(var));
  }

  LoopNest nest_;
};

}  // namespace

LoopNest pipelined(LoopNest nest) {
  return Pipeliner(std::move(nest)).run();
}

}  // namespace polyweft::ir
