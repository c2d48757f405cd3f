// Gathers of extreme values: what the trees of the generator mean (256 bits, written apart) against evaluator,
// interpreter and machine code, plain, in lanes, by a random trace and with the sizes as arguments.
// `PW_RANDOM_GATHERS=5000 random_tests --gtest_filter=Gathers.*` takes more of them, `PW_RANDOM_SEED=17` one, with its
// text.
#include "random/gathers.h"

#include <gtest/gtest.h>

#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "lang/parser.h"
#include "poly/base_nest.h"
#include "poly/check.h"
#include "poly/check/checker.h"
#include "random/guarded_call.h"
#include "random/settings.h"
#include "schedules/random_pairs.h"

namespace polyweft::random_test {
namespace {

struct GatherCounts {
  int programs = 0, refused = 0, products = 0, sums = 0, negations = 0, clamps = 0, remainders = 0, quotients = 0,
      bits = 0, shifts = 0, selects = 0, guards = 0;
  int wrapped = 0, extremes = 0, promises = 0, above_64 = 0, lanes = 0, traces = 0, symbolic = 0, proven = 0;
};

void count_gathers(const GatherFeatures& f, GatherCounts& c) {
  ++c.programs;
  c.products += f.products > 0;
  c.sums += f.sums > 0;
  c.negations += f.negations > 0;
  c.clamps += f.clamps > 0;
  c.remainders += f.remainders > 0;
  c.quotients += f.quotients > 0;
  c.bits += f.bits > 0;
  c.shifts += f.shifts > 0;
  c.selects += f.selects > 0;
  c.guards += f.guards > 0;
  c.wrapped += f.wrapped_parts > 0;
  c.extremes += f.extremes > 0;
  c.promises += f.promises > 0;
  c.above_64 += f.leaves_64;
}

class GatherJudge {
 public:
  GatherJudge(const RandomGather& gather, uint64_t seed, GatherCounts& counts)
      : gather_(gather), seed_(seed), counts_(counts) {}

  /// What is wrong; empty where all agree.
  std::string run() {
    auto parsed = lang::parse(gather_.text, "gather.weft");
    if (!parsed) return refusal(parsed.error());
    count_gathers(gather_.features, counts_);
    source_ = parsed->programs.front();
    if (lang::parse(print(source_), "again.weft")->programs.empty() ||
        !equal(lang::parse(print(source_), "again.weft")->programs.front(), source_))
      return "the printed program is another one:\n" + print(source_);
    if (seed_ % 4 == 0)
      if (auto report = poly::check(source_); !report.errors.empty()) return "check: " + report.errors[0].text;
    program_ = normalize(polyweft::bind(source_, *make_binding(source_, {})));
    auto evaluated = ir::evaluate(program_, gather_.inputs, {});
    if (!evaluated) return "evaluate: " + evaluated.error().message;
    if (auto wrong = difference(evaluated->tensors[0]); !wrong.empty()) return "evaluator" + wrong;
    for (const Trace& trace : traces())
      if (auto wrong = judge(trace); !wrong.empty()) return wrong + "\n" + trace.text();
    return seed_ % 3 == 0 ? judge_symbolic() : "";
  }

 private:
  std::string refusal(const Error& error) {
    const std::string& code = error.diagnostics.empty() ? error.code : error.diagnostics[0].code;
    if (code != "PW0133") return "refused: " + code + " " + error.message;
    ++counts_.refused;
    return gather_.features.over_128 ? "" : "refused, though 128 bits hold every part";
  }

  std::vector<Trace> traces() {
    std::vector<Trace> out(1);
    if (auto lanes = parse_trace("trace 1\n tile Y [i: 8]\n vectorize Y i 8\n")) {
      ++counts_.lanes;
      out.push_back(*lanes);
    }
    Rng rng(seed_);
    Trace random = test::random_trace(rng, program_, NumericsClass::reassoc);
    counts_.traces += !random.steps.empty();
    if (!random.steps.empty()) out.push_back(std::move(random));
    return out;
  }

