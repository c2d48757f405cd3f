#include "targets/c/c_source.h"

#include <algorithm>

#include "ir/nests/axes.h"
#include "ir/values/float_places.h"
#include "targets/c/body.h"
#include "targets/cpu/halide_abi.h"

namespace polyweft::targets {
namespace {

using namespace c;

constexpr int kFirstAssumption = 16;

class Source {
 public:
  Source(const LoopNest& nest, std::string name)
      : nest_(nest), name_(std::move(name)), helpers_(nest.cls == NumericsClass::strict) {
    for (const std::string& helper : helpers_.names()) names_.reserve(helper);
    names_.reserve(name_);
    for (const Pack& pack : nest.packs) names_.reserve(pack_name(pack));
  }

  std::string whole() {
    std::string functions;
    for (const Pack& pack : nest_.packs)
      functions += "\n" + pack_size(pack) + "\n" + function(pack_name(pack), {pack.source, pack.packed}, pack.root);
    functions += "\n" + function(name_, nest_.arguments, nest_.root);
    std::string out = comment() + includes();
    const std::string helpers = helpers_.text();
    return out + (helpers.empty() ? "" : "\n" + helpers) + functions;
  }

 private:
  std::string pack_name(const Pack& pack) const {
    return name_ + "_pack_" + identifier(nest_.buffers[pack.source].name);
  }

  std::string pack_size(const Pack& pack) const {
    const Buffer& packed = nest_.buffers[pack.packed];
    return "int64_t " + pack_name(pack) + "_bytes(void) {\n  return " +
           std::to_string(allocated_elements(packed) * size_bytes(packed.type)) + ";\n}\n";
  }

  std::vector<std::string> parameter_names() const {
    std::vector<std::string> out;
    for (const Parameter& p : nest_.params) out.push_back(p.name);
    return out;
  }

  std::string shape_text(const Buffer& b) const {
    std::string out;
    for (size_t d = 0; d < b.extents.size(); ++d)
      out += "[" +
             (b.extents[d] == kSymbolicExtent ? print(b.shape[d], parameter_names()) : std::to_string(b.extents[d])) +
             "]";
    return out;
  }

  std::string comment() const {
    std::string sizes;
    for (const Parameter& p : nest_.params)
      sizes += (sizes.empty() ? "" : ", ") + p.name + (nest_.symbolic ? "" : " = " + std::to_string(p.value));
    std::string out =
        "/* " + name_ + "(" + sizes + "), made by Polyweft; numerics class " + name_of(nest_.cls) + ".\n *\n";
    for (const BufferId id : nest_.arguments) {
      const Buffer& b = nest_.buffers[id];
      const auto pack =
          std::find_if(nest_.packs.begin(), nest_.packs.end(), [&](const Pack& p) { return p.packed == id; });
      const Buffer& given = pack == nest_.packs.end() ? b : nest_.buffers[pack->source];
      out += " *   " + identifier(b.name) + ": " + (b.is_output ? "output " : "input ") + name_of(given.type) +
             shape_text(given);
      if (pack != nest_.packs.end()) out += ", packed by " + pack_name(*pack);
      if (b.values) out += ", values " + ir::promise_text(b.type, *b.values) + " (not checked)";
      out += "\n";
    }
    out += " *\n * Row-major arrays that do not overlap. Returns 0, or " + std::to_string(kOutOfMemory) +
           " where memory is not given.\n";
    if (nest_.cls == NumericsClass::strict)
      out += " * Compile with -ffp-contract=off and without -ffast-math: each operation is rounded as written. */\n";
    else
      out += " * The class allows -ffp-contract=fast, and -ffast-math as far as no NaN and no infinity is met. */\n";
    return out;
  }

  std::string includes() const {
    const bool uses_math = uses_math_ || helpers_.uses_math();
    return std::string(uses_math ? "#include <math.h>\n" : "") + "#include <stdbool.h>\n#include <stdint.h>\n" +
           (uses_heap_ ? "#include <stdlib.h>\n" : "");
  }

  // Twice: what the first finds out about sums of integers, the second prints by.
  std::string function(const std::string& name, const std::vector<BufferId>& arguments, NodeId root) {
    Helpers unused(false);
    Body first(nest_, unused, names_, {});
    for (const BufferId id : arguments) first.argument(id);
    first.text(root);
    Body body(nest_, helpers_, names_, first.sums());
    std::string parameters;
    for (const BufferId id : arguments) parameters += (parameters.empty() ? "" : ", ") + parameter(body, id, root);
    for (size_t p = 0; nest_.symbolic && p < nest_.params.size(); ++p)
      parameters += (parameters.empty() ? "int64_t " : ", int64_t ") +
                    body.indices().affine(Affine::variable(static_cast<VarId>(p))).text;
    const std::string statements = body.text(root);
    const std::string constants_text = constants(body);
    uses_math_ |= body.values().uses_math();
    std::string unread;
    for (const BufferId id : arguments)
      if (!body.touches(id)) unread += "  (void)" + body.name(id) + ";\n";
    return "int " + name + "(" + (parameters.empty() ? "void" : parameters) + ") {\n" + unread + assumptions(body) +
           constants_text + allocations(body) + statements + releases(body) + "  return 0;\n}\n";
  }

