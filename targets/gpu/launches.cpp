#include "targets/gpu/launches.h"

#include <algorithm>

#include "ir/nests/axes.h"
#include "ir/nests/instruction.h"
#include "ir/nests/walk_nest.h"
#include "targets/common/needed_instructions.h"
#include "targets/common/values/variables.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kOwnBytes = 16 << 10;      ///< up to here memory of one thread is the compiler's
constexpr int64_t kMostOwnBytes = 64 << 10;  ///< of all such buffers of a kernel
constexpr int64_t kInstanceAlignment = 256;

size_t dimension_of(const std::string& axis) {
  return static_cast<size_t>(axis.back() - 'x');
}

/// Where a nest has no axes its outermost parallel loops are loops over blocks.
void bind_parallel_loops(LoopNest& nest, NodeId root) {
  ir::walk_nodes(nest, root, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind != MarkKind::parallel) return true;
    const auto id = static_cast<NodeId>(&node - nest.nodes.data());
    std::get<Loop>(nest.nodes[id]).mark = {MarkKind::axis, 0, "block_x"};
    return false;
  });
}
bool has_axes(const LoopNest& nest) {
  return std::any_of(nest.nodes.begin(), nest.nodes.end(), [](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    return loop && loop->mark.kind == MarkKind::axis;
  });
}

/// Elements that a thread moves at once: 16 bytes at most.
bool is_wide_copy(const LoopNest& nest, const Loop& loop) {
  constexpr int64_t kWideBytes = 16;
  const auto* copy = std::get_if<Copy>(&nest.nodes[loop.body]);
  return loop.mark.kind == MarkKind::vector && copy && loop.lo.of.size() == 1 && loop.hi.of.size() == 1 &&
         loop.hi.of[0] - loop.lo.of[0] == Affine::of(loop.mark.width) &&
         loop.mark.width * size_bytes(nest.buffers[copy->dst.id].type) <= kWideBytes;
}

/// Marks other than those of axes, unrolled loops and copies of neighbours say how a CPU's core runs a loop.
void forget_marks(LoopNest& nest) {
  for (Node& node : nest.nodes) {
    auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind == MarkKind::axis || loop->mark.kind == MarkKind::unroll) continue;
    if (!ir::is_warp_product(*loop) && !is_wide_copy(nest, *loop)) loop->mark = Mark{};
  }
  nest.auto_vectorized = false;
}

class Splitter {
 public:
  explicit Splitter(LoopNest nest) { out_.nest = std::move(nest); }

  Result<DeviceNest> run() {
    LoopNest& nest = out_.nest;
    if (nest.symbolic)
      return fail("PW0523", "kernels for devices have no sizes as arguments", {"bind the sizes with -p"});
    if (!has_axes(nest)) bind_parallel_loops(nest, nest.root);
    forget_marks(nest);
    out_.buffers.assign(nest.buffers.size(), {});
    for (BufferId id = 0; id < nest.buffers.size(); ++id) {
      const Buffer& buffer = nest.buffers[id];
      DeviceBuffer& at = out_.buffers[id];
      at.bytes = allocated_elements(buffer) * size_bytes(buffer.type);
      at.bytes = (at.bytes + kInstanceAlignment - 1) / kInstanceAlignment * kInstanceAlignment;
      at.place = buffer.within                     ? DevicePlace::within
                 : buffer.scope == Scope::argument ? DevicePlace::argument
                 : buffer.scope == Scope::constant ? DevicePlace::constant
                                                   : DevicePlace::own;
    }
    for (const Node& node : nest.nodes) {  // each lane has its share
      const auto* alloc = std::get_if<Alloc>(&node);
      if (!alloc || nest.buffers[alloc->buffer].scope != Scope::tile) continue;
      if (const auto* of = ir::warp_instruction_of(nest, alloc->body, alloc->buffer))
        out_.buffers[alloc->buffer].bytes = allocated_elements(nest.buffers[alloc->buffer]) *
                                            size_bytes(nest.buffers[alloc->buffer].type) / of->lanes();
    }
    const auto over = [&](bool is_thread) {
      return ir::nodes_with(nest, [is_thread](const Node& node) {
        const auto* loop = std::get_if<Loop>(&node);
        return loop && loop->mark.kind == MarkKind::axis && ir::is_thread_axis(*loop) == is_thread;
      });
    };
    with_blocks_ = over(false), with_threads_ = over(true);
    Variables variables(nest);
    variables_ = &variables;
    for (const Pack& pack : nest.packs) host(pack.root);
    host(nest.root);
    return std::move(out_);
  }

 private:
  /// Blocks inside end with it: nothing stands before or behind loops over blocks that would have to wait for them.
  bool is_one_grid(NodeId id) const {
    if (id == kNoNode || !with_blocks_[id]) return true;
    const Node& node = out_.nest.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      return seq->children.size() == 1 && is_one_grid(seq->children.front());
    if (const auto* choice = std::get_if<If>(&node)) return is_one_grid(choice->then) && is_one_grid(choice->otherwise);
    if (const auto* alloc = std::get_if<Alloc>(&node)) return is_one_grid(alloc->body);
    const auto* loop = std::get_if<Loop>(&node);
    return loop && loop->mark.kind == MarkKind::axis && is_one_grid(loop->body);
  }

