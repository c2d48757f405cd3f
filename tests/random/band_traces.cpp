#include "random/band_traces.h"

#include <algorithm>

#include "ir/text/trace_names.h"
#include "poly/band.h"
#include "schedules/bands.h"
#include "schedules/random_pairs.h"

namespace polyweft::random_test {
namespace {

using test::pick;

std::vector<std::string> names_of(const std::vector<TemplateLoop>& loops) {
  std::vector<std::string> out;
  for (const TemplateLoop& loop : loops) out.push_back(loop.name);
  return out;
}

template <class T>
std::vector<T> shuffled(Rng& rng, std::vector<T> values) {
  for (size_t k = values.size(); k > 1; --k) std::swap(values[k - 1], values[rng.below(k)]);
  return values;
}

/// Steps on one band of a template.
class BandSteps {
 public:
  BandSteps(Rng& rng, const NestTemplate& t, uint32_t band)
      : rng_(rng), t_(t), attached_stages_(schedules::stages_of(t, band)), frame_(t.stages[t.bands[band].frame]) {
    for (uint32_t far : schedules::alone_in(t, band)) attached_stages_.push_back(far);
    members_ = schedules::equation_of(t, frame_).index_names;
  }

  /// Of what comes before any loop is changed.
  Step early() {
    switch (rng_.below(6)) {
      case 0:
        return skew();
      case 1:
        return ShiftStep{attached().name, member(), rng_.chance(0.5) ? 1 : -1};
      case 2:
        return ReverseStep{frame_.name, member()};
      case 3:
        return store();
      default:
        return fold();
    }
  }
  Step late() {
    const Stage& own = attached();
    switch (rng_.below(16)) {
      case 0:
      case 1:
        return tile();
      case 2:
        return PermuteStep{frame_.name, shuffled(rng_, names_of(frame_.loops))};
      case 3:
      case 4:
        return DistributeStep{frame_.name, loop_of(frame_)};
      case 5:
        return ParallelStep{frame_.name, loop_of(frame_), 0};
      case 6:
        return ParallelStep{own.name, loop_of(own), 0};
      case 7:
      case 8:
        return VectorizeStep{own.name, index_of(own), Size{pick(rng_, 2, 5), ""}};
      case 9:
        return PermuteStep{own.name, shuffled(rng_, names_of(own.loops))};
      case 10:
        return TileStep{own.name, {{index_of(own), Size{pick(rng_, 2, 4), ""}}}};
      case 11:
        return own.reduces ? Step(AccumulateStep{own.name, loop_of(own), rng_.chance(0.7) ? Scope::reg : Scope::stack})
                           : Step(UnrollStep{own.name, {index_of(own)}});
      case 12:
        return UnrollStep{own.name, {index_of(own)}};
      case 13:
        return wavefront();
      case 14:
        return isolate();
      default:
        return PromoteStep{pick(rng_, t_.program.tensors).name, own.name, loop_of(own), Scope::heap, {}, 0};
    }
  }

  Step overlap() {
    OverlapStep out{frame_.name, {}, rng_.chance(0.7) ? Scope::heap : Scope::stack};
    for (const std::string& name : rng_.chance(0.7) ? members_ : shuffled(rng_, members_))
      if (out.levels.size() < 2 || rng_.chance(0.5)) out.levels.push_back({name, Size{pick(rng_, 1, 4), ""}});
    return out;
  }

