#include "poly/check/branches.h"

#include <algorithm>
#include <set>

#include "poly/check/bodies.h"
#include "poly/check/views.h"
#include "poly/coalesced.h"

namespace polyweft::poly::checker {
namespace {

constexpr size_t kFewConditions = 2;  // so many are soon met

/// Loops that run in order or in lanes, around stores.
bool is_plain(const LoopNest& nest, NodeId id) {
  const Node& node = nest.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    return std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return is_plain(nest, child); });
  if (const auto* branch = std::get_if<If>(&node))
    return is_plain(nest, branch->then) && (branch->otherwise == kNoNode || is_plain(nest, branch->otherwise));
  if (const auto* compute = std::get_if<Compute>(&node)) return compute->how == Write::store;
  const auto* loop = std::get_if<Loop>(&node);
  const bool is_known = loop && (loop->mark.kind == MarkKind::serial || loop->mark.kind == MarkKind::unroll ||
                                 loop->mark.kind == MarkKind::vector);
  return is_known && is_plain(nest, loop->body);
}

bool has_many_conditions(const Guard& g) {
  return g.kind == Guard::Kind::all && g.of.size() > kFewConditions;
}

/// Where b comes after a, of pairs { a -> b }. Nothing where the text does not tell.
std::optional<Map> in_this_order(Map pairs, const Statement& a, const Statement& b) {
  const auto parting = part(a, b);
  if (!parting) return std::nullopt;
  Map out(isl_map_empty(isl_map_get_space(pairs.get())));
  for (int level = 0; level < static_cast<int>(parting->shared); ++level) {
    out = unite(std::move(out), Map(isl_map_order_lt(pairs.copy(), isl_dim_in, level, isl_dim_out, level)));
    pairs = Map(isl_map_equate(pairs.take(), isl_dim_in, level, isl_dim_out, level));
  }
  if (!parting->is_same && parting->first_is_before) out = unite(std::move(out), std::move(pairs));
  return out;
}

/// The leaves of one branch with their points.
struct Side {
  LoopNest nest;
  Statements statements;
  std::vector<Map> points;  ///< { statement -> loops around the If.., indices of the equation }
};

class Twins {
 public:
  Twins(Context& context, const Program& program, const LoopNest& nest, std::vector<NodeId> path)
      : context_(context), program_(program), nest_(nest), path_(std::move(path)) {}

  bool are_same() {
    const If& branch = std::get<If>(nest_.nodes[path_.back()]);
    auto x = side(branch.then), y = side(branch.otherwise);
    if (!x || !y) return false;
    x_ = *std::move(x), y_ = *std::move(y);
    return use_same_cells() && have_same_points() && keep_order();
  }

 private:
  /// The nest with nothing but the way to this branch, its condition on top.
  std::optional<Side> side(NodeId root) {
    Side out{nest_, {}, {}};
    for (size_t k = 0; k + 1 < path_.size(); ++k) {
      Node& node = out.nest.nodes[path_[k]];
      if (std::get_if<Seq>(&node)) node = Seq{{path_[k + 1]}};
      if (auto* branch = std::get_if<If>(&node)) {
        if (branch->then != path_[k + 1])
          node = Seq{{path_[k + 1]}};  // the other branch may go as well
        else
          branch->otherwise = kNoNode;
      }
    }
    out.nest.nodes[path_.back()] = If{std::get<If>(nest_.nodes[path_.back()]).condition, root, kNoNode};
    out.nest.packs.clear();
    out.statements = statements_of(context_, out.nest);
    const std::set<NodeId> around(path_.begin(), path_.end());
    for (const Statement& s : out.statements.all) {
      const size_t outside = static_cast<size_t>(
          std::count_if(s.loops.begin(), s.loops.end(), [&](NodeId loop) { return around.count(loop) > 0; }));
      if (!s.compute || (outside_ && *outside_ != outside)) return std::nullopt;
      outside_ = outside;
      std::vector<Affine> point;
      for (VarId d = 0; d < outside; ++d) point.push_back(Affine::variable(d));
      for (const Affine& e : s.compute->instance) point.push_back(s.over_dims(e));
      out.points.push_back(
          restrict_domain(map_of(s.space, point, "E" + std::to_string(s.compute->equation)), s.domain));
    }
    return out;
  }

