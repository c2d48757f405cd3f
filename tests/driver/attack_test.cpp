// A sample of the attack on stored rows; scripts/soak --only rows runs thousands.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "driver/row_attack.h"

namespace polyweft {
namespace {

TEST(RowAttack, no_change_of_a_row_with_right_digests_gives_a_wrong_value_or_a_crash) {
  std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-rows-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  test::RowAttack attack(pattern);
  uint64_t seed = 20261123;
  for (const std::string& column : test::RowAttack::columns()) EXPECT_EQ(attack.run(column, ++seed), "");
  for (int more = 0; more < 12; ++more) EXPECT_EQ(attack.run("record.nest", ++seed), "");
  std::string counts;
  for (const auto& [what, count] : attack.outcomes()) counts += what + " " + std::to_string(count) + ", ";
  std::cout << counts << "\n";
  for (const char* what : {"refused", "proven again", "record ran", "no record", "hit", "search"})
    EXPECT_GT(attack.outcomes().count(what), 0u) << what << " never happened";
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace polyweft
