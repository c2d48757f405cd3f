// Random programs at the edges of domains, by random traces, sketches, in base order and with open sizes: evaluator,
// interpreter, tags, machine code and checker agree, and all stages say the same shapes. `PW_RANDOM_EDGES=5000
// random_tests --gtest_filter='RandomEdges.*'` judges 5,000 of them, `PW_RANDOM_SEED=17` one, `PW_RANDOM_FIRST=5000`
// others.
#include "random/edges.h"

#include <gtest/gtest.h>

#include <map>

#include "ir/normalize/normalize.h"
#include "ir/values/domain.h"
#include "ir/values/output_extents.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "machines.h"
#include "poly/boxes.h"
#include "poly/check.h"
#include "random/band_traces.h"
#include "random/pairs.h"
#include "random/settings.h"
#include "schedules/hulls.h"
#include "schedules/random_pairs.h"
#include "schedules/sketches/sketches.h"
#include "symbolic/sweep.h"

namespace polyweft::random_test {
namespace {

enum class Way : uint8_t { trace, sketch, base_order, symbolic };
constexpr const char* kWays[] = {"trace", "sketch", "base order", "symbolic"};

struct Case {
  EdgeProgram program;
  Way way = Way::trace;
  Pair pair;
};

Trace sketched(Rng& rng, const Program& program, NumericsClass cls) {
  const std::vector<Trace> sketches =
      schedules::sketches(program, cls, test::machine_with(32, 16, {1 << 10, 4 << 10, 32 << 10}, 2));
  if (sketches.empty()) return {};
  Trace trace = sketches[rng.below(sketches.size())];
  for (Decision& decision : trace.decisions) {
    if (!decision.candidates.empty()) decision.value = decision.candidates[rng.below(decision.candidates.size())];
    decision.candidates.clear();
  }
  return trace;
}

Case edge_case(uint64_t seed) {
  Rng rng(seed);
  Case out;
  out.program = random_edge_program(rng);
  auto parsed = lang::parse(out.program.text, "edges.weft");
  if (!parsed)
    throw std::runtime_error(parsed.error().message + ": " +
                             (parsed.error().diagnostics.empty() ? "" : parsed.error().diagnostics[0].text) + "\n" +
                             out.program.text);
  out.pair.source = parsed->programs.front();
  const NumericsClass classes[] = {NumericsClass::reassoc, NumericsClass::reassoc, NumericsClass::contract,
                                   NumericsClass::strict};
  out.pair.cls = classes[rng.below(4)];
  out.pair.data_seed = rng();
  out.pair.whole_numbers = rng.chance(0.3) && out.program.text.find("tanh(") == std::string::npos &&
                           out.program.text.find("0.25") == std::string::npos;
  out.pair.threads = static_cast<int>(rng.between(1, 3));
  out.pair.ask_checker = rng.chance(0.25);
  const Way ways[] = {Way::trace, Way::trace, Way::trace, Way::sketch, Way::sketch, Way::base_order, Way::symbolic};
  out.way = ways[rng.below(7)];
  out.pair.base_order = out.way == Way::base_order;
  // Bits are promised where no function is called; the sweep asks for them in class strict.
  if (out.way == Way::symbolic && out.program.text.find("tanh(") != std::string::npos)
    out.pair.cls = NumericsClass::contract;
  if (out.pair.base_order || out.way == Way::symbolic) return out;
  const Program program =
      polyweft::normalize(polyweft::bind(out.pair.source, *make_binding(out.pair.source, {})), out.pair.cls);
  if (schedules::has_recurrence(program))
    out.pair.trace = out.way == Way::trace ? random_band_trace(rng, program, out.pair.cls).trace : Trace{};
  else
    out.pair.trace =
        out.way == Way::trace ? test::random_trace(rng, program, out.pair.cls) : sketched(rng, program, out.pair.cls);
  return out;
}

std::string text_of(const std::vector<int64_t>& extents) {
  std::string out = "[";
  for (int64_t e : extents) out += (out.size() > 1 ? ", " : "") + std::to_string(e);
  return out + "]";
}

/// The shapes of the outputs: by enumeration of what the text says, and of every stage.
std::string shapes_differ(const Program& source) {
  const Program bound = polyweft::bind(source, *make_binding(source, {})), normal = polyweft::normalize(bound);
  const std::vector<Box> told = ir::boxes(bound), templates = schedules::tensor_boxes(normal);
  const auto nests = poly::boxes(normal);
  if (!nests) return nests.error().message;
  const std::vector<TensorId> outputs = bound.outputs(), own = normal.outputs();
  for (size_t k = 0; k < outputs.size(); ++k)
    for (const Box& box : {templates[own[k]], (*nests)[own[k]]})
      if (box.hi != told[outputs[k]].hi || box.lo != told[outputs[k]].lo)
        return "output " + bound.tensors[outputs[k]].name + " is " + text_of(told[outputs[k]].hi) + " and " +
               text_of(box.hi);
  return "";
}

/// What is evaluated by the equations as they are written, and by those that the compiler works on.
std::string normalizing_changes(const Case& one) {
  const Program bound = polyweft::bind(one.pair.source, *make_binding(one.pair.source, {}));
  const auto inputs = ir::seeded_inputs(bound, one.pair.data_seed, ir::DataKind::random);
  auto written = ir::evaluate(bound, inputs), normal = ir::evaluate(polyweft::normalize(bound), inputs);
  if (!written || !normal) return written ? normal.error().message : written.error().message;
  for (size_t k = 0; k < written->tensors.size(); ++k)
    if (written->tensors[k].extents != normal->tensors[k].extents ||
        written->tensors[k].bytes != normal->tensors[k].bytes)
      return "output " + std::to_string(k) + " changes";
  return "";
}

struct EdgeCounts {
  int agreed = 0, refused = 0, no_program = 0, wrong = 0, asked = 0, not_decided = 0, sizes = 0;
  int outer = 0, mixed = 0, zero = 0, modulo = 0, dependent = 0, recurrences = 0;
  std::map<std::string, int> ways, why;
};

void count_features(const EdgeProgram& program, EdgeCounts& counts) {
  counts.outer += program.outer_guard;
  counts.mixed += program.mixed_guard;
  counts.zero += program.zero_extent;
  counts.modulo += program.partial_modulo;
  counts.dependent += program.dependent_range;
  counts.recurrences += program.recurrence;
}

/// Nothing where the language takes the program, or the error that it has.
std::string refusal_of(const Program& program) {
  const poly::CheckReport report = poly::check(polyweft::normalize(program));
  return report.errors.empty() ? "" : report.errors[0].code + " " + report.errors[0].text;
}

void judge_symbolic(const Case& one, const std::string& name, EdgeCounts& counts) {
  Binding sizes = *make_binding(one.pair.source, {});
  std::vector<Binding> bindings = {sizes};
  for (int64_t more : {1, 2, 5}) {
    for (int64_t& size : sizes) size += more;
    if (make_binding(one.pair.source, {{"M", sizes[0]}, {"N", sizes[1]}, {"K", sizes[2]}})) bindings.push_back(sizes);
  }
  const symbolic_test::Swept swept = symbolic_test::sweep(one.pair.source, one.pair.cls, bindings);
  counts.sizes += swept.sizes;
  if (!swept.refusal.empty()) return ++counts.refused, (void)++counts.why["symbolic: " + swept.refusal.substr(0, 60)];
  if (swept.trouble.empty()) return (void)++counts.agreed;
  ++counts.wrong;
  ADD_FAILURE() << name << " symbolic: " << swept.trouble << "\n" << one.program.text;
}

void judge_case(const Case& one, const std::string& name, EdgeCounts& counts) {
  const Judgement judgement = judge(one.pair);
  counts.agreed += judgement.outcome == Outcome::agreed;
  counts.asked += judgement.asked_checker;
  counts.not_decided += judgement.not_decided;
  if (judgement.not_decided) ++counts.why["not decided: " + judgement.undecided_why.substr(0, 70)];
  if (judgement.outcome == Outcome::refused || judgement.outcome == Outcome::no_program)
    ++counts.refused, ++counts.why[judgement.message.substr(0, 70)];
  if (judgement.outcome != Outcome::disagreement) return;
  ++counts.wrong;
  const Pair least = shrunk(one.pair, judgement.kind, 120);
  ADD_FAILURE() << name << ": " << judgement.kind << ": " << judgement.message << "\n"
                << one.program.text << described(one.pair) << "\nsmallest:\n"
                << described(least) << judge(least).message;
}

void judge_seed(uint64_t seed, EdgeCounts& counts) {
  const std::string name = "seed " + std::to_string(seed);
  const Case one = edge_case(seed);
  if (number_of("PW_RANDOM_SEED", 0))
    std::printf("%s%s, %s", one.program.text.c_str(), described(one.pair).c_str(), kWays[static_cast<size_t>(one.way)]);
  if (const std::string refusal = refusal_of(one.pair.source); !refusal.empty()) {
    const bool gave_up = refusal.rfind("PW083", 0) == 0;
    gave_up ? ++counts.no_program : ++counts.wrong;
    ++counts.why["no program: " + refusal.substr(0, 60)];
    if (!gave_up) ADD_FAILURE() << name << " is refused: " << refusal << "\n" << one.program.text;
    return;
  }
  count_features(one.program, counts);
  for (const std::string& wrong : {shapes_differ(one.pair.source), normalizing_changes(one)})
    if (!wrong.empty()) {
      ++counts.wrong;
      ADD_FAILURE() << name << ": " << wrong << "\n" << one.program.text;
      return;
    }
  ++counts.ways[kWays[static_cast<size_t>(one.way)]];
  one.way == Way::symbolic ? judge_symbolic(one, name, counts) : judge_case(one, name, counts);
}

void print_edge_counts(const EdgeCounts& c) {
  std::printf(
      "edges: %d agreed, %d refused, %d no program, %d wrong; checker asked %d times, not decided %d times; %d sizes "
      "of symbolic kernels\n",
      c.agreed, c.refused, c.no_program, c.wrong, c.asked, c.not_decided, c.sizes);
  std::printf(
      "conditions on outer indices %d, on both %d; extents of zero %d; partial with a remainder %d; dependent ranges "
      "%d; recurrences %d\n",
      c.outer, c.mixed, c.zero, c.modulo, c.dependent, c.recurrences);
  for (const auto& [way, times] : c.ways) std::printf("  by %s %d times\n", way.c_str(), times);
  for (const auto& [why, times] : c.why) std::printf("  %d times: %s\n", times, why.c_str());
}

TEST(RandomEdges, all_judges_agree) {
  const int one = number_of("PW_RANDOM_SEED", 0), first = number_of("PW_RANDOM_FIRST", 1),
            pairs = number_of("PW_RANDOM_EDGES", 100);
  EdgeCounts counts;
  for (int seed = one ? one : first; seed < (one ? one + 1 : first + pairs) && counts.wrong < 20; ++seed)
    judge_seed(static_cast<uint64_t>(seed), counts);
  print_edge_counts(counts);
  if (one) return;
  EXPECT_GT(counts.agreed * 10, pairs * 8) << "too few pairs reach the comparison";
  EXPECT_GT(counts.outer * 5, pairs * 2);
  EXPECT_GT(counts.mixed * 10, pairs);
  EXPECT_GT(counts.zero * 10, pairs);
  EXPECT_GT(counts.modulo * 10, pairs);
  EXPECT_GT(counts.dependent * 2, pairs);
  EXPECT_GT(counts.recurrences * 10, pairs);
  for (const char* way : kWays) EXPECT_GT(counts.ways[way] * 10, pairs) << way;
  EXPECT_GT(counts.asked * 10, pairs);
}

}  // namespace
}  // namespace polyweft::random_test
