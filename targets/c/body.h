// The statements of one function of the emitted C: a kernel, or the packing of an input.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "targets/c/names.h"
#include "targets/c/uses.h"
#include "targets/c/value_text.h"

namespace polyweft::targets::c {

/// How much is added to the sums of integers of a buffer, over all that a kernel does: those that cannot leave their
/// type need no wrapping addition.
struct SumSize {
  __int128 most = 0;
  bool is_known = true;
};
using SumSizes = std::map<BufferId, SumSize>;

class Body {
 public:
  /// `names`: what the file has taken; `sums`: as a run before this one has found.
  Body(const LoopNest& nest, Helpers& helpers, Names names, SumSizes sums);
  /// Parameters of the function: opens their names.
  std::string argument(BufferId id);
  /// The statements of the node, two spaces deep.
  std::string text(NodeId root);
  /// Memory that the function asks for, in order of allocation; and constants that it reads.
  const std::vector<BufferId>& heap() const { return heap_; }
  std::vector<BufferId> constants() const;
  const std::string& name(BufferId id) { return values_.buffer_names()[id]; }
  ValueText& values() { return values_; }
  const IndexText& indices() const { return indices_; }
  const SumSizes& sums() const { return found_; }
  bool touches(BufferId id) const { return values_.is_printed(id); }

 private:
  struct OpenLoop {
    VarId var;
    __int128 trips;
  };
  struct OpenLocal {
    BufferId buffer;
    std::string key, name;
    Access element;
    NodeId last_writer;
  };

  void line(const std::string& text);
  /// A name for what is declared in this block, where no other gets it.
  std::string declared(const std::string& wanted);
  /// What `print` prints stands in a block of its own.
  template <class Print>
  void block(const Print& print) {
    const size_t outside = in_block_.size();
    ++depth_;
    print();
    --depth_;
    for (; in_block_.size() > outside; in_block_.pop_back()) names_.close(in_block_.back());
  }
  void node(NodeId id);
  void put(const Seq& seq, NodeId id);
  void put(const Loop& loop, NodeId id);
  void put(const If& branch, NodeId id);
  void put(const Alloc& alloc, NodeId id);
  void put(const Compute& compute, NodeId id);
  void put(const Copy& copy, NodeId id);
  void put(const Sync& sync, NodeId id);

  VarFacts facts_of(const Loop& loop) const;
  std::vector<OpenLocal> locals_after(const std::vector<NodeId>& nodes, size_t at);
  std::vector<OpenLocal> locals_around(NodeId id);
  bool lies_inside(const Access& access) const;
  std::string local_name(const BufferUse& use);
  void close(const OpenLocal& local);
  void declare_array(BufferId id);

  /// The place of an assignment: the element, or the declaration of the variable that begins with it.
  std::string target(const Access& access, NodeId id);
  void assign(const Access& access, const std::string& stored, NodeId id);
  void put_init(const Compute& compute, NodeId id);
  void put_store(const Compute& compute, NodeId id);
  void put_fold(const Compute& compute);
  void put_extreme(const Compute& compute);
  void put_combined(const Compute& compute);
  void print_extreme(const Compute& compute);
  void print_combined(const Compute& compute);
  Value folded(const Compute& compute, const Value& state, const Value& term);
  Value integer_sum(const Compute& compute, const Value& state, const Value& term);
  void note_sum(const Compute& compute, const Value& term);
  __int128 most_times(const Access& dst) const;
  std::string begin_temporary(const std::string& wanted, ElementType type, const std::string& value);

  const LoopNest& nest_;
  Helpers& helpers_;
  Names names_;
  SumSizes sums_, found_;
  Facts facts_;
  std::vector<std::string> variables_;
  IndexText indices_;
  ValueText values_;
  Uses uses_;
  std::vector<OpenLoop> loops_;
  std::vector<OpenLocal> locals_;
  std::map<NodeId, std::set<BufferId>> declared_at_;  ///< variables that begin with this statement
  std::vector<BufferId> heap_;
  std::vector<std::string> in_block_;  ///< names declared in the blocks that are open
  std::string out_;
  int depth_ = 1;
};

}  // namespace polyweft::targets::c
