// permute S [a, b, c]: these loops exchange their places.
//
// Legal by T1: with non-negative distances any order of monotone loops is legal; the order of a reduction that the
// class keeps is checked. A loop stays inside the tile loops of its own index.
#include <algorithm>
#include <map>
#include <set>

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {
namespace {

/// Tile loops of an index keep their order, the outermost (largest) first, lanes last.
bool nests_each_index(const std::vector<TemplateLoop>& before, const std::vector<TemplateLoop>& after) {
  std::map<uint32_t, std::vector<std::string>> old_order, new_order;
  for (const auto& loop : before) old_order[loop.index].push_back(loop.name);
  for (const auto& loop : after) new_order[loop.index].push_back(loop.name);
  bool lanes_last =
      std::none_of(after.begin(), after.end(), [](const auto& loop) { return loop.mark.kind == MarkKind::vector; }) ||
      after.back().mark.kind == MarkKind::vector;
  return old_order == new_order && lanes_last;
}

}  // namespace

Result<NestTemplate> permute(NestTemplate t, const PermuteStep& step) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  Stage& stage = t.stages[*id];
  if (stage.parted)
    return fail("PW0304", "permute " + stage.name + ": its reduction is in parts already",
                {"permute first, then rfactor"});
  std::vector<uint32_t> named;
  for (const auto& name : step.loops) {
    auto loop = loop_named(stage, name);
    if (!loop) return loop.error();
    named.push_back(*loop);
  }
  std::set<uint32_t> places(named.begin(), named.end());
  if (places.size() != named.size()) return fail("PW0304", "permute " + stage.name + ": a loop is named twice");
  std::vector<TemplateLoop> loops = stage.loops;
  auto place = places.begin();
  for (uint32_t from : named) loops[*place++] = stage.loops[from];
  if (!nests_each_index(stage.loops, loops))
    return fail("PW0304", "permute " + stage.name +
                              ": a loop would leave the tile loop of its own index, or lanes would not be innermost");
  for (uint32_t depth : used_depths(t, *id))
    if (!places.empty() && depth > *places.begin() && depth <= *places.rbegin())
      return fail("PW0304", "permute " + stage.name + ": something is placed between these loops already",
                  {"permute first"});
  if (auto status = keeps_reduction_order(t, stage, loops, "permute " + stage.name); !status) return status.error();
  stage.loops = std::move(loops);
  return t;
}

}  // namespace polyweft::schedules
