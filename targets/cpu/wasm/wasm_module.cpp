#include "targets/cpu/wasm/wasm_module.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "targets/cpu/linking.h"
#include "targets/cpu/pipeline.h"
#include "targets/cpu/wasm/runtime_bytes.h"

LLD_HAS_DRIVER(wasm)

namespace polyweft::targets {
namespace {

std::string repeat_symbol(const std::string& symbol) {
  return symbol + "_repeat";
}

void write_repeat(llvm::Module& module, const std::string& symbol, size_t arguments) {
  llvm::IRBuilder<> b(module.getContext());
  std::vector<llvm::Type*> types(arguments, b.getPtrTy());
  const auto kernel = module.getOrInsertFunction(symbol, llvm::FunctionType::get(b.getInt32Ty(), types, false));
  types.insert(types.begin(), b.getInt32Ty());
  auto* f = llvm::Function::Create(llvm::FunctionType::get(b.getInt32Ty(), types, false),
                                   llvm::GlobalValue::ExternalLinkage, repeat_symbol(symbol), module);
  auto* entry = llvm::BasicBlock::Create(b.getContext(), "entry", f);
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", f);
  auto* end = llvm::BasicBlock::Create(b.getContext(), "end", f);
  b.SetInsertPoint(entry);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* left = b.CreatePHI(b.getInt32Ty(), 2);
  std::vector<llvm::Value*> passed;
  for (unsigned k = 1; k < f->arg_size(); ++k) passed.push_back(f->getArg(k));
  llvm::Value* code = b.CreateCall(kernel, passed);
  llvm::Value* next = b.CreateSub(left, b.getInt32(1));
  left->addIncoming(f->getArg(0), entry);
  left->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpUGT(next, b.getInt32(0)), loop, end);
  b.SetInsertPoint(end);
  b.CreateRet(code);
}

Result<llvm::SmallVector<char, 0>> repeat_object(const std::string& symbol, size_t arguments, const Target& target) {
  auto machine = machine_for(target);
  if (!machine) return machine.error();
  llvm::LLVMContext context;
  llvm::Module module("repeat", context);
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  write_repeat(module, symbol, arguments);
  return write_machine_code(module, **machine, llvm::CodeGenFileType::ObjectFile, Pipeline::full, nullptr);
}

}  // namespace

Result<Bytes> wasm_module(const CompiledObject& object, const std::vector<std::string>& exported,
                          std::optional<size_t> addresses, const Target& target) {
  // The stack comes first: what grows below it leaves memory and traps.
  std::vector<std::string> words = {"wasm-ld",
                                    "--no-entry",
                                    "--threads=1",
                                    "--stack-first",
                                    "--strip-all",
                                    "-z",
                                    "stack-size=" + std::to_string(kWasmStackBytes)};
  for (const std::string& symbol : exported) words.push_back("--export=" + symbol);
  std::vector<std::span<const unsigned char>> objects = {object.object, wasm_runtime()};
  if (!addresses) return linked_by(&lld::wasm::link, std::move(words), objects);
  const auto repeat = repeat_object(exported.front(), *addresses, target);
  if (!repeat) return repeat.error();
  words.push_back("--export=" + repeat_symbol(exported.front()));
  objects.emplace_back(reinterpret_cast<const unsigned char*>(repeat->data()), repeat->size());
  return linked_by(&lld::wasm::link, std::move(words), objects);
}

}  // namespace polyweft::targets
