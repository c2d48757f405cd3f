#include "ir/instantiate/nest_writer.h"

#include <utility>

namespace polyweft::ir {

NodeId NestWriter::seq(std::vector<NodeId> children) {
  std::erase(children, kNoNode);
  if (children.size() == 1) return children[0];
  return add(Seq{std::move(children)});
}

NodeId NestWriter::guarded(std::vector<Guard> tests, NodeId node) {
  if (tests.empty()) return node;
  return add(If{guard_all(std::move(tests)), node, kNoNode});
}

NodeId NestWriter::within(const std::vector<BufferId>& buffers, NodeId node) {
  for (size_t k = buffers.size(); k-- > 0;) node = add(Alloc{buffers[k], node});
  return node;
}

VarId NestWriter::variable(const std::string& name, int64_t step, int64_t most) {
  variables_.add({step, most, false});
  return nest_.new_loop_var(name);
}

VarId NestWriter::register_variable(const std::string& name, int64_t most) {
  variables_.add({1, most, true});
  return nest_.new_loop_var(name);
}

void NestWriter::drop_last_variable() {
  variables_.drop_last();
  nest_.loop_names.pop_back();
}

BufferId NestWriter::add_buffer(Buffer buffer) {
  nest_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(nest_.buffers.size() - 1);
}

NodeId NestWriter::error(std::string code, std::string message, std::vector<std::string> notes) {
  if (!failed_) error_ = fail(std::move(code), std::move(message), std::move(notes));
  failed_ = true;
  return kNoNode;
}

Loop counted_loop(VarId var, int64_t trips, NodeId body) {
  Loop out;
  out.var = var;
  out.lo.of = {Affine::of(0)};
  out.hi.of = {Affine::of(trips)};
  out.body = body;
  return out;
}

Loop vector_loop(VarId var, int64_t lanes, NodeId body) {
  Loop out = counted_loop(var, lanes, body);
  out.mark.kind = MarkKind::vector;
  out.mark.width = static_cast<int32_t>(lanes);
  return out;
}

}  // namespace polyweft::ir
