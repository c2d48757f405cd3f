// The nest under construction: its nodes, its loop variables with what is known of them, and the first error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/instantiate/loop_variables.h"
#include "polyweft/loop_nest.h"

namespace polyweft::ir {

class NestWriter {
 public:
  /// An empty nest; `header`: its name, class, parameters and combiners.
  explicit NestWriter(LoopNest header) : variables_(header.params.size()), nest_(std::move(header)) {}

  NodeId add(Node node) { return nest_.add(std::move(node)); }
  /// One after the other, without empty ones (kNoNode).
  NodeId seq(std::vector<NodeId> children);
  /// if <all tests> node; without tests the node itself.
  NodeId guarded(std::vector<Guard> tests, NodeId node);
  /// The lifetimes of these buffers around a node, the first one outermost.
  NodeId within(const std::vector<BufferId>& buffers, NodeId node);

  /// A new loop variable whose values are multiples of `step` in [0, most].
  VarId variable(const std::string& name, int64_t step, int64_t most);
  /// The same, of an unrolled or vector loop; in steps of 1.
  VarId register_variable(const std::string& name, int64_t most);
  void drop_last_variable();
  LoopVariables& variables() { return variables_; }
  const LoopVariables& variables() const { return variables_; }

  BufferId add_buffer(Buffer buffer);
  Buffer& buffer(BufferId id) { return nest_.buffers[id]; }
  const Buffer& buffer(BufferId id) const { return nest_.buffers[id]; }
  LoopNest& nest() { return nest_; }

  /// The first one counts; what is written after it is thrown away.
  NodeId error(std::string code, std::string message, std::vector<std::string> notes = {});
  bool failed() const { return failed_; }
  const Error& first_error() const { return error_; }

 private:
  LoopVariables variables_;
  LoopNest nest_;
  bool failed_ = false;
  Error error_;
};

/// for var = 0; var < trips.
Loop counted_loop(VarId var, int64_t trips, NodeId body);
/// The same as lanes of one vector.
Loop vector_loop(VarId var, int64_t lanes, NodeId body);

}  // namespace polyweft::ir
