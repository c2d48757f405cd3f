// Sketches of a whole program: which stages are inlined, fused or placed inside others, and a plan for each.
//
//   epilogue   a reduction and its elementwise reader share a register tile           conv + bias + relu, scaled or
//   requantized gemm in lanes   values that one sum alone reads are made in its lanes        forces between pairs, sums
//   of kernels strips     all producers of an output run in strips of their common outer indices   softmax, layernorm,
//   attention plain      every stage a nest of its own, with none, one or all operands packed
#include "schedules/sketches/sketches.h"

#include <algorithm>
#include <map>

#include "ir/nests/instruction.h"
#include "ir/normalize/shared_values.h"
#include "schedules/queries.h"
#include "schedules/sketches/auto_vectorized.h"
#include "schedules/sketches/batches.h"
#include "schedules/sketches/borders.h"
#include "schedules/sketches/builder.h"
#include "schedules/sketches/one_pass.h"
#include "schedules/sketches/plans.h"
#include "schedules/sketches/recurrences.h"
#include "schedules/sketches/resolutions.h"
#include "schedules/sketches/strips.h"
#include "schedules/sketches/values_in_lanes.h"
#include "schedules/steps.h"
#include "support/abilities.h"

namespace polyweft::schedules {
namespace {

int operator_count(const Expr& e, bool& is_costly) {
  int count = 0;
  visit(e, [&](const ExprNode& node) {
    if (node.op != Op::read && node.op != Op::literal && node.op != Op::variable && node.op != Op::affine) ++count;
    is_costly |= (node.op >= Op::exp && node.op <= Op::cos) || node.op == Op::pow || node.op == Op::guarded;
  });
  return count;
}

/// A copy that keeps rows: its elements along the last index lie next to each other in the source too, but where a
/// clamp acts.
bool is_row_copy(const NestTemplate& t, const Stage& s) {
  const Equation& equation = equation_of(t, s);
  if (s.reduces || equation.rhs->op != Op::read || !s.inside.empty() || !s.guards.empty()) return false;
  const StageTable table = table_of(t, s);
  const ReadRow& row = table.reads.front();
  return table.unit && table.reads.size() == 1 && row.stride[*table.unit] == 1 && !row.irregular[*table.unit] &&
         row.block[*table.unit] == 0 && row.quotient[*table.unit] == 0 &&
         cuts_at_clamps(table, s, *table.unit).has_value();
}

/// Does the reader visit each element of the tensor once? Then a reduction repeats no work by computing it.
bool visits_once(const NestTemplate& t, const Stage& reader, TensorId tensor) {
  const auto accesses = reads_of(t, reader, tensor);
  if (accesses.size() != 1 || accesses[0].index.size() != reader.lo.size()) return false;
  std::vector<char> used(reader.lo.size(), 0);
  for (const Subscript& s : accesses[0].index)
    for (uint32_t k = 0; k < reader.lo.size(); ++k)
      used[k] |= !s.data && s.affine == Affine::variable(t.program.index_var(k));
  return std::count(used.begin(), used.end(), 1) == static_cast<std::ptrdiff_t>(used.size());
}

/// Each value for many points of this reader, and dear: made once it is cheaper.
bool is_shared(const NestTemplate& t, const Stage& made, const Stage& reader) {
  return ir::is_worth_storing(ir::cost_of(equation_of(t, made).rhs),
                              static_cast<int64_t>(points_of(reader) / std::max(points_of(made), 1.0)));
}

/// Does the reader gather the tensor's elements by its lanes? Then each read of what is inlined would be gathered
/// instead.
bool reads_by_data(const NestTemplate& t, const Stage& reader, TensorId tensor) {
  const StageTable table = table_of(t, reader);
  return table.unit && std::any_of(table.reads.begin(), table.reads.end(), [&](const ReadRow& row) {
           return row.tensor == tensor && row.irregular[*table.unit];
         });
}

size_t count_reads(const Expr& e) {
  size_t count = 0;
  visit(e, [&](const ExprNode& node) { count += node.op == Op::read ? 1 : 0; });
  return count;
}

/// Rule 4: cheap, or read once, each value by few points; only into elementwise readers, so that no reduction repeats
/// the work.
bool wants_inline(const NestTemplate& t, uint32_t stage) {
  const Stage& s = t.stages[stage];
  if (s.reduces || equation_of(t, s).targets.size() != 1) return false;
  if (is_row_copy(t, s)) return !readers_of(t, stage).empty();
  auto readers = readers_of(t, stage);
  bool is_costly = false;
  int count = operator_count(equation_of(t, s).rhs, is_costly);
  const TensorId target = equation_of(t, s).targets[0];
  const bool is_one_operation = count <= 1 && !is_costly && is_float(t.program.tensors[target].type);
  bool all_pure = std::all_of(readers.begin(), readers.end(), [&](uint32_t r) {
    return !t.stages[r].reduces || (is_one_operation && visits_once(t, t.stages[r], target));
  });
  size_t uses = 0;
  for (uint32_t r : readers) uses += reads_of(t, t.stages[r], equation_of(t, s).targets[0]).size();
  const bool shared =
      std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return is_shared(t, s, t.stages[r]); });
  const bool is_gathered =
      count_reads(equation_of(t, s).rhs) > 1 &&
      std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return reads_by_data(t, t.stages[r], target); });
  return !readers.empty() && all_pure && !shared && !is_gathered && (uses == 1 || (count <= 3 && !is_costly));
}

