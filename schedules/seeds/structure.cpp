#include "schedules/seeds/structure.h"

#include <algorithm>
#include <map>

#include "ir/values/commutative.h"
#include "support/hash.h"

namespace polyweft::schedules {
namespace {

constexpr size_t kMostNodes = 4000, kMostTensors = 64;  // refinement writes all equations once a tie
constexpr int64_t kMostDistance = 8;

using Labels = std::vector<std::string>;  ///< by TensorId, or by VarId

std::string small_constant(int64_t value) {
  return value >= -kMostDistance && value <= kMostDistance ? std::to_string(value) : "#";
}

std::string form_of(const Affine& e, const Labels& variables);

std::string form_of(const Term& term, const Labels& variables) {
  const std::string sign = term.coeff < 0 ? "-" : "+";
  if (!term.quasi) return sign + variables[term.var];
  if (term.quasi->kind == Quasi::Kind::floor_div) return sign + "floor(" + form_of(term.quasi->e, variables) + ")";
  return sign + "clamp(" + form_of(term.quasi->e, variables) + ")";
}

/// What moves with what. The constant is a distance where one index counts up, and a number of its own where none is.
std::string form_of(const Affine& e, const Labels& variables) {
  std::vector<std::string> terms;
  for (const Term& term : e.terms) terms.push_back(form_of(term, variables));
  std::sort(terms.begin(), terms.end());
  std::string out;
  for (const std::string& term : terms) out += term;
  const bool is_distance = e.terms.size() == 1 && !e.terms[0].quasi && e.terms[0].coeff == 1;
  if (e.terms.empty() || (is_distance && e.constant != 0)) out += "@" + small_constant(e.constant);
  return out;
}

/// Which indices a bound moves with.
std::string bound_of(const Affine& e, const Labels& variables) {
  return e.terms.empty() ? "" : form_of(Affine{e.terms, 0}, variables);
}

bool is_moved_by(const Affine& e, VarId var) {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::count(used.begin(), used.end(), var) > 0;
}

bool is_moved_by(const Subscript& s, VarId var) {
  bool out = is_moved_by(s.affine, var);
  visit(s.data, [&](const ExprNode& node) {
    out |= node.op == Op::variable && node.var == var;
    out |= node.op == Op::affine && is_moved_by(node.affine, var);
    for (const Subscript& inner : node.access.index) out |= is_moved_by(inner.affine, var);
  });
  return out;
}

/// Text of a part, and its reads in the order of the text.
struct Written {
  std::string text;
  std::vector<const ExprNode*> reads;
  void add(Written other) {
    text += other.text;
    reads.insert(reads.end(), other.reads.begin(), other.reads.end());
  }
};

class StatementWriter {
 public:
  StatementWriter(const Program& program, const Equation& equation, const Labels& tensors)
      : equation_(equation), tensors_(tensors), first_(program.index_var(0)) {
    variables_.assign(first_ + equation.index_names.size(), "p");
    for (const Slot& slot : equation.slots)
      if (slot.var != kNoVar) take(slot.var, "s");
    std::vector<VarId> reduced;
    visit(equation.rhs, [&](const ExprNode& node) {
      for (const IndexRange& range : node.reduction.ranges) reduced.push_back(range.var);
    });
    std::vector<std::pair<std::string, VarId>> by_use;
    for (const VarId var : reduced) by_use.emplace_back(uses_of(var), var);
    std::stable_sort(by_use.begin(), by_use.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [use, var] : by_use) take(var, "r");
  }

  Written statement() {
    Written out;
    for (const TensorId id : equation_.targets) out.text += tensors_[id] + " ";
    out.text += "[";
    for (const Slot& slot : equation_.slots)
      out.text += slot.var == kNoVar ? form_of(slot.position, variables_) + ","
                                     : variables_[slot.var] + range(slot.lo, slot.hi) + ",";
    out.text += "]=";
    out.add(expression(equation_.rhs));
    return out;
  }
  const std::vector<uint32_t>& indices() const { return indices_; }
  /// How the statement reads a tensor, after statement().
  std::string reads_of(TensorId id) const {
    const auto found = reads_.find(id);
    if (found == reads_.end()) return "";
    std::vector<std::string> texts = found->second;
    std::sort(texts.begin(), texts.end());
    std::string out;
    for (const std::string& text : texts) out += text + ";";
    return out;
  }

