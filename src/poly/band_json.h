// Questions and answers about bands as JSON, for both sides of polyweft-isl. An Affine is [constant, [[coefficient,
// variable], ..], [quotients and clamps]].
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "poly/band.h"

namespace polyweft::poly {

/// Nothing sensible is nested deeper; a reader refuses it as a json::exception.
inline constexpr int kMostNesting = 64;

inline nlohmann::json to_json(const Affine& e) {
  using nlohmann::json;
  json linear = json::array(), quasi = json::array();
  for (const Term& term : e.terms) {
    if (!term.quasi)
      linear.push_back({term.coeff, term.var});
    else if (term.quasi->kind == Quasi::Kind::floor_div)
      quasi.push_back({term.coeff, to_json(term.quasi->e), term.quasi->den});
    else
      quasi.push_back({term.coeff, to_json(term.quasi->e), to_json(term.quasi->lo), to_json(term.quasi->hi)});
  }
  return json::array({e.constant, linear, quasi});
}

inline nlohmann::json to_json(const Guard& g) {
  nlohmann::json of = nlohmann::json::array();
  for (const Guard& each : g.of) of.push_back(to_json(each));
  return {{"kind", static_cast<int>(g.kind)}, {"e", to_json(g.e)}, {"of", of}};
}

inline nlohmann::json to_json(const Mapped& statement) {
  nlohmann::json piece = nlohmann::json::array(), members = nlohmann::json::array();
  for (const Guard& g : statement.piece) piece.push_back(to_json(g));
  for (const Affine& e : statement.members) members.push_back(to_json(e));
  return {{"equation", statement.equation},
          {"piece", piece},
          {"members", members},
          {"part", static_cast<int>(statement.part)}};
}

inline nlohmann::json to_json(const BandQuestion& question) {
  nlohmann::json statements = nlohmann::json::array(), folds = nlohmann::json::array();
  for (const Mapped& statement : question.statements) statements.push_back(to_json(statement));
  for (const BandFold& fold : question.folds) {
    nlohmann::json cell = nlohmann::json::array();
    for (const Affine& e : fold.cell) cell.push_back(to_json(e));
    folds.push_back({fold.tensor, fold.dim, fold.window, fold.forward, cell});
  }
  nlohmann::json online = nlohmann::json::array(), snapshots = nlohmann::json::array();
  for (const OnlineMaximum& each : question.online) online.push_back({each.maximum, each.block});
  for (const Snapshot& s : question.snapshots) snapshots.push_back({s.equation, s.tensor, s.read, s.name});
  return {{"statements", statements}, {"folds", folds}, {"online", online}, {"snapshots", snapshots}};
}

inline nlohmann::json to_json(const BandFacts& facts) {
  nlohmann::json relations = nlohmann::json::array(), inside = nlohmann::json::array();
  for (const Relation& r : facts.relations)
    relations.push_back({static_cast<int>(r.kind), r.source, r.sink, r.tensor, r.lo, r.hi, r.may_be_zero,
                         r.is_lex_positive, r.witness});
  for (const Affine& e : facts.inside) inside.push_back(to_json(e));
  return {{"relations", relations}, {"lo", facts.lo}, {"hi", facts.hi}, {"inside", inside}};
}

inline nlohmann::json to_json(const BandProposal& proposal) {
  nlohmann::json statements = nlohmann::json::array();
  for (const Mapped& statement : proposal.statements) statements.push_back(to_json(statement));
  return {{"statements", statements}, {"names", proposal.names}};
}

inline void refuse_nesting(int depth) {
  if (depth > kMostNesting) throw nlohmann::json::type_error::create(302, "nested too deeply", nullptr);
}

inline Affine affine_from(const nlohmann::json& j, int depth = 0) {
  refuse_nesting(depth);
  Affine out = Affine::of(j.at(0).get<int64_t>());
  for (const auto& term : j.at(1)) {
    out.terms.push_back({term.at(1).get<VarId>(), term.at(0).get<int64_t>(), nullptr});
    const size_t n = out.terms.size();
    if (out.terms[n - 1].coeff == 0 || (n > 1 && out.terms[n - 2].var >= out.terms[n - 1].var))
      throw nlohmann::json::type_error::create(302, "no sum of terms", nullptr);
  }
  for (const auto& term : j.at(2)) {
    Quasi quasi;
    quasi.e = affine_from(term.at(1), depth + 1);
    if (term.size() == 3) {
      quasi.den = std::max<int64_t>(1, term.at(2).get<int64_t>());
    } else {
      quasi.kind = Quasi::Kind::clamp;
      quasi.lo = affine_from(term.at(2), depth + 1);
      quasi.hi = affine_from(term.at(3), depth + 1);
    }
    out.terms.push_back({kNoVar, term.at(0).get<int64_t>(), std::make_shared<const Quasi>(std::move(quasi))});
  }
  return out;
}

inline Guard guard_from(const nlohmann::json& j, int depth = 0) {
  refuse_nesting(depth);
  Guard out;
  const int kind = j.at("kind").get<int>();
  const auto& of = j.at("of");
  if (kind < 0 || kind > static_cast<int>(Guard::Kind::eq0) ||
      (kind == static_cast<int>(Guard::Kind::negation) && of.size() != 1))
    throw nlohmann::json::type_error::create(302, "not a guard", nullptr);
  out.kind = static_cast<Guard::Kind>(kind);
  out.e = affine_from(j.at("e"), depth);
  for (const auto& each : of) out.of.push_back(guard_from(each, depth + 1));
  return out;
}

inline Mapped mapped_from(const nlohmann::json& j) {
  Mapped out;
  out.equation = j.at("equation").get<EquationId>();
  for (const auto& g : j.at("piece")) out.piece.push_back(guard_from(g));
  for (const auto& e : j.at("members")) out.members.push_back(affine_from(e));
  const int part = j.value("part", 0);
  if (part < 0 || part > static_cast<int>(SumPart::folds))
    throw nlohmann::json::type_error::create(302, "not a part of a sum", nullptr);
  out.part = static_cast<SumPart>(part);
  return out;
}

inline BandQuestion question_from(const nlohmann::json& j) {
  BandQuestion out;
  for (const auto& statement : j.at("statements")) out.statements.push_back(mapped_from(statement));
  for (const auto& fold : j.at("folds")) {
    out.folds.push_back({fold.at(0).get<TensorId>(),
                         fold.at(1).get<uint32_t>(),
                         fold.at(2).get<int64_t>(),
                         fold.at(3).get<bool>(),
                         {}});
    for (const auto& e : fold.at(4)) out.folds.back().cell.push_back(affine_from(e));
  }
  for (const auto& each : j.value("online", nlohmann::json::array()))
    out.online.push_back({each.at(0).get<TensorId>(), each.at(1).get<int64_t>()});
  for (const auto& s : j.value("snapshots", nlohmann::json::array()))
    out.snapshots.push_back(
        {s.at(0).get<EquationId>(), s.at(1).get<TensorId>(), s.at(2).get<uint32_t>(), s.at(3).get<std::string>()});
  return out;
}

inline BandFacts facts_from(const nlohmann::json& j) {
  using Numbers = std::vector<int64_t>;
  BandFacts out;
  for (const auto& r : j.at("relations"))
    out.relations.push_back({static_cast<Relation::Kind>(r.at(0).get<int>()), r.at(1).get<uint32_t>(),
                             r.at(2).get<uint32_t>(), r.at(3).get<TensorId>(), r.at(4).get<Numbers>(),
                             r.at(5).get<Numbers>(), r.at(6).get<bool>(), r.at(7).get<bool>(),
                             r.at(8).get<std::string>()});
  out.lo = j.at("lo").get<std::vector<Numbers>>();
  out.hi = j.at("hi").get<std::vector<Numbers>>();
  for (const auto& e : j.at("inside")) out.inside.push_back(affine_from(e));
  return out;
}

inline BandProposal proposal_from(const nlohmann::json& j) {
  BandProposal out;
  for (const auto& statement : j.at("statements")) out.statements.push_back(mapped_from(statement));
  out.names = j.at("names").get<std::vector<std::string>>();
  return out;
}

}  // namespace polyweft::poly
