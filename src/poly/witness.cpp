#include "poly/witness.h"

#include <algorithm>

namespace polyweft::poly {
namespace {

Witness coordinates(const Point& point, unsigned parameters, unsigned dims) {
  Witness out;
  for (unsigned k = 0; k < parameters + dims; ++k) {
    int64_t value = integer(Val(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(k))));
    (k < parameters ? out.parameters : out.point).push_back(value);
  }
  return out;
}

std::vector<std::string> names_of(const Program& program, const Equation& equation) {
  return variable_names(program, equation);
}

/// The k-th line of a text, 1-based.
std::string line_of(const std::string& text, int32_t line) {
  size_t begin = 0;
  for (int32_t k = 1; k < line && begin != std::string::npos; ++k) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

std::string tight(const Affine& e, const std::vector<std::string>& names) {
  std::string text = print(e, names), out;
  for (size_t k = 0; k < text.size(); ++k) {
    bool blank_of_sum = text[k] == ' ' && ((k + 1 < text.size() && (text[k + 1] == '+' || text[k + 1] == '-')) ||
                                           (k > 0 && (text[k - 1] == '+' || text[k - 1] == '-')));
    if (!blank_of_sum) out += text[k];
  }
  return out;
}

namespace {

/// One condition of a definition, as set and as text.
struct Condition {
  Set set;
  std::string text;
  bool is_lower = false;  ///< of an index; the upper one comes next
  bool is_position = false;
};

std::vector<std::string> dimension_names(const Program& program, TensorId tensor, const Equation& of) {
  std::vector<std::string> names(program.tensors[tensor].rank);
  auto take = [&](const Equation& equation) {
    if (std::find(equation.targets.begin(), equation.targets.end(), tensor) == equation.targets.end()) return;
    for (size_t d = 0; d < names.size(); ++d) {
      if (!names[d].empty() || equation.slots[d].var == kNoVar) continue;
      const std::string& name = equation.index_names[equation.slots[d].var - program.index_var(0)];
      if (std::find(names.begin(), names.end(), name) == names.end()) names[d] = name;
    }
  };
  take(of);
  for (const Equation& equation : program.equations) take(equation);
  for (size_t d = 0; d < names.size(); ++d)
    if (names[d].empty()) names[d] = "index " + std::to_string(d + 1);
  return names;
}

std::vector<Condition> conditions_of(const Model& model, EquationId q, TensorId tensor) {
  const Program& program = model.program();
  const Equation& equation = program.equations[q];
  Map element = model.element_map(q, tensor);
  Space space = model.statement_space(q);
  std::vector<std::string> names = names_of(program, equation), dims = dimension_names(program, tensor, equation);
  auto image = [&](const Guard& g) {
    Place place;
    for (const Slot& slot : equation.slots)
      if (slot.var != kNoVar)
        place.indices.push_back({slot.var, Affine::variable(slot.var), Affine::variable(slot.var) + Affine::of(1)});
    return apply(intersect(model.instances(q, place), model.where(g, space)), element);
  };
  std::vector<Condition> out;
  for (size_t d = 0; d < equation.slots.size(); ++d) {
    const Slot& slot = equation.slots[d];
    if (slot.var == kNoVar) {
      out.push_back({image(guard_all({})), dims[d] + " = " + tight(slot.position, names), false, true});
      continue;
    }
    Affine index = Affine::variable(slot.var);
    out.push_back({image(guard_ge0(index - slot.lo)), tight(slot.lo, names) + " <= " + dims[d], true, false});
    out.push_back(
        {image(guard_ge0(slot.hi - index - Affine::of(1))), dims[d] + " < " + tight(slot.hi, names), false, false});
  }
  if (equation.where.is_true()) return out;
  const std::string text = print(equation.where, names);
  out.push_back(
      {image(equation.where), equation.where.kind == Guard::Kind::any ? "(" + text + ")" : text, false, false});
  return out;
}

/// The intersection of those that count; `everything` where none does.
Set intersection_of(const std::vector<Condition>& conditions, const std::vector<bool>& counts, Set everything) {
  for (size_t k = 0; k < conditions.size(); ++k)
    if (counts[k]) everything = intersect(std::move(everything), conditions[k].set);
  return everything;
}

/// Conditions without those that add no element that is not in `defined` when they are left out; lower and upper bounds
/// of one index joined.
std::string told(const std::vector<Condition>& conditions, const Set& defined) {
  std::vector<bool> counts(conditions.size(), true);
  const Set everything(isl_set_universe(isl_set_get_space(defined.get())));
  for (size_t k = 0; k < conditions.size(); ++k) {
    counts[k] = false;
    counts[k] = conditions[k].is_position || !is_subset(intersection_of(conditions, counts, everything), defined);
  }
  std::string out;
  for (size_t k = 0; k < conditions.size(); ++k) {
    if (!counts[k]) continue;
    std::string text = conditions[k].text;
    if (conditions[k].is_lower && counts[k + 1]) {  // its upper bound comes next
      text += conditions[k + 1].text.substr(conditions[k + 1].text.find(" < "));
      ++k;
    }
    out += (out.empty() ? "" : " and ") + text;
  }
  return out;
}

}  // namespace

std::optional<Witness> witness(const Model& model, const Set& set, unsigned long quota) {
  auto flat = attempt(model.context(), quota, [&] {
    isl_set* s = isl_set_reset_tuple_id(isl_set_flatten(set.copy()));
    unsigned parameters = static_cast<unsigned>(isl_set_dim(s, isl_dim_param));
    return Set(isl_set_move_dims(s, isl_dim_set, 0, isl_dim_param, 0, parameters));
  });
  if (!flat) return std::nullopt;
  unsigned all = static_cast<unsigned>(isl_set_dim(flat->get(), isl_dim_set));
  unsigned parameters = static_cast<unsigned>(isl_set_dim(set.get(), isl_dim_param));
  auto smallest = attempt(model.context(), quota, [&] {
    return coordinates(Point(isl_set_sample_point(isl_set_lexmin(flat->copy()))), parameters, all - parameters);
  });
  if (smallest) return smallest;
  auto sample = attempt(model.context(), quota, [&] {
    return coordinates(Point(isl_set_sample_point(flat->copy())), parameters, all - parameters);
  });
  if (sample) sample->smallest = false;
  return sample;
}

std::optional<Witness> witness(const Model& model, const Map& map, unsigned long quota) {
  auto wrapped = attempt(model.context(), quota, [&] { return Set(isl_map_wrap(map.copy())); });
  return wrapped ? witness(model, *wrapped, quota) : std::nullopt;
}

std::string element_text(const std::string& tensor, std::vector<int64_t>::const_iterator begin,
                         std::vector<int64_t>::const_iterator end) {
  if (begin == end) return tensor;
  std::string out = tensor + "[";
  for (auto at = begin; at != end; ++at) out += (at == begin ? "" : ", ") + std::to_string(*at);
  return out + "]";
}

std::string element_text(const std::string& tensor, const std::vector<int64_t>& point) {
  return element_text(tensor, point.begin(), point.end());
}

std::string sizes_text(const Program& program, const Witness& witness) {
  if (witness.parameters.empty()) return witness.smallest ? "" : "for example";
  std::string out = witness.smallest ? "with " : "for example with ";
  for (size_t p = 0; p < witness.parameters.size(); ++p)
    out += (p ? ", " : "") + program.parameters[p].name + " = " + std::to_string(witness.parameters[p]);
  return out;
}

std::string read_text(const Program& program, const Equation& equation, const ExprNode& read) {
  std::string line = line_of(program.source_text, read.where.line);
  size_t begin = static_cast<size_t>(std::max(0, read.where.column - 1));
  if (read.where.length > 0 && begin + static_cast<size_t>(read.where.length) <= line.size())
    return line.substr(begin, static_cast<size_t>(read.where.length));
  std::string out = program.tensors[read.access.id].name;
  for (size_t d = 0; d < read.access.index.size(); ++d) {
    const Subscript& s = read.access.index[d];
    out += (d ? ", " : "[") + (s.data ? std::string("..") : tight(s.affine, names_of(program, equation)));
  }
  return out + (read.access.index.empty() ? "" : "]");
}

std::string box_text(const Program& program, TensorId tensor) {
  std::vector<std::string> names;
  for (const Parameter& p : program.parameters) names.push_back(p.name);
  std::string out = program.tensors[tensor].name;
  const auto& shape = program.tensors[tensor].shape;
  for (size_t d = 0; d < shape.size(); ++d) out += (d ? ", 0.." : "[0..") + tight(shape[d], names);
  return out + (shape.empty() ? "" : "]");
}

std::string definition_text(const Model& model, TensorId tensor) {
  const Program& program = model.program();
  const Set defined = model.defined(tensor);
  std::string out;
  for (EquationId q = 0; q < program.equations.size(); ++q) {
    const auto& targets = program.equations[q].targets;
    if (std::find(targets.begin(), targets.end(), tensor) == targets.end()) continue;
    const std::string text = told(conditions_of(model, q, tensor), defined);
    out += (out.empty() ? "" : ", or ") + text;
  }
  return out.empty() ? "nothing" : out;
}

}  // namespace polyweft::poly
