// Facts about a band: what isl says of statements that run in loops over common members, before any loop is chosen.
//
// A band gives each of its statements (equations) a map from instances to the values of its members b_1 .. b_n,
// outermost first. Steps (schedules/) read only the table that comes back: for each relation the least and the greatest
// distance along each member (theorems T1 to T4). Numbers only, so that the question may be asked of a child process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/text/trace_names.h"
#include "polyweft/nest_template.h"

namespace polyweft::poly {

using Mapped = BandPlace;
using BandFold = TensorFold;
using Relation = BandRelation;
struct BandQuestion {
  std::vector<Mapped> statements;
  std::vector<BandFold> folds;
  std::vector<Snapshot> snapshots = {};    ///< equations and tensors of the statements count these
  std::vector<OnlineMaximum> online = {};  ///< the program is asked about in this form
};
/// Relations come apart by access and by the first member along which their distance is not zero, so that boxes of
/// distances tell of the order what there is to tell: such a member has lo > 0 (or hi < 0: not in order), those before
/// it lo = hi = 0. Relations without pairs are left out, and so are second ones that are equal in all but their
/// accesses. An instance that reads a cell and then takes it itself is no anti relation: it reads first.
struct BandFacts {
  std::vector<Relation> relations;
  std::vector<std::vector<int64_t>> lo,
      hi;  ///< hull of each statement's instances, half open, one a member; lo == hi where it has none
  std::vector<Affine> inside;  ///< conditions e >= 0 that all instances of all statements meet; variable m stands for
                               ///< member m (no parameters)
};

/// `program`: bound and normalized. A reduction's instances are its folds and, for the first value of each element, a
/// point at which every member that moves with a reduced index has its least value over the statement (0 where nothing
/// is folded); of pieces that cut reduced indices the first one of the question has it. Elements defined outside the
/// band are taken as made before it, elements read outside as read after it unless their equation is needed by the
/// band. PW0323: a fold makes an element share a cell with one that is made before the band and needed later, or that
/// is read after it: names both. PW0605: a malformed question. PW083x: isl gives up. 5-100 ms.
Result<BandFacts> band_facts(const Program& program, const BandQuestion& question);
/// The same for many questions about one program: what those about the same form of it have in common (instances,
/// reads), about the same statements (points and flow), about the same members of these and about the same folds, is
/// worked out once. Each has a quota of its own, as the rest of each question has, so that no answer depends on what
/// was asked before.
class BandAnalyst {
 public:
  /// `program` must outlive it.
  explicit BandAnalyst(const Program& program);
  ~BandAnalyst();
  BandAnalyst(const BandAnalyst&) = delete;
  BandAnalyst& operator=(const BandAnalyst&) = delete;
  Result<BandFacts> facts(const BandQuestion& question);

 private:
  struct Form;
  struct Prepared;
  struct ByMembers;
  struct ByFolds;
  Result<std::shared_ptr<Form>> form(const BandQuestion& question);
  Result<Prepared*> prepared(const BandQuestion& question);
  static Result<const ByMembers*> by_members(Prepared& known);
  static Result<const ByFolds*> by_folds(Prepared& known);
  template <class T, class F>
  static Result<const T*> known_answer(Prepared& of, std::map<std::string, T>& known, const std::string& key,
                                       const F& make);

  const Program& program_;
  std::vector<std::shared_ptr<Form>> forms_;      ///< the last ones
  std::vector<std::unique_ptr<Prepared>> known_;  ///< the last ones
};

/// A legal band for statements that need each other, as the base order has it.
struct BandProposal {
  std::vector<Mapped> statements;  ///< in the order in which they run at equal members
  std::vector<std::string> names;  ///< of members
};
/// The bands of a bound, normalized program: one for each group of equations that need each other, with the equations
/// of its tensors that may run there (borders; first planes do not) and recurrences that nobody else reads, where all
/// move along its first member. Conditions that are no conjunction are cut into disjoint pieces, which share their
/// equation's map. Each statement has each of its own indices, forwards or backwards, as some member. A group without
/// such maps has a band of isl's schedule, where that is affine, else none. All distances are lexicographically
/// positive, or zero and from an earlier to a later statement. PW083x. 2-100 ms.
Result<std::vector<BandProposal>> propose_bands(const Program& program);
/// The proposal as a step of a trace; pieces are left to the step.
inline BandStep band_step(const Program& program, const BandProposal& proposal, const std::string& name) {
  return ir::band_step(program, proposal.statements, proposal.names, name);
}

}  // namespace polyweft::poly
