#include "targets/common/function_code.h"

namespace polyweft::targets {

llvm::AllocaInst* FunctionPart::on_stack(llvm::Type* element, int64_t count, const std::string& name) const {
  constexpr uint64_t kAlignment = kLineBytes;
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* slot = hooks_.grid  // devices have no arrays whose length is an operand
                   ? entry.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(count)), nullptr, name)
                   : entry.CreateAlloca(element, entry.getInt64(static_cast<uint64_t>(count)), name);
  slot->setAlignment(llvm::Align(kAlignment));
  return slot;
}

}  // namespace polyweft::targets
