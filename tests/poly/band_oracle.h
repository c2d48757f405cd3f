// Facts about a band by enumeration of all its instances: shares nothing with src/poly.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/values/domain.h"
#include "poly/band.h"

namespace polyweft::poly_test {

using Element = std::pair<TensorId, std::vector<int64_t>>;

/// An instance, or the place of an element's first value.
struct Moment {
  uint32_t statement = 0;
  EquationId equation = 0;
  bool first = false;
  std::vector<int64_t> own, reduced, members;
  std::vector<Element> writes;
  std::vector<std::pair<int, Element>> reads;  ///< with the number of the read in the equation
};

inline void add_box(const Access& access, size_t d, const ir::Environment& env, std::vector<int64_t> at,
                    std::vector<Element>& out) {
  if (d == access.index.size()) {
    out.push_back({access.id, std::move(at)});
    return;
  }
  const Subscript& s = access.index[d];
  int64_t base = evaluate(s.affine, env), lo = s.data ? evaluate(s.lo, env) : 0, hi = s.data ? evaluate(s.hi, env) : 0;
  for (int64_t x = base + lo; x <= base + hi; ++x) {
    at.push_back(x);
    add_box(access, d + 1, env, at, out);
    at.pop_back();
  }
}

/// `number`: of the next read in the order of the text, those of branches not taken included.
inline void add_reads(const Expr& e, const ir::Environment& env, bool is_taken, int& number,
                      std::vector<std::pair<int, Element>>& out) {
  if (e->op == Op::guarded) {
    const bool then = evaluate(e->guard, env);
    add_reads(e->args[0], env, is_taken && then, number, out);
    add_reads(e->args[1], env, is_taken && !then, number, out);
    return;
  }
  if (e->op == Op::read) {
    std::vector<Element> elements;
    if (is_taken) add_box(e->access, 0, env, {}, elements);
    for (Element& element : elements) out.emplace_back(number, std::move(element));
    ++number;
    for (const Subscript& s : e->access.index)
      if (s.data) add_reads(s.data, env, is_taken, number, out);
  }
  for (const Expr& arg : e->args) add_reads(arg, env, is_taken, number, out);
}

class BandOracle {
 public:
  BandOracle(const Program& program, const poly::BandQuestion& question) : program_(program), question_(question) {
    for (EquationId q = 0; q < program.equations.size(); ++q) add_equation(q);
    std::set<std::pair<EquationId, std::vector<int64_t>>> has_first;
    for (uint32_t s = 0; s < question.statements.size(); ++s) add_statement(s, has_first);
    add_relations();
  }

  poly::BandFacts facts;
  std::vector<Moment> moments;  ///< of the band
  bool folds_clash = false;     ///< with what lies outside the band

  /// Whether some instance lies at these members.
  bool is_inside(const std::vector<int64_t>& members) const {
    return std::any_of(moments.begin(), moments.end(), [&](const Moment& m) { return m.members == members; });
  }
  static std::vector<Moment> of_equation(const Program& program, EquationId q) {
    std::vector<Moment> out;
    const Equation& equation = program.equations[q];
    ir::Environment env = ir::environment_of(program, equation);
    ir::for_each_point(ir::slot_ranges(equation), equation.where, env, [&] {
      Moment moment;
      moment.equation = q;
      for (const Slot& slot : equation.slots)
        if (slot.var != kNoVar) moment.own.push_back(env[slot.var]);
      for (TensorId target : equation.targets) moment.writes.push_back({target, ir::element_at(equation, env)});
      if (equation.rhs->op != Op::reduce) {
        int number = 0;
        add_reads(equation.rhs, env, true, number, moment.reads);
        out.push_back(moment);
        return true;
      }
      moment.first = true;
      out.push_back(moment);
      moment.first = false;
      ir::for_each_point(equation.rhs->reduction.ranges, equation.rhs->reduction.where, env, [&] {
        moment.reads.clear();
        moment.reduced.clear();
        for (const IndexRange& range : equation.rhs->reduction.ranges) moment.reduced.push_back(env[range.var]);
        int number = 0;
        for (const Expr& arg : equation.rhs->args) add_reads(arg, env, true, number, moment.reads);
        out.push_back(moment);
        return true;
      });
      for (const IndexRange& range : equation.rhs->reduction.ranges) env[range.var] = 0;
      return true;
    });
    return out;
  }

 private:
  void add_equation(EquationId q) { all_.push_back(of_equation(program_, q)); }

