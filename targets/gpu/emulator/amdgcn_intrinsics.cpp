#include "targets/gpu/emulator/amdgcn_intrinsics.h"

#include <cstring>

#include "targets/gpu/emulator/runtime/grid.h"
#include "targets/gpu/emulator/runtime/wave_products.h"

namespace polyweft::targets {
namespace {

using emulator::WaveKind;
using emulator::WaveLayout;
using emulator::WaveProduct;

/// Behind "mfma.f32." or "mfma.i32.": "32x32x8f16", "16x16x16bf16.1k", "16x16x32.i8".
std::optional<WaveProduct> mfma(llvm::StringRef name) {
  WaveProduct out{};
  out.layout = WaveLayout::mfma;
  unsigned sizes[3] = {};
  for (unsigned& size : sizes) {
    name.consume_front("x");
    if (name.consumeInteger(10, size) || size > 32) return std::nullopt;
  }
  out.m = static_cast<uint8_t>(sizes[0]), out.n = static_cast<uint8_t>(sizes[1]),
  out.k = static_cast<uint8_t>(sizes[2]);
  name.consume_front(".");
  if (name == "f16")
    out.a = out.b = WaveKind::f16;
  else if (name == "bf16.1k")
    out.a = out.b = WaveKind::bf16;
  else if (name == "i8")
    out.a = out.b = WaveKind::s8;
  else
    return std::nullopt;
  const bool has_one_block = (out.m == 32 && out.n == 32 && out.k >= 8) || (out.m == 16 && out.n == 16 && out.k >= 16);
  return has_one_block ? std::optional(out) : std::nullopt;
}

/// Bits of a vector, or of one value.
unsigned words_in(llvm::Type* type) {
  return static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue() / 32);
}

class WaveCode {
 public:
  WaveCode(const KernelTools& tools, llvm::CallInst& call) : tools_(tools), call_(call) {}

  std::optional<llvm::Value*> mfma_product(llvm::StringRef name) {
    const auto of = mfma(name);
    for (unsigned k = 3; of && k < 6; ++k)
      if (!is_constant(k, 0)) return std::nullopt;
    return of && call_.arg_size() == 6 ? product(*of, {0, 1, 2}) : std::nullopt;
  }
  std::optional<llvm::Value*> wmma_product(llvm::StringRef name) {
    WaveProduct of{16, 16, 16, WaveLayout::wmma_gfx12, WaveKind::f16, WaveKind::f16, 0, 0};
    const bool is_integer = name.starts_with("i32.16x16x16.iu8.");
    if (is_integer) {
      of.a = is_constant(0, 1) ? WaveKind::s8 : WaveKind::u8;
      of.b = is_constant(2, 1) ? WaveKind::s8 : WaveKind::u8;
      of.saturates = is_constant(5, 1);
    } else if (name.starts_with("f32.16x16x16.bf16.")) {
      of.a = of.b = WaveKind::bf16;
    } else if (!name.starts_with("f32.16x16x16.f16.")) {
      return std::nullopt;
    }
    const std::array<unsigned, 3> at = is_integer ? std::array<unsigned, 3>{1, 3, 4} : std::array<unsigned, 3>{0, 1, 2};
    if (words_in(call_.getArgOperand(at[0])->getType()) == static_cast<unsigned>(16 * bytes_of(of.a) / 4))
      of.layout = WaveLayout::wmma_gfx11;
    return product(of, at);
  }

 private:
  bool is_constant(unsigned argument, uint64_t value) const {
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(call_.getArgOperand(argument));
    return number && number->getZExtValue() == value;
  }

  std::optional<llvm::Value*> product(const WaveProduct& of, const std::array<unsigned, 3>& arguments) {
    const int counts[] = {factor_words(of, of.a), factor_words(of, of.b), sum_words(of)};
    llvm::Value *in = tools_.words(2 * emulator::kFactorWords + emulator::kSumWords),
                *out = tools_.words(emulator::kSumWords);
    uint64_t first = 0;
    for (size_t operand = 0; operand < 3; ++operand) {
      llvm::Value* const value = call_.getArgOperand(arguments[operand]);
      if (words_in(value->getType()) != static_cast<unsigned>(counts[operand])) return std::nullopt;
      llvm::Value* const at = tools_.b.CreateInBoundsGEP(tools_.b.getInt32Ty(), in, tools_.b.getInt64(first));
      tools_.b.CreateAlignedStore(value, at, llvm::Align(4));
      first += static_cast<uint64_t>(counts[operand]);
    }
    static_assert(sizeof(WaveProduct) == sizeof(uint64_t));
    uint64_t about = 0;
    std::memcpy(&about, &of, sizeof about);
    tools_.runtime("wave_product", {tools_.b.getInt64(about), in, out});
    return tools_.b.CreateAlignedLoad(call_.getType(), out, llvm::Align(4));
  }

  const KernelTools& tools_;
  llvm::CallInst& call_;
};

}  // namespace

std::optional<llvm::Value*> amdgcn_value(const KernelTools& tools, llvm::CallInst& call, llvm::StringRef name) {
  const auto index = [&](unsigned first) -> llvm::Value* {
    const auto dimension = static_cast<unsigned>(name.back() - 'x');
    return tools.b.CreateTrunc(tools.field(first + dimension, tools.b.getInt64Ty()), call.getType());
  };
  if (name.starts_with("workitem.id.")) return index(emulator::kThreadIndex + 3);
  if (name.starts_with("workgroup.id.")) return index(emulator::kThreadIndex);
  if (name == "s.barrier") return tools.runtime("barrier", {}), nullptr;
  if (name == "wave.barrier") return tools.runtime("warp_barrier", {}), nullptr;
  if (name.consume_front("mfma.f32.") || name.consume_front("mfma.i32."))
    return WaveCode(tools, call).mfma_product(name);
  if (name.consume_front("wmma.")) return WaveCode(tools, call).wmma_product(name);
  return std::nullopt;
}

}  // namespace polyweft::targets
