#include "poly/show.h"

#include <algorithm>

#include "poly/band.h"
#include "poly/boxes.h"
#include "poly/coalesced.h"
#include "poly/timeline.h"

namespace polyweft::poly {
namespace {

Set named(const Program& program, EquationId q, Set set) {
  const auto& names = program.equations[q].index_names;
  for (unsigned d = 0; d < names.size(); ++d)
    set = Set(isl_set_set_dim_name(set.take(), isl_dim_set, d, names[d].c_str()));
  return set;
}

Map named(const Program& program, EquationId q, isl_dim_type side, Map map) {
  const auto& names = program.equations[q].index_names;
  for (unsigned d = 0; d < names.size(); ++d) map = Map(isl_map_set_dim_name(map.take(), side, d, names[d].c_str()));
  return map;
}

std::string shown(Map map) {
  return text(coalesced(Map(isl_map_detect_equalities(map.take()))));
}

std::string statement_text(const Model& model, EquationId q) {
  const Program& program = model.program();
  const Equation& equation = program.equations[q];
  std::string out =
      statement_name(program, q) + ":" +
      (equation.rhs->op == Op::reduce ? std::string(" ") + name_of(equation.rhs->reduction.reducer) : "") + "\n";
  Set all = model.all_instances(q);
  out += "  instances  " + text(named(program, q, coalesced(all))) + "\n";
  for (TensorId target : equation.targets)
    out += "  writes     " +
           shown(named(program, q, isl_dim_in,
                       Map(isl_map_gist_domain(model.element_map(q, target).take(), all.copy())))) +
           "\n";
  for (const PlacedRead& read : placed_reads(equation)) {
    Map map = model.read_map(q, read);
    Set where = domain_of(map);
    bool whole = is_subset(all, where);
    if (whole) map = Map(isl_map_gist_domain(map.take(), all.copy()));
    out += "  reads      " + shown(named(program, q, isl_dim_in, std::move(map))) + "\n";
  }
  return out;
}

void add_flow(const Model& model, EquationId source, EquationId sink, std::vector<ShownDependence>& out) {
  const Program& program = model.program();
  Map flow(isl_map_empty(
      isl_space_map_from_domain_and_range(model.statement_space(source).take(), model.statement_space(sink).take())));
  for (const PlacedRead& read : placed_reads(program.equations[sink]))
    for (TensorId target : program.equations[source].targets)
      if (target == read.node->access.id)
        flow = unite(std::move(flow),
                     compose(restrict_domain(model.element_map(source, target), model.all_instances(source)),
                             reverse(model.read_map(sink, read))));
  if (is_empty(flow)) return;
  flow = named(program, sink, isl_dim_out, named(program, source, isl_dim_in, std::move(flow)));
  out.push_back(
      {"flow", statement_name(program, source), statement_name(program, sink), shown(std::move(flow)), "", {}});
}

void add_order(const Program& program, EquationId q, std::vector<ShownDependence>& out) {
  const Equation& equation = program.equations[q];
  if (equation.rhs->op != Op::reduce) return;
  const std::string name = statement_name(program, q);
  out.push_back({"order", name, name, "", name_of(equation.rhs->reduction.reducer), {}});
  for (const IndexRange& range : equation.rhs->reduction.ranges)
    out.back().indices.push_back(equation.index_names[range.var - program.index_var(0)]);
}

std::string text_of(const ShownDependence& d) {
  if (d.kind == "flow") return "flow " + d.source + " -> " + d.sink + "\n  " + d.relation + "\n";
  std::string indices;
  for (const std::string& index : d.indices) indices += (indices.empty() ? "" : ", ") + index;
  return "order of " + d.reducer + " in " + d.sink + ": lexicographic in [" + indices + "]\n";
}

Result<std::string> windows_text(const Model& model, const std::vector<Timed>& times) {
  const Program& program = model.program();
  auto hulls = boxes(program);
  if (!hulls) return hulls.error();
  std::string out;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    bool is_recursive = std::any_of(times.begin(), times.end(), [&](const Timed& each) {
      const auto& targets = program.equations[each.equation].targets;
      return each.recursive && std::find(targets.begin(), targets.end(), id) != targets.end();
    });
    if (!is_recursive || program.tensors[id].kind != TensorKind::local) continue;
    std::vector<int64_t> extents;
    for (uint32_t d = 0; d < program.tensors[id].rank; ++d) extents.push_back((*hulls)[id].extent(d));
    const std::vector<int64_t> windows = fold_windows(model, times, id, extents, Pieces::exact).value_or(extents);
    out += "window of " + program.tensors[id].name + ":";
    for (size_t d = 0; d < windows.size(); ++d)
      out += " " + std::to_string(windows[d]) +
             (windows[d] < (*hulls)[id].extent(static_cast<uint32_t>(d))
                  ? " of " + std::to_string((*hulls)[id].extent(static_cast<uint32_t>(d)))
                  : "");
    out += "\n";
  }
  return out;
}

std::string span(const std::vector<int64_t>& lo, const std::vector<int64_t>& hi) {
  std::string out;
  for (size_t m = 0; m < lo.size(); ++m)
    out += (m ? ", " : "") + std::to_string(lo[m]) + (lo[m] == hi[m] ? "" : ".." + std::to_string(hi[m]));
  return "(" + out + ")";
}

std::string statement_text(const Program& program, const Mapped& statement, const std::vector<int64_t>& lo,
                           const std::vector<int64_t>& hi) {
  const std::vector<std::string> names = variable_names(program, program.equations[statement.equation]);
  std::string out = statement_name(program, statement.equation) + ": [";
  for (size_t m = 0; m < statement.members.size(); ++m) out += (m ? ", " : "") + print(statement.members[m], names);
  std::string conditions;
  for (const Guard& guard : statement.piece)
    conditions += (conditions.empty() ? " where " : " and ") + print(guard, names);
  std::vector<int64_t> last = hi;
  for (int64_t& end : last) --end;
  return out + "]" + conditions + (lo == hi ? ", empty" : ", in " + span(lo, last));
}

std::string band_text(const Program& program, const BandProposal& proposal, const BandFacts& facts,
                      const std::string& band) {
  std::string out = print(Step(band_step(program, proposal, band))) + "\n";
  std::string permutable;
  for (size_t m = 0; m < proposal.names.size(); ++m)
    if (std::all_of(facts.relations.begin(), facts.relations.end(), [&](const Relation& r) { return r.lo[m] >= 0; }))
      permutable += " " + proposal.names[m];
  if (!permutable.empty()) out += "  no distance is negative along" + permutable + "\n";
  for (size_t s = 0; s < proposal.statements.size(); ++s)
    out += "  " + statement_text(program, proposal.statements[s], facts.lo[s], facts.hi[s]) + "\n";
  auto name = [&](uint32_t s) { return statement_name(program, proposal.statements[s].equation); };
  std::vector<std::string> lines;  // pieces of an equation tend to say the same
  for (const Relation& r : facts.relations) {
    std::string line = std::string("  ") + (r.kind == Relation::Kind::order ? "order" : "flow") + " " + name(r.source) +
                       " -> " + name(r.sink) + " " + span(r.lo, r.hi) + "\n";
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  for (const std::string& line : lines) out += line;
  return out;
}

Result<std::string> bands_text(const Program& program) {
  auto proposals = propose_bands(program);
  if (!proposals) return proposals.error();
  std::string out;
  int number = 0;
  for (const BandProposal& proposal : *proposals) {
    auto facts = band_facts(program, {proposal.statements, {}});
    if (!facts) return facts.error();
    out += band_text(program, proposal, *facts, "band" + std::to_string(++number));
  }
  return out;
}

}  // namespace

Result<std::string> show_scop(const Program& normalized) {
  Context context;
  return answer(context, 20 * kQuota, normalized.name + ": scop", [&] {
    Model model(context, normalized, Sizes::symbolic);
    std::string out;
    for (EquationId q = 0; q < normalized.equations.size(); ++q) out += statement_text(model, q);
    return out;
  });
}

Result<std::vector<ShownDependence>> dependences(const Program& normalized) {
  Context context;
  return answer(context, 20 * kQuota, normalized.name + ": dependences", [&] {
    Model model(context, normalized, Sizes::symbolic);
    std::vector<ShownDependence> out;
    for (EquationId sink = 0; sink < normalized.equations.size(); ++sink) {
      for (EquationId source = 0; source < normalized.equations.size(); ++source) add_flow(model, source, sink, out);
      add_order(normalized, sink, out);
    }
    return out;
  });
}

Result<std::string> show_dependences(const Program& normalized) {
  auto found = dependences(normalized);
  if (!found) return found.error();
  std::string out;
  for (const ShownDependence& d : *found) out += text_of(d);
  return out;
}

Result<std::string> show_schedule(const Program& normalized_bound) {
  Context context;
  Model model(context, normalized_bound, Sizes::bound);
  auto order = base_order(model, 10 * kQuota);
  if (!order) return order.error();
  auto bands = bands_text(normalized_bound);
  if (!bands) return bands.error();
  auto times =
      answer(context, 20 * kQuota, normalized_bound.name + ": schedule", [&] { return timeline(model, *order); });
  if (!times) return times.error();
  auto windows = windows_text(model, *times);
  if (!windows) return windows.error();
  return answer(context, 20 * kQuota, normalized_bound.name + ": schedule", [&] {
    std::string out;
    for (size_t part = 0; part < order->size(); ++part) {
      const Ordered& ordered = (*order)[part];
      out += "part " + std::to_string(part) +
             (ordered.recursive ? ": recurrence" : ": loops in the order of the indices") + "\n";
      for (size_t k = 0; k < ordered.statements.size(); ++k)
        out += "  " + (ordered.recursive ? shown(ordered.times[k]) : ordered.statements[k].name) + "\n";
    }
    return out + *windows + *bands;
  });
}

}  // namespace polyweft::poly
