#include "lang/canonical.h"

#include <algorithm>
#include <map>

#include "lang/canonical_expr.h"
#include "support/hash.h"

namespace polyweft::lang {
namespace {

constexpr int kFormatVersion = 1;
constexpr int kMaxTries = 5040;
/// Text written while labels are sought; beyond it ties are split in input order. A matter of time, not of meaning.
constexpr size_t kMaxWork = size_t{1} << 25;

/// Tensors from which an output is reached: what the outputs are made of.
std::vector<bool> used_tensors(const Program& program) {
  std::vector<bool> used(program.tensors.size(), false);
  std::vector<bool> visited(program.equations.size(), false);
  for (TensorId id = 0; id < used.size(); ++id) used[id] = program.tensors[id].kind != TensorKind::local;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t q = 0; q < program.equations.size(); ++q) {
      const Equation& equation = program.equations[q];
      bool needed =
          std::any_of(equation.targets.begin(), equation.targets.end(), [&](TensorId id) { return used[id]; });
      if (visited[q] || !needed) continue;
      visited[q] = changed = true;
      for (TensorId id : equation.targets) used[id] = true;
      visit(equation.rhs, [&](const ExprNode& node) {
        if (node.op == Op::read) used[node.access.id] = true;
      });
    }
  }
  return used;
}

class Canonicalizer {
 public:
  explicit Canonicalizer(const Program& program) : program_(program), used_(used_tensors(program)) {
    for (const Combiner& each : program.combiners) combiners_.push_back(CanonicalWriter::combiner(program, each));
    for (const Equation& equation : program.equations) {
      if (!used_[equation.targets[0]]) continue;
      equations_.push_back(equation);
      equations_.back().rhs = with_folded_integers(equation.rhs);
      std::vector<TensorId> involved = equation.targets;
      visit(equation.rhs, [&](const ExprNode& node) {
        if (node.op == Op::read) involved.push_back(node.access.id);
      });
      std::sort(involved.begin(), involved.end());
      involved.erase(std::unique(involved.begin(), involved.end()), involved.end());
      involved_.push_back(std::move(involved));
    }
    start();
    for (TensorId id = 0; id < colors_.size(); ++id) free_count_ += is_free(id) ? 1 : 0;
  }

  std::string run() {
    refine(colors_);
    std::string best;
    search(colors_, best);
    return header() + best;
  }

 private:
  using Colors = std::vector<std::string>;  ///< by TensorId; equal text: not told apart

  bool is_free(TensorId id) const {
    return used_[id] &&
           (program_.tensors[id].kind == TensorKind::local || program_.tensors[id].kind == TensorKind::constant);
  }

