#include "ir/nests/asynchronous.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ir/nests/axes.h"
#include "ir/nests/walk_nest.h"
#include "ir/values/index_boxes.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kMostVisits = 4'000'000;

struct TouchedCells {
  BufferId buffer = 0;
  IndexBox box;  ///< of the subscripts
};
/// A copy under way.
struct CopyUnderWay {
  TouchedCells to;
  std::optional<TouchedCells> from;
  int64_t group = -1;  ///< -1: not committed yet
};
struct RefusedCopy {
  Error error;
};
/// The iterations of a loop around have to be looked at one by one.
struct NeedsValues {};

class Arrivals {
 public:
  explicit Arrivals(const LoopNest& nest) : nest_(nest) {
    has_copies_ = nodes_with(nest, [](const Node& node) {
      const auto* copy = std::get_if<Copy>(&node);
      return copy && copy->is_async;
    });
    has_syncs_ = nodes_with(nest, [](const Node& node) {
      const auto* sync = std::get_if<Sync>(&node);
      return sync && sync->is_of_copies();
    });
    box_.resize(nest.params.size() + nest.loop_names.size());
    for (size_t p = 0; p < nest.params.size(); ++p) box_[p] = {nest.params[p].value, nest.params[p].value};
  }

  void run() {
    for (const Pack& pack : nest_.packs) visit(pack.root);
    visit(nest_.root);
  }

 private:
  bool is_plain(NodeId id) const { return !has_copies_[id] && !has_syncs_[id]; }

  void visit(NodeId id) {
    if (id == kNoNode) return;
    if (pending_.empty() && is_plain(id)) return;
    if (++visits_ > kMostVisits)
      throw RefusedCopy{fail("PW0409", "asynchronous copies: more than " + std::to_string(kMostVisits) +
                                           " steps to see when they arrive")};
    std::visit([&](const auto& node) { put(id, node); }, nest_.nodes[id]);
  }

  void put(NodeId, const Seq& seq) {
    for (NodeId child : seq.children) visit(child);
  }

  void put(NodeId, const Alloc& alloc) {
    visit(alloc.body);
    for (const CopyUnderWay& copy : pending_)
      if (copy.to.buffer == alloc.buffer || (copy.from && copy.from->buffer == alloc.buffer))
        refuse(alloc.buffer, "its lifetime ends while a copy of it is under way");
  }

  void put(NodeId id, const If& choice) {
    const Truth truth = truth_of(choice.condition, box_);
    if (truth != Truth::no) narrowed({choice.condition}, truth, id, [&] { visit(choice.then); });
    if (truth != Truth::yes && choice.otherwise != kNoNode)
      narrowed({guard_not(choice.condition)}, truth, id, [&] { visit(choice.otherwise); });
  }

  template <class F>
  void narrowed(const std::vector<Guard>& conditions, Truth truth, NodeId id, const F& f) {
    if (truth != Truth::open) return f();
    if (has_syncs_[id]) throw NeedsValues{};
    const IndexBox before = box_;
    narrow(conditions, box_);
    if (!is_empty(box_)) f();
    box_ = before;
  }

  // ---- loops ----

  Values bounds_of(const Loop& loop) const {
    Values out{INT64_MIN, INT64_MAX};
    for (const Affine& e : loop.lo.of) out.lo = std::max(out.lo, values_of(e, box_).lo);
    for (const Affine& e : loop.hi.of) out.hi = std::min<Wide>(out.hi, values_of(e, box_).hi - 1);
    const bool begins_at_point = std::all_of(loop.lo.of.begin(), loop.lo.of.end(),
                                             [&](const Affine& e) { return values_of(e, box_).is_point(); });
    if (begins_at_point && !out.is_empty()) out.hi = out.lo + (out.hi - out.lo) / loop.step * loop.step;
    return out;
  }
  bool has_known_bounds(const Loop& loop) const {
    const auto is_point = [&](const Affine& e) { return values_of(e, box_).is_point(); };
    return std::all_of(loop.lo.of.begin(), loop.lo.of.end(), is_point) &&
           std::all_of(loop.hi.of.begin(), loop.hi.of.end(), is_point);
  }

  void put(NodeId id, const Loop& loop) {
    const Values all = bounds_of(loop);
    if (all.is_empty()) return;
    const Values before = box_[loop.var];
    const bool is_axis = loop.mark.kind == MarkKind::axis, is_task = loop.mark.kind == MarkKind::parallel;
    if (is_task && !is_plain(id) && !pending_.empty())
      refuse(pending_[0].to.buffer, "tasks begin while a copy is under way");
    threads_ += is_thread_axis(loop);
    if (!has_syncs_[id] || is_axis) {
      together(loop, all);
    } else if (!pending_.empty() || !tried(loop, all)) {
      if (!has_known_bounds(loop)) throw NeedsValues{};
      for (Wide value = all.lo; value <= all.hi; value += loop.step) {
        box_[loop.var] = {value, value};
        visit(loop.body);
      }
    }
    threads_ -= is_thread_axis(loop);
    box_[loop.var] = before;
  }

  void together(const Loop& loop, const Values& all) {
    box_[loop.var] = all;
    visit(loop.body);
  }

