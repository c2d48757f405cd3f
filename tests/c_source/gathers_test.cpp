// Subscripts that depend on data are exact integers in the printed C, too: gathers of extreme values against integers
// of 256 bits, once with the sanitizer.
#include "random/gathers.h"

#include <gtest/gtest.h>

#include "c_source/compiled.h"
#include "lang/parser.h"
#include "poly/base_nest.h"
#include "targets/c/c_source.h"

namespace polyweft::c_source_test {
namespace {

struct Printed {
  random_test::RandomGather gather;
  LoopNest nest;
  std::string source;
};

std::vector<Printed> printed_gathers(uint64_t first, uint64_t count) {
  std::vector<Printed> out;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    random_test::RandomGather gather = random_test::random_gather(seed);
    auto parsed = lang::parse(gather.text, "gather.weft");
    if (!parsed) continue;  // more than 128 bits
    const Program& source = parsed->programs[0];
    auto nest = poly::base_nest(normalize(polyweft::bind(source, *make_binding(source, {}))), NumericsClass::strict);
    EXPECT_TRUE(nest) << gather.text;
    if (!nest) continue;
    auto text = targets::c_source(*nest, "g" + std::to_string(out.size()));
    EXPECT_TRUE(text) << gather.text;
    out.push_back({std::move(gather), std::move(*nest), text ? *text : ""});
  }
  return out;
}

void expect_right(const std::string& name, const std::vector<Printed>& all, const std::string& flags) {
  std::vector<std::string> sources;
  for (const Printed& one : all) sources.push_back(one.source);
  const Compiled code(name, sources, flags);
  ASSERT_TRUE(code.is_complete());
  for (size_t k = 0; k < all.size(); ++k) {
    const auto got = run(code, all[k].nest, "g" + std::to_string(k), all[k].gather.inputs);
    for (size_t i = 0; i < all[k].gather.wanted.size(); ++i)
      ASSERT_EQ(got[0].at(static_cast<int64_t>(i)).i, all[k].gather.wanted[i]) << "element " << i << "\n"
                                                                               << all[k].gather.text << all[k].source;
  }
}

TEST(CGathers, of_extreme_values_read_what_exact_integers_say) {
  const std::vector<Printed> all = printed_gathers(1, 120);
  int wide = 0;
  for (const Printed& one : all) wide += one.source.find("__int128") != std::string::npos;
  EXPECT_GT(all.size(), 80U);
  EXPECT_GT(wide, 30);
  expect_right("gathers", all, "-O1 -Wall -Wextra -Werror");
}

TEST(CGathers, have_no_undefined_behaviour) {
  expect_right("gathers_sanitized", printed_gathers(1001, 40), "-O1 -fsanitize=undefined -fno-sanitize-recover=all");
}

}  // namespace
}  // namespace polyweft::c_source_test
