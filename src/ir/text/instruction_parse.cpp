// Text -> Instruction: a header of lines, then the text of a nest.
#include <algorithm>
#include <bit>
#include <sstream>

#include "ir/nests/instruction.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kMostLanes = 128;  ///< of a warp, or of several that work together

struct Malformed {
  std::string why;
};
void require_holds(bool holds, const std::string& why) {
  if (!holds) throw Malformed{why};
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

class Reader {
 public:
  Instruction whole(const std::string& text) {
    const size_t nest_at = header(text);
    auto nest = parse_loop_nest(text.substr(nest_at));
    require_holds(nest.ok(), nest.ok() ? "" : nest.error().message);
    out_.nest = *std::move(nest);
    Status rules = verify(out_.nest);
    require_holds(rules.ok(), rules.ok() ? "" : rules.error().message);
    require_holds(is_versioned_, "the first line is not 'instruction 1'");
    require_holds(!out_.name.empty() && !out_.needs.empty() && !out_.classes.empty() && !call_.empty(),
                  "one of name, needs, classes, call is missing");
    axes(out_.nest.root);
    call();
    fragments();
    return std::move(out_);
  }

 private:
  /// Position of the nest's text.
  size_t header(const std::string& text) {
    size_t at = 0;
    while (at < text.size()) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, std::min(text.find('#', at), end) - at);
      const auto words = words_of(line);
      if (!words.empty() && words[0] == "nest") return at;
      if (!words.empty()) entry(words, line);
      at = end + 1;
    }
    throw Malformed{"there is no nest"};
  }

  void entry(std::vector<std::string> words, const std::string& line) {
    const std::string key = words[0];
    words.erase(words.begin());
    if (key == "instruction") {
      require_holds(words == std::vector<std::string>{"1"}, "only version 1 is known");
      is_versioned_ = true;
    } else if (key == "name") {
      require_holds(words.size() == 1, "a name is one word");
      out_.name = words[0];
    } else if (key == "needs") {
      needs(words);
    } else if (key == "classes") {
      for (const auto& word : words) {
        auto cls = numerics_class_named(word);
        require_holds(cls.has_value(), "there is no class " + word);
        out_.classes.push_back(*cls);
      }
    } else if (key == "issues") {
      require_holds(words.size() == 1 && words[0].size() < 4 &&
                        words[0].find_first_not_of("0123456789") == std::string::npos && words[0] != "0",
                    "issues: expected a number");
      out_.issues = std::stoi(words[0]);
    } else if (key == "fragment") {
      fragments_.push_back(words);
    } else if (key == "call") {
      call_ = line.substr(line.find("call") + 4);
    } else {
      throw Malformed{"unknown entry '" + key + "'"};
    }
  }

  void needs(const std::vector<std::string>& words) {
    out_.needs.emplace_back();
    for (const auto& word : words) {
      if (word == "|")
        out_.needs.emplace_back();
      else
        out_.needs.back().push_back(word);
    }
    for (const auto& set : out_.needs) require_holds(!set.empty(), "needs: a set without features");
  }

  /// A chain of loops from 0 to a constant around one Compute.
  void axes(NodeId id) {
    require_holds(id < out_.nest.nodes.size(), "the nest is empty");
    if (const auto* compute = std::get_if<Compute>(&out_.nest.nodes[id])) {
      require_holds(compute->how == Write::accumulate && compute->dst.size() == 1 && compute->rhs.size() == 1,
                    "the nest is not one accumulation");
      out_.compute = *compute;
      for (auto& axis : out_.axes) {
        axis.is_reduced = true;
        for (const Subscript& s : compute->dst[0].index)
          axis.is_reduced = axis.is_reduced && s.affine.coefficient(axis.var) == 0;
      }
      return;
    }
    const auto* loop = std::get_if<Loop>(&out_.nest.nodes[id]);
    const bool fits = loop && loop->step == 1 && loop->lo.of.size() == 1 && loop->lo.of[0] == Affine::of(0) &&
                      loop->hi.of.size() == 1 && loop->hi.of[0].is_constant();
    require_holds(fits, "the nest is not a chain of loops from 0 to a constant around one compute");
    out_.axes.push_back({loop->var, loop->hi.of[0].constant, false});
    axes(loop->body);
  }

  /// FUNCTION (BUFFER: TYPExLANES, ...)
  void call() {
    const size_t open = call_.find('('), close = call_.find(')');
    require_holds(open != std::string::npos && close != std::string::npos && open < close,
                  "call: expected FUNCTION (BUFFER: TYPExLANES, ...)");
    const auto function = words_of(call_.substr(0, open));
    require_holds(function.size() == 1, "call: expected one function");
    out_.call = function[0];
    std::istringstream list(call_.substr(open + 1, close - open - 1));
    for (std::string part; std::getline(list, part, ',');) operand(part);
    require_holds(out_.operands.size() >= 2 && out_.operands[0].buffer == out_.compute.dst[0].id,
                  "call: the result comes first");
    visit(out_.compute.rhs[0], [&](const ExprNode& e) {
      if (e.op == Op::read)
        require_holds(std::any_of(out_.operands.begin() + 1, out_.operands.end(),
                                  [&](const auto& o) { return o.buffer == e.access.id; }),
                      "call: an operand is missing");
    });
  }

  void operand(const std::string& part) {
    const size_t colon = part.find(':');
    require_holds(colon != std::string::npos, "call: expected BUFFER: TYPExLANES");
    const auto names = words_of(part.substr(0, colon)), types = words_of(part.substr(colon + 1));
    require_holds(names.size() == 1 && types.size() == 1, "call: expected BUFFER: TYPExLANES");
    Instruction::Operand out;
    while (out.buffer < out_.nest.buffers.size() && out_.nest.buffers[out.buffer].name != names[0]) ++out.buffer;
    require_holds(out.buffer < out_.nest.buffers.size(), "call: there is no buffer " + names[0]);
    const size_t times = types[0].find('x');
    require_holds(times != std::string::npos && times + 1 < types[0].size(), "call: expected TYPExLANES");
    out.register_element = types[0].substr(0, times);
    const size_t again = std::min(types[0].find('x', times + 1), types[0].size());
    if (again < types[0].size()) {
      require_holds(types[0].substr(again) == "x3", "call: a register in parts has three");
      out.parts = 3;
    }
    for (size_t k = times + 1; k < again; ++k) {
      require_holds(types[0][k] >= '0' && types[0][k] <= '9' && out.register_lanes < 4096, "call: lanes are a number");
      out.register_lanes = out.register_lanes * 10 + (types[0][k] - '0');
    }
    out.type = out_.nest.buffers[out.buffer].type;
    require_holds(out.parts == 1 || (out.type == ElementType::f32 && !out_.operands.empty()),
                  "call: an operand in parts has cells of f32");
    subscripts(out);
    out_.operands.push_back(std::move(out));
  }

  /// The operand is read (or written) at one place, each subscript a loop of its own, and the loops fill the buffer.
  void subscripts(Instruction::Operand& operand) const {
    const Access* access = operand.buffer == out_.compute.dst[0].id ? &out_.compute.dst[0] : nullptr;
    visit(out_.compute.rhs[0], [&](const ExprNode& e) {
      if (e.op != Op::read || e.access.id != operand.buffer) return;
      require_holds(!access, "an operand occurs twice");
      access = &e.access;
    });
    require_holds(access != nullptr, "an operand that the nest does not use");
    const Buffer& buffer = out_.nest.buffers[operand.buffer];
    require_holds(buffer.folds.empty() && buffer.layout.pieces == row_major(buffer.extents).pieces,
                  "an operand that is not row-major");
    for (size_t d = 0; d < access->index.size(); ++d) {
      const Subscript& s = access->index[d];
      uint32_t axis = 0;
      while (axis < out_.axes.size() && !(s.affine == Affine::variable(out_.axes[axis].var))) ++axis;
      require_holds(!s.data && axis < out_.axes.size() && out_.axes[axis].extent == buffer.extents[d],
                    "an operand's subscripts are loops alone, over all of its extents");
      require_holds(std::find(operand.loops.begin(), operand.loops.end(), axis) == operand.loops.end(),
                    "a loop subscripts an operand twice");
      operand.loops.push_back(axis);
    }
  }

  /// Each cell is in one lane and one of its places: the digits of each dimension are all of its coordinate.
  void fragments() {
    for (const auto& words : fragments_) {
      require_holds(words.size() >= 4 && words[1] == "lane", "fragment: expected BUFFER lane DIGITS cell DIGITS");
      const auto own = std::find_if(out_.operands.begin(), out_.operands.end(), [&](const auto& operand) {
        return out_.nest.buffers[operand.buffer].name == words[0];
      });
      require_holds(own != out_.operands.end() && own->fragment.empty(), "fragment: of no operand, or twice of one");
      std::vector<Fragment::Digit>* to = &own->fragment.lane;
      for (size_t k = 2; k < words.size(); ++k) {
        if (words[k] == "cell")
          to = &own->fragment.cell;
        else
          to->push_back(digit(words[k], *own));
      }
      const int64_t lanes = places_of(own->fragment.lane);
      require_holds(std::has_single_bit(static_cast<uint64_t>(lanes)) && lanes <= kMostLanes,
                    "fragment: a warp's lanes are a power of two, at most 128");
      require_holds(places_of(own->fragment.cell) == own->register_lanes,
                    "fragment: as many cells as the call says a lane has");
      for (uint32_t dim = 0; dim < own->loops.size(); ++dim) whole_coordinate(own->fragment, dim);
      const int64_t cells = allocated_elements(out_.nest.buffers[own->buffer]), copies = copies_of(own->fragment);
      require_holds(copies == 1 || own != out_.operands.begin(), "fragment: of a sum there is one copy");
      require_holds(cells * copies == lanes * own->register_lanes, "fragment: a cell would be in several places");
    }
    const bool reads_shared = out_.operands[1].is_shared();
    for (const auto& operand : out_.operands) {
      const bool has_fragment = !operand.fragment.empty();
      require_holds(has_fragment == (!fragments_.empty() && !operand.is_shared()), "fragment: one for each operand");
      require_holds(!has_fragment || places_of(operand.fragment.lane) == out_.lanes(),
                    "fragment: all operands have the same lanes");
      if (&operand == &out_.operands[0]) continue;
      require_holds(operand.is_shared() == reads_shared, "call: both factors lie in shared memory, or none");
      require_holds(!reads_shared || (!fragments_.empty() && operand.loops.size() == 2 &&
                                      allocated_elements(out_.nest.buffers[operand.buffer]) == operand.register_lanes),
                    "call: a factor in shared memory has the cells of its buffer, the result a fragment");
    }
    require_holds(!out_.operands[0].is_shared(), "call: sums lie in registers");
  }

  static int64_t copies_of(const Fragment& fragment) {
    int64_t out = 1;
    for (const Fragment::Digit& digit : fragment.lane)
      if (digit.dim == Fragment::kCopies) out *= digit.extent;
    return out;
  }

  /// LOOP, LOOP/DIVISOR, LOOP%EXTENT or LOOP/DIVISOR%EXTENT; *COPIES
  Fragment::Digit digit(const std::string& word, const Instruction::Operand& operand) const {
    if (word[0] == '*') {
      const int64_t copies = number_after(word, '*').value_or(0);
      require_holds(copies > 0, "fragment: " + word + " is no number of copies");
      return {Fragment::kCopies, 1, copies};
    }
    const std::string name = word.substr(0, word.find_first_of("/%"));
    Fragment::Digit out;
    while (out.dim < operand.loops.size() && name_of_axis(operand.loops[out.dim]) != name) ++out.dim;
    require_holds(out.dim < operand.loops.size(), "fragment: " + word + " is of no loop of the operand");
    const int64_t extent = out_.axes[operand.loops[out.dim]].extent;
    out.divisor = number_after(word, '/').value_or(1);
    require_holds(out.divisor > 0 && extent % out.divisor == 0, "fragment: " + word + " divides nothing");
    out.extent = number_after(word, '%').value_or(extent / out.divisor);
    require_holds(out.extent > 0, "fragment: " + word + " is no digit");
    return out;
  }
  std::string name_of_axis(uint32_t axis) const {
    return out_.nest.loop_names[out_.axes[axis].var - out_.nest.params.size()];
  }
  static std::optional<int64_t> number_after(const std::string& word, char sign) {
    size_t at = word.find(sign);
    if (at == std::string::npos) return std::nullopt;
    int64_t out = 0;
    for (++at; at < word.size() && word[at] >= '0' && word[at] <= '9' && out < 4096; ++at)
      out = out * 10 + (word[at] - '0');
    return out;
  }

  void whole_coordinate(const Fragment& fragment, uint32_t dim) const {
    std::vector<Fragment::Digit> own;
    for (const auto* digits : {&fragment.lane, &fragment.cell})
      for (const Fragment::Digit& digit : *digits)
        if (digit.dim == dim && digit.extent > 1) own.push_back(digit);
    std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.divisor < b.divisor; });
    int64_t next = 1;
    for (const Fragment::Digit& digit : own) {
      require_holds(digit.divisor == next, "fragment: digits overlap or leave cells out");
      next *= digit.extent;
    }
  }

  Instruction out_;
  std::vector<std::vector<std::string>> fragments_;
  bool is_versioned_ = false;
  std::string call_;
};

}  // namespace

int64_t places_of(const std::vector<Fragment::Digit>& digits) {
  int64_t out = 1;
  for (const Fragment::Digit& digit : digits) out *= digit.extent;
  return out;
}

bool Instruction::allows(NumericsClass cls) const {
  return std::find(classes.begin(), classes.end(), cls) != classes.end();
}

Result<Instruction> parse_instruction(const std::string& text) {
  if (text.size() > (64u << 10)) return fail("PW0416", "instruction: longer than 64 KiB");
  try {
    return Reader().whole(text);
  } catch (const Malformed& problem) {
    return fail("PW0416", "instruction: " + problem.why, {"see docs/add_an_instruction.md"});
  }
}

}  // namespace polyweft::ir