  ir::Environment environment(const Moment& m) const {
    const Equation& equation = program_.equations[m.equation];
    ir::Environment env = ir::environment_of(program_, equation);
    size_t k = 0;
    for (const Slot& slot : equation.slots)
      if (slot.var != kNoVar) env[slot.var] = m.own[k++];
    for (size_t r = 0; r < m.reduced.size(); ++r) env[equation.rhs->reduction.ranges[r].var] = m.reduced[r];
    return env;
  }

  void add_statement(uint32_t s, std::set<std::pair<EquationId, std::vector<int64_t>>>& has_first) {
    const poly::Mapped& statement = question_.statements[s];
    const size_t before = moments.size();
    std::vector<std::optional<int64_t>> least(statement.members.size());
    for (Moment m : all_[statement.equation]) {
      ir::Environment env = environment(m);
      bool inside = true;
      for (const Guard& g : statement.piece) inside &= (m.first && moves(g, m)) || evaluate(g, env);
      if (!inside || (m.first && !has_first.insert({m.equation, m.own}).second)) continue;
      m.statement = s;
      for (size_t k = 0; k < statement.members.size(); ++k) {
        m.members.push_back(evaluate(statement.members[k], env));
        if (!m.first) least[k] = std::min(least[k].value_or(m.members[k]), m.members[k]);
      }
      moments.push_back(std::move(m));
    }
    facts.lo.emplace_back(statement.members.size(), 0);
    facts.hi.emplace_back(statement.members.size(), 0);
    for (size_t at = before; at < moments.size(); ++at) {
      Moment& m = moments[at];
      for (size_t k = 0; k < m.members.size(); ++k) {
        if (m.first && moves(guard_ge0(statement.members[k]), m)) m.members[k] = least[k].value_or(0);
        bool is_new = at == before;
        facts.lo[s][k] = is_new ? m.members[k] : std::min(facts.lo[s][k], m.members[k]);
        facts.hi[s][k] = is_new ? m.members[k] + 1 : std::max(facts.hi[s][k], m.members[k] + 1);
      }
    }
  }
  /// Whether the condition speaks of a reduced index.
  bool moves(const Guard& g, const Moment& m) const {
    std::vector<VarId> used;
    collect_variables(g, used);
    for (const IndexRange& range : program_.equations[m.equation].rhs->reduction.ranges)
      if (std::find(used.begin(), used.end(), range.var) != used.end()) return true;
    return false;
  }

  void relate(poly::Relation::Kind kind, TensorId tensor, int access, const Moment& source, const Moment& sink) {
    std::vector<int64_t> distance;
    for (size_t k = 0; k < source.members.size(); ++k) distance.push_back(sink.members[k] - source.members[k]);
    size_t first = 0;
    while (first < distance.size() && distance[first] == 0) ++first;
    const bool is_zero = first == distance.size(), is_backward = !is_zero && distance[first] < 0;
    auto [found, is_new] = related_.try_emplace(
        {kind, source.statement, sink.statement, tensor, access, first, is_backward},
        poly::Relation{kind, source.statement, sink.statement, tensor, distance, distance, is_zero, !is_backward, ""});
    poly::Relation& out = found->second;
    for (size_t k = 0; k < distance.size(); ++k) {
      out.lo[k] = std::min(out.lo[k], distance[k]);
      out.hi[k] = std::max(out.hi[k], distance[k]);
    }
  }

  /// Whether `later` takes the cell of `e` after it.
  bool takes(const Element& later, const Element& e) const {
    if (later.first != e.first || later.second == e.second) return false;
    std::vector<bool> folded(e.second.size(), false);
    int sign = 0;
    for (const poly::BandFold& fold : question_.folds) {
      if (fold.tensor != e.first) continue;
      folded[fold.dim] = true;
      int64_t d = later.second[fold.dim] - e.second[fold.dim];
      if (d % fold.window != 0) return false;
      if (sign == 0 && d != 0) sign = (d > 0) == fold.forward ? 1 : -1;
    }
    for (size_t d = 0; d < folded.size(); ++d)
      if (!folded[d] && later.second[d] != e.second[d]) return false;
    return sign > 0;
  }

