#include "ir/passes/batch_lanes.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/nests/row_walk.h"
#include "ir/nests/walk_nest.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kLongestUnrolled = 32;
constexpr int64_t kMostPoints = 1536;  // unrolled computations of a block

/// A loop of the batch: counted, with numbers for bounds.
struct Level {
  VarId var = kNoVar;
  int64_t lo = 0, hi = 0;
  bool is_same(const Level& other) const { return lo == other.lo && hi == other.hi; }
};

/// A nest of the run: its outer loops, and what they repeat.
struct Member {
  std::vector<Level> levels;
  std::vector<NodeId> bodies;  ///< bodies[d]: inside the first d + 1 loops
};

struct Run {
  std::vector<NodeId> before, after;
  std::vector<Member> members;
  size_t depth = 0;  ///< the last of so many levels is the lanes'
};

NodeId inside_single(const LoopNest& nest, NodeId id) {
  while (const auto* seq = std::get_if<Seq>(&nest.nodes[id])) {
    if (seq->children.size() != 1) return id;
    id = seq->children[0];
  }
  return id;
}

std::optional<Level> level_of(const LoopNest& nest, NodeId id) {
  const auto* loop = std::get_if<Loop>(&nest.nodes[id]);
  if (!loop || loop->mark.kind != MarkKind::serial || loop->step != 1 || loop->lo.of.size() != 1 ||
      loop->hi.of.size() != 1)
    return std::nullopt;
  const auto value = [&](const Affine& e) -> std::optional<int64_t> {
    Affine number = e;
    for (ParamId p = 0; p < nest.params.size(); ++p)
      number = substitute(number, {{p, Affine::of(nest.params[p].value)}});
    return number.is_constant() ? std::optional(number.constant) : std::nullopt;
  };
  const auto lo = value(loop->lo.of[0]), hi = value(loop->hi.of[0]);
  return lo && hi ? std::optional(Level{loop->var, *lo, *hi}) : std::nullopt;
}

Member member_of(const LoopNest& nest, NodeId id) {
  Member out;
  for (;;) {
    id = inside_single(nest, id);
    const auto level = level_of(nest, id);
    if (!level) return out;
    out.levels.push_back(*level);
    id = std::get<Loop>(nest.nodes[id]).body;
    out.bodies.push_back(id);
  }
}

class Batcher {
 public:
  Batcher(const LoopNest& nest, const BatchStep& step) : in_(nest), out_(nest), step_(step), lanes_(step.lanes) {
    out_.nodes.clear();
  }

  Result<LoopNest> run() {
    gather_allocs(in_.root);
    if (auto found = find_run(); !found) return found.error();
    if (auto apart = find_depth(); !apart) return apart.error();
    sort_buffers();
    NodeId root = assembled();
    for (Pack& pack : out_.packs) pack.root = copied(pack.root);
    if (differs_by_lane_) return refused("a loop has bounds that differ from element to element of the batch");
    if (points_ > kMostPoints)
      return refused("an element of the batch has " + std::to_string(points_) + " unrolled computations, at most " +
                     std::to_string(kMostPoints));
    for (size_t k = allocs_.size(); k-- > 0;)
      if (!is_local_[allocs_[k]]) root = out_.add(Alloc{allocs_[k], root});
    out_.root = root;
    return std::move(out_);
  }

 private:
  Error refused(const std::string& what) const {
    return fail("PW0304", print(Step{step_}) + ": " + what, {"take the step batch out of the trace"});
  }

  void gather_allocs(NodeId id) {
    id = inside_single(in_, id);
    if (const auto* alloc = std::get_if<Alloc>(&in_.nodes[id])) {
      allocs_.push_back(alloc->buffer);
      return gather_allocs(alloc->body);
    }
    if (const auto* seq = std::get_if<Seq>(&in_.nodes[id]))
      for (NodeId child : seq->children) top_.push_back(child);
    else
      top_.push_back(id);
  }

