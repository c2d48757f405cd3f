// What follows sums of warps in their kernel: `fuse` takes the sums from the registers of the lanes. Bits of the
// interpreter in three orders of threads, with whole tiles and edges; nothing is left of the memory between.
#include "emulator/harness.h"
#include "ir/normalize/normalize.h"
#include "ir/oracles/interpreter.h"
#include "polyweft/tuner.h"
#include "samples.h"
#include "schedules/sketches/grid.h"
#include "schedules/steps.h"
#include "targets/registry.h"

namespace polyweft {
namespace {

struct Epilogue {
  const char *name, *declared, *statements, *fused;
  const char* sums = "C";
};
const Epilogue kEpilogues[] = {
    {"bias and relu", "in b: f32[N]\n", "let C[i: M, j: N] = SUM\nout Y[i: M, j: N] = max(C[i, j] + b[j], 0)\n", "Y"},
    {"a residual", "in R: f32[M, N]\n", "let C[i: M, j: N] = SUM\nout Y[i: M, j: N] = R[i, j] - C[i, j] * C[i, j]\n",
     "Y"},
    {"a shorter type", "", "out C[i: M, j: N] = bf16(SUM)\n", "C", "C.1"},
    {"a row's scale and a transposed one", "in s: f32[M]\nin T: f32[N, M]\n",
     "let C[i: M, j: N] = SUM\nout Y[i: M, j: N] = C[i, j] * s[i] + T[j, i]\n", "Y"},
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

Program program_of_epilogue(const Epilogue& e, int64_t m, int64_t n, int64_t k) {
  const std::string sizes = "M = " + std::to_string(m) + ", N = " + std::to_string(n) + ", K = " + std::to_string(k);
  const auto program = parse_program("program p(" + sizes + ")\nin A: bf16[M, K]\nin B: bf16[K, N]\n" + e.declared +
                                     replaced(e.statements, "SUM", "sum[k: K] f32(A[i, k]) * f32(B[k, j])"));
  EXPECT_TRUE(program) << program.error().message;
  return program.value();
}

std::string trace_of_epilogue(const Epilogue& e, bool is_staged) {
  std::string out = R"(trace 1
  tile C [i: 64, j: 32, k: 32, i: 32, j: 16, i: 16, j: 8, k: 16]
  permute C [i.1, j.1, i.2, j.2, k.1, k.2, i.3, j.3, i, j, k]
  bind C i.1 to block_y
  bind C j.1 to block_x
  bind C i.2 to thread_z
  bind C j.2 to thread_y
  accumulate C at j.2 tile
)";
  if (is_staged)
    out +=
        "  promote A in C at k.1 shared vectors 8\n  promote B in C at k.1 shared vectors 8\n  pipeline C k.1 by 2\n";
  out += "  tensorize C i, j, k by mma_m16n8k16_bf16\n  unroll C i.3, j.3\n";
  return replaced(out, " C ", std::string(" ") + e.sums + " ") + "  fuse " + e.fused + " into " + e.sums + " at j.2\n";
}

Result<LoopNest> nest_of_epilogue(const Program& program, const std::string& trace, const char* machine = "sm_80") {
  Tuner tuner(find_target(machine).value(), TunerOptions{});
  TaskOptions options;
  options.trace = trace;
  const auto text = tuner.show(program, options, ShowStage::loops);  // proves it first
  return text ? parse_loop_nest(*text) : text.error();
}

class GridEpilogues : public emulator_test::Emulator {};

TEST_F(GridEpilogues, give_the_bits_of_the_interpreter_and_of_the_program) {
  test::Sample sample(5);
  int tried = 0;
  const int64_t kSizes[][3] = {{128, 64, 64}, {72, 40, 64}, {50, 24, 40}};
  for (const Epilogue& e : kEpilogues)
    for (const auto& [m, n, k] : kSizes)
      for (const bool is_staged : {true, false}) {
        if (!sample.takes()) continue;
        ++tried;
        SCOPED_TRACE(std::string(e.name) + " " + std::to_string(m) + (is_staged ? " staged" : ""));
        const Program program = program_of_epilogue(e, m, n, k);
        const auto nest = nest_of_epilogue(program, trace_of_epilogue(e, is_staged));
        if (!nest) {
          ADD_FAILURE() << nest.error().message;
          continue;
        }
        for (const Buffer& buffer : nest->buffers)
          EXPECT_TRUE(buffer.scope == Scope::argument || buffer.scope == Scope::tile || buffer.name.ends_with(".p"))
              << buffer.name << " holds sums besides the registers\n"
              << print(*nest);
        const auto inputs = emulator_test::integer_inputs_of(*nest);
        expect_bits(*nest, "sm_80", {inputs});
        const auto base = nest_of_epilogue(program, "trace 1\n");
        ASSERT_TRUE(base) << base.error().message;
        const auto wanted = ir::interpret(*base, inputs, {}), got = ir::interpret(*nest, inputs, {});
        ASSERT_TRUE(wanted && got);
        for (size_t t = 0; t < wanted->tensors.size(); ++t)
          EXPECT_EQ(wanted->tensors[t].bytes, got->tensors[t].bytes) << "output " << t;
      }
  EXPECT_EQ(tried, test::takes_all_cases() ? 24 : 5);
}

TEST_F(GridEpilogues, are_one_launch) {
  for (const Epilogue& e : kEpilogues) {
    SCOPED_TRACE(e.name);
    const auto nest = nest_of_epilogue(program_of_epilogue(e, 128, 64, 64), trace_of_epilogue(e, true));
    ASSERT_TRUE(nest) << nest.error().message;
    const auto made = targets::backend_of("nvptx64")->build(
        *nest, find_target("sm_80").value(), {"kernel", targets::Caller::anyone, targets::Loader::process});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->plan.launches.size(), 1u);
  }
}

TEST_F(GridEpilogues, follow_products_of_other_machines_waves) {
  const struct {
    const char *machine, *instruction;
  } kWaves[] = {{"gfx942", "mfma_16x16x16_bf16"}, {"gfx1100", "wmma_gfx11_bf16"}};
  for (const auto& wave : kWaves) {
    SCOPED_TRACE(wave.machine);
    const Epilogue& e = kEpilogues[0];
    const Program program = program_of_epilogue(e, 40, 72, 32);
    const std::string trace =
        replaced(replaced(replaced(trace_of_epilogue(e, false), "i: 16, j: 8, k: 16", "i: 16, j: 16, k: 16"),
                          "j: 16, i", "j: 32, i"),
                 "mma_m16n8k16_bf16", wave.instruction);
    const auto nest = nest_of_epilogue(program, trace, wave.machine);
    if (!nest) {
      ADD_FAILURE() << nest.error().message << trace;
      continue;
    }
    expect_bits(*nest, wave.machine, {emulator_test::integer_inputs_of(*nest)});
  }
}

/// The traces of the rule for products of warps.
std::vector<NestTemplate> sketches_of_products(const Program& program, const char* machine) {
  const Target target = find_target(machine).value();
  return schedules::grid_product_sketches(
      normalize(polyweft::bind(program, make_binding(program, {}).value()), NumericsClass::reassoc),
      NumericsClass::reassoc, target.machine, {});
}

TEST_F(GridEpilogues, are_what_the_rule_for_products_makes_of_elements) {
  for (const char* machine : {"sm_80", "gfx942"})
    for (const Epilogue& e : kEpilogues) {
      SCOPED_TRACE(std::string(machine) + " " + e.name);
      const auto sketches = sketches_of_products(program_of_epilogue(e, 128, 64, 64), machine);
      ASSERT_FALSE(sketches.empty());
      for (const NestTemplate& sketch : sketches)
        EXPECT_NE(sketch.trace.text().find(std::string("fuse ") + e.fused + " into " + e.sums + " at j.2\n"),
                  std::string::npos)
            << sketch.trace.text();
    }
  const auto sketches = sketches_of_products(program_of_epilogue(kEpilogues[0], 72, 40, 64), "sm_80");
  const auto nest = instantiate(sketches.front(), values_of(sketches.front().trace));
  ASSERT_TRUE(nest) << nest.error().message;
  expect_bits(*nest, "sm_80", {emulator_test::integer_inputs_of(*nest)});
}

TEST_F(GridEpilogues, are_launches_of_their_own_where_others_need_the_sums) {
  const Epilogue kOthers[] = {
      {"two readers", "", "let C[i: M, j: N] = SUM\nout Y[i: M, j: N] = C[i, j] * 2\nout Z[i: M, j: N] = C[i, j] + 1\n",
       "Y"},
      {"the sums are a result", "", "out C[i: M, j: N] = SUM\nout Y[i: M, j: N] = C[i, j] * 2\n", "Y"},
      {"another row", "", "let C[i: M, j: N] = SUM\nout Y[i: M, j: N] = C[M - 1 - i, j] * 2\n", "Y"},
      {"sums again", "", "let C[i: M, j: N] = SUM\nout Y[i: M] = sum[j: N] C[i, j]\n", "Y"},
  };
  for (const Epilogue& e : kOthers) {
    SCOPED_TRACE(e.name);
    const auto sketches = sketches_of_products(program_of_epilogue(e, 128, 64, 64), "sm_80");
    ASSERT_FALSE(sketches.empty());
    for (const NestTemplate& sketch : sketches)
      EXPECT_EQ(sketch.trace.text().find("fuse "), std::string::npos) << sketch.trace.text();
  }
}

TEST_F(GridEpilogues, that_read_sums_of_other_warps_are_refused) {
  const Epilogue kWrong = {"row sums", "", "let C[i: M, j: N] = SUM\nout Y[i: M, j: N] = C[i, j] + C[i, 0]\n", "Y"};
  const auto nest = nest_of_epilogue(program_of_epilogue(kWrong, 128, 64, 64), trace_of_epilogue(kWrong, true));
  ASSERT_FALSE(nest);
  EXPECT_EQ(nest.error().code, "PW0305") << nest.error().message;
}

}  // namespace
}  // namespace polyweft