  /// All iterations at once, where each begins and ends without a copy under way and has the same copies and waits.
  bool tried(const Loop& loop, const Values& all) {
    const IndexBox box = box_;
    const int64_t groups = groups_, waited = waited_;
    const int threads = threads_;
    try {
      together(loop, all);
      if (pending_.empty()) return true;
    } catch (const NeedsValues&) {
    } catch (const RefusedCopy&) {  // one of them alone may do
    }
    box_ = box, groups_ = groups, waited_ = waited, threads_ = threads;
    pending_.clear();
    return false;
  }

  // ---- copies and waits ----

  void put(NodeId, const Sync& sync) {
    if (sync.kind == Sync::Kind::async_commit) {
      for (CopyUnderWay& copy : pending_)
        if (copy.group < 0) copy.group = groups_;
      ++groups_;
    } else if (sync.kind == Sync::Kind::async_wait) {
      waited_ = groups_ - sync.arg;
      if (threads_ == 0) arrive();
    } else if (sync.kind == Sync::Kind::block) {
      arrive();
    }
  }
  /// Of groups that were waited for.
  void arrive() {
    std::erase_if(pending_, [&](const CopyUnderWay& copy) { return copy.group >= 0 && copy.group < waited_; });
  }

  TouchedCells cells_of(const Access& access) const {
    TouchedCells out{access.id, {}};
    for (const Subscript& s : access.index) {
      Values values = values_of(s.affine, box_);
      if (s.data) values.lo += values_of(s.lo, box_).lo, values.hi += values_of(s.hi, box_).hi;
      out.box.push_back(values);
    }
    return out;
  }

  void put(NodeId, const Copy& copy) {
    const TouchedCells to = cells_of(copy.dst);
    const auto from = copy.has_src ? std::optional(cells_of(copy.src)) : std::nullopt;
    written(to);
    if (from) read(*from);
    if (!copy.is_async) return;
    for (const Fold& fold : nest_.buffers[to.buffer].folds)
      if (to.box[fold.dim].hi - to.box[fold.dim].lo >= fold.window)
        refuse(to.buffer, "copies of one group share cells");
    pending_.push_back({to, from, -1});
  }

  void put(NodeId, const Compute& compute) {
    for (const Expr& rhs : compute.rhs)
      polyweft::visit(rhs, [&](const ExprNode& e) {
        if (e.op == Op::read) read(cells_of(e.access));
      });
    for (const Access& dst : compute.dst) {
      if (compute.how == Write::accumulate || compute.how == Write::merge) read(cells_of(dst));
      written(cells_of(dst));
    }
  }

  void read(const TouchedCells& cells) const {
    for (const CopyUnderWay& copy : pending_)
      if (may_meet(cells, copy.to)) refuse(cells.buffer, "read before its copy has arrived");
  }
  void written(const TouchedCells& cells) const {
    for (const CopyUnderWay& copy : pending_) {
      if (may_meet(cells, copy.to)) refuse(cells.buffer, "written while a copy into the same cells is under way");
      if (copy.from && may_meet(cells, *copy.from)) refuse(cells.buffer, "written while it is being copied");
    }
  }

  BufferId memory_of(BufferId id) const { return nest_.buffers[id].within ? nest_.buffers[id].within->host : id; }

  bool may_meet(const TouchedCells& a, const TouchedCells& b) const {
    if (a.buffer != b.buffer) return memory_of(a.buffer) == memory_of(b.buffer);
    for (uint32_t d = 0; d < a.box.size(); ++d)
      if (!may_meet(a.box[d], b.box[d], window(a.buffer, d))) return false;
    return true;
  }
  Wide window(BufferId id, uint32_t dim) const {
    for (const Fold& fold : nest_.buffers[id].folds)
      if (fold.dim == dim) return fold.window;
    return 0;
  }
  static bool may_meet(const Values& a, const Values& b, Wide window) {
    if (window == 0) return a.lo <= b.hi && b.lo <= a.hi;
    const Wide least = a.lo - b.hi,
               most = a.hi - b.lo;  // of their differences: is a multiple of the window among them?
    const Wide last = most >= 0 ? most / window : -((-most + window - 1) / window);
    return last * window >= least;
  }

  [[noreturn]] void refuse(BufferId id, const std::string& what) const {
    throw RefusedCopy{
        fail("PW0407", "buffer " + nest_.buffers[id].name + ": " + what,
             {"wait for the copy's group first: sync async_wait, in a block of threads with a barrier behind"})};
  }

  const LoopNest& nest_;
  std::vector<bool> has_copies_, has_syncs_;
  IndexBox box_;
  std::vector<CopyUnderWay> pending_;
  int64_t groups_ = 0, waited_ = 0, visits_ = 0;
  int threads_ = 0;  ///< loops over threads around
};

}  // namespace

bool has_async_copies(const LoopNest& nest) {
  return std::any_of(nest.nodes.begin(), nest.nodes.end(), [](const Node& node) {
    const auto* copy = std::get_if<Copy>(&node);
    return copy && copy->is_async;
  });
}

Status verify_arrivals(const LoopNest& nest) {
  if (!has_async_copies(nest)) return Ok{};
  try {
    Arrivals(nest).run();
    return Ok{};
  } catch (const RefusedCopy& refused) {
    return refused.error;
  } catch (const NeedsValues&) {
    return fail("PW0409", "asynchronous copies: waits under conditions or bounds that no loop around decides");
  }
}

}  // namespace polyweft::ir
