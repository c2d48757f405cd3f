#include "schedules/bands.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

#include "ir/nests/determined.h"
#include "schedules/reindex.h"

namespace polyweft::schedules {

Result<uint32_t> band_named(const NestTemplate& t, const std::string& name) {
  std::string known;
  for (uint32_t b = 0; b < t.bands.size(); ++b) {
    const std::string& own = t.stages[t.bands[b].frame].name;
    if (own == name) return b;
    known += (known.empty() ? "" : " ") + own;
  }
  return fail("PW0302", "trace: there is no band '" + name + "'",
              {known.empty() ? "make one: band NAME [t, i] of S: [t, i]" : "bands are " + known});
}

std::optional<uint32_t> band_of(const NestTemplate& t, uint32_t stage) {
  const Stage& own = t.stages[stage];
  for (uint32_t b = 0; b < t.bands.size(); ++b) {
    const bool is_attached = own.placement.kind == Placement::Kind::fused && own.placement.host == t.bands[b].frame;
    if (t.bands[b].frame == stage || is_attached) return b;
  }
  return std::nullopt;
}

Result<uint32_t> member_named(const NestTemplate& t, const Band& band, const std::string& name) {
  return index_named(t, t.stages[band.frame], name);
}

std::vector<uint32_t> stages_of(const NestTemplate& t, uint32_t band) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    if (k != t.bands[band].frame && band_of(t, k) == band && t.stages[k].placement.alone.empty()) out.push_back(k);
  return out;
}

std::vector<uint32_t> alone_in(const NestTemplate& t, uint32_t band) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    if (!t.stages[k].placement.alone.empty() && band_of(t, k) == band) out.push_back(k);
  return out;
}

namespace {

void fill_frame(NestTemplate& t, Stage& frame, const poly::BandFacts& facts) {
  const size_t members = equation_of(t, frame).index_names.size();
  frame.lo.assign(members, INT64_MAX);
  frame.hi.assign(members, INT64_MIN);
  for (size_t s = 0; s < facts.lo.size(); ++s)
    for (size_t m = 0; m < members; ++m) {
      if (facts.lo[s][m] >= facts.hi[s][m]) continue;
      frame.lo[m] = std::min(frame.lo[m], facts.lo[s][m]);
      frame.hi[m] = std::max(frame.hi[m], facts.hi[s][m]);
    }
  for (size_t m = 0; m < members; ++m)
    if (frame.lo[m] > frame.hi[m]) frame.lo[m] = frame.hi[m] = 0;
  std::map<VarId, Affine> map;
  for (uint32_t m = 0; m < members; ++m) map[m] = Affine::variable(t.program.index_var(m));
  frame.inside.clear();
  for (const Affine& e : facts.inside) frame.inside.push_back(substitute(e, map));
  frame.data_indices = static_cast<uint32_t>(members);
  std::vector<uint32_t> order(members);
  for (uint32_t m = 0; m < members; ++m) order[m] = m;
  frame.loops = point_loops(t, frame, order);
}

}  // namespace

Result<poly::BandFacts> facts_of(const NestTemplate& t, uint32_t band, const Isl& isl, const std::string& subject) {
  if (!isl.band_facts) return fail("PW0320", subject + ": facts about the band come from isl and are missing here");
  // Folds of what other bands make are judged there: whoever reads their tensors here reads "after the band".
  poly::BandQuestion question{t.bands[band].places, {}, t.snapshots, t.online};
  const std::vector<uint32_t> makers = stages_of(t, band);
  std::copy_if(t.folds.begin(), t.folds.end(), std::back_inserter(question.folds), [&](const TensorFold& fold) {
    return std::any_of(makers.begin(), makers.end(),
                       [&](uint32_t s) { return defines(equation_of(t, t.stages[s]), fold.tensor); });
  });
  return isl.band_facts(question);
}

