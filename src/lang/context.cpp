#include "lang/context.h"

#include <algorithm>

namespace polyweft::lang {
namespace {

constexpr size_t kMaxIndices = 12;

const Node* last_reduction(const Node* node) {
  while (true) {
    if (node->kind == NodeKind::reduction) return node;
    bool walks = node->kind == NodeKind::negate || node->kind == NodeKind::chain;
    if (!walks) return nullptr;
    node = node->args.back();
  }
}

bool binds(const Node& reduction, const std::string& name) {
  const auto& indices = reduction.reduction->indices;
  return std::any_of(indices.begin(), indices.end(), [&](const IndexSyntax& each) { return each.name == name; });
}

const char* kind_name(Symbol::Kind kind) {
  switch (kind) {
    case Symbol::Kind::parameter:
      return "parameter";
    case Symbol::Kind::const_parameter:
      return "const parameter";
    case Symbol::Kind::tensor:
      return "tensor";
    default:
      return "combiner";
  }
}

}  // namespace

void Context::begin_equation() {
  open.clear();
  index_names.clear();
  index_bounds.clear();
  index_ranges.clear();
  chains.clear();
  unknown.clear();
}

const Symbol* Context::symbol(const std::string& name) const {
  auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : &found->second;
}

const Context::Index* Context::index(const std::string& name) const {
  for (size_t i = open.size(); i-- > 0;)
    if (open[i].name == name) return &open[i];
  return nullptr;
}

VarId Context::bind_index(const IndexSyntax& syntax, const Affine& lo, const Affine& hi) {
  if (const Symbol* other = symbol(syntax.name))
    report.error("PW0111", syntax.extent,
                 "the index '" + syntax.name + "' hides the " + kind_name(other->kind) + " " + syntax.name,
                 {"choose another name"});
  else if (index(syntax.name) != nullptr)
    report.error("PW0111", syntax.extent,
                 "the index '" + syntax.name + "' hides the index " + syntax.name + " around it",
                 {"choose another name"});
  if (index_names.size() == kMaxIndices)
    report.error("PW0802", syntax.extent, "more than 12 indices in one equation, those of reductions included",
                 {"name a part of the expression with 'let'"});
  VarId var = program.index_var(static_cast<uint32_t>(index_names.size()));
  Interval low = bounds(lo);
  Interval high = bounds(hi);
  if (high.largest) *high.largest -= 1;
  index_names.push_back(syntax.name);
  index_bounds.push_back({low.least, high.largest});
  index_ranges.push_back({var, lo, hi});
  open.push_back({syntax.name, var});
  return var;
}

void Context::report_unknown(const Node& name) {
  Extent word{name.extent.begin, name.extent.begin + static_cast<uint32_t>(name.text.size())};
  for (size_t c = chains.size(); c-- > 0;) {
    const Node& chain = *chains[c].chain;
    for (size_t i = chains[c].operand; i-- > 0;) {
      const Node* reduction = last_reduction(chain.args[i]);
      if (reduction == nullptr || !binds(*reduction, name.text)) continue;
      std::string body = show(*reduction->args[0]);
      for (size_t k = i; k < chains[c].operand && body.size() < 200; ++k)
        body += " " + chain.op_text[k] + " " + show(*chain.args[k + 1]);
      return report.error("PW0109", word,
                          name.text + " is not in scope after '" + chain.op_text[i] + "'; write " +
                              show_header(*reduction->reduction) + " (" + body + ")");
    }
  }
  if (unknown.insert(name.text).second) report.error("PW0108", word, "'" + name.text.substr(0, 60) + "' is not known");
}

void Context::type_error(const char* code, Extent where, std::string text, std::vector<std::string> notes) {
  if (!types_incomplete) report.error(code, where, std::move(text), std::move(notes));
}

Context::Interval Context::bounds_of_variable(VarId var) const {
  size_t parameters = program.parameters.size();
  if (var < parameters) return {parameter_least[var], std::nullopt};
  return var - parameters < index_bounds.size() ? index_bounds[var - parameters] : Interval{};
}

Context::Interval Context::bounds(const Affine& e) const {
  Interval result{e.constant, e.constant};
  auto add = [](std::optional<int64_t>& sum, std::optional<int64_t> bound, int64_t coefficient) {
    int64_t product = 0;
    int64_t next = 0;
    bool known = sum && bound && !__builtin_mul_overflow(*bound, coefficient, &product) &&
                 !__builtin_add_overflow(*sum, product, &next);
    sum = known ? std::optional(next) : std::nullopt;
  };
  for (const Term& term : e.terms) {
    if (term.quasi) return {};
    Interval var = bounds_of_variable(term.var);
    add(result.least, term.coeff < 0 ? var.largest : var.least, term.coeff);
    add(result.largest, term.coeff < 0 ? var.least : var.largest, term.coeff);
  }
  return result;
}

std::vector<std::string> Context::variable_names() const {
  std::vector<std::string> names;
  for (const Parameter& parameter : program.parameters) names.push_back(parameter.name);
  names.insert(names.end(), index_names.begin(), index_names.end());
  return names;
}

std::string Context::compact(const Affine& e) const {
  std::string text = print(e, variable_names());
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

bool is_surely_at_least(const Context& context, const Affine& e, int64_t value) {
  auto least = context.bounds(e).least;
  return least && *least >= value;
}

}  // namespace polyweft::lang
