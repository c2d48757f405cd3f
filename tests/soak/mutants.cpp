// Mutated nests: what tag mode rejects, the checker must never prove.
#include <cstdio>
#include <sstream>

#include "lang/parser.h"
#include "machines.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "random/band_traces.h"
#include "random/pairs.h"
#include "random/recurrences.h"
#include "schedules/mutator.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "soak/families.h"
#include "soak/part.h"
#include "support/rng.h"

namespace polyweft::soak {
namespace {

constexpr int kMutantsWanted = 10;  ///< of one nest, that tag mode rejects
constexpr int kTries = 120;
constexpr int64_t kNests = 500;

struct Subject {
  Program program;  ///< bound, normalized
  LoopNest nest;
};

/// Of ten nests four are recurrences, by random traces of bands or in base order, three are decision vectors of
/// sketches at small sizes, three random pairs.
Result<Subject> subject_of(uint64_t seed) {
  Rng rng(seed);
  const random_test::Pair pair = [&] {
    if (rng.chance(0.4)) {
      random_test::Pair out{lang::parse(random_test::random_recurrence(rng), "recurrence")->programs.front(), Trace{}};
      const NumericsClass classes[] = {NumericsClass::reassoc, NumericsClass::contract, NumericsClass::strict};
      out.cls = classes[rng.below(3)];
      return out;
    }
    if (rng.chance(0.5)) return random_test::random_pair(seed);
    static const std::vector<Family> all = families();
    const Family& family = all[rng.below(all.size())];
    Sizes sizes;
    for (size_t d = 0; d < family.sizes.size(); ++d)
      sizes.push_back(static_cast<int64_t>(rng.below(family.sizes.size() > 3 ? 4 : 9)) + 1);
    if (family.sizes.size() < 3) sizes.back() += static_cast<int64_t>(rng.below(20));
    random_test::Pair out{lang::parse(text_of(family, sizes), family.name)->programs.front(), Trace{}};
    out.cls = family.classes[rng.below(family.classes.size())];
    return out;
  }();
  for (const Parameter& p : pair.source.parameters)
    if (p.value <= 0)
      return fail("PW0200", "may be refused by the language");  // which alone says so; the evaluator relies on it
  auto binding = make_binding(pair.source, {});
  if (!binding) return binding.error();
  Subject out{polyweft::normalize(polyweft::bind(pair.source, *binding)), {}};
  Trace trace = pair.trace;
  std::shared_ptr<const LoopNest> base;
  if (schedules::has_recurrence(out.program) && rng.chance(0.8))
    trace = random_test::random_band_trace(rng, out.program, pair.cls).trace;
  if (schedules::has_recurrence(out.program) && trace.steps.empty()) {
    auto nest = poly::base_nest(out.program, pair.cls);
    if (!nest) return nest.error();
    base = std::make_shared<const LoopNest>(std::move(*nest));
  } else if (!schedules::has_recurrence(out.program) && trace.steps.empty()) {
    const std::vector<Trace> sketches =
        schedules::sketches(out.program, pair.cls, test::machine_with(32, 16, {1 << 10, 4 << 10, 32 << 10}, 2));
    trace = sketches[rng.below(sketches.size())];
    for (Decision& decision : trace.decisions)
      if (!decision.candidates.empty()) decision.value = decision.candidates[rng.below(decision.candidates.size())];
    for (Decision& decision : trace.decisions) decision.candidates.clear();
    trace.constraints.clear();
  }
  schedules::Isl isl = random_test::isl_of(out.program);
  isl.recurrence_nest = base;
  auto made = schedules::replay(out.program, pair.cls, trace, isl);
  if (!made) return made.error();
  auto nest = instantiate(*made, values_of(trace));
  if (!nest) return nest.error();
  out.nest = std::move(*nest);
  // What the language refuses at these sizes has no value to be wrong about.
  auto wanted = ir::evaluate(out.program, ir::seeded_inputs(out.program, 3, ir::DataKind::integers), {});
  if (!wanted) return wanted.error();
  return out;
}

class Mutants : public Part {
 public:
  explicit Mutants(uint64_t seed) : seed_(seed) {}
  std::string name() const override { return "mutants"; }
  int64_t units() const override { return 4 * kNests; }

