// What a symbolic kernel asks of its arguments: sizes that the assumptions admit, buffers whose extents are the shapes
// at those sizes, and that no size overflows.
#pragma once

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

/// Quasi-affine expressions and conditions over sizes, in code.
class SizeCode {
 public:
  SizeCode(llvm::IRBuilder<>& builder, std::vector<llvm::Value*> sizes) : b_(builder), sizes_(std::move(sizes)) {}
  llvm::Value* value(const Affine& e) const;                    ///< i64
  llvm::Value* condition(const Guard& g) const;                 ///< i1
  llvm::Value* extent(const Buffer& buffer, size_t dim) const;  ///< i64, not negative; of the shape

 private:
  llvm::Value* quasi(const Quasi& q) const;
  llvm::IRBuilder<>& b_;
  std::vector<llvm::Value*> sizes_;
};

class SizeChecks {
 public:
  /// `f`: the kernel, or a pack function: buffers, then sizes. Buffers of the heap are checked where `heap`.
  SizeChecks(llvm::IRBuilder<>& builder, const LoopNest& nest, const std::vector<BufferId>& arguments,
             llvm::Function* f, bool heap);
  /// Checks in the entry of `f`, where the builder stands; it ends where all is well.
  void emit();
  /// The same where the arguments are addresses of elements: only sizes, and that none is null which has elements.
  void emit_for_pointers();
  const SizeCode& code() const { return code_; }
  /// Elements of an argument, known after emit().
  llvm::Value* elements(size_t argument) const { return elements_[argument]; }

 private:
  void leave_if(llvm::Value* bad, int code);
  void sizes();
  llvm::Value* checked_elements(const Buffer& buffer);
  void headers();
  void query();
  void fill(size_t argument, llvm::Value* wanted);
  void dimensions(size_t argument);
  size_t rank(size_t argument) const;
  llvm::Value* wanted_extent(size_t argument, size_t dim) const;  ///< dim 0 is the last axis
  llvm::Value* field(llvm::Value* base, uint64_t offset, llvm::Type* type);

  llvm::IRBuilder<>& b_;
  const LoopNest& nest_;
  std::vector<BufferId> arguments_;
  llvm::Function* f_;
  bool heap_;
  SizeCode code_;
  std::vector<llvm::Value*> elements_;
};

/// NAME_message: what a code that the kernel returned means, as text; null for an unknown one.
void emit_message_function(llvm::Module& module, llvm::IRBuilder<>& builder, const LoopNest& nest, llvm::Function* f);

}  // namespace polyweft::targets
