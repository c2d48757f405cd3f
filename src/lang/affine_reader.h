// Trees that must be affine: ranges, shapes, slots, guards, subscripts (LANGUAGE.md section 2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lang/context.h"

namespace polyweft::lang {

/// Why a tree is not affine.
struct NotAffine {
  const char* code = "PW0116";
  Extent where;
  std::string subject;  ///< "i * j"
  std::string reason;   ///< "a product of two indices"
  std::vector<std::string> notes;
  bool is_data = false;   ///< the reason is a value of a tensor
  bool reported = false;  ///< already said (an unknown name, a limit)
};

class AffineReader {
 public:
  explicit AffineReader(Context& context) : context_(context) {}

  /// Nothing where the tree is not affine: problem() says why. Unknown names and limits are reported at once.
  std::optional<Affine> try_affine(const Node& node);
  /// As try_affine, but what mentions data is told apart before anything is reported of it: its numbers are no sizes.
  std::optional<Affine> try_affine_index(const Node& node);
  const NotAffine& problem() const { return problem_; }
  /// As try_affine, and reports; `role` names the place: "range", "shape", "position".
  std::optional<Affine> affine(const Node& node, const char* role);
  /// Whether numbers and size are within the limits of the language; reports where not.
  bool is_within_limits(const Affine& e, const Node& node);
  void report_problem(const Node& whole, const char* role);
  /// lo..hi of a range. Reports an extent that is a number above 2^31 - 1.
  struct Bounds {
    Affine lo, hi;
  };
  std::optional<Bounds> range(const RangeSyntax& syntax);
  /// A condition over affine forms; reports what is not.
  std::optional<Guard> guard(const Node& node);

 private:
  std::optional<Affine> name(const Node& node);
  std::optional<Affine> integer(const Node& node, const std::string& digits);
  std::optional<Affine> chain(const Node& node);
  std::optional<Affine> combine(const Node& chain, size_t op, Affine left, const Affine& right);
  std::optional<Affine> product(const Node& chain, size_t op, const Affine& left, const Affine& right);
  std::optional<Affine> division(const Node& chain, size_t op, const Affine& left, const Affine& right);
  std::optional<Affine> clamp_call(const Node& node);
  std::optional<Affine> within_limits(Affine e, const Node& node);
  std::optional<Affine> refuse(const Node& node, std::string reason);
  std::optional<Affine> refuse_symbolic(const Node& chain, size_t op, const Affine& symbol, size_t operand);
  std::optional<Affine> refuse_data(const Node& node);
  const Node* data_in(const Node& node) const;
  bool uses_index(const Affine& e) const;
  std::string shown_operation(const Node& chain, size_t op) const;
  std::optional<Guard> condition(const Node& node);
  std::optional<Guard> comparison(const Node& node);
  std::optional<Guard> several(const Node& node);

  Context& context_;
  NotAffine problem_;
};

/// Guards of more stay as they are written.
inline constexpr int64_t kMaxDisjuncts = 64;
/// Number of disjuncts of the guard's disjunctive normal form, at most about 10^6.
int64_t count_disjuncts(const Guard& guard);

}  // namespace polyweft::lang
