// The C header of a kernel that takes addresses of elements: nothing but <stdint.h> and <stdbool.h> is needed to call
// it.
#include <algorithm>
#include <cctype>

#include "targets/c/helpers.h"
#include "targets/c/names.h"
#include "targets/cpu/build.h"

namespace polyweft::targets {
namespace {

constexpr int kFirstPlainAssumption = 16;

class PlainHeader {
 public:
  PlainHeader(const LoopNest& nest, std::string name, int64_t alignment, const HeaderNotes& notes)
      : nest_(nest), name_(std::move(name)), alignment_(alignment), notes_(notes) {
    for (const Parameter& p : nest.params) sizes_.push_back(nest.symbolic ? names_.open(p.name) : p.name);
    for (const BufferId id : nest.arguments) arguments_.push_back(names_.open(given(id).name));
  }

  std::string text() const {
    std::string upper = name_;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string guard = "POLYWEFT_KERNEL_" + upper + "_H";
    return comment() + "#ifndef " + guard + "\n#define " + guard +
           "\n\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
           functions() + level_function(name_, notes_) + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  }

 private:
  const Pack* pack_of(BufferId id) const {
    const auto it = std::find_if(nest_.packs.begin(), nest_.packs.end(), [&](const Pack& p) { return p.packed == id; });
    return it == nest_.packs.end() ? nullptr : &*it;
  }
  /// The buffer as the program has it: of a packed one what it is packed from.
  const Buffer& given(BufferId id) const {
    const Pack* pack = pack_of(id);
    return nest_.buffers[pack ? pack->source : id];
  }
  bool is_promised(BufferId id) const { return nest_.buffers[id].values || !nest_.buffers[id].promise.empty(); }
  std::string pack_name(const Pack& pack) const { return name_ + "_pack_" + nest_.buffers[pack.source].name; }

  static std::string type_of(const Buffer& b) {
    return c::is_narrow_float(b.type) ? "uint16_t" : c::storage_type(b.type);
  }

  std::string shape_of(const Buffer& b) const {
    std::string out;
    for (size_t d = 0; d < b.extents.size(); ++d)
      out += "[" + (b.extents[d] == kSymbolicExtent ? print(b.shape[d], sizes_) : std::to_string(b.extents[d])) + "]";
    return out;
  }

  std::string line_of(size_t argument) const {
    const BufferId id = nest_.arguments[argument];
    const Buffer& b = given(id);
    std::string out =
        " *   " + arguments_[argument] + ": " + (b.is_output ? "output " : "input ") + name_of(b.type) + shape_of(b);
    if (c::is_narrow_float(b.type)) out += " (its 16 bits)";
    if (const std::string promise = promised_values(b, sizes_); !promise.empty() && !pack_of(id))
      out += ", promised within " + promise + " (code 1 if not)";
    if (const Pack* pack = pack_of(id)) out += ", as " + pack_name(*pack) + " packs it, on a border of 64 bytes";
    return out + "\n";
  }

  std::string comment() const {
    std::string bound, out;
    for (size_t p = 0; p < sizes_.size(); ++p)
      bound += (bound.empty() ? "" : ", ") + sizes_[p] +
               (nest_.symbolic ? "" : " = " + std::to_string(nest_.params[p].value));
    out = "/* " + name_ + "(" + bound + "), made by Polyweft; numerics class " + name_of(nest_.cls) + ".\n *\n";
    for (size_t a = 0; a < arguments_.size(); ++a) out += line_of(a);
    for (size_t p = 0; nest_.symbolic && p < sizes_.size(); ++p)
      out += " *   " + sizes_[p] + ": size, at most 2147483647 (code 3 if not)\n";
    for (size_t k = 0; nest_.symbolic && k < nest_.assumptions.size(); ++k)
      out += " *   " + print(nest_.assumptions[k], sizes_) + " (code " +
             std::to_string(kFirstPlainAssumption + static_cast<int>(k)) + " if not)\n";
    return out + " *\n * Arrays are row-major, aligned to " +
           (alignment_ > 1 ? std::to_string(alignment_) + " bytes" : "their elements") +
           ", and do not overlap. Returns 0; -12 for a null "
           "pointer, -24 for one that is not\n"
           " * aligned, -11 where memory is not given, 1 for a value outside its promise, 2 where the system refuses "
           "the tile unit." +
           link_line(notes_) + " */\n";
  }

  std::string size_parameters(bool first) const {
    std::string out;
    for (size_t p = 0; nest_.symbolic && p < sizes_.size(); ++p)
      out += (first && p == 0 ? "int64_t " : ", int64_t ") + sizes_[p];
    return out;
  }

  std::string functions() const {
    std::string parameters;
    for (size_t a = 0; a < arguments_.size(); ++a) {
      const Buffer& b = nest_.buffers[nest_.arguments[a]];
      parameters += (a > 0 ? ", " : "") + std::string(b.is_output ? "" : "const ") +
                    (b.is_packed ? "void" : type_of(b)) + " *" + arguments_[a];
    }
    parameters += size_parameters(arguments_.empty());
    if (parameters.empty()) parameters = "void";
    std::string out = "int " + name_ + "(" + parameters + ");\n";
    if (std::any_of(nest_.arguments.begin(), nest_.arguments.end(), [&](BufferId id) { return is_promised(id); }))
      out +=
          "/* The same without reading inputs for promised values: what lies outside is then undefined behaviour. "
          "*/\nint " +
          name_ + "_unchecked(" + parameters + ");\n";
    if (nest_.symbolic)
      out += "/* What a code that the kernel returned means; NULL for an unknown one. */\nconst char *" + name_ +
             "_message(int code);\n";
    for (const Pack& pack : nest_.packs) out += pack_functions(pack);
    return out;
  }

  std::string pack_functions(const Pack& pack) const {
    const Buffer& source = nest_.buffers[pack.source];
    const std::string sizes = size_parameters(true),
                      taken = "(const " + type_of(source) + " *from, void *packed" + size_parameters(false) + ");\n";
    std::string out = "/* Once, before the first call: " + source.name + " as the kernel wants it. */\n";
    out += "int64_t " + pack_name(pack) + "_bytes(" + (sizes.empty() ? "void" : sizes) + ");\nint " + pack_name(pack) +
           taken;
    if (is_promised(pack.source)) out += "int " + pack_name(pack) + "_unchecked" + taken;
    return out;
  }

  const LoopNest& nest_;
  std::string name_;
  int64_t alignment_;
  const HeaderNotes& notes_;
  c::Names names_;
  std::vector<std::string> sizes_, arguments_;
};

}  // namespace

std::string plain_c_header(const LoopNest& nest, const std::string& symbol, int64_t alignment,
                           const HeaderNotes& notes) {
  return PlainHeader(nest, symbol.empty() ? nest.name : symbol, alignment, notes).text();
}

}  // namespace polyweft::targets