  std::string parameter(Body& body, BufferId id, NodeId root) const {
    const Buffer& b = nest_.buffers[id];
    const bool is_written = b.is_output || std::any_of(nest_.packs.begin(), nest_.packs.end(),
                                                       [&](const Pack& p) { return p.packed == id && p.root == root; });
    return (is_written ? "" : "const ") + storage_type(b.type) + " *restrict " + body.argument(id);
  }

  std::string assumptions(Body& body) {
    std::string out;
    if (!nest_.symbolic) return out;
    std::vector<std::string> names;
    for (size_t p = 0; p < nest_.params.size(); ++p)
      names.push_back(body.indices().affine(Affine::variable(static_cast<VarId>(p))).text);
    const Facts nothing;
    const IndexText plain(nothing, names, helpers_);
    for (size_t k = 0; k < nest_.assumptions.size(); ++k)
      out += "  if (!(" + plain.guard(nest_.assumptions[k]).text + ")) return " +
             std::to_string(kFirstAssumption + static_cast<int>(k)) + ";\n";
    return out;
  }

  std::string constants(Body& body) {
    std::string out;
    for (const BufferId id : body.constants()) {
      const Buffer& b = nest_.buffers[id];
      std::string data;
      for (const Literal& value : b.data) data += (data.empty() ? "" : ", ") + body.values().stored_constant(value);
      out += "  static const " + storage_type(b.type) + " " + body.name(id) + "[" +
             std::to_string(std::max<size_t>(1, b.data.size())) + "] = {" + (data.empty() ? "0" : data) + "};\n";
    }
    return out;
  }

  std::string bytes(Body& body, const Buffer& b) const {
    std::string sizes;
    int64_t number = size_bytes(b.type);
    for (size_t d = 0; d < b.extents.size(); ++d) {
      if (b.extents[d] == kSymbolicExtent)
        sizes += " * " + within(body.indices().affine(b.shape[d]), Level::atom);
      else if (nest_.symbolic)
        number *= folded_extents(b)[d];
    }
    if (sizes.empty())
      return std::to_string(std::max<int64_t>(1, (allocated_elements(b) * size_bytes(b.type) + 63) / 64) * 64);
    return "(size_t)((" + std::to_string(number) + sizes + " + 127) / 64 * 64)";
  }

  std::string allocations(Body& body) {
    std::string out, missing;
    for (const BufferId id : body.heap()) {
      const Buffer& b = nest_.buffers[id];
      if (b.within) continue;
      uses_heap_ = true;
      out += "  " + storage_type(b.type) + " *" + body.name(id) + " = aligned_alloc(64, " + bytes(body, b) + ");\n";
      missing += (missing.empty() ? "!" : " || !") + body.name(id);
    }
    const std::string give_up = "return " + std::to_string(kOutOfMemory) + ";\n";
    if (missing.find("||") != std::string::npos)
      out += "  if (" + missing + ") {\n" + releases(body, "    ") + "    " + give_up + "  }\n";
    else if (!missing.empty())
      out += "  if (" + missing + ") " + give_up;
    std::vector<BufferId> waiting;
    for (const BufferId id : body.heap())
      if (nest_.buffers[id].within) waiting.push_back(id);
    for (const BufferId id : waiting) {  // hosts are allocated around them
      const Buffer& b = nest_.buffers[id];
      const std::string type = storage_type(b.type) + " *";
      out += "  " + type + body.name(id) + " = (" + type + ")((char *)" + body.name(b.within->host) + " + " +
             std::to_string(b.within->at_bytes) + ");\n";
    }
    return out;
  }

  std::string releases(Body& body, const std::string& indent = "  ") const {
    std::string out;
    for (size_t k = body.heap().size(); k-- > 0;)
      if (!nest_.buffers[body.heap()[k]].within) out += indent + "free(" + body.name(body.heap()[k]) + ");\n";
    return out;
  }

  const LoopNest& nest_;
  std::string name_;
  Helpers helpers_;
  Names names_;
  bool uses_math_ = false, uses_heap_ = false;
};

}  // namespace

Result<std::string> c_source(const LoopNest& nest, const std::string& symbol) {
  for (const Node& node : nest.nodes)
    if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.kind == MarkKind::axis)
      return fail("PW0519",
                  "a loop is bound to " + loop->mark.detail + ", and C has neither blocks nor threads to bind to",
                  {"take the steps bind out of the trace"});
  return Source(nest, symbol.empty() ? nest.name : symbol).whole();
}

}  // namespace polyweft::targets
