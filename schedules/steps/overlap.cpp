// overlap jacobi [t: 5, i: 64, j: 256] heap: blocks of time steps, in which tiles overlap.
//
//   for t: for i, j: B; for i, j: A      for t.1: for i.1, j.1: alloc A.o, B.o { A.o = A before the block; for t: B, A
//   on what the tile and its last steps need;  A = A.o of the tile }
//
// Legal by T5: a value may be computed any number of times where its sources are available. By so much as the relations
// reach along a member in one step of time, a tile's ranges grow from step to step backwards; what was made before the
// block is copied into the tile's cells, and what is read after it goes back from one tile each. Tiles of a block do
// not meet in a cell: they run in any order, or at once.
#include <algorithm>

#include "schedules/bands.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostRate = 64;

struct Overlapper {
  const NestTemplate& t;
  const Band& band;
  std::string subject;
  std::vector<uint32_t> attached_stages;
  uint32_t time = 0;

  std::string member(uint32_t m) const { return index_name(t, t.stages[band.frame], m); }
  Error refused(const BandRelation& r, const std::string& what) const {
    Error error = fail("PW0305", subject + ": what " + t.stages[attached_stages[r.sink]].name + " reads of " +
                                     t.program.tensors[r.tensor].name + ", made by " +
                                     t.stages[attached_stages[r.source]].name + ", " + what);
    std::string distances = "distances:";
    for (uint32_t m = 0; m < r.lo.size(); ++m)
      distances += (m ? ", " : " ") + member(m) + " " + std::to_string(r.lo[m]) + ".." + std::to_string(r.hi[m]);
    error.notes.push_back(distances);
    if (!r.witness.empty()) error.notes.push_back(r.witness);
    return error;
  }

  /// Offsets of all statements that keep `rate * dt + offset(source) - offset(sink) >= reach` for every flow; nothing
  /// where a rate that small has none, with the relation that keeps growing.
  std::optional<std::vector<int64_t>> offsets(uint32_t m, bool is_below, int64_t rate,
                                              const BandRelation*& grows) const {
    std::vector<int64_t> out(attached_stages.size(), 0);
    for (size_t round = 0; round <= attached_stages.size() + 1; ++round) {
      grows = nullptr;
      for (const BandRelation& r : band.relations) {
        if (r.kind != BandRelation::Kind::flow) continue;
        const int64_t reach = is_below ? r.hi[m] : -r.lo[m];
        const int64_t wanted = out[r.sink] + reach - rate * r.lo[time];
        if (out[r.source] >= wanted) continue;
        out[r.source] = wanted;
        grows = &r;
      }
      if (!grows) return out;
    }
    return std::nullopt;
  }

  Status widths(uint32_t m, bool is_below, Overlap& out) const {
    const BandRelation* grows = nullptr;
    for (int64_t rate = 0; rate <= kMostRate; ++rate) {
      const auto found = offsets(m, is_below, rate, grows);
      if (!found) continue;
      (is_below ? out.below : out.above)[m] = rate;
      for (size_t s = 0; s < attached_stages.size(); ++s) (is_below ? out.first : out.last)[s][m] = (*found)[s];
      return Ok{};
    }
    Error error = refused(*grows, "reaches along " + member(m) + " without an end within one step of " + member(time));
    error.notes.push_back("tiles overlap along members by which nothing of one time needs more of the same time");
    return error;
  }

  /// Coordinate of time in what a statement defines, and what is added to the member.
  std::optional<std::pair<uint32_t, int64_t>> time_of(uint32_t s) const {
    const Stage& stage = t.stages[attached_stages[s]];
    for (auto [own, of] : stage.placement.ties) {
      if (of != time) continue;
      const auto& slots = equation_of(t, stage).slots;
      for (uint32_t d = 0; d < slots.size(); ++d) {
        if (slots[d].var == t.program.index_var(own)) return {{d, 0}};
        const Affine apart = slots[d].position - Affine::variable(t.program.index_var(own));
        if (slots[d].var == kNoVar && apart.is_constant()) return {{d, apart.constant}};
      }
    }
    return std::nullopt;
  }

  /// How many of the last steps statements outside of the band read.
  Result<int64_t> read_outside(TensorId tensor, uint32_t dim, int64_t first, int64_t last) const {
    int64_t out = 0;
    for (uint32_t k = 0; k < t.stages.size(); ++k) {
      const Stage& stage = t.stages[k];
      if (k == band.frame || std::find(attached_stages.begin(), attached_stages.end(), k) != attached_stages.end())
        continue;
      for (const Access& access : reads_of(t, stage, tensor)) {
        const Affine& at = access.index[dim].affine;
        const bool is_known = !access.index[dim].data && at.is_constant();
        if (is_known && at.constant < first) continue;
        if (!is_known)
          return fail("PW0314",
                      subject + ": " + stage.name + " reads " + t.program.tensors[tensor].name +
                          " of many times outside of the band",
                      {"only the last steps of a block leave the tiles' cells"});
        out = std::max(out, last - at.constant + 1);
      }
    }
    return out;
  }