 private:
  void take(VarId var, const char* kind) {
    variables_[var] = kind + std::to_string(indices_.size());
    indices_.push_back(var - first_);
  }
  std::string range(const Affine& lo, const Affine& hi) const {
    const std::string low = bound_of(lo, variables_), high = bound_of(hi, variables_);
    return low.empty() && high.empty() ? "" : ":" + low + ".." + high;
  }
  /// Which dimensions of which tensors a reduced index moves.
  std::string uses_of(VarId var) const {
    std::vector<std::string> uses;
    visit(equation_.rhs, [&](const ExprNode& node) {
      for (size_t d = 0; node.op == Op::read && d < node.access.index.size(); ++d)
        if (is_moved_by(node.access.index[d], var))
          uses.push_back(tensors_[node.access.id] + "/" + std::to_string(d) +
                         (node.access.index[d].affine.terms.size() > 1 ? "+" : ""));
    });
    std::sort(uses.begin(), uses.end());
    std::string out;
    for (const std::string& use : uses) out += use + ";";
    return out;
  }
  Written expression(const Expr& e) {
    switch (e->op) {
      case Op::literal:
        return {"#", {}};
      case Op::variable:
        return {variables_[e->var], {}};
      case Op::affine:
        return {"(" + form_of(e->affine, variables_) + ")", {}};
      case Op::convert:
        return expression(e->args[0]);
      case Op::read:
        return read(*e);
      case Op::reduce:
        return reduction(*e);
      case Op::gt:
        return list("lt(", {e->args[1], e->args[0]});
      case Op::ge:
        return list("le(", {e->args[1], e->args[0]});
      case Op::component:
        return list("component" + std::to_string(e->var) + "(", e->args);
      default:
        return list(std::string(name_of(e->op)) + "(", e->args, ir::is_commutative(e->op));
    }
  }
  Written list(std::string start, const std::vector<Expr>& args, bool is_commutative = false) {
    std::vector<Written> parts;
    for (const Expr& arg : args) parts.push_back(expression(arg));
    if (is_commutative)
      std::stable_sort(parts.begin(), parts.end(), [](const Written& a, const Written& b) { return a.text < b.text; });
    Written out{std::move(start), {}};
    for (Written& part : parts) {
      out.add(std::move(part));
      out.text += ",";
    }
    out.text += ")";
    return out;
  }
  Written read(const ExprNode& e) {
    Written out{tensors_[e.access.id] + "[", {&e}};
    for (const Subscript& s : e.access.index) {
      out.text += form_of(s.affine, variables_);
      if (s.data) {
        out.text += "~";
        out.add(expression(s.data));
      }
      out.text += ",";
    }
    out.text += "]";
    reads_[e.access.id].push_back(out.text);
    return out;
  }
  Written reduction(const ExprNode& e) {
    std::vector<std::string> ranges;
    for (const IndexRange& each : e.reduction.ranges) ranges.push_back(variables_[each.var] + range(each.lo, each.hi));
    std::sort(ranges.begin(), ranges.end());
    std::string start = std::string(name_of(e.reduction.reducer)) + "[";
    for (const std::string& each : ranges) start += each + ",";
    return list(start + "](", e.args);
  }

  const Equation& equation_;
  const Labels& tensors_;
  VarId first_;
  Labels variables_;
  std::vector<uint32_t> indices_;
  std::map<TensorId, std::vector<std::string>> reads_;
};

size_t nodes_of(const Program& program) {
  size_t out = 0;
  for (const Equation& equation : program.equations) visit(equation.rhs, [&](const ExprNode&) { ++out; });
  return out;
}

std::string role_in(const Equation& equation, TensorId id) {
  const auto place = std::find(equation.targets.begin(), equation.targets.end(), id);
  return place == equation.targets.end() ? "r" : std::to_string(place - equation.targets.begin());
}

bool is_part_of(const Equation& equation, TensorId id) {
  bool out = std::count(equation.targets.begin(), equation.targets.end(), id) > 0;
  visit(equation.rhs, [&](const ExprNode& node) { out |= node.op == Op::read && node.access.id == id; });
  return out;
}

/// Labels of tensors, refined until nothing more is told apart.
class TensorLabels {
 public:
  explicit TensorLabels(const Program& program) : program_(program) {
    for (const Tensor& tensor : program.tensors)
      labels_.push_back(std::to_string(static_cast<int>(tensor.kind)) + "/" + std::to_string(tensor.rank));
    for (const Equation& equation : program.equations) {
      involved_.emplace_back();
      for (TensorId id = 0; id < labels_.size(); ++id)
        if (is_part_of(equation, id)) involved_.back().push_back(id);
    }
    refine(shorten());
  }
  /// All told apart: ties by the order of the program.
  Labels split() {
    for (size_t classes = shorten(); classes < labels_.size(); classes = shorten()) {
      std::map<std::string, std::vector<TensorId>> members;
      for (TensorId id = 0; id < labels_.size(); ++id) members[labels_[id]].push_back(id);
      const auto tie = std::find_if(members.begin(), members.end(), [](const auto& m) { return m.second.size() > 1; });
      labels_[tie->second.front()] += "!";
      refine(shorten());
    }
    return labels_;
  }

