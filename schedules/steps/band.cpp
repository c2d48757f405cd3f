// band jacobi [t, i, j] of B: [t, i + 2*t, j + 2*t], A: [t, i + 2*t + 1, j + 2*t + 1]: statements in loops over common
// members.
//
//   for t: { for i, j: B; for i, j: A }          for t, i, j: { B at (t, i - 2t, j - 2t); A at (t, i - 2t - 1, j - 2t -
//   1) }
//
// An affine schedule of a group of statements: fusion, skewing, shifting and reversal at once. Legal where every
// relation has a lexicographically positive distance over the members, or distance 0 and its source earlier in the
// sequence. Borders, whose conditions are no conjunctions, are cut into disjoint pieces. skew, shift and reverse change
// one member of a band; its loops begin anew, so they come before tile and the rest.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <span>

#include "ir/text/trace_names.h"
#include "schedules/bands.h"
#include "schedules/hulls.h"
#include "schedules/pieces.h"
#include "schedules/reindex.h"
#include "schedules/sources.h"

namespace polyweft::schedules {
namespace {

/// A value over the indices of an equation; `d0`, `d1`, .. are the coordinates of the element that it defines.
Result<Affine> value_of(const NestTemplate& t, const Stage& stage, SumPart part, const LinearText& text,
                        const std::string& subject) {
  const Equation& equation = equation_of(t, stage);
  const size_t indices = part == SumPart::first ? stage.data_indices : equation.index_names.size();
  Affine out = Affine::of(text.constant);
  for (const auto& [coeff, name] : text.terms) {
    std::optional<Affine> term;
    for (uint32_t k = 0; k < indices; ++k)
      if (equation.index_names[k] == name) term = Affine::variable(t.program.index_var(k));
    for (uint32_t d = 0; d < equation.slots.size() && !term; ++d)
      if (name == "d" + std::to_string(d))
        term = equation.slots[d].var == kNoVar ? equation.slots[d].position : Affine::variable(equation.slots[d].var);
    for (const Parameter& parameter : t.program.parameters)
      if (!term && parameter.name == name) term = Affine::of(parameter.value);
    if (!term) {
      std::string known;
      for (size_t k = 0; k < indices; ++k) known += (known.empty() ? "" : " ") + equation.index_names[k];
      return fail("PW0303", subject + ": there is no index '" + name + "'",
                  {"its indices are " + known + "; coordinates of its element are d0, d1, .."});
    }
    out = out + coeff * *term;
  }
  return out;
}

/// Stages of a statement's name: itself, or all equations of a tensor.
std::vector<uint32_t> stages_named(const NestTemplate& t, const std::string& name) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < t.stages.size(); ++k)
    if (t.stages[k].name == name || (t.stages[k].name.starts_with(name + "@"))) out.push_back(k);
  return out;
}

struct Member {
  uint32_t stage = 0;
  std::string name;
  BandPlace place;
  size_t pieces = 1;  ///< of the statement, or of its part
};

/// "A@3.p2" is the second piece of A@3; 0: all of a statement.
std::pair<std::string, size_t> whole_and_piece(const NestTemplate& t, const std::string& name) {
  const size_t cut = name.rfind(".p");
  if (cut == std::string::npos || !stages_named(t, name).empty()) return {name, 0};
  size_t number = 0;
  for (size_t k = cut + 2; k < name.size() && number < 1000; ++k)
    number =
        std::isdigit(static_cast<unsigned char>(name[k])) ? 10 * number + static_cast<size_t>(name[k] - '0') : 1000;
  return {name.substr(0, cut), number};
}

/// "A.1.first", "A.1.folds": a part of A.1.
std::pair<std::string, SumPart> whole_and_part(const NestTemplate& t, const std::string& name) {
  for (SumPart part : {SumPart::first, SumPart::folds})
    if (const std::string suffix = ir::suffix_of(part); name.ends_with(suffix) && stages_named(t, name).empty())
      return {name.substr(0, name.size() - suffix.size()), part};
  return {name, SumPart::whole};
}

