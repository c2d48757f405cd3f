#include "ir/passes/scalar_replacement.h"

#include <algorithm>
#include <utility>

#include "ir/nests/row_walk.h"
#include "ir/passes/scans.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kMostCarriedSteps = 3;
constexpr int64_t kPromotedBytes = 64;

/// What statement `statement` stores is read so many iterations later.
struct Chain {
  size_t statement = 0;
  Access stored;
  std::vector<Access> before;            ///< of one iteration before, of two ..
  std::vector<std::vector<Guard>> when;  ///< of each of them: the conditions under which iterations read it
  BufferId buffer = 0;                   ///< element 0: of this iteration, n: of n iterations before
};

/// An element, or a vector of them, that the loop does not move.
struct PromotedCell {
  Access access;                      ///< over the variable of a vector loop
  std::shared_ptr<const Loop> lanes;  ///< that loop; null: a single element
  Affine first_lane;
  Affine offset = {};  ///< physical, of lane 0
  BufferId buffer = 0;
  int64_t width() const { return lanes ? lanes->mark.width : 1; }
  bool is_same(const PromotedCell& other) const {
    return access.id == other.access.id && offset == other.offset && width() == other.width();
  }
};

bool is_held_as_stored(ElementType type) {
  return type != ElementType::f16 && type != ElementType::bf16 && type != ElementType::boolean;
}

/// The element that an earlier iteration stores.
Access steps_back(const Access& stored, VarId var, int64_t steps) {
  return with(stored, var, Affine::variable(var) - Affine::of(steps));
}

/// The loop's first value.
Affine first_value(const Loop& loop) {
  constexpr int64_t kFar = int64_t{1} << 56;
  Affine out = loop.lo.of[0];
  for (size_t k = 1; k < loop.lo.of.size(); ++k) out = clamp(out, loop.lo.of[k], Affine::of(kFar));
  return out;
}

/// Where the cell lies. False where the loop of `var` moves it, or its lanes are not neighbours.
bool place(LoopContext& context, VarId var, PromotedCell& cell) {
  std::vector<Affine> index;
  for (const Subscript& s : cell.access.index) index.push_back(s.affine);
  cell.offset = context.facts().offset(context.nest().buffers[cell.access.id], index);
  if (mentions(cell.offset, var)) return false;
  if (!cell.lanes) return true;
  const VarId lane = cell.lanes->var;
  const Affine rest = cell.offset - Affine::variable(lane);
  if (mentions(rest, lane) || mentions(cell.first_lane, var)) return false;
  cell.offset = rest + cell.first_lane;
  return true;
}

/// Finds what one loop may keep.
class Finder {
 public:
  Finder(LoopContext& context, const Loop& loop, const std::vector<Statement>& statements)
      : context_(context), nest_(context.nest()), loop_(loop), statements_(statements) {}

  std::vector<Chain> chains() {
    std::vector<Chain> out;
    if (loop_.step != 1) return out;
    for (size_t k = 0; k < statements_.size(); ++k) add_chain(k, out);
    return out;
  }

  std::vector<PromotedCell> cells() {
    std::vector<PromotedCell> out;
    std::vector<bool> refused(nest_.buffers.size(), true);
    for (const Statement& statement : statements_)
      for (const Access& dst : statement.stores) refused[dst.id] = !may_hold_cells(dst.id);
    for (const Statement& statement : statements_) {
      if (statement.lanes) context_.enter(*statement.lanes);
      for (size_t k = 0; k < statement.reads.size(); ++k)
        note(statement, statement.reads[k], statement.when[k].is_true(), true, out, refused);
      const bool reads_first = statement.compute.how == Write::accumulate || statement.compute.how == Write::merge;
      for (const Access& dst : statement.stores) note(statement, dst, true, reads_first, out, refused);
      if (statement.lanes) context_.leave(*statement.lanes);
    }
    for (size_t a = 0; a < out.size(); ++a)
      for (size_t b = 0; b < a; ++b)
        if (out[a].access.id == out[b].access.id && !are_apart(out[a], out[b])) refused[out[a].access.id] = true;
    std::erase_if(out, [&](const PromotedCell& cell) { return refused[cell.access.id]; });
    return out;
  }

 private:
  bool meets_others(BufferId id) const {
    const std::vector<BufferId>& sharers = context_.sharers(id);
    return std::any_of(sharers.begin(), sharers.end(), [&](BufferId other) {
      return std::any_of(statements_.begin(), statements_.end(), [&](const Statement& statement) {
        const auto is_other = [&](const Access& access) { return access.id == other; };
        return std::any_of(statement.stores.begin(), statement.stores.end(), is_other) ||
               std::any_of(statement.reads.begin(), statement.reads.end(), is_other);
      });
    });
  }

