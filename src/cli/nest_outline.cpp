#include "nest_outline.h"

#include <fmt/format.h>

#include <optional>

#include "output.h"

namespace polyweft::cli {
namespace {

// hi - lo where both are one form and differ by a number.
std::optional<int64_t> extent_of(const Loop& loop) {
  if (loop.lo.of.size() != 1 || loop.hi.of.size() != 1) return std::nullopt;
  const Affine difference = loop.hi.of[0] - loop.lo.of[0];
  return difference.is_constant() ? std::optional(difference.constant) : std::nullopt;
}

std::optional<int64_t> trips_of(const Loop& loop) {
  const auto extent = extent_of(loop);
  return extent ? std::optional((std::max<int64_t>(*extent, 0) + loop.step - 1) / loop.step) : std::nullopt;
}

class Outline {
 public:
  explicit Outline(const LoopNest& nest) : nest_(nest) {}

  std::string text() {
    row(0, "nest", "trips", "bytes");
    for (const Pack& pack : nest_.packs) {
      row(1, "once: pack " + buffer(pack.source) + " into " + buffer(pack.packed), "", bytes(pack.packed));
      node(pack.root, 2);
    }
    node(nest_.root, 1);
    return out_;
  }

 private:
  void row(int depth, const std::string& text, const std::string& trips, const std::string& bytes) {
    std::string line = fmt::format("{:<58}{:>10}{:>12}",
                                   std::string(static_cast<size_t>(2 * depth), ' ') + printable(text), trips, bytes);
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }
  std::string buffer(BufferId id) const { return id < nest_.buffers.size() ? nest_.buffers[id].name : "?"; }
  std::string bytes(BufferId id) const {
    if (id >= nest_.buffers.size()) return "";
    const Buffer& b = nest_.buffers[id];
    return human_bytes(static_cast<double>(allocated_elements(b) * size_bytes(b.type)));
  }
  std::string loop_name(VarId var) const {
    const size_t k = var - nest_.params.size();
    const std::string name = k < nest_.loop_names.size() ? nest_.loop_names[k] : "?";
    return name.substr(0, name.find('@'));
  }

  void node(NodeId id, int depth) {
    if (id == kNoNode || id >= nest_.nodes.size()) return;
    std::visit([&](const auto& n) { print(n, depth); }, nest_.nodes[id]);
  }
  void print(const Seq& seq, int depth) {
    for (NodeId child : seq.children) node(child, depth);
  }
  void print(const If& branch, int depth) {
    row(depth, "if a condition holds", "", "");
    node(branch.then, depth + 1);
    if (branch.otherwise != kNoNode) row(depth, "else", "", "");
    node(branch.otherwise, depth + 1);
  }
  void print(const Alloc& alloc, int depth) {
    const Buffer& b = nest_.buffers[alloc.buffer];
    row(depth, fmt::format("{} {}[{}] in {}", b.name, name_of(b.type), fmt::join(b.extents, ", "), name_of(b.scope)),
        "", bytes(alloc.buffer));
    node(alloc.body, depth + 1);
  }
  void print(const Sync&, int depth) { row(depth, "synchronize", "", ""); }
  void print(const Compute& c, int depth) { row(depth, statement(c), "", ""); }
  void print(const Copy& c, int depth) { row(depth, statement(c), "", ""); }

  // Register blocks: unrolled and vector loops around one statement are one line.
  void print(const Loop& loop, int depth) {
    if (const auto block = register_block(loop)) return row(depth, *block, "", "");
    const bool parallel = loop.mark.kind == MarkKind::parallel;
    std::string text = fmt::format("{} {}",
                                   parallel         ? "parallel"
                                   : is_block(loop) ? mark_text(loop)
                                                    : "for",
                                   loop_name(loop.var));
    if (loop.step != 1) text += fmt::format(" by {}", loop.step);
    const auto trips = trips_of(loop);
    row(depth, text, trips ? std::to_string(*trips) : "?", "");
    node(loop.body, depth + 1);
  }
  static bool is_block(const Loop& loop) {
    return loop.mark.kind == MarkKind::unroll || loop.mark.kind == MarkKind::vector;
  }
  static std::string mark_text(const Loop& loop) {
    if (loop.mark.kind == MarkKind::vector) return fmt::format("{} lanes", loop.mark.width);
    const auto trips = trips_of(loop);
    return trips ? fmt::format("unroll {}", *trips) : "unroll";
  }
  std::optional<std::string> register_block(const Loop& loop) const {
    std::string marks;
    const Loop* at = &loop;
    while (at) {
      if (!is_block(*at)) return std::nullopt;
      marks += (marks.empty() ? "" : " x ") + mark_text(*at);
      const Node* body = at->body < nest_.nodes.size() ? &nest_.nodes[at->body] : nullptr;
      if (!body) return std::nullopt;
      if (const auto* compute = std::get_if<Compute>(body)) return marks + ": " + statement(*compute);
      if (const auto* copy = std::get_if<Copy>(body)) return marks + ": " + statement(*copy);
      at = std::get_if<Loop>(body);
    }
    return std::nullopt;
  }
  std::string statement(const Compute& c) const {
    constexpr const char* kKinds[] = {"compute", "start", "fold into", "merge into"};
    return fmt::format("{} {}", kKinds[static_cast<size_t>(c.how)], c.dst.empty() ? "?" : buffer(c.dst.front().id));
  }
  std::string statement(const Copy& c) const {
    return c.has_src ? fmt::format("copy {} to {}", buffer(c.src.id), buffer(c.dst.id))
                     : fmt::format("fill {}", buffer(c.dst.id));
  }

  const LoopNest& nest_;
  std::string out_;
};

}  // namespace

std::string outline(const LoopNest& nest) {
  return Outline(nest).text();
}

}  // namespace polyweft::cli
