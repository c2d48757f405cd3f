// Private: points that show a problem, and their words.
#pragma once

#include "poly/model.h"

namespace polyweft::poly {

struct Witness {
  bool smallest = true;  ///< lexicographically: parameters in order, then the point
  std::vector<int64_t> parameters;
  std::vector<int64_t> point;
};
/// A point of a set that is not empty. Nothing where even a sample was not found within the quota.
std::optional<Witness> witness(const Model& model, const Set& set, unsigned long quota);
/// Of a relation: the point is source followed by target.
std::optional<Witness> witness(const Model& model, const Map& map, unsigned long quota);

/// "A[0, 3]", "best".
std::string element_text(const std::string& tensor, std::vector<int64_t>::const_iterator begin,
                         std::vector<int64_t>::const_iterator end);
std::string element_text(const std::string& tensor, const std::vector<int64_t>& point);
/// "with M = 1, N = 1", "for example with N = 4"; empty without parameters.
std::string sizes_text(const Program& program, const Witness& witness);
/// An affine expression without blanks around its sums: "N-1".
std::string tight(const Affine& e, const std::vector<std::string>& names);
/// The read as written in the source where the text is at hand, else from its subscripts.
std::string read_text(const Program& program, const Equation& equation, const ExprNode& read);
/// "B[0..K, 0..N]".
std::string box_text(const Program& program, TensorId tensor);
/// "t = 0 and 0 <= i < N, or 1 <= t < T and 1 <= i < N-1": exactly where the equations define a tensor, without
/// conditions that follow from the others.
std::string definition_text(const Model& model, TensorId tensor);

}  // namespace polyweft::poly
