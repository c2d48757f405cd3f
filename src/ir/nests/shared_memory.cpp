#include "ir/nests/shared_memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ir/nests/workspace.h"

namespace polyweft::ir {
namespace {

struct ByteSpan {
  int64_t begin = 0, end = 0;
};

/// Bytes of a verified buffer.
int64_t size_of(const Buffer& buffer) {
  return allocated_elements(buffer) * size_bytes(buffer.type);
}
ByteSpan byte_span(const LoopNest& nest, BufferId id) {
  const Buffer& b = nest.buffers[id];
  const int64_t at = b.within ? b.within->at_bytes : 0;
  return {at, at + size_of(b)};
}

BufferId memory_of(const LoopNest& nest, BufferId id) {
  return nest.buffers[id].within ? nest.buffers[id].within->host : id;
}

bool is_plain_layout(const Buffer& b) {
  return b.layout.pieces == row_major(folded_extents(b)).pieces &&
         std::all_of(b.layout.pad.begin(), b.layout.pad.end(), [](int64_t pad) { return pad == 0; });
}

/// What stands at the top of the kernel: its allocations, and its statements and loops in the order of the text.
struct Top {
  std::vector<BufferId> allocated;
  std::vector<NodeId> children;
};
void collect_top(const LoopNest& nest, NodeId id, Top& out) {
  if (id == kNoNode) return;
  if (const auto* alloc = std::get_if<Alloc>(&nest.nodes[id])) {
    out.allocated.push_back(alloc->buffer);
    return collect_top(nest, alloc->body, out);
  }
  if (const auto* seq = std::get_if<Seq>(&nest.nodes[id])) {
    for (NodeId child : seq->children) collect_top(nest, child, out);
    return;
  }
  out.children.push_back(id);
}

/// Calls f(statement's destination, compute or null) for each write inside.
template <class F>
void each_write(const LoopNest& nest, NodeId id, const F& f) {
  if (id == kNoNode) return;
  const Node& node = nest.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) each_write(nest, child, f);
  if (const auto* branch = std::get_if<If>(&node)) {
    each_write(nest, branch->then, f);
    each_write(nest, branch->otherwise, f);
  }
  if (const auto* alloc = std::get_if<Alloc>(&node)) each_write(nest, alloc->body, f);
  if (const auto* loop = std::get_if<Loop>(&node)) each_write(nest, loop->body, f);
  if (const auto* copy = std::get_if<Copy>(&node)) f(copy->dst, static_cast<const Compute*>(nullptr));
  if (const auto* compute = std::get_if<Compute>(&node))
    for (const Access& dst : compute->dst) f(dst, compute);
}

/// Places of the text (children of the top) that write each buffer.
struct Writers {
  size_t first = SIZE_MAX, last = 0;
  std::vector<const Compute*> computes;
  bool copies = false;
};
std::vector<Writers> writers_of(const LoopNest& nest, const Top& top) {
  std::vector<Writers> out(nest.buffers.size());
  for (size_t k = 0; k < top.children.size(); ++k)
    each_write(nest, top.children[k], [&](const Access& dst, const Compute* compute) {
      Writers& w = out[dst.id];
      w.first = std::min(w.first, k);
      w.last = std::max(w.last, k);
      w.copies |= compute == nullptr;
      if (compute) w.computes.push_back(compute);
    });
  return out;
}

/// All that is ever written to the output is what the local holds in the same bytes, after the last write to the local.
bool can_live_in(const LoopNest& nest, BufferId local, BufferId output, const std::vector<Writers>& writers) {
  const Buffer &from = nest.buffers[local], &to = nest.buffers[output];
  const bool fits = from.scope == Scope::heap && !from.within && from.type == to.type && is_plain_layout(from) &&
                    is_plain_layout(to) && size_of(from) == size_of(to) && size_of(from) > 0;
  const Writers& w = writers[output];
  if (!fits || w.copies || w.computes.empty() || writers[local].computes.empty() || writers[local].last >= w.first)
    return false;
  LoopNest trial;  // only what the question needs
  trial.params = nest.params;
  trial.buffers = nest.buffers;
  trial.buffers[local].within = Within{output, 0};
  return std::all_of(w.computes.begin(), w.computes.end(),
                     [&](const Compute* c) { return stays_in_place(trial, *c, local); });
}

struct Item {
  BufferId buffer = 0;
  int64_t bytes = 0, at = 0;
  Life life;
};

bool meet(const Life& a, const Life& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Each item at the lowest place that is free throughout its life; the end of the last.
int64_t pack(std::vector<Item>& items) {
  int64_t end = 0;
  for (size_t k = 0; k < items.size(); ++k) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t j = 0; j < k; ++j)
      if (meet(items[j].life, items[k].life))
        taken.emplace_back(items[j].at, items[j].at + step_in_block(items[j].bytes));
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (const auto& [from, to] : taken) {
      if (from - at >= step_in_block(items[k].bytes)) break;
      at = std::max(at, to);
    }
    items[k].at = at;
    end = std::max(end, at + items[k].bytes);
  }
  return end;
}

/// The best of some orders.
std::vector<Item> packed(const std::vector<Item>& items, int64_t& end) {
  std::vector<Item> best;
  const auto attempt = [&](const auto& before) {
    std::vector<Item> order = items;
    std::stable_sort(order.begin(), order.end(), before);
    const int64_t length = pack(order);
    if (!best.empty() && length >= end) return;
    best = std::move(order);
    end = length;
  };
  attempt([](const Item& a, const Item& b) { return a.bytes > b.bytes; });
  attempt([](const Item& a, const Item& b) { return a.life.first < b.life.first; });
  attempt([](const Item& a, const Item& b) { return a.life.last > b.life.last; });
  attempt([](const Item& a, const Item& b) { return a.life.last - a.life.first > b.life.last - b.life.first; });
  return best;
}

}  // namespace

