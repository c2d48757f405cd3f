#include "schedules/sketches/band_forms.h"

#include <algorithm>
#include <cstdlib>

#include "ir/text/trace_names.h"
#include "schedules/sketches/plans.h"

namespace polyweft::schedules {
namespace {

/// The statement of the step that a stage is, or is a piece of.
size_t statement_index(const BandStep& step, const std::string& stage) {
  return static_cast<size_t>(
      std::find_if(step.statements.begin(), step.statements.end(),
                   [&](const auto& each) { return stage == each.name || stage.starts_with(each.name + ".p"); }) -
      step.statements.begin());
}

bool may_be_at_once(const BandRelation& r, size_t depth) {
  for (size_t m = 0; m < depth; ++m)
    if (r.lo[m] > 0 || r.hi[m] < 0) return false;
  return true;
}

}  // namespace

std::optional<BandStep> whole_sums(const Program& program, poly::BandProposal proposal, const std::string& name) {
  std::vector<bool> is_folded(proposal.names.size(), false);
  for (const BandPlace& place : proposal.statements) {
    const Equation& equation = program.equations[place.equation];
    if (equation.rhs->op != Op::reduce) continue;
    for (const IndexRange& range : equation.rhs->reduction.ranges)
      for (size_t m = 0; m < is_folded.size(); ++m)
        is_folded[m] = is_folded[m] || place.members[m].coefficient(range.var) != 0;
  }
  const auto folded = static_cast<size_t>(std::count(is_folded.begin(), is_folded.end(), true));
  if (folded == 0 || folded == is_folded.size()) return std::nullopt;
  for (size_t m = is_folded.size(); m-- > 0;) {
    if (!is_folded[m]) continue;
    const auto at = static_cast<std::ptrdiff_t>(m);
    proposal.names.erase(proposal.names.begin() + at);
    for (BandPlace& place : proposal.statements) place.members.erase(place.members.begin() + at);
  }
  return ir::band_step(program, proposal.statements, proposal.names, name);
}

bool reads_along(const Equation& equation, VarId index) {
  bool out = false;
  visit(equation.rhs, [&](const ExprNode& e) {
    out |=
        e.op == Op::read && !e.access.index.empty() && std::abs(e.access.index.back().affine.coefficient(index)) == 1;
  });
  return out;
}

std::optional<BandStep> in_running_order(const NestTemplate& t, uint32_t band, const BandStep& step, size_t depth) {
  const std::vector<uint32_t> attached_stages = stages_of(t, band);
  const size_t count = step.statements.size();
  std::vector<std::vector<char>> before(count, std::vector<char>(count, 0));
  for (const BandRelation& r : t.bands[band].relations) {
    const size_t source = statement_index(step, t.stages[attached_stages[r.source]].name),
                 sink = statement_index(step, t.stages[attached_stages[r.sink]].name);
    if (source == sink || source == count || sink == count || !may_be_at_once(r, depth)) continue;
    before[source][sink] = 1;
  }
  BandStep out = step;
  out.statements.clear();
  std::vector<char> is_placed(count, 0);
  while (out.statements.size() < count) {
    size_t next = 0;
    const auto waits = [&](size_t k) {
      for (size_t other = 0; other < count; ++other)
        if (!is_placed[other] && before[other][k]) return true;
      return false;
    };
    while (next < count && (is_placed[next] || waits(next))) ++next;
    if (next == count) return std::nullopt;
    is_placed[next] = 1;
    out.statements.push_back(step.statements[next]);
  }
  return out == step ? std::nullopt : std::optional(out);
}

void fold_storage(Sketcher& s, uint32_t band) {
  std::vector<TensorId> tensors;
  for (uint32_t attached : stages_of(s.t_, band))
    for (TensorId id : equation_of(s.t_, s.t_.stages[attached]).targets)
      if (s.t_.program.tensors[id].kind == TensorKind::local &&
          std::find(tensors.begin(), tensors.end(), id) == tensors.end())
        tensors.push_back(id);
  for (TensorId id : tensors) {
    const Tensor& tensor = s.t_.program.tensors[id];
    if (tensor.rank < 2 || bytes_of(s.t_, id) < 4096) continue;
    for (int64_t window : {1, 2, 3})
      if (window < s.t_.boxes[id].hi[0] - s.t_.boxes[id].lo[0] && s.take(FoldStep{tensor.name, "d0", window, true}))
        break;
  }
}

std::optional<Trace> in_outputs(const NestTemplate& t, Trace trace) {
  const auto has_own_cells = [&](const std::string& tensor) {
    return std::none_of(trace.steps.begin(), trace.steps.end(), [&](const Step& step) {
      const auto* fold = std::get_if<FoldStep>(&step);
      const auto* store = std::get_if<StoreStep>(&step);
      return (fold && fold->tensor == tensor) || (store && store->tensor == tensor);
    });
  };
  const size_t before = trace.steps.size();
  for (const Equation& equation : t.program.equations) {
    const Tensor& output = t.program.tensors[equation.targets[0]];
    if (output.kind != TensorKind::output || equation.rhs->op != Op::read) continue;
    const TensorId from = equation.rhs->access.id;
    const Tensor& local = t.program.tensors[from];
    if (local.kind != TensorKind::local || local.type != output.type ||
        bytes_of(t, from) != bytes_of(t, equation.targets[0]) || !has_own_cells(local.name))
      continue;
    trace.steps.push_back(StoreStep{local.name, {}, output.name});
  }
  return trace.steps.size() > before ? std::optional(std::move(trace)) : std::nullopt;
}

}  // namespace polyweft::schedules
