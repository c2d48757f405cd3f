// Private: the statements of a band as isl sets and maps.
#pragma once

#include <map>
#include <tuple>
#include <utility>

#include "poly/band.h"
#include "poly/model.h"

namespace polyweft::poly {

/// Instances of a statement of one kind, and the values of the members there.
struct Points {
  uint32_t statement = 0;
  EquationId equation = 0;
  bool first = false;           ///< the first values of a reduction's elements; else what is stored or folded
  Set instances;                ///< in S_q
  std::vector<Affine> members;  ///< over the equation's indices
};

/// A well-formed question: equations, tensors and variables exist, members are linear and equally many, within the
/// limits. PW0605.
Status validate(const Program& program, const BandQuestion& question);

class BandModel {
 public:
  /// `model` must outlive it; the question is validated. Throws IslFailure.
  BandModel(const Model& model, BandQuestion question);
  BandModel(const BandModel&) = delete;  // pairs point to its points
  BandModel& operator=(const BandModel&) = delete;
  /// Another question about the same statements: the points stay where they are.
  void ask(const BandQuestion& question);
  /// Other values for the members; the points stay where they are.
  void map(const std::vector<std::vector<Affine>>& members);

  const Model& model() const { return model_; }
  const Program& program() const { return model_.program(); }
  const BandQuestion& question() const { return question_; }
  uint32_t members() const { return static_cast<uint32_t>(question_.statements.front().members.size()); }
  /// All points of all statements; a reduction's firsts follow its folds. Those without instances are left out.
  const std::vector<Points>& points() const { return points_; }
  /// { S_q -> T } of each read of the tensor at these points, by its number among the equation's reads; empty ones left
  /// out.
  const std::vector<std::pair<int, Map>>& reads(const Points& at, TensorId tensor) const;
  /// { S_q -> T }; nothing where the equation does not define the tensor.
  std::optional<Map> writes(const Points& at, TensorId tensor) const;
  /// The value of a member at these points: that of first values stands still where folds move.
  Affine at(const Points& points, const Affine& member) const;
  /// The value of a member on a set space whose dimensions from `offset` on are the indices of the points' equation.
  Aff value(const Affine& member, const Space& space, uint32_t offset) const;

 private:
  void add_points(uint32_t statement, std::vector<Set>& first_done);

  const Model& model_;
  BandQuestion question_;
  std::vector<Points> points_;
  mutable std::map<std::pair<const Points*, TensorId>, std::vector<std::pair<int, Map>>> reads_;
};

inline constexpr int kDefinition = -1;
/// Pairs of points that must stay in order, with the relation that they belong to.
struct Pairs {
  Relation::Kind kind = Relation::Kind::flow;
  TensorId tensor = 0;
  const Points* source = nullptr;
  const Points* sink = nullptr;
  int access = kDefinition;  ///< which read of the sink (flow) or of the source (anti)
  Map map;                   ///< { S_source -> S_sink }, not empty
};
/// What `sink` reads of `source`, and the order of folds of one element.
std::vector<Pairs> flow_and_order_pairs(const BandModel& band);
/// Kind, source, sink, tensor, access, and the member that has the first distance.
using RelationPlace = std::tuple<Relation::Kind, uint32_t, uint32_t, TensorId, int, uint32_t>;
/// Relations for each access.
using Measured = std::map<RelationPlace, Relation>;
Measured measurements(const BandModel& band, const std::vector<Pairs>& pairs);
/// In order, each once.
std::vector<Relation> relations_of(const Measured& all);
std::vector<Relation> measured(const BandModel& band, const std::vector<Pairs>& pairs);
/// Of each pair the coordinates of the source, then those of the sink.
Set flat(const Pairs& pairs);
/// member(sink) - member(source) on `space`, that of flat pairs.
Aff distance(const BandModel& band, const Pairs& pairs, const Affine& source, const Affine& sink, const Space& space);
/// Anti relations of the question's folds.
void add_fold_pairs(const BandModel& band, std::vector<Pairs>& out);
/// Folds and what lies outside the band: the refusal PW0323, if any.
std::optional<Error> fold_conflict(const BandModel& band);

/// Whether the expression moves with an index of the program from `first` on.
bool mentions_from(const Affine& e, VarId first);

}  // namespace polyweft::poly
