#include "targets/gpu/device_header.h"

#include <algorithm>
#include <cctype>

#include "targets/c/index_text.h"
#include "targets/c/names.h"
#include "targets/common/values/variables.h"
#include "targets/gpu/kernels.h"

namespace polyweft::targets {
namespace {

constexpr const char* kTypes = R"(
/* Shared by all headers of kernels for devices. */
#ifndef POLYWEFT_DEVICE_KERNELS_H
#define POLYWEFT_DEVICE_KERNELS_H
/* A function of the module, launched over a grid. x comes first. It takes the addresses of all memories of the table in
 * their order, then `values` integers of 64 bits. Of its shared bytes a launch has to ask for `dynamic_shared_bytes`,
 * all of them or none. */
struct polyweft_kernel {
  const char *name;
  uint32_t blocks[3], threads[3], shared_bytes, values, dynamic_shared_bytes;
};
/* Memory of the device, aligned to 256 bytes. It begins with the caller's argument of this number, or is a workspace
 * (-1), which must stay as it is between NAME_pack and NAME_run. */
struct polyweft_memory {
  const char *name;
  uint64_t bytes;
  int argument, is_output;
  uint64_t argument_bytes;
};
/* Starts a kernel of the table, which is nothing where it has no blocks; later launches wait for it. 0: done; anything
 * else ends the run. */
typedef int (*polyweft_launch)(void *context, int kernel, const int64_t *values);
#endif
)";

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string three(const GridSize& of) {
  return "{" + std::to_string(of[0]) + ", " + std::to_string(of[1]) + ", " + std::to_string(of[2]) + "}";
}

class HostLoops {
 public:
  HostLoops(const DeviceNest& device, std::string symbol)
      : device_(device), nest_(device.nest), symbol_(std::move(symbol)), helpers_(true) {
    names_.reserve("launch"), names_.reserve("context"), names_.reserve("code"), names_.reserve("values");
    for (const std::string& name : helpers_.names()) names_.reserve(name);
    variables_.resize(nest_.params.size() + nest_.loop_names.size());
    for (size_t p = 0; p < nest_.params.size(); ++p) variables_[p] = std::to_string(nest_.params[p].value);
  }

  std::string function(const std::string& name, const std::vector<NodeId>& roots) {
    text_.clear();
    for (NodeId root : roots) node(root);
    return "static inline int " + symbol_ + "_" + name +
           "(polyweft_launch launch, void *context) {\n  int code = 0;\n  (void)launch, (void)context;\n" + text_ +
           "  return code;\n}\n";
  }
  std::string helpers() const { return helpers_.text(); }

 private:
  void line(const std::string& text) { text_ += std::string(depth_, ' ') + text + "\n"; }

  void node(NodeId id) {
    if (id == kNoNode) return;
    if (const auto at = device_.kernel_at.find(id); at != device_.kernel_at.end()) return launch(at->second);
    const Node& node_here = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node_here))
      for (NodeId child : seq->children) node(child);
    if (const auto* alloc = std::get_if<Alloc>(&node_here)) node(alloc->body);
    if (const auto* choice = std::get_if<If>(&node_here)) {
      line("if (" + index_.guard(choice->condition).text + ") {");
      inside(choice->then);
      line("} else {");
      inside(choice->otherwise);
      line("}");
    }
    if (const auto* loop = std::get_if<Loop>(&node_here)) {
      const std::string from = index_.bound(loop->lo, true).text, to = index_.bound(loop->hi, false).text;
      const std::string name = names_.open(c::identifier(nest_.loop_names[loop->var - nest_.params.size()]));
      variables_[loop->var] = name;
      line("for (int64_t " + name + " = " + from + "; " + name + " < " + to + "; " + name +
           " += " + std::to_string(loop->step) + ") {");
      inside(loop->body);
      line("}");
      names_.close(name);
    }
  }
  void inside(NodeId id) {
    depth_ += 2;
    node(id);
    depth_ -= 2;
  }
  void launch(uint32_t kernel) {
    std::string values;
    for (VarId var : device_.kernels[kernel].outer) values += (values.empty() ? "" : ", ") + variables_[var];
    line("{");
    line("  const int64_t values[] = {" + (values.empty() ? "0" : values) + "};");
    line("  if ((code = launch(context, " + std::to_string(kernel) + ", values)) != 0) return code;");
    line("}");
  }

  const DeviceNest& device_;
  const LoopNest& nest_;
  const std::string symbol_;
  c::Helpers helpers_;
  c::Names names_;
  const Facts facts_;  // nothing is known: division is the one that rounds down
  std::vector<std::string> variables_;
  c::IndexText index_{facts_, variables_, helpers_};
  std::string text_;
  size_t depth_ = 2;
};