std::vector<std::vector<BufferId>> sharers_of(const LoopNest& nest) {
  std::vector<std::vector<BufferId>> out(nest.buffers.size());
  std::map<BufferId, std::vector<BufferId>> by_host;
  for (BufferId id = 0; id < nest.buffers.size(); ++id)
    if (nest.buffers[id].within) by_host[nest.buffers[id].within->host].push_back(id);
  for (auto& [host, all] : by_host) {
    if (nest.buffers[host].tensor != kNoTensor) all.push_back(host);
    for (BufferId a : all)
      for (BufferId b : all) {
        const ByteSpan x = byte_span(nest, a), y = byte_span(nest, b);
        if (a != b && x.begin < y.end && y.begin < x.end) out[a].push_back(b);
      }
  }
  return out;
}

std::optional<Affine> byte_of(const LoopNest& nest, const Access& access) {
  const Buffer& b = nest.buffers[access.id];
  if (!is_plain_layout(b)) return std::nullopt;
  const auto extents = folded_extents(b);
  Affine element;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (access.index[d].data) return std::nullopt;
    Affine index = access.index[d].affine;
    for (const Fold& fold : b.folds)
      if (fold.dim == d && fold.window < b.extents[d])
        index = fold.window == 1 ? Affine::of(0) : modulo(index, fold.window);
    element = extents[d] * element + index;
  }
  return size_bytes(b.type) * element + Affine::of(b.within ? b.within->at_bytes : 0);
}

bool stays_in_place(const LoopNest& nest, const Compute& compute, BufferId from) {
  if (compute.how != Write::store || compute.dst.size() != 1 || compute.rhs[0]->op != Op::read) return false;
  const Access &to = compute.dst[0], &source = compute.rhs[0]->access;
  if (source.id != from || nest.buffers[to.id].type != nest.buffers[from].type || to.id == from ||
      memory_of(nest, to.id) != memory_of(nest, from))
    return false;
  const auto a = byte_of(nest, to), b = byte_of(nest, source);
  if (!a || !b) return false;
  const Affine apart = *a - *b;
  return apart.is_constant() && apart.constant == 0;
}

void place_in_outputs(LoopNest& nest, const std::vector<bool>& total) {
  Top top;
  collect_top(nest, nest.root, top);
  const auto writers = writers_of(nest, top);
  for (size_t k = 0; k < nest.arguments.size(); ++k) {
    const BufferId output = nest.arguments[k];
    if (!nest.buffers[output].is_output || k >= total.size() || !total[k]) continue;
    for (BufferId local : top.allocated) {
      if (!can_live_in(nest, local, output, writers)) continue;
      nest.buffers[local].within = Within{output, 0};
      break;
    }
  }
}

Status place_in_output(LoopNest& nest, TensorId local, TensorId output) {
  Top top;
  collect_top(nest, nest.root, top);
  const auto writers = writers_of(nest, top);
  for (BufferId host : nest.arguments) {
    if (nest.buffers[host].tensor != output || !nest.buffers[host].is_output) continue;
    for (BufferId id : top.allocated) {
      if (nest.buffers[id].tensor != local || !can_live_in(nest, id, host, writers)) continue;
      nest.buffers[id].within = Within{host, 0};
      return Ok{};
    }
    return fail("PW0308",
                "store in " + nest.buffers[host].name +
                    ": no buffer of the tensor has as many cells, all copied there after the last write to it",
                {"fold it to the output's size, and let nothing else write the output"});
  }
  return fail("PW0308", "store: the nest has no such output");
}

void reuse_dead(LoopNest& nest) {
  Top top;
  collect_top(nest, nest.root, top);
  const auto is_large = [&](BufferId id) {
    return nest.buffers[id].scope == Scope::heap && lies_in_workspace(nest.buffers[id]);
  };
  if (std::count_if(top.allocated.begin(), top.allocated.end(), is_large) < 2) return;
  const auto lives = lives_of(nest);
  std::vector<Item> items;
  int64_t apart = 0;
  for (BufferId id : top.allocated) {
    const Buffer& b = nest.buffers[id];
    if (!is_large(id) || lives[id].first < 0) continue;
    const auto bytes = bytes_of(b);
    if (!bytes || *bytes > INT64_MAX / 4 - apart) return;
    items.push_back({id, (*bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment, 0, lives[id]});
    apart += step_in_block(items.back().bytes);
  }
  int64_t together = apart;
  const auto best = packed(items, together);
  constexpr int64_t kLeastSaved = 4096;  // below, only the space between them
  if (best.empty() || together > apart - kLeastSaved || together > (int64_t{1} << 40)) return;
  Buffer block;
  block.name = "workspace";
  block.type = ElementType::u8;
  block.extents = {together};
  block.layout = row_major(block.extents);
  nest.buffers.push_back(std::move(block));
  const auto host = static_cast<BufferId>(nest.buffers.size() - 1);
  for (const Item& item : best) nest.buffers[item.buffer].within = Within{host, item.at};
  nest.root = nest.add(Alloc{host, nest.root});
}

}  // namespace polyweft::ir
