// PTX: NVIDIA's assembler takes the kernels of all programs, spills nothing, and finds the shared memory that
// the launch plan claims. Skipped by name where there is no ptxas.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "backend/bits.h"
#include "backend/python_cases.h"
#include "nvptx/ptxas.h"
#include "opencl/axis_nests.h"
#include "poly/base_nest.h"
#include "polyweft/tuner.h"
#include "targets/gpu/nvptx/nvptx_machines.h"
#include "targets/registry.h"

namespace polyweft::nvptx_test {
namespace {

/// PTX without the nest that says how it is launched.
const targets::BuildOptions kLoadedHere{"kernel", targets::Caller::anyone, targets::Loader::process};
constexpr const char* kAssembledFor[] = {"sm_75", "sm_80", "sm_90a", "sm_120a"};

std::string text_of(const std::vector<unsigned char>& bytes) {
  return {bytes.begin(), bytes.end()};
}

/// Loops around one store become loops over blocks.
LoopNest one_kernel_an_operator(LoopNest nest) {
  for (Node& node : nest.nodes) {
    auto* loop = std::get_if<Loop>(&node);
    const auto* compute = loop ? std::get_if<Compute>(&nest.nodes[loop->body]) : nullptr;
    if (compute && compute->how == Write::store) loop->mark = {MarkKind::axis, 0, "block_x"};
  }
  return nest;
}

class Nvptx : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(backend_, nullptr); }

  Result<std::string> product(const LoopNest& nest, const std::string& target, Emit what) const {
    auto made = backend_->emit(nest, find_target(target).value(), what, {"kernel"});
    if (!made) return made.error();
    return text_of(*made);
  }

  const targets::Backend* backend_ = targets::backend_of("nvptx64");
};

class Ptxas : public Nvptx {
 protected:
  void SetUp() override {
    Nvptx::SetUp();
    if (ptxas()) return;
    const char* const required = std::getenv("POLYWEFT_REQUIRED");
    ASSERT_FALSE(required && std::string(required).find("ptxas") != std::string::npos) << "there is no ptxas";
    std::printf("skipped: ptxas: not in build/venv and not in the path\n");
    GTEST_SKIP() << "there is no ptxas";
  }
  void TearDown() override {
    if (modules_) std::printf("%d modules, %d kernels, at most %d registers\n", modules_, kernels_, registers_);
  }

  void expect_assembled(const LoopNest& nest) {
    for (const char* name : kAssembledFor) {
      SCOPED_TRACE(name);
      const auto made = backend_->build(nest, find_target(name).value(), kLoadedHere);
      // What was chosen for sm_90a may have instructions that others lack.
      if (!made && made.error().code == "PW0518" && std::string(name) != "sm_90a") continue;
      ASSERT_TRUE(made) << made.error().message << print(nest);
      EXPECT_EQ(made->kind, "ptx-kernels");
      const Assembled found = assembled(text_of(made->bytes), name);
      ASSERT_EQ(found.problem, "") << text_of(made->bytes);
      ASSERT_EQ(found.kernels.size(), made->plan.launches.size());
      for (const targets::Launch& launch : made->plan.launches) {
        ASSERT_TRUE(found.kernels.contains(launch.symbol)) << launch.symbol;
        const AssembledKernel& kernel = found.kernels.at(launch.symbol);
        EXPECT_EQ(kernel.spill_bytes, 0) << launch.symbol << print(nest);
        EXPECT_EQ(kernel.shared_bytes, launch.shared_bytes - launch.dynamic_shared_bytes)
            << launch.symbol << print(nest);
        registers_ = std::max(registers_, kernel.registers);
        ++kernels_;
      }
      ++modules_;
    }
  }

  void expect_first_choice_assembled(const Program& program) {
    Tuner tuner(find_target("sm_90a").value(), TunerOptions{});
    const auto text = tuner.show(program, {}, ShowStage::loops);
    ASSERT_TRUE(text) << text.error().message;
    const auto nest = parse_loop_nest(*text);
    ASSERT_TRUE(nest) << nest.error().message;
    expect_assembled(*nest);
  }

  int modules_ = 0, kernels_ = 0, registers_ = 0;
};

TEST_F(Ptxas, takes_the_first_choices_of_all_examples) {
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".weft") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto program = load_program(entry.path().string());
    ASSERT_TRUE(program) << program.error().message;
    expect_first_choice_assembled(*program);
  }
  EXPECT_GE(modules_, 60);
}

