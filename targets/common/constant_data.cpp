#include "targets/common/constant_data.h"

#include <algorithm>

namespace polyweft::targets {
namespace {

std::vector<int64_t> index_of(const Buffer& buffer, int64_t flat) {
  std::vector<int64_t> index(buffer.extents.size());
  for (size_t d = index.size(); d-- > 0; flat /= buffer.extents[d]) index[d] = flat % buffer.extents[d];
  return index;
}

llvm::Constant* cell_of(const TensorData& data, size_t i, llvm::Type* type) {
  const size_t width = data.bytes.size() / static_cast<size_t>(std::max<int64_t>(1, data.elements()));
  uint64_t bits = 0;
  for (size_t byte = 0; byte < width; ++byte) bits |= static_cast<uint64_t>(data.bytes[i * width + byte]) << (8 * byte);
  const llvm::APInt raw(static_cast<unsigned>(8 * width), bits);
  if (type->isDoubleTy())
    return llvm::ConstantFP::get(type->getContext(), llvm::APFloat(llvm::APFloat::IEEEdouble(), raw));
  if (type->isFloatTy())
    return llvm::ConstantFP::get(type->getContext(), llvm::APFloat(llvm::APFloat::IEEEsingle(), raw));
  return llvm::ConstantInt::get(type, raw);
}

}  // namespace

llvm::GlobalVariable* constant_data(llvm::Module& module, const Buffer& buffer, llvm::Type* cell,
                                    unsigned address_space) {
  std::vector<llvm::Constant*> cells(static_cast<size_t>(allocated_elements(buffer)),
                                     llvm::Constant::getNullValue(cell));
  TensorData data = make_tensor(buffer.type, {static_cast<int64_t>(buffer.data.size())});
  for (size_t i = 0; i < buffer.data.size(); ++i) data.set(static_cast<int64_t>(i), buffer.data[i]);
  for (size_t i = 0; i < buffer.data.size(); ++i)
    cells[static_cast<size_t>(physical_offset(buffer, index_of(buffer, static_cast<int64_t>(i))))] =
        cell_of(data, i, cell);
  auto* type = llvm::ArrayType::get(cell, cells.size());
  auto* global = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                                          llvm::ConstantArray::get(type, cells), buffer.name, nullptr,
                                          llvm::GlobalValue::NotThreadLocal, address_space);
  global->setAlignment(llvm::Align(64));
  return global;
}

}  // namespace polyweft::targets