using BandPiece = std::optional<std::vector<Guard>>;  ///< nothing: no point, at these sizes

/// A domain, cut or not, in pieces; `reduced`: of a whole sum. The sides of a cut keep their numbers where one of them
/// is empty.
std::optional<std::vector<BandPiece>> sides_of(Domain domain, VarId reduced, std::span<const StatementCut> cuts) {
  std::vector<BandPiece> out;
  if (cuts.empty()) {
    const auto pieces = disjoint_pieces(domain, reduced);
    if (!pieces) return std::nullopt;
    out.assign(pieces->begin(), pieces->end());
    return out;
  }
  for (const Affine& side : {cuts.front().where, Affine::of(-1) - cuts.front().where}) {
    Domain own = domain;
    own.guards.push_back(guard_ge0(side));
    const auto pieces = sides_of(std::move(own), reduced, cuts.subspan(1));
    if (!pieces) return std::nullopt;
    out.insert(out.end(), pieces->begin(), pieces->end());
    if (pieces->empty()) out.push_back(std::nullopt);
  }
  return out;
}

/// The points of a part of a statement in pieces. First values do not ask whether anything is folded.
std::optional<std::vector<BandPiece>> pieces_of(const NestTemplate& t, const Stage& stage, SumPart part) {
  Domain domain = domain_of(t.program, equation_of(t, stage));
  const VarId reduced = t.program.index_var(stage.data_indices);
  if (part == SumPart::first) {
    std::erase_if(domain.guards, [&](const Guard& g) { return mentions_from(g, reduced); });
    std::erase_if(domain.inside, [&](const Affine& e) { return mentions_from(guard_ge0(e), reduced); });
  }
  std::vector<StatementCut> cuts;
  std::copy_if(t.cuts.begin(), t.cuts.end(), std::back_inserter(cuts),
               [&](const StatementCut& c) { return c.equation == stage.equation && c.part == part; });
  return sides_of(std::move(domain), stage.reduces && part == SumPart::whole ? reduced : kNoVar, cuts);
}

/// Each statement whole, or both of its parts, with all pieces.
Status all_are_named(const NestTemplate& t, const std::vector<Member>& members, const std::string& subject) {
  for (const Member& member : members) {
    const std::string name = t.stages[member.stage].name;
    const SumPart part = member.place.part;
    auto count = [&](SumPart wanted) {
      return static_cast<size_t>(std::count_if(members.begin(), members.end(), [&](const Member& m) {
        return m.stage == member.stage && m.place.part == wanted;
      }));
    };
    if (count(part) != member.pieces)
      return fail("PW0304", subject + ": not all pieces of " + name + ir::suffix_of(part) + " are named");
    if (part == SumPart::whole && count(SumPart::first) + count(SumPart::folds) > 0)
      return fail("PW0304", subject + ": " + name + " is named whole and by its parts");
    const SumPart other = part == SumPart::first ? SumPart::folds : SumPart::first;
    if (part != SumPart::whole && count(other) == 0)
      return fail("PW0304",
                  subject + ": " + name + ir::suffix_of(part) + " is named without " + name + ir::suffix_of(other),
                  {"a band has both parts of a sum or all of it"});
  }
  return Ok{};
}

