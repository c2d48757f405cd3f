#include "poly/check/statements.h"

#include <algorithm>

#include "ir/nests/axes.h"
#include "poly/coalesced.h"

namespace polyweft::poly::checker {
namespace {

class Collector {
 public:
  Collector(Context& context, const LoopNest& nest)
      : context_(context), nest_(nest), with_sync_(ir::nodes_with_sync(nest)) {
    out_.prefix.assign(nest.buffers.size(), 0);
    out_.around.resize(nest.buffers.size());
    for (VarId p = 0; p < nest.params.size(); ++p) dims_[p] = Affine::of(nest.params[p].value);
    time_.push_back(Affine::of(0));
  }

  Statements whole() {
    for (const Pack& pack : nest_.packs) node(pack.root);
    node(nest_.root);
    return std::move(out_);
  }

 private:
  void node(NodeId id) {
    bool by_each = !threads_.empty() && !with_sync_[id];
    if (!by_each) return std::visit([&](const auto& n) { put(id, n); }, nest_.nodes[id]);
    std::vector<Affine> threads = std::move(threads_);
    threads_.clear();
    for (const Affine& thread : threads) enter(thread);
    std::visit([&](const auto& n) { put(id, n); }, nest_.nodes[id]);
    for (size_t k = 0; k < threads.size(); ++k) leave();
    threads_ = std::move(threads);
  }
  void enter(Affine when) {
    time_.push_back(std::move(when));
    time_.push_back(Affine::of(0));
  }
  void leave() {
    time_.pop_back();
    time_.pop_back();
    step_position();
  }
  void put(NodeId, const Seq& seq) {
    for (NodeId child : seq.children) node(child);
  }
  void put(NodeId, const If& branch) {
    Guard condition = substitute(branch.condition, dims_);
    guards_.push_back(condition);
    node(branch.then);
    guards_.back() = guard_not(condition);
    if (branch.otherwise != kNoNode) node(branch.otherwise);
    guards_.pop_back();
  }
  void put(NodeId, const Alloc& alloc) {
    out_.prefix[alloc.buffer] = loops_.size();
    out_.around[alloc.buffer] = loops_;
    node(alloc.body);
  }
  void put(NodeId, const Sync& sync) {
    if (sync.is_of_copies()) return;  // ir::verify_arrivals()
    out_.barriers.push_back(place(out_.barriers.size(), "Y"));
    step_position();
  }

  void put(NodeId id, const Loop& loop) {
    Bound lo = loop.lo, hi = loop.hi;
    for (Affine& e : lo.of) e = substitute(e, dims_);
    for (Affine& e : hi.of) e = substitute(e, dims_);
    size_t guards = guards_.size();
    if (runs_once(lo, hi, loop.step)) {
      dims_[loop.var] = lo.of[0];
      inside(loop, Affine::of(0));
    } else {
      bind(loop, lo, hi);
      loops_.push_back(id);
      inside(loop, Affine::variable(static_cast<VarId>(loops_.size() - 1)));
      loops_.pop_back();
    }
    guards_.resize(guards);
    dims_.erase(loop.var);
  }

  static bool runs_once(const Bound& lo, const Bound& hi, int64_t step) {
    if (lo.of.size() != 1 || hi.of.size() != 1) return false;
    Affine extent = hi.of[0] - lo.of[0];
    return extent.is_constant() && extent.constant > 0 && extent.constant <= step;
  }

  /// The dimension counts iterations from the first lower bound where all lower bounds differ by multiples of the step;
  /// else it is the variable itself, and which bound the iterations start at is a case each.
  void bind(const Loop& loop, const Bound& lo, const Bound& hi) {
    Affine counter = Affine::variable(static_cast<VarId>(loops_.size()));
    bool counts = loop.step > 1;
    for (const Affine& e : lo.of) counts = counts && is_multiple(e - lo.of[0], loop.step);
    Affine var = counts ? lo.of[0] + loop.step * counter : counter;
    dims_[loop.var] = var;
    for (const Affine& e : lo.of) guards_.push_back(guard_ge0(counts && e == lo.of[0] ? counter : var - e));
    for (const Affine& e : hi.of) guards_.push_back(guard_ge0(e - var - Affine::of(1)));
    if (!counts && loop.step > 1) guards_.push_back(on_steps(var, lo, loop.step));
  }

  static bool is_multiple(const Affine& e, int64_t factor) {
    return e.constant % factor == 0 &&
           std::all_of(e.terms.begin(), e.terms.end(), [&](const Term& t) { return t.coeff % factor == 0; });
  }

  /// var is the greatest lower bound plus a multiple of the step.
  static Guard on_steps(const Affine& var, const Bound& lo, int64_t step) {
    std::vector<Guard> starts;
    for (const Affine& start : lo.of) {
      std::vector<Guard> all{guard_eq0(modulo(var - start, step))};
      for (const Affine& other : lo.of)
        if (!(other == start)) all.push_back(guard_ge0(start - other));
      starts.push_back(guard_all(std::move(all)));
    }
    return guard_any(std::move(starts));
  }

  /// The iterations of a loop over threads take turns between its barriers.
  void inside(const Loop& loop, Affine when) {
    if (ir::is_thread_axis(loop) && with_sync_[loop.body]) {
      threads_.push_back(std::move(when));
      node(loop.body);
      threads_.pop_back();
      return;
    }
    enter(std::move(when));
    node(loop.body);
    leave();
  }

  void step_position() { time_.back().constant += 1; }

  void put(NodeId, const Compute& c) { leaf(&c, nullptr); }
  void put(NodeId, const Copy& c) { leaf(nullptr, &c); }

