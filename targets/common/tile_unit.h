// A unit that multiplies tiles: registers of kTileRows rows of kTileRowBytes bytes, which lowering numbers itself (0 ..
// ir::kLiveTiles - 1). The products are LLVM's intrinsics that targets/instructions name.
#pragma once

#include <array>

#include "targets/common/llvm.h"

namespace polyweft::targets {

/// Rows of a tile in memory.
struct TileRows {
  llvm::Value* pointer = nullptr;  ///< of the first
  int64_t distance = 0;            ///< of rows, in bytes
};
/// Is a tile's memory read again while it is in the first cache?
enum class TileUse : uint8_t { again, once };

class TileUnit {
 public:
  virtual ~TileUnit() = default;

  /// All tiles have all rows, and their contents are undefined.
  virtual llvm::Instruction* switch_on(llvm::IRBuilder<>& b) const = 0;
  virtual llvm::Instruction* switch_off(llvm::IRBuilder<>& b) const = 0;
  /// i1(), in this module: may this process use the unit? Null: every process may. `attributes` are those of the
  /// functions that ask.
  virtual llvm::Function* permission(llvm::Module& module, const llvm::AttributeList& attributes) const = 0;

  virtual void clear(llvm::IRBuilder<>& b, int tile) const = 0;
  virtual void load(llvm::IRBuilder<>& b, int tile, TileRows from, TileUse use) const = 0;
  virtual void store(llvm::IRBuilder<>& b, int tile, TileRows to) const = 0;

  /// Sixteen f32 as three of bf16 whose sum each is, in the upper halves of words of i32: the first 8 bits of the
  /// significand, the next 8, the last 8. What is infinite has no rest.
  virtual std::array<llvm::Value*, 3> in_bf16_parts(llvm::IRBuilder<>& b, llvm::Value* floats) const = 0;
  /// A row of bf16 from the upper halves of words: those of the one in cells of even number, those of the other in
  /// cells of odd number.
  virtual llvm::Value* joined_halves(llvm::IRBuilder<>& b, llvm::Value* even, llvm::Value* odd) const = 0;
};

}  // namespace polyweft::targets
