#include "schedules/sketches/batches.h"

#include <algorithm>
#include <map>

#include "ir/nests/row_walk.h"
#include "ir/nests/walk_nest.h"

namespace polyweft::schedules {
namespace {

/// Bytes of the widest element that the program computes with.
int64_t widest(const Program& program) {
  int64_t out = 1;
  for (const Tensor& tensor : program.tensors) out = std::max(out, size_bytes(tensor.type));
  return out;
}

/// Does a loop that is not unrolled walk what lies between two lanes? Each of its iterations would take one column of
/// what memory has by rows.
bool walks_rows(const Access& access, VarId lane, const std::vector<VarId>& serial) {
  bool is_inside = false;
  for (const Subscript& s : access.index) {
    if (is_inside && std::any_of(serial.begin(), serial.end(), [&](VarId v) { return ir::mentions(s.affine, v); }))
      return true;
    is_inside |= ir::mentions(s.affine, lane);
  }
  return false;
}

/// Bytes of memory between one lane of an access and the next.
int64_t bytes_apart(const LoopNest& nest, const Access& access, VarId lane) {
  const Buffer& buffer = nest.buffers[access.id];
  int64_t out = size_bytes(buffer.type);
  for (size_t d = access.index.size(); d-- > 0 && !ir::mentions(access.index[d].affine, lane);)
    out *= buffer.extents[d];
  return out;
}

/// Do lanes lie apart in some access to memory, with rows that are unrolled whole? Where they are contiguous other
/// rules have better blocks. Rows that a serial loop walks, of all lanes and tensors together, are to stay in
/// `most_bytes`, or each lane brings in its own line again and again.
bool has_lanes_apart(const LoopNest& nest, bool may_walk, int64_t lanes, int64_t most_bytes) {
  bool out = false, walks = false;
  std::map<BufferId, int64_t> rows;
  ir::walk_nodes(nest, nest.root, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind != MarkKind::vector) return true;
    std::vector<VarId> serial;
    ir::walk_nodes(nest, loop->body, [&](const Node& inner) {
      if (const auto* in = std::get_if<Loop>(&inner); in && in->mark.kind == MarkKind::serial)
        serial.push_back(in->var);
      return true;
    });
    ir::visit_accesses(nest, loop->body, [&](const Access& access, bool) {
      const Scope scope = nest.buffers[access.id].scope;
      if (scope != Scope::reg && scope != Scope::stack && walks_rows(access, loop->var, serial)) {
        walks = true;
        rows[access.id] = lanes * bytes_apart(nest, access, loop->var);
      }
      for (size_t d = 0; d < access.index.size() && scope != Scope::reg && scope != Scope::stack; ++d) {
        const int64_t step = std::abs(access.index[d].affine.coefficient(loop->var));
        out |= step > 1 || (step == 1 && d + 1 < access.index.size());
      }
    });
    return false;
  });
  int64_t walked = 0;
  for (const auto& [buffer, bytes] : rows) walked += bytes;
  return out && (may_walk || !walks) && walked <= most_bytes;
}

}  // namespace

std::vector<NestTemplate> batch_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                         const Isl& isl) {
  std::vector<NestTemplate> out;
  const int64_t most = machine.vector_bytes() / widest(normalized);
  const int64_t most_walked = machine.caches() > 1 ? machine.cache_bytes(1) / 4 : 64 << 10;
  const bool is_chain = has_recurrence(normalized);  // then lanes are worth a gather
  for (int64_t lanes : {most, most / 2}) {
    if (lanes < 2) continue;
    Trace trace;
    trace.steps.push_back(BatchStep{lanes, std::max(1, machine.cores())});
    auto t = replay(normalized, cls, trace, isl);
    const auto nest = t ? instantiate(*t, {}) : Result<LoopNest>(t.error());
    if (nest && has_lanes_apart(*nest, is_chain, lanes, most_walked)) out.push_back(std::move(*t));
  }
  return out;
}

}  // namespace polyweft::schedules