NestTemplate with_inlining(NestTemplate t, std::vector<Step>& steps) {
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (!wants_inline(t, k)) continue;
    InlineStep step{t.stages[k].name};
    auto next = inline_producer(t, step);
    if (!next) continue;
    t = std::move(*next);
    steps.push_back(step);
  }
  return t;
}

/// Rule 11: a condition on residues holds in whole classes of its indices. Split by them, each class has plain ranges.
std::optional<IndexSetSplitStep> residue_split(const NestTemplate& t, const Stage& stage) {
  for (const Guard& guard : stage.guards) {
    if (guard.kind != Guard::Kind::eq0 || guard.e.is_linear()) continue;
    const Term& last = guard.e.terms.back();
    if (last.quasi->kind != Quasi::Kind::floor_div || std::abs(last.coeff) != last.quasi->den) continue;
    IndexSetSplitStep step{stage.name, {}, last.quasi->den, {}};
    for (const Term& term : last.quasi->e.terms)
      if (!term.quasi && term.var >= t.program.index_var(0))
        step.indices.push_back(index_name(t, stage, term.var - t.program.index_var(0)));
    if (!step.indices.empty()) return step;
  }
  return std::nullopt;
}

/// Splits, and keeps one part for all: the plan of the first, which bears the statement's own name, serves each.
NestTemplate with_classes(NestTemplate t, std::vector<Step>& steps) {
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    const std::string whole = t.stages[k].name;
    while (t.stages[k].placement.kind == Placement::Kind::at_root) {
      auto step = residue_split(t, t.stages[k]);
      if (!step) break;
      auto next = index_set_split(t, *step);
      if (!next) break;
      t = std::move(*next);
      steps.push_back(*step);
      const auto parts = parts_named(t, whole);
      renumber_stages(t, k, 1 - static_cast<int64_t>(parts.size()));
      t.stages.erase(t.stages.begin() + k + 1, t.stages.begin() + k + static_cast<std::ptrdiff_t>(parts.size()));
      t.stages[k].name = whole;
    }
  }
  return t;
}

Trace trace_of(const Builder& b, const Plan& plan) {
  Trace trace;
  trace.steps = b.prefix;
  trace.steps.insert(trace.steps.end(), plan.steps.begin(), plan.steps.end());
  trace.decisions = plan.decisions;
  trace.constraints = plan.constraints;
  return trace;
}