Result<std::vector<Member>> members_of(const NestTemplate& t, const BandStep& step) {
  std::vector<Member> out;
  const std::string subject = "band " + step.name;
  for (const auto& statement : step.statements) {
    const auto [of_part, number] = whole_and_piece(t, statement.name);
    const auto [name, part] = whole_and_part(t, of_part);
    const std::vector<uint32_t> stages = stages_named(t, name);
    if (stages.empty()) return stage_named(t, statement.name).error();
    for (uint32_t id : stages) {
      const Stage& stage = t.stages[id];
      if (stage.placement.kind != Placement::Kind::at_root || stage.is_frame || stage.origin)
        return fail("PW0304", subject + ": " + stage.name + " is placed or split already", {"the band comes first"});
      if (part != SumPart::whole && !stage.reduces)
        return fail("PW0304", subject + ": " + stage.name + " folds nothing and has no parts");
      const std::string own = stage.name + ir::suffix_of(part);
      BandPlace place;
      place.part = part;
      place.equation = stage.equation;
      for (const LinearText& text : statement.members) {
        auto value = value_of(t, stage, part, text, subject + ", " + own);
        if (!value) return value.error();
        place.members.push_back(std::move(*value));
      }
      auto pieces = pieces_of(t, stage, part);
      if (!pieces) return fail("PW0324", subject + ": the conditions of " + own + " make more than 64 pieces");
      if (number > pieces->size())
        return fail("PW0302", subject + ": " + own + " has " + std::to_string(pieces->size()) + " pieces");
      const auto count = static_cast<size_t>(
          std::count_if(pieces->begin(), pieces->end(), [](const BandPiece& p) { return p.has_value(); }));
      for (size_t k = 0; k < pieces->size(); ++k) {
        if ((number > 0 && k + 1 != number) || !(*pieces)[k]) continue;
        place.piece = *(*pieces)[k];
        out.push_back({id, own + (pieces->size() > 1 ? ".p" + std::to_string(k + 1) : ""), place, count});
        if (std::count_if(out.begin(), out.end(), [&](const Member& m) { return m.name == out.back().name; }) > 1)
          return fail("PW0304", subject + ": " + out.back().name + " is named twice");
      }
    }
  }
  if (auto status = all_are_named(t, out, subject); !status) return status.error();
  return out;
}

/// Stages in an order in which those at the root may run; those placed in others follow their host. Nothing where there
/// is a cycle.
std::optional<std::vector<uint32_t>> running_order(const NestTemplate& t) {
  const uint32_t count = static_cast<uint32_t>(t.stages.size());
  auto root_of = [&](uint32_t k) {
    while (t.stages[k].placement.kind != Placement::Kind::at_root &&
           t.stages[k].placement.kind != Placement::Kind::inlined)
      k = t.stages[k].placement.host;
    return k;
  };
  // What is in a band has an equation of its own, over the band's members: elements are told apart by the one that it
  // was made of.
  std::vector<EquationId> made_of(count);
  for (uint32_t k = 0; k < count; ++k) made_of[k] = t.stages[k].equation;
  for (uint32_t band = 0; band < t.bands.size(); ++band) {
    const auto attached_stages = stages_of(t, band);
    for (size_t k = 0; k < attached_stages.size(); ++k) made_of[attached_stages[k]] = t.bands[band].places[k].equation;
  }
  const auto sources = sources_of(t.program);
  const auto may_read = [&](uint32_t reader, uint32_t source) {
    const auto& of = sources[made_of[reader]];
    return reads_any(t, t.stages[reader], equation_of(t, t.stages[source]).targets) &&
           std::find(of.begin(), of.end(), made_of[source]) != of.end();
  };
  std::vector<std::vector<uint32_t>> needs(count);  // of roots
  for (uint32_t k = 0; k < count; ++k)
    for (uint32_t source = 0; source < count; ++source)
      if (root_of(k) != root_of(source) && may_read(k, source)) needs[root_of(k)].push_back(root_of(source));
  std::vector<uint32_t> out;
  std::vector<char> placed(count, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t k = 0; k < count && !moved; ++k) {
      if (placed[k] || root_of(k) != k ||
          !std::all_of(needs[k].begin(), needs[k].end(), [&](uint32_t n) { return placed[n] != 0; }))
        continue;
      for (uint32_t attached = 0; attached < count; ++attached)
        if (attached != k && root_of(attached) == k) out.push_back(attached);
      out.insert(std::find_if(out.begin(), out.end(), [&](uint32_t g) { return root_of(g) == k; }), k);
      placed[k] = 1;
      moved = true;
    }
  }
  if (out.size() != count) return std::nullopt;
  return out;
}

