// Names of kernels: refused by every product alike, and no program's name is one that our own loading cannot live with.
#include <gtest/gtest.h>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

constexpr Emit kAll[] = {Emit::object,         Emit::assembly, Emit::llvm, Emit::shared,
                         Emit::static_library, Emit::header,   Emit::c,    Emit::artifact};

Program named(const std::string& name) {
  return parse_program(
             "program " + name +
             "(N = 300)\nin A: f32[N]\nlet Z[i: N, j: N]: f32 = 0.0\nout C[i: N]: f32 = A[i] + (sum[j: N] Z[i, j])\n")
      .value();
}

TEST(Names, every_product_refuses_what_no_symbol_can_be) {
  Tuner tuner(find_target("host").value(), {});
  for (const char* name : {"int", "9 b;ad", "class", "memcpy", "halide_free", "__x", "a-b"})
    for (const bool symbolic : {false, true})
      for (const Emit emit : kAll) {
        TaskOptions options;
        options.symbolic = symbolic;
        const auto built = tuner.build(named("fine"), options, emit, name);
        ASSERT_FALSE(built.ok()) << name;
        EXPECT_EQ(built.error().code, "PW0513") << name;
      }
  for (const Emit emit : kAll) {
    const auto built = tuner.build(named("register"), {}, emit, "");
    ASSERT_FALSE(built.ok());
    EXPECT_EQ(built.error().message, "the kernel's name 'register' is a word of C or C++");
    EXPECT_TRUE(tuner.build(named("register"), {}, emit, "fine").ok());
  }
}

// Its code calls memset, memcpy or the runtime: not itself.
TEST(Names, programs_of_any_name_run) {
  Tuner tuner(find_target("host").value(), {});
  for (const char* name :
       {"memset", "memcpy", "halide_malloc", "halide_do_par_for", "malloc", "int", "main", "kernel_memset"}) {
    const Program program = named(name);
    auto inputs = tuner.make_inputs(program, {}, InputSet::integer_valued, 1);
    ASSERT_TRUE(inputs.ok());
    const auto compared = tuner.verify(program, {}, *inputs);
    ASSERT_TRUE(compared.ok()) << name << compared.error().message;
    EXPECT_TRUE(compared->equal) << name << compared->detail;
    EXPECT_TRUE(tuner.show(program, {}, ShowStage::assembly).ok()) << name;
    const auto timed = tuner.bench(program, {}, std::chrono::milliseconds(1));
    EXPECT_TRUE(timed.ok()) << name << (timed.ok() ? "" : timed.error().message);
  }
}

// The kernel is told nothing that it would crash on.
TEST(Names, memory_that_is_missing_or_off_is_an_error) {
  Tuner tuner(find_target("host").value(), {});
  auto kernel = tuner.compile(named("fine"), {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<float> a(301), c(301);
  EXPECT_TRUE(kernel->call({a.data(), c.data()}).ok());
  const auto refused = [&](std::vector<void*> buffers, const std::string& message) {
    const Status called = kernel->call(buffers);
    ASSERT_FALSE(called.ok());
    EXPECT_EQ(called.error().code, "PW0657");
    EXPECT_EQ(called.error().message, message);
  };
  refused({nullptr, c.data()}, "A: null, not 1200 bytes");
  refused({a.data(), nullptr}, "C: null, not 1200 bytes");
  refused({reinterpret_cast<char*>(a.data()) + 1, c.data()},
          "A: its address is not a multiple of 4, the size of an element");
  refused({a.data(), reinterpret_cast<char*>(c.data()) + 2},
          "C: its address is not a multiple of 4, the size of an element");
}

}  // namespace
}  // namespace polyweft