  std::string judge(const Trace& trace) {
    auto made = schedules::replay(program_, NumericsClass::reassoc, trace);
    if (!made) return "replay: " + made.error().message;
    auto nest = instantiate(*made, values_of(trace));
    if (!nest && nest.error().code.rfind("PW031", 0) == 0) return "";
    if (!nest) return "instantiate: " + nest.error().message;
    auto again = parse_loop_nest(print(*nest));
    if (!again || hash(*again) != hash(*nest)) return "another nest comes back from its text";
    if (seed_ % 5 == 0) {
      const poly::NestCheck check = poly::check_nest(program_, *nest);
      if (check.verdict == Verdict::refuted) return "refuted: " + check.message;
      counts_.proven += check.verdict == Verdict::proven;
    }
    auto interpreted = ir::interpret(*nest, gather_.inputs, {});
    if (!interpreted) return "interpret: " + interpreted.error().message;
    if (auto wrong = difference(interpreted->tensors[0]); !wrong.empty()) return "interpreter" + wrong;
    return run_code(*nest, *nest, {});
  }

  std::string judge_symbolic() {
    auto nest = poly::symbolic_nest(normalize(source_), NumericsClass::reassoc);
    if (!nest) return "symbolic: " + nest.error().message;
    ++counts_.symbolic;
    std::vector<int64_t> sizes;
    for (const Parameter& parameter : source_.parameters) sizes.push_back(parameter.value);
    auto here = specialize(*nest, sizes);
    if (!here) return "specialize: " + here.error().message;
    auto interpreted = ir::interpret(*here, gather_.inputs, {});
    if (!interpreted) return "interpret, symbolic: " + interpreted.error().message;
    if (auto wrong = difference(interpreted->tensors[0]); !wrong.empty()) return "interpreter, symbolic" + wrong;
    return run_code(*nest, *here, sizes);
  }

  /// `code_of`: what is compiled; `here`: the same at these sizes.
  std::string run_code(const LoopNest& code_of, const LoopNest& here, const std::vector<int64_t>& sizes) {
    const Target target = *find_target(seed_ % 2 == 0 ? "host" : "x86-64-v3");
    auto object = targets::compile_object(code_of, target);
    if (!object) return "code: " + object.error().message;
    auto code = targets::load_code(*object);
    if (!code) return "";  // a chip without the features of the level
    CallResult call =
        guarded_call(here, **code, gather_.inputs, seed_ % 3 == 0 ? Wall::before : Wall::behind, 1, sizes);
    if (!call.trouble.empty()) return "call: " + call.trouble;
    if (auto wrong = difference(call.outputs[0]); !wrong.empty()) return "machine code for " + target.name + wrong;
    return "";
  }

  std::string difference(const TensorData& got) const {
    for (size_t k = 0; k < gather_.wanted.size(); ++k)
      if (got.at(static_cast<int64_t>(k)).i != gather_.wanted[k])
        return ": Y[" + std::to_string(k) + "] = " + std::to_string(got.at(static_cast<int64_t>(k)).i) + ", not " +
               std::to_string(gather_.wanted[k]);
    return "";
  }

