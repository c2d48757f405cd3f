#include "targets/gpu/amdgpu/code_object.h"

#include <llvm/BinaryFormat/AMDGPUMetadataVerifier.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELFObjectFile.h>

#include <map>

#include "targets/common/llvm.h"
#include "targets/gpu/kernels.h"

namespace polyweft::targets {
namespace {

using Elf = llvm::object::ELF64LEObjectFile;

Error no_code_object(const std::string& what) {
  return fail("PW0512", "LLVM's back end made no code object: " + what);
}

Result<std::unique_ptr<llvm::object::ObjectFile>> elf_of(const Bytes& bytes) {
  const llvm::StringRef text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(text, "kernels"));
  if (!file) return no_code_object(llvm::toString(file.takeError()));
  if (!llvm::isa<Elf>(**file)) return no_code_object("it is not of 64 bits, least significant byte first");
  return std::move(*file);
}

/// The description of the note with the metadata.
Result<std::string> metadata_of(const llvm::object::ObjectFile& file) {
  const auto& elf = llvm::cast<Elf>(file).getELFFile();
  auto headers = elf.program_headers();
  if (!headers) return no_code_object(llvm::toString(headers.takeError()));
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error problem = llvm::Error::success();
    std::string found;
    for (const auto& note : elf.notes(header, problem))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        found = note.getDescAsStringRef(4).str();
    if (problem) return no_code_object(llvm::toString(std::move(problem)));
    if (!found.empty()) return found;
  }
  return no_code_object("it has no metadata");
}

/// One kernel's map.
class KernelMap {
 public:
  explicit KernelMap(llvm::msgpack::MapDocNode map) : map_(map) {}
  int64_t number(const char* key) const {
    const auto at = map_.find(key);
    if (at == map_.end()) return 0;
    if (at->second.getKind() == llvm::msgpack::Type::Int) return at->second.getInt();
    return at->second.getKind() == llvm::msgpack::Type::UInt ? static_cast<int64_t>(at->second.getUInt()) : 0;
  }
  std::string text(const char* key) const {
    const auto at = map_.find(key);
    const bool has = at != map_.end() && at->second.getKind() == llvm::msgpack::Type::String;
    return has ? at->second.getString().str() : "";
  }
  template <class Each>
  void for_list(const char* key, const Each& each) const {
    const auto at = map_.find(key);
    if (at == map_.end() || at->second.getKind() != llvm::msgpack::Type::Array) return;
    for (llvm::msgpack::DocNode& node : at->second.getArray()) each(node);
  }

 private:
  mutable llvm::msgpack::MapDocNode map_;
};

CodeObjectKernel kernel_of(llvm::msgpack::DocNode& node) {
  const KernelMap map(node.getMap());
  CodeObjectKernel out;
  out.name = map.text(".name");
  map.for_list(".args", [&](llvm::msgpack::DocNode& argument) {
    const KernelMap of(argument.getMap());
    out.arguments.push_back({of.number(".offset"), of.number(".size"), of.text(".value_kind")});
  });
  map.for_list(".reqd_workgroup_size",
               [&](llvm::msgpack::DocNode& extent) { out.threads.push_back(static_cast<int64_t>(extent.getUInt())); });
  out.argument_bytes = map.number(".kernarg_segment_size");
  out.shared_bytes = map.number(".group_segment_fixed_size");
  out.private_bytes = map.number(".private_segment_fixed_size");
  out.vector_registers = map.number(".vgpr_count");
  out.scalar_registers = map.number(".sgpr_count");
  out.accumulation_registers = map.number(".agpr_count");
  out.vector_spills = map.number(".vgpr_spill_count");
  out.scalar_spills = map.number(".sgpr_spill_count");
  out.lanes = map.number(".wavefront_size");
  out.most_threads = map.number(".max_flat_workgroup_size");
  return out;
}

