#include "poly/check_domains.h"

#include <algorithm>

#include "ir/normalize/hidden_tensors.h"

namespace polyweft::poly {
namespace {

bool defines(const Equation& equation, TensorId tensor) {
  return std::find(equation.targets.begin(), equation.targets.end(), tensor) != equation.targets.end();
}

const std::string& target_name(const Program& program, EquationId q) {
  return program.tensors[program.equations[q].targets.front()].name;
}

std::vector<std::string> some(std::string note) {
  if (note.empty()) return {};
  return {std::move(note)};
}

std::string prefixed(const std::string& sizes, const char* separator, const std::string& rest) {
  return sizes.empty() ? rest : sizes + separator + rest;
}

/// "k < K", "0 <= y-1 < H": what a guard must say so that an affine read stays in an input's box.
std::string needed_guard(const Inquiry& inquiry, EquationId q, const PlacedRead& read) {
  const Program& program = inquiry.program();
  std::vector<std::string> names = variable_names(program, program.equations[q]);
  const Tensor& tensor = program.tensors[read.node->access.id];
  Space space = inquiry.model().statement_space(q);
  Set place = inquiry.model().instances(q, read.place);
  std::string out;
  for (size_t d = 0; d < tensor.rank; ++d) {
    const Affine& e = read.node->access.index[d].affine;
    bool low = !is_subset(place, inquiry.model().where(guard_ge0(e), space));
    bool high = !is_subset(place, inquiry.model().where(guard_ge0(tensor.shape[d] - e - Affine::of(1)), space));
    if (!low && !high) continue;
    std::string below = tight(e, names) + " < " + tight(tensor.shape[d], names);
    std::string one = low ? (high ? "0 <= " + below : print(guard_ge0(e), names)) : below;
    out += (out.empty() ? "" : " and ") + one;
  }
  return out;
}

std::string domain_remedy(const Inquiry& inquiry, EquationId q, const PlacedRead& read) {
  const Program& program = inquiry.program();
  const auto& index = read.node->access.index;
  std::string text = read_text(program, program.equations[q], *read.node);
  if (std::any_of(index.begin(), index.end(), [](const Subscript& s) { return s.data != nullptr; }))
    return "keep the data subscript of " + text + " inside with clamp(.., lo, hi)";
  auto guard = attempt(inquiry.model().context(), inquiry.quota(), [&] { return needed_guard(inquiry, q, read); });
  constexpr size_t kLongestRemedy = 80;
  if (!guard || guard->empty() || guard->size() > kLongestRemedy) return "guard the read with 'where .. else ..'";
  return "guard the read: " + text + " where " + *guard + " else " +
         (read.node->type == ElementType::boolean ? "false" : "0");
}

/// "or assume M == N" where two sizes that the witness has apart, if they were equal, would leave nothing wrong; else
/// nothing.
std::vector<std::string> equal_sizes(const Inquiry& inquiry, const Map& bad, const std::optional<Witness>& found) {
  const auto& parameters = inquiry.program().parameters;
  for (VarId p = 0; found && p < found->parameters.size(); ++p)
    for (VarId q = p + 1; q < found->parameters.size(); ++q) {
      if (found->parameters[p] == found->parameters[q]) continue;
      auto helps = attempt(inquiry.model().context(), inquiry.quota(), [&] {
        const auto at = [&](VarId v) {
          return isl_map_find_dim_by_name(bad.get(), isl_dim_param, parameters[v].name.c_str());
        };
        if (at(p) < 0 || at(q) < 0) return false;
        Map rest(isl_map_equate(bad.copy(), isl_dim_param, at(p), isl_dim_param, at(q)));
        if (!is_empty(rest)) return false;
        Set allowed = inquiry.model().assumptions();
        const auto in = [&](VarId v) {
          return isl_set_find_dim_by_name(allowed.get(), isl_dim_param, parameters[v].name.c_str());
        };
        const int first = in(p), second = in(q);
        return first >= 0 && second >= 0 &&
               !is_empty(Set(isl_set_equate(allowed.take(), isl_dim_param, first, isl_dim_param, second)));
      });
      if (helps && *helps) return {"or assume " + parameters[p].name + " == " + parameters[q].name};
    }
  return {};
}

void report_read(Inquiry& inquiry, EquationId q, const PlacedRead& read, const Map& bad) {
  const Program& program = inquiry.program();
  const Tensor& tensor = program.tensors[read.node->access.id];
  auto found = inquiry.point(bad);
  bool has_box = tensor.kind == TensorKind::input || tensor.kind == TensorKind::constant;
  std::string reader = target_name(program, q), element = tensor.name, sizes;
  if (found) {
    auto middle = found->point.begin() + static_cast<int64_t>(program.equations[q].slots.size());
    reader = element_text(reader, found->point.begin(), middle);
    element = element_text(tensor.name, middle, found->point.end());
    sizes = sizes_text(program, *found);
  }
  if (has_box) {
    std::string text = read_text(program, program.equations[q], *read.node) + " is read outside its box " +
                       box_text(program, read.node->access.id);
    std::vector<std::string> notes = {prefixed(sizes, ": ", reader + " reads " + element),
                                      domain_remedy(inquiry, q, read)};
    for (std::string& note : equal_sizes(inquiry, bad, found)) notes.push_back(std::move(note));
    inquiry.error("PW0203", text, read.node->where, notes);
    return;
  }
  std::vector<std::string> notes = some(sizes);
  auto where = attempt(inquiry.model().context(), inquiry.quota(),
                       [&] { return definition_text(inquiry.model(), read.node->access.id); });
  constexpr size_t kLongestDefinition = 160;
  if (where && where->size() <= kLongestDefinition) notes.push_back(tensor.name + " is defined on " + *where);
  for (std::string& note : equal_sizes(inquiry, bad, found)) notes.push_back(std::move(note));
  inquiry.error("PW0204", element + " is read by " + reader + " but no equation defines it", read.node->where, notes);
}

void check_pair(Inquiry& inquiry, TensorId tensor, EquationId first, EquationId second) {
  const Program& program = inquiry.program();
  const std::string& name = program.tensors[tensor].name;
  auto both = inquiry.ask("overlap of " + name, second, [&]() -> std::optional<Set> {
    Set common = intersect(inquiry.model().elements(first, tensor), inquiry.model().elements(second, tensor));
    if (is_empty(common)) return std::nullopt;
    return common;
  });
  if (!both || !*both) return;
  auto found = inquiry.point(**both);
  std::string element = found ? element_text(name, found->point) : name;
  inquiry.error("PW0202",
                element + " is defined twice, by this equation and by the one at line " +
                    std::to_string(program.equations[first].where_defined.line),
                program.equations[second].where_defined,
                found ? some(sizes_text(program, *found)) : std::vector<std::string>{});
}

EquationId first_definition(const Program& program, TensorId tensor) {
  for (EquationId q = 0; q < program.equations.size(); ++q)
    if (defines(program.equations[q], tensor)) return q;
  return 0;
}

void check_output(Inquiry& inquiry, TensorId id) {
  const Program& program = inquiry.program();
  const Tensor& tensor = program.tensors[id];
  EquationId q = first_definition(program, id);
  auto below = inquiry.ask("box of " + tensor.name, q, [&]() -> std::optional<Set> {
    // Its end is where the elements end, so that only its beginning can leave any out; the box itself may take
    // projections that are hard.
    std::vector<Guard> before;
    for (uint32_t d = 0; d < tensor.rank; ++d)
      before.push_back(guard_ge0(Affine::of(-1) - Affine::variable(program.index_var(d))));
    Set outside = intersect(inquiry.model().defined(id),
                            inquiry.model().where(guard_any(std::move(before)), inquiry.model().tensor_space(id)));
    if (is_empty(outside)) return std::nullopt;
    return outside;
  });
  if (below && *below) {
    auto found = inquiry.point(**below);
    std::string element = found ? element_text(tensor.name, found->point) : tensor.name;
    std::string sizes = found ? sizes_text(program, *found) : "";
    inquiry.error("PW0206", "out " + tensor.name + " defines " + element + ", but the box of an output starts at 0",
                  program.equations[q].where_defined, {prefixed(sizes, "; ", "shift its indices")});
    return;
  }
  if (tensor.partial || !below) return;
  auto missing = inquiry.ask("box of " + tensor.name, q, [&]() -> std::optional<Set> {
    Set gap = subtract(inquiry.model().box(id), inquiry.model().defined(id));
    if (is_empty(gap)) return std::nullopt;
    return gap;
  });
  if (!missing || !*missing) return;
  auto found = inquiry.point(**missing);
  std::string element = found ? element_text(tensor.name, found->point) : "elements";
  std::string sizes = found ? sizes_text(program, *found) : "";
  inquiry.error("PW0205", "out " + tensor.name + " leaves " + element + " undefined",
                program.equations[q].where_defined,
                {prefixed(sizes, "; ", "write 'out partial " + tensor.name + "' to leave it unwritten")});
}

}  // namespace

void Inquiry::undecided(const std::string& what, EquationId q, bool quota_was_spent) {
  Span where = program().equations[q].where_defined;
  if (quota_was_spent)
    return error("PW0830",
                 what + " not decided within the quota (" + std::to_string(quota()) +
                     " isl operations, equation at line " + std::to_string(where.line) + ")",
                 where, {"simplify its guards, or name parts of it with 'let'"});
  error("PW0834", what + " not decided: isl failed", where, {"simplify its guards, or name parts of it with 'let'"});
}

void Inquiry::error(std::string code, std::string text, Span where, std::vector<std::string> notes) {
  for (const Diagnostic& other : report_.errors)
    if (other.code == code && other.where == where && (other.text == text || code == "PW0203" || code == "PW0204"))
      return;
  report_.errors.push_back({Severity::error, std::move(code), std::move(text), where, std::move(notes)});
}

void Inquiry::warning(std::string code, std::string text, Span where, std::vector<std::string> notes) {
  report_.warnings.push_back({Severity::warning, std::move(code), std::move(text), where, std::move(notes)});
}

void check_empty(Inquiry& inquiry) {
  for (EquationId q = 0; q < inquiry.program().equations.size(); ++q) {
    const std::string& name = target_name(inquiry.program(), q);
    auto empty = inquiry.ask("domain of " + name, q, [&] { return is_empty(inquiry.model().instances(q)); });
    if (empty && *empty)
      inquiry.warning("PW0201", "this equation of " + name + " defines nothing, whatever the sizes",
                      inquiry.program().equations[q].where_defined, {});
  }
}

void check_overlap(Inquiry& inquiry) {
  const Program& program = inquiry.program();
  for (TensorId tensor = 0; tensor < program.tensors.size(); ++tensor)
    for (EquationId first = 0; first < program.equations.size(); ++first)
      for (EquationId second = first + 1; second < program.equations.size(); ++second)
        if (defines(program.equations[first], tensor) && defines(program.equations[second], tensor) &&
            inquiry.model().may_overlap(first, second))
          check_pair(inquiry, tensor, first, second);
}

namespace {

/// The elements that a read may find defined, in as few pieces as can be: of many colours only those of its own.
class Definitions {
 public:
  explicit Definitions(const Model& model) : model_(model) {}

