// Which elements a part of a nest touches: what may live in a local variable of the emitted C.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::targets::c {

/// Of one buffer in a part of a nest.
struct BufferUse {
  std::string key;         ///< of the one element that is touched; meaningless where there are several
  bool is_single = true;   ///< all accesses are of one element, by form
  bool is_folded = false;  ///< accumulated into
  bool is_written = false;
  bool is_read = false;
  Access access;  ///< the first
};
struct NodeUses {
  std::map<BufferId, BufferUse> buffers;
  std::set<VarId> bound;         ///< loops inside
  std::set<BufferId> allocated;  ///< inside
  bool has_loop = false;
};

class Uses {
 public:
  explicit Uses(const LoopNest& nest);
  const NodeUses& of(NodeId node);
  /// The element does not move in the loops of `part`, nobody touches others of its buffer there nor memory that it
  /// shares.
  bool stays(const NodeUses& part, BufferId buffer) const;
  bool shares_memory(BufferId buffer) const { return !sharers_[buffer].empty(); }
  /// The statement that gives a buffer of the allocation its value before anything in the same block reads it, where
  /// all of its uses lie; kNoNode: there is none.
  NodeId first_write(const Alloc& alloc);
  /// Whether the right-hand sides of the statement, or its subscripts, read the buffer.
  bool reads(const Compute& compute, BufferId buffer) const;
  static void merge(NodeUses& into, const NodeUses& part);

 private:
  void add(NodeUses& into, const Access& access, bool is_write, bool is_fold) const;
  void add_reads(NodeUses& into, const Expr& e) const;
  NodeUses found(const Node& node);

  const LoopNest& nest_;
  std::vector<std::vector<BufferId>> sharers_;
  std::map<NodeId, NodeUses> known_;
};

}  // namespace polyweft::targets::c
