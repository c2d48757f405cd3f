// The C header of a kernel: shapes, types, alignment, aliasing, workspace, provenance.
#include <algorithm>
#include <cctype>
#include <set>

#include "ir/values/float_places.h"
#include "targets/cpu/build.h"

namespace polyweft::targets {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Names of parameters, each once: those of packed arguments hold a dot, and a tensor may be called `int`.
class HeaderNames {
 public:
  std::string operator()(std::string name) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    if (name[0] == '_') name.insert(0, 1, 'x');  // some of those are reserved
    while (!may_name_parameter(name) || !taken_.insert(name).second) name += '_';
    return name;
  }

 private:
  std::set<std::string> taken_;
};

std::vector<std::string> names_of(const LoopNest& nest) {
  std::vector<std::string> out;
  for (const Parameter& p : nest.params) out.push_back(p.name);
  return out;
}

std::string shape_text(const LoopNest& nest, const Buffer& buffer) {
  if (buffer.extents.empty()) return "scalar";
  std::string out;
  for (size_t d = 0; d < buffer.extents.size(); ++d)
    out += "[" +
           (buffer.extents[d] == kSymbolicExtent ? print(buffer.shape[d], names_of(nest))
                                                 : std::to_string(buffer.extents[d])) +
           "]";
  return out;
}

/// Bytes of a buffer, as a product where its extents are not numbers.
std::string bytes_text(const LoopNest& nest, const Buffer& buffer) {
  const std::vector<int64_t> extents = folded_extents(buffer);
  if (std::find(extents.begin(), extents.end(), kSymbolicExtent) == extents.end())
    return std::to_string(allocated_elements(buffer) * size_bytes(buffer.type));
  std::string out = std::to_string(size_bytes(buffer.type));
  for (size_t d = 0; d < extents.size(); ++d)
    out += " * " + (extents[d] == kSymbolicExtent ? "(" + print(buffer.shape[d], names_of(nest)) + ")"
                                                  : std::to_string(extents[d]));
  return out;
}

std::string workspace_text(const LoopNest& nest) {
  int64_t bytes = 0;
  std::string products;
  for (const auto& buffer : nest.buffers) {
    if (buffer.scope != Scope::heap) continue;
    const std::string text = bytes_text(nest, buffer);
    if (text.find('*') == std::string::npos)
      bytes += allocated_elements(buffer) * size_bytes(buffer.type);
    else
      products += " + " + text;
  }
  return std::to_string(bytes) + products;
}

std::string argument_lines(const LoopNest& nest) {
  std::string out;
  HeaderNames names;
  for (BufferId id : nest.arguments) {
    const Buffer& b = nest.buffers[id];
    out += " *   " + names(b.name) + ": " + (b.is_output ? "output" : "input") + ", ";
    if (const std::string promise = promised_values(b, names_of(nest)); !promise.empty())
      out += "promised within " + promise + " (code 1 if not), ";
    if (b.is_packed)
      out += "packed, " + bytes_text(nest, b) + " bytes of u8, 64-byte aligned\n";
    else
      out += std::string(name_of(b.type)) + " " + shape_text(nest, b) + ", row-major, aligned to its element\n";
  }
  for (size_t p = 0; nest.symbolic && p < nest.params.size(); ++p) {
    out += " *   " + names(nest.params[p].name) + ": size, at most 2147483647";
    for (size_t k = 0; k < nest.assumptions.size(); ++k) {
      std::vector<VarId> used;
      collect_variables(nest.assumptions[k], used);
      if (std::find(used.begin(), used.end(), p) != used.end())
        out += "; " + print(nest.assumptions[k], names_of(nest)) + " (code " + std::to_string(16 + k) + " if not)";
    }
    out += "\n";
  }
  return out;
}

/// ", int64_t N, int64_t M" of symbolic nests.
std::string size_parameters(const LoopNest& nest, HeaderNames& names, bool first) {
  std::string out;
  for (size_t p = 0; nest.symbolic && p < nest.params.size(); ++p)
    out += (first && p == 0 ? "int64_t " : ", int64_t ") + names(nest.params[p].name);
  return out;
}

}  // namespace