/// What differs from what a launch gives; empty: nothing.
std::string difference(const CodeObjectKernel& kernel, const DeviceNest& nest, size_t number, const Machine& machine) {
  const DeviceKernel& launch = nest.kernels[number];
  const auto differs = [](const char* what, int64_t is, int64_t should) {
    return is == should ? "" : std::string(what) + " " + std::to_string(is) + " instead of " + std::to_string(should);
  };
  const size_t addresses = kernel_arguments(nest).size(), all = addresses + launch.outer.size();
  for (const std::string& one :
       {differs("shared bytes", kernel.shared_bytes, launch.shared_bytes),
        differs("threads", kernel.most_threads, launch.thread_count()),
        differs("lanes", kernel.lanes, machine.grid.lockstep_threads.value),
        differs("arguments", static_cast<int64_t>(kernel.arguments.size()), static_cast<int64_t>(all)),
        differs("bytes of arguments", kernel.argument_bytes, static_cast<int64_t>(8 * all))})
    if (!one.empty()) return one;
  for (size_t d = 0; d < launch.threads.size(); ++d)
    if (d >= kernel.threads.size() || kernel.threads[d] != launch.threads[d])
      return std::string("other threads along ") + "xyz"[d];
  for (size_t a = 0; a < all; ++a) {
    const CodeObjectKernel::Argument& is = kernel.arguments[a];
    const char* const kind = a < addresses ? "global_buffer" : "by_value";
    if (is.offset != static_cast<int64_t>(8 * a) || is.bytes != 8 || is.kind != kind)
      return "argument " + std::to_string(a) + " is " + is.kind + " of " + std::to_string(is.bytes) + " bytes at " +
             std::to_string(is.offset);
  }
  return "";
}

}  // namespace

Result<std::vector<CodeObjectKernel>> kernels_of_code_object(const Bytes& bytes) {
  auto file = elf_of(bytes);
  if (!file) return file.error();
  auto text = metadata_of(**file);
  if (!text) return text.error();
  llvm::msgpack::Document document;
  if (!document.readFromBlob(*text, false) || !document.getRoot().isMap())
    return no_code_object("its metadata are no MessagePack");
  if (!llvm::AMDGPU::HSAMD::V3::MetadataVerifier(true).verify(document.getRoot()))
    return no_code_object("its metadata are malformed");
  std::vector<CodeObjectKernel> out;
  KernelMap(document.getRoot().getMap()).for_list("amdhsa.kernels", [&](llvm::msgpack::DocNode& node) {
    out.push_back(kernel_of(node));
  });
  return out;
}

Status checked_code_object(const Bytes& bytes, const DeviceNest& nest, const std::string& symbol,
                           const Machine& machine) {
  const auto kernels = kernels_of_code_object(bytes);
  if (!kernels) return kernels.error();
  std::map<std::string, const CodeObjectKernel*> named;
  for (const CodeObjectKernel& kernel : *kernels) named[kernel.name] = &kernel;
  for (size_t k = 0; k < nest.kernels.size(); ++k) {
    const std::string name = kernel_symbol(symbol, k);
    const auto at = named.find(name);
    const std::string what = at == named.end() ? "is not there" : difference(*at->second, nest, k, machine);
    if (!what.empty()) return no_code_object("of kernel " + name + ": " + what);
  }
  return Ok{};
}

Status calls_nothing_outside(const Bytes& object) {
  auto file = elf_of(object);
  if (!file) return file.error();
  std::string names;
  for (const auto& symbol : (*file)->symbols()) {
    const auto flags = llvm::expectedToOptional(symbol.getFlags());
    if (!flags || !(*flags & llvm::object::SymbolRef::SF_Undefined)) continue;
    const auto name = llvm::expectedToOptional(symbol.getName());
    if (name && !name->empty()) names += (names.empty() ? "" : ", ") + name->str();
  }
  if (names.empty()) return Ok{};
  return fail("PW0512", "a kernel would call " + names + ", which a device of AMD's has not",
              {"report the program: LLVM's back end turned an operation into a call"});
}

}  // namespace polyweft::targets
