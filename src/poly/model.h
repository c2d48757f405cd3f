// Private: a Program's domains and accesses as isl sets and maps.
//
// Spaces. S_q: one tuple a statement (equation), named as in traces ("A@2"); its dimensions are all indices of the
// equation, slots first, then those bound by reductions, in order of binding. An index that is not in scope is 0. T:
// one tuple a tensor, named as the tensor. Parameters are isl parameters where the program is symbolic, none where it
// is bound.
#pragma once

#include <map>

#include "poly/isl_util.h"
#include "poly/residues.h"
#include "polyweft/program.h"

namespace polyweft::poly {

enum class Sizes : uint8_t { symbolic, bound };

/// What holds at a place inside an equation: indices bound there and conditions in force.
struct Place {
  std::vector<IndexRange> indices;
  std::vector<Guard> conditions;
};
/// A read and the place where it stands.
struct PlacedRead {
  const ExprNode* node = nullptr;
  Place place;
  uint32_t number = 0;  ///< among the reads of its equation
};
/// Reductions with the place around them (their own indices not included).
struct PlacedReduction {
  const ExprNode* node = nullptr;
  Place around;
};
Place place_of(const Equation& equation);
Place inside(Place place, const Reduction& reduction);
std::vector<PlacedRead> placed_reads(const Equation& equation);
std::vector<PlacedReduction> placed_reductions(const Equation& equation);
/// "A", "A@2" for the second equation of A, as traces write it.
std::string statement_name(const Program& program, EquationId equation);

/// Instances, elements and reads of an equation are made once and kept.
class Model {
 public:
  /// `context` and `program` must outlive the model.
  Model(Context& context, const Program& program, Sizes sizes);

  Context& context() const { return context_; }
  const Program& program() const { return program_; }
  Sizes sizes() const { return sizes_; }
  /// Bound, or of a program without parameters.
  bool has_numbers_only() const { return sizes_ == Sizes::bound || program_.parameters.empty(); }
  Set assumptions() const;                                ///< over the parameters
  Set instances(EquationId q, const Place& place) const;  ///< in S_q
  const Set& instances(EquationId q) const;               ///< slots only
  const Set& all_instances(EquationId q) const;  ///< with the indices of a reduction that is the whole right-hand side
  Map element_map(EquationId q, TensorId target) const;      ///< S_q -> T, what an instance defines
  const Set& elements(EquationId q, TensorId target) const;  ///< in T
  /// The box of an input or constant, else the union of elements: of all equations, or of those in `by`.
  Set defined(TensorId tensor, const std::vector<EquationId>* by = nullptr) const;
  /// One of placed_reads: S_q -> T with its place as domain; a gather is an interval.
  const Map& read_map(EquationId q, const PlacedRead& read) const;
  Set box(TensorId tensor) const;  ///< of an input or constant; of an output by LANGUAGE.md section 2
  /// By equation, the equations that define elements which it reads.
  const std::vector<std::vector<EquationId>>& sources() const;
  /// False where remainders alone say that the read, or all elements of the other equation, meet none of r's elements.
  bool may_read(EquationId q, const PlacedRead& read, EquationId r) const;
  bool may_overlap(EquationId q, EquationId r) const;  ///< of one tensor
  void make_all() const;                               ///< all that is kept, so that no later question pays for it

  Space statement_space(EquationId q) const;  ///< set space
  Space tensor_space(TensorId tensor) const;
  /// Value of an affine expression over the variables of q, on a set space with q's dimensions.
  PwAff value(const Affine& e, const Space& space) const;
  Set where(const Guard& g, const Space& space) const;

 private:
  PwAff quasi(const Quasi& q, const Space& space) const;
  Set guard(const Guard& g, const Space& space, bool positive) const;
  Aff variable(VarId var, const Space& space) const;
  Set output_box(TensorId tensor) const;
  Map made_read_map(EquationId q, const PlacedRead& read) const;
  struct Residues {
    std::vector<Residue> variables, elements;  ///< of the equation's indices; of what it defines, one a dimension
  };
  const Residues& residues(EquationId q) const;

  Context& context_;
  const Program& program_;
  Sizes sizes_;
  mutable std::map<EquationId, Set> instances_, all_instances_;
  mutable std::map<std::pair<EquationId, TensorId>, Set> elements_;
  mutable std::map<std::pair<EquationId, uint32_t>, Map> read_maps_;
  mutable std::map<EquationId, Residues> residues_;
  mutable std::optional<std::vector<std::vector<EquationId>>> sources_;
};

}  // namespace polyweft::poly
