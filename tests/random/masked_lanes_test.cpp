// Lanes that read elements near each other under masks, where the row before and the row after are pages nobody may
// touch.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "random/guarded_call.h"
#include "samples.h"
#include "targets/plain_run.h"
#include "targets/rows_of_lanes.h"

namespace polyweft::random_test {
namespace {

void stays_inside(const targets_test::RowsCase& c, const Target& target) {
  const LoopNest nest = targets_test::rows_of(c);
  const auto kernel = targets_test::load(nest, target);
  ASSERT_TRUE(kernel.code);
  std::vector<TensorData> all;
  for (const BufferId id : nest.arguments) all.push_back(targets_test::argument_data(nest.buffers[id]));
  targets_test::fill(all[0], 7);
  const TensorData input = all[0];
  targets_test::PlainRun(nest).run(all);
  for (const Wall wall : {Wall::behind, Wall::before}) {
    const CallResult result = guarded_call(nest, *kernel.code, {input}, wall, 1);
    ASSERT_EQ(result.trouble, "");
    if (c.late > 0) continue;  // what no lane writes differs
    ASSERT_EQ(targets_test::difference(result.outputs.at(0), all[1]), "");
  }
}

TEST(MaskedLanes, stay_inside_of_their_buffer) {
  std::mt19937_64 random(5);
  const char* types[] = {"f32", "f64", "f16", "i64", "i32", "i16", "u8", "bool"};
  const int rounds = test::takes_all_cases() ? 40 : 20;
  for (const Target& target : targets_test::runnable_targets())
    for (int round = 0; round < rounds; ++round) {
      const int64_t n = std::array{3, 8, 24, 31}[random() % 4];
      const auto places = targets_test::places_of_rows(n);
      const auto& [place, elements] = places[random() % places.size()];
      const targets_test::RowsCase c{types[random() % std::size(types)],
                                     place,
                                     n,
                                     elements,
                                     static_cast<int64_t>(random() % 3),
                                     random() % 2 == 0};
      SCOPED_TRACE(targets_test::text_of(c) + " on " + target.name);
      stays_inside(c, target);
    }
}

}  // namespace
}  // namespace polyweft::random_test