  void leaf(const Compute* compute, const Copy* copy) {
    Statement s = place(out_.all.size(), "S");
    s.compute = compute;
    s.copy = copy;
    if (!is_empty(s.domain)) out_.all.push_back(std::move(s));
    step_position();
  }

  Statement place(size_t number, const char* tuple) {
    Space space = named_space(context_, tuple + std::to_string(number), loops_.size());
    Set domain(isl_set_universe(space.copy()));
    for (const Guard& g : guards_) domain = intersect(std::move(domain), holds(g, space));
    if (isl_set_n_basic_set(domain.get()) > 1)
      domain = coalesced(std::move(domain));  // what is left is asked about piece by piece, and pair by pair
    return {number,
            nullptr,
            nullptr,
            loops_,
            dims_,
            time_,
            linear_parts(Guard::Kind::eq0),
            linear_parts(Guard::Kind::ge0),
            std::move(domain),
            std::move(space)};
  }

  /// What the conditions around say of linear expressions, all at once.
  std::vector<Affine> linear_parts(Guard::Kind kind) const {
    std::vector<Affine> out;
    for (const Guard& g : guards_) add_parts(g, kind, out);
    return out;
  }
  static void add_parts(const Guard& g, Guard::Kind kind, std::vector<Affine>& out) {
    if (g.kind == kind && g.e.is_linear() && !g.e.terms.empty()) out.push_back(g.e);
    if (g.kind == Guard::Kind::all)
      for (const Guard& part : g.of) add_parts(part, kind, out);
    if (g.kind == Guard::Kind::negation && g.of[0].kind == Guard::Kind::ge0 && kind == Guard::Kind::ge0)
      add_parts(guard_ge0(Affine::of(-1) - g.of[0].e), kind, out);
  }

  Context& context_;
  const LoopNest& nest_;
  Statements out_;
  std::map<VarId, Affine> dims_;
  std::vector<Guard> guards_;
  std::vector<NodeId> loops_;
  std::vector<Affine> time_;
  std::vector<bool> with_sync_;
  std::vector<Affine> threads_;  ///< dimensions of loops around whose iterations come after the position
};

std::vector<Coordinate> with_prefix(size_t prefix, std::vector<Coordinate> cell) {
  std::vector<Coordinate> all;
  for (VarId d = 0; d < prefix; ++d) all.push_back({Affine::variable(d), {}, false});
  all.insert(all.end(), cell.begin(), cell.end());
  return all;
}

}  // namespace

Statements statements_of(Context& context, const LoopNest& nest) {
  return Collector(context, nest).whole();
}

std::vector<Coordinate> logical_cell(const Statement& s, const Access& access) {
  std::vector<Coordinate> cell;
  for (const Subscript& sub : access.index) {
    Affine base = s.over_dims(sub.affine);
    if (!sub.data)
      cell.push_back({base, {}, false});
    else
      cell.push_back({base + s.over_dims(sub.lo), base + s.over_dims(sub.hi), true});
  }
  return cell;
}

/// { B -> B } that folds the dimensions of `folds`.
static Map fold_of(const Space& buffer, size_t prefix, const std::vector<Fold>& folds) {
  std::vector<Coordinate> cell;
  auto rank = static_cast<VarId>(size(isl_space_dim(buffer.get(), isl_dim_set)));
  for (VarId d = 0; d < rank; ++d) cell.push_back({Affine::variable(d), {}, false});
  for (const Fold& fold : folds) cell[prefix + fold.dim].first = modulo(cell[prefix + fold.dim].first, fold.window);
  return map_of(buffer, cell, isl_space_get_tuple_name(buffer.get(), isl_dim_set));
}

/// Of the cells a gather may read, no two lie in one physical cell: then the last writer of each tells the logical
/// cell.
static void require_apart(const Statement& s, const Coordinate& gathered, const Fold& fold, const std::string& buffer) {
  Affine room = gathered.first + Affine::of(fold.window - 1) - gathered.last;
  bool fits = room.is_constant() ? room.constant >= 0
                                 : is_empty(intersect(s.domain, holds(guard_ge0(Affine::of(-1) - room), s.space)));
  if (!fits)
    throw Undecided{"a gather over more than the " + std::to_string(fold.window) +
                    " cells that a folded dimension of " + buffer + " has"};
}

Map physical_cells(const Statement& s, const LoopNest& nest, const Statements& statements, const Access& access) {
  const Buffer& buffer = nest.buffers[access.id];
  const size_t prefix = statements.prefix[access.id];
  std::vector<Coordinate> cell = logical_cell(s, access);
  std::vector<Fold> later;
  for (const Fold& fold : buffer.folds) {
    if (buffer.extents[fold.dim] <= fold.window) continue;
    if (cell[fold.dim].is_interval) {
      require_apart(s, cell[fold.dim], fold, buffer.name);
      later.push_back(fold);
      continue;
    }
    cell[fold.dim].first = modulo(cell[fold.dim].first, fold.window);
  }
  Map cells = map_of(s.space, with_prefix(prefix, cell), "B" + std::to_string(access.id));
  if (later.empty()) return cells;
  Space space(isl_space_range(isl_map_get_space(cells.get())));
  return compose(std::move(cells), fold_of(space, prefix, later));
}

Map logical_cells(const Statement& s, const Statements& statements, const Access& access) {
  return map_of(s.space, with_prefix(statements.prefix[access.id], logical_cell(s, access)),
                "B" + std::to_string(access.id));
}

}  // namespace polyweft::poly::checker
