#include "targets/cpu/x86/x86_levels.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include <set>

#include "targets/cpu/build.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/linked_with.h"
#include "targets/cpu/pipeline.h"

namespace polyweft::targets {
namespace {

/// Code for any CPU of the architecture, so that it may ask which one this is.
Result<Bytes> dispatch_object(const std::string& text, const Target& any) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  if (!module) return fail("PW0599", "internal: functions before several levels: " + problem.getMessage().str());
  auto machine = machine_for(any);
  if (!machine) return machine.error();
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  auto bytes = write_machine_code(*module, **machine, llvm::CodeGenFileType::ObjectFile, Pipeline::lean, nullptr);
  if (!bytes) return bytes.error();
  return Bytes(bytes->begin(), bytes->end());
}

Result<CompiledObject> joined_levels(const std::vector<LevelCode>& levels, const BuildOptions& options,
                                     const Target& any) {
  const auto text = x86_dispatch_text(levels, options.symbol);
  if (!text) return text.error();
  std::vector<Bytes> parts;
  for (const LevelCode& level : levels) {
    auto object = compile_object(level.nest, level.target, name_at_level(options.symbol, level.target), options.caller);
    if (!object) return object.error();
    parts.push_back(std::move(object->object));
  }
  auto first = dispatch_object(*text, any);
  if (!first) return first.error();
  parts.push_back(std::move(*first));
  auto joined = joined_objects({parts.begin(), parts.end()});
  if (!joined) return joined.error();
  CompiledObject out;
  out.object = std::move(*joined);
  out.architecture = any.architecture;
  out.features = levels.front().target.features;
  return out;
}

/// Any of them may be the one that is called: what the one that needs most needs.
HeaderNotes notes_of(const std::vector<LevelCode>& levels, Caller caller) {
  HeaderNotes out;
  for (const LevelCode& level : levels) {
    out.levels.push_back(level.target.name);
    const std::string words = linked_with_object(level.nest, caller);
    if (words.size() > out.to_link.size()) out.to_link = words;
  }
  return out;
}

Status have_names_of_their_own(const std::vector<LevelCode>& levels) {
  std::set<std::string> names;
  for (const LevelCode& level : levels)
    if (!names.insert(name_at_level("", level.target)).second)
      return fail("PW0523", "products for several targets: target " + level.target.name + " is there twice");
  return Ok{};
}

}  // namespace

Result<Bytes> x86_levels(const std::vector<LevelCode>& levels, Emit what, const BuildOptions& options,
                         const Target& any) {
  if (auto apart = have_names_of_their_own(levels); !apart) return apart.error();
  if (what == Emit::header) return header_of(levels.front().nest, options, notes_of(levels, options.caller));
  if (what != Emit::object && what != Emit::static_library && what != Emit::shared)
    return fail("PW0523", "several targets go into an object, an archive, a shared object or a header",
                {"--emit object, static, shared or header; for other forms name one target"});
  const auto object = joined_levels(levels, options, any);
  if (!object) return object.error();
  std::vector<std::string> exported = exported_symbols(levels.front().nest, options.symbol);
  exported.push_back(options.symbol + "_level");
  return product_of(*object, what, exported);
}

}  // namespace polyweft::targets
