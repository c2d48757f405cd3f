#include "poly/check/tile_numbers.h"

#include <algorithm>

namespace polyweft::poly::checker {
namespace {

/// How many of the outermost loops are the same for all.
size_t loops_of_all(const std::vector<const Statement*>& statements) {
  std::vector<NodeId> shared = statements.front()->loops;
  for (const Statement* s : statements)
    shared.erase(std::mismatch(shared.begin(), shared.end(), s->loops.begin(), s->loops.end()).first, shared.end());
  return shared.size();
}

/// What a coordinate has of the loops outside, by the numbers found for these; nothing where one of them has no number.
std::optional<Affine> outer_part(const Affine& coordinate, unsigned loop, const std::vector<TileNumber>& found) {
  Affine out;
  for (const Term& term : coordinate.terms) {
    if (term.quasi) return std::nullopt;
    if (term.var >= loop) continue;
    auto number = std::find_if(found.begin(), found.end(), [&](const TileNumber& n) { return n.loop == term.var; });
    if (number == found.end()) return std::nullopt;
    out = out + Affine::variable(static_cast<VarId>(number - found.begin()), term.coeff);
  }
  return out;
}

}  // namespace

std::vector<TileNumber> tile_numbers(const std::vector<const Statement*>& statements,
                                     const std::vector<std::vector<Affine>>& coordinates) {
  std::vector<TileNumber> found;
  if (statements.empty()) return found;
  const size_t loops = loops_of_all(statements);
  for (unsigned loop = 0; loop < loops; ++loop) {
    auto number_of = [&](size_t k, size_t c) -> std::optional<TileNumber> {
      const Affine& of = coordinates[k][c];
      auto outer = outer_part(of, loop, found);
      if (!outer || of.coefficient(loop) < 2) return std::nullopt;
      return TileNumber{loop, c, of.coefficient(loop), *outer};
    };
    for (size_t c = 0; c < coordinates.front().size(); ++c) {
      auto first = number_of(0, c);
      bool is_one = first.has_value();
      for (size_t k = 1; is_one && k < statements.size(); ++k) {
        auto other = number_of(k, c);
        is_one = other && other->step == first->step && other->outer == first->outer;
      }
      if (!is_one) continue;
      found.push_back(*first);
      break;
    }
  }
  return found;
}

Guard numbers_of_points(const std::vector<TileNumber>& numbers, size_t coordinates) {
  std::vector<Guard> all;
  for (size_t k = 0; k < numbers.size(); ++k) {
    const TileNumber& n = numbers[k];
    Affine inside = Affine::variable(static_cast<VarId>(n.coordinate)) -
                    Affine::variable(static_cast<VarId>(coordinates + k), n.step);
    inside.constant -= n.outer.constant;
    for (const Term& term : n.outer.terms)
      inside = inside - Affine::variable(static_cast<VarId>(coordinates + term.var), term.coeff);
    all.push_back(guard_ge0(inside));
    all.push_back(guard_ge0(Affine::of(n.step - 1) - inside));
  }
  return guard_all(std::move(all));
}

}  // namespace polyweft::poly::checker