/// Arguments that do not fit this cache: what is written leaves it anyway.
bool is_larger_than_cache(const Builder& b, size_t level) {
  double bytes = 0;
  for (TensorId id = 0; id < b.t.program.tensors.size(); ++id) {
    const TensorKind kind = b.t.program.tensors[id].kind;
    if (kind == TensorKind::input || kind == TensorKind::output) bytes += bytes_of(b.t, id);
  }
  return b.machine.caches() > level && bytes > static_cast<double>(b.machine.cache_bytes(level));
}

/// An output of few taps each: whole lines, stored once.
bool writes_taps(const Builder& b, uint32_t stage) {
  const PlanContext c = b.context(stage, Packing::vectors);
  const auto shape = block_shape(c);
  return shape && is_tap_block(c, *shape) &&
         b.t.program.tensors[equation_of(b.t, c.stage).targets[0]].kind == TensorKind::output;
}

/// An output of sums that stay in registers for all they add up.
bool writes_whole_sums(const Builder& b, const Plan& plan, const PlanContext& c) {
  const auto& targets = equation_of(b.t, c.stage).targets;
  if (!c.stage.reduces || targets.size() != 1 || b.t.program.tensors[targets[0]].kind != TensorKind::output)
    return false;
  bool in_registers = false, in_parts = false;
  for (const Step& step : plan.steps) {
    if (const auto* sums = std::get_if<AccumulateStep>(&step)) in_registers |= sums->scope == Scope::reg;
    const auto* tile = std::get_if<TileStep>(&step);
    for (uint32_t k = c.stage.data_indices; tile && k < c.table.extent.size(); ++k)
      in_parts |= std::any_of(tile->levels.begin(), tile->levels.end(),
                              [&](const TileStep::Level& level) { return level.index == c.name(k); });
  }
  return in_registers && !in_parts;
}

/// Rows of lanes that the last cache keeps beside the inputs are written faster into it: X + 2 of 3 to 13 MB in 0.7 to
/// 0.8 of the time, of 26 MB and more in 1.2. Sums and transpositions are bound by other things.
bool is_row_for_last_cache(const Builder& b, const Plan& plan, const PlanContext& c) {
  const bool has_lanes = std::any_of(plan.steps.begin(), plan.steps.end(),
                                     [](const Step& step) { return std::holds_alternative<VectorizeStep>(step); });
  return has_lanes && !c.stage.reduces && !is_larger_than_cache(b, 2);
}

Plan plain_plan(const Builder& b, Packing packing, Stores stores = Stores::cached) {
  Plan plan;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k)) continue;
    const PlanContext c = b.context(k, packing);
    Plan own = plan_stage(c);
    const bool writes_once = writes_output(b.t, k) || writes_taps(b, k) || writes_whole_sums(b, own, c);
    if (stores == Stores::streamed && writes_once && stores_lines(own, c) && !is_row_for_last_cache(b, own, c))
      own.steps.push_back(StreamStep{c.stage.name});
    plan.append(own);
  }
  return plan;
}

/// Every reduction with an elementwise reader of its own is computed in that reader's register tile.
std::optional<Plan> epilogue_plan(const Builder& b) {
  std::map<uint32_t, uint32_t> reader_of;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k) || !b.t.stages[k].reduces) continue;
    auto readers = readers_of(b.t, k);
    if (readers.size() == 1 && is_epilogue_of(b.t, k, readers[0]) && block_shape(b.context(k, Packing::vectors)))
      reader_of[k] = readers[0];
  }
  Plan plan;
  bool any = false;
  std::vector<uint32_t> hosts;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    auto found = reader_of.find(k);
    if (found == reader_of.end()) {
      if (b.is_alive(k) && !std::count(hosts.begin(), hosts.end(), k))
        plan.append(plan_stage(b.context(k, Packing::vectors)));
      continue;
    }
    auto c = b.context(k, Packing::vectors);
    // The elementwise reader may serve one reduction only.
    if (std::count(hosts.begin(), hosts.end(), found->second) || block_shape(c)->must_pack) {
      plan.append(plan_stage(c));
      continue;
    }
    hosts.push_back(found->second);
    plan.append(plan_epilogue(c, b.context(found->second, Packing::none), *block_shape(c)));
    any = true;
  }
  if (!any) return std::nullopt;
  return plan;
}

