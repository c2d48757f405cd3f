#include "ir/nests/workspace.h"

#include <algorithm>
#include <cmath>

#include "ir/values/interval.h"

namespace polyweft::ir {
namespace {

using WideSize = __int128;
constexpr WideSize kMostBytes = INT64_MAX;
constexpr int64_t kPage = 4096;
constexpr double kExact = 9007199254740992.0;  // 2^53: intervals are computed in doubles

Error too_large(const std::string& what) {
  return fail("PW0822", what + " takes more bytes than 63 bits count", {"choose smaller sizes"});
}

WideSize capped(WideSize value) {
  return std::min(value, kMostBytes + 1);
}
WideSize capped_product(WideSize a, WideSize b) {
  if (a == 0 || b == 0) return 0;
  return a > (kMostBytes + 1) / b ? kMostBytes + 1 : capped(a * b);
}

WideSize wide_bytes(const Buffer& buffer) {
  WideSize out = size_bytes(buffer.type);
  for (size_t p = 0; p < buffer.layout.pieces.size(); ++p)
    out = capped_product(
        out, WideSize{buffer.layout.pieces[p].factor} + (p < buffer.layout.pad.size() ? buffer.layout.pad[p] : 0));
  return out;
}

bool makes_tasks(const Loop& loop) {
  return loop.mark.kind == MarkKind::parallel || loop.mark.kind == MarkKind::axis;
}

/// Calls f on the node and those inside it in the order of the text; into loops only where `enters` says so.
template <class F, class Enters>
void walk_entered(const LoopNest& nest, NodeId id, const F& f, const Enters& enters) {
  if (id == kNoNode) return;
  const Node& node = nest.nodes[id];
  f(node);
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) walk_entered(nest, child, f, enters);
  if (const auto* branch = std::get_if<If>(&node)) {
    walk_entered(nest, branch->then, f, enters);
    walk_entered(nest, branch->otherwise, f, enters);
  }
  if (const auto* alloc = std::get_if<Alloc>(&node)) walk_entered(nest, alloc->body, f, enters);
  if (const auto* loop = std::get_if<Loop>(&node))
    if (enters(*loop)) walk_entered(nest, loop->body, f, enters);
}

/// The blocks of a call and of its tasks, and how many of each.
class Collector {
 public:
  explicit Collector(const LoopNest& nest) : nest_(nest) {
    for (VarId p = 0; p < nest.params.size(); ++p)
      known_[p] = {static_cast<double>(nest.params[p].value), static_cast<double>(nest.params[p].value)};
  }

  Result<Workspace> whole() {
    region(nest_.root, 1);
    if (error_) return *error_;
    WideSize total = 0;
    for (const Block& block : out_.blocks)
      total = capped(total + capped_product(WideSize{block.bytes} + 2 * kBlockAlignment, block.instances));
    if (total > kMostBytes) return too_large("the workspace of all tasks");
    out_.bytes = static_cast<int64_t>(total);
    return std::move(out_);
  }

 private:
  void region(NodeId root, WideSize instances) {
    auto block = block_of(nest_, root);
    if (!block) error_ = block.error();
    if (instances > kMostBytes && block && !block->buffers.empty()) error_ = too_large("the workspace of all tasks");
    if (error_) return;
    block->instances = static_cast<int64_t>(std::min(instances, kMostBytes));
    if (!block->buffers.empty()) out_.blocks.push_back(std::move(block).value());
    const WideSize outer = instances_;
    instances_ = instances;
    inside(root);
    instances_ = outer;
  }
  void inside(NodeId root) {
    walk_entered(
        nest_, root, [](const Node&) {}, [&](const Loop& loop) { return enter(loop); });
  }

  /// Serial loops are walked through; those of tasks are regions of their own.
  bool enter(const Loop& loop) {
    if (error_) return false;
    Interval range{-kExact, kExact};
    double longest = kExact;
    for (const Affine& lo : loop.lo.of) range.lo = std::max(range.lo, interval_of(lo, known_).lo);
    for (const Affine& hi : loop.hi.of) range.hi = std::min(range.hi, interval_of(hi, known_).hi - 1);
    for (const Affine& lo : loop.lo.of)
      for (const Affine& hi : loop.hi.of) longest = std::min(longest, interval_of(hi - lo, known_).hi);
    longest = std::max(0.0, std::min(longest, range.hi - range.lo + 1));
    known_[loop.var] = {range.lo, std::max(range.lo, range.hi)};
    if (!makes_tasks(loop)) return true;
    const WideSize trips =
        longest >= kExact ? kMostBytes : (static_cast<WideSize>(longest) + loop.step - 1) / loop.step;
    region(loop.body, capped_product(instances_, trips));
    return false;
  }