  // The longest run of neighbours whose outermost loops walk the same numbers.
  Status find_run() {
    std::vector<Member> members;
    for (NodeId child : top_) members.push_back(member_of(in_, child));
    size_t best = 0, best_end = 0;
    for (size_t first = 0; first < members.size();) {
      size_t end = first + 1;
      const auto goes_on = [&] {
        return !members[first].levels.empty() && !members[end].levels.empty() &&
               members[end].levels[0].is_same(members[first].levels[0]);
      };
      while (end < members.size() && goes_on()) ++end;
      if (!members[first].levels.empty() && end - first > best_end - best) best = first, best_end = end;
      first = end;
    }
    if (best == best_end) return refused("no nest begins with a loop whose bounds are numbers");
    run_.before.assign(top_.begin(), top_.begin() + static_cast<std::ptrdiff_t>(best));
    run_.after.assign(top_.begin() + static_cast<std::ptrdiff_t>(best_end), top_.end());
    run_.members.assign(members.begin() + static_cast<std::ptrdiff_t>(best),
                        members.begin() + static_cast<std::ptrdiff_t>(best_end));
    return Ok{};
  }

  Status find_depth() {
    size_t most = SIZE_MAX;
    for (const Member& m : run_.members) {
      size_t same = 0;
      while (same < m.levels.size() && same < run_.members[0].levels.size() &&
             m.levels[same].is_same(run_.members[0].levels[same]))
        ++same;
      most = std::min(most, same);
    }
    run_.depth = 0;
    while (run_.depth < most && are_apart_along(run_.depth)) ++run_.depth;
    if (run_.depth == 0) return refused("elements along the outermost loop may need each other");
    const auto extent = [&](size_t level) {
      return run_.members[0].levels[level].hi - run_.members[0].levels[level].lo;
    };
    while (run_.depth > 0 && extent(run_.depth - 1) < lanes_) --run_.depth;
    if (run_.depth == 0) return refused("no outer loop that all statements share has so many iterations");
    return Ok{};
  }

  template <class F>
  void visit_member(const Member& m, const F& f) const {
    visit_accesses(in_, m.bodies.empty() ? kNoNode : m.bodies[0], f);
  }

  /// Of all that the run writes each access has the loop's variable alone in one subscript, the same for all. Notes
  /// which.
  bool are_apart_along(size_t level) {
    std::map<BufferId, std::set<size_t>> dims;
    std::set<BufferId> written;
    for (const Member& m : run_.members)
      visit_member(m, [&](const Access& access, bool is_write) {
        if (is_write) written.insert(access.id);
        std::set<size_t> own;
        for (size_t d = 0; d < access.index.size(); ++d)
          if (!access.index[d].data && access.index[d].affine == Affine::variable(m.levels[level].var)) own.insert(d);
        auto [known, is_new] = dims.emplace(access.id, own);
        if (!is_new) std::erase_if(known->second, [&](size_t d) { return own.count(d) == 0; });
      });
    std::map<BufferId, size_t> chosen;
    for (BufferId id : written) {
      if (dims[id].empty()) return false;
      chosen[id] = *dims[id].begin();
    }
    dims_.push_back(std::move(chosen));
    return true;
  }

  /// Locals that nothing outside of the run touches.
  void sort_buffers() {
    is_local_.assign(in_.buffers.size(), false);
    std::set<BufferId> outside;
    for (const auto* nodes : {&run_.before, &run_.after})
      for (NodeId id : *nodes) visit_accesses(in_, id, [&](const Access& access, bool) { outside.insert(access.id); });
    for (BufferId id : allocs_) is_local_[id] = dims_[0].count(id) > 0 && outside.count(id) == 0;
    for (Buffer& b : out_.buffers) b.within.reset();  // lifetimes overlap now
  }

  NodeId assembled() {
    const Level lanes = run_.members[0].levels[run_.depth - 1];
    const int64_t whole = (lanes.hi - lanes.lo) / lanes_ * lanes_;
    Seq all;
    for (NodeId id : run_.before) all.children.push_back(copied(id));
    all.children.push_back(blocks(lanes.lo, lanes.lo + whole, lanes_));
    if (lanes.lo + whole < lanes.hi) all.children.push_back(blocks(lanes.lo + whole, lanes.hi, 1));
    for (NodeId id : run_.after) all.children.push_back(copied(id));
    return out_.add(std::move(all));
  }