  const RandomGather& gather_;
  uint64_t seed_;
  GatherCounts& counts_;
  Program source_, program_;
};

std::string data_text(const RandomGather& gather) {
  std::string out;
  for (const TensorData& data : gather.inputs) {
    out += "  data";
    for (int64_t k = 0; k < std::min<int64_t>(data.elements(), 40); ++k) out += " " + std::to_string(data.at(k).i);
    out += "\n";
  }
  return out;
}

TEST(Gathers, of_extreme_values_read_what_exact_integers_say) {
  const int one = number_of("PW_RANDOM_SEED", 0), all = number_of("PW_RANDOM_GATHERS", 100),
            first = number_of("PW_RANDOM_FIRST", 1);
  GatherCounts c;
  int wrong = 0;
  for (int seed = one ? one : first; seed < (one ? one + 1 : first + all) && wrong < 10; ++seed) {
    const RandomGather gather = random_gather(static_cast<uint64_t>(seed));
    if (one) std::printf("%s%s", gather.text.c_str(), data_text(gather).c_str());
    const std::string trouble = GatherJudge(gather, static_cast<uint64_t>(seed), c).run();
    if (trouble.empty()) continue;
    ++wrong;
    ADD_FAILURE() << "seed " << seed << ": " << trouble << "\n" << gather.text << data_text(gather);
  }
  std::printf(
      "gathers: %d run, %d refused; products %d, sums %d, negations %d, clamps %d, remainders %d, quotients %d, bits "
      "%d, shifts %d, selects %d, guards %d, "
      "wrapped parts %d, extremes %d, promises %d, above 64 bits %d; in lanes %d, random traces %d, symbolic %d, "
      "proven %d\n",
      c.programs, c.refused, c.products, c.sums, c.negations, c.clamps, c.remainders, c.quotients, c.bits, c.shifts,
      c.selects, c.guards, c.wrapped, c.extremes, c.promises, c.above_64, c.lanes, c.traces, c.symbolic, c.proven);
  if (one) return;
  EXPECT_GE(c.programs * 10, all * 7);
  for (int each : {c.refused, c.quotients, c.bits, c.shifts, c.selects, c.guards, c.wrapped, c.promises, c.proven})
    EXPECT_GE(each * 40, all);
  for (int each :
       {c.products, c.sums, c.negations, c.clamps, c.remainders, c.extremes, c.above_64, c.lanes, c.traces, c.symbolic})
    EXPECT_GE(each * 6, all);
}

/// The four of the defect: subscripts that wrapped in 64 bits.
TEST(Gathers, of_the_least_and_greatest_integers) {
  struct Case {
    const char* subscript;
    int64_t x, at;
  };
  const Case kCases[] = {{"clamp(X[i] - 1, 0, N - 1)", INT64_MIN, 0},
                         {"clamp(-X[i], 0, N - 1)", INT64_MIN, 4},
                         {"clamp(X[i] + 1, 0, N - 1)", INT64_MAX, 4},
                         {"X[i] * X[i] % N", INT64_MIN, 4},
                         {"(X[i] + X[i]) % N", INT64_MAX, 4},
                         {"(X[i] + X[i]) % N", INT64_MIN, 4},
                         {"(X[i] - 1 - X[i]) % N", INT64_MIN, 4},
                         {"clamp(abs(X[i]), 0, N - 1)", INT64_MIN, 4},
                         {"clamp(X[i] // -1, 0, N - 1)", INT64_MIN, 4},
                         {"clamp(X[i] << 1, 0, N - 1)", INT64_MIN, 0},
                         {"clamp(X[i] * X[i] // X[i], 0, 4)", INT64_MIN, 0},
                         {"clamp(i64(X[i] - 1), 0, N - 1)", INT64_MIN, 4}};
  for (const Case& each : kCases) {
    auto parsed = lang::parse(
        std::string("program p(N = 5)\nin X: i64[1]\nin T: i32[N]\nout Y[i: 1] = T[") + each.subscript + "]\n",
        "p.weft");
    ASSERT_TRUE(parsed.ok()) << each.subscript << parsed.error().message;
    const Program program = normalize(polyweft::bind(parsed->programs[0], *make_binding(parsed->programs[0], {})));
    std::vector<TensorData> inputs = {make_tensor(ElementType::i64, {1}), make_tensor(ElementType::i32, {5})};
    inputs[0].set(0, {ElementType::i64, 0, each.x});
    for (int64_t k = 0; k < 5; ++k) inputs[1].set(k, {ElementType::i32, 0, k});
    EXPECT_EQ(ir::evaluate(program, inputs, {})->tensors[0].at(0).i, each.at) << each.subscript;
    auto nest = instantiate(*schedules::replay(program, NumericsClass::reassoc, Trace{}), {});
    ASSERT_TRUE(nest.ok());
    EXPECT_EQ(ir::interpret(*nest, inputs, {})->tensors[0].at(0).i, each.at) << each.subscript;
    auto code = targets::load_code(*targets::compile_object(*nest, *find_target("host")));
    ASSERT_TRUE(code.ok());
    EXPECT_EQ(guarded_call(*nest, **code, inputs, Wall::behind, 1).outputs.at(0).at(0).i, each.at) << each.subscript;
  }
}

/// P's sums wrap, sums inside a subscript do not.
TEST(Gathers, a_producer_that_wraps_is_not_computed_inside_a_subscript) {
  const std::string head = "program p(N = 9)\nin X: i64[N]\nin T: i32[N]\n";
  for (const char* producer : {"X[i] + X[i]", "i64(X[i] + X[i])"}) {
    auto parsed = lang::parse(head + "let P[i: N] = " + producer + "\nout Y[i: N] = T[P[i] % N]\n", "p.weft");
    ASSERT_TRUE(parsed.ok());
    const Program program = normalize(polyweft::bind(parsed->programs[0], *make_binding(parsed->programs[0], {})));
    auto made = schedules::replay(program, NumericsClass::reassoc, *parse_trace("trace 1\n inline P\n"));
    const bool wraps = std::string(producer)[0] == 'X';
    EXPECT_EQ(made.ok(), !wraps) << producer;
    if (!made) EXPECT_EQ(made.error().message, "inline P: Y reads it inside a subscript, where integers do not wrap");
    if (!made) continue;
    auto nest = instantiate(*made, {});
    ASSERT_TRUE(nest.ok());
    EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::proven);
  }
}

}  // namespace
}  // namespace polyweft::random_test