Status rebuild(NestTemplate& t, uint32_t number, const Isl& isl) {
  Band& band = t.bands[number];
  const std::string subject = "band " + t.stages[band.frame].name;
  auto facts = facts_of(t, number, isl, subject);
  if (!facts) return facts.error();
  band.relations = facts->relations;
  fill_frame(t, t.stages[band.frame], *facts);
  const std::vector<uint32_t> attached_stages = stages_of(t, number);
  const std::vector<std::string> names = equation_of(t, t.stages[band.frame]).index_names;
  for (size_t k = 0; k < attached_stages.size(); ++k) {
    auto made = reindexed(t, band.places[k], names, subject);
    if (!made) return made.error();
    Stage& stage = t.stages[attached_stages[k]];
    Stage fresh = std::move(made->stage);
    fresh.name = stage.name;
    fresh.placement =
        Placement{Placement::Kind::fused, band.frame, static_cast<uint32_t>(names.size()), Scope::heap, {}};
    std::vector<uint32_t> order;
    for (uint32_t m = 0; m < names.size(); ++m) {
      fresh.placement.ties.push_back({made->index_of_member[m], m});
      order.push_back(made->index_of_member[m]);
      fresh.lo[made->index_of_member[m]] = facts->lo[k][m];
      fresh.hi[made->index_of_member[m]] = std::max(facts->lo[k][m], facts->hi[k][m]);
    }
    // Equations of earlier shapes of this band stay in the program unused: stages name theirs.
    fresh.equation = static_cast<EquationId>(t.program.equations.size());
    t.program.equations.push_back(std::move(made->equation));
    fresh.loops = point_loops(t, fresh, order);
    if (fresh.reduces && !is_order_free(t.cls, t.program, equation_of(t, fresh)))
      fresh.relations.push_back(order_of_folds(fresh));
    stage = std::move(fresh);
  }
  return keeps_relations(t, number, subject);
}

namespace {

bool has_point_loop(std::span<const TemplateLoop> loops, uint32_t index) {
  return std::any_of(loops.begin(), loops.end(),
                     [&](const TemplateLoop& l) { return l.index == index && is_point_loop(l); });
}

struct Walker {
  const NestTemplate& t;
  const Band& band;
  const std::vector<uint32_t>& attached_stages;
  const std::vector<uint32_t>& alone;
  std::string subject;
  static constexpr uint32_t kNoStage = UINT32_MAX;