std::string promised_values(const Buffer& b, const std::vector<std::string>& names) {
  if (!b.promise.empty()) return print(b.promise[0], names) + ".." + print(b.promise[1] - Affine::of(1), names);
  if (!b.values) return "";
  return ir::promise_text(b.type, is_float(b.type) ? *b.values : ValueRange{b.values->lo, b.values->hi - 1});
}

std::string link_line(const HeaderNotes& notes) {
  return notes.to_link.empty() ? "" : "\n * To link an object: " + notes.to_link + ".";
}

std::string level_function(const std::string& name, const HeaderNotes& notes) {
  if (notes.levels.empty()) return {};
  std::string names;
  for (size_t k = 0; k < notes.levels.size(); ++k)
    names += (k ? ", " : "") + std::to_string(k + 1) + " " + notes.levels[k];
  return "/* The code inside is for several CPUs: " + names +
         ". Gives the number of the one that is called here,\n * the highest that this CPU can run; 0: none, and every "
         "function above returns 5. `most` above 0: from now on no higher\n * number, for tests of what a lesser CPU "
         "runs; what was packed before is packed again. */\nint " +
         name + "_level(int most);\n";
}

std::string c_header(const LoopNest& nest, const std::string& symbol, const HeaderNotes& notes) {
  const std::string name = symbol.empty() ? nest.name : symbol;
  const std::string guard = "POLYWEFT_KERNEL_" + upper(name) + "_H";
  std::string params;
  for (const auto& p : nest.params)
    params += (params.empty() ? "" : ", ") + p.name + (nest.symbolic ? "" : " = " + std::to_string(p.value));
  std::string arguments;
  HeaderNames names;
  for (BufferId id : nest.arguments)
    arguments +=
        (arguments.empty() ? "" : ", ") + std::string("struct halide_buffer_t *") + names(nest.buffers[id].name);
  arguments += size_parameters(nest, names, nest.arguments.empty());
  std::string out =
      "/* " + name + "(" + params + "), made by Polyweft; numerics class " + name_of(nest.cls) + ".\n *\n" +
      argument_lines(nest) +
      " *\n * dim[0] of each buffer is the last axis, with stride 1 and min 0; an address that is not aligned is "
      "refused (code -24). Buffers must\n * not overlap. Workspace on the heap: at most\n * " +
      workspace_text(nest) +
      " bytes a thread that runs it. Returns 0, a negative Halide error code, or a positive code of Polyweft (1: a "
      "value\n"
      " * outside its promise; 2: the system refuses the tile unit); a null host asks for the shapes." +
      link_line(notes) + " */\n";
  out += "#ifndef " + guard + "\n#define " + guard +
         "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nstruct halide_buffer_t;\n\n";
  out += "int " + name + "(" + (arguments.empty() ? "void" : arguments) + ");\n";
  const auto is_promised = [&](BufferId id) { return !promised_values(nest.buffers[id], names_of(nest)).empty(); };
  if (std::any_of(nest.arguments.begin(), nest.arguments.end(), is_promised))
    out +=
        "/* The same without reading inputs for promised values: what lies outside is then undefined behaviour. "
        "*/\nint " +
        name + "_unchecked(" + arguments + ");\n";
  if (nest.symbolic)
    out += "/* What a code that the kernel returned means; NULL for an unknown one. */\nconst char *" + name +
           "_message(int code);\n";
  for (const auto& pack : nest.packs) {
    const std::string tensor = nest.buffers[pack.source].name;
    out += "/* Once, before the first call: " + tensor + " as the kernel wants it. */\n";
    HeaderNames pack_names, bytes_names;
    const std::string from = pack_names(tensor), to = pack_names("packed"),
                      sizes = size_parameters(nest, pack_names, false);
    const std::string buffers = "(struct halide_buffer_t *" + from + ", struct halide_buffer_t *" + to + sizes + ");\n";
    out += "int64_t " + name + "_pack_" + tensor + "_bytes(" +
           (sizes.empty() ? "void" : size_parameters(nest, bytes_names, true)) + ");\n";
    out += "int " + name + "_pack_" + tensor + buffers;
    if (is_promised(pack.source)) out += "int " + name + "_pack_" + tensor + "_unchecked" + buffers;
  }
  return out + level_function(name, notes) + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace polyweft::targets
