// Facts about a band: what isl says of statements that run in loops over common members, before any loop is chosen.
//
// A band gives each of its statements (equations) a map from instances to the values of its members b_1 .. b_n, outermost first. Steps (schedules/) read
// only the table that comes back: for each relation the least and the greatest distance along each member (theorems T1 to T4). Numbers only, so that the
// question may be asked of a child process.
#pragma once

#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::poly {

/// A statement of a band.
struct Mapped {
  EquationId equation = 0;
  std::vector<Guard> piece;     ///< further conditions over the equation's indices: a statement may be one of several disjoint pieces of its equation
  std::vector<Affine> members;  ///< value of each member over the equation's indices (Program::index_var: slots, then reduced ones); no quotients
};
/// The tensor's elements share cells modulo `window` along `dim`. forward: of two elements of a cell the one at the greater position lives later.
struct BandFold {
  TensorId tensor = 0;
  uint32_t dim = 0;
  int64_t window = 1;
  bool forward = true;
};
struct BandQuestion {
  std::vector<Mapped> statements;
  std::vector<BandFold> folds;
};
/// What must stay in order. Statements are numbered as in the question.
struct Relation {
  /// flow: source defines (or folds into) what sink reads. anti: source reads or defines an element of a folded tensor, sink defines a later element of its
  /// cell. order: source and sink fold into one element, source first in the order of the text (matters where the class keeps it).
  enum class Kind : uint8_t { flow = 0, anti = 1, order = 2 } kind = Kind::flow;
  uint32_t source = 0, sink = 0;
  TensorId tensor = 0;
  std::vector<int64_t> lo, hi;  ///< exact least and greatest member(sink) - member(source)
  bool may_be_zero = false;     ///< some pair has distance 0 along every member
  bool is_lex_positive = true;  ///< every other pair has a lexicographically positive distance
  std::string witness;          ///< a pair that has not, for people; empty where there is none
};
struct BandFacts {
  std::vector<Relation> relations;
  std::vector<std::vector<int64_t>> lo, hi;  ///< hull of each statement's instances, half open, one a member; lo == hi where it has none
  std::vector<Affine> inside;                ///< conditions e >= 0 that all instances of all statements meet; variable m stands for member m (no parameters)
};

/// `program`: bound and normalized. A reduction's instances are its folds and, for the first value of each element, a point at which every member that moves with a
/// reduced index has its least value over the statement. Elements defined outside the band are taken as made before it, elements read outside as read after it unless
/// their equation is needed by the band. PW0323: a fold makes an element share a cell with one that is made before the band and needed later, or that is read after it:
/// names both. PW083x: isl gives up. 5-100 ms.
Result<BandFacts> band_facts(const Program& program, const BandQuestion& question);

/// A legal band for statements that need each other, as the base order has it.
struct BandProposal {
  std::vector<Mapped> statements;  ///< in the order in which they run at equal members
  std::vector<std::string> names;  ///< of members
};
/// The bands of a bound, normalized program: one for each group of equations that need each other, with the equations of its tensors that may run there (borders, first
/// planes do not). Conditions that are no conjunction are cut into disjoint pieces. A group without an affine map is left out.
/// serial: isl's schedule of least fusion; the lexicographic test is passed by all.
Result<std::vector<BandProposal>> propose_bands(const Program& program);

}  // namespace polyweft::poly
