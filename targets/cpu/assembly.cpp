// Assembly as people want to read it: innermost loops with what is in them and what an iteration costs.
#include <algorithm>
#include <cstdio>
#include <map>

#include "targets/cpu/assembly_reader.h"
#include "targets/cpu/build.h"
#include "targets/cpu/port_model.h"

namespace polyweft::targets {
namespace {

class Marker {
 public:
  explicit Marker(const AssemblyCode& reader) : reader_(reader), machine_(reader.cpu), spans_(loops_of(reader)) {
    bool has_frame_pointer = false;
    for (const PlacedInst& placed : reader.code) {
      const llvm::MCInstrDesc& desc = machine_.instructions->get(placed.inst.getOpcode());
      has_frame_pointer &= !desc.isReturn();
      has_frame_pointer |= machine_.set->makes_frame_pointer(placed.inst, *machine_.registers);
      marks_.push_back(mark_of(placed.inst, has_frame_pointer));
    }
  }

  Assembly marked(const std::string& text) {
    Assembly out;
    out.model = machine_.name;
    std::vector<Span> shown;
    for (const Span& span : spans_)
      if (std::none_of(spans_.begin(), spans_.end(), [&](const Span& other) { return is_inside(other, span); }))
        shown.push_back(span);
    for (size_t f = 0; f < reader_.functions.size(); ++f) add_function_without_loops(f, shown);
    std::sort(shown.begin(), shown.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (const Span& span : shown) out.loops.push_back(cost_of(span));
    choose_hot(out.loops);
    write(text, shown, out);
    return out;
  }

 private:
  struct Mark {
    bool fma = false, vector = false, load = false, store = false, spill = false;
  };

  Mark mark_of(const llvm::MCInst& inst, bool has_frame_pointer) const {
    const llvm::MCInstrDesc& desc = machine_.instructions->get(inst.getOpcode());
    const bool moves_data =
        machine_.instructions->getName(inst.getOpcode()).str().find("PREFETCH") == std::string::npos &&
        !desc.isCall() && !desc.isReturn();
    Mark out;
    out.fma = is_multiply_add(inst, machine_.described());
    out.vector = out.fma || is_vector_arithmetic(inst, machine_.described());
    out.load = moves_data && desc.mayLoad();
    out.store = moves_data && desc.mayStore();
    out.spill =
        machine_.set->is_vector_store_to_stack(inst, *machine_.instructions, *machine_.registers, has_frame_pointer);
    return out;
  }
  static std::string words(const Mark& mark) {
    std::string out;
    for (auto [is_so, word] : {std::pair{mark.fma, " fma"},
                               {mark.load, " load"},
                               {mark.store && !mark.spill, " store"},
                               {mark.spill, " spill"}})
      if (is_so) out += word;
    return out;
  }

  std::string function_at(size_t instruction) const {
    std::string out;
    for (const auto& [first, name] : reader_.functions)
      if (first <= instruction) out = name;
    return out;
  }

  /// A product written out whole has no loop: then the function is what there is to see.
  void add_function_without_loops(size_t f, std::vector<Span>& shown) const {
    const size_t begin = reader_.functions[f].first,
                 end = f + 1 < reader_.functions.size() ? reader_.functions[f + 1].first : reader_.code.size();
    const bool has_loop = std::any_of(spans_.begin(), spans_.end(),
                                      [&](const Span& span) { return span.begin >= begin && span.begin < end; });
    const bool has_vectors =
        std::any_of(marks_.begin() + static_cast<std::ptrdiff_t>(begin),
                    marks_.begin() + static_cast<std::ptrdiff_t>(end), [](const Mark& m) { return m.vector; });
    if (!has_loop && has_vectors) shown.push_back({begin, end, reader_.functions[f].second});
  }

  LoopCost cost_of(const Span& span) const {
    LoopCost out;
    out.function = function_at(span.begin);
    out.label = span.label;
    for (const Span& other : spans_) out.depth += is_inside(span, other);
    if (span.label == out.function) out.depth = 0;
    std::vector<llvm::MCInst> code;
    for (size_t k = span.begin; k < span.end; ++k) {
      const Mark& mark = marks_[k];
      out.fmas += mark.fma;
      out.vector += mark.vector;
      out.loads += mark.load;
      out.stores += mark.store;
      out.spills += mark.spill;
      code.push_back(reader_.code[k].inst);
    }
    out.instructions = static_cast<int>(code.size());
    simulate(code, machine_.described(), out);
    return out;
  }

  static void choose_hot(std::vector<LoopCost>& loops) {
    auto rank = [](const LoopCost& l) { return std::tuple(l.fmas > 0, l.depth, l.fmas, l.vector, l.loads + l.stores); };
    auto hottest = std::max_element(loops.begin(), loops.end(),
                                    [&](const LoopCost& a, const LoopCost& b) { return rank(a) < rank(b); });
    if (hottest != loops.end()) hottest->hot = true;
  }

  static std::string figures(const LoopCost& loop, const std::string& model) {
    char text[400];
    std::snprintf(text, sizeof text,
                  "%d fma, %d loads, %d stores, %d spills, %d instructions\n#   %.1f cycles%s by LLVM's model of %s: "
                  "fma ports %.1f, load ports %.1f, store ports %.1f, front end "
                  "%.1f; bound by %s",
                  loop.fmas, loop.loads, loop.stores, loop.spills, loop.instructions, loop.cycles,
                  loop.depth == 0 ? "" : " an iteration", model.c_str(), loop.fma_ports, loop.load_ports,
                  loop.store_ports, loop.front_end, loop.bound.c_str());
    return text;
  }

  void write(const std::string& text, const std::vector<Span>& shown, Assembly& out) const {
    std::map<size_t, std::string> before, behind, at;  // by line
    for (size_t k = 0; k < shown.size(); ++k) {
      const LoopCost& loop = out.loops[k];
      const std::string name =
          std::string("# ") + (loop.depth == 0 ? "no loop in " : "loop ") + loop.label + (loop.hot ? ", hot" : "");
      before[reader_.line_of_label.at(shown[k].label)] = name + ": " + figures(loop, out.model) + "\n";
      behind[reader_.code[shown[k].end - 1].line] = "# end of " + loop.label + "\n";
      for (size_t i = shown[k].begin; i < shown[k].end; ++i)
        if (const std::string mark = words(marks_[i]); !mark.empty()) at[reader_.code[i].line] = "\t#" + mark;
    }
    size_t line = 0, written = 1;
    std::map<size_t, int> place_of_line;
    for (size_t from = 0; from < text.size();) {
      size_t to = text.find('\n', from);
      if (to == std::string::npos) to = text.size();
      ++line;
      for (char c : before[line]) written += c == '\n';
      place_of_line[line] = static_cast<int>(written);
      out.text += before[line] + text.substr(from, to - from) + at[line] + "\n" + behind[line];
      ++written;
      for (char c : behind[line]) written += c == '\n';
      from = to + 1;
    }
    for (size_t k = 0; k < shown.size(); ++k) {
      out.loops[k].first_line = place_of_line[reader_.line_of_label.at(shown[k].label)];
      out.loops[k].last_line = place_of_line[reader_.code[shown[k].end - 1].line];
    }
  }

  const AssemblyCode& reader_;
  const ModelledCpu& machine_;
  std::vector<Span> spans_;
  std::vector<Mark> marks_;
};

}  // namespace

Result<Assembly> marked_assembly(const std::string& assembly, const Target& target) {
  auto read = read_assembly(assembly, target);
  if (!read) return read.error();
  return Marker(*read).marked(assembly);
}

}  // namespace polyweft::targets
