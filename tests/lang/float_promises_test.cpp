// `values lo..hi` of floats: parsed, printed, part of the key, kept by seeded data.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/values/float_places.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "lang/canonical.h"
#include "lang/parser.h"
#include "lang/program_equality.h"

namespace polyweft {
namespace {

Program with_promise(const std::string& promise, const std::string& type = "f32") {
  auto parsed = lang::parse("program p(N = 64)\nin X: " + type + "[N]" + promise + "\nout Y[i: N] = X[i]\n", "p");
  EXPECT_TRUE(parsed.ok()) << promise << ": " << parsed.error().message;
  return std::move(parsed->programs.front());
}

TEST(FloatPromises, print_and_parse_back_equal) {
  for (const char* type : {"f64", "f32", "f16", "bf16"})
    for (const char* promise : {" values 0.5..2.0", " values -1..0", " values 0.0..1e3", " values -3.0..-0.1"}) {
      const Program first = with_promise(promise, type);
      auto second = lang::parse(print(first), "printed");
      ASSERT_TRUE(second.ok()) << print(first);
      EXPECT_EQ(lang_test::difference(first, second->programs[0]), "") << print(first);
      EXPECT_EQ(lang::key_of(first), lang::key_of(second->programs[0]));
    }
}

TEST(FloatPromises, are_part_of_the_key_and_their_spelling_is_not) {
  const auto key = [](const char* promise) { return lang::key_of(with_promise(promise)); };
  EXPECT_EQ(key(" values 0.5..2.0"), key(" values 5e-1..2"));
  EXPECT_EQ(key(" values 1"), key(" values 0.0..1.0"));
  EXPECT_NE(key(" values 0.5..2.0"), key(" values 0.5..2.5"));
  EXPECT_NE(key(" values 0.5..2.0"), key(""));
}

TEST(FloatPromises, places_are_in_the_order_of_values) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const double values[] = {-inf, -60000, -1.5, -1, -0.001, -0.0, 0.0, 0.001, 1, 1.5, 60000, inf};
    for (size_t k = 0; k + 1 < std::size(values); ++k)
      EXPECT_LT(ir::place_of(type, values[k]), ir::place_of(type, values[k + 1])) << name_of(type) << " " << values[k];
    for (const double value : values)
      EXPECT_EQ(ir::value_at_place(type, ir::place_of(type, value)), ir::round_to(type, value));
    EXPECT_EQ(ir::place_of(type, 0.0), ir::place_of(type, -0.0) + 1);
    EXPECT_GT(ir::place_of(type, std::nan("")), ir::place_of(type, inf));
  }
}

TEST(FloatPromises, seeded_data_keep_them) {
  struct Range {
    const char* text;
    double lo, hi;
  };
  for (const char* type : {"f64", "f32", "f16", "bf16"})
    for (const Range& range : {Range{" values 0.5..2.0", 0.5, 2},
                               {" values -1..0", -1, 0},
                               {" values 0.25..0.75", 0.25, 0.75},
                               {" values 3..3", 3, 3},
                               {" values 1e4..3e4", 1e4, 3e4}})
      for (const auto kind : {ir::DataKind::integers, ir::DataKind::random}) {
        const Program bound = bind(with_promise(range.text, type), {64});
        const TensorData data = ir::seeded_inputs(bound, 7, kind).front();
        const double slack = type == std::string("bf16") ? 0.01 : 0.001;  // ends are rounded to the type
        for (int64_t k = 0; k < data.elements(); ++k) {
          EXPECT_GE(data.at(k).f, range.lo * (range.lo > 0 ? 1 - slack : 1 + slack)) << type << range.text;
          EXPECT_LE(data.at(k).f, range.hi * (1 + slack)) << type << range.text;
        }
      }
}

}  // namespace
}  // namespace polyweft
