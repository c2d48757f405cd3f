// Random (program, trace) pairs in the emulator. PW_RANDOM_HEXAGON=300 tries so many, PW_RANDOM_SEED=17 one.
#include "random/pairs.h"

#include <cstdlib>

#include "hexagon/emulated.h"
#include "ir/normalize/normalize.h"
#include "poly/base_nest.h"
#include "random/band_traces.h"
#include "schedules/steps.h"

namespace polyweft::hexagon_test {
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

class HexagonPairs : public Hexagon {};

TEST_F(HexagonPairs, random_pairs_give_the_bits_of_the_interpreter) {
  const int one = number_of("PW_RANDOM_SEED", 0), wanted = one ? 1 : number_of("PW_RANDOM_HEXAGON", 40);
  int agreed = 0, refused = 0;
  for (int seed = one ? one : 1; agreed < wanted && seed < (one ? one + 1 : 4 * wanted + 40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Pair pair = random_test::random_pair(static_cast<uint64_t>(seed));
    auto nest = nest_of(pair);
    if (!nest) continue;
    if (nest->auto_vectorized) nest->cls = NumericsClass::strict;  // else LLVM sums in another order
    const std::string what = difference(*nest, pair.data_seed);
    if (what.find("is outside its extents") != std::string::npos) continue;  // of the interpreter: data without promise
    what.rfind("refused", 0) == 0 ? ++refused : ++agreed;
    EXPECT_TRUE(what.empty() || what.rfind("refused: PW05", 0) == 0) << what << "\n" << random_test::described(pair);
  }
  if (!one) EXPECT_GE(agreed, wanted);
  std::printf("hexagon: %d pairs agreed, %d refused\n", agreed, refused);
}

}  // namespace
}  // namespace polyweft::hexagon_test