TEST_F(Ptxas, takes_programs) {
  for (const auto& c : backend_test::program_cases()) {
    SCOPED_TRACE(c.name);
    const auto nest = poly::base_nest(backend_test::program_of_text(c.text), NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    expect_assembled(*nest);
  }
}

TEST_F(Ptxas, takes_operators_of_all_types) {
  for (const std::string type : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
    SCOPED_TRACE(type);
    const auto nest =
        poly::base_nest(backend_test::program_of_text(backend_test::operators_of(type)), NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    expect_assembled(one_kernel_an_operator(*nest));
  }
}

TEST_F(Ptxas, takes_constructs_of_nests) {
  for (const auto& c : backend_test::nest_cases()) {
    SCOPED_TRACE(c.name);
    for (const char* type : {"f64", "f32"})
      expect_assembled(backend_test::nest_of_text(std::regex_replace(c.text, std::regex("f64"), type)));
  }
}

TEST_F(Ptxas, takes_loops_over_blocks_and_threads) {
  for (const auto& c : opencl_test::axis_nests()) {
    SCOPED_TRACE(c.name);
    expect_assembled(backend_test::nest_of_text(c.text));
  }
}

TEST_F(Ptxas, takes_shared_memory_that_launches_ask_for) {
  expect_assembled(backend_test::nest_of_text(opencl_test::kLargeTiles));
}

// ---- no assembler needed ----

/// Products of the types that tensor units take, with what stands around them in programs.
constexpr const char* kProducts[] = {
    "program bf16s(M = 1024, N = 768, K = 512)\nin A: bf16[M, K]\nin B: bf16[K, N]\nout C[i: M, j: N] = sum[k: K] "
    "f32(A[i, k]) * f32(B[k, j])\n",
    "program halves(M = 1000, N = 1030, K = 777)\nin A: f16[M, K]\nin B: f16[N, K]\nout C[i: M, j: N] = sum[k: K] "
    "f32(A[i, k]) * f32(B[j, k])\n",
    "program bytes(M = 1024, N = 1024, K = 1024)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] "
    "i32(A[i, k]) * i32(B[k, j])\n",
    "program layer(M = 768, N = 1024, K = 1024)\nin A: bf16[M, K]\nin B: bf16[K, N]\nin b: f32[N]\nlet C[i: M, j: N] = "
    "sum[k: K] f32(A[i, k]) * f32(B[k, j])\nout Y[i: M, j: N] = max(C[i, j] + b[j], 0)\n",
};

TEST_F(Ptxas, products_use_the_tensor_unit) {
  for (const char* text : kProducts) {
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << program.error().message;
    SCOPED_TRACE(program->name);
    for (const char* name : {"sm_75", "sm_90a"}) {
      SCOPED_TRACE(name);
      Tuner tuner(find_target(name).value(), TunerOptions{});
      const auto loops = tuner.show(*program, {}, ShowStage::loops);
      ASSERT_TRUE(loops) << loops.error().message;
      const bool is_taken = std::string(name) != "sm_75" || std::string(text).find("bf16") == std::string::npos;
      const bool is_by_unit = loops->find("tensor \"wgmma_") != std::string::npos;
      EXPECT_EQ(is_by_unit || loops->find("tensor \"mma_") != std::string::npos, is_taken) << *loops;
      if (!is_taken) continue;
      const auto nest = parse_loop_nest(*loops);
      ASSERT_TRUE(nest) << nest.error().message;
      const auto made = backend_->build(*nest, find_target(name).value(), kLoadedHere);
      ASSERT_TRUE(made) << made.error().message << *loops;
      EXPECT_NE(text_of(made->bytes).find(is_by_unit ? "wgmma.mma_async" : "mma.sync"), std::string::npos);
      const Assembled found = assembled(text_of(made->bytes), name);
      ASSERT_EQ(found.problem, "");
      for (const auto& [symbol, kernel] : found.kernels) {
        EXPECT_EQ(kernel.spill_bytes, 0) << symbol << *loops;
        registers_ = std::max(registers_, kernel.registers);
        ++kernels_;
      }
      ++modules_;
    }
  }
}

TEST_F(Nvptx, products_of_warps_keep_the_rules_of_the_class) {
  const auto uses_unit = [](const char* text, NumericsClass cls) {
    Tuner tuner(find_target("sm_80").value(), TunerOptions{});
    TaskOptions options;
    options.cls = cls;
    return tuner.show(parse_program(text).value(), options, ShowStage::loops).value().find("tensor \"mma_") !=
           std::string::npos;
  };
  EXPECT_TRUE(uses_unit(kProducts[0], NumericsClass::reassoc));
  EXPECT_FALSE(uses_unit(kProducts[0], NumericsClass::contract));
  EXPECT_TRUE(uses_unit(kProducts[2], NumericsClass::strict));
}

TEST_F(Nvptx, kernels_say_their_machine_and_their_threads) {
  const LoopNest nest = backend_test::nest_of_text(opencl_test::axis_nest("product through shared tiles"));
  const struct {
    const char *target, *version;
  } kCases[] = {{"sm_75", "6.5"},  {"sm_80", "7.0"},   {"sm_86", "7.1"},  {"sm_89", "7.8"},
                {"sm_90a", "8.0"}, {"sm_100a", "8.6"}, {"sm_120a", "8.7"}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.target);
    const auto text = product(nest, c.target, Emit::assembly);
    ASSERT_TRUE(text) << text.error().message;
    for (const std::string line : {".version " + std::string(c.version), ".target " + std::string(c.target),
                                   std::string(".entry kernel_k0"), std::string(".reqntid 4, 4, 1")})
      EXPECT_NE(text->find(line), std::string::npos) << line << "\n" << *text;
  }
}

TEST_F(Nvptx, products_and_sums_are_not_fused) {
  const auto nest = poly::base_nest(
      backend_test::program_of_text("program p(N = 8)\nin A: f32[N]\nin B: f32[N]\nout C[i: N] = A[i] * B[i] + B[i]\n"),
      NumericsClass::strict);
  ASSERT_TRUE(nest) << nest.error().message;
  const auto text = product(*nest, "sm_90a", Emit::assembly);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_NE(text->find("mul.rn.f32"), std::string::npos) << *text;
  EXPECT_NE(text->find("add.rn.f32"), std::string::npos) << *text;
  EXPECT_EQ(text->find("fma"), std::string::npos) << *text;
}

TEST_F(Nvptx, cells_that_other_threads_write_are_read_again) {
  const LoopNest nest = backend_test::nest_of_text(R"(nest 1 again class reassoc
param N = 8
loops j
buffer X: f32[8] argument align 4 tensor 0 element [$0]
buffer Y: f32[8] argument align 4 output tensor 1 element [$0]
buffer Z: f32[8] argument align 4 output tensor 2 element [$0]
arguments X, Y, Z
body {
  for j in 0 .. 8 axis "thread_x" {
    compute 0(j) store: Y[j] <- X[j]
    sync block 0
    compute 1(j) store: Z[j] <- Y[0]
    sync block 1
    if j >= 0 {
      compute 0(-j + 7) store: Y[-j + 7] <- (X[j] * X[j])
    }
    sync block 2
    compute 1(j) store: Z[j] <- (Z[j] + Y[0])
  }
}
)");
  const auto text = product(nest, "sm_90a", Emit::llvm);
  ASSERT_TRUE(text) << text.error().message;
  int reads = 0;
  const std::regex read(R"(load float, ptr addrspace\(1\) %Y)");
  for (auto it = std::sregex_iterator(text->begin(), text->end(), read); it != std::sregex_iterator(); ++it) ++reads;
  EXPECT_EQ(reads, 2) << *text;
}

TEST_F(Nvptx, launches_that_no_machine_takes_are_refused) {
  std::string text = opencl_test::axis_nest("rows of threads");
  text = std::regex_replace(text, std::regex("\\b4\\b(?! tensor|, \\$)"), "4000");
  text = std::regex_replace(text, std::regex("align 4000"), "align 4");
  const auto made = product(backend_test::nest_of_text(text), "sm_75", Emit::artifact);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "PW0525");
  EXPECT_EQ(made.error().message, "a block of 32000 threads: the machine runs at most 1024");
}

