// snapshot C of path read 2 in path@2: C[k, i] = path[k-1, i, k-1] is a statement of its own, and path@2 reads C.
//
//   for k, i, j: path[k, i, j] = f(path[k-1, i, k-1], ..)          for k, i: C[k, i] = path[k-1, i, k-1]     for k, i,
//   j: path[k, i, j] = f(C[k, i], ..)
//
// Extra storage that breaks anti-dependences: where cells are taken by later elements (fold), only the copy must come
// before them, and the readers have until cells of C are taken. Legal by T5: a copy of an element is the element, the
// copies are made for all that is read, and from then on C is a statement like any other, so that the band's relations
// speak of it. In the nest it is a copy in a buffer that holds elements of the tensor.
#include "ir/normalize/snapshot.h"

#include <algorithm>

#include "schedules/hulls.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

Result<NestTemplate> snapshot(NestTemplate t, const SnapshotStep& step) {
  const std::string subject = "snapshot " + step.name;
  const auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  const auto tensor = tensor_named(t, step.tensor, subject);
  if (!tensor) return tensor.error();
  const auto is_taken = [&](const auto& each) { return each.name == step.name; };
  if (std::any_of(t.program.tensors.begin(), t.program.tensors.end(), is_taken) ||
      std::any_of(t.stages.begin(), t.stages.end(), is_taken))
    return fail("PW0304", subject + ": there is a tensor or statement of this name");
  // isl knows the program and its snapshots; what other steps add to a template comes after them.
  if (t.program.equations.size() != t.stages.size() || !t.bands.empty() || !t.cuts.empty() || !t.folds.empty() ||
      !t.storages.empty())
    return fail("PW0304", subject + ": other steps came before", {"snapshots come first"});
  const Stage& reader = t.stages[*id];
  const size_t count = reads_of(t, reader, *tensor).size();
  if (count < step.read)
    return fail("PW0308", subject + ": statement " + reader.name + " reads " + step.tensor + " " +
                              std::to_string(count) + " times");
  Snapshot made{reader.equation, *tensor, step.read, step.name};
  auto program = ir::with_snapshot(t.program, made);
  if (!program) return program.error();
  t.program = std::move(*program);
  t.boxes = tensor_boxes(t.program);
  Stage stage = fresh_stage(t, static_cast<EquationId>(t.program.equations.size() - 1));
  stage.name = step.name;
  stage.needs_band = reader.needs_band;
  t.stages.insert(t.stages.begin() + *id, std::move(stage));
  t.snapshots.push_back(std::move(made));
  return t;
}

}  // namespace polyweft::schedules
