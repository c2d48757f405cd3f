// Questions that several steps ask of a template.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyweft/nest_template.h"
#include "polyweft/target.h"

namespace polyweft::schedules {

/// The stage of a statement's name; PW0302 where there is none.
Result<uint32_t> stage_named(const NestTemplate& t, const std::string& name);
/// After stages are put in or taken out behind number `last`: all that names a stage beyond it, hosts and the frames of
/// bands, moves with it.
void renumber_stages(NestTemplate& t, uint32_t last, int64_t by);
/// Parts of a statement that index-set splitting took apart, in order; the stage itself where it is whole; empty where
/// there is no such statement.
std::vector<uint32_t> parts_named(const NestTemplate& t, const std::string& name);
/// The equation as a nest of its own: point loops in the order of its indices. The caller names it.
Stage fresh_stage(const NestTemplate& t, EquationId equation);
/// Distances between folds of one element that follow each other in the text.
DeltaBox order_of_folds(const Stage& stage);
/// A tensor of the program by name; PW0302.
Result<TensorId> tensor_named(const NestTemplate& t, const std::string& name, const std::string& subject);
/// The number in `d0`, `d1`, .. (or with another letter) below a rank; nothing for other names.
std::optional<uint32_t> dimension_number(const std::string& name, uint32_t rank, char letter = 'd');
/// Loops over all indices of a statement: those of `order` first, then the rest.
std::vector<TemplateLoop> point_loops(const NestTemplate& t, const Stage& stage, const std::vector<uint32_t>& order);
/// Position of a loop by name or by the decision that sizes it; PW0303.
Result<uint32_t> loop_named(const Stage& stage, const std::string& name);
/// Loops outside and including the named one; 0 for `root`.
Result<uint32_t> depth_of(const Stage& stage, const std::string& name);
/// Number of an index by name; PW0303.
Result<uint32_t> index_named(const NestTemplate& t, const Stage& stage, const std::string& name);
std::string index_name(const NestTemplate& t, const Stage& stage, uint32_t index);
const Equation& equation_of(const NestTemplate& t, const Stage& stage);
/// Lanes of the stage's element type in a vector, at least 1; of 8 bytes where the stage makes nothing (a frame).
int64_t lanes_of(const NestTemplate& t, const Stage& stage, const Machine& machine);
/// The innermost serial or unrolled loop over an index; tile loops are called `i.1`, lanes `i.v`.
bool is_point_loop(const TemplateLoop& loop);
bool is_register_loop(const TemplateLoop& loop);
/// Does one iteration hold all values of the index, whatever the decisions?
bool runs_once(const Stage& stage, const TemplateLoop& loop);
/// Distances between iterations of a stage's loops as `instantiate` rounds them, up to multiples of what is inside;
/// INT64_MAX where a decision has a say.
std::vector<int64_t> rounded_steps(const Stage& stage);
/// May the points of this reduction be folded in any order (SCHEDULES.md T6)?
bool is_order_free(NumericsClass cls, const Program& program, const Equation& equation);
/// What keeps the order where it is not free: the class, or a combiner that promises less.
std::string why_order_counts(NumericsClass cls, const Program& program, const Equation& equation);
/// Do loops in this order fold each accumulator's points in the order that the class keeps? All loops of an earlier
/// reduced index must stand outside those of a later one (T1 holds for one reduced index with any tiling; with several
/// the order chain has a negative distance). PW0305 with two instances otherwise.
Status keeps_reduction_order(const NestTemplate& t, const Stage& stage, const std::vector<TemplateLoop>& loops,
                             const std::string& subject);
/// May points along an index be computed at once (T2)? PW0306 with two folds into one element; PW0304: the statement is
/// inside another.
Status may_run_at_once_along(const NestTemplate& t, uint32_t stage, uint32_t index, const std::string& subject);
/// May the iterations of a loop run at once (T2)? PW0306 with two folds into one element, PW0304 where the loop's place
/// forbids it.
Status may_run_at_once(const NestTemplate& t, uint32_t stage, uint32_t loop, const std::string& subject);
/// "C[i=0, j=0, k=1]".
std::string instance_text(const NestTemplate& t, const Stage& stage, const std::vector<int64_t>& point);
/// The lexicographically first point of a stage's domain that satisfies its conditions, searched in the hull (at most
/// some 10^5 points).
std::optional<std::vector<int64_t>> first_point(const NestTemplate& t, const Stage& stage);
/// Is the point in the stage's domain?
bool contains(const NestTemplate& t, const Stage& stage, const std::vector<int64_t>& point);
/// Two instances, next to each other along `index`, else equal; nothing where the domain has none.
std::optional<std::pair<std::vector<int64_t>, std::vector<int64_t>>> neighbours_along(const NestTemplate& t,
                                                                                      const Stage& stage,
                                                                                      uint32_t index);
/// Reads of a tensor in the stage's right-hand side.
std::vector<Access> reads_of(const NestTemplate& t, const Stage& stage, TensorId tensor);
bool reads(const NestTemplate& t, const Stage& stage, TensorId tensor);
bool reads_any(const NestTemplate& t, const Stage& stage, const std::vector<TensorId>& tensors);
bool defines(const Equation& equation, TensorId tensor);
/// Stages that define a tensor.
std::vector<uint32_t> definitions(const NestTemplate& t, TensorId tensor);
/// Does a stage run inside loops[depth - 1] of `host`, as its attached stage or as one of a attached stage?
bool runs_inside(const NestTemplate& t, uint32_t stage, uint32_t host, uint32_t depth);
/// Loop places that promotions, accumulator or attached stages of a stage are tied to.
std::vector<uint32_t> used_depths(const NestTemplate& t, uint32_t stage);
/// Moves every place at or inside `from` inwards by `by`.
void shift_depths(NestTemplate& t, uint32_t stage, uint32_t from, uint32_t by);

}  // namespace polyweft::schedules