  void start() {
    size_t inputs = 0;
    size_t outputs = 0;
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      const Tensor& tensor = program_.tensors[id];
      if (tensor.kind == TensorKind::input)
        colors_.push_back("x" + std::to_string(inputs++));
      else if (tensor.kind == TensorKind::output)
        colors_.push_back("y" + std::to_string(outputs++));
      else
        colors_.push_back((tensor.kind == TensorKind::constant ? "c" : "t") + declaration(tensor));
    }
    rename(colors_);
  }

  /// What a tensor is without its name and equations.
  std::string declaration(const Tensor& tensor) const {
    VariableTexts parameters;
    for (size_t p = 0; p < program_.parameters.size(); ++p) parameters.push_back(parameter_text(p));
    std::string text = std::string(name_of(tensor.type)) + "/" + std::to_string(tensor.rank) + "[";
    for (const Affine& extent : tensor.shape) text += canonical_affine(extent, parameters) + ",";
    text += "]";
    if (tensor.is_const_input) text += "const";
    if (tensor.partial) text += "partial";
    if (tensor.values_lo)
      text += "values" + canonical_affine(*tensor.values_lo, parameters) + ".." +
              canonical_affine(*tensor.values_hi, parameters);
    for (const Literal& each : tensor.data) text += " " + canonical_literal(each);
    return text;
  }

  /// Replaces the colors of free tensors by short ones in the order of the long ones; returns how many there are.
  size_t rename(Colors& colors) const {
    std::map<std::string, std::vector<TensorId>> classes;
    for (TensorId id = 0; id < colors.size(); ++id)
      if (is_free(id)) classes[colors[id]].push_back(id);
    size_t number = 0;
    for (const auto& [color, members] : classes) {
      std::string name = "t" + std::to_string(number++);
      for (TensorId id : members) colors[id] = name;
    }
    return number;
  }

  std::vector<std::string> equation_texts(const Colors& colors) {
    CanonicalWriter writer(program_, colors, combiners_);
    std::vector<std::string> texts;
    for (const Equation& each : equations_) {
      texts.push_back(writer.equation(each));
      work_ += texts.back().size();
    }
    return texts;
  }

  /// Until stable: adds to each color the digests of the equations that define or read the tensor.
  void refine(Colors& colors) {
    size_t classes = rename(colors);
    while (classes != free_count_ && work_ <= kMaxWork) {
      std::vector<std::string> texts = equation_texts(colors);
      for (std::string& each : texts) each = hex(blake2b_128(each));
      std::vector<std::vector<std::string>> around(colors.size());
      for (size_t q = 0; q < texts.size(); ++q)
        for (TensorId id : involved_[q])
          if (is_free(id)) around[id].push_back(role(equations_[q], id) + texts[q]);
      work_ += texts.size() * 64;
      for (TensorId id = 0; id < colors.size(); ++id) {
        std::sort(around[id].begin(), around[id].end());
        for (const std::string& each : around[id]) colors[id] += "\n" + each;
      }
      size_t next = rename(colors);
      if (next == classes) return;
      classes = next;
    }
  }

  /// Which component of the equation the tensor is, or that it is read.
  static std::string role(const Equation& equation, TensorId id) {
    auto place = std::find(equation.targets.begin(), equation.targets.end(), id);
    return place == equation.targets.end() ? "r" : std::to_string(place - equation.targets.begin());
  }

  /// The first class with several members, empty when all are told apart.
  std::vector<TensorId> first_tie(const Colors& colors) const {
    std::map<std::string, std::vector<TensorId>> classes;
    for (TensorId id = 0; id < colors.size(); ++id)
      if (is_free(id)) classes[colors[id]].push_back(id);
    for (const auto& [color, members] : classes)
      if (members.size() > 1) return members;
    return {};
  }

  /// Out of work: the members of each class in input order.
  Colors in_input_order(Colors colors) const {
    for (TensorId id = 0; id < colors.size(); ++id)
      if (is_free(id)) colors[id] += "!" + std::string(id, '!');
    rename(colors);
    return colors;
  }

  void search(const Colors& given, std::string& best) {
    Colors colors = work_ > kMaxWork ? in_input_order(given) : given;
    std::vector<TensorId> tied = first_tie(colors);
    if (tied.empty()) {
      ++tries_;
      std::string text = body(colors);
      if (best.empty() || text < best) best = std::move(text);
      return;
    }
    for (TensorId id : tied) {
      if (!best.empty() && (tries_ >= kMaxTries || work_ > kMaxWork)) return;
      Colors chosen = colors;
      chosen[id] += "!";
      refine(chosen);
      search(chosen, best);
    }
  }

  std::string header() const {
    VariableTexts parameters;
    for (size_t p = 0; p < program_.parameters.size(); ++p) parameters.push_back(parameter_text(p));
    std::string text = "polyweft program " + std::to_string(kFormatVersion) + "\nparameters " +
                       std::to_string(parameters.size()) + "\nconst";
    for (const Parameter& each : program_.const_parameters) text += " " + std::to_string(each.value);
    std::vector<std::string> assumptions;
    for (const Guard& each : program_.assumptions) assumptions.push_back(canonical_guard(each, parameters));
    std::sort(assumptions.begin(), assumptions.end());
    assumptions.erase(std::unique(assumptions.begin(), assumptions.end()), assumptions.end());
    for (const std::string& each : assumptions) text += "\nassume " + each;
    for (const Tensor& tensor : program_.tensors)
      if (tensor.kind == TensorKind::input) text += "\nin " + declaration(tensor);
    for (const Tensor& tensor : program_.tensors)
      if (tensor.kind == TensorKind::output) text += "\nout " + declaration(tensor);
    return text + "\n";
  }

  std::string body(const Colors& colors) {
    std::vector<std::string> lines = equation_texts(colors);
    for (TensorId id = 0; id < colors.size(); ++id)
      if (is_free(id))
        lines.push_back((program_.tensors[id].kind == TensorKind::constant ? "const " : "let ") + colors[id] + " " +
                        declaration(program_.tensors[id]));
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& each : lines) text += each + "\n";
    return text;
  }

  const Program& program_;
  std::vector<bool> used_;
  std::vector<std::string> combiners_;
  std::vector<Equation> equations_;  ///< those that are used, folded
  std::vector<std::vector<TensorId>> involved_;
  Colors colors_;
  size_t free_count_ = 0;
  int tries_ = 0;
  size_t work_ = 0;
};

}  // namespace

std::string canonical_text(const Program& program) {
  return Canonicalizer(program).run();
}

std::string key_of(const Program& program) {
  return key_of_canonical(canonical_text(program));
}

std::string key_of_canonical(const std::string& canonical_text) {
  return hex(blake2b_128(canonical_text));
}

}  // namespace polyweft::lang
