// Programs that the other backends are compared on.
#include "backend/bits.h"
#include "backend/python_cases.h"
#include "hexagon/emulated.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "poly/base_nest.h"

namespace polyweft::hexagon_test {
namespace {

using backend_test::base_nest_of;
using backend_test::difference_from_interpreter;
using backend_test::inputs_of;
using backend_test::program_of_text;

TEST_F(Hexagon, programs_give_the_bits_of_the_interpreter) {
  for (const auto& c : backend_test::program_cases()) {
    SCOPED_TRACE(c.name);
    const Program program = program_of_text(c.text);
    const auto nest = poly::base_nest(program, NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    const auto kernel = loaded(*nest);
    ASSERT_NE(kernel, nullptr);
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      kernel->forget_packed();
      EXPECT_EQ(difference_from_interpreter(*nest, *kernel, inputs_of(program, seed)), "") << print(*nest);
    }
  }
}

TEST_F(Hexagon, broken_promises_are_told) {
  const auto kernel = loaded(base_nest_of(backend_test::text_of_case("gather")));
  ASSERT_NE(kernel, nullptr);
  auto inputs = ir::seeded_inputs(program_of_text(backend_test::text_of_case("gather")), 1, ir::DataKind::random);
  inputs[0].set(2, ir::integer_literal(ElementType::i32, 10));
  std::vector<TensorData> out = {make_tensor(ElementType::f32, {4, 5})};
  EXPECT_EQ(backend_test::call(*kernel, inputs, out).value(), ir::kValueOutOfRange);
}

}  // namespace
}  // namespace polyweft::hexagon_test
