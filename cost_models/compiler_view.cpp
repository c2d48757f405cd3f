#include "cost_models/compiler_view.h"

#include <algorithm>
#include <map>

#include "ir/nests/row_walk.h"

namespace polyweft::cost {
namespace {

using ir::mentions;

constexpr int64_t kMostUnrolled = 16,
                  kMostPoints = 32;  // LLVM unrolls loops of known length whole while their bodies stay small

bool is_reduction(const Compute& compute) {
  return compute.how == Write::accumulate;
}

/// May the compiler change the order in which this sum, product or extreme is folded?
bool is_free_order(const Compute& compute, const LoopNest& nest) {
  switch (compute.reducer) {
    case Reducer::sum:
    case Reducer::prod:
      return !is_float(nest.buffers[compute.dst[0].id].type) || nest.cls == NumericsClass::reassoc;
    case Reducer::max:
    case Reducer::min:
    case Reducer::any:
    case Reducer::all:
      return true;
    default:
      return false;
  }
}

/// Everything that an innermost loop's body does. Empty where it holds something else.
struct Body {
  std::vector<const Compute*> computes;
  std::vector<const Copy*> copies;
  bool is_straight = true;
};

void collect(const LoopNest& nest, NodeId id, Body& out) {
  if (id == kNoNode) return;
  const Node& node = nest.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node)) {
    for (NodeId child : seq->children) collect(nest, child, out);
  } else if (const auto* branch = std::get_if<If>(&node)) {
    collect(nest, branch->then, out);
    collect(nest, branch->otherwise, out);
  } else if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.kind == MarkKind::unroll) {
    collect(nest, loop->body, out);
  } else if (const auto* compute = std::get_if<Compute>(&node)) {
    out.computes.push_back(compute);
  } else if (const auto* copy = std::get_if<Copy>(&node)) {
    out.copies.push_back(copy);
  } else {
    out.is_straight = false;
  }
}

class Dependences {
 public:
  Dependences(const LoopNest& nest, VarId var) : nest_(nest), var_(var) {}

  bool are_independent(const Body& body) {
    for (const Compute* compute : body.computes) {
      for (const Access& dst : compute->dst)
        add(dst, true, is_reduction(*compute) && is_free_order(*compute, nest_) && compute->dst.size() == 1);
      for (const Expr& rhs : compute->rhs)
        visit(rhs, [&](const ExprNode& node) {
          if (node.op == Op::read) add(node.access, false, false);
        });
    }
    for (const Copy* copy : body.copies) {
      add(copy->dst, true, false);
      if (copy->has_src) add(copy->src, false, false);
    }
    for (const Touch& store : touches_)
      if (store.is_store && !is_safe(store)) return false;
    return true;
  }
  int64_t widest() const { return widest_; }

 private:
  struct Touch {
    const Access* access;
    bool is_store, folds;
  };
  void add(const Access& access, bool is_store, bool folds) {
    touches_.push_back({&access, is_store, folds});
    widest_ = std::max(widest_, size_bytes(nest_.buffers[access.id].type));
  }
  bool moves(const Access& access) const {
    return std::any_of(access.index.begin(), access.index.end(),
                       [&](const Subscript& s) { return s.data || mentions(s.affine, var_); });
  }
  /// A small array that every iteration writes before it reads it: registers.
  bool is_private(const Touch& store) const {
    const Buffer& buffer = nest_.buffers[store.access->id];
    if (buffer.scope == Scope::argument || allocated_elements(buffer) > kMostPoints || buffer.within) return false;
    const auto first = std::find_if(touches_.begin(), touches_.end(),
                                    [&](const Touch& t) { return t.access->id == store.access->id; });
    return first->is_store && !first->folds;
  }
  bool is_safe(const Touch& store) const {
    if (is_private(store)) return true;
    if (std::any_of(store.access->index.begin(), store.access->index.end(),
                    [](const Subscript& s) { return s.data != nullptr; }))
      return false;
    if (!moves(*store.access) && !store.folds) return false;
    return std::all_of(touches_.begin(), touches_.end(), [&](const Touch& other) {
      return &other == &store || other.access->id != store.access->id ||
             never_later(*store.access, *other.access, other.is_store);
    });
  }
  /// No iteration meets in `other` a cell that an earlier one stored, and none stores one that an earlier one met, but
  /// for its own.
  bool never_later(const Access& store, const Access& other, bool other_stores) const {
    std::optional<int64_t> apart;  // iterations between the store and the other access of one cell
    for (size_t d = 0; d < store.index.size(); ++d) {
      if (other.index[d].data) return false;
      const Affine &a = store.index[d].affine, &b = other.index[d].affine;
      const Affine difference = a - b;
      if (!difference.is_constant()) {
        if (!mentions(difference, var_)) return true;  // rows that the loops around tell apart: checked when it runs
        return false;
      }
      const int64_t step = a.coefficient(var_);
      if (step == 0 && mentions(a, var_)) return false;
      if (step == 0) {
        if (reduced(store.id, d, difference.constant) != 0) return true;  // another row
        continue;
      }
      if (difference.constant % step != 0) return true;
      const int64_t here = difference.constant / step;
      if (apart && *apart != here) return true;
      apart = here;
    }
    if (!moves(store)) return !other_stores || &store == &other;
    return !apart || *apart == 0 ||
           (*apart < 0 && !other_stores);  // what is read before it is stored waits for nothing
  }
  int64_t reduced(BufferId id, size_t dim, int64_t difference) const {
    for (const Fold& fold : nest_.buffers[id].folds)
      if (fold.dim == dim) difference %= fold.window;
    return difference;
  }