void reorder(NestTemplate& t, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> place(order.size());
  std::vector<Stage> stages;
  for (uint32_t k = 0; k < order.size(); ++k) {
    place[order[k]] = k;
    stages.push_back(std::move(t.stages[order[k]]));
  }
  for (Stage& stage : stages)
    if (stage.placement.kind != Placement::Kind::at_root && stage.placement.kind != Placement::Kind::inlined)
      stage.placement.host = place[stage.placement.host];
  for (Band& band : t.bands) band.frame = place[band.frame];
  t.stages = std::move(stages);
}

/// Loops as the band began with: nothing tiled, marked or distributed.
bool is_untouched(const NestTemplate& t, uint32_t band) {
  auto plain = [](const Stage& stage, size_t loops) {
    const bool is_plain = std::all_of(stage.loops.begin(), stage.loops.end(),
                                      [](const TemplateLoop& l) { return is_point_loop(l) && l.mark == Mark{}; });
    return is_plain && stage.loops.size() == loops && !stage.accumulator && stage.promotions.empty();
  };
  const Stage& frame = t.stages[t.bands[band].frame];
  if (!plain(frame, frame.lo.size())) return false;
  const auto attached_stages = stages_of(t, band);
  return std::all_of(attached_stages.begin(), attached_stages.end(),
                     [&](uint32_t g) { return plain(t.stages[g], t.stages[g].lo.size()); });
}

Status must_be_untouched(const NestTemplate& t, uint32_t band, const std::string& subject) {
  if (is_untouched(t, band)) return Ok{};
  return fail("PW0304", subject + ": loops of the band have been changed",
              {"skew, shift, reverse and fold come before tile, distribute and the rest"});
}

}  // namespace

Result<NestTemplate> band(NestTemplate t, const BandStep& step, const Isl& isl) {
  const std::string subject = "band " + step.name;
  for (const Stage& stage : t.stages)
    if (stage.name == step.name) return fail("PW0304", subject + ": there is a statement or band of this name");
  auto members = members_of(t, step);
  if (!members) return members.error();
  Stage frame;
  frame.name = step.name;
  frame.is_frame = true;
  frame.equation = static_cast<EquationId>(t.program.equations.size());
  Equation loops;
  loops.index_names = step.members;
  loops.rhs = make_literal(Literal{});
  t.program.equations.push_back(std::move(loops));
  // The statements' stages make place for the frame and one stage a piece.
  std::vector<Stage> stages;
  std::vector<uint32_t> new_place(t.stages.size(), 0);
  for (uint32_t k = 0; k < t.stages.size(); ++k) {
    if (std::any_of(members->begin(), members->end(), [&](const Member& m) { return m.stage == k; })) continue;
    new_place[k] = static_cast<uint32_t>(stages.size());
    stages.push_back(t.stages[k]);
  }
  for (Stage& stage : stages)
    if (stage.placement.kind != Placement::Kind::at_root && stage.placement.kind != Placement::Kind::inlined)
      stage.placement.host = new_place[stage.placement.host];
  for (Band& other : t.bands) other.frame = new_place[other.frame];
  Band made;
  made.frame = static_cast<uint32_t>(stages.size());
  stages.push_back(std::move(frame));
  for (const Member& member : *members) {
    Stage stage = t.stages[member.stage];
    stage.name = member.name;
    stage.needs_band = false;
    stage.placement = Placement{Placement::Kind::fused, made.frame, 0, Scope::heap, {}};
    stages.push_back(std::move(stage));
    made.places.push_back(member.place);
  }
  t.stages = std::move(stages);
  t.bands.push_back(std::move(made));
  if (auto order = running_order(t))
    reorder(t, *order);
  else if (std::none_of(t.stages.begin(), t.stages.end(), [](const Stage& s) { return s.needs_band; }))
    return fail("PW0314", subject + ": other statements need it and are needed by it", {"take them into the band"});
  if (auto status = rebuild(t, static_cast<uint32_t>(t.bands.size() - 1), isl); !status) return status.error();
  return t;
}

