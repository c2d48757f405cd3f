#include "targets/cpu/x86/x86_tiles.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

#include "ir/nests/instruction.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
namespace {

// arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
constexpr uint64_t kArchPrctl = 158, kRequestPermission = 0x1023, kTileData = 18;

/// What LDTILECFG reads: palette 1, then bytes a row and rows of each tile.
llvm::Constant* configuration(llvm::Module& module) {
  if (auto* known = module.getGlobalVariable("tile_configuration", true)) return known;
  std::vector<uint8_t> bytes(64, 0);
  bytes[0] = 1;
  for (size_t tile = 0; tile < static_cast<size_t>(ir::kLiveTiles); ++tile)
    bytes[16 + 2 * tile] = kTileRowBytes, bytes[48 + tile] = kTileRows;
  auto* data = llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto* global = new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data,
                                          "tile_configuration");
  global->setAlignment(llvm::Align(64));
  return global;
}

class X86Tiles final : public TileUnit {
 public:
  llvm::Instruction* switch_on(llvm::IRBuilder<>& b) const override {
    return b.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {configuration(*b.GetInsertBlock()->getModule())});
  }
  llvm::Instruction* switch_off(llvm::IRBuilder<>& b) const override {
    return b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::x86_tilerelease, {});
  }

  // Linux gives the 8 KB of tiles' state to whoever asks, for all threads at once; it is asked until it has said yes.
  llvm::Function* permission(llvm::Module& module, const llvm::AttributeList& attributes) const override {
    static constexpr const char* kTilePermission = "tile.permission";  // no kernel's name has a dot
    if (auto* known = module.getFunction(kTilePermission)) return known;
    auto& context = module.getContext();
    auto* f = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getInt1Ty(context), false),
                                     llvm::GlobalValue::InternalLinkage, kTilePermission, module);
    f->setAttributes(attributes);
    f->addFnAttr(llvm::Attribute::NoInline);
    llvm::Type *i8 = llvm::Type::getInt8Ty(context), *i64 = llvm::Type::getInt64Ty(context);
    auto* given = new llvm::GlobalVariable(module, i8, false, llvm::GlobalValue::InternalLinkage,
                                           llvm::ConstantInt::get(i8, 0), "tiles_permitted");
    auto* ask = llvm::BasicBlock::Create(context, "ask", f, nullptr);
    auto* keep = llvm::BasicBlock::Create(context, "keep", f);
    auto* yes = llvm::BasicBlock::Create(context, "yes", f);
    auto* no = llvm::BasicBlock::Create(context, "no", f);
    auto* entry = llvm::BasicBlock::Create(context, "entry", f, ask);
    llvm::IRBuilder<> b(entry);
    auto* known = b.CreateAlignedLoad(i8, given, llvm::Align(1));
    known->setAtomic(llvm::AtomicOrdering::Monotonic);
    b.CreateCondBr(b.CreateICmpNE(known, b.getInt8(0)), yes, ask);
    b.SetInsertPoint(ask);
    auto* call = llvm::InlineAsm::get(llvm::FunctionType::get(i64, {i64, i64, i64}, false), "syscall",
                                      "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}", true);
    llvm::Value* answer =
        b.CreateCall(call, {b.getInt64(kArchPrctl), b.getInt64(kRequestPermission), b.getInt64(kTileData)});
    b.CreateCondBr(b.CreateICmpEQ(answer, b.getInt64(0)), keep, no);
    b.SetInsertPoint(keep);
    b.CreateAlignedStore(b.getInt8(1), given, llvm::Align(1))->setAtomic(llvm::AtomicOrdering::Monotonic);
    b.CreateBr(yes);
    b.SetInsertPoint(yes);
    b.CreateRet(b.getTrue());
    b.SetInsertPoint(no);
    b.CreateRet(b.getFalse());
    return f;
  }

  void clear(llvm::IRBuilder<>& b, int tile) const override {
    b.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {b.getInt8(static_cast<uint8_t>(tile))});
  }
  void load(llvm::IRBuilder<>& b, int tile, TileRows from, TileUse use) const override {
    move(b, use == TileUse::once ? llvm::Intrinsic::x86_tileloaddt164 : llvm::Intrinsic::x86_tileloadd64, tile, from);
  }
  void store(llvm::IRBuilder<>& b, int tile, TileRows to) const override {
    move(b, llvm::Intrinsic::x86_tilestored64, tile, to);
  }

  std::array<llvm::Value*, 3> in_bf16_parts(llvm::IRBuilder<>& b, llvm::Value* floats) const override {
    constexpr int kLanes = 16, kInfinityToZero = 0x00880000, kAsRounded = 4;
    auto* words = llvm::FixedVectorType::get(b.getInt32Ty(), kLanes);
    llvm::Value* first_part = b.CreateVectorSplat(kLanes, b.getInt32(kUpperHalf));
    std::array<llvm::Value*, 3> out = {};
    llvm::Value* rest = floats;
    for (size_t part = 0; part < out.size(); ++part) {
      out[part] = b.CreateBitCast(rest, words);
      if (part + 1 == out.size()) break;
      llvm::Value* less = b.CreateFSub(rest, b.CreateBitCast(b.CreateAnd(out[part], first_part), floats->getType()));
      if (part == 0)
        less = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_fixupimm_ps_512, {},
                                 {less, rest, b.CreateVectorSplat(kLanes, b.getInt32(kInfinityToZero)), b.getInt32(0),
                                  b.getInt16(0xffff), b.getInt32(kAsRounded)});
      rest = less;
    }
    return out;
  }

  llvm::Value* joined_halves(llvm::IRBuilder<>& b, llvm::Value* even, llvm::Value* odd) const override {
    constexpr int kLanes = 16, kOrAnd = 0xf8;
    llvm::Value* upper = b.CreateVectorSplat(kLanes, b.getInt32(kUpperHalf));
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_pternlog_d_512, {},
                             {b.CreateLShr(even, 16), odd, upper, b.getInt32(kOrAnd)});
  }

 private:
  static constexpr uint32_t kUpperHalf = 0xffff0000;

  static void move(llvm::IRBuilder<>& b, llvm::Intrinsic::ID how, int tile, TileRows rows) {
    b.CreateIntrinsic(
        how, {},
        {b.getInt8(static_cast<uint8_t>(tile)), rows.pointer, b.getInt64(static_cast<uint64_t>(rows.distance))});
  }
};

}  // namespace

const TileUnit& x86_tile_unit() {
  static const X86Tiles unit;
  return unit;
}

}  // namespace polyweft::targets