  const LoopNest& nest_;
  VarId var_;
  std::vector<Touch> touches_;
  int64_t widest_ = 1;
};

class View {
 public:
  View(LoopNest nest, int vector_bytes) : nest_(std::move(nest)), vector_bytes_(vector_bytes) {}
  LoopNest run() {
    unroll_short(nest_.root);
    const size_t count = nest_.nodes.size();
    for (NodeId id = 0; id < count; ++id)
      if (const auto* loop = std::get_if<Loop>(&nest_.nodes[id]))
        if (const int64_t lanes = lanes_of(*loop); lanes > 1) replace(id, *loop, lanes);
    return std::move(nest_);
  }

 private:
  /// Innermost loops of few iterations are unrolled whole, and what is around them is innermost then. Returns the
  /// points of an iteration of `id`; 0: loops stay in it.
  int64_t unroll_short(NodeId id) {
    if (id == kNoNode) return 0;
    Node& node = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      int64_t points = 0;
      bool is_straight = true;
      for (NodeId child : std::vector<NodeId>(seq->children)) {
        const int64_t inside = unroll_short(child);
        is_straight = is_straight && inside > 0;
        points += inside;
      }
      return is_straight ? points : 0;
    }
    if (auto* branch = std::get_if<If>(&node)) {
      const NodeId then = branch->then, otherwise = branch->otherwise;
      const int64_t a = unroll_short(then), b = otherwise == kNoNode ? 0 : unroll_short(otherwise);
      return a > 0 && (b > 0 || otherwise == kNoNode) ? a + b : 0;
    }
    if (const auto* alloc = std::get_if<Alloc>(&node)) return unroll_short(alloc->body), 0;
    const auto* found = std::get_if<Loop>(&node);
    if (!found) return std::holds_alternative<Sync>(node) ? 0 : 1;
    const int64_t inside = unroll_short(found->body);
    Loop& loop = std::get<Loop>(nest_.nodes[id]);
    const bool is_constant = loop.mark.kind == MarkKind::serial && loop.lo.of.size() == 1 && loop.hi.of.size() == 1 &&
                             (loop.hi.of[0] - loop.lo.of[0]).is_constant();
    const int64_t trips = is_constant ? (loop.hi.of[0] - loop.lo.of[0]).constant / loop.step : 0;
    if (inside == 0 || trips <= 0 || trips > kMostUnrolled || trips * inside > kMostPoints) return 0;
    loop.mark.kind = MarkKind::unroll;
    return trips * inside;
  }
  int64_t lanes_of(const Loop& loop) const {
    if (loop.mark.kind != MarkKind::serial || loop.step != 1 || loop.lo.of.size() != 1 || loop.hi.of.size() != 1)
      return 0;
    Body body;
    collect(nest_, loop.body, body);
    if (!body.is_straight || (body.computes.empty() && body.copies.empty())) return 0;
    Dependences dependences(nest_, loop.var);
    return dependences.are_independent(body) ? vector_bytes_ / dependences.widest() : 0;
  }
  // for v: S(v)  ->  for v by 4w: unroll u by w: vector l: S(v + u + l);  for v by w: vector l: S(v + l);  for v: S(v)
  void replace(NodeId id, const Loop loop, int64_t lanes) {
    const Affine lo = loop.lo.of[0], hi = loop.hi.of[0];
    const int64_t block = kInterleaved * lanes;
    const Affine first_rest = lo + block * floor_div(hi - lo, block),
                 last_rest = lo + lanes * floor_div(hi - lo, lanes);
    Loop interleaved = stepping(loop, lo, hi, block), single = stepping(loop, first_rest, hi, lanes),
         rest = stepping(loop, last_rest, hi, 1);
    Loop unrolled = counting(loop, "u", block, lanes);
    unrolled.mark.kind = MarkKind::unroll;
    unrolled.body = lanes_from(loop, Affine::variable(interleaved.var) + Affine::variable(unrolled.var), lanes);
    interleaved.body = nest_.add(std::move(unrolled));
    single.body = lanes_from(loop, Affine::variable(single.var), lanes);
    rest.body = copied(loop.body, {{loop.var, Affine::variable(rest.var)}});
    const NodeId first = nest_.add(std::move(interleaved)), second = nest_.add(std::move(single)),
                 third = nest_.add(std::move(rest));
    nest_.nodes[id] = Seq{{first, second, third}};
  }
  /// Whole steps from `lo` on that end before `hi`.
  Loop stepping(const Loop& loop, const Affine& lo, const Affine& hi, int64_t step) {
    Loop out = counting(loop, "v", 0, step);
    out.lo = {{lo}}, out.hi = {{hi - Affine::of(step - 1)}};
    return out;
  }
  Loop counting(const Loop& loop, const char* name, int64_t end, int64_t step) {
    Loop out = loop;
    out.var = nest_.new_loop_var(name);
    out.lo = {{Affine::of(0)}}, out.hi = {{Affine::of(end)}};
    out.step = step;
    return out;
  }
  NodeId lanes_from(const Loop& loop, const Affine& first, int64_t lanes) {
    Loop out = counting(loop, "l", lanes, 1);
    out.mark.kind = MarkKind::vector;
    out.mark.width = static_cast<int32_t>(lanes);
    out.body = copied(loop.body, {{loop.var, first + Affine::variable(out.var)}});
    return nest_.add(std::move(out));
  }
  NodeId copied(NodeId id, const std::map<VarId, Affine>& at) {
    if (id == kNoNode) return id;
    Node node = nest_.nodes[id];
    if (auto* seq = std::get_if<Seq>(&node)) {
      for (NodeId& child : seq->children) child = copied(child, at);
    } else if (auto* branch = std::get_if<If>(&node)) {
      branch->condition = substitute(branch->condition, at);
      branch->then = copied(branch->then, at);
      branch->otherwise = copied(branch->otherwise, at);
    } else if (auto* loop = std::get_if<Loop>(&node)) {
      std::map<VarId, Affine> inside = at;
      inside[loop->var] = Affine::variable(nest_.new_loop_var(nest_.loop_names[loop->var - nest_.params.size()]));
      loop->var = inside[loop->var].terms[0].var;
      for (Bound* bound : {&loop->lo, &loop->hi})
        for (Affine& e : bound->of) e = substitute(e, at);
      loop->body = copied(loop->body, inside);
    } else if (auto* compute = std::get_if<Compute>(&node)) {
      for (Affine& e : compute->instance) e = substitute(e, at);
      for (Access& access : compute->dst) access = moved(access, at);
      for (Expr& e : compute->rhs) e = substitute(e, at);
    } else if (auto* copy = std::get_if<Copy>(&node)) {
      copy->dst = moved(copy->dst, at);
      if (copy->has_src) copy->src = moved(copy->src, at);
      copy->valid = substitute(copy->valid, at);
    }
    return nest_.add(std::move(node));
  }
  static Access moved(Access access, const std::map<VarId, Affine>& at) {
    for (Subscript& s : access.index) {
      s.affine = substitute(s.affine, at);
      s.lo = substitute(s.lo, at);
      s.hi = substitute(s.hi, at);
      if (s.data) s.data = substitute(s.data, at);
    }
    return access;
  }

  LoopNest nest_;
  int vector_bytes_;
};

}  // namespace

LoopNest compiler_view(const LoopNest& nest, int vector_bytes) {
  return View(nest, vector_bytes).run();
}

}  // namespace polyweft::cost
