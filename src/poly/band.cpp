#include "poly/band.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/normalize/online_maximum.h"
#include "ir/normalize/snapshot.h"
#include "ir/values/slots.h"
#include "poly/band_json.h"
#include "poly/band_points.h"
#include "poly/coalesced.h"
#include "poly/witness.h"

namespace polyweft::poly {
namespace {

/// Operations of isl for the whole answer.
constexpr unsigned long kBandQuota = 20 * kQuota;

void add(std::vector<Pairs>& out, Relation::Kind kind, TensorId tensor, const Points& source, const Points& sink,
         int access, Map map) {
  if (!is_empty(map)) out.push_back({kind, tensor, &source, &sink, access, coalesced(std::move(map))});
}

std::vector<TensorId> tensors_read(const Program& program, EquationId q) {
  std::vector<TensorId> out;
  for (const PlacedRead& read : placed_reads(program.equations[q])) out.push_back(read.node->access.id);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void add_flow_pairs(const BandModel& band, std::vector<Pairs>& out) {
  for (const Points& sink : band.points())
    for (TensorId tensor : tensors_read(band.program(), sink.equation)) {
      const auto reads = band.reads(sink, tensor);
      if (reads.empty()) continue;
      for (const Points& source : band.points())
        if (auto writes = band.writes(source, tensor))
          for (const auto& [access, map] : reads)
            add(out, Relation::Kind::flow, tensor, source, sink, access, compose(*writes, reverse(map)));
    }
}

/// { S_q -> S_q } at equal elements.
Map same_element(const BandModel& band, const Points& source, const Points& sink, Map map) {
  for (uint32_t d = 0; d < ir::bound_indices(band.program().equations[source.equation]); ++d)
    map = Map(isl_map_equate(map.take(), isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(d)));
  return restrict_range(restrict_domain(std::move(map), source.instances), sink.instances);
}

void add_order_pairs(const BandModel& band, std::vector<Pairs>& out) {
  for (const Points& source : band.points())
    for (const Points& sink : band.points()) {
      const Equation& equation = band.program().equations[source.equation];
      if (source.equation != sink.equation || sink.first || equation.rhs->op != Op::reduce) continue;
      Space space = band.model().statement_space(source.equation);
      TensorId tensor = equation.targets.front();
      if (!source.first)
        add(out, Relation::Kind::order, tensor, source, sink, kDefinition,
            same_element(band, source, sink, Map(isl_map_lex_lt(space.take()))));
      else if (source.statement != sink.statement)  // within a statement the first value comes first by its place
        add(out, Relation::Kind::flow, tensor, source, sink, kDefinition,
            same_element(band, source, sink, Map(isl_map_universe(isl_space_map_from_set(space.take())))));
    }
}

std::string instance_text(const Program& program, const Points& at, const std::vector<int64_t>& point) {
  std::string out = statement_name(program, at.equation);
  const auto& names = program.equations[at.equation].index_names;
  size_t shown = at.first ? ir::bound_indices(program.equations[at.equation]) : names.size();
  for (size_t k = 0; k < shown; ++k) out += (k ? ", " : "[") + names[k] + "=" + std::to_string(point[k]);
  return (at.first ? "the first value of " : "") + out + (shown == 0 ? "" : "]");
}

/// Distances of pairs in one flat set: coordinates of the source, then of the sink.
class Measure {
 public:
  Measure(const BandModel& band, const Pairs& pairs)
      : band_(band), pairs_(pairs), flat_(flat(pairs)), space_(isl_set_get_space(flat_.get())) {
    for (uint32_t m = 0; m < band_.members(); ++m)
      distances_.push_back(distance(band_, pairs_, pairs_.source->members[m], pairs_.sink->members[m], space_));
  }

  /// The pairs by the first member along which their distance is not zero, and its sign: twice the member's number, and
  /// one more where it is negative.
  std::vector<std::pair<uint32_t, Relation>> relations() const {
    std::vector<std::pair<uint32_t, Relation>> out;
    Set rest = flat_;
    for (uint32_t m = 0; m < band_.members(); ++m) {
      const auto [lo, hi] = range(rest, m);
      if (lo == 0 && hi == 0) continue;
      if (hi > 0) out.emplace_back(2 * m, box(lo > 0 ? rest : intersect(rest, positive(m)), true));
      if (lo < 0) out.emplace_back(2 * m + 1, box(hi < 0 ? rest : intersect(rest, negative(m)), false));
      if (lo > 0 || hi < 0) return out;
      rest = intersect(std::move(rest), Set(isl_set_from_basic_set(isl_aff_zero_basic_set(distances_[m].copy()))));
      if (is_empty(rest)) return out;
    }
    out.emplace_back(2 * band_.members(), box(rest, true));
    out.back().second.may_be_zero = true;
    return out;
  }

 private:
  std::pair<int64_t, int64_t> range(const Set& part, uint32_t m) const {
    return {integer(Val(isl_set_min_val(part.get(), distances_[m].get()))),
            integer(Val(isl_set_max_val(part.get(), distances_[m].get())))};
  }
  Set positive(uint32_t m) const {
    return Set(isl_set_from_basic_set(isl_aff_neg_basic_set(isl_aff_neg(distances_[m].copy()))));
  }
  Set negative(uint32_t m) const { return Set(isl_set_from_basic_set(isl_aff_neg_basic_set(distances_[m].copy()))); }
  Relation box(const Set& part, bool is_in_order) const {
    Relation out{pairs_.kind, pairs_.source->statement,      pairs_.sink->statement, pairs_.tensor, {}, {}, false,
                 is_in_order, is_in_order ? "" : words(part)};
    for (uint32_t m = 0; m < band_.members(); ++m) {
      const auto [lo, hi] = range(part, m);
      out.lo.push_back(lo);
      out.hi.push_back(hi);
    }
    // Within one value of the outermost member no distance leaves room: whoever tiles or grows along another one wants
    // to see a pair.
    const bool is_within_one =
        is_in_order && out.lo[0] == 0 && out.hi[0] == 0 && pairs_.source->statement == pairs_.sink->statement;
    if (is_within_one && !is_zero(out)) out.witness = words(part);
    return out;
  }
  static bool is_zero(const Relation& r) {
    return std::all_of(r.lo.begin(), r.lo.end(), [](int64_t d) { return d == 0; }) &&
           std::all_of(r.hi.begin(), r.hi.end(), [](int64_t d) { return d == 0; });
  }
  std::string words(const Set& wrong) const {
    auto found = poly::witness(band_.model(), wrong, kBandQuota);
    if (!found) throw IslFailure();
    auto middle = found->point.begin() +
                  static_cast<int64_t>(band_.program().equations[pairs_.source->equation].index_names.size());
    return instance_text(band_.program(), *pairs_.source, {found->point.begin(), middle}) + " must run before " +
           instance_text(band_.program(), *pairs_.sink, {middle, found->point.end()});
  }

  const BandModel& band_;
  const Pairs& pairs_;
  Set flat_;
  Space space_;
  std::vector<Aff> distances_;
};

void merge(Relation& into, const Relation& more) {
  for (size_t m = 0; m < into.lo.size(); ++m) {
    into.lo[m] = std::min(into.lo[m], more.lo[m]);
    into.hi[m] = std::max(into.hi[m], more.hi[m]);
  }
}

bool is_same(const Relation& a, const Relation& b) {
  return a.kind == b.kind && a.source == b.source && a.sink == b.sink && a.tensor == b.tensor && a.lo == b.lo &&
         a.hi == b.hi && a.may_be_zero == b.may_be_zero && a.is_lex_positive == b.is_lex_positive;
}

void add_hulls(const BandModel& band, BandFacts& facts) {
  const size_t statements = band.question().statements.size();
  facts.lo.assign(statements, std::vector<int64_t>(band.members(), 0));
  facts.hi = facts.lo;
  for (const Points& at : band.points())
    for (uint32_t m = 0; m < band.members(); ++m) {
      Aff member = band.value(at.members[m], band.model().statement_space(at.equation), 0);
      int64_t lo = integer(Val(isl_set_min_val(at.instances.get(), member.get()))),
              hi = integer(Val(isl_set_max_val(at.instances.get(), member.get()))) + 1;
      int64_t &known_lo = facts.lo[at.statement][m], &known_hi = facts.hi[at.statement][m];
      bool is_new = known_lo == known_hi;
      known_lo = is_new ? lo : std::min(known_lo, lo);
      known_hi = is_new ? hi : std::max(known_hi, hi);
    }
}

/// { [b] } of all points.
Set member_points(const BandModel& band) {
  Set all(isl_set_empty(isl_space_set_alloc(band.model().context().get(), 0, band.members())));
  for (const Points& at : band.points()) {
    Space space = band.model().statement_space(at.equation);
    isl_aff_list* list = isl_aff_list_alloc(band.model().context().get(), static_cast<int>(band.members()));
    for (const Affine& member : at.members) list = isl_aff_list_add(list, band.value(member, space, 0).take());
    isl_space* to = isl_space_map_from_domain_and_range(space.take(), isl_set_get_space(all.get()));
    Map map(isl_map_from_multi_aff(isl_multi_aff_from_aff_list(to, list)));
    all = unite(std::move(all), apply(at.instances, std::move(map)));
  }
  return coalesced(Set(isl_set_remove_divs(all.take())));
}

struct Halves {
  std::vector<Affine> conditions;
  bool failed = false;
};

int64_t coefficient(isl_constraint* c, int m) {
  return integer(m < 0 ? Val(isl_constraint_get_constant_val(c))
                       : Val(isl_constraint_get_coefficient_val(c, isl_dim_set, m)));
}

isl_stat add_constraint(isl_constraint* c, void* user) {
  Halves& out = *static_cast<Halves*>(user);
  try {
    if (size(isl_constraint_dim(c, isl_dim_div)) == 0) {
      Affine e = Affine::of(coefficient(c, -1));
      for (int m = 0; m < size(isl_constraint_dim(c, isl_dim_set)); ++m)
        e = e + Affine::variable(static_cast<VarId>(m), coefficient(c, m));
      out.conditions.push_back(e);
      if (yes(isl_constraint_is_equality(c))) out.conditions.push_back(-1 * e);
    }
  } catch (const IslFailure&) {
    out.failed = true;
  }
  isl_constraint_free(c);
  return out.failed ? isl_stat_error : isl_stat_ok;
}

/// Whether e >= 0 in the whole box of members.
bool holds_in(const BandFacts& facts, const Affine& e) {
  long double least = static_cast<long double>(e.constant);
  for (const Term& term : e.terms) {
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (size_t s = 0; s < facts.lo.size(); ++s)
      if (facts.lo[s] != facts.hi[s]) {
        lo = std::min(lo, facts.lo[s][term.var]);
        hi = std::max(hi, facts.hi[s][term.var] - 1);
      }
    least += static_cast<long double>(term.coeff) * static_cast<long double>(term.coeff > 0 ? lo : hi);
  }
  return least >= 0;
}

void add_inside(const BandModel& band, BandFacts& facts) {
  if (band.points().empty()) return;
  Set all = member_points(band);
  Halves halves;
  for (isl_basic_set* hull : {isl_set_simple_hull(all.copy()), isl_set_unshifted_simple_hull(all.copy())}) {
    Handle<isl_basic_set> plain(isl_basic_set_remove_redundancies(isl_basic_set_remove_divs(hull)));
    if (isl_basic_set_foreach_constraint(plain.get(), add_constraint, &halves) != isl_stat_ok) throw IslFailure();
  }
  for (const Affine& e : halves.conditions) {
    if (holds_in(facts, e)) continue;
    auto parallel = std::find_if(facts.inside.begin(), facts.inside.end(),
                                 [&](const Affine& known) { return known.terms == e.terms; });
    if (parallel == facts.inside.end())
      facts.inside.push_back(e);
    else
      parallel->constant = std::min(parallel->constant, e.constant);
  }
}

}  // namespace

std::vector<Pairs> flow_and_order_pairs(const BandModel& band) {
  std::vector<Pairs> out;
  add_flow_pairs(band, out);
  add_order_pairs(band, out);
  return out;
}

Measured measurements(const BandModel& band, const std::vector<Pairs>& pairs) {
  Measured out;
  for (const Pairs& each : pairs)
    for (auto& [first, next] : Measure(band, each).relations()) {
      const RelationPlace place{each.kind, next.source, next.sink, each.tensor, each.access, first};
      auto [at, is_new] = out.try_emplace(place, next);
      if (!is_new) merge(at->second, next);
    }
  return out;
}

std::vector<Relation> relations_of(const Measured& all) {
  std::vector<Relation> out;
  for (const auto& [place, relation] : all)
    if (std::none_of(out.begin(), out.end(), [&](const Relation& known) { return is_same(known, relation); }))
      out.push_back(relation);
  return out;
}

std::vector<Relation> measured(const BandModel& band, const std::vector<Pairs>& pairs) {
  return relations_of(measurements(band, pairs));
}

struct BandAnalyst::Form {
  Form(Program of, std::string form_key) : program(std::move(of)), key(std::move(form_key)) {}