  /// What statement `k` stores, as far as later iterations read it. It must be the only one that stores there until
  /// then.
  void add_chain(size_t k, std::vector<Chain>& out) const {
    const Statement& statement = statements_[k];
    if (statement.lanes || statement.compute.how != Write::store || statement.stores.size() != 1) return;
    const Access& dst = statement.stores[0];
    const Buffer& buffer = nest_.buffers[dst.id];
    if (has_data(dst) || buffer.scope == Scope::reg || is_of_units(buffer.scope) || meets_others(dst.id)) return;
    if (!is_held_as_stored(buffer.type)) return;
    Chain chain{k, dst, {}, {}, 0};
    size_t needed = 0;
    for (int64_t n = 1; n <= kMostCarriedSteps; ++n) {
      const Access before = steps_back(dst, loop_.var, n);
      // An element that the loop does not move is promoted, without its stores.
      if (is_same_element(before, dst)) break;
      const bool is_overwritten = !lie_apart(before, dst, buffer);
      std::vector<Guard> when;
      if (!is_only_store(k, before, n, is_overwritten, when)) break;
      chain.before.push_back(before);
      if (!when.empty()) needed = chain.before.size();
      chain.when.push_back(std::move(when));
      if (is_overwritten) break;
    }
    chain.before.resize(needed);
    chain.when.resize(needed);
    if (needed > 0) out.push_back(std::move(chain));
  }

  /// Is what statement `k` has stored n iterations before still there wherever it is read? Adds the conditions of these
  /// reads. An element that this iteration may overwrite (the oldest of a window, `fold`) is read before that.
  bool is_only_store(size_t k, const Access& before, int64_t n, bool is_overwritten, std::vector<Guard>& when) const {
    const Access& dst = statements_[k].stores[0];
    const Buffer& buffer = nest_.buffers[dst.id];
    for (size_t other = 0; other < statements_.size(); ++other) {
      bool is_read = false;
      for (size_t r = 0; r < statements_[other].reads.size(); ++r) {
        if (!is_same_element(statements_[other].reads[r], before)) continue;
        is_read = true;
        when.push_back(statements_[other].when[r]);
      }
      if (is_read && other > k && is_overwritten) return false;
      for (const Access& store : statements_[other].stores) {
        if (other == k || store.id != dst.id) continue;
        if (!lie_apart(store, before, buffer) || (n == 1 && !lie_apart(store, dst, buffer))) return false;
      }
    }
    return true;
  }

  bool may_hold_cells(BufferId id) const {
    const Buffer& buffer = nest_.buffers[id];
    return !nest_.auto_vectorized && context_.sharers(id).empty() && buffer.scope != Scope::reg &&
           !is_of_units(buffer.scope) && buffer.shape.empty() && is_held_as_stored(buffer.type);
  }

  /// An access to one of the buffers that the loop stores to.
  void note(const Statement& statement, const Access& access, bool is_always, bool is_read,
            std::vector<PromotedCell>& out, std::vector<bool>& refused) {
    if (refused[access.id]) return;
    PromotedCell cell{access, statement.lanes, statement.first_lane};
    if (has_data(access) || !is_always || !place(context_, loop_.var, cell)) {
      refused[access.id] = true;
      return;
    }
    if (std::any_of(out.begin(), out.end(), [&](const PromotedCell& other) { return other.is_same(cell); })) return;
    if (!is_read) refused[access.id] = true;
    out.push_back(std::move(cell));
  }

  bool are_apart(const PromotedCell& a, const PromotedCell& b) const {
    const IntegerRange apart = context_.facts().range(a.offset - b.offset);
    return apart.lo >= b.width() || apart.hi <= -a.width();
  }

  LoopContext& context_;
  const LoopNest& nest_;
  const Loop& loop_;
  const std::vector<Statement>& statements_;
};

class Replacer {
 public:
  Replacer(LoopNest nest, const ScalarReplacement& options)
      : nest_(std::move(nest)), options_(options), context_(nest_) {}

  LoopNest run() {
    walk_loops(context_, nest_.root,
               [&](NodeId id, const Loop& loop) { return loop.mark.kind == MarkKind::serial && replace(id, loop); });
    return std::move(nest_);
  }