 private:
  const std::string& member() { return pick(rng_, members_); }
  const Stage& attached() { return t_.stages[pick(rng_, attached_stages_)]; }
  std::string loop_of(const Stage& stage) { return stage.loops.empty() ? "root" : pick(rng_, stage.loops).name; }
  std::string index_of(const Stage& stage) {
    const auto& names = schedules::equation_of(t_, stage).index_names;
    return names.empty() ? "i" : pick(rng_, names);
  }
  Step skew() {
    LinearText by;
    by.terms.push_back({pick(rng_, std::vector<int64_t>{1, 1, 2, -1}), member()});
    return SkewStep{frame_.name, member(), by};
  }
  std::string made_tensor() {
    const auto& targets = schedules::equation_of(t_, attached()).targets;
    return targets.empty() ? "A0" : t_.program.tensors[targets[0]].name;
  }
  size_t rank_of(const std::string& name) const {
    for (const Tensor& tensor : t_.program.tensors)
      if (tensor.name == name) return tensor.rank;
    return 1;
  }
  Step fold() {
    const std::string tensor = made_tensor();
    const std::string dim =
        (rng_.chance(0.2) ? "c" : "d") + std::to_string(rng_.below(std::max<size_t>(1, rank_of(tensor))));
    return FoldStep{tensor, dim, pick(rng_, 1, 4), rng_.chance(0.8)};
  }
  Step store() {
    StoreStep out{made_tensor(), {}, {}};
    const size_t rank = rank_of(out.tensor);
    for (size_t d = 0; d < rank; ++d) {
      LinearText cell;
      cell.terms.push_back({1, "d" + std::to_string(d)});
      if (d + 1 < rank && rng_.chance(0.6))
        cell.terms.push_back({rng_.chance(0.7) ? 1 : -1, "d" + std::to_string(d + 1)});
      out.cell.push_back(cell);
    }
    out.cell = shuffled(rng_, out.cell);
    return out;
  }
  Step tile() {
    TileStep out{frame_.name, {}};
    for (const std::string& name : shuffled(rng_, members_))
      if (out.levels.empty() || rng_.chance(0.6)) out.levels.push_back({name, Size{pick(rng_, 2, 4), ""}});
    return out;
  }
  Step wavefront() {
    WavefrontStep out{frame_.name, {}};
    for (const TemplateLoop& loop : frame_.loops) {
      if (!out.loops.empty() && !rng_.chance(0.7)) break;
      out.loops.push_back(loop.name);
    }
    return out;
  }
  Step isolate() {
    IsolateStep out{{}, frame_.name, loop_of(frame_), {}};
    for (uint32_t g : attached_stages_)
      if (out.statements.empty() || rng_.chance(0.6)) out.statements.push_back(t_.stages[g].name);
    LinearText where;
    where.terms.push_back({rng_.chance(0.5) ? 1 : -1, member()});
    if (rng_.chance(0.6)) where.terms.push_back({rng_.chance(0.5) ? 1 : -1, member()});
    where.constant = pick(rng_, -3, 3);
    out.where.push_back(where);
    return out;
  }

  Rng& rng_;
  const NestTemplate& t_;
  std::vector<uint32_t> attached_stages_;
  const Stage& frame_;
  std::vector<std::string> members_;
};

void add(LinearText& to, int64_t coeff, const LinearText& what) {
  for (const auto& [c, name] : what.terms) {
    const auto same =
        std::find_if(to.terms.begin(), to.terms.end(), [&](const auto& term) { return term.second == name; });
    if (same == to.terms.end())
      to.terms.push_back({coeff * c, name});
    else
      same->first += coeff * c;
  }
  std::erase_if(to.terms, [](const auto& term) { return term.first == 0; });
  to.constant += coeff * what.constant;
}

/// Members exchanged, skewed, shifted or reversed; statements in another sequence.
BandStep changed(Rng& rng, BandStep step) {
  const size_t members = step.members.size();
  const size_t a = rng.below(members), b = rng.below(members);
  switch (rng.below(5)) {
    case 0:
      for (auto& statement : step.statements) std::swap(statement.members[a], statement.members[b]);
      break;
    case 1:
      for (auto& statement : step.statements)
        if (a != b) add(statement.members[a], rng.chance(0.7) ? 1 : -1, LinearText(statement.members[b]));
      break;
    case 2:
      step.statements[rng.below(step.statements.size())].members[a].constant += pick(rng, -2, 2);
      break;
    case 3: {
      const size_t k = rng.below(step.statements.size());
      LinearText turned;
      add(turned, -1, step.statements[k].members[a]);
      step.statements[k].members[a] = turned;
      break;
    }
    default:
      step.statements = shuffled(rng, step.statements);
  }
  return step;
}

/// One member more, a sum of others: diamonds, and members that have no loop where the others give them.
BandStep with_sum(Rng& rng, BandStep step) {
  const size_t members = step.members.size();
  const size_t at = rng.below(members + 1), a = rng.below(members), b = rng.below(members);
  const int64_t times = pick(rng, std::vector<int64_t>{1, 1, -1, 2});
  for (auto& statement : step.statements) {
    LinearText sum(statement.members[a]);
    if (a != b) add(sum, times, LinearText(statement.members[b]));
    statement.members.insert(statement.members.begin() + static_cast<std::ptrdiff_t>(at), sum);
  }
  step.members.insert(step.members.begin() + static_cast<std::ptrdiff_t>(at), "sum");
  return step;
}

class Drawing {
 public:
  Drawing(Rng& rng, NestTemplate t, schedules::Isl isl) : rng_(rng), t_(std::move(t)), isl_(std::move(isl)) {}