  void add_relations() {
    using Kind = poly::Relation::Kind;
    std::map<Element, std::vector<const Moment*>> writers;
    for (const Moment& m : moments)
      for (const Element& e : m.writes) writers[e].push_back(&m);
    for (const Moment& sink : moments) {
      for (const auto& [access, e] : sink.reads)
        if (auto found = writers.find(e); found != writers.end())
          for (const Moment* source : found->second) relate(Kind::flow, e.first, access, *source, sink);
      if (program_.equations[sink.equation].rhs->op != Op::reduce || sink.first) continue;
      for (const Moment* source : writers[sink.writes.front()]) {
        if (source->first && source->statement != sink.statement)
          relate(Kind::flow, sink.writes.front().first, -1, *source, sink);
        if (!source->first && source->reduced < sink.reduced)
          relate(Kind::order, sink.writes.front().first, -1, *source, sink);
      }
    }
    std::map<Element, std::vector<std::pair<int, const Moment*>>> touched;
    for (const Moment& m : moments) {
      for (const Element& e : m.writes) touched[e].emplace_back(-1, &m);
      for (const auto& [access, e] : m.reads) touched[e].emplace_back(access, &m);
    }
    if (question_.folds.empty()) touched.clear();
    for (const auto& [e, users] : touched)
      for (const auto& [later, definers] : writers)
        if (takes(later, e))
          for (const auto& [access, source] : users)
            for (const Moment* sink : definers)
              if (source != sink || program_.equations[sink->equation].rhs->op == Op::reduce)
                relate(Kind::anti, e.first, access, *source, *sink);
    for (const auto& [key, relation] : related_) facts.relations.push_back(relation);
    find_clash(writers);
  }

  std::set<EquationId> needs(std::set<EquationId> from) const {
    std::map<Element, EquationId> makers;
    for (EquationId r = 0; r < all_.size(); ++r)
      for (const Moment& m : all_[r])
        for (const Element& e : m.writes) makers[e] = r;
    std::set<EquationId> out;
    for (bool grown = true; grown;) {
      std::set<EquationId> next;
      for (EquationId q : from)
        for (const Moment& m : all_[q])
          for (const auto& [access, e] : m.reads)
            if (auto maker = makers.find(e); maker != makers.end()) next.insert(maker->second);
      size_t before = out.size();
      out.insert(next.begin(), next.end());
      grown = out.size() > before;
      from = out;
    }
    return out;
  }

  void find_clash(const std::map<Element, std::vector<const Moment*>>& writers) {
    std::set<EquationId> inside;
    for (const poly::Mapped& statement : question_.statements) inside.insert(statement.equation);
    const std::set<EquationId> needed = needs(inside);
    std::set<Element> before, after, needed_inside, read_later;
    for (const Moment& m : moments)
      for (const auto& [access, e] : m.reads) needed_inside.insert(e);
    for (EquationId q = 0; q < all_.size(); ++q) {
      const bool later = !inside.contains(q) && !needed.contains(q);
      std::set<EquationId> own = needs({q});
      bool needs_band = std::any_of(own.begin(), own.end(), [&](EquationId r) { return inside.contains(r); });
      for (const Moment& m : all_[q]) {
        for (const Element& e : m.writes) {
          if (!writers.contains(e)) (later && needs_band ? after : before).insert(e);
          if (program_.tensors[e.first].kind == TensorKind::output) read_later.insert(e);
        }
        if (later)
          for (const auto& [access, e] : m.reads) read_later.insert(e);
      }
    }
    std::set<Element> made = before;
    for (const auto& [e, users] : writers) made.insert(e);
    auto wanted = [&](const Element& e) { return needed_inside.contains(e) || read_later.contains(e); };
    for (const Element& e : made)
      for (const auto* takers : {&made, &after})
        for (const Element& taker : *takers) {
          const bool forward = takes(taker, e), backward = takes(e, taker);
          if (!forward && !backward) continue;
          if (takers == &after) folds_clash |= read_later.contains(e);
          if (takers == &after) continue;
          if (before.contains(e) && before.contains(taker)) folds_clash |= wanted(e);
          if (before.contains(e) && !before.contains(taker)) folds_clash |= backward && wanted(e);
          if (!before.contains(taker)) folds_clash |= forward && read_later.contains(e);
        }
    for (const Element& e : after)
      for (const Element& taker : after) folds_clash |= (takes(taker, e) || takes(e, taker)) && read_later.contains(e);
  }

  const Program& program_;
  const poly::BandQuestion& question_;
  std::map<std::tuple<poly::Relation::Kind, uint32_t, uint32_t, TensorId, int, size_t, bool>, poly::Relation> related_;
  std::vector<std::vector<Moment>> all_;  ///< of each equation
};

}  // namespace polyweft::poly_test
