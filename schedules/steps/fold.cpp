// fold A d0 mod 2: elements of A whose first coordinates are equal modulo 2 share a cell. fold A c0 mod 3: cells of A
// (see store) whose first coordinates are equal modulo 3 are one.
//
// Legal where no cell is written anew before the last read of what it held: these anti-dependences become relations of
// the bands that make A, beside the flow of values (F5: then T1 holds for all tile sizes), and the bands' loops must
// keep them. A tensor that no band makes, or that is read or made outside in a way that folding would destroy, is
// refused by the facts (PW0323).
#include <algorithm>

#include "schedules/bands.h"

namespace polyweft::schedules {
namespace {

/// The bands' relations with the folds that there are now, if their loops keep them.
Status keeps_folds(NestTemplate& t, const Isl& isl, const std::string& subject) {
  for (uint32_t b = 0; b < t.bands.size(); ++b) {
    auto facts = facts_of(t, b, isl, subject);
    if (!facts) return facts.error();
    t.bands[b].relations = std::move(facts->relations);
    if (auto status = keeps_relations(t, b, subject); !status) return status.error();
  }
  return Ok{};
}

}  // namespace

Result<NestTemplate> fold(NestTemplate t, const FoldStep& step, const Isl& isl) {
  auto tensor = tensor_named(t, step.tensor, "fold");
  if (!tensor) return tensor.error();
  const std::string subject = "fold " + step.tensor + " " + step.dim;
  if (t.program.tensors[*tensor].kind != TensorKind::local)
    return fail("PW0304", subject + ": only what the program makes for itself can be folded",
                {"inputs and outputs have the caller's cells"});
  const bool is_of_cells = step.dim.starts_with("c");
  const auto dim = dimension_number(step.dim, t.program.tensors[*tensor].rank, is_of_cells ? 'c' : 'd');
  if (!dim)
    return fail("PW0303", subject + ": there is no such dimension",
                {"dimensions are d0, d1, .., those of the cells c0, c1, .."});
  std::vector<Affine> cell;
  for (const TensorStorage& storage : t.storages)
    if (storage.tensor == *tensor && is_of_cells) cell = storage.cell;
  if (is_of_cells && cell.empty())
    return fail("PW0304", subject + ": its cells are its elements",
                {"store " + step.tensor + " first, or fold d0, d1, .."});
  for (const TensorFold& other : t.folds) {
    if (other.tensor != *tensor) continue;
    if (other.cell != cell)
      return fail("PW0304", subject + ": it is folded along elements and along cells",
                  {"name all dimensions alike: c0, c1, .. or d0, d1, .."});
    if (other.dim == *dim) return fail("PW0304", subject + ": it is folded already");
  }
  for (const TensorStorage& storage : t.storages)
    if (!is_of_cells && storage.tensor == *tensor &&
        std::find(storage.cell.begin(), storage.cell.end(), Affine::variable(kCellVar + *dim)) == storage.cell.end())
      return fail("PW0308", subject + ": the tensor is stored in cells that have no such dimension");
  bool is_made_in_band = false;
  for (uint32_t b = 0; b < t.bands.size(); ++b)
    for (uint32_t s : stages_of(t, b)) is_made_in_band |= defines(equation_of(t, t.stages[s]), *tensor);
  if (!is_made_in_band) return fail("PW0304", subject + ": no band makes it", {"band first, then fold"});
  t.folds.push_back({*tensor, *dim, step.window, step.forward, std::move(cell)});
  const Status given = keeps_folds(t, isl, subject);
  if (given) return t;
  t.folds.back().forward =
      !step.forward;  // which of a cell's elements lives later follows from the order that there is
  return keeps_folds(t, isl, subject) ? Result<NestTemplate>(std::move(t)) : given.error();
}

}  // namespace polyweft::schedules