  std::string name_of(VarId var) const { return in_.loop_names[var - in_.params.size()]; }

  /// The batch's loops, and in them `width` elements at once.
  NodeId blocks(int64_t lo, int64_t hi, int64_t width) {
    const std::vector<Level>& levels = run_.members[0].levels;
    width_ = width;
    own_.clear();
    index_.clear();
    std::vector<Loop> loops;
    for (size_t d = 0; d < run_.depth; ++d) {
      const bool is_last = d + 1 == run_.depth;
      Loop loop;
      loop.var = out_.new_loop_var(name_of(levels[d].var) + (is_last && width > 1 ? ".1" : ""));
      loop.lo = {{Affine::of(is_last ? lo : levels[d].lo)}};
      loop.hi = {{Affine::of(is_last ? hi : levels[d].hi)}};
      loop.step = is_last ? width : 1;
      index_.push_back(Affine::variable(loop.var));
      loops.push_back(std::move(loop));
    }
    first_ = index_.back();
    lane_ = kNoVar;
    if (width > 1) {
      lane_ = out_.new_loop_var(name_of(levels[run_.depth - 1].var));
      index_.back() = first_ + Affine::variable(lane_);
    }
    NodeId node = statements();
    if (width > 1) node = out_.add(lanes_around(node));
    for (auto at = own_.rbegin(); at != own_.rend(); ++at) node = out_.add(Alloc{*at, node});
    for (size_t d = loops.size(); d-- > 0;) {
      loops[d].body = node;
      node = d == 0 && step_.parts > 1 ? in_parts(std::move(loops[d])) : out_.add(std::move(loops[d]));
    }
    return node;
  }

  /// Elements of the batch need nothing of each other, so parts of it may run at once.
  NodeId in_parts(Loop loop) {
    const int64_t lo = loop.lo.of[0].constant, hi = loop.hi.of[0].constant,
                  blocks = (hi - lo + loop.step - 1) / loop.step;
    if (blocks < step_.parts) return out_.add(std::move(loop));
    Loop part = loop;
    part.var = out_.new_loop_var(out_.loop_names[loop.var - out_.params.size()] + ".p");
    part.step = (blocks + step_.parts - 1) / step_.parts * loop.step;
    part.mark.kind = MarkKind::parallel;
    loop.lo = {{Affine::variable(part.var)}};
    loop.hi = {{Affine::variable(part.var) + Affine::of(part.step), Affine::of(hi)}};
    part.body = out_.add(std::move(loop));
    return out_.add(std::move(part));
  }

  Loop lanes_around(NodeId body) const {
    Loop out;
    out.var = lane_;
    out.lo = {{Affine::of(0)}};
    out.hi = {{Affine::of(width_)}};
    out.mark.kind = MarkKind::vector;
    out.mark.width = static_cast<int32_t>(width_);
    out.body = body;
    return out;
  }

  NodeId statements() {
    local_of_.clear();
    for (BufferId id : allocs_)
      if (is_local_[id]) local_of_[id] = local_buffer(id, out_.buffers[id].name);
    Seq all;
    for (const Member& m : run_.members) {
      std::map<VarId, Affine> at;
      for (size_t d = 0; d < run_.depth; ++d) at[m.levels[d].var] = index_[d];
      const NodeId body = m.bodies[run_.depth - 1];
      const auto sums = sums_in_outputs(body);
      for (BufferId id : sums) local_of_[id] = local_buffer(id, out_.buffers[id].name + ".b");
      all.children.push_back(unrolled(body, at, 1));
      for (BufferId id : sums) {
        const BufferId from = local_of_[id];
        local_of_.erase(id);
        all.children.push_back(copied_out(body, at, id, from));
      }
    }
    return out_.add(std::move(all));
  }