 private:
  /// False where the loop is not innermost, or keeps nothing.
  bool replace(NodeId id, const Loop& loop) {
    if (scan_along(context_, loop, options_.vector_bits)) return true;
    const bool is_entered = context_.is_entered(loop);
    const ValueFacts outside = context_.facts();
    context_.enter(loop);
    for (const Affine& lo : loop.lo.of)  // an iteration runs
      for (const Affine& hi : loop.hi.of)
        context_.facts().assume(context_.fold(hi) - context_.fold(lo) - Affine::of(1));
    const auto statements = statements_of(context_, loop.body, true);
    var_ = loop.var;
    chains_.clear();
    cells_.clear();
    if (statements) {
      Finder finder(context_, loop, *statements);
      chains_ = finder.chains();
      cells_ = finder.cells();
      for (const PromotedCell& cell : cells_)  // one place in a window of one element: kept without its stores
        std::erase_if(chains_, [&](const Chain& chain) { return chain.stored.id == cell.access.id; });
    }
    size_t carried = 0, registers = 0;
    for (const Chain& chain : chains_) carried += chain.before.size();
    for (const PromotedCell& cell : cells_)
      registers +=
          static_cast<size_t>((cell.width() * size_bytes(type_of(cell.access)) + kPromotedBytes - 1) / kPromotedBytes);
    if (carried > static_cast<size_t>(options_.carried_values) && !nest_.auto_vectorized) chains_.clear();
    if (registers > static_cast<size_t>(options_.promoted_cells)) cells_.clear();
    if (statements && (!chains_.empty() || !cells_.empty())) nest_.nodes[id] = rewritten(loop, *statements, is_entered);
    context_.facts() = outside;
    return statements.has_value();
  }

  ElementType type_of(const Access& access) const { return nest_.buffers[access.id].type; }

  BufferId make_register(BufferId of, const char* suffix, int64_t extent) {
    Buffer buffer;
    buffer.name = nest_.buffers[of].name + suffix;
    buffer.type = nest_.buffers[of].type;
    buffer.scope = Scope::reg;
    buffer.extents = {extent};
    if (nest_.symbolic) buffer.shape = {Affine::of(extent)};
    buffer.layout = row_major(buffer.extents);
    nest_.buffers.push_back(std::move(buffer));
    return static_cast<BufferId>(nest_.buffers.size() - 1);
  }

  static Access element_of(BufferId id, Affine at) { return Access{id, {Subscript{std::move(at), nullptr, {}, {}}}}; }

  NodeId moved(const Access& dst, const Access& src, Guard valid = guard_all({})) {
    Copy copy;
    copy.dst = dst;
    copy.src = src;
    copy.valid = std::move(valid);
    copy.fill.type = type_of(dst);
    return nest_.add(std::move(copy));
  }

  /// A cell to its register (or back) before (after) the loop, in vectors where it has lanes.
  NodeId moved(const PromotedCell& cell, bool is_load) {
    const auto move = [&](const Access& memory, const Access& in_register) {
      return is_load ? moved(in_register, memory) : moved(memory, in_register);
    };
    if (!cell.lanes) return move(cell.access, element_of(cell.buffer, Affine::of(0)));
    Loop lanes = lanes_loop(*cell.lanes);
    const Access memory = with(cell.access, cell.lanes->var, cell.first_lane + Affine::variable(lanes.var));
    lanes.body = move(memory, element_of(cell.buffer, Affine::variable(lanes.var)));
    return nest_.add(std::move(lanes));
  }

  /// The same lanes, counted from 0.
  Loop lanes_loop(const Loop& of) {
    Loop out = of;
    out.var = nest_.new_loop_var(nest_.loop_names[of.var - nest_.params.size()]);
    out.lo.of = {Affine::of(0)};
    out.hi.of = {Affine::of(of.mark.width)};
    return out;
  }

  /// May the first iterations read what was stored n iterations before the first? Step n + m is read by iteration m.
  static Guard is_read(const Chain& chain, size_t n, const Loop& loop, const Affine& first) {
    std::vector<Guard> any;
    for (size_t m = 0; n + m < chain.when.size(); ++m) {
      const Affine at = first + Affine::of(static_cast<int64_t>(m));
      for (const Guard& when : chain.when[n + m]) {
        std::vector<Guard> all = {substitute(when, {{loop.var, at}})};
        for (const Affine& hi : loop.hi.of)
          if (m > 0) all.push_back(guard_ge0(hi - at - Affine::of(1)));
        any.push_back(guard_all(std::move(all)));
      }
    }
    return guard_any(std::move(any));
  }

