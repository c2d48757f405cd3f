// Element reads: affine subscripts, and gathers with an interval that holds them (LANGUAGE.md section 2, "Gather").
#include <algorithm>

#include "lang/types.h"
#include "lang/value_reader.h"

namespace polyweft::lang {
namespace {

struct SignedTerm {
  Node* node = nullptr;
  bool negative = false;
};

void split_sum(Node& node, bool negative, std::vector<SignedTerm>& out) {
  bool is_sum = node.kind == NodeKind::chain && (node.op_text[0] == "+" || node.op_text[0] == "-");
  if (!is_sum) return out.push_back({&node, negative});
  for (size_t i = 0; i < node.args.size(); ++i)
    split_sum(*node.args[i], negative != (i > 0 && node.op_text[i - 1] == "-"), out);
}

/// Whose subscripts stand behind it: they are left out where they make it long.
std::string shown_access(const Node& access) {
  return is_cut(access) ? access.text + "[..]" : show(access);
}

std::string without_blanks(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

}  // namespace

Expr ValueReader::element(Node& node) {
  const Symbol* symbol = context_.symbol(node.text);
  if (symbol == nullptr && context_.index(node.text) == nullptr) {
    context_.report_unknown(node);
    return nullptr;
  }
  if (symbol == nullptr || symbol->kind != Symbol::Kind::tensor) {
    context_.report.error("PW0112", node.extent, node.text + " is not a tensor; it has no elements");
    return nullptr;
  }
  const Tensor& tensor = context_.program.tensors[symbol->id];
  if (context_.combiner != nullptr) {
    if (tensor.kind == TensorKind::constant && tensor.rank == 0 && node.args.empty() && !tensor.data.empty())
      return make_literal(tensor.data[0], context_.report.source().span(node.extent));
    context_.report.error("PW0127", node.extent,
                          "a combiner may use its own parameters and scalar constants only, not " + node.text);
    return nullptr;
  }
  if (tensor.rank != node.args.size()) {
    context_.report.error(
        "PW0112", node.extent,
        tensor.name + " has rank " + std::to_string(tensor.rank) + ", not " + std::to_string(node.args.size()));
    return nullptr;
  }
  Access access;
  access.id = symbol->id;
  bool good = true;
  for (size_t d = 0; d < node.args.size(); ++d) {
    auto subscript_d = subscript(*node.args[d], node, symbol->id, d);
    good &= subscript_d.has_value();
    if (subscript_d) access.index.push_back(std::move(*subscript_d));
  }
  if (!good) return nullptr;
  ElementType type = context_.types[symbol->id].value_or(ElementType::f32);
  return make_read(type, std::move(access), context_.report.source().span(node.extent));
}

std::optional<Subscript> ValueReader::subscript(Node& node, const Node& access, TensorId tensor, size_t dimension) {
  Subscript result;
  if (auto affine = affine_.try_affine_index(node)) {
    result.affine = std::move(*affine);
    return result;
  }
  if (affine_.problem().reported) return std::nullopt;
  std::vector<SignedTerm> terms;
  split_sum(node, false, terms);
  for (const SignedTerm& term : terms) {
    if (auto affine = affine_.try_affine_index(*term.node)) {
      result.affine = term.negative ? result.affine - *affine : result.affine + *affine;
      if (!affine_.is_within_limits(result.affine, node)) return std::nullopt;
      continue;
    }
    if (affine_.problem().reported) return std::nullopt;
    NotAffine problem = affine_.problem();
    size_t errors = context_.report.error_count();
    auto found = gather(*term.node);
    if (!found && problem.is_data && context_.report.error_count() == errors) found = bounded(*term.node);
    if (found && (term.negative || result.data)) {
      if (auto whole = bounded(node)) return Subscript{Affine(), whole->data, whole->lo, whole->hi};
      if (context_.report.error_count() == errors) refuse_terms(node, access, tensor, dimension);
      return std::nullopt;
    }
    if (found) {
      result.data = std::move(found->data);
      result.lo = std::move(found->lo);
      result.hi = std::move(found->hi);
      continue;
    }
    if (context_.report.error_count() != errors) return std::nullopt;
    if (problem.is_data)
      refuse_gather(*term.node, access, tensor, dimension);
    else
      context_.report.error(problem.code, problem.where, "'" + problem.subject + "' is not affine: " + problem.reason,
                            problem.notes);
    return std::nullopt;
  }
  return result;
}

std::optional<ValueReader::Gather> ValueReader::gather(Node& node) {
  switch (node.kind) {
    case NodeKind::name:
    case NodeKind::element:
      return promised_element(node);
    case NodeKind::convert:
      if (node.type == ElementType::i64 && node.args.size() == 1) return gather(*node.args[0]);
      return std::nullopt;
    case NodeKind::call:
      return node.text == "clamp" && node.args.size() == 3 ? clamped(node) : std::nullopt;
    case NodeKind::chain:
      return node.op_text.back() == "%" ? remainder(node) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<ValueReader::Gather> ValueReader::promised_element(Node& node) {
  const Symbol* symbol = context_.symbol(node.text);
  if (symbol == nullptr || symbol->kind != Symbol::Kind::tensor) return std::nullopt;
  const Tensor& promised = context_.program.tensors[symbol->id];
  if (!promised.values_lo || is_float(promised.type)) return std::nullopt;
  Expr data = as_index(element(node));
  if (!data) return std::nullopt;
  const Tensor& tensor = context_.program.tensors[symbol->id];
  return Gather{data, *tensor.values_lo, *tensor.values_hi - Affine::of(1)};
}

std::optional<ValueReader::Gather> ValueReader::clamped(Node& node) {
  auto lo = affine_.affine(*node.args[1], "bound");
  auto hi = affine_.affine(*node.args[2], "bound");
  if (!lo || !hi) return std::nullopt;
  Expr e = index_value(*node.args[0]);
  Expr low = index_value(*node.args[1]);
  Expr high = index_value(*node.args[2]);
  if (!e || !low || !high) return std::nullopt;
  Expr data = make_op(Op::clamp, ElementType::i64, {e, low, high}, context_.report.source().span(node.extent));
  if (!fits_128_bits(data)) return std::nullopt;
  Affine least = is_surely_at_least(context_, *hi - *lo, 0) ? *lo : clamp(*lo, *lo, *hi);
  return Gather{data, std::move(least), std::move(*hi)};
}

std::optional<ValueReader::Gather> ValueReader::remainder(Node& node) {
  auto n = affine_.affine(*node.args.back(), "divisor");
  if (!n) return std::nullopt;
  if (!is_surely_at_least(context_, *n, 1)) {
    context_.report.error("PW0117", node.args.back()->extent,
                          "the divisor '" + show(*node.args.back()) + "' may be 0 or negative",
                          {"state what it is at least, e.g. with 'assume', or write clamp(.., 0, ..)"});
    return std::nullopt;
  }
  Expr e = index_chain(node, node.args.size() - 1);
  Expr divisor = index_value(*node.args.back());
  if (!e || !divisor) return std::nullopt;
  Expr data = make_op(Op::floor_mod, ElementType::i64, {e, divisor}, context_.report.source().span(node.extent));
  if (!fits_128_bits(data)) return std::nullopt;
  return Gather{data, Affine::of(0), *n - Affine::of(1)};
}

void ValueReader::refuse_terms(const Node& node, const Node& access, TensorId tensor, size_t dimension) {
  const Tensor& read = context_.program.tensors[tensor];
  std::string bounds =
      dimension < read.shape.size() ? "0, " + context_.compact(read.shape[dimension] - Affine::of(1)) : ".., ..";
  context_.report.error("PW0117", node.extent,
                        shown_access(access) + ": " + show(node) + " is not one data term plus an affine form",
                        {"write clamp(" + show_again(node) + ", " + bounds + ")"});
}

void ValueReader::refuse_gather(Node& term, const Node& access, TensorId tensor, size_t dimension) {
  auto type = decide(context_, term);
  if (type && !is_integer(*type)) {
    context_.report.error("PW0119", term.extent,
                          "a subscript is an integer, but " + show(term) + " is " + name_of(*type));
    return;
  }
  const Tensor& read = context_.program.tensors[tensor];
  std::string text =
      shown_access(access) + ": " + show(term) + " may be any " + name_of(type.value_or(ElementType::i64));
  std::string clamp = "write clamp(" + show_again(term) + ", .., ..)";
  std::string interval = "..";
  if (dimension < read.shape.size()) {
    const Affine& extent = read.shape[dimension];
    interval = "0.." + context_.compact(extent);
    text += ", " + read.name + " has " + (dimension == 0 ? "rows " : "positions ") + interval;
    if (dimension != 0) text += " in dimension " + std::to_string(dimension);
    clamp = "write clamp(" + show_again(term) + ", 0, " + context_.compact(extent - Affine::of(1)) + ")";
  }
  bool is_element = term.kind == NodeKind::element || term.kind == NodeKind::name;
  const Symbol* symbol = is_element ? context_.symbol(term.text) : nullptr;
  bool is_input = symbol != nullptr && symbol->kind == Symbol::Kind::tensor &&
                  context_.program.tensors[symbol->id].kind == TensorKind::input;
  if (is_input && dimension < read.shape.size()) {
    const Tensor& data = context_.program.tensors[symbol->id];
    std::string shape;
    for (const Affine& extent : data.shape)
      shape += (shape.empty() ? "[" : ", ") + without_blanks(print(extent, context_.variable_names()));
    if (!shape.empty()) shape += "]";
    clamp = "declare 'in " + data.name + ": " + name_of(data.type) + shape + " values " + interval + "' or " + clamp;
  }
  context_.report.error("PW0117", term.extent, text, {clamp});
}

}  // namespace polyweft::lang