  /// Outputs that this statement folds into: their sums are made in registers.
  std::vector<BufferId> sums_in_outputs(NodeId body) const {
    std::set<BufferId> out;
    walk_nodes(in_, body, [&](const Node& node) {
      if (const auto* compute = std::get_if<Compute>(&node); compute && compute->how != Write::store)
        for (const Access& dst : compute->dst)
          if (!is_local_[dst.id]) out.insert(dst.id);
      return true;
    });
    return {out.begin(), out.end()};
  }

  /// What one block needs of the buffer: no other elements of the batch, lanes side by side.
  BufferId local_buffer(BufferId id, const std::string& name) {
    Buffer b = in_.buffers[id];
    b.name = width_ > 1 ? name : name + ".r";
    b.is_output = false;
    b.within.reset();
    b.values.reset();
    b.folds.clear();
    b.align_bytes = kLineBytes;
    size_t lane_dim = 0;
    for (size_t d = 0; d < run_.depth; ++d) {
      const size_t dim = dims_[d].at(id);
      const bool is_last = d + 1 == run_.depth;
      if (is_last) lane_dim = dim;
      b.extents[dim] = is_last ? width_ : 1;
      std::map<VarId, Affine> at = {
          {static_cast<VarId>(kCellVar + dim),
           Affine::variable(static_cast<VarId>(kCellVar + dim)) + (is_last ? first_ : index_[d])}};
      for (Affine& e : b.element) e = substitute(e, at);
    }
    b.layout = {};
    for (size_t d = 0; d < b.extents.size(); ++d)
      if (d != lane_dim) b.layout.pieces.push_back({static_cast<uint32_t>(d), b.extents[d]});
    b.layout.pieces.push_back({static_cast<uint32_t>(lane_dim), b.extents[lane_dim]});
    b.scope = width_ > 1 && !is_walked_serially(id) ? Scope::reg : Scope::stack;
    out_.buffers.push_back(std::move(b));
    own_.push_back(static_cast<BufferId>(out_.buffers.size() - 1));
    return own_.back();
  }

  /// Does a loop that is not unrolled move along the buffer, or do lanes in another dimension than theirs (T[i, i /
  /// 2])?
  bool is_walked_serially(BufferId id) const {
    bool out = false;
    std::set<size_t> batch_dims;
    for (size_t d = 0; d < run_.depth; ++d) batch_dims.insert(dims_[d].at(id));
    for (const Member& m : run_.members) {
      std::set<VarId> serial, batch;
      for (size_t d = 0; d < run_.depth; ++d) batch.insert(m.levels[d].var);
      walk_nodes(in_, m.bodies[run_.depth - 1], [&](const Node& node) {
        if (const auto* loop = std::get_if<Loop>(&node); loop && !is_short(*loop)) serial.insert(loop->var);
        return true;
      });
      visit_accesses(in_, m.bodies[run_.depth - 1], [&](const Access& access, bool) {
        if (access.id != id) return;
        for (size_t k = 0; k < access.index.size(); ++k) {
          std::vector<VarId> used;
          collect_variables(access.index[k].affine, used);
          out |= access.index[k].data != nullptr || std::any_of(used.begin(), used.end(), [&](VarId v) {
                   return serial.count(v) > 0 || (batch.count(v) > 0 && batch_dims.count(k) == 0);
                 });
        }
      });
    }
    return out;
  }

  /// Unrolled whole: few iterations, whatever those of short loops around it are.
  bool is_short(const Loop& loop) const { return trips_of(loop) <= kLongestUnrolled; }

  int64_t trips_of(const Loop& loop) const {
    if (loop.mark.kind != MarkKind::serial || loop.step != 1 || loop.lo.of.size() != 1 || loop.hi.of.size() != 1)
      return INT64_MAX;
    const auto range = ranges_.find(loop.var);
    if (range != ranges_.end()) return range->second.second - range->second.first;
    const auto lo = least(loop.lo.of[0]), hi = least(Affine::of(0) - loop.hi.of[0]);
    if (!lo || !hi) return INT64_MAX;
    ranges_[loop.var] = {*lo, std::max(*lo, -*hi)};
    return std::max<int64_t>(0, -*hi - *lo);
  }

