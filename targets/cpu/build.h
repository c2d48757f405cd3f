// LoopNest -> machine code for a CPU: objects, text, shared objects, archives; and kernels loaded into this process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/backend.h"

namespace polyweft::targets {

/// Parts of code generation, in milliseconds.
struct CodegenTimes {
  double lowering_ms = 0;     ///< nest to LLVM's instructions
  double light_ms = 0;        ///< passes over them
  double setup_ms = 0;        ///< LLVM's pipeline is built
  double preparation_ms = 0;  ///< last passes before selection
  double selection_ms = 0;    ///< of machine instructions
  double scheduling_ms = 0;   ///< and what comes before: common subexpressions, sinking, coalescing
  double registers_ms = 0;    ///< allocation
  double emission_ms = 0;     ///< late passes, blocks' order, encoding
  double inspection_ms = 0;   ///< spills are counted
};
struct CompiledObject {
  Bytes object;                       ///< ELF relocatable; undefined: memcpy memset memmove halide_* only
  int spills = 0;                     ///< vector registers stored to the stack inside an innermost loop, the worst one
  std::string architecture;           ///< of the target it was compiled for
  std::vector<std::string> features;  ///< the same: what the CPU that runs it must have
  double codegen_ms = 0;
  CodegenTimes times;
};
/// `symbol` empty: the nest's name.
Result<CompiledObject> compile_object(const LoopNest& nest, const Target& target, const std::string& symbol = "",
                                      Caller caller = Caller::anyone);
Result<std::string> assembly_text(const LoopNest& nest, const Target& target, const std::string& symbol = "",
                                  Caller caller = Caller::anyone);
/// Assembly text with its innermost loops marked and costed; assembly.cpp. `assembly` is LLVM's text for a CPU like
/// `target`.
Result<Assembly> marked_assembly(const std::string& assembly, const Target& target);
/// Cycles that a call's instructions take by LLVM's tables of a CPU like `target`, if all loads hit the first cache:
/// each block of the machine code as often as samples of the nest's iterations say, `threads` at work in parallel
/// loops. Costs what compiling costs, and about as much again.
Result<ExpectedCode> expected_code(const LoopNest& nest, const Target& target, int threads);
Result<std::string> llvm_text(const LoopNest& nest, const Target& target, const std::string& symbol = "",
                              Caller caller = Caller::anyone);
/// The nest that instructions are chosen for, or as it is behind the pass named `last`.
Result<LoopNest> behind_passes(const LoopNest& nest, const Target& target, const std::string& last);
/// An ELF shared object; `with_runtime`: Halide's runtime inside, hidden; else halide_* is resolved by whoever loads
/// it.
enum class Runtime : uint8_t { external, inside };
Result<Bytes> shared_object(const CompiledObject& object, const std::vector<std::string>& exported, Runtime runtime);
/// One relocatable object of several.
Result<Bytes> joined_objects(const std::vector<std::span<const unsigned char>>& objects);
/// An executable for a machine without a C library, of objects among which one has `_start`; all symbols are kept.
Result<Bytes> static_executable(const std::vector<std::span<const unsigned char>>& objects);
/// An archive of the kernel's object and the runtime as a member of weak symbols.
Result<Bytes> static_library(const CompiledObject& object);
/// Symbols a nest exports: the kernel, NAME_pack_T and NAME_pack_T_bytes; F_unchecked for each function F that scans
/// promised values.
std::vector<std::string> exported_symbols(const LoopNest& nest, const std::string& symbol = "");

/// PW0513 for what is no C identifier, a word of C or C++, or a name of the C library or of the runtime; symbols.cpp.
Status symbol_is_free(const std::string& symbol);
/// Can a parameter of a C function have this name? Those of library functions it can, words and macros it cannot.
bool may_name_parameter(const std::string& name);
/// What a header says beside the functions of the nest.
struct HeaderNotes {
  std::string to_link;              ///< of an object, in words; empty: nothing is said
  std::vector<std::string> levels;  ///< names of the targets that the product has code for, lowest first; empty: one
};
/// A header for C11 and C++17.
std::string c_header(const LoopNest& nest, const std::string& symbol = "", const HeaderNotes& notes = {});
/// The same for kernels made for Caller::plain_c. `alignment`: of all addresses; 1: as their elements have it.
std::string plain_c_header(const LoopNest& nest, const std::string& symbol = "", int64_t alignment = 1,
                           const HeaderNotes& notes = {});
/// What both say of linking: a further line of their comment; empty: nothing.
std::string link_line(const HeaderNotes& notes);
/// The first and the last value that an argument may have; empty: nothing is promised. `names` are those of the sizes.
std::string promised_values(const Buffer& b, const std::vector<std::string>& names);
/// NAME_level, where there are levels.
std::string level_function(const std::string& name, const HeaderNotes& notes);

/// Code in this process. Symbols are found by name; the memory lives as long as the object.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  virtual void* address(const std::string& symbol) const = 0;
};
/// PW0517 where this CPU lacks a feature that the object was compiled for.
Result<std::unique_ptr<LoadedCode>> load_code(const CompiledObject& object);

}  // namespace polyweft::targets
