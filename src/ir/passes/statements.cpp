#include "ir/passes/statements.h"

#include <algorithm>

namespace polyweft::ir {
namespace {

constexpr int64_t kMostInIteration = 128;

struct Read {
  const Access* access;
  Guard when;
};

void collect_reads(const Expr& e, const Guard& when, std::vector<Read>& out) {
  if (e->op == Op::read) out.push_back({&e->access, when});
  if (e->op != Op::guarded) {
    for (const Expr& arg : e->args) collect_reads(arg, when, out);
    return;
  }
  collect_reads(e->args[0], when.is_true() ? e->guard : guard_all({when, e->guard}), out);
  const Guard otherwise = guard_not(e->guard);
  collect_reads(e->args[1], when.is_true() ? otherwise : guard_all({when, otherwise}), out);
}

class StatementCollector {
 public:
  StatementCollector(LoopContext& context, bool vectors) : context_(context), vectors_(vectors) {}

  bool collect(NodeId id) {
    if (id == kNoNode) return true;
    if (std::ssize(out) > kMostInIteration) return false;
    const Node& node = context_.nest().nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      return std::all_of(seq->children.begin(), seq->children.end(), [&](NodeId child) { return collect(child); });
    if (const auto* choice = std::get_if<If>(&node)) {
      const auto known = context_.facts().decide(context_.fold(choice->condition));
      return known && collect(*known ? choice->then : choice->otherwise);
    }
    if (const auto* loop = std::get_if<Loop>(&node))
      return loop->mark.kind == MarkKind::vector
                 ? vectors_ && in_lanes(*loop)
                 : context_.each_iteration(*loop, kMostInIteration, [&] { return collect(loop->body); });
    const auto* compute = std::get_if<Compute>(&node);
    if (!compute) return false;
    add(*compute);
    return true;
  }

  std::vector<Statement> out;

 private:
  bool in_lanes(const Loop& loop) {
    if (lanes_ || loop.mark.non_temporal) return false;
    if (context_.constant_length(loop) != loop.mark.width) return false;
    lanes_ = std::make_shared<const Loop>(loop);
    first_lane_ = context_.fold(loop.lo.of[0]);
    context_.enter(loop);
    const bool all = collect(loop.body);
    context_.leave(loop);
    lanes_ = nullptr;
    return all;
  }

  void add(const Compute& compute) {
    Statement made{compute, context_.values(), lanes_, first_lane_};
    for (const Access& dst : compute.dst) made.stores.push_back(context_.fold(dst));
    std::vector<Read> reads;
    for (const Expr& rhs : compute.rhs) collect_reads(rhs, guard_all({}), reads);
    for (const Read& read : reads) {
      made.reads.push_back(context_.fold(*read.access));
      made.when.push_back(read.when.is_true() ? read.when : context_.fold(read.when));
    }
    out.push_back(std::move(made));
  }

  LoopContext& context_;
  bool vectors_;
  std::shared_ptr<const Loop> lanes_;
  Affine first_lane_;
};

}  // namespace

std::optional<std::vector<Statement>> statements_of(LoopContext& context, NodeId body, bool vectors) {
  StatementCollector collector(context, vectors);
  if (!collector.collect(body)) return std::nullopt;
  return std::move(collector.out);
}

bool is_same_element(const Access& a, const Access& b) {
  return a.id == b.id &&
         std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                    [](const Subscript& x, const Subscript& y) { return !x.data && !y.data && x.affine == y.affine; });
}

bool has_data(const Access& access) {
  return std::any_of(access.index.begin(), access.index.end(), [](const Subscript& s) { return s.data != nullptr; });
}

bool lie_apart(const Access& a, const Access& b, const Buffer& buffer) {
  for (uint32_t d = 0; d < a.index.size(); ++d) {
    if (a.index[d].data || b.index[d].data) continue;
    const Affine difference = a.index[d].affine - b.index[d].affine;
    const auto fold =
        std::find_if(buffer.folds.begin(), buffer.folds.end(), [&](const Fold& each) { return each.dim == d; });
    if (!difference.is_constant()) continue;
    if ((fold == buffer.folds.end() ? difference.constant : difference.constant % fold->window) != 0) return true;
  }
  return false;
}

}  // namespace polyweft::ir