  /// The least value of a sum of variables of loops whose bounds are known.
  std::optional<int64_t> least(const Affine& e) const {
    int64_t out = e.constant;
    for (const Term& term : e.terms) {
      if (term.quasi) return std::nullopt;
      if (term.var < in_.params.size()) {
        out += term.coeff * in_.params[term.var].value;
        continue;
      }
      const auto range = ranges_.find(term.var);
      if (range == ranges_.end()) return std::nullopt;
      out += term.coeff * (term.coeff > 0 ? range->second.first : range->second.second - 1);
    }
    return out;
  }

  Access moved(const Access& access, const std::map<VarId, Affine>& at) const {
    Access out = access;
    for (Subscript& s : out.index) {
      s.affine = substitute(s.affine, at);
      s.lo = substitute(s.lo, at);
      s.hi = substitute(s.hi, at);
    }
    return local(std::move(out));
  }

  /// The element of the block's own buffer, where there is one.
  Access local(Access access) const {
    const auto found = local_of_.find(access.id);
    if (found == local_of_.end()) return access;
    for (size_t d = 0; d < run_.depth; ++d) {
      Affine& index = access.index[dims_[d].at(access.id)].affine;
      index = index - (d + 1 == run_.depth ? first_ : index_[d]);
    }
    access.id = found->second;
    return access;
  }

  Expr moved(const Expr& e, const std::map<VarId, Affine>& at) const {
    return rewrite(substitute(e, at), [&](const Expr& node) -> Expr {
      if (node->op != Op::read || !local_of_.count(node->access.id)) return nullptr;
      auto out = std::make_shared<ExprNode>(*node);
      out->access = local(node->access);
      return out;
    });
  }

  Compute moved(const Compute& compute, const std::map<VarId, Affine>& at) const {
    Compute out = compute;
    for (Affine& e : out.instance) e = substitute(e, at);
    for (Access& dst : out.dst) dst = moved(dst, at);
    for (Expr& e : out.rhs) e = moved(e, at);
    return out;
  }

  static Loop moved(const Loop& loop, const std::map<VarId, Affine>& at) {
    Loop out = loop;
    for (Bound* bound : {&out.lo, &out.hi})
      for (Affine& e : bound->of) e = substitute(e, at);
    return out;
  }