  void run(int64_t k) override { mutate(seed_ * 100'000 + static_cast<uint64_t>(k), 0); }
  bool rerun(const std::string& what) override {
    std::istringstream in(what);
    uint64_t nest = 0, mutant = 0;
    char slash = 0;
    if (!(in >> nest >> slash >> mutant) || slash != '/') return false;
    mutate(nest, mutant);
    return true;
  }
  std::string figures() const override {
    std::ostringstream out;
    out << nests_ << " nests, " << rejected_ << " mutants that tag mode rejects: " << refuted_ << " refuted, "
        << undecided_ << " not decided, " << failures() << " wrongly proven; " << equivalent_
        << " mutants that it accepts: " << proven_equivalents_ << " proven";
    return out.str();
  }
  std::string saved() const override {
    std::ostringstream out;
    out << nests_ << " " << rejected_ << " " << refuted_ << " " << undecided_ << " " << equivalent_ << " "
        << proven_equivalents_;
    return out.str();
  }
  void restore(const std::string& line) override {
    std::istringstream in(line);
    in >> nests_ >> rejected_ >> refuted_ >> undecided_ >> equivalent_ >> proven_equivalents_;
  }

 private:
  void mutate(uint64_t nest_seed, uint64_t only) {
    auto subject = subject_of(nest_seed);
    if (!subject || subject->nest.nodes.empty()) return;
    const std::string text = print(subject->nest);
    if (text.find(" for ") == std::string::npos) return;
    ++nests_;
    int found = 0;
    for (uint64_t seed = only ? only : 1; seed <= (only ? only : kTries) && found < kMutantsWanted; ++seed) {
      const std::string mutant = test::Mutator(text, seed).mutated();
      if (mutant == text) continue;
      auto parsed = parse_loop_nest(mutant);
      if (!parsed || !verify(*parsed).ok()) continue;
      const bool is_wrong = test::tag_mode_rejects(subject->program, *parsed);
      if (!is_wrong && ++accepted_in_a_row_ % 8 != 0) continue;
      found += is_wrong;
      judge(subject->program, *parsed, mutant, is_wrong, std::to_string(nest_seed) + "/" + std::to_string(seed));
    }
  }
  void judge(const Program& program, const LoopNest& nest, const std::string& text, bool is_wrong,
             const std::string& name) {
    poly::NestCheckLimits limits;
    limits.isl_operations = 4'000'000;
    const poly::NestCheck check = poly::check_nest(program, nest, limits);
    if (!is_wrong) {
      ++equivalent_;
      proven_equivalents_ += check.verdict == Verdict::proven;
      return;
    }
    ++rejected_;
    refuted_ += check.verdict == Verdict::refuted;
    undecided_ += check.verdict == Verdict::not_proven;
    if (check.verdict == Verdict::proven)
      failed("the checker proves what tag mode rejects:\n" + print(program) + text, name);
  }

  uint64_t seed_;
  int64_t nests_ = 0, rejected_ = 0, refuted_ = 0, undecided_ = 0, equivalent_ = 0, proven_equivalents_ = 0;
  int64_t accepted_in_a_row_ = 0;
};

/// Random pairs of program and trace, as in tests/random.
class Pairs : public Part {
 public:
  explicit Pairs(uint64_t seed) : seed_(seed) {}
  std::string name() const override { return "pairs"; }
  int64_t units() const override { return 100'000; }
  void run(int64_t k) override { judge(seed_ * 1'000'000 + static_cast<uint64_t>(k)); }
  bool rerun(const std::string& what) override {
    judge(std::stoull(what));
    return true;
  }
  std::string figures() const override {
    return std::to_string(agreed_) + " agree, " + std::to_string(refused_) + " sizes that do not fit or no program, " +
           std::to_string(failures()) + " mismatches";
  }
  std::string saved() const override { return std::to_string(agreed_) + " " + std::to_string(refused_); }
  void restore(const std::string& line) override {
    std::istringstream in(line);
    in >> agreed_ >> refused_;
  }

 private:
  void judge(uint64_t seed) {
    const random_test::Pair pair = random_test::random_pair(seed);
    const random_test::Judgement judgement = random_test::judge(pair);
    agreed_ += judgement.outcome == random_test::Outcome::agreed;
    refused_ +=
        judgement.outcome == random_test::Outcome::refused || judgement.outcome == random_test::Outcome::no_program;
    if (judgement.outcome != random_test::Outcome::disagreement) return;
    const random_test::Pair least = random_test::shrunk(pair, judgement.kind);
    failed(judgement.kind + ": " + random_test::described(least) + random_test::judge(least).message,
           std::to_string(seed));
  }
  uint64_t seed_;
  int64_t agreed_ = 0, refused_ = 0;
};

}  // namespace

std::unique_ptr<Part> mutants_part(uint64_t seed) {
  return std::make_unique<Mutants>(seed);
}
std::unique_ptr<Part> pairs_part(uint64_t seed) {
  return std::make_unique<Pairs>(seed);
}

}  // namespace polyweft::soak
