#include "lang/affine_reader.h"

#include <algorithm>
#include <cstdlib>

#include "lang/grammar.h"

namespace polyweft::lang {
namespace {

constexpr size_t kMaxAffineSize = 512;

/// Terms of the form written out, counted up to about `limit`: `i % 2 % 3 ..` doubles with each operator.
size_t written_size(const Affine& e, size_t limit) {
  size_t size = 1;
  for (const Term& term : e.terms) {
    size += 1;
    if (term.quasi) {
      size += written_size(term.quasi->e, limit);
      size += written_size(term.quasi->lo, limit) + written_size(term.quasi->hi, limit);
    }
    if (size > limit) return size;
  }
  return size;
}

bool has_large_number(const Affine& e) {
  bool large = std::abs(e.constant) > kMaxInteger;
  for (const Term& term : e.terms) large |= std::abs(term.coeff) > kMaxInteger;
  return large;
}

bool fits_product(int64_t factor, const Affine& e) {
  auto fits = [&](int64_t value) {
    int64_t product = 0;
    return !__builtin_mul_overflow(factor, value, &product) && std::abs(product) <= kMaxInteger;
  };
  bool all = fits(e.constant);
  for (const Term& term : e.terms) all &= fits(term.coeff);
  return all;
}

}  // namespace

std::optional<Affine> AffineReader::refuse(const Node& node, std::string reason) {
  problem_ = {};
  problem_.where = node.extent;
  problem_.subject = show(node);
  problem_.reason = std::move(reason);
  return std::nullopt;
}

std::optional<Affine> AffineReader::refuse_data(const Node& node) {
  refuse(node, show(node) + " is data");
  problem_.is_data = true;
  return std::nullopt;
}

std::string AffineReader::shown_operation(const Node& chain, size_t op) const {
  if (chain.args.size() == 2) return show(chain);
  Node part;
  part.kind = NodeKind::chain;
  part.args.assign(chain.args.begin(), chain.args.begin() + static_cast<std::ptrdiff_t>(op) + 2);
  part.op_text.assign(chain.op_text.begin(), chain.op_text.begin() + static_cast<std::ptrdiff_t>(op) + 1);
  return show(part);
}

bool AffineReader::uses_index(const Affine& e) const {
  std::vector<VarId> used;
  collect_variables(e, used);
  return std::any_of(used.begin(), used.end(), [&](VarId v) { return v >= context_.program.parameters.size(); });
}

std::optional<Affine> AffineReader::refuse_symbolic(const Node& chain, size_t op, const Affine& symbol,
                                                    size_t operand) {
  refuse(chain, show(*chain.args[operand]) + " is symbolic");
  problem_.code = "PW0114";
  problem_.subject = shown_operation(chain, op);
  std::vector<VarId> used;
  collect_variables(symbol, used);
  std::string names;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (VarId v : used)
    names += (names.empty() ? "declare 'const " : ", 'const ") + context_.program.parameters[v].name + "'";
  problem_.notes = {names};
  return std::nullopt;
}

bool AffineReader::is_within_limits(const Affine& e, const Node& node) {
  bool is_large = has_large_number(e);
  if (is_large) context_.report.error("PW0807", node.extent, "'" + show(node) + "' has a number above 2^40");
  bool is_long = !is_large && written_size(e, kMaxAffineSize) > kMaxAffineSize;
  if (is_long)
    context_.report.error("PW0811", node.extent, "'" + show(node) + "' has more than 512 terms when written out");
  problem_.reported |= is_large || is_long;
  return !is_large && !is_long;
}

std::optional<Affine> AffineReader::within_limits(Affine e, const Node& node) {
  if (!is_within_limits(e, node)) return std::nullopt;
  return e;
}

std::optional<Affine> AffineReader::integer(const Node& node, const std::string& digits) {
  auto value = integer_value(digits);
  if (value && *value <= static_cast<uint64_t>(kMaxInteger)) return Affine::of(static_cast<int64_t>(*value));
  context_.report.error("PW0807", node.extent, "'" + show(node) + "' has a number above 2^40");
  problem_.reported = true;
  return std::nullopt;
}

std::optional<Affine> AffineReader::name(const Node& node) {
  if (context_.combiner != nullptr && context_.combiner->components.count(node.text) != 0) return refuse_data(node);
  if (const auto* index = context_.index(node.text)) return Affine::variable(index->var);
  const Symbol* symbol = context_.symbol(node.text);
  if (symbol == nullptr) {
    context_.report_unknown(node);
    problem_.reported = true;
    return std::nullopt;
  }
  if (symbol->kind == Symbol::Kind::parameter) return Affine::variable(symbol->id);
  if (symbol->kind == Symbol::Kind::const_parameter) return Affine::of(symbol->value);
  if (symbol->kind == Symbol::Kind::combiner) return refuse(node, node.text + " is a combiner");
  return refuse_data(node);
}

const Node* AffineReader::data_in(const Node& node) const {
  const bool is_name = node.kind == NodeKind::name || node.kind == NodeKind::element;
  const Symbol* symbol = is_name && context_.index(node.text) == nullptr ? context_.symbol(node.text) : nullptr;
  if (symbol != nullptr && symbol->kind == Symbol::Kind::tensor) return &node;
  for (const Node* arg : node.args)
    if (const Node* found = data_in(*arg)) return found;
  return nullptr;
}

std::optional<Affine> AffineReader::try_affine_index(const Node& node) {
  problem_ = {};
  const Node* data = data_in(node);
  return data != nullptr ? refuse_data(*data) : try_affine(node);
}

std::optional<Affine> AffineReader::try_affine(const Node& node) {
  problem_ = {};
  switch (node.kind) {
    case NodeKind::integer:
      return integer(node, node.text);
    case NodeKind::name:
      return name(node);
    case NodeKind::element:
      return refuse_data(node);
    case NodeKind::chain:
      return chain(node);
    case NodeKind::negate: {
      auto e = try_affine(*node.args[0]);
      if (!e) return e;
      return -1 * *e;
    }
    case NodeKind::call:
      if (node.text == "clamp" && node.args.size() == 3) return clamp_call(node);
      break;
    case NodeKind::decimal:
      return refuse(node, "not an integer");
    default:
      break;
  }
  for (const Node* arg : node.args) {
    if (!try_affine(*arg) && (problem_.reported || problem_.is_data)) return std::nullopt;
  }
  return refuse(node, "only + - * // % by constants, and clamp, are");
}

std::optional<Affine> AffineReader::chain(const Node& node) {
  auto result = try_affine(*node.args[0]);
  for (size_t i = 0; result && i < node.ops.size(); ++i) {
    context_.chains.push_back({&node, i + 1});
    auto right = try_affine(*node.args[i + 1]);
    context_.chains.pop_back();
    if (!right) return std::nullopt;
    result = combine(node, i, std::move(*result), *right);
  }
  return result;
}

std::optional<Affine> AffineReader::combine(const Node& chain, size_t op, Affine left, const Affine& right) {
  const std::string& text = chain.op_text[op];
  if (text == "+") return within_limits(left + right, chain);
  if (text == "-") return within_limits(left - right, chain);
  if (text == "*") return product(chain, op, left, right);
  if (text == "//" || text == "%") return division(chain, op, left, right);
  if (text == "/") {
    refuse(chain, "'/' divides floats");
    problem_.notes = {"write // for the floor of the quotient"};
    return std::nullopt;
  }
  return refuse(chain, "only + - * // % by constants, and clamp, are");
}

std::optional<Affine> AffineReader::product(const Node& chain, size_t op, const Affine& left, const Affine& right) {
  if (left.is_constant() || right.is_constant()) {
    int64_t factor = left.is_constant() ? left.constant : right.constant;
    const Affine& other = left.is_constant() ? right : left;
    if (fits_product(factor, other)) return within_limits(factor * other, chain);
    context_.report.error("PW0807", chain.extent, "'" + show(chain) + "' has a number above 2^40");
    problem_.reported = true;
    return std::nullopt;
  }
  if (!uses_index(left)) return refuse_symbolic(chain, op, left, op);
  if (!uses_index(right)) return refuse_symbolic(chain, op, right, op + 1);
  refuse(chain, "a product of two indices");
  problem_.code = "PW0113";
  problem_.subject = shown_operation(chain, op);
  return std::nullopt;
}

std::optional<Affine> AffineReader::division(const Node& chain, size_t op, const Affine& left, const Affine& right) {
  if (right.is_constant()) {
    if (right.constant <= 0) return refuse(chain, "the divisor " + std::to_string(right.constant) + " is not positive");
    return within_limits(chain.op_text[op] == "//" ? floor_div(left, right.constant) : modulo(left, right.constant),
                         chain);
  }
  if (!uses_index(right)) return refuse_symbolic(chain, op, right, op + 1);
  refuse(chain, "the divisor " + show(*chain.args[op + 1]) + " is an index");
  problem_.code = "PW0113";
  problem_.subject = shown_operation(chain, op);
  return std::nullopt;
}

std::optional<Affine> AffineReader::clamp_call(const Node& node) {
  auto e = try_affine(*node.args[0]);
  if (!e) return std::nullopt;
  auto lo = try_affine(*node.args[1]);
  if (!lo) return std::nullopt;
  auto hi = try_affine(*node.args[2]);
  if (!hi) return std::nullopt;
  return within_limits(clamp(*e, *lo, *hi), node);
}

std::optional<Affine> AffineReader::affine(const Node& node, const char* role) {
  auto result = try_affine(node);
  if (!result) report_problem(node, role);
  return result;
}

void AffineReader::report_problem(const Node& whole, const char* role) {
  if (problem_.reported) return;
  if (problem_.is_data) {
    context_.report.error("PW0116", whole.extent,
                          std::string("the ") + role + " '" + show(whole) + "' is not affine: " + problem_.reason);
  } else {
    context_.report.error(problem_.code, problem_.where, "'" + problem_.subject + "' is not affine: " + problem_.reason,
                          problem_.notes);
  }
}

std::optional<AffineReader::Bounds> AffineReader::range(const RangeSyntax& syntax) {
  std::optional<Affine> lo = Affine::of(0);
  if (syntax.lo != nullptr) lo = affine(*syntax.lo, "range");
  auto hi = affine(*syntax.hi, "range");
  if (!lo || !hi) return std::nullopt;
  Affine extent = *hi - *lo;
  if (extent.is_constant() && extent.constant > kMaxSize) {
    context_.report.error("PW0809", syntax.extent,
                          "the extent " + std::to_string(extent.constant) + " is above 2^31 - 1");
    return std::nullopt;
  }
  return Bounds{std::move(*lo), std::move(*hi)};
}

}  // namespace polyweft::lang
