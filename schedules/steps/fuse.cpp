// fuse Z into Y at i.1: Z runs at the end of each iteration of that loop, on the same values of the indices looped
// over.
//
//   for i.1: ..Y..          for i.1: ..Y..; for the same i: Z
//   for i: Z
//
// What Z alone reads of Y lives in a buffer of that iteration.
//
// Legal where every flow Y -> Z has distance 0 along the shared indices (delta box lo = hi = 0, read off the
// subscripts), no reduced loop of Y stands outside (else Y is not final yet), and Z's other sources are earlier nests.
// Distance 0 also keeps the loop parallel (T2).
#include <algorithm>
#include <map>

#include "schedules/hulls.h"
#include "schedules/placement.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

using Ties = std::vector<std::pair<uint32_t, uint32_t>>;

/// Z's index that runs with the host's index: by the subscripts of its reads, else by name.
std::optional<uint32_t> partner_of(const NestTemplate& t, const Stage& stage, const Stage& host, uint32_t index) {
  const Equation& equation = equation_of(t, host);
  for (size_t d = 0; d < equation.slots.size(); ++d) {
    if (equation.slots[d].var != t.program.index_var(index)) continue;
    for (const Access& access : reads_of(t, stage, equation.targets[0]))
      for (uint32_t k = 0; k < stage.data_indices; ++k)
        if (access.index[d].affine == Affine::variable(t.program.index_var(k))) return k;
  }
  for (uint32_t k = 0; k < stage.data_indices; ++k)
    if (index_name(t, stage, k) == index_name(t, host, index)) return k;
  return std::nullopt;
}

/// All reads of the host's tensors must be at distance 0 along the tied indices.
Status check_distances(const NestTemplate& t, const Stage& stage, const Stage& host, const Ties& ties,
                       const std::string& subject) {
  const Equation& equation = equation_of(t, host);
  for (TensorId tensor : equation.targets) {
    for (const Access& access : reads_of(t, stage, tensor)) {
      for (auto [own, other] : ties) {
        for (size_t d = 0; d < equation.slots.size(); ++d) {
          if (equation.slots[d].var != t.program.index_var(other)) continue;
          Affine distance = Affine::variable(t.program.index_var(own)) - access.index[d].affine;
          if (!access.index[d].data && distance == Affine::of(0)) continue;
          Error error = fail(
              "PW0305", subject + ": along " + index_name(t, host, other) + " it reads elements of other iterations");
          if (auto point = first_point(t, stage)) {
            std::vector<int64_t> values(t.program.parameters.size(), 0);
            values.insert(values.end(), point->begin(), point->end());
            int64_t at = evaluate(access.index[d].affine, values);
            error.notes.push_back(instance_text(t, stage, *point) + " reads " + t.program.tensors[tensor].name +
                                  " at " + index_name(t, host, other) + "=" + std::to_string(at));
          }
          return error;
        }
      }
    }
  }
  return Ok{};
}

/// Tile loops of the host that conditions may skip would skip points of the attached stage, unless the attached stage
/// has the same conditions. Those on reduced indices skip folds only.
Status check_conditions(const NestTemplate& t, const Stage& stage, const Stage& host, const Ties& ties,
                        const std::string& subject) {
  std::map<VarId, Affine> tied;
  for (auto [own, other] : ties) tied[t.program.index_var(other)] = Affine::variable(t.program.index_var(own));
  for (const Affine& condition : host.inside) {
    bool is_shared = false, is_reduced = false;
    for (const Term& term : condition.terms) {
      const uint32_t index = term.var - t.program.index_var(0);
      is_shared |= tied.count(term.var) > 0;
      is_reduced |= index >= host.data_indices;
    }
    if (!is_shared || is_reduced) continue;
    std::map<VarId, Affine> map = tied;
    for (const Term& term : condition.terms)
      if (!map.count(term.var))
        if (auto own = partner_of(t, stage, host, term.var - t.program.index_var(0)))
          map[term.var] = Affine::variable(t.program.index_var(*own));
    const bool knows_all = std::all_of(condition.terms.begin(), condition.terms.end(),
                                       [&](const Term& term) { return map.count(term.var) > 0; });
    if (!knows_all ||
        std::find(stage.inside.begin(), stage.inside.end(), substitute(condition, map)) == stage.inside.end())
      return fail("PW0314", subject + ": the shared indices of " + host.name + " have conditions of their own");
  }
  return Ok{};
}

}  // namespace

Result<NestTemplate> fuse(NestTemplate t, const FuseStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  auto host_id = stage_named(t, step.into);
  if (!host_id) return host_id.error();
  const std::string subject = "fuse " + step.statement + " into " + step.into + " at " + step.at;
  Stage& stage = t.stages[*id];
  const Stage& host = t.stages[*host_id];
  auto depth = depth_of(host, step.at);
  if (!depth) return depth.error();
  if (*id <= *host_id) return fail("PW0314", subject + ": it does not come after " + host.name);
  if (stage.placement.kind != Placement::Kind::at_root || host.placement.kind != Placement::Kind::at_root)
    return fail("PW0304", subject + ": one of them is placed already", {"distribute it first"});
  if (!used_depths(t, *id).empty() && std::any_of(t.stages.begin(), t.stages.end(), [&](const Stage& s) {
        return s.placement.kind != Placement::Kind::at_root && s.placement.kind != Placement::Kind::inlined &&
               s.placement.host == *id;
      }))
    return fail("PW0304", subject + ": other statements are placed inside it");
  for (uint32_t k = 0; k < host.data_indices; ++k)
    if (host.hi[k] <= host.lo[k])
      return fail("PW0314", subject + ": " + host.name + " has no elements, so that nothing would run there",
                  {"leave it where it is"});
  if (host.accumulator && host.accumulator->depth < *depth)
    return fail("PW0314", subject + ": the sums of " + host.name + " leave their accumulator outside of that loop",
                {"accumulate at " + step.at + " or further inside first"});
  Ties ties;
  for (uint32_t k = 0; k < *depth; ++k) {
    uint32_t index = host.loops[k].index;
    if (index >= host.data_indices)
      return fail("PW0305",
                  subject + ": loop " + host.loops[k].name + " folds a reduction, whose value is not final inside");
    auto own = partner_of(t, stage, host, index);
    if (!own) return fail("PW0314", subject + ": it has no index that runs with " + index_name(t, host, index));
    if (stage.lo[*own] != host.lo[index] || stage.hi[*own] != host.hi[index])
      return fail("PW0314", subject + ": " + index_name(t, stage, *own) + " and " + index_name(t, host, index) +
                                " have different ranges");
    if (std::none_of(ties.begin(), ties.end(), [&](const auto& tie) { return tie.first == *own; }))
      ties.push_back({*own, index});
  }
  if (auto status = check_conditions(t, stage, host, ties, subject); !status) return status.error();
  if (auto status = check_distances(t, stage, host, ties, subject); !status) return status.error();
  if (auto status = is_open_place(host, *depth, subject); !status) return status.error();
  if (auto status = sources_are_ready(t, *id, *host_id, *depth, subject); !status) return status.error();
  for (TemplateLoop& loop : stage.loops)
    if (loop.mark.kind == MarkKind::parallel || loop.mark.kind == MarkKind::axis) loop.mark = Mark{};
  stage.placement = Placement{Placement::Kind::fused, *host_id, *depth, Scope::heap, std::move(ties)};
  return t;
}

}  // namespace polyweft::schedules