  // --- cells ---
  /// One buffer for each tensor, in both; what an equation reads as it is written; a cell for each element.
  bool use_same_cells() {
    std::map<TensorId, BufferId> buffers;
    for (const Side* side : {&x_, &y_})
      for (const Statement& s : side->statements.all) {
        std::set<TensorId> read, wanted;
        bool is_known = true;
        for_each_access(*s.compute, [&](const Access& access, bool writes) {
          const TensorId tensor = nest_.buffers[access.id].tensor;
          is_known = is_known && buffers.try_emplace(tensor, access.id).first->second == access.id;
          for (const Subscript& sub : access.index) is_known = is_known && !sub.data;
          if (!writes) read.insert(tensor);
        });
        visit(program_.equations[s.compute->equation].rhs, [&](const ExprNode& e) {
          if (e.op == Op::read) wanted.insert(e.access.id);
        });
        if (!is_known || read != wanted) return false;
      }
    std::set<BufferId> memory;  // buffers that share it would have to keep an order among each other, too
    for (const auto& [tensor, id] : buffers)
      if (!memory.insert(memory_of(id)).second) return false;
    return std::all_of(buffers.begin(), buffers.end(),
                       [&](const auto& known) { return has_one_cell_an_element(nest_.buffers[known.second]); });
  }

  BufferId memory_of(BufferId id) const {
    while (nest_.buffers[id].within) id = nest_.buffers[id].within->host;
    return id;
  }

  template <class F>
  static void for_each_access(const Compute& compute, const F& f) {
    for (const Access& dst : compute.dst) f(dst, true);
    for (const Expr& rhs : compute.rhs)
      visit(rhs, [&](const ExprNode& e) {
        if (e.op == Op::read) f(e.access, false);
      });
  }

  bool has_one_cell_an_element(const Buffer& buffer) const {
    const Space space = named_space(context_, "B", buffer.extents.size());
    std::map<VarId, Affine> cell;
    for (VarId p = 0; p < nest_.params.size(); ++p) cell[p] = Affine::of(nest_.params[p].value);
    for (VarId x = 0; x < buffer.extents.size(); ++x) cell[kCellVar + x] = Affine::variable(x);
    std::vector<Affine> element;
    for (const Affine& e : buffer.element) {
      std::vector<VarId> used;
      collect_variables(e, used);
      if (std::any_of(used.begin(), used.end(), [&](VarId v) { return !cell.count(v); })) return false;
      element.push_back(substitute(e, cell));
    }
    const Map elements = map_of(space, element, "T");
    return yes(isl_map_is_injective(elements.get()));
  }

  // --- points ---
  std::map<EquationId, Set> points_of(const Side& side) const {
    std::map<EquationId, Set> out;
    for (size_t k = 0; k < side.points.size(); ++k) {
      Set image = range_of(side.points[k]);
      if (is_empty(image)) continue;
      const auto [known, is_new] = out.try_emplace(side.statements.all[k].compute->equation, image);
      if (!is_new) known->second = unite(known->second, std::move(image));
    }
    return out;
  }

  bool have_same_points() const {
    for (size_t a = 0; a < x_.points.size(); ++a) {
      const Statement& s = x_.statements.all[a];
      if (!is_subset(
              s.domain,
              holds(domain_guard(program_.equations[s.compute->equation], indices_of(program_, s), false), s.space)))
        return false;
      if (!yes(isl_map_is_injective(x_.points[a].get()))) return false;
      for (size_t b = 0; b < a; ++b)
        if (x_.statements.all[b].compute->equation == s.compute->equation &&
            !is_empty(intersect(range_of(x_.points[a]), range_of(x_.points[b]))))
          return false;
    }
    const auto x = points_of(x_), y = points_of(y_);
    if (x.size() != y.size()) return false;
    return std::all_of(x.begin(), x.end(), [&](const auto& mine) {
      const auto other = y.find(mine.first);
      return other != y.end() && is_subset(mine.second, other->second) && is_subset(other->second, mine.second);
    });
  }

  // --- order ---
  bool keep_order() const {
    for (size_t a = 0; a < x_.points.size(); ++a)
      for (size_t b = 0; b < x_.points.size(); ++b) {
        auto meet = meetings(x_.statements.all[a], x_.statements.all[b]);
        if (!meet) return false;
        auto before = in_this_order(*std::move(meet), x_.statements.all[a], x_.statements.all[b]);
        if (!before) return false;
        if (is_empty(*before)) continue;
        const Map pairs = coalesced(compose(reverse(x_.points[a]), compose(*std::move(before), x_.points[b])));
        if (is_reversed(pairs, x_.statements.all[a].compute->equation, x_.statements.all[b].compute->equation))
          return false;
      }
    return true;
  }