TEST_F(Nvptx, launches_ask_for_shared_memory_that_kernels_may_not_declare) {
  const LoopNest nest = backend_test::nest_of_text(opencl_test::kLargeTiles);
  const auto made = backend_->build(nest, find_target("sm_90a").value(), kLoadedHere);
  ASSERT_TRUE(made) << made.error().message;
  const std::string text = text_of(made->bytes);
  EXPECT_NE(text.find(".extern .shared .align 1024 .b8 kernel_shared[];"), std::string::npos) << text;
  EXPECT_EQ(made->plan.launches.at(0).shared_bytes, 49408);
  EXPECT_EQ(made->plan.launches.at(0).dynamic_shared_bytes, 49408);
  const auto header = product(nest, "sm_90a", Emit::header);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_NE(header->find("{3, 1, 1}, {128, 1, 1}, 49408, 0, 49408}"), std::string::npos) << *header;
  const auto small = backend_->build(backend_test::nest_of_text(opencl_test::axis_nest("product through shared tiles")),
                                     find_target("sm_90a").value(), kLoadedHere);
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_GT(small->plan.launches.at(0).shared_bytes, 0);
  EXPECT_EQ(small->plan.launches.at(0).dynamic_shared_bytes, 0);
}

TEST_F(Nvptx, blocks_have_as_much_shared_memory_as_their_machine_allows) {
  const struct {
    const char* target;
    int kib;
  } kCases[] = {{"sm_75", 64},   {"sm_80", 163},   {"sm_86", 99},  {"sm_89", 99},
                {"sm_90a", 227}, {"sm_100a", 227}, {"sm_120a", 99}};
  for (const auto& c : kCases)
    EXPECT_EQ(find_target(c.target)->machine.grid.block_shared_bytes.value, int64_t{c.kib} << 10) << c.target;
}

