// Random (program, trace) pairs in the emulator, for each level of the suite. PW_RANDOM_EMULATED=300 tries so many of
// each, PW_RANDOM_SEED=17 one.
#include "random/pairs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "emulated/emulated.h"
#include "ir/normalize/normalize.h"
#include "poly/base_nest.h"
#include "polyweft/target.h"
#include "random/band_traces.h"
#include "schedules/steps.h"

namespace polyweft::emulated_test {
namespace {

using random_test::Pair;

/// None where sizes, steps or the limits of isl refuse the pair.
std::optional<LoopNest> nest_of(const Pair& pair) {
  const auto binding = make_binding(pair.source, {});
  if (!binding) return std::nullopt;
  const Program program = normalize(bind(pair.source, *binding), pair.cls);
  std::shared_ptr<const LoopNest> base;
  if (pair.base_order || (schedules::has_recurrence(program) && schedules::runs_base_order(pair.trace))) {
    auto nest = poly::base_nest(program, pair.cls);
    if (!nest) return std::nullopt;
    base = std::make_shared<const LoopNest>(std::move(*nest));
  }
  if (pair.base_order) return *base;
  schedules::Isl isl = random_test::isl_of(program);
  isl.recurrence_nest = base;
  const auto made = schedules::replay(program, pair.cls, pair.trace, isl);
  if (!made) return std::nullopt;
  auto nest = instantiate(*made, values_of(pair.trace));
  return nest ? std::optional(std::move(*nest)) : std::nullopt;
}

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

class EmulatedPairs : public testing::TestWithParam<EmulatedLevel> {};

TEST_P(EmulatedPairs, random_pairs_give_the_bits_of_the_interpreter) {
  if (const std::string why = missing_emulator(); !why.empty()) GTEST_SKIP() << why;
  constexpr size_t kMostArguments = 64;  // of the harness
  const Target target = *find_target(GetParam().level);
  const int one = number_of("PW_RANDOM_SEED", 0), wanted = one ? 1 : number_of("PW_RANDOM_EMULATED", GetParam().pairs);
  int agreed = 0, refused = 0;
  for (int seed = one ? one : 1; agreed < wanted && seed < (one ? one + 1 : 4 * wanted + 40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Pair pair = random_test::random_pair(static_cast<uint64_t>(seed));
    auto nest = nest_of(pair);
    if (!nest || nest->arguments.size() > kMostArguments) continue;
    if (nest->auto_vectorized)
      nest->cls = NumericsClass::strict;  // else LLVM sums in another order than the interpreter
    const std::string what = emulated_difference(*nest, target, pair.data_seed);
    if (what.find("is outside its extents") != std::string::npos) continue;  // of the interpreter: data without promise
    what.rfind("refused", 0) == 0 ? ++refused : ++agreed;
    EXPECT_TRUE(what.empty() || what.rfind("refused: PW05", 0) == 0) << what << "\n" << random_test::described(pair);
  }
  if (!one) EXPECT_GE(agreed, wanted);
  std::printf("%s: %d pairs agreed, %d refused\n", GetParam().level, agreed, refused);
}

INSTANTIATE_TEST_SUITE_P(Levels, EmulatedPairs, testing::ValuesIn(emulated_levels()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace polyweft::emulated_test