/// A stencil and the product that alone reads it, in one nest.
std::optional<Plan> chain_plan(const Builder& b, const ChainForm& form) {
  Plan plan;
  std::vector<char> placed(b.t.stages.size(), 0);
  bool any = false;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k) {
    if (!b.is_alive(k) || placed[k] || !b.t.stages[k].reduces) continue;
    const auto readers = readers_of(b.t, k);
    const TensorId made = equation_of(b.t, b.t.stages[k]).targets[0];
    if (readers.size() != 1 || placed[readers[0]] || !b.t.stages[readers[0]].reduces ||
        b.t.program.tensors[made].kind != TensorKind::local || definitions(b.t, made).size() != 1)
      continue;
    const PlanContext producer = b.context(k, Packing::none, Site::attached),
                      host = b.context(readers[0], Packing::vectors);
    if (!is_chain(producer, host)) continue;
    ChainForm own = form;
    own.past_caches =
        form.past_caches && b.t.program.tensors[equation_of(b.t, host.stage).targets[0]].kind == TensorKind::output;
    plan.append(plan_chain(producer, host, own));
    placed[k] = placed[readers[0]] = 1;
    any = true;
  }
  if (!any) return std::nullopt;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k)
    if (b.is_alive(k) && !placed[k]) plan.append(plan_stage(b.context(k, Packing::vectors)));
  return plan;
}

/// The one elementwise reader of the dominant stage.
std::optional<uint32_t> reader_of_tiles(const Builder& b) {
  for (uint32_t k = 0; k < b.t.stages.size(); ++k)
    if (b.is_alive(k) && k != b.dominant && is_epilogue_of(b.t, b.dominant, k)) return k;
  return std::nullopt;
}

/// The dominant stage in blocks of tiles, its reader in them or by itself; the others as they are best by themselves.
std::optional<Plan> tile_plan(const Builder& b, TileOrder order, std::optional<uint32_t> reader, bool in_parts) {
  const std::optional<PlanContext> attached =
      reader ? std::optional(b.context(*reader, Packing::none, Site::attached)) : std::nullopt;
  Plan plan = plan_tiles(b.context(b.dominant, Packing::none), {order, attached ? &*attached : nullptr, in_parts});
  if (plan.steps.empty()) return std::nullopt;
  for (uint32_t k = 0; k < b.t.stages.size(); ++k)
    if (b.is_alive(k) && k != b.dominant && k != reader) plan.append(plan_stage(b.context(k, Packing::none)));
  return plan;
}

uint32_t dominant_stage(const NestTemplate& t) {
  uint32_t best = 0;
  double most = -1;
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (t.stages[k].placement.kind == Placement::Kind::inlined) continue;
    const double points = points_of(t.stages[k]);
    if (points > most) most = points, best = k;
  }
  return best;
}

void add_if_new(std::vector<Trace>& out, Trace trace, const Program& program, NumericsClass cls) {
  if (std::find(out.begin(), out.end(), trace) != out.end()) return;
  if (replay(program, cls, trace)) out.push_back(std::move(trace));
}

}  // namespace

namespace {

/// Instructions that hold their unit no longer than one multiply-add: always worth it. Of the others, plain vectors are
/// proposed as well.
std::vector<std::string> fast_ones(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const auto& name : names)
    if (auto instruction = ir::instruction_named(name); instruction && (*instruction)->issues <= 1) out.push_back(name);
  return out;
}

bool uses_other(const std::vector<Trace>& traces, const std::vector<std::string>& names) {
  for (const Trace& trace : traces)
    for (const Step& step : trace.steps)
      if (const auto* s = std::get_if<TensorizeStep>(&step);
          s && std::find(names.begin(), names.end(), s->instruction) == names.end())
        return true;
  return false;
}

