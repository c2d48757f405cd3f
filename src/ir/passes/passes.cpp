#include "ir/passes/passes.h"

#include "ir/passes/split_loops.h"
#include "support/abilities.h"

namespace polyweft::ir {
namespace {

constexpr NestPass kPasses[] = {
    {"split_loops", "code.pieces", [](LoopNest nest, const PassOptions&) { return split_loops(std::move(nest)); }},
    {"scalar_replacement", "code.scalar_replacement",
     [](LoopNest nest, const PassOptions& options) { return replace_scalars(std::move(nest), options.scalars); }},
};

}  // namespace

std::span<const NestPass> nest_passes() {
  return kPasses;
}

LoopNest run_passes(LoopNest nest, const PassOptions& options, std::string_view last) {
  for (const NestPass& pass : kPasses) {
    if (is_on(pass.ability)) nest = pass.run(std::move(nest), options);
    if (pass.name == last) break;
  }
  return nest;
}

}  // namespace polyweft::ir