 private:
  size_t shorten() {
    std::map<std::string, size_t> classes;
    for (const std::string& label : labels_) classes.emplace(label, 0);
    size_t number = 0;
    for (auto& [label, place] : classes) place = number++;
    for (std::string& label : labels_) {
      const std::string digits = std::to_string(classes[label]);
      label = "t" + std::string(4 - std::min<size_t>(4, digits.size()), '0') + digits;
    }
    return number;
  }
  void refine(size_t classes) {
    for (size_t before = 0; before != classes && classes < labels_.size();) {
      before = classes;
      std::vector<std::vector<std::string>> around(labels_.size());
      for (size_t q = 0; q < program_.equations.size(); ++q) {
        const Equation& equation = program_.equations[q];
        StatementWriter writer(program_, equation, labels_);
        const std::string text = hex(blake2b_128(writer.statement().text));
        for (const TensorId id : involved_[q]) around[id].push_back(role_in(equation, id) + writer.reads_of(id) + text);
      }
      for (TensorId id = 0; id < labels_.size(); ++id) {
        std::sort(around[id].begin(), around[id].end());
        for (const std::string& each : around[id]) labels_[id] += "\n" + each;
      }
      classes = shorten();
    }
  }

  const Program& program_;
  Labels labels_;
  std::vector<std::vector<TensorId>> involved_;
};

std::vector<std::pair<TensorId, uint32_t>> numbered(const Equation& equation,
                                                    const std::vector<const ExprNode*>& reads) {
  std::map<TensorId, uint32_t> seen;
  std::map<const ExprNode*, std::vector<uint32_t>> numbers;  // one node may stand in several places
  visit(equation.rhs, [&](const ExprNode& node) {
    if (node.op == Op::read) numbers[&node].push_back(++seen[node.access.id]);
  });
  std::map<const ExprNode*, size_t> taken;
  std::vector<std::pair<TensorId, uint32_t>> out;
  for (const ExprNode* read : reads) out.emplace_back(read->access.id, numbers[read][taken[read]++]);
  return out;
}

}  // namespace

std::optional<Structure> structure_of(const Program& normalized) {
  if (normalized.tensors.size() > kMostTensors || normalized.equations.size() > kMostTensors) return std::nullopt;
  if (nodes_of(normalized) > kMostNodes) return std::nullopt;
  const Labels labels = TensorLabels(normalized).split();
  Structure out;
  std::vector<std::pair<std::string, TensorId>> tensors;
  for (TensorId id = 0; id < labels.size(); ++id) tensors.emplace_back(labels[id], id);
  std::sort(tensors.begin(), tensors.end());
  for (const auto& [label, id] : tensors) {
    const Tensor& tensor = normalized.tensors[id];
    out.text += label + " " + std::to_string(static_cast<int>(tensor.kind)) + "/" + std::to_string(tensor.rank) + "\n";
    out.tensors.push_back(id);
  }
  std::vector<std::pair<std::string, Structure::Statement>> statements;
  for (EquationId q = 0; q < normalized.equations.size(); ++q) {
    StatementWriter writer(normalized, normalized.equations[q], labels);
    Written written = writer.statement();
    statements.emplace_back(
        std::move(written.text),
        Structure::Statement{q, writer.indices(), numbered(normalized.equations[q], written.reads)});
  }
  std::stable_sort(statements.begin(), statements.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [text, statement] : statements) {
    out.text += text + "\n";
    out.statements.push_back(std::move(statement));
  }
  return out;
}

std::string key_of(const Structure& structure) {
  return hex(blake2b_128(structure.text));
}

}  // namespace polyweft::schedules