bool all_in_tiles(const std::vector<Trace>& traces) {
  return std::all_of(traces.begin(), traces.end(), [](const Trace& trace) {
    return std::any_of(trace.steps.begin(), trace.steps.end(), [](const Step& step) {
      const auto* sums = std::get_if<AccumulateStep>(&step);
      return sums && sums->scope == Scope::tile;
    });
  });
}

std::vector<Trace> sketches_with(const Program& normalized, NumericsClass cls, const Machine& machine);

/// Each in parts; and, where a fork may cost more than it saves, each on one thread, for the cost model to judge.
std::vector<Trace> for_threads(const Program& normalized, NumericsClass cls, const std::vector<Trace>& serial,
                               const Machine& machine) {
  auto base = base_template(normalized, cls);
  if (!base) return serial;
  std::vector<Trace> out;
  for (const Trace& trace : serial) add_if_new(out, in_parts(*base, trace, machine), normalized, cls);
  if (may_not_pay(*base, machine))
    for (const Trace& trace : serial) add_if_new(out, trace, normalized, cls);
  return out.empty() ? serial : out;
}

}  // namespace

std::vector<Trace> sketches(const Program& normalized, NumericsClass cls, const Machine& machine) {
  std::vector<Trace> out = sketches_with(normalized, cls, machine);
  Machine plain = machine;
  plain.units.instructions = fast_ones(machine.units.instructions);
  if (uses_other(out, plain.units.instructions) && !all_in_tiles(out))
    for (Trace& trace : sketches_with(normalized, cls, plain))
      if (std::find(out.begin(), out.end(), trace) == out.end()) out.push_back(std::move(trace));
  return machine.cores() > 1 ? for_threads(normalized, cls, out, machine) : out;
}

