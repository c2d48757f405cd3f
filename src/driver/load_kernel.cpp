// A nest to a kernel of this process: its code, and what its arguments are.
#include "driver/tuner_impl.h"
#include "ir/nests/workspace.h"

namespace polyweft {
namespace {

/// "B of 274877906944 bytes, the largest of 2 arrays that take 274878956608".
std::string workspace_text(const LoopNest& nest) {
  const auto workspace = ir::workspace_of(nest);
  if (!workspace) return workspace.error().message;
  size_t arrays = 0;
  const ir::Placed* largest = nullptr;
  for (const ir::Block& block : workspace->blocks) {
    arrays += block.buffers.size();
    for (const ir::Placed& each : block.buffers)
      if (!largest || each.bytes > largest->bytes) largest = &each;
  }
  if (!largest) return "packed copies of its inputs";
  const std::string first = nest.buffers[largest->buffer].name + " of " + std::to_string(largest->bytes) + " bytes";
  return arrays == 1 ? first
                     : first + ", the largest of " + std::to_string(arrays) + " arrays that take " +
                           std::to_string(workspace->bytes) + " together";
}

std::unique_ptr<const Kernel::Impl::Symbolic> symbolic_part(const LoopNest& nest, const Program& program) {
  auto out = std::make_unique<Kernel::Impl::Symbolic>();
  out->signature = nest;
  out->signature.nodes.clear();
  out->program = program;
  for (const Parameter& size : nest.params) out->sizes.push_back(size.name);
  return out;
}

}  // namespace

Result<Kernel> load_kernel(const CompileService& compiler, const LoopNest& nest, const Program& program,
                           const std::string& origin) {
  auto loaded = compiler.load(nest);
  if (!loaded) return loaded.error();
  auto impl = std::make_shared<Kernel::Impl>();
  impl->loaded = std::move(loaded).value();
  impl->arguments = argument_specs(nest, program);
  impl->origin = origin;
  impl->workspace = nest.symbolic ? "its workspace at these sizes" : workspace_text(nest);
  if (nest.symbolic) impl->symbolic = symbolic_part(nest, program);
  return Kernel(std::move(impl));
}

}  // namespace polyweft
