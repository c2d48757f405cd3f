#include "targets/gpu/levels_text.h"

namespace polyweft::targets {
namespace {

std::string by(const GridSize& size) {
  return std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " + std::to_string(size[2]);
}

const char* words_of(DevicePlace place) {
  switch (place) {
    case DevicePlace::argument:
      return "device, the caller's";
    case DevicePlace::constant:
      return "constants of the module";
    case DevicePlace::workspace:
      return "device, for the call";
    case DevicePlace::shared:
      return "shared by a block";
    case DevicePlace::own:
      return "a thread's own";
    case DevicePlace::within:
      return "inside another buffer";
  }
  return "";
}

class LevelsText {
 public:
  explicit LevelsText(const DeviceNest& device) : device_(device), nest_(device.nest) {
    for (const auto& p : nest_.params) names_.push_back(p.name);
    names_.insert(names_.end(), nest_.loop_names.begin(), nest_.loop_names.end());
  }

  std::string run() {
    text_ = "memory\n";
    for (BufferId id = 0; id < nest_.buffers.size(); ++id) memory(id);
    if (!nest_.packs.empty()) text_ += "once, before the first call\n";
    for (const Pack& pack : nest_.packs) node(pack.root, 1);
    text_ += "call\n";
    node(nest_.root, 1);
    return std::move(text_);
  }

 private:
  void memory(BufferId id) {
    const Buffer& buffer = nest_.buffers[id];
    const DeviceBuffer& at = device_.buffers[id];
    text_ += "  " + buffer.name + ": " + name_of(buffer.type);
    for (int64_t extent : buffer.extents) text_ += "[" + std::to_string(extent) + "]";
    text_ += ", " + std::to_string(at.bytes) + " bytes, " + words_of(at.place);
    if (at.instances > 1) text_ += ", " + std::to_string(at.instances) + " of them, by";
    for (const std::string& axis : at.axes)
      if (at.instances > 1) text_ += " " + axis;
    text_ += "\n";
  }

  std::string bound(const Bound& of, const char* function) const {
    std::string out;
    for (const Affine& e : of.of) out += (out.empty() ? "" : ", ") + print(e, names_);
    return of.of.size() == 1 ? out : std::string(function) + "(" + out + ")";
  }

  void line(size_t depth, const std::string& what) { text_ += std::string(2 * depth, ' ') + what + "\n"; }

  void node(NodeId id, size_t depth) {
    if (id == kNoNode) return;
    if (const auto at = device_.kernel_at.find(id); at != device_.kernel_at.end()) return kernel(at->second, depth);
    const Node& here = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&here))
      for (NodeId child : seq->children) node(child, depth);
    if (const auto* alloc = std::get_if<Alloc>(&here)) node(alloc->body, depth);
    if (const auto* choice = std::get_if<If>(&here)) {
      line(depth, "if " + print(choice->condition, names_));
      node(choice->then, depth + 1);
      if (choice->otherwise == kNoNode) return;
      line(depth, "else");
      node(choice->otherwise, depth + 1);
    }
    if (const auto* loop = std::get_if<Loop>(&here)) {
      const std::string step = loop->step == 1 ? "" : " step " + std::to_string(loop->step);
      line(depth, "for " + names_[loop->var] + " in " + bound(loop->lo, "max") + " .. " + bound(loop->hi, "min") +
                      step + ", on the host");
      node(loop->body, depth + 1);
    }
  }

  void kernel(uint32_t k, size_t depth) {
    const DeviceKernel& kernel = device_.kernels[k];
    line(depth, "launch k" + std::to_string(k) + ": grid " + by(kernel.blocks) + ", block " + by(kernel.threads) +
                    ", " + std::to_string(kernel.block_count() * kernel.thread_count()) + " threads, " +
                    std::to_string(kernel.shared_bytes) + " shared bytes a block");
  }

  const DeviceNest& device_;
  const LoopNest& nest_;
  std::vector<std::string> names_;  ///< by variable
  std::string text_;
};

}  // namespace

std::string levels_text(const DeviceNest& device) {
  return LevelsText(device).run();
}

}  // namespace polyweft::targets