namespace {

std::vector<Trace> sketches_with(const Program& normalized, NumericsClass cls, const Machine& machine) {
  auto base = base_template(normalized, cls);
  std::vector<Trace> out;
  if (!base || base->stages.empty()) return {Trace{}};
  std::vector<Step> prefix;
  NestTemplate t = with_classes(with_inlining(*base, prefix), prefix);
  if (is_on("rule.borders")) t = with_borders(std::move(t), prefix);
  Builder b{t, *base, machine, dominant_stage(t), prefix};
  const auto reader = reader_of_tiles(b);
  for (TileOrder order : {TileOrder::columns_outside, TileOrder::columns_outside_packed, TileOrder::rows_outside,
                          TileOrder::rows_packed}) {
    for (bool in_parts : {false, true})
      if (auto plan = reader ? tile_plan(b, order, reader, in_parts) : std::nullopt)
        add_if_new(out, trace_of(b, *plan), normalized, cls);
    if (auto plan = reader ? std::nullopt : tile_plan(b, order, std::nullopt, true))
      add_if_new(out, trace_of(b, *plan), normalized, cls);
  }
  if (!out.empty() && fills_tiles(b.context(b.dominant, Packing::none))) return out;
  if (auto plan = is_on("rule.epilogue") ? epilogue_plan(b) : std::nullopt)
    add_if_new(out, trace_of(b, *plan), normalized, cls);
  if (auto plan = is_on("rule.values_in_lanes") ? plan_values_in_lanes(b) : std::nullopt)
    add_if_new(out, trace_of(b, *plan), normalized, cls);
  const bool may_stream = is_larger_than_cache(b, 1) && is_on("rule.streams");
  constexpr int64_t kPrefetchRows = 2;  // of a stencil in front of a product, from memory: 0.9 of the time of none
  for (bool past_caches : {true, false})
    for (bool by_rows : {false, true})
      if (may_stream || !past_caches)
        if (auto plan = !is_on("rule.chains")
                            ? std::nullopt
                            : chain_plan(b, {by_rows, past_caches,
                                             past_caches && is_larger_than_cache(b, 2) ? kPrefetchRows : 0}))
          add_if_new(out, trace_of(b, *plan), normalized, cls);
  for (bool streams : {true, false})
    if (may_stream || !streams)
      if (auto plan = is_on("rule.windows") ? plan_windows(t, machine, streams) : std::nullopt)
        add_if_new(out, trace_of(b, *plan), normalized, cls);
  if (!out.empty() && is_long_chain(t)) return out;
  auto strips = is_on("rule.strips") ? strip_plan(b, Stores::cached) : std::nullopt;
  if (strips && may_stream && is_larger_than_cache(b, 2))
    if (auto plan = strip_plan(b, Stores::streamed)) add_if_new(out, trace_of(b, *plan), normalized, cls);
  if (strips && is_larger_than_cache(b, 0))
    if (auto plan = strip_plan(b, Stores::ahead)) add_if_new(out, trace_of(b, *plan), normalized, cls);
  if (strips) add_if_new(out, trace_of(b, *strips), normalized, cls);
  if (!strips && may_stream)
    add_if_new(out, trace_of(b, plain_plan(b, Packing::vectors, Stores::streamed)), normalized, cls);
  const std::vector<Packing> packings =
      is_on("rule.packing") ? std::vector{Packing::vectors, Packing::all, Packing::none} : std::vector{Packing::none};
  for (Packing packing : packings) add_if_new(out, trace_of(b, plain_plan(b, packing)), normalized, cls);
  b.rows_outside = true;
  for (Packing packing : packings)
    if (packing != Packing::all) add_if_new(out, trace_of(b, plain_plan(b, packing)), normalized, cls);
  b.rows_outside = false;
  b.panels_outside = true;
  for (Packing packing : packings)
    if (packing != Packing::none) add_if_new(out, trace_of(b, plain_plan(b, packing)), normalized, cls);
  b.panels_outside = false;
  b.lanes_outside = true;
  if (auto plan = is_on("rule.epilogue") ? epilogue_plan(b) : std::nullopt)
    add_if_new(out, trace_of(b, *plan), normalized, cls);
  add_if_new(out, trace_of(b, plain_plan(b, packings.front())), normalized, cls);
  if (out.empty()) out.push_back(Trace{});
  return out;
}

}  // namespace

Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   std::shared_ptr<const LoopNest> recurrence_nest) {
  return sketch_templates(normalized, cls, machine, Isl{std::move(recurrence_nest)});
}

Result<std::vector<NestTemplate>> sketch_templates(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   const Isl& isl) {
  std::vector<NestTemplate> out;
  std::vector<Trace> traces;
  if (has_recurrence(normalized))
    traces = recurrence_sketches(normalized, cls, machine, isl);
  else
    traces = is_on("rule.one_pass") ? one_pass_sketches(normalized, cls, machine, isl) : std::vector<Trace>{};
  if (traces.empty() && !has_recurrence(normalized) && is_on("rule.resolutions"))
    traces = resolution_sketches(normalized, cls, machine, isl);
  std::vector<Trace> plain = sketches(normalized, cls, machine);
  std::vector<Trace> left_to_compiler =
      is_on("rule.autovectorize") ? auto_vectorized_sketches(normalized, cls, machine, isl) : std::vector<Trace>{};
  if (is_on("rule.batches"))
    for (Trace& trace : batch_sketches(normalized, cls, machine, isl)) traces.push_back(std::move(trace));
  // Of equals the first is taken: rather what the compiler vectorizes than the base order.
  const bool has_base = !plain.empty() && runs_base_order(plain.front());
  for (std::vector<Trace>* some : {has_base ? &left_to_compiler : &plain, has_base ? &plain : &left_to_compiler})
    for (Trace& trace : *some) traces.push_back(std::move(trace));
  for (const Trace& trace : traces) {
    auto t = replay(normalized, cls, trace, isl);
    if (!t) return t.error();
    out.push_back(std::move(*t));
  }
  return out;
}

}  // namespace polyweft::schedules
