// What a kernel asks of its arguments, each a halide_buffer_t: that none is null, that it is aligned, and that type,
// number of dimensions, extents and strides are those it was made for.
#pragma once

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

/// Offset of the elements' address in a halide_buffer_t.
constexpr uint64_t kHostOffset = 16;
/// What the elements' address of an argument is a multiple of.
uint64_t alignment_of_argument(const Buffer& buffer);

class ArgumentChecks {
 public:
  /// Makes the function NAME_refuse of the kernel's type, which is called only where something is wrong: it answers a
  /// bounds query, or finds out with what code to refuse. Unless it `explains`: then any wrong argument is refused with
  /// one code.
  ArgumentChecks(llvm::Module& module, llvm::IRBuilder<>& builder, const LoopNest& nest,
                 const std::vector<BufferId>& arguments, const std::string& name, const llvm::AttributeList& attributes,
                 bool explains);
  /// Checks in the entry of `f`, where the builder stands; it ends where all is well.
  void emit(llvm::Function* f);

 private:
  /// What an argument must look like: dim[0] is the last axis.
  struct Shape {
    uint8_t code = 0, bits = 0;
    bool has_elements = false;
    uint64_t alignment = 1;  ///< of the elements' address: the code counts on it
    std::vector<int64_t> extents;
  };
  static Shape shape_of(const Buffer& buffer);
  llvm::Value* field(llvm::Value* base, uint64_t offset, llvm::Type* type);
  void leave_if(llvm::Function* f, llvm::Value* condition);
  llvm::Value* misaligned_bits(const std::vector<llvm::Value*>& hosts);
  void fill_if_null(llvm::Function* f, llvm::Value* argument, const Shape& shape);
  llvm::Value* header_difference(llvm::Value* argument, const Shape& shape);
  llvm::Value* dimensions_difference(llvm::Value* argument, const Shape& shape);
  llvm::Value* differ(llvm::Value* difference, size_t rank);

  void write_refusal(llvm::Module& module);

  llvm::IRBuilder<>& b_;
  std::vector<Shape> shapes_;
  llvm::Function* refusal_ = nullptr;
  llvm::BasicBlock* leave_ = nullptr;
};

}  // namespace polyweft::targets