  /// The same with variables of its own, short loops unrolled. `times`: how often it is written out.
  NodeId unrolled(NodeId id, const std::map<VarId, Affine>& at, int64_t times) {
    const Node& node = in_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      Seq out;
      for (NodeId child : seq->children) out.children.push_back(unrolled(child, at, times));
      return out_.add(std::move(out));
    }
    if (const auto* loop = std::get_if<Loop>(&node))
      return around(*loop, at,
                    [&](const auto& inner, int64_t trips) { return unrolled(loop->body, inner, times * trips); });
    if (const auto* branch = std::get_if<If>(&node)) {
      If out{substitute(branch->condition, at), unrolled(branch->then, at, times), kNoNode};
      if (branch->otherwise != kNoNode) out.otherwise = unrolled(branch->otherwise, at, times);
      return out_.add(std::move(out));
    }
    if (const auto* compute = std::get_if<Compute>(&node)) {
      if (width_ > 1) points_ += times;
      return out_.add(moved(*compute, at));
    }
    if (const auto* copy = std::get_if<Copy>(&node)) {
      Copy out = *copy;
      out.dst = moved(copy->dst, at);
      if (copy->has_src) out.src = moved(copy->src, at);
      out.valid = substitute(copy->valid, at);
      if (width_ > 1) points_ += times;
      return out_.add(std::move(out));
    }
    if (const auto* alloc = std::get_if<Alloc>(&node))
      return out_.add(Alloc{alloc->buffer, unrolled(alloc->body, at, times)});
    return out_.add(std::get<Sync>(node));
  }

  template <class F>
  NodeId around(const Loop& loop, std::map<VarId, Affine> at, const F& inside) {
    Loop out = moved(loop, at);
    out.var = out_.new_loop_var(name_of(loop.var));
    at[loop.var] = Affine::variable(out.var);
    const bool is_unrolled = width_ > 1 && is_short(loop);
    if (is_unrolled) out.mark.kind = MarkKind::unroll;
    for (const Bound* bound : {&out.lo, &out.hi})
      for (const Affine& e : bound->of) differs_by_lane_ |= lane_ != kNoVar && mentions(e, lane_);
    out.body = inside(at, is_unrolled ? std::max<int64_t>(1, trips_of(loop)) : 1);
    return out.body == kNoNode ? kNoNode : out_.add(std::move(out));
  }

  /// For each first value of a sum: the sum goes where it belongs.
  NodeId copied_out(NodeId id, const std::map<VarId, Affine>& at, BufferId to, BufferId from) {
    const Node& node = in_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      Seq out;
      for (NodeId child : seq->children)
        if (const NodeId copy = copied_out(child, at, to, from); copy != kNoNode) out.children.push_back(copy);
      return out.children.empty() ? kNoNode : out_.add(std::move(out));
    }
    if (const auto* loop = std::get_if<Loop>(&node))
      return around(*loop, at, [&](const auto& inner, int64_t) { return copied_out(loop->body, inner, to, from); });
    if (const auto* branch = std::get_if<If>(&node)) {
      If out{substitute(branch->condition, at), copied_out(branch->then, at, to, from), kNoNode};
      if (branch->otherwise != kNoNode) out.otherwise = copied_out(branch->otherwise, at, to, from);
      if (out.then == kNoNode && out.otherwise == kNoNode) return kNoNode;
      if (out.then == kNoNode) out.then = out_.add(Seq{});
      return out_.add(std::move(out));
    }
    const auto* compute = std::get_if<Compute>(&node);
    if (!compute || compute->how != Write::init) return kNoNode;
    for (const Access& dst : compute->dst) {
      if (dst.id != to) continue;
      Copy copy;
      copy.dst = moved(dst, at);
      local_of_[to] = from;
      copy.src = moved(dst, at);
      local_of_.erase(to);
      return out_.add(std::move(copy));
    }
    return kNoNode;
  }

  /// What is not part of the run, as it is.
  NodeId copied(NodeId id) {
    Node node = in_.nodes[id];
    if (auto* seq = std::get_if<Seq>(&node))
      for (NodeId& child : seq->children) child = copied(child);
    if (auto* loop = std::get_if<Loop>(&node)) loop->body = copied(loop->body);
    if (auto* alloc = std::get_if<Alloc>(&node)) alloc->body = copied(alloc->body);
    if (auto* branch = std::get_if<If>(&node)) {
      branch->then = copied(branch->then);
      if (branch->otherwise != kNoNode) branch->otherwise = copied(branch->otherwise);
    }
    return out_.add(std::move(node));
  }

  static constexpr int64_t kLineBytes = 64;
  const LoopNest& in_;
  LoopNest out_;
  BatchStep step_;
  int64_t lanes_;
  std::vector<BufferId> allocs_;
  std::vector<NodeId> top_;
  Run run_;
  std::vector<std::map<BufferId, size_t>> dims_;  ///< by level: which subscript of a written buffer is its variable
  std::vector<bool> is_local_;
  mutable std::map<VarId, std::pair<int64_t, int64_t>> ranges_;  ///< of inner loops, half open
  int64_t points_ = 0;
  // of the blocks being written
  int64_t width_ = 1;
  std::vector<Affine> index_;  ///< of each level
  Affine first_;               ///< of the lanes
  VarId lane_ = kNoVar;
  bool differs_by_lane_ = false;
  std::vector<BufferId> own_;
  std::map<BufferId, BufferId> local_of_;
};

}  // namespace

Result<LoopNest> batch_lanes(const LoopNest& nest, const BatchStep& step) {
  return Batcher(nest, step).run();
}

}  // namespace polyweft::ir
