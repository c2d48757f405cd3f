#include "ir/passes/left_to_compiler.h"

#include "ir/normalize/contract.h"

namespace polyweft::ir {

LoopNest left_to_compiler(LoopNest nest, bool avoids_gathers) {
  nest.auto_vectorized = true;
  nest.avoids_gathers = avoids_gathers;
  return nest;
}

LoopNest with_fused_products(LoopNest nest, bool fuses_products) {
  if (!fuses_products || nest.cls == NumericsClass::strict) return nest;
  const auto fuses = [](ElementType type) { return type == ElementType::f32 || type == ElementType::f64; };
  for (Node& node : nest.nodes) {
    auto* compute = std::get_if<Compute>(&node);
    if (!compute || compute->dst.size() != 1) continue;
    for (Expr& rhs : compute->rhs)
      rhs = compute->fused ? contracted_inside(rhs, compute->dst[0].id, fuses)
                           : contracted(rhs, compute->dst[0].id, fuses);
  }
  return nest;
}

}  // namespace polyweft::ir