  /// Whether in the second branch the later of some pair of points may come before the earlier.
  bool is_reversed(const Map& pairs, EquationId first, EquationId second) const {
    for (size_t p = 0; p < y_.points.size(); ++p)
      for (size_t q = 0; q < y_.points.size(); ++q) {
        const Statement &s = y_.statements.all[p], &t = y_.statements.all[q];
        if (s.compute->equation != first || t.compute->equation != second) continue;
        const auto wrong = in_this_order(reverse(compose(y_.points[p], compose(pairs, reverse(y_.points[q])))), t, s);
        if (!wrong || !is_empty(*wrong)) return true;
      }
    return false;
  }

  /// { a -> b : in one run of the If, accesses to one place of memory, one of them a write }; nothing where cells are
  /// not known.
  std::optional<Map> meetings(const Statement& a, const Statement& b) const {
    Space pairs(isl_space_map_from_domain_and_range(a.space.copy(), b.space.copy()));
    Map out(isl_map_empty(pairs.copy()));
    bool is_known = true;
    for_each_access(*a.compute, [&](const Access& mine, bool writes) {
      for_each_access(*b.compute, [&](const Access& other, bool also_writes) {
        if (mine.id != other.id || !(writes || also_writes) || !is_known) return;
        const auto x = view_of(x_.nest, x_.statements, a.number, mine),
                   y = view_of(x_.nest, x_.statements, b.number, other);
        is_known = x && y;
        if (is_known) out = unite(std::move(out), one_place(*x, *y, mine.id, pairs));
      });
    });
    if (!is_known) return std::nullopt;
    return out;
  }

  Map one_place(const View& a, const View& b, BufferId id, const Space& pairs) const {
    const std::map<VarId, Affine> shifted = dimensions_after(a, b);
    std::vector<Guard> same;
    for (VarId d = 0; d < *outside_; ++d) same.push_back(guard_eq0(Affine::variable(d) - shifted.at(d)));
    for (size_t x = 0; x < a.cell.size(); ++x) {
      const Affine apart = a.cell[x] - substitute(b.cell[x], shifted);
      int64_t window = 0;
      for (const Fold& fold : nest_.buffers[id].folds)
        if (x == x_.statements.prefix[id] + fold.dim) window = fold.window;
      if (window == 0)
        same.push_back(guard_eq0(apart));
      else if (window > 1)
        same.push_back(guard_eq0(modulo(apart, window)));
    }
    const Space flat(isl_space_wrap(pairs.copy()));
    const Map meet(isl_set_unwrap(holds(guard_all(std::move(same)), flat).take()));
    return restrict_range(restrict_domain(meet, a.s->domain), b.s->domain);
  }

  Context& context_;
  const Program& program_;
  const LoopNest& nest_;
  std::vector<NodeId> path_;  ///< from the root to the If
  Side x_, y_;
  std::optional<size_t> outside_ = std::nullopt;  ///< dimensions of the loops around the If
};

class Simplifier {
 public:
  Simplifier(Context& context, const Program& program, const LoopNest& nest)
      : context_(context), program_(program), out_{nest, nest} {}

  std::optional<Simplified> run() {
    walk(out_.general.root);
    if (!has_changed_) return std::nullopt;
    return std::move(out_);
  }

 private:
  /// Branches inside a branch first.
  void walk(NodeId id) {
    path_.push_back(id);
    const Node node = out_.general.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) walk(child);
    if (const auto* loop = std::get_if<Loop>(&node)) walk(loop->body);
    if (const auto* alloc = std::get_if<Alloc>(&node)) walk(alloc->body);
    if (const auto* branch = std::get_if<If>(&node)) {
      walk(branch->then);
      if (branch->otherwise != kNoNode) {
        walk(branch->otherwise);
        compare(id, *branch);
      }
    }
    path_.pop_back();
  }

  void compare(NodeId id, const If& branch) {
    if (!has_many_conditions(branch.condition) || !is_plain(out_.general, branch.then) ||
        !is_plain(out_.general, branch.otherwise))
      return;
    if (!Twins(context_, program_, out_.general, path_).are_same()) return;
    out_.general.nodes[id] = Seq{{branch.otherwise}};
    If first =
        std::get<If>(out_.special.nodes[id]);  // the second stays beside it: branches inside it may have gone, too
    first.otherwise = kNoNode;
    const NodeId alone = out_.special.add(first);
    out_.special.nodes[id] = Seq{{alone, branch.otherwise}};
    has_changed_ = true;
  }

  Context& context_;
  const Program& program_;
  Simplified out_;
  std::vector<NodeId> path_;
  bool has_changed_ = false;
};

}  // namespace

std::optional<Simplified> without_twin_branches(Context& context, const Program& program, const LoopNest& nest) {
  return Simplifier(context, program, nest).run();
}

}  // namespace polyweft::poly::checker
