#include "targets/cpu/aarch64/aarch64_hooks.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>

#include <utility>

namespace polyweft::targets {
namespace {

// NEON has fused multiply-adds, rounding to integers (frintm, frintp, frintn) and conversions of halves (fcvtl, fcvtn)
// since its first version.
InstructionCapabilities neon_capabilities(const Target& target) {
  InstructionCapabilities can;
  can.vector_bits = target.machine.units.vector_bits;
  can.fused_products = can.rounding = can.half_conversions = true;
  can.half_arithmetic = target.can.half_arithmetic;
  can.masked_vectors = target.has("sve");  // predicates, of elements of all sizes
  set_register_shares(can, target.machine.units.vector_registers);
  return can;
}

class AArch64Hooks final : public InstructionHooks {
 public:
  explicit AArch64Hooks(const Target& target)
      : InstructionHooks(neon_capabilities(target)),
        has_dots_(target.has("dotprod")),
        has_mixed_dots_(target.has("i8mm")) {}

  // Four products of bytes; of words there are none of neighbours.
  int64_t dot_products(ElementType a, ElementType b, unsigned lanes) const override {
    constexpr unsigned kLanes = 4;
    const auto is_byte = [](ElementType type) { return type == ElementType::i8 || type == ElementType::u8; };
    const bool has = a == b ? has_dots_ : has_mixed_dots_;
    return lanes == kLanes && is_byte(a) && is_byte(b) && has ? 4 : 0;
  }

  llvm::Value* dot(llvm::IRBuilder<>& builder, llvm::Value* sums, DotOperand a, DotOperand b) const override {
    const llvm::Intrinsic::ID unit = a.type != b.type            ? llvm::Intrinsic::aarch64_neon_usdot
                                     : a.type == ElementType::u8 ? llvm::Intrinsic::aarch64_neon_udot
                                                                 : llvm::Intrinsic::aarch64_neon_sdot;
    if (a.type == ElementType::i8 && b.type == ElementType::u8) std::swap(a, b);  // unsigned first
    return builder.CreateIntrinsic(unit, {sums->getType(), a.elements->getType()}, {sums, a.elements, b.elements});
  }

 private:
  bool has_dots_, has_mixed_dots_;
};

}  // namespace

std::unique_ptr<InstructionHooks> aarch64_hooks(const Target& target) {
  return std::make_unique<AArch64Hooks>(target);
}

}  // namespace polyweft::targets
