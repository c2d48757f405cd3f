// The C header of a kernel: shapes, types, alignment, aliasing, workspace, provenance.
#include <algorithm>
#include <cctype>

#include "targets/cpu/build.h"

namespace polyweft::targets {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Names of packed arguments hold a dot.
std::string c_name(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::string shape_text(const std::vector<int64_t>& extents) {
  if (extents.empty()) return "scalar";
  std::string out;
  for (int64_t e : extents) out += "[" + std::to_string(e) + "]";
  return out;
}

int64_t heap_bytes(const LoopNest& nest) {
  int64_t bytes = 0;
  for (const auto& buffer : nest.buffers)
    if (buffer.scope == Scope::heap) bytes += allocated_elements(buffer) * size_bytes(buffer.type);
  return bytes;
}

std::string argument_lines(const LoopNest& nest) {
  std::string out;
  for (BufferId id : nest.arguments) {
    const Buffer& b = nest.buffers[id];
    out += " *   " + c_name(b.name) + ": " + (b.is_output ? "output" : "input") + ", ";
    if (b.values) out += "promised within " + std::to_string(b.values->lo) + ".." + std::to_string(b.values->hi) + " (code 1 if not), ";
    if (b.is_packed)
      out += "packed, " + std::to_string(allocated_elements(b) * size_bytes(b.type)) + " bytes of u8, 64-byte aligned\n";
    else
      out += std::string(name_of(b.type)) + " " + shape_text(b.extents) + ", row-major, aligned to its element\n";
  }
  return out;
}

}  // namespace

std::string c_header(const LoopNest& nest, const std::string& symbol) {
  const std::string name = symbol.empty() ? nest.name : symbol;
  const std::string guard = "POLYWEFT_KERNEL_" + upper(name) + "_H";
  std::string params;
  for (const auto& p : nest.params) params += (params.empty() ? "" : ", ") + p.name + " = " + std::to_string(p.value);
  std::string arguments, unused;
  for (BufferId id : nest.arguments) arguments += (arguments.empty() ? "" : ", ") + std::string("struct halide_buffer_t *") + c_name(nest.buffers[id].name);
  std::string out = "/* " + name + "(" + params + "), made by Polyweft; numerics class " + name_of(nest.cls) + ".\n *\n" + argument_lines(nest) +
                    " *\n * dim[0] of each buffer is the last axis, with stride 1 and min 0. Buffers must not overlap. Workspace on the heap: at most\n * " +
                    std::to_string(heap_bytes(nest)) +
                    " bytes a thread that runs it. Returns 0, a negative Halide error code, or a positive code of Polyweft (1: a value\n"
                    " * outside its promise; 2: the system refuses the tile unit); a null host asks for the shapes. */\n";
  out += "#ifndef " + guard + "\n#define " + guard + "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nstruct halide_buffer_t;\n\n";
  out += "int " + name + "(" + (arguments.empty() ? "void" : arguments) + ");\n";
  const auto is_promised = [&](BufferId id) { return nest.buffers[id].values.has_value(); };
  if (std::any_of(nest.arguments.begin(), nest.arguments.end(), is_promised))
    out += "/* The same without reading inputs for promised values: what lies outside is then undefined behaviour. */\nint " + name + "_unchecked(" + arguments + ");\n";
  for (const auto& pack : nest.packs) {
    const std::string tensor = nest.buffers[pack.source].name;
    out += "/* Once, before the first call: " + tensor + " as the kernel wants it. */\n";
    out += "int64_t " + name + "_pack_" + tensor + "_bytes(void);\n";
    out += "int " + name + "_pack_" + tensor + "(struct halide_buffer_t *" + tensor + ", struct halide_buffer_t *packed);\n";
    if (is_promised(pack.source)) out += "int " + name + "_pack_" + tensor + "_unchecked(struct halide_buffer_t *" + tensor + ", struct halide_buffer_t *packed);\n";
  }
  return out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace polyweft::targets
