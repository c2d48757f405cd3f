#include "schedules/pieces.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "schedules/reindex.h"

namespace polyweft::schedules {
namespace {

constexpr size_t kMostPieces = 64;

using Conjunction = std::vector<Guard>;
using Pieces = std::vector<Conjunction>;

bool is_linear(const Guard& g) {
  const bool here = (g.kind != Guard::Kind::ge0 && g.kind != Guard::Kind::eq0) || g.e.is_linear();
  return here && std::all_of(g.of.begin(), g.of.end(), is_linear);
}

/// May some point of the intervals, narrowed by the conditions, meet them all? Never false where one does.
bool may_have_points(const Domain& domain, const Conjunction& conditions) {
  std::vector<Interval> values = domain.values;
  std::vector<Affine> all = domain.inside;
  for (const Guard& g : conditions) {
    if (!is_linear(g)) continue;
    all.push_back(g.e);
    if (g.kind == Guard::Kind::eq0) all.push_back(Affine::of(0) - g.e);
  }
  for (int round = 0; round < 4; ++round)
    for (const Affine& e : all) {
      if (interval_of(e, values).hi < 0) return false;
      narrow_by(e, values);
      if (std::any_of(e.terms.begin(), e.terms.end(),
                      [&](const Term& term) { return values[term.var].lo > values[term.var].hi; }))
        return false;
    }
  return true;
}

struct Cutter {
  const Domain& domain;
  bool failed = false;

  /// pieces & g (or & not g), piece by piece.
  Pieces with(const Pieces& pieces, const Guard& g, bool positive) {
    if (failed || pieces.empty()) return {};
    switch (g.kind) {
      case Guard::Kind::negation:
        return with(pieces, g.of[0], !positive);
      case Guard::Kind::all:
        return positive ? every(pieces, g.of, true) : first(pieces, g.of, false);
      case Guard::Kind::any:
        return positive ? first(pieces, g.of, true) : every(pieces, g.of, false);
      case Guard::Kind::ge0:
        return both(pieces, positive ? g : guard_ge0(Affine::of(-1) - g.e));
      case Guard::Kind::eq0:
        break;
    }
    if (positive) return both(pieces, g);
    Pieces out = both(pieces, guard_ge0(g.e - Affine::of(1)));
    for (Conjunction& less : both(pieces, guard_ge0(Affine::of(-1) - g.e))) out.push_back(std::move(less));
    return out;
  }
  Pieces both(const Pieces& pieces, const Guard& g) {
    Pieces out;
    for (Conjunction piece : pieces) {
      piece.push_back(g);
      if (may_have_points(domain, piece)) out.push_back(std::move(piece));
    }
    failed |= out.size() > kMostPieces;
    return out;
  }
  Pieces every(Pieces pieces, const std::vector<Guard>& of, bool positive) {
    for (const Guard& g : of) pieces = with(pieces, g, positive);
    return pieces;
  }
  /// One of them holds: the first, or not the first but the second, ..
  Pieces first(Pieces rest, const std::vector<Guard>& of, bool positive) {
    Pieces out;
    for (const Guard& g : of) {
      for (Conjunction& piece : with(rest, g, positive)) out.push_back(std::move(piece));
      rest = with(rest, g, !positive);
      failed |= out.size() > kMostPieces;
    }
    return out;
  }
};

}  // namespace

namespace {

/// The elements alone: conditions that move with a reduced index do not count.
Domain of_elements(Domain domain, VarId reduced) {
  std::erase_if(domain.guards, [&](const Guard& g) { return mentions_from(g, reduced); });
  std::erase_if(domain.inside, [&](const Affine& e) { return mentions_from(guard_ge0(e), reduced); });
  return domain;
}

/// The conditions that are linear in pieces, the others in each of them.
std::optional<Pieces> pieces_under(const Domain& domain, const std::vector<Guard>& guards, const Conjunction& already) {
  Cutter cutter{domain};
  Pieces pieces = {already};
  Conjunction kept;
  for (const Guard& g : guards) {
    if (is_linear(g))
      pieces = cutter.with(pieces, g, true);
    else
      kept.push_back(g);
  }
  if (cutter.failed) return std::nullopt;
  for (Conjunction& piece : pieces) piece.insert(piece.end(), kept.begin(), kept.end());
  return pieces;
}

}  // namespace

std::optional<std::vector<std::vector<Guard>>> disjoint_pieces(const Domain& domain, VarId reduced) {
  if (reduced == kNoVar) return pieces_under(domain, domain.guards, {});
  const Domain elements = of_elements(domain, reduced);
  std::vector<Guard> folds;
  std::copy_if(domain.guards.begin(), domain.guards.end(), std::back_inserter(folds),
               [&](const Guard& g) { return mentions_from(g, reduced); });
  const auto of_data = pieces_under(elements, elements.guards, {});
  if (!of_data) return std::nullopt;
  Pieces out;
  for (const Conjunction& piece : *of_data) {
    auto parts = pieces_under(domain, folds, piece);
    if (!parts) return std::nullopt;
    if (!may_have_points(domain, piece)) parts->clear();
    if (parts->empty()) parts->push_back(piece), parts->back().insert(parts->back().end(), folds.begin(), folds.end());
    out.insert(out.end(), parts->begin(), parts->end());
  }
  if (out.size() > kMostPieces) return std::nullopt;
  return out;
}

}  // namespace polyweft::schedules