  Node rewritten(const Loop& loop, const std::vector<Statement>& statements, bool is_entered) {
    std::vector<BufferId> made;
    Seq parts, body;
    for (Chain& chain : chains_) {
      chain.buffer = make_register(chain.stored.id, ".c", static_cast<int64_t>(chain.before.size()) + 1);
      made.push_back(chain.buffer);
      for (size_t n = 0; n < chain.before.size(); ++n) {
        const Affine first = first_value(loop);
        const Access before = with(chain.before[n], loop.var, first);
        parts.children.push_back(
            moved(element_of(chain.buffer, Affine::of(static_cast<int64_t>(n) + 1)), before,
                  guard_all({is_within(before, nest_.buffers[before.id]), is_read(chain, n, loop, first)})));
      }
    }
    for (PromotedCell& cell : cells_) {
      cell.buffer = make_register(cell.access.id, ".c", cell.width());
      made.push_back(cell.buffer);
      parts.children.push_back(moved(cell, true));
    }
    for (size_t k = 0; k < statements.size();) k = add_group(statements, k, body);
    for (const Chain& chain : chains_)
      for (size_t n = chain.before.size(); n > 0; --n)
        body.children.push_back(moved(element_of(chain.buffer, Affine::of(static_cast<int64_t>(n))),
                                      element_of(chain.buffer, Affine::of(static_cast<int64_t>(n) - 1))));
    Loop inner = loop;
    inner.body = nest_.add(std::move(body));
    parts.children.push_back(nest_.add(std::move(inner)));
    for (const PromotedCell& cell : cells_) parts.children.push_back(moved(cell, false));
    NodeId node = nest_.add(std::move(parts));
    for (const BufferId buffer : made) node = nest_.add(Alloc{buffer, node});
    if (is_entered) return nest_.nodes[node];
    return If{has_iterations(loop), node, kNoNode};
  }

  /// Statements from number `k` on that stand in one vector loop, or one that stands in none. Gives the next number.
  size_t add_group(const std::vector<Statement>& statements, size_t k, Seq& body) {
    const auto lanes = statements[k].lanes;
    if (!lanes) {
      add(statements[k], k, {}, body);
      return k + 1;
    }
    Loop loop = lanes_loop(*lanes);
    Seq inside;
    size_t end = k;
    for (; end < statements.size() && statements[end].lanes == lanes; ++end)
      add(statements[end], end, {{lanes->var, statements[k].first_lane + Affine::variable(loop.var)}}, inside);
    loop.body = nest_.add(std::move(inside));
    body.children.push_back(nest_.add(std::move(loop)));
    return end;
  }

  void add(const Statement& statement, size_t k, const VariableValues& lanes, Seq& out) {
    Compute compute = substitute(statement.compute, statement.values);
    if (statement.lanes) context_.enter(*statement.lanes);
    for (Expr& rhs : compute.rhs) rhs = rewrite(rhs, [&](const Expr& e) { return replaced(e, statement, k); });
    const Chain* stored = nullptr;
    for (const Chain& chain : chains_)
      if (chain.statement == k) stored = &chain;
    for (size_t d = 0; d < compute.dst.size(); ++d) {
      if (stored) compute.dst[d] = element_of(stored->buffer, Affine::of(0));
      if (const PromotedCell* cell = cell_of(statement.stores[d], statement))
        compute.dst[d] = element_of(cell->buffer, lane_of(statement));
    }
    if (statement.lanes) context_.leave(*statement.lanes);
    compute = substitute(compute, lanes);
    out.children.push_back(nest_.add(std::move(compute)));
    if (stored) out.children.push_back(moved(stored->stored, element_of(stored->buffer, Affine::of(0))));
  }

  /// The register that holds what is read; null where it stays memory.
  Expr replaced(const Expr& e, const Statement& statement, size_t k) {
    if (e->op != Op::read) return nullptr;
    const Access access = context_.fold(e->access);
    for (const Chain& chain : chains_) {
      for (size_t n = 0; n < chain.before.size(); ++n)
        if (is_same_element(chain.before[n], access))
          return make_read(e->type, element_of(chain.buffer, Affine::of(static_cast<int64_t>(n) + 1)));
      if (chain.statement < k && is_same_element(chain.stored, access))
        return make_read(e->type, element_of(chain.buffer, Affine::of(0)));
    }
    const PromotedCell* cell = cell_of(access, statement);
    return cell ? make_read(e->type, element_of(cell->buffer, lane_of(statement))) : nullptr;
  }

  const PromotedCell* cell_of(const Access& access, const Statement& statement) {
    const auto has_buffer = [&](const PromotedCell& cell) { return cell.access.id == access.id; };
    if (std::none_of(cells_.begin(), cells_.end(), has_buffer)) return nullptr;
    PromotedCell cell{access, statement.lanes, statement.first_lane};
    const bool is_placed = place(context_, var_, cell);
    const auto found =
        std::find_if(cells_.begin(), cells_.end(), [&](const PromotedCell& each) { return each.is_same(cell); });
    PW_CHECK(is_placed && found != cells_.end());
    return &*found;
  }
  static Affine lane_of(const Statement& statement) {
    return statement.lanes ? Affine::variable(statement.lanes->var) - statement.first_lane : Affine::of(0);
  }

  LoopNest nest_;
  ScalarReplacement options_;
  LoopContext context_;
  VarId var_ = kNoVar;  ///< of the loop at hand
  std::vector<Chain> chains_;
  std::vector<PromotedCell> cells_;
};

}  // namespace

LoopNest replace_scalars(LoopNest nest, const ScalarReplacement& options) {
  return Replacer(std::move(nest), options).run();
}

}  // namespace polyweft::ir
