#include "targets/cpu/hexagon/hexagon_hooks.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsHexagon.h>

#include <utility>

namespace polyweft::targets {
namespace {

constexpr unsigned kHvxWords = 32;  ///< of a vector

// Floats are scalar, and what the scalar unit has no instruction for is general code.
InstructionCapabilities hvx_capabilities(const Target& target) {
  InstructionCapabilities can;
  can.vector_bits = target.machine.units.vector_bits;
  can.fused_products = can.maximum = can.rounding = can.half_conversions = can.square_shuffles = false;
  can.argument_alignment = kArgumentAlignment;
  set_register_shares(can, target.machine.units.vector_registers);
  return can;
}

bool is_short_factor(ElementType type) {
  return type == ElementType::i8 || type == ElementType::u8;
}

class HexagonHooks final : public InstructionHooks {
 public:
  explicit HexagonHooks(const Target& target) : InstructionHooks(hvx_capabilities(target)) {}

  // vrmpy: four products of bytes, of each pair of signs.
  int64_t dot_products(ElementType a, ElementType b, unsigned lanes) const override {
    return lanes == kHvxWords && is_short_factor(a) && is_short_factor(b) ? 4 : 0;
  }

  llvm::Value* dot(llvm::IRBuilder<>& builder, llvm::Value* sums, DotOperand a, DotOperand b) const override {
    if (a.type == ElementType::i8 && b.type == ElementType::u8) std::swap(a, b);  // unsigned first
    const llvm::Intrinsic::ID unit = a.type != b.type            ? llvm::Intrinsic::hexagon_V6_vrmpybusv_acc_128B
                                     : a.type == ElementType::u8 ? llvm::Intrinsic::hexagon_V6_vrmpyubv_acc_128B
                                                                 : llvm::Intrinsic::hexagon_V6_vrmpybv_acc_128B;
    const auto words = [&](llvm::Value* bytes) { return builder.CreateBitCast(bytes, sums->getType()); };
    return builder.CreateIntrinsic(unit, {sums, words(a.elements), words(b.elements)});
  }
};

}  // namespace

std::unique_ptr<InstructionHooks> hexagon_hooks(const Target& target) {
  return std::make_unique<HexagonHooks>(target);
}

}  // namespace polyweft::targets
