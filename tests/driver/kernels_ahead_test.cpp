// Kernels compiled on several threads: each nest its own kernel, what was not asked for dropped, and code that does not
// depend on what is compiled beside it.
#include "driver/kernels_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "driver/compile_service.h"
#include "polyweft/tuner.h"

namespace polyweft {
namespace {

LoopNest named_nest(const std::string& name) {
  LoopNest nest;
  nest.name = name;
  return nest;
}

struct FakeCompiler {
  std::atomic<int> running{0}, most{0}, calls{0};
  Result<LoadableKernel> operator()(const LoopNest& nest) {
    const int now = ++running;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --running;
    if (nest.name == "bad") return fail("PW0506", "spills");
    LoadableKernel kernel;
    kernel.symbol = nest.name;
    return kernel;
  }
};

std::vector<KernelsAhead::Wanted> wanted(const std::vector<std::string>& names) {
  std::vector<KernelsAhead::Wanted> out;
  for (const std::string& name : names) out.push_back({"hash of " + name, named_nest(name)});
  return out;
}

std::string taken(KernelsAhead& kernels, const std::string& name) {
  auto kernel = kernels.take("hash of " + name, named_nest(name));
  return kernel ? kernel->symbol : kernel.error().code;
}

TEST(KernelsAhead, each_candidate_gets_its_kernel) {
  for (const BuildThreads how : {BuildThreads{0, false}, {1, false}, {3, false}, {3, true}}) {
    FakeCompiler compiler;
    KernelsAhead kernels(std::ref(compiler), how);
    for (int round = 0; round < 5; ++round) {
      kernels.begin(wanted({"a", "bad", "c", "d", "never taken"}));
      EXPECT_EQ(taken(kernels, "d"), "d");
      EXPECT_EQ(taken(kernels, "bad"), "PW0506");
      EXPECT_EQ(taken(kernels, "not begun"), "not begun");
      EXPECT_EQ(taken(kernels, "a"), "a");
      EXPECT_EQ(taken(kernels, "a"), "a") << "taken twice: compiled again";
      EXPECT_EQ(taken(kernels, "c"), "c");
    }
    EXPECT_LE(compiler.most, std::max(how.threads + 1, 1));
    EXPECT_GE(compiler.most, how.threads > 1 && !how.while_measuring ? 2 : 1);
  }
}

TEST(KernelsAhead, nothing_is_compiled_beside_a_measurement_where_cores_are_short) {
  FakeCompiler compiler;
  KernelsAhead kernels(std::ref(compiler), {2, false});
  for (int round = 0; round < 5; ++round) {
    kernels.begin(wanted({"a", "b", "c", "d"}));
    EXPECT_EQ(compiler.running, 0);
    EXPECT_EQ(compiler.calls, 4 * (round + 1));
  }
}

TEST(KernelsAhead, code_is_the_same_whatever_is_compiled_beside_it) {
  TunerOptions options;
  options.helper_directory = PW_BINARY_DIR "/src/tools";
  const Target target = find_target("host").value();
  Tuner tuner(target, options);
  const CompileService compiler(target);
  std::vector<KernelsAhead::Wanted> nests;
  std::map<std::string, std::vector<unsigned char>> alone;
  for (const char* name : {"01_gemm", "05_softmax", "06_layernorm", "08_jacobi2d", "12_smith_waterman", "13_unsharp"})
    for (const std::string trace : {"", "trace 1\n", "trace 1\n  autovectorize\n"}) {
      auto program = load_program(std::string(PW_SOURCE_DIR "/examples/") + name + ".weft");
      ASSERT_TRUE(program) << program.error().message;
      TaskOptions task;
      task.trace = trace;
      auto text = tuner.show(*program, task, ShowStage::loops);
      ASSERT_TRUE(text) << text.error().message;
      auto nest = parse_loop_nest(*text);
      ASSERT_TRUE(nest) << nest.error().message;
      const std::string key = name + trace;
      auto kernel = compiler.for_runner(*nest);
      ASSERT_TRUE(kernel) << kernel.error().message;
      alone[key] = kernel->bytes;
      nests.push_back({key, std::move(*nest)});
    }
  KernelsAhead kernels([&](const LoopNest& nest) { return compiler.for_runner(nest); }, {4, true});
  for (int round = 0; round < 2; ++round) {
    kernels.begin(nests);
    for (const KernelsAhead::Wanted& each : nests) {
      auto kernel = kernels.take(each.nest_hash, each.nest);
      ASSERT_TRUE(kernel) << kernel.error().message;
      EXPECT_EQ(kernel->bytes, alone[each.nest_hash]) << each.nest_hash;
    }
  }
}

}  // namespace
}  // namespace polyweft