  void host(NodeId id) {
    if (id == kNoNode) return;
    const Node node = out_.nest.nodes[id];
    const auto* loop = std::get_if<Loop>(&node);
    if (!with_blocks_[id] || (loop && loop->mark.kind == MarkKind::axis && is_one_grid(id))) return kernel(id);
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) host(child);
    if (const auto* choice = std::get_if<If>(&node)) host(choice->then), host(choice->otherwise);
    if (const auto* alloc = std::get_if<Alloc>(&node)) {
      DeviceBuffer& at = out_.buffers[alloc->buffer];
      if (at.place == DevicePlace::own) at.place = DevicePlace::workspace;
      host(alloc->body);
    }
    if (!loop) return;
    std::get<Loop>(out_.nest.nodes[id]).mark = Mark{};
    out_.outer_facts[loop->var] = variables_->loop_facts(*loop);
    variables_->context().enter(*loop);
    outer_.push_back(loop->var);
    host(loop->body);
    outer_.pop_back();
    variables_->context().leave(*loop);
  }

  void kernel(NodeId root) {
    out_.kernel_at[root] = static_cast<uint32_t>(out_.kernels.size());
    kernel_ = {root, outer_};
    own_bytes_ = 0;
    sizes(root);
    places(root);
    out_.kernels.push_back(kernel_);
  }

  /// The greatest number of iterations along each axis.
  void sizes(NodeId id) {
    if (id == kNoNode) return;
    const Node& node = out_.nest.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) sizes(child);
    if (const auto* choice = std::get_if<If>(&node)) sizes(choice->then), sizes(choice->otherwise);
    if (const auto* alloc = std::get_if<Alloc>(&node)) sizes(alloc->body);
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop) return;
    if (loop->mark.kind == MarkKind::axis) {
      const int64_t trips = (variables_->most_trips(*loop) + loop->step - 1) / loop->step;
      GridSize& along = ir::is_thread_axis(*loop) ? kernel_.threads : kernel_.blocks;
      int64_t& extent = along[dimension_of(loop->mark.detail)];
      extent = std::max(extent, trips);
    }
    variables_->context().enter(*loop);
    sizes(loop->body);
    variables_->context().leave(*loop);
  }

  void places(NodeId id) {
    if (id == kNoNode) return;
    const Node& node = out_.nest.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children) places(child);
    if (const auto* choice = std::get_if<If>(&node)) places(choice->then), places(choice->otherwise);
    if (const auto* loop = std::get_if<Loop>(&node)) {
      const bool is_axis = loop->mark.kind == MarkKind::axis;
      if (is_axis) axes_.push_back(loop->mark.detail);
      places(loop->body);
      if (is_axis) axes_.pop_back();
    }
    if (const auto* alloc = std::get_if<Alloc>(&node)) {
      place(*alloc);
      places(alloc->body);
    }
  }

  void place(const Alloc& alloc) {
    const Buffer& buffer = out_.nest.buffers[alloc.buffer];
    DeviceBuffer& at = out_.buffers[alloc.buffer];
    if (at.place == DevicePlace::within) return;
    const bool threads_inside = alloc.body != kNoNode && with_threads_[alloc.body];
    const bool is_small = at.bytes <= kOwnBytes && own_bytes_ + at.bytes <= kMostOwnBytes;
    at.place = !threads_inside && is_small ? DevicePlace::own
               : buffer.scope == Scope::shared || (threads_inside && buffer.scope != Scope::heap)
                   ? DevicePlace::shared
                   : DevicePlace::workspace;
    if (at.place == DevicePlace::own) {
      own_bytes_ += at.bytes;
      return;
    }
    for (const std::string& axis : axes_) {
      if (at.place == DevicePlace::shared && !ir::is_thread_axis(axis)) continue;
      at.axes.push_back(axis);
      at.instances *= kernel_.extent(axis);
    }
    if (at.place == DevicePlace::shared) kernel_.shared_bytes += at.bytes * at.instances;
  }

  DeviceNest out_;
  std::vector<bool> with_blocks_, with_threads_;
  Variables* variables_ = nullptr;
  std::vector<VarId> outer_;
  DeviceKernel kernel_;
  int64_t own_bytes_ = 0;          ///< of one thread, in the kernel
  std::vector<std::string> axes_;  ///< of the loops around, in the kernel
};

}  // namespace

int64_t DeviceKernel::extent(const std::string& axis) const {
  return (ir::is_thread_axis(axis) ? threads : blocks)[dimension_of(axis)];
}

Result<DeviceNest> device_nest(LoopNest nest, int64_t declared_shared_bytes) {
  auto made = Splitter(std::move(nest)).run();
  if (!made) return made;
  for (DeviceKernel& kernel : made->kernels)
    if (kernel.shared_bytes > declared_shared_bytes) kernel.dynamic_shared_bytes = kernel.shared_bytes;
  return made;
}

Status keeps_limits(const DeviceNest& nest, const Target& target) {
  const GridFigures& grid = target.machine.grid;
  for (const DeviceKernel& kernel : nest.kernels) {
    if (kernel.thread_count() > grid.block_threads.value)
      return fail("PW0525",
                  "a block of " + std::to_string(kernel.thread_count()) + " threads: the machine runs at most " +
                      std::to_string(grid.block_threads.value),
                  {"bind smaller loops to threads"});
    if (kernel.shared_bytes > grid.block_shared_bytes.value)
      return fail("PW0525",
                  "a block takes " + std::to_string(kernel.shared_bytes) + " bytes of shared memory: the machine has " +
                      std::to_string(grid.block_shared_bytes.value),
                  {"promote smaller tiles, or on the heap"});
  }
  return has_instructions(target, nest.nest);
}

BufferId given_for(const LoopNest& nest, BufferId argument) {
  for (const Pack& pack : nest.packs)
    if (pack.packed == argument) return pack.source;
  return argument;
}

size_t dense_bytes(const Buffer& buffer) {
  int64_t bytes = size_bytes(buffer.type);
  for (int64_t extent : buffer.extents) bytes *= extent;
  return static_cast<size_t>(bytes);
}

std::string kernel_symbol(const std::string& symbol, size_t kernel) {
  return symbol + "_k" + std::to_string(kernel);
}

}  // namespace polyweft::targets
