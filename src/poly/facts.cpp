#include "poly/facts.h"

#include <algorithm>

#include "poly/witness.h"

namespace polyweft::poly {
namespace {

struct Relation {
  std::string name;
  size_t source = 0, sink = 0;  ///< positions in the list of statements
  Map map;                      ///< { S_source[i] -> S_sink[j] }
};

Set source_instances(const Model& model, EquationId q) {
  return model.all_instances(q);
}

std::string tensor_name(const Program& program, EquationId q) {
  return statement_name(program, q);
}

void add_flow(const Model& model, const std::vector<MappedStatement>& statements, size_t sink, std::vector<Relation>& out) {
  const Program& program = model.program();
  EquationId q = statements[sink].equation;
  for (size_t source = 0; source < statements.size(); ++source) {
    EquationId r = statements[source].equation;
    Map flow(isl_map_empty(isl_space_map_from_domain_and_range(model.statement_space(r).take(), model.statement_space(q).take())));
    for (const PlacedRead& read : placed_reads(program.equations[q]))
      for (TensorId target : program.equations[r].targets)
        if (target == read.node->access.id)
          flow = unite(std::move(flow), compose(restrict_domain(model.element_map(r, target), source_instances(model, r)), reverse(model.read_map(q, read))));
    if (!is_empty(flow)) out.push_back({"flow " + tensor_name(program, r) + " -> " + tensor_name(program, q), source, sink, std::move(flow)});
  }
}

void add_order(const Model& model, const std::vector<MappedStatement>& statements, size_t k, std::vector<Relation>& out) {
  const Program& program = model.program();
  EquationId q = statements[k].equation;
  const Equation& equation = program.equations[q];
  if (equation.rhs->op != Op::reduce) return;
  unsigned own = static_cast<unsigned>(equation.index_names.size() - equation.rhs->reduction.ranges.size());
  Map order(isl_map_lex_lt(model.statement_space(q).take()));
  for (unsigned d = 0; d < own; ++d) order = Map(isl_map_equate(order.take(), isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(d)));
  Set all = model.all_instances(q);
  order = restrict_range(restrict_domain(std::move(order), all), all);
  if (!is_empty(order)) out.push_back({std::string("order of ") + name_of(equation.rhs->reduction.reducer), k, k, std::move(order)});
}

std::vector<Relation> relations(const Model& model, const std::vector<MappedStatement>& statements, ReductionOrder order) {
  std::vector<Relation> out;
  for (size_t k = 0; k < statements.size(); ++k) {
    add_flow(model, statements, k, out);
    if (order == ReductionOrder::kept) add_order(model, statements, k, out);
  }
  return out;
}

/// { S_q[i] -> [f_0(i), f_1(i), ..] } padded with zeros to `dims`.
Map functions_map(const Model& model, const MappedStatement& statement, unsigned dims) {
  Space space = model.statement_space(statement.equation);
  isl_space* line = isl_space_set_alloc(model.context().get(), 0, dims);
  Map out(isl_map_from_domain_and_range(isl_set_universe(space.copy()), isl_set_universe(line)));
  for (unsigned d = 0; d < dims; ++d) {
    Affine f = d < statement.functions.size() ? statement.functions[d] : Affine::of(0);
    isl_map* one = isl_map_from_pw_aff(model.value(f, space).take());
    one = isl_map_insert_dims(one, isl_dim_out, 0, d);
    out = intersect(std::move(out), Map(isl_map_add_dims(one, isl_dim_out, dims - d - 1)));
  }
  return out;
}

unsigned longest(const std::vector<MappedStatement>& statements) {
  size_t dims = 1;
  for (const MappedStatement& s : statements) dims = std::max(dims, s.functions.size());
  return static_cast<unsigned>(dims);
}

DeltaBox box_of(const Relation& relation, const Map& source, const Map& sink, unsigned dims) {
  Map moved(isl_map_apply_range(isl_map_apply_domain(relation.map.copy(), source.copy()), sink.copy()));
  Set deltas(isl_map_deltas(moved.take()));
  DeltaBox box;
  box.relation = relation.name;
  for (unsigned d = 0; d < dims; ++d) {
    box.lo.push_back(least(deltas, d));
    box.hi.push_back(greatest(deltas, d));
  }
  return box;
}

std::string instance_text(const Program& program, EquationId q, const std::vector<int64_t>& point) {
  std::string out = statement_name(program, q);
  const auto& names = program.equations[q].index_names;
  for (size_t k = 0; k < names.size(); ++k) out += (k ? ", " : "[") + names[k] + "=" + std::to_string(point[k]);
  return out + (names.empty() ? "" : "]");
}

std::optional<Violation> violated(const Model& model, const Relation& relation, const std::vector<MappedStatement>& times) {
  unsigned dims = longest(times);
  Map source = functions_map(model, times[relation.source], dims), sink = functions_map(model, times[relation.sink], dims);
  isl_map* ordered = isl_map_lex_lt(isl_space_range(isl_map_get_space(source.get())));
  Map kept = compose(compose(source, Map(ordered)), reverse(sink));
  Map wrong(isl_map_subtract(relation.map.copy(), kept.take()));
  if (is_empty(wrong)) return std::nullopt;
  auto found = witness(model, wrong, 10 * kQuota);
  if (!found) throw IslFailure();
  Violation out;
  const Program& program = model.program();
  out.source = times[relation.source].equation;
  out.sink = times[relation.sink].equation;
  auto middle = found->point.begin() + static_cast<int64_t>(program.equations[out.source].index_names.size());
  out.source_point.assign(found->point.begin(), middle);
  out.sink_point.assign(middle, found->point.end());
  out.relation = relation.name;
  out.text = instance_text(program, out.source, out.source_point) + " must run before " + instance_text(program, out.sink, out.sink_point);
  return out;
}

}  // namespace

Result<std::vector<DeltaBox>> delta_boxes(const Program& program, const std::vector<MappedStatement>& band, ReductionOrder order) {
  Context context;
  return answer(context, 10 * kQuota, program.name + ": distances of the dependences", [&] {
    Model model(context, program, Sizes::bound);
    std::vector<DeltaBox> out;
    unsigned dims = longest(band);
    for (const Relation& relation : relations(model, band, order))
      out.push_back(box_of(relation, functions_map(model, band[relation.source], dims), functions_map(model, band[relation.sink], dims), dims));
    return out;
  });
}

Result<std::optional<Violation>> first_violation(const Program& program, const std::vector<MappedStatement>& times, ReductionOrder order) {
  Context context;
  return answer(context, 10 * kQuota, program.name + ": legality of an order", [&]() -> std::optional<Violation> {
    Model model(context, program, Sizes::bound);
    for (const Relation& relation : relations(model, times, order))
      if (auto found = violated(model, relation, times)) return found;
    return std::nullopt;
  });
}

}  // namespace polyweft::poly
