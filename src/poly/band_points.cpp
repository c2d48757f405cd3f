#include "poly/band_points.h"

#include <algorithm>

#include "ir/values/slots.h"
#include "poly/coalesced.h"

namespace polyweft::poly {
namespace {

constexpr size_t kMostStatements = 64, kMostMembers = 16, kMostFolds = 32, kMostConditions = 64;
constexpr int64_t kMostNumber = int64_t{1} << 40;  // as in programs

Error malformed(const std::string& what) {
  return fail("PW0605", "a question about a band " + what);
}

bool is_moderate(const Affine& e) {
  auto fits = [](int64_t n) { return n >= -kMostNumber && n <= kMostNumber; };
  return fits(e.constant) && std::all_of(e.terms.begin(), e.terms.end(), [&](const Term& term) {
           if (!fits(term.coeff)) return false;
           return !term.quasi || (fits(term.quasi->den) && is_moderate(term.quasi->e) && is_moderate(term.quasi->lo) &&
                                  is_moderate(term.quasi->hi));
         });
}

bool is_moderate(const Guard& g) {
  return is_moderate(g.e) && g.of.size() <= kMostConditions &&
         std::all_of(g.of.begin(), g.of.end(), [](const Guard& each) { return is_moderate(each); });
}

bool uses_only(const std::vector<VarId>& used, VarId end) {
  return std::all_of(used.begin(), used.end(), [&](VarId v) { return v < end; });
}

Status validate_statement(const Program& program, const Mapped& statement, size_t members) {
  if (statement.equation >= program.equations.size())
    return malformed("names an equation that the program does not have");
  if (statement.members.size() != members) return malformed("has statements with different numbers of members");
  VarId end = program.index_var(static_cast<uint32_t>(program.equations[statement.equation].index_names.size()));
  for (const Affine& member : statement.members) {
    std::vector<VarId> used;
    collect_variables(member, used);
    if (!is_moderate(member)) return malformed("has numbers above 2^40");
    if (!member.is_linear() || !uses_only(used, end))
      return malformed("has a member that is no linear function of the equation's indices");
  }
  if (statement.piece.size() > kMostConditions) return malformed("has a statement with too many conditions");
  const Equation& equation = program.equations[statement.equation];
  if (statement.part != SumPart::whole && equation.rhs->op != Op::reduce)
    return malformed("has a part of a statement that folds nothing");
  const VarId reduced = program.index_var(ir::bound_indices(equation));
  if (statement.part == SumPart::first && std::any_of(statement.members.begin(), statement.members.end(),
                                                      [&](const Affine& e) { return mentions_from(e, reduced); }))
    return malformed("has first values that move with a reduced index");
  for (const Guard& guard : statement.piece) {
    if (!is_moderate(guard)) return malformed("has too large numbers or conditions");
    std::vector<VarId> used;
    collect_variables(guard, used);
    if (!uses_only(used, end)) return malformed("has a piece with an unknown variable");
  }
  return Ok{};
}

bool mentions_from(const Guard& guard, VarId first) {
  std::vector<VarId> used;
  collect_variables(guard, used);
  return !uses_only(used, first);
}

}  // namespace

bool mentions_from(const Affine& e, VarId first) {
  return std::any_of(e.terms.begin(), e.terms.end(), [&](const Term& term) { return term.var >= first; });
}

namespace {

bool are_cells(const std::vector<Affine>& cell, uint32_t rank) {
  const auto is_plain = [&](const Affine& e) {
    return std::all_of(e.terms.begin(), e.terms.end(), [&](const Term& term) {
      return !term.quasi && term.var >= kCellVar && term.var < kCellVar + rank;
    });
  };
  return cell.empty() || (cell.size() == rank && std::all_of(cell.begin(), cell.end(), is_plain));
}

}  // namespace

Status validate(const Program& program, const BandQuestion& question) {
  if (question.statements.empty() || question.statements.size() > kMostStatements)
    return malformed("needs 1 to " + std::to_string(kMostStatements) + " statements");
  size_t members = question.statements.front().members.size();
  if (members == 0 || members > kMostMembers)
    return malformed("needs 1 to " + std::to_string(kMostMembers) + " members");
  for (const Mapped& statement : question.statements)
    if (Status ok = validate_statement(program, statement, members); !ok) return ok;
  if (question.folds.size() > kMostFolds) return malformed("has more than " + std::to_string(kMostFolds) + " folds");
  for (const BandFold& fold : question.folds) {
    if (fold.tensor >= program.tensors.size() || fold.dim >= program.tensors[fold.tensor].rank || fold.window < 1)
      return malformed("has a fold that fits no tensor");
    if (!are_cells(fold.cell, program.tensors[fold.tensor].rank))
      return malformed("has a fold along cells that fit no tensor");
    for (const BandFold& other : question.folds)
      if (&other != &fold && other.tensor == fold.tensor && (other.dim == fold.dim || other.cell != fold.cell))
        return malformed("folds a dimension twice");
  }
  return Ok{};
}

BandModel::BandModel(const Model& model, BandQuestion question) : model_(model), question_(std::move(question)) {
  std::vector<Set> first_done;
  for (EquationId q = 0; q < program().equations.size(); ++q)
    first_done.emplace_back(isl_set_empty(model.statement_space(q).take()));
  std::vector<std::vector<Affine>> members;
  for (uint32_t s = 0; s < question_.statements.size(); ++s) {
    add_points(s, first_done);
    members.push_back(question_.statements[s].members);
  }
  map(members);
}

void BandModel::add_points(uint32_t s, std::vector<Set>& first_done) {
  const Mapped& statement = question_.statements[s];
  EquationId q = statement.equation;
  const Equation& equation = program().equations[q];
  const VarId reduced = program().index_var(ir::bound_indices(equation));
  Space space = model_.statement_space(q);
  Set all = model_.all_instances(q), first = model_.instances(q);
  for (const Guard& guard : statement.piece) {
    Set where = model_.where(guard, space);
    // An element has its first value once: with the first of the statements that share its folds.
    if (!mentions_from(guard, reduced)) first = intersect(std::move(first), where);
    all = intersect(std::move(all), std::move(where));
  }
  if (!is_empty(all) && statement.part != SumPart::first)
    points_.push_back({s, q, false, coalesced(std::move(all)), {}});
  if (equation.rhs->op != Op::reduce || statement.part == SumPart::folds) return;
  first = subtract(std::move(first), first_done[q]);
  if (is_empty(first)) return;
  first_done[q] = unite(first_done[q], first);
  points_.push_back({s, q, true, std::move(first), {}});
}

void BandModel::ask(const BandQuestion& question) {
  question_ = question;
  std::vector<std::vector<Affine>> members;
  for (const Mapped& statement : question.statements) members.push_back(statement.members);
  map(members);
}

void BandModel::map(const std::vector<std::vector<Affine>>& members) {
  for (uint32_t s = 0; s < members.size(); ++s) question_.statements[s].members = members[s];
  for (Points& points : points_) {
    points.members.clear();
    for (const Affine& member : members[points.statement]) points.members.push_back(at(points, member));
  }
}

Affine BandModel::at(const Points& points, const Affine& member) const {
  if (!points.first ||
      !mentions_from(member, program().index_var(ir::bound_indices(program().equations[points.equation]))))
    return member;
  for (const Points& folds : points_)
    if (folds.statement == points.statement && !folds.first)
      return Affine::of(integer(Val(
          isl_set_min_val(folds.instances.get(), value(member, model_.statement_space(points.equation), 0).get()))));
  return Affine::of(0);
}

const std::vector<std::pair<int, Map>>& BandModel::reads(const Points& at, TensorId tensor) const {
  const auto known = reads_.find({&at, tensor});
  if (known != reads_.end()) return known->second;
  std::vector<std::pair<int, Map>> out;
  if (at.first) return reads_[{&at, tensor}];
  const std::vector<PlacedRead> all = placed_reads(program().equations[at.equation]);
  for (size_t k = 0; k < all.size(); ++k) {
    if (all[k].node->access.id != tensor) continue;
    Map map = restrict_domain(model_.read_map(at.equation, all[k]), at.instances);
    if (!is_empty(map)) out.emplace_back(static_cast<int>(k), coalesced(std::move(map)));
  }
  return reads_.emplace(std::pair(&at, tensor), std::move(out)).first->second;
}

std::optional<Map> BandModel::writes(const Points& at, TensorId tensor) const {
  const auto& targets = program().equations[at.equation].targets;
  if (std::find(targets.begin(), targets.end(), tensor) == targets.end()) return std::nullopt;
  return restrict_domain(model_.element_map(at.equation, tensor), at.instances);
}

Set flat(const Pairs& pairs) {
  return Set(isl_set_reset_tuple_id(isl_set_flatten(isl_map_wrap(pairs.map.copy()))));
}

Aff distance(const BandModel& band, const Pairs& pairs, const Affine& source, const Affine& sink, const Space& space) {
  const uint32_t offset = static_cast<uint32_t>(band.program().equations[pairs.source->equation].index_names.size());
  return Aff(isl_aff_sub(band.value(sink, space, offset).take(), band.value(source, space, 0).take()));
}

Aff BandModel::value(const Affine& member, const Space& space, uint32_t offset) const {
  isl_ctx* ctx = model_.context().get();
  isl_aff* out =
      isl_aff_val_on_domain(isl_local_space_from_space(space.copy()), isl_val_int_from_si(ctx, member.constant));
  const VarId first = program().index_var(0);
  for (const Term& term : member.terms) {
    isl_val* coefficient = isl_val_int_from_si(ctx, term.coeff);
    if (term.var < first)
      out = isl_aff_add_constant_val(
          out, isl_val_mul(coefficient, isl_val_int_from_si(ctx, program().parameters[term.var].value)));
    else
      out = isl_aff_set_coefficient_val(out, isl_dim_in, static_cast<int>(offset + term.var - first), coefficient);
  }
  return Aff(out);
}

}  // namespace polyweft::poly
