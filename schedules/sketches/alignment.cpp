#include "schedules/sketches/alignment.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "schedules/queries.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostReach = 32;  ///< rows that a strip computes again

/// Is the subscript the reader's index, moved by some taps at most? `reach` grows to how far they move it.
bool follows(const Builder& b, const Stage& reader, const Affine& subscript, VarId index, int64_t& reach) {
  int64_t moved = 0;
  for (const Term& term : subscript.terms) {
    if (term.quasi) return false;
    if (term.var == index && term.coeff == 1) continue;
    const uint32_t k = term.var - b.t.program.index_var(0);
    if (term.var < b.t.program.index_var(0) || term.var == index || k < reader.data_indices) return false;
    moved += std::abs(term.coeff) * (reader.hi[k] - reader.lo[k] - 1);
  }
  reach = std::max(reach, moved);
  return subscript.coefficient(index) == 1 && moved <= kMostReach;
}

/// The index of a producer's slot that all placed readers subscript by their own aligned index.
std::optional<uint32_t> aligned_index(const Builder& b, uint32_t producer, size_t place, const Alignment& placed,
                                      int64_t& reach) {
  const Equation& equation = equation_of(b.t, b.t.stages[producer]);
  for (size_t d = 0; d < equation.slots.size(); ++d) {
    if (equation.slots[d].var == kNoVar) return std::nullopt;
    bool fits = true;
    for (const auto& [reader, indices] : placed)
      for (TensorId target : equation.targets)
        for (const Access& access : reads_of(b.t, b.t.stages[reader], target))
          fits &= !access.index[d].data &&
                  follows(b, b.t.stages[reader], access.index[d].affine, b.t.program.index_var(indices[place]), reach);
    if (fits) return equation.slots[d].var - b.t.program.index_var(0);
  }
  return std::nullopt;
}

}  // namespace

Alignment align(const Builder& b, uint32_t host, const std::vector<uint32_t>& wanted, int64_t& reach) {
  Alignment placed = {{host, wanted}};
  for (uint32_t k = host; k-- > 0;) {
    if (!b.is_alive(k)) continue;
    const Equation& equation = equation_of(b.t, b.t.stages[k]);
    auto readers = readers_of(b.t, k);
    bool inside = !readers.empty() &&
                  std::all_of(readers.begin(), readers.end(), [&](uint32_t r) { return placed.count(r) > 0; });
    const bool is_private = std::all_of(equation.targets.begin(), equation.targets.end(),
                                        [&](TensorId id) { return b.t.program.tensors[id].kind == TensorKind::local; });
    if (!inside || !is_private) continue;
    std::vector<uint32_t> indices;
    for (size_t place = 0; place < wanted.size(); ++place)
      if (auto index = aligned_index(b, k, place, placed, reach)) indices.push_back(*index);
    if (indices.size() == wanted.size()) placed[k] = std::move(indices);
  }
  return placed;
}

Alignment align_leading(const Builder& b, uint32_t host, int64_t& reach) {
  Alignment best;
  for (uint32_t count = 1; count < b.t.stages[host].data_indices; ++count) {
    std::vector<uint32_t> indices(count);
    std::iota(indices.begin(), indices.end(), 0U);
    Alignment placed = align(b, host, indices, reach);
    if (placed.size() < 2 || placed.size() < best.size()) break;
    best = std::move(placed);
  }
  return best;
}

}  // namespace polyweft::schedules
