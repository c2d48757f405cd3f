// `values` promises of inputs are scanned at the call.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/values/scalar.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

constexpr int kValueOutOfRange = 1;

std::string gather(const char* type, int64_t align, int64_t cells, const std::string& values) {
  const std::string n = std::to_string(cells);
  return "nest 1 gather class strict\nloops i\nbuffer I: " + std::string(type) + "[" + n + "] argument align " +
         std::to_string(align) + " values " + values + "\nbuffer Y: i64[" + n +
         "] argument align 8 output\narguments I, Y\nbody {\n  for i in 0 .. " + n +
         " {\n    compute 0(i) store: Y[i] <- convert:i64(I[i])\n  }\n}\n";
}

struct Promise {
  const char* type;
  ElementType element;
  int64_t lo, hi;
};
const Promise kPromises[] = {{"i32", ElementType::i32, 0, 50},
                             {"i32", ElementType::i32, -7, 9},
                             {"i8", ElementType::i8, -128, 100},
                             {"u8", ElementType::u8, 3, 200},
                             {"u8", ElementType::u8, 0, 999},
                             {"i16", ElementType::i16, -300, -20},
                             {"i64", ElementType::i64, -5, int64_t{1} << 45},
                             {"i64", ElementType::i64, 4, 5},
                             {"i16", ElementType::i16, 7, 7000}};

TEST(Values, every_element_outside_the_promise_is_found_wherever_it_is) {
  for (const Promise& p : kPromises)
    for (int64_t cells : {1, 7, 64, 83}) {
      const LoopNest nest =
          parsed(gather(p.type, size_bytes(p.element), cells, std::to_string(p.lo) + " .. " + std::to_string(p.hi)));
      EXPECT_EQ(print(parsed(print(nest))), print(nest));
      const Loaded kernel = load(nest, *find_target("host"));
      auto* checked = reinterpret_cast<Kernel2>(kernel.code->address("gather"));
      auto* unchecked = reinterpret_cast<Kernel2>(kernel.code->address("gather_unchecked"));
      ASSERT_NE(unchecked, nullptr);
      TensorData in = make_tensor(p.element, {cells}), out = make_tensor(ElementType::i64, {cells});
      const int64_t last = std::min(p.hi - 1, ir::greatest_of(p.element));
      for (int64_t k = 0; k < cells; ++k) in.set(k, ir::integer_literal(p.element, k % 2 ? last : p.lo));
      Argument ai(in), ao(out);
      EXPECT_EQ(checked(ai.get(), ao.get()), 0) << p.type << " " << cells;
      for (int64_t outside : {p.lo - 1, p.hi, ir::least_of(p.element), ir::greatest_of(p.element)}) {
        if (outside < ir::least_of(p.element) || outside > ir::greatest_of(p.element) ||
            (p.lo <= outside && outside < p.hi))
          continue;
        for (int64_t at = 0; at < cells; ++at) {
          const Literal kept = in.at(at);
          in.set(at, ir::integer_literal(p.element, outside));
          EXPECT_EQ(checked(ai.get(), ao.get()), kValueOutOfRange)
              << p.type << " " << outside << " at " << at << " of " << cells;
          EXPECT_EQ(unchecked(ai.get(), ao.get()), 0);
          EXPECT_EQ(out.at(at).i, outside);
          in.set(at, kept);
        }
      }
    }
}

TEST(Values, a_promise_that_nothing_keeps_refuses_every_call_with_elements) {
  const Loaded kernel = load(parsed(gather("i32", 4, 3, "5 .. 5")), *find_target("host"));
  TensorData in = make_tensor(ElementType::i32, {3}), out = make_tensor(ElementType::i64, {3});
  Argument ai(in), ao(out);
  EXPECT_EQ(reinterpret_cast<Kernel2>(kernel.code->address("gather"))(ai.get(), ao.get()), kValueOutOfRange);
}

TEST(Values, the_header_names_the_promise_and_the_entry_that_does_not_look) {
  const LoopNest nest = parsed(gather("i32", 4, 3, "0 .. 9"));
  const std::string header = targets::c_header(nest);
  EXPECT_NE(header.find("promised within 0..8 ("), std::string::npos) << header;
  EXPECT_NE(header.find("int gather_unchecked(struct halide_buffer_t *I, struct halide_buffer_t *Y);"),
            std::string::npos)
      << header;
  EXPECT_EQ(targets::exported_symbols(nest), (std::vector<std::string>{"gather", "gather_unchecked"}));
}

TEST(Values, promises_of_outputs_are_refused) {
  for (const char* line : {"buffer I: f32[3] argument align 4 output values 0 .. 9",
                           "buffer I: i32[3] argument align 4 output values 0 .. 9"}) {
    auto nest = parse_loop_nest(std::string("nest 1 n class strict\nloops i\n") + line + "\narguments I\nbody {\n}\n");
    ASSERT_TRUE(nest.ok()) << nest.error().message;
    const Status status = verify(*nest);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, "PW0412");
  }
}

}  // namespace
}  // namespace polyweft::targets_test
