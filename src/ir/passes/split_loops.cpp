#include "ir/passes/split_loops.h"

#include <algorithm>
#include <set>

#include "ir/passes/loop_context.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

constexpr size_t kMostCuts = 4;
constexpr int64_t kMostInSplit = 64;  ///< of one iteration, written out

/// Values of a variable at which a condition becomes another one than before.
class CutFinder {
 public:
  CutFinder(LoopContext& context, VarId var) : context_(context), var_(var) {}

  /// Of an iteration's statements. False where something else is in there, or they are too many.
  bool collect(NodeId id) {
    if (id == kNoNode) return true;
    const Node& node = context_.nest().nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      return std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return collect(child); });
    if (const auto* choice = std::get_if<If>(&node)) {
      collect(choice->condition);
      return collect(choice->then) && collect(choice->otherwise);
    }
    if (const auto* loop = std::get_if<Loop>(&node))
      return context_.each_iteration(*loop, kMostInSplit, [&] { return collect(loop->body); });
    const auto* compute = std::get_if<Compute>(&node);
    if (!compute || ++statements_ > kMostInSplit) return false;
    for (const Expr& rhs : compute->rhs) collect(rhs);
    return true;
  }

  std::set<int64_t> cuts;

 private:
  void collect(const Guard& guard) {
    for (const Guard& part : guard.of) collect(part);
    if (guard.kind != Guard::Kind::ge0 && guard.kind != Guard::Kind::eq0) return;
    const Affine e = context_.fold(guard.e);
    const int64_t times = e.coefficient(var_);
    const Affine rest = e - Affine::variable(var_, times);
    if (times == 0 || !rest.is_constant()) return;
    if (guard.kind == Guard::Kind::eq0) {
      if (rest.constant % times == 0) cuts.insert({-rest.constant / times, -rest.constant / times + 1});
    } else {
      cuts.insert(times > 0 ? ceil_quotient(-rest.constant, times) : floor_quotient(rest.constant, -times) + 1);
    }
  }

  void collect(const Expr& e) {
    if (e->op == Op::guarded) collect(e->guard);
    for (const Expr& arg : e->args) collect(arg);
  }

  LoopContext& context_;
  VarId var_;
  int64_t statements_ = 0;
};

/// Bounded by a number inside the range as well, which takes the place of another number.
void narrow(Bound& bound, int64_t at) {
  std::erase_if(bound.of, [](const Affine& e) { return e.is_constant(); });
  bound.of.push_back(Affine::of(at));
}

class Splitter {
 public:
  explicit Splitter(LoopNest nest) : nest_(std::move(nest)), context_(nest_) {}

  LoopNest run() {
    walk_loops(context_, nest_.root, [&](NodeId id, const Loop& loop) { return split(id, loop); });
    return std::move(nest_);
  }

 private:
  /// False where the loop needs no cut.
  bool split(NodeId id, const Loop& loop) {
    if (loop.step != 1 || loop.mark.kind != MarkKind::serial) return false;
    CutFinder finder(context_, loop.var);
    if (!finder.collect(loop.body)) return false;
    const VariableFacts facts = context_.facts_of(loop);
    std::erase_if(finder.cuts, [&](int64_t at) { return at <= facts.lo || at > facts.hi; });
    if (finder.cuts.empty() || finder.cuts.size() > kMostCuts) return false;
    std::vector<Loop> parts = {loop};
    for (const int64_t at : finder.cuts) {
      Loop later = parts.back();
      narrow(parts.back().hi, at);
      narrow(later.lo, at);
      parts.push_back(std::move(later));
    }
    Seq out;
    for (size_t k = 0; k < parts.size(); ++k)
      if (const NodeId node = part(std::move(parts[k]), k + 1 == parts.size()); node != kNoNode)
        out.children.push_back(node);
    nest_.nodes[id] = std::move(out);
    return true;
  }

  NodeId part(Loop loop, bool keeps_body) {
    const auto length = context_.constant_length(loop);
    if (length && *length <= 0) return kNoNode;
    if (length == 1) return copy_subtree(nest_, loop.body, {{loop.var, context_.fold(loop.lo.of[0])}});
    if (!keeps_body) {
      const VarId var = nest_.new_loop_var(nest_.loop_names[loop.var - nest_.params.size()]);
      loop.body = copy_subtree(nest_, loop.body, {{loop.var, Affine::variable(var)}});
      loop.var = var;
    }
    return nest_.add(std::move(loop));
  }

  LoopNest nest_;
  LoopContext context_;
};

}  // namespace

LoopNest split_loops(LoopNest nest) {
  return Splitter(std::move(nest)).run();
}

}  // namespace polyweft::ir