/// cut A.1.folds where j - k - 64: pieces whose members differ in more than numbers, as folds that are far from what
/// they read and near. Legal as a band's pieces are: they are disjoint and together all of the statement.
Result<NestTemplate> cut(NestTemplate t, const CutStep& step) {
  const std::string subject = "cut " + step.of;
  const auto [name, part] = whole_and_part(t, step.of);
  const auto id = stage_named(t, name);
  if (!id) return id.error();
  const Stage& stage = t.stages[*id];
  if (stage.placement.kind != Placement::Kind::at_root || stage.is_frame || stage.origin)
    return fail("PW0304", subject + ": " + stage.name + " is placed or split already",
                {"the cut comes before its band"});
  if (part != SumPart::whole && !stage.reduces)
    return fail("PW0304", subject + ": " + stage.name + " folds nothing and has no parts");
  auto where = value_of(t, stage, part, step.where, subject);
  if (!where) return where.error();
  if (part == SumPart::whole && stage.reduces &&
      mentions_from(guard_ge0(*where), t.program.index_var(stage.data_indices)))
    return fail("PW0304", subject + ": the cut moves with a reduced index of a whole sum",
                {"cut its folds: " + stage.name + ".folds"});
  t.cuts.push_back({stage.equation, part, std::move(*where)});
  return t;
}

Result<NestTemplate> skew(NestTemplate t, const SkewStep& step, const Isl& isl) {
  auto number = band_named(t, step.band);
  if (!number) return number.error();
  Band& band = t.bands[*number];
  auto member = member_named(t, band, step.member);
  if (!member) return member.error();
  if (auto status = must_be_untouched(t, *number, "skew " + step.band); !status) return status.error();
  for (BandPlace& place : band.places) {
    Affine by = Affine::of(step.by.constant);
    for (const auto& [coeff, name] : step.by.terms) {
      auto other = member_named(t, band, name);
      if (!other) return other.error();
      if (*other == *member) return fail("PW0304", "skew " + step.band + ": member " + name + " by itself");
      by = by + coeff * place.members[*other];
    }
    place.members[*member] = place.members[*member] + by;
  }
  if (auto status = rebuild(t, *number, isl); !status) return status.error();
  return t;
}

Result<NestTemplate> shift(NestTemplate t, const ShiftStep& step, const Isl& isl) {
  auto id = stage_named(t, step.statement);
  if (!id) return id.error();
  auto number = band_of(t, *id);
  if (!number || t.stages[*id].is_frame)
    return fail("PW0304", "shift " + step.statement + ": it is no statement of a band");
  Band& band = t.bands[*number];
  auto member = member_named(t, band, step.member);
  if (!member) return member.error();
  if (auto status = must_be_untouched(t, *number, "shift " + step.statement); !status) return status.error();
  const auto attached_stages = stages_of(t, *number);
  for (size_t k = 0; k < attached_stages.size(); ++k)
    if (attached_stages[k] == *id)
      band.places[k].members[*member] = band.places[k].members[*member] + Affine::of(step.by);
  if (auto status = rebuild(t, *number, isl); !status) return status.error();
  return t;
}

Result<NestTemplate> reverse(NestTemplate t, const ReverseStep& step, const Isl& isl) {
  auto number = band_named(t, step.band);
  if (!number) return number.error();
  auto member = member_named(t, t.bands[*number], step.member);
  if (!member) return member.error();
  if (auto status = must_be_untouched(t, *number, "reverse " + step.band); !status) return status.error();
  for (BandPlace& place : t.bands[*number].places) place.members[*member] = Affine::of(0) - place.members[*member];
  if (auto status = rebuild(t, *number, isl); !status) return status.error();
  return t;
}

}  // namespace polyweft::schedules