  std::string member(uint32_t m) const { return index_name(t, t.stages[band.frame], m); }
  std::string name_of(const BandRelation& r) const {
    const char* kinds[] = {"flow", "storage", "order of folds"};
    return std::string(kinds[static_cast<size_t>(r.kind)]) + " of " + t.program.tensors[r.tensor].name + " from " +
           t.stages[attached_stages[r.source]].name + " to " + t.stages[attached_stages[r.sink]].name;
  }
  std::string distances(const BandRelation& r) const {
    std::string out = "distances:";
    for (uint32_t m = 0; m < r.lo.size(); ++m)
      out += (m ? ", " : " ") + member(m) + " " +
             (r.lo[m] == r.hi[m] ? std::to_string(r.lo[m]) : std::to_string(r.lo[m]) + ".." + std::to_string(r.hi[m]));
    return out;
  }
  Error broken(const char* code, const BandRelation& r, const std::string& what) const {
    Error error = fail(code, subject + ": " + name_of(r) + " " + what, {distances(r)});
    if (!r.witness.empty()) error.notes.push_back(r.witness);
    return error;
  }
  /// Does the class let these folds go in any order? Then only what runs at once must keep apart.
  bool is_free(const BandRelation& r) const {
    return r.kind == BandRelation::Kind::order &&
           is_order_free(t.cls, t.program, equation_of(t, t.stages[attached_stages[r.source]]));
  }
  /// Inside a loop over folds that is no member all elements of a sum grow at once: none of them is finished for
  /// another one to read.
  static bool is_in_pieces(const BandRelation& r, const Stage& stage, const TemplateLoop& loop) {
    return !stage.is_frame && r.kind != BandRelation::Kind::order && loop.index >= stage.data_indices &&
           !runs_once(stage, loop);
  }
  /// The outermost loops of a stage; `carried` once a loop surely has a distance above 0. `m_of`: the member of an
  /// index, if it has one. folds_apart: lanes do.
  template <class F>
  Status walk(const BandRelation& r, const Stage& stage, std::span<const TemplateLoop> loops, const F& m_of,
              bool& carried, bool folds_apart = false) const {
    uint32_t in_wave = 0;
    const auto gone = ir::determined_indices(t, static_cast<uint32_t>(&stage - t.stages.data()));
    auto has_no_loop = [&](const TemplateLoop& loop) {
      return is_point_loop(loop) && std::any_of(gone.begin(), gone.end(),
                                                [&](const ir::Determined& each) { return each.index == loop.index; });
    };
    const std::vector<int64_t> steps = rounded_steps(stage);
    for (size_t k = 0; k < loops.size(); ++k) {
      if (stage.is_frame && k > 0 && k < band.overlap.depth) continue;  // a tile computes what it needs of others (T5)
      const TemplateLoop& loop = loops[k];
      if (carried) return Ok{};
      const std::optional<uint32_t> m = m_of(loop.index);
      if (!m && is_in_pieces(r, stage, loop))
        return broken("PW0305", r, "needs the whole sum, of which loop " + loop.name + " does a part before others");
      if (!m) continue;
      const int64_t lo = r.lo[*m], hi = r.hi[*m];
      if (loop.wave > 0) in_wave = loop.wave;
      const bool is_in_wave = in_wave > 0;
      if (is_in_wave) --in_wave;
      if (runs_once(stage, loop) || has_no_loop(loop)) continue;
      if (is_in_wave) {  // T3: a sum of distances that are not negative is 0 only where each is
        if (lo < 0) return broken("PW0306", r, "runs backwards along " + member(*m) + ", in a wavefront");
        continue;
      }
      const bool at_once = loop.mark.kind == MarkKind::parallel || loop.mark.kind == MarkKind::axis;
      if (at_once && (lo != 0 || hi != 0))
        return broken("PW0306", r, "leads from one iteration of loop " + loop.name + " to another");
      // Lanes read all before they write: what is read may be overwritten by a later lane (T4).
      const bool reads_before = r.kind == BandRelation::Kind::anti && lo >= 0;
      const bool lock_step = loop.mark.kind == MarkKind::vector && !reads_before && !folds_apart;
      if (lock_step && (lo != 0 || hi != 0))
        return broken("PW0306", r, "leads from one lane of loop " + loop.name + " to another");
      if (lo < 0 && !is_free(r))
        return broken("PW0305", r, "runs backwards along " + member(*m) + ", in loop " + loop.name);
      carried = lo >= steps[k] && loop.mark.kind != MarkKind::vector;
    }
    return Ok{};
  }
  Status check(const BandRelation& r) const {
    if (auto status = check_inside(r, attached_stages, t.stages[band.frame].loops.size()); !status)
      return status.error();
    std::map<uint32_t, std::vector<uint32_t>> apart;  // by depth: those that run alone in tiles of that size
    for (uint32_t k : alone) {
      auto& own = apart.try_emplace(t.stages[k].placement.depth, attached_stages.size(), kNoStage).first->second;
      for (uint32_t g = 0; g < attached_stages.size(); ++g)
        if (is_copy_of(t.stages[k], t.stages[attached_stages[g]])) own[g] = k;
    }
    for (const auto& [depth, own] : apart) {
      if (own[r.source] == kNoStage || own[r.sink] == kNoStage) continue;
      if (auto status = check_inside(r, own, depth); !status) return status.error();
    }
    return Ok{};
  }
  static bool is_copy_of(const Stage& far, const Stage& near) { return far.name.starts_with(near.name + ".far"); }
  /// `depth` loops are shared; which[s]: the stage of statement s inside them.
  Status check_inside(const BandRelation& r, const std::vector<uint32_t>& which, size_t depth) const {
    bool carried = false;
    const Stage& frame = t.stages[band.frame];
    const std::span<const TemplateLoop> shared(frame.loops.data(), depth);
    auto identity = [](uint32_t index) -> std::optional<uint32_t> { return index; };
    if (auto status = walk(r, frame, shared, identity, carried); !status) return status.error();
    if (carried) return Ok{};
    if (r.source != r.sink) {
      if (which[r.source] < which[r.sink] || is_free(r)) return Ok{};
      return broken("PW0305", r, "needs the one before the other inside the loops they share");
    }
    const Stage& attached = t.stages[which[r.source]];
    auto member_of = [&](uint32_t index) -> std::optional<uint32_t> {
      for (auto [own, m] : attached.placement.ties) {
        if (own == index && !has_point_loop(shared, m)) return m;
      }
      return std::nullopt;
    };
    // Lanes that have accumulators fold apart; a tree merges them (T6).
    return walk(r, attached, attached.loops, member_of, carried, attached.accumulator && is_free(r));
  }
};

}  // namespace

Status is_own_loop(const NestTemplate& t, uint32_t id, const TemplateLoop& loop, const std::string& subject) {
  const auto band = band_of(t, id);
  if (!band || t.stages[id].is_frame) return Ok{};
  const Stage& frame = t.stages[t.bands[*band].frame];
  const std::span<const TemplateLoop> loops(frame.loops.data(), t.stages[id].placement.depth);
  for (auto [own, member] : t.stages[id].placement.ties)
    if (own == loop.index && has_point_loop(loops, member))
      return fail("PW0304", subject + ": band " + frame.name + " shares this loop",
                  {"distribute " + frame.name + " at a loop outside of it first"});
  return Ok{};
}

Status keeps_relations(const NestTemplate& t, uint32_t number, const std::string& subject) {
  const std::vector<uint32_t> attached_stages = stages_of(t, number);
  const std::vector<uint32_t> alone = alone_in(t, number);
  const Walker walker{t, t.bands[number], attached_stages, alone, subject};
  for (const BandRelation& r : t.bands[number].relations)
    if (auto status = walker.check(r); !status) return status.error();
  return Ok{};
}

}  // namespace polyweft::schedules