std::string shape_of(const Buffer& buffer) {
  std::string out = name_of(buffer.type);
  for (int64_t extent : buffer.extents) out += "[" + std::to_string(extent) + "]";
  return out;
}

/// Number of the caller's argument that lies in this memory, -1: none.
int argument_of(const LoopNest& nest, BufferId id) {
  for (size_t a = 0; a < nest.arguments.size(); ++a)
    if (given_for(nest, nest.arguments[a]) == id) return static_cast<int>(a);
  return -1;
}

std::string kernel_table(const DeviceNest& device, const std::string& symbol) {
  std::string out = "static const struct polyweft_kernel " + symbol + "_kernels[] = {\n";
  for (size_t k = 0; k < device.kernels.size(); ++k) {
    const DeviceKernel& kernel = device.kernels[k];
    out += "  {\"" + kernel_symbol(symbol, k) + "\", " + three(kernel.blocks) + ", " + three(kernel.threads) + ", " +
           std::to_string(kernel.shared_bytes) + ", " + std::to_string(kernel.outer.size()) + ", " +
           std::to_string(kernel.dynamic_shared_bytes) + "},\n";
  }
  if (device.kernels.empty()) out += "  {0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},\n";
  return out + "};\n";
}

std::string memory_table(const DeviceNest& device, const std::string& symbol) {
  const LoopNest& nest = device.nest;
  std::string out = "static const struct polyweft_memory " + symbol + "_memories[] = {\n";
  const auto memories = kernel_arguments(device);
  for (BufferId id : memories) {
    const DeviceBuffer& at = device.buffers[id];
    const int argument = argument_of(nest, id);
    out += "  {\"" + nest.buffers[id].name + "\", " + std::to_string(std::max<int64_t>(at.bytes, 1) * at.instances) +
           ", " + std::to_string(argument) + ", " + (argument >= 0 && nest.buffers[id].is_output ? "1" : "0") + ", " +
           std::to_string(argument >= 0 ? dense_bytes(nest.buffers[id]) : 0) + "},";
    if (argument >= 0) out += "  /* " + shape_of(nest.buffers[id]) + ", row-major */";
    out += "\n";
  }
  if (memories.empty()) out += "  {0, 0, -1, 0, 0},\n";
  return out + "};\n";
}

}  // namespace

Bytes device_header(const DeviceNest& device, const std::string& symbol, const std::string& form) {
  const std::string guard = "POLYWEFT_KERNELS_" + in_capitals(symbol) + "_H";
  HostLoops host(device, symbol);
  std::vector<NodeId> packs;
  for (const Pack& pack : device.nest.packs) packs.push_back(pack.root);
  const std::string functions = "\n/* Once, before the first run, and after inputs that are packed have changed. */\n" +
                                host.function("pack", packs) + "\n/* All launches of a call, in their order. */\n" +
                                host.function("run", {device.nest.root});
  std::string out =
      "/* Kernels of " + symbol + ", made by Polyweft: " + form + "; numerics class " + name_of(device.nest.cls) +
      ". */\n#ifndef " + guard + "\n#define " + guard + "\n\n#include <stdint.h>\n#include <stdbool.h>\n" + kTypes +
      "\nenum { " + symbol + "_kernel_count = " + std::to_string(device.kernels.size()) + ", " + symbol +
      "_memory_count = " + std::to_string(kernel_arguments(device).size()) + " };\n" + kernel_table(device, symbol) +
      memory_table(device, symbol) + host.helpers() + functions + "\n#endif\n";
  return {out.begin(), out.end()};
}

}  // namespace polyweft::targets