  bool take(const Step& step) {
    auto next = schedules::apply(t_, step, isl_);
    const bool names_nothing = !next && (next.error().code == "PW0302" || next.error().code == "PW0303");
    if (!next && !names_nothing) out.refused.push_back({out.trace, step, next.error()});
    if (!next) return false;
    t_ = std::move(*next);
    out.trace.steps.push_back(step);
    return true;
  }
  void take_bands(const Program& program, const std::vector<poly::BandProposal>& bands) {
    for (size_t k = 0; k < bands.size(); ++k) {
      const BandStep proposed = poly::band_step(program, bands[k], "band" + std::to_string(k + 1));
      bool is_taken = false;
      for (int tries = 0; tries < 2 && !is_taken && rng_.chance(0.6); ++tries) is_taken = take(changed(rng_, proposed));
      if (!is_taken && rng_.chance(0.4)) is_taken = take(with_sum(rng_, proposed));
      if (!is_taken) take(proposed);
    }
  }
  void take_steps(int tries, bool is_early) {
    for (; tries > 0 && !t_.bands.empty(); --tries) {
      BandSteps steps(rng_, t_, static_cast<uint32_t>(rng_.below(t_.bands.size())));
      take(is_early ? steps.early() : steps.late());
    }
  }
  void take_overlap(int tries) {
    for (bool is_taken = false; tries > 0 && !is_taken && !t_.bands.empty(); --tries)
      is_taken = take(BandSteps(rng_, t_, static_cast<uint32_t>(rng_.below(t_.bands.size()))).overlap());
  }
  const NestTemplate& made() const { return t_; }

  Drawn out;

 private:
  Rng& rng_;
  NestTemplate t_;
  schedules::Isl isl_;
};

}  // namespace

schedules::Isl isl_of(const Program& program) {
  return {nullptr, [&program](const poly::BandQuestion& question) { return poly::band_facts(program, question); },
          [&program] { return poly::propose_bands(program); }};
}

schedules::Isl isl_without_relations(const Program& program) {
  return {nullptr,
          [&program](poly::BandQuestion question) -> Result<poly::BandFacts> {
            question.folds.clear();
            auto facts = poly::band_facts(program, question);
            if (facts) facts->relations.clear();
            return facts;
          },
          nullptr};
}

Drawn random_band_trace(Rng& rng, const Program& program, NumericsClass cls) {
  const auto bands = poly::propose_bands(program);
  if (!bands || bands->empty()) return {};
  Drawing drawing(rng, schedules::unscheduled_template(program, cls), isl_of(program));
  drawing.take_bands(program, *bands);
  drawing.take_steps(static_cast<int>(rng.below(4)), true);
  if (rng.chance(0.3)) drawing.take_overlap(5);
  drawing.take_steps(static_cast<int>(rng.between(2, 9)), false);
  return std::move(drawing.out);
}

Drawn random_dense_trace(Rng& rng, const Program& program, NumericsClass cls) {
  const auto base = schedules::base_template(program, cls);
  if (!base) return {};
  Drawing drawing(rng, *base, {});
  const auto wanted = static_cast<size_t>(rng.between(1, 8));
  for (int tries = 0; tries < 40 && drawing.out.trace.steps.size() < wanted; ++tries)
    drawing.take(test::random_step(rng, drawing.made()));
  return std::move(drawing.out);
}

}  // namespace polyweft::random_test
