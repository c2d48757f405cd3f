// Conditions over affine forms: the part of AffineReader that reads guards.
#include <algorithm>

#include "lang/affine_reader.h"

namespace polyweft::lang {
namespace {

constexpr int64_t kManyDisjuncts = 1000000;

struct DisjunctCounts {
  int64_t plain = 1;
  int64_t negated = 1;
};

DisjunctCounts count_both(const Guard& guard) {
  if (guard.kind == Guard::Kind::ge0) return {1, 1};
  if (guard.kind == Guard::Kind::eq0) return {1, 2};
  if (guard.kind == Guard::Kind::negation) {
    DisjunctCounts inner = count_both(guard.of[0]);
    return {inner.negated, inner.plain};
  }
  int64_t sum = 0;
  int64_t product = 1;
  bool is_all = guard.kind == Guard::Kind::all;
  for (const Guard& each : guard.of) {
    DisjunctCounts inner = count_both(each);
    sum = std::min(kManyDisjuncts, sum + (is_all ? inner.negated : inner.plain));
    product = std::min(kManyDisjuncts, product * (is_all ? inner.plain : inner.negated));
  }
  return is_all ? DisjunctCounts{product, sum} : DisjunctCounts{sum, product};
}

Guard compared(const std::string& op, const Affine& left, const Affine& right) {
  Affine one = Affine::of(1);
  if (op == "==") return guard_eq0(left - right);
  if (op == "!=") return guard_not(guard_eq0(left - right));
  if (op == "<") return guard_ge0(right - left - one);
  if (op == "<=") return guard_ge0(right - left);
  if (op == ">") return guard_ge0(left - right - one);
  return guard_ge0(left - right);
}

}  // namespace

int64_t count_disjuncts(const Guard& guard) {
  return count_both(guard).plain;
}

std::optional<Guard> AffineReader::guard(const Node& node) {
  auto result = condition(node);
  if (!result) return result;
  int64_t disjuncts = count_disjuncts(*result);
  if (disjuncts <= kMaxDisjuncts) return result;
  std::string count = disjuncts >= kManyDisjuncts ? "very many" : std::to_string(disjuncts);
  context_.report.error("PW0808", node.extent, "the guard has " + count + " disjuncts, more than 64",
                        {"split the equation, or compare ranges instead of points"});
  return std::nullopt;
}

std::optional<Guard> AffineReader::condition(const Node& node) {
  switch (node.kind) {
    case NodeKind::compare:
      return comparison(node);
    case NodeKind::conjunction:
    case NodeKind::disjunction:
      return several(node);
    case NodeKind::logical_not: {
      auto inner = condition(*node.args[0]);
      if (!inner) return inner;
      return guard_not(*inner);
    }
    case NodeKind::truth: {
      Guard always;
      if (node.text == "true") return always;
      return guard_not(always);
    }
    default:
      break;
  }
  if (try_affine(node)) {
    context_.report.error("PW0119", node.extent,
                          "the guard '" + show(node) + "' is a number; write " + show_again(node) + " != 0");
  } else if (!problem_.reported) {
    std::string data = problem_.is_data ? problem_.reason : show_again(node) + " is data";
    context_.report.error("PW0115", node.extent, "the guard '" + show(node) + "' is not affine: " + data,
                          {"use select(" + show_again(node) + ", .., ..)"});
  }
  return std::nullopt;
}

std::optional<Guard> AffineReader::comparison(const Node& node) {
  std::vector<Affine> sides;
  for (const Node* arg : node.args) {
    auto side = try_affine(*arg);
    if (!side) {
      if (problem_.reported) return std::nullopt;
      if (!problem_.is_data) {
        report_problem(*arg, "guard");
        return std::nullopt;
      }
      context_.report.error("PW0115", node.extent, "the guard '" + show(node) + "' is not affine: " + problem_.reason,
                            {"use select(" + show_again(node) + ", .., ..)"});
      return std::nullopt;
    }
    sides.push_back(std::move(*side));
  }
  std::vector<Guard> parts;
  for (size_t i = 0; i < node.ops.size(); ++i) {
    Affine difference = sides[i] - sides[i + 1];
    int64_t sign = difference.constant < 0 ? -1 : 1;
    if (!is_within_limits(difference + Affine::of(2 * sign), node)) return std::nullopt;
    parts.push_back(compared(node.op_text[i], sides[i], sides[i + 1]));
  }
  return guard_all(std::move(parts));
}

std::optional<Guard> AffineReader::several(const Node& node) {
  std::vector<Guard> parts;
  for (const Node* arg : node.args) {
    auto part = condition(*arg);
    if (!part) return part;
    parts.push_back(std::move(*part));
  }
  return node.kind == NodeKind::conjunction ? guard_all(std::move(parts)) : guard_any(std::move(parts));
}

}  // namespace polyweft::lang