  Status keep(TensorId tensor, Overlap& out) const {
    Overlap::Kept kept{tensor, 0, 0, 0, 0};
    int64_t first = INT64_MAX, last = INT64_MIN;
    bool is_set = false;
    for (uint32_t s = 0; s < attached_stages.size(); ++s) {
      if (!defines(equation_of(t, t.stages[attached_stages[s]]), tensor)) continue;
      const auto at = time_of(s);
      if (!at || (is_set && *at != std::pair(kept.dim, kept.plus)))
        return fail("PW0304",
                    subject + ": " + member(time) + " is not the same coordinate of all that " +
                        t.program.tensors[tensor].name + " is",
                    {"tiles overlap in blocks of a member that is one coordinate of each tensor, plus a number"});
      std::tie(kept.dim, kept.plus) = *at;
      is_set = true;
      const Stage& stage = t.stages[attached_stages[s]];
      for (auto [own, of] : stage.placement.ties)
        if (of == time)
          first = std::min(first, stage.lo[own] + kept.plus), last = std::max(last, stage.hi[own] - 1 + kept.plus);
    }
    for (uint32_t attached :
         attached_stages) {  // by subscripts: what was made before the first block is no relation of the band
      const Stage& stage = t.stages[attached];
      for (auto [own, of] : stage.placement.ties)
        for (const Access& access : of == time ? reads_of(t, stage, tensor) : std::vector<Access>{}) {
          const Affine ago =
              Affine::variable(t.program.index_var(own)) + Affine::of(kept.plus) - access.index[kept.dim].affine;
          if (access.index[kept.dim].data || !ago.is_constant())
            return fail("PW0304",
                        subject + ": " + stage.name + " reads " + t.program.tensors[tensor].name +
                            " not always as many steps later",
                        {"read what was made before all blocks from a tensor of its own"});
          kept.before = std::max(kept.before, ago.constant);
        }
    }
    const std::vector<TensorId> outputs = t.program.outputs();
    if (first < last && std::find(outputs.begin(), outputs.end(), tensor) != outputs.end())
      return fail("PW0314", subject + ": " + t.program.tensors[tensor].name + " is an output at all its times",
                  {"only the last steps of a block leave the tiles' cells: make the output of what is wanted of them"});
    auto outside = read_outside(tensor, kept.dim, first, last);
    if (!outside) return outside.error();
    kept.after = std::max(kept.before, *outside);
    if (kept.after > 0) out.kept.push_back(kept);
    return Ok{};
  }
};

}  // namespace

Result<NestTemplate> overlap(NestTemplate t, const OverlapStep& step) {
  const std::string subject = "overlap " + step.band;
  auto number = band_named(t, step.band);
  if (!number) return number.error();
  Band& band = t.bands[*number];
  Stage& frame = t.stages[band.frame];
  if (band.overlap.depth > 0 ||
      std::any_of(frame.loops.begin(), frame.loops.end(),
                  [](const TemplateLoop& l) { return !is_point_loop(l) || l.mark != Mark{}; }) ||
      frame.loops.size() != frame.lo.size())
    return fail("PW0304", subject + ": loops of the band have been changed",
                {"overlap makes the outermost loops: it comes before tile, distribute and the rest"});
  if (step.levels.size() < 2) return fail("PW0304", subject + ": it takes a member for time and one or more for tiles");
  if (step.scope == Scope::reg || step.scope == Scope::shared)
    return fail("PW0304", subject + ": tiles lie in heap or stack");
  Overlapper work{t, band, subject, stages_of(t, *number)};
  for (uint32_t attached : work.attached_stages)
    if (t.stages[attached].part != SumPart::whole || t.stages[attached].reduces)
      return fail("PW0304", subject + ": " + t.stages[attached].name + " folds into elements",
                  {"sums are not computed again"});
  Overlap made;
  made.depth = static_cast<uint32_t>(step.levels.size());
  made.scope = step.scope;
  made.below.assign(frame.lo.size(), 0);
  made.above = made.below;
  made.first.assign(work.attached_stages.size(), made.below);
  made.last = made.first;
  std::vector<TemplateLoop> loops;
  for (const auto& level : step.levels) {
    auto member = member_named(t, band, level.index);
    if (!member) return member.error();
    if (std::any_of(loops.begin(), loops.end(), [&](const TemplateLoop& l) { return l.index == *member; }))
      return fail("PW0304", subject + ": two loops over " + level.index);
    if (level.size.decision.empty() && level.size.constant < 1)
      return fail("PW0304", subject + ": size " + std::to_string(level.size.constant) + " is less than 1");
    TemplateLoop loop;
    loop.kind = TemplateLoop::Kind::tile;
    loop.index = *member;
    loop.step = level.size;
    loop.name = level.index + ".1";
    loops.push_back(std::move(loop));
  }
  work.time = loops[0].index;
  for (const BandRelation& r : band.relations)
    if (r.lo[work.time] < 0) return work.refused(r, "runs backwards along " + work.member(work.time));
  for (size_t k = 1; k < loops.size(); ++k)
    for (bool is_below : {true, false})
      if (auto status = work.widths(loops[k].index, is_below, made); !status) return status.error();
  for (TensorId tensor = 0; tensor < t.program.tensors.size(); ++tensor)
    if (std::any_of(work.attached_stages.begin(), work.attached_stages.end(),
                    [&](uint32_t g) { return defines(equation_of(t, t.stages[g]), tensor); }))
      if (auto status = work.keep(tensor, made); !status) return status.error();
  frame.loops.insert(frame.loops.begin(), loops.begin(), loops.end());
  band.overlap = std::move(made);
  return t;
}

}  // namespace polyweft::schedules