  const LoopNest& nest_;
  Intervals known_;
  Workspace out_;
  WideSize instances_ = 1;
  std::optional<Error> error_;
};

/// Numbers statements and notes where each buffer is touched.
class LifeCollector {
 public:
  explicit LifeCollector(const LoopNest& nest)
      : nest_(nest), lives_(nest.buffers.size()), depth_(nest.buffers.size(), 0) {}

  std::vector<Life> whole() {
    node(nest_.root);
    return std::move(lives_);
  }

 private:
  void node(NodeId id) {
    if (id != kNoNode) std::visit([this](const auto& n) { on(n); }, nest_.nodes[id]);
  }
  void on(const Seq& seq) {
    for (NodeId child : seq.children) node(child);
  }
  void on(const If& branch) {
    node(branch.then);
    node(branch.otherwise);
  }
  void on(const Alloc& alloc) {
    depth_[alloc.buffer] = loops_;
    node(alloc.body);
  }
  /// What lives from before the loop is needed in all of its iterations.
  void on(const Loop& loop) {
    const int64_t first = next_;
    std::vector<BufferId> outer = std::move(touched_);
    touched_.clear();
    ++loops_;
    node(loop.body);
    --loops_;
    for (BufferId id : touched_) {
      if (depth_[id] > loops_) continue;
      touch(id, first);
      touch(id, next_ - 1);
    }
    touched_.insert(touched_.end(), outer.begin(), outer.end());
  }
  void on(const Compute& compute) {
    for (const Access& access : compute.dst) at(access);
    for (const Expr& e : compute.rhs) reads(e);
    ++next_;
  }
  void on(const Copy& copy) {
    at(copy.dst);
    if (copy.has_src) at(copy.src);
    ++next_;
  }
  void on(const Sync&) {}

  void reads(const Expr& e) {
    visit(e, [&](const ExprNode& n) {
      if (n.op == Op::read) at(n.access);
    });
  }
  void at(const Access& access) {
    touch(access.id, next_);
    touched_.push_back(access.id);
    for (const Subscript& s : access.index)
      if (s.data) reads(s.data);
  }
  void touch(BufferId id, int64_t statement) {
    Life& life = lives_[id];
    life.first = life.first < 0 ? statement : std::min(life.first, statement);
    life.last = std::max(life.last, statement);
  }

  const LoopNest& nest_;
  std::vector<Life> lives_;
  std::vector<int> depth_;
  std::vector<BufferId> touched_;
  int64_t next_ = 0;
  int loops_ = 0;
};

}  // namespace

int64_t step_in_block(int64_t bytes) {
  constexpr int64_t kApart = 17 * kBlockAlignment;
  return (bytes + kPage - kApart - 1) / kPage * kPage + kApart;
}

Result<int64_t> bytes_of(const Buffer& buffer) {
  const WideSize bytes = wide_bytes(buffer);
  if (bytes > kMostBytes) return too_large("buffer " + buffer.name);
  return static_cast<int64_t>(bytes);
}

bool lies_in_workspace(const Buffer& buffer) {
  if (buffer.within ||
      std::any_of(buffer.extents.begin(), buffer.extents.end(), [](int64_t extent) { return extent < 0; }))
    return false;  // or of a size not known
  if (buffer.scope == Scope::heap) return wide_bytes(buffer) > kSmallHeapBytes;
  return (buffer.scope == Scope::stack || buffer.scope == Scope::reg) && wide_bytes(buffer) > kStackLimitBytes;
}

Result<Block> block_of(const LoopNest& nest, NodeId region) {
  Block out;
  int64_t next = 0;
  out.region = region;
  std::optional<Error> error;
  const auto place = [&](const Node& node) {
    const auto* alloc = std::get_if<Alloc>(&node);
    if (!alloc || error || !lies_in_workspace(nest.buffers[alloc->buffer])) return;
    const auto bytes = bytes_of(nest.buffers[alloc->buffer]);
    if (!bytes) error = bytes.error();
    if (bytes && WideSize{next} + *bytes > kMostBytes - 4 * kPage) error = too_large("the workspace");
    if (error) return;
    out.buffers.push_back({alloc->buffer, next, *bytes});
    out.bytes = next + (*bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
    next += step_in_block(*bytes);
  };
  walk_entered(nest, region, place, [](const Loop& loop) { return !makes_tasks(loop); });
  if (error) return *error;
  return out;
}

Result<Workspace> workspace_of(const LoopNest& nest) {
  return Collector(nest).whole();
}

std::vector<Life> lives_of(const LoopNest& nest) {
  return LifeCollector(nest).whole();
}

}  // namespace polyweft::ir
