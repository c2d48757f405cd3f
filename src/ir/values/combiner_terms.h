// What a program feeds to a combiner, as samples: the bodies of its reductions over sampled reads.
#pragma once

#include <optional>
#include <vector>

#include "polyweft/program.h"
#include "support/rng.h"

namespace polyweft::ir {

/// Something that a body reads and that a sample chooses: an element, an index, a nested reduction, or whether a guard
/// holds.
struct TermLeaf {
  Expr node;
  ElementType type = ElementType::f32;  ///< bool for a guard
  int64_t lo = 0, hi = 0;  ///< inclusive, of integers: of the type, of a promise `values lo..hi`, 0..1000 of an index
};

enum class Sample : uint8_t { plain, special };

/// One body of a reduction by the combiner, with a value a component.
class TermShape {
 public:
  TermShape(const Program& program, std::vector<Expr> components);

  size_t leaves() const { return leaves_.size(); }
  /// Operators and leaves of all components.
  size_t size() const { return size_; }
  /// Small values of a leaf, the simplest first: 0, 1, -1, 2 .. 4, -4 as far as the leaf has them; false and true.
  std::vector<Literal> small_values(size_t leaf) const;
  /// Integers near 0, anywhere, and at the ends of the range; floats of all usual sizes; `special` adds infinities and
  /// NaN.
  Literal sample(size_t leaf, Sample kind, Rng& rng) const;
  /// The term where leaf k has the value values[k].
  std::vector<Literal> term(const std::vector<Literal>& values) const;

 private:
  void collect(const Program& program, const Expr& e);
  void add_leaf(TermLeaf leaf);
  std::optional<size_t> leaf_of(const Expr& e) const;
  Literal value(const Expr& e, const std::vector<Literal>& values) const;

  std::vector<Expr> components_;
  std::vector<TermLeaf> leaves_;
  size_t size_ = 0;
};

/// One for each alternative of each body of a reduction by this combiner; of a combiner that nothing uses, one with
/// free components.
std::vector<TermShape> term_shapes(const Program& program, uint32_t combiner);

}  // namespace polyweft::ir