TEST_F(Nvptx, a_gpu_takes_ptx_of_older_machines_that_is_for_no_machine_alone) {
  const struct {
    const char *gpu, *machine;
    bool is_taken;
  } kCases[] = {{"sm_90a", "sm_90a", true},   {"sm_90a", "sm_80", true},    {"sm_90a", "sm_75", true},
                {"sm_90a", "sm_100a", false}, {"sm_100a", "sm_90a", false}, {"sm_121a", "sm_120a", false},
                {"sm_121a", "sm_89", true},   {"sm_80", "sm_86", false},    {"sm_70", "sm_75", false}};
  for (const auto& c : kCases)
    EXPECT_EQ(targets::takes_ptx_for(c.gpu, c.machine), c.is_taken) << c.gpu << " " << c.machine;
  EXPECT_STREQ(targets::nvptx_machine_for("sm_103a")->name, "sm_89");
  EXPECT_STREQ(targets::nvptx_machine_for("sm_90a")->name, "sm_90a");
  EXPECT_EQ(targets::nvptx_machine_for("sm_70"), nullptr);
}

/// What a C program prints that includes the header and writes each launch.
std::string launches_by(const std::string& header) {
  std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-header-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return "no folder";
  const std::filesystem::path folder = pattern;
  std::ofstream(folder / "kernel.h") << header;
  std::ofstream(folder / "main.c") << R"(#include "kernel.h"
#include <stdio.h>
static int launch(void *context, int k, const int64_t *values) {
  const struct polyweft_kernel *of = &kernel_kernels[k];
  (void)context;
  printf("%s <%u %u> %u:", of->name, of->blocks[0], of->threads[0], of->shared_bytes);
  for (uint32_t v = 0; v < of->values; ++v) printf(" %d", (int)values[v]);
  puts("");
  return 0;
}
int main(void) {
  for (int m = 0; m < kernel_memory_count; ++m)
    printf("%s %d %d %d %d\n", kernel_memories[m].name, (int)kernel_memories[m].bytes, kernel_memories[m].argument,
           kernel_memories[m].is_output, (int)kernel_memories[m].argument_bytes);
  return kernel_pack(launch, 0) || kernel_run(launch, 0);
}
)";
  const std::string program = folder / "program", quoted = "'" + program + "'";
  int code = -1;
  std::string out = output_of(std::string(PW_CC) + " -std=c11 -Wall -Wextra -Werror '" + pattern + "/main.c' -o " +
                                  quoted + " 2>&1 && " + quoted,
                              code);
  std::filesystem::remove_all(folder);
  return out;
}

TEST_F(Nvptx, a_header_states_the_launches_of_a_call) {
  const LoopNest nest = backend_test::nest_of_text(opencl_test::axis_nest("a triangle of launches"));
  const auto header = product(nest, "sm_80", Emit::header);
  ASSERT_TRUE(header) << header.error().message;
  std::string expected = "X 512 0 0 324\nY 256 1 1 36\nkernel_k0 <3 4> 0:\n";
  for (int k = 0; k < 9; ++k) expected += "kernel_k1 <3 4> 0: " + std::to_string(k) + "\n";
  EXPECT_EQ(launches_by(*header), expected) << *header;
}

TEST_F(Nvptx, machines_are_named_and_described) {
  const auto unknown = find_target("sm_42");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "PW0510");
  const auto two = parse_target("architecture = \"nvptx64\"\nfeatures = [\"sm_80\", \"sm_90a\"]\n", "two.toml");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, "PW0511");
  EXPECT_NE(two.error().message.find("needs one feature"), std::string::npos) << two.error().message;
  const auto described = parse_target(describe(find_target("sm_86").value()), "again.toml");
  ASSERT_TRUE(described) << described.error().message;
  EXPECT_EQ(fingerprint(*described), fingerprint(find_target("sm_86").value()));
}

TEST_F(Nvptx, it_says_why_kernels_do_not_run_here) {
  const auto runs = backend_->runs_here(find_target("sm_75").value());
  if (runs) GTEST_SKIP() << "they do";
  EXPECT_EQ(runs.error().code, "PW0517");
  EXPECT_NE(runs.error().message.find("not run on this machine: "), std::string::npos) << runs.error().message;
  ASSERT_FALSE(runs.error().notes.empty());
  EXPECT_EQ(runs.error().notes.back(), "--target emulated:sm_75 runs the same kernels on this CPU");
}

}  // namespace
}  // namespace polyweft::nvptx_test