  const Set& met_by(EquationId q, const PlacedRead& read) {
    const TensorId tensor = read.node->access.id;
    std::vector<EquationId> by = ir::makers_of(model_.program(), tensor);
    std::erase_if(by, [&](EquationId r) { return !model_.may_read(q, read, r); });
    const auto known = known_.find({tensor, by});
    if (known != known_.end()) return known->second;
    Set out = model_.defined(tensor, &by);
    return known_.emplace(std::pair(tensor, by), std::move(out)).first->second;
  }

 private:
  const Model& model_;
  std::map<std::pair<TensorId, std::vector<EquationId>>, Set> known_;
};

}  // namespace

void check_reads(Inquiry& inquiry) {
  const Program& program = inquiry.program();
  Definitions definitions(inquiry.model());
  for (EquationId q = 0; q < program.equations.size(); ++q)
    for (const PlacedRead& read : placed_reads(program.equations[q])) {
      TensorId id = read.node->access.id;
      auto bad = inquiry.ask("bounds of " + program.tensors[id].name, q, [&]() -> std::optional<Map> {
        Map outside(
            isl_map_subtract_range(inquiry.model().read_map(q, read).copy(), definitions.met_by(q, read).copy()));
        if (is_empty(outside)) return std::nullopt;
        Map element = reverse(inquiry.model().element_map(q, program.equations[q].targets.front()));
        return compose(std::move(element), std::move(outside));
      });
      if (bad && *bad) report_read(inquiry, q, read, **bad);
    }
}

void check_arguments(Inquiry& inquiry) {
  const Program& program = inquiry.program();
  for (EquationId q = 0; q < program.equations.size(); ++q)
    for (const PlacedReduction& each : placed_reductions(program.equations[q])) {
      const Reduction& reduction = each.node->reduction;
      if (reduction.reducer != Reducer::argmax && reduction.reducer != Reducer::argmin) continue;
      std::string name = name_of(reduction.reducer);
      auto empty = inquiry.ask("range of " + name, q, [&]() -> std::optional<Set> {
        Set full = inquiry.model().instances(q, inside(each.around, reduction));
        for (const IndexRange& range : reduction.ranges) {
          unsigned d = range.var - program.index_var(0);
          isl_set* one = isl_set_project_out(full.take(), isl_dim_set, d, 1);
          full = Set(isl_set_fix_si(isl_set_insert_dims(one, isl_dim_set, d, 1), isl_dim_set, d, 0));
        }
        full = Set(isl_set_set_tuple_id(full.take(),
                                        isl_space_get_tuple_id(inquiry.model().statement_space(q).get(), isl_dim_set)));
        Set none = subtract(inquiry.model().instances(q, each.around), std::move(full));
        if (is_empty(none)) return std::nullopt;
        return apply(std::move(none), inquiry.model().element_map(q, program.equations[q].targets.front()));
      });
      if (!empty || !*empty) continue;
      auto found = inquiry.point(**empty);
      std::string element = found ? element_text(target_name(program, q), found->point) : target_name(program, q);
      std::string sizes = found ? sizes_text(program, *found) : "";
      inquiry.error("PW0211", name + " over nothing has no value: its range is empty for " + element, each.node->where,
                    some(sizes));
    }
}

void check_outputs(Inquiry& inquiry) {
  for (TensorId id : inquiry.program().outputs()) check_output(inquiry, id);
}

}  // namespace polyweft::poly
