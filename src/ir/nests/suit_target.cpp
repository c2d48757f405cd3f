#include "ir/nests/suit_target.h"

namespace polyweft::ir {

void suit_target(NestTemplate& made, const Target& target) {
  made.fuses_products = target.can.fused_products;
  made.fuses_halves = target.can.half_arithmetic;
}

Result<LoopNest> for_target(const Target& target, Result<LoopNest> nest) {
  if (!nest || target.can.fused_products) return nest;
  for (auto& node : nest->nodes)
    if (auto* compute = std::get_if<Compute>(&node)) compute->fused = false;
  return nest;
}

}  // namespace polyweft::ir