  Program program;
  std::string key;
  Context context;
  Model model{context, program, Sizes::bound};
  std::optional<Error> refused = {};  ///< its instances and reads took more than the quota
};

/// Of flow and order, and of all points.
struct BandAnalyst::ByMembers {
  Measured measured;
  BandFacts facts;  ///< without relations
};

struct BandAnalyst::ByFolds {
  std::optional<Error> refused;
  std::vector<Pairs> pairs;
};

struct BandAnalyst::Prepared {
  std::shared_ptr<Form> form;
  std::string key;
  std::unique_ptr<BandModel> band = {};
  std::vector<Pairs> pairs = {};  ///< flow and order
  std::map<std::string, ByMembers> by_members = {};
  std::map<std::string, ByFolds> by_folds = {};
};

BandAnalyst::BandAnalyst(const Program& program) : program_(program) {}
BandAnalyst::~BandAnalyst() = default;

namespace {

Result<Program> in_form_of(const Program& given, const BandQuestion& question) {
  auto form = ir::with_online_maxima(given, question.online);
  if (!form) return form.error();
  Program program = std::move(*form);
  for (const Snapshot& snapshot : question.snapshots) {
    auto next = ir::with_snapshot(program, snapshot);
    if (!next) return next.error();
    program = std::move(*next);
  }
  return program;
}

/// The oldest of more than some goes.
template <class T>
T& remember(std::vector<T>& known, T made) {
  constexpr size_t kMost = 8;
  if (known.size() >= kMost) known.erase(known.begin());
  return known.emplace_back(std::move(made));
}

std::string form_of(BandQuestion question) {
  question.folds.clear();
  question.statements.clear();
  return to_json(question).dump();
}

std::string folds_of(const BandQuestion& question) {
  BandQuestion folds{{}, question.folds};
  return to_json(folds).dump();
}

std::string members_of(BandQuestion question) {
  question.folds.clear();
  return to_json(question).dump();
}

/// What points and flow depend on: all but the members' values, and folds.
std::string statements_of(BandQuestion question) {
  question.folds.clear();
  for (Mapped& statement : question.statements) statement.members.clear();
  return to_json(question).dump();
}

}  // namespace

Result<std::shared_ptr<BandAnalyst::Form>> BandAnalyst::form(const BandQuestion& question) {
  std::string key = form_of(question);
  for (const auto& known : forms_)
    if (known->key == key) return known;
  auto program = in_form_of(program_, question);
  if (!program) return program.error();
  auto& made = remember(forms_, std::make_shared<Form>(std::move(*program), std::move(key)));
  auto done = answer(made->context, kBandQuota, made->program.name + ": instances and reads", [&] {
    made->model.make_all();
    return true;
  });
  if (!done) made->refused = done.error();
  return made;
}

Result<BandAnalyst::Prepared*> BandAnalyst::prepared(const BandQuestion& question) {
  auto form = this->form(question);
  if (!form) return form.error();
  if ((*form)->refused) return *(*form)->refused;
  if (Status ok = validate((*form)->program, question); !ok) return ok.error();
  std::string key = statements_of(question);
  for (const auto& known : known_)
    if (known->key == key) return known.get();
  auto made = std::make_unique<Prepared>(*form, std::move(key));
  auto done = answer((*form)->context, kBandQuota, (*form)->program.name + ": facts about a band", [&] {
    made->band = std::make_unique<BandModel>((*form)->model, question);
    made->pairs = flow_and_order_pairs(*made->band);
    return true;
  });
  if (!done) return done.error();
  return remember(known_, std::move(made)).get();
}

/// A part of an answer, with a quota of its own.
template <class T, class F>
Result<const T*> BandAnalyst::known_answer(Prepared& of, std::map<std::string, T>& known, const std::string& key,
                                           const F& make) {
  constexpr size_t kMost = 64;
  if (const auto at = known.find(key); at != known.end()) return &at->second;
  auto made =
      answer(of.form->context, kBandQuota, of.form->program.name + ": facts about a band", [&] { return make(of); });
  if (!made) return made.error();
  if (known.size() >= kMost) known.clear();
  return &known.emplace(key, std::move(*made)).first->second;
}

Result<const BandAnalyst::ByMembers*> BandAnalyst::by_members(Prepared& known) {
  return known_answer(known, known.by_members, members_of(known.band->question()), [](const Prepared& of) {
    ByMembers out{measurements(*of.band, of.pairs), {}};
    add_hulls(*of.band, out.facts);
    add_inside(*of.band, out.facts);
    return out;
  });
}

Result<const BandAnalyst::ByFolds*> BandAnalyst::by_folds(Prepared& known) {
  return known_answer(known, known.by_folds, folds_of(known.band->question()), [](const Prepared& of) {
    ByFolds out{fold_conflict(*of.band), {}};
    if (!out.refused) add_fold_pairs(*of.band, out.pairs);
    return out;
  });
}

Result<BandFacts> BandAnalyst::facts(const BandQuestion& question) {
  auto found = prepared(question);
  if (!found) return found.error();
  Prepared& known = **found;
  known.band->ask(question);
  const auto folds = by_folds(known);
  if (!folds) return folds.error();
  if ((*folds)->refused) return *(*folds)->refused;
  const auto members = by_members(known);
  if (!members) return members.error();
  return answer(known.form->context, kBandQuota, known.form->program.name + ": facts about a band", [&] {
    BandFacts out = (*members)->facts;
    Measured all = (*members)->measured;
    all.merge(measurements(*known.band, (*folds)->pairs));  // of other accesses or kinds
    out.relations = relations_of(all);
    return out;
  });
}

Result<BandFacts> band_facts(const Program& program, const BandQuestion& question) {
  return BandAnalyst(program).facts(question);
}

}  // namespace polyweft::poly
