// Machines that somebody else describes: rows of the scratchpad that are longer than an operand's, instructions from a
// folder, and what is said where the unit computes nothing.
#include <filesystem>
#include <fstream>

#include "emulated/tune.h"
#include "ir/oracles/evaluator.h"
#include "unit/machines.h"

namespace polyweft::unit_test {
namespace {

/// A description of tests/unit/made_up.toml's unit whose commands do not say how far apart rows are.
std::string described(int64_t row_bytes, int64_t scratchpad_bytes, const std::string& unit = "unit-8x8x32-s8") {
  return "architecture = \"riscv64-unit\"\nfeatures = [\"a\", \"c\", \"d\", \"f\", \"m\", "
         "\"unaligned-scalar-mem\", \"" +
         unit + "\", \"v\", \"zvl128b\"]\ncache_bytes = [32768, 524288]\nbytes_per_cycle = [16, 8]\n" +
         "scratchpad_bytes = " + std::to_string(scratchpad_bytes) +
         "\nscratchpad_row_bytes = " + std::to_string(row_bytes) +
         "\naccumulator_bytes = 16384\naccumulator_row_bytes = 32\naccumulator_first = 2147483648\ncopy_rows = 16\n"
         "copy_row_bytes = 64\nqueued_commands = 64\ncommands = [\n"
         "\"stride 0x7b 3 0 stride=rs1\",\n"
         "\"copy_in 0x7b 3 2 memory=rs1 local=rs2 rows=rs2<<32 bytes=rs2<<48\",\n"
         "\"copy_out 0x7b 3 3 memory=rs1 local=rs2 rows=rs2<<32 bytes=rs2<<48\",\n"
         "\"zero 0x7b 3 5 local=rs2 rows=rs2<<32 bytes=rs2<<48\",\n"
         "\"product 0x7b 3 4 a=rs1 b=rs1<<32 c=rs2 rows=rs2<<32 columns=rs2<<40 depth=rs2<<48\",\n"
         "\"commit 0x7b 3 8\",\n\"wait 0x7b 3 9 groups=rs1\",\n\"finish 0x7b 3 7\",\n]\n";
}

Program product(const std::string& sizes, const char* type = "i8") {
  return parse_program("program mm(" + sizes + ")\nin A: " + type + "[M, K]\nin B: " + type +
                       "[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n")
      .value();
}

/// What a first choice does on such a machine.
struct Outcome {
  bool uses_unit = false, is_right = false;
  std::string notice;
};
Outcome outcome(const std::string& description, const Program& program) {
  Outcome out;
  const auto target = parse_target(description, "mine.toml");
  EXPECT_TRUE(target) << (target ? "" : target.error().message);
  if (!target) return out;
  TunerOptions options;
  options.helper_directory = PW_BINARY_DIR "/src/tools";
  options.notice = [&](const std::string& text) { out.notice += text; };
  Tuner tuner(*target, options);
  const auto trace = tuner.show(program, {}, ShowStage::trace);
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
  out.uses_unit = trace && trace->find("tensorize ") != std::string::npos;
  out.notice.clear();
  auto kernel = tuner.compile(program, {});
  const auto inputs = tuner.make_inputs(program, {}, InputSet::random, 7);
  if (!kernel || !inputs) return out;
  const auto got = kernel->run(*inputs);
  const auto wanted = ir::evaluate(polyweft::bind(program, *make_binding(program, {})), *inputs);
  out.is_right = got && wanted && got->front().bytes == wanted->tensors.front().bytes;
  return out;
}

class OtherUnits : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_unit(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(OtherUnits, rows_of_the_scratchpad_are_as_long_as_the_description_has_them) {
  for (const int64_t row_bytes : {32, 64})
    for (const char* sizes : {"M = 64, N = 64, K = 64", "M = 24, N = 72, K = 96", "M = 13, N = 21, K = 35"}) {
      const Outcome one = outcome(described(row_bytes, 65536), product(sizes));
      EXPECT_TRUE(one.uses_unit) << row_bytes << ": " << sizes << ": " << one.notice;
      EXPECT_TRUE(one.is_right) << row_bytes << ": " << sizes;
      EXPECT_EQ(one.notice, "");
    }
}

TEST_F(OtherUnits, why_a_unit_computes_nothing_is_said) {
  const auto said = [](const std::string& description, const Program& program) {
    const Outcome one = outcome(description, program);
    EXPECT_FALSE(one.uses_unit);
    EXPECT_TRUE(one.is_right);
    return one.notice;
  };
  const Program mm = product("M = 64, N = 64, K = 64");
  const std::string begin = "target mine.toml: its unit computes nothing of mm: ";
  EXPECT_EQ(said(described(32, 65536), product("M = 64, N = 64, K = 64", "u8")),
            begin + "no sum of the program is D: i32[8, 8] += A: i8[8, 32] * B: i8[32, 8] in class reassoc");
  EXPECT_EQ(said(described(32, 256), mm),
            begin + "a tile of its operands and sums does not fit its memories (scratchpad_bytes, accumulator_bytes)");
  const std::string rows = said(described(24, 65536), mm);
  EXPECT_EQ(rows.substr(0, begin.size()), begin);
  EXPECT_NE(rows.find("24 apart [PW0528]"), std::string::npos) << rows;
}

TEST_F(OtherUnits, instructions_come_from_a_folder) {
  std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-units-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  EXPECT_EQ(add_instructions(folder).error().message, "--instructions " + pattern + ": has no file NAME.instruction");
  const std::string unit = "unit-4x8x16-s8";
  EXPECT_EQ(parse_target(described(8, 65536, unit), "t").error().code, "PW0511");
  const std::string text =
      "instruction 1\nname mine_4x8x16\nneeds unit-4x8x16-s8\nclasses strict contract reassoc\ncall product (D: "
      "localx32, A: localx64, B: localx128)\nnest 1 mine_4x8x16 class strict\nloops i, j, k\nbuffer D: i32[4, 8] "
      "argument align 4 output tensor 0 element [$0, $1]\nbuffer A: i8[4, 16] argument align 1 tensor 1 element [$0, "
      "$1]\nbuffer B: i8[16, 8] argument align 1 tensor 2 element [$0, $1]\narguments A, B, D\nbody {\n  for i in 0 .. "
      "4 {\n    for j in 0 .. 8 {\n      for k in 0 .. 16 {\n        compute 0(i, j, k) accumulate sum: D[i, j] <- "
      "(convert:i32(A[i, k]) * convert:i32(B[k, j]))\n      }\n    }\n  }\n}\n";
  std::ofstream(folder / "bad.instruction") << "instruction 2\n";
  EXPECT_EQ(add_instructions(folder).error().code, "PW0020");
  std::filesystem::remove(folder / "bad.instruction");
  std::ofstream(folder / "mine.instruction") << text;
  const Status added = add_instructions(folder);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_TRUE(add_instructions(folder)) << "the same again changes nothing";
  const auto units = known_units();
  const auto mine =
      std::find_if(units.begin(), units.end(), [&](const KnownUnit& each) { return each.feature == unit; });
  ASSERT_NE(mine, units.end());
  EXPECT_EQ(mine->text, "D: i32[4, 8] += A: i8[4, 16] * B: i8[16, 8]");
  EXPECT_EQ(mine->file, (folder / "mine.instruction").string());
  std::filesystem::remove_all(folder);  // helpers hear of instructions from this process
  const Outcome one = outcome(described(16, 65536, unit), product("M = 32, N = 48, K = 64"));
  EXPECT_TRUE(one.is_right) << one.notice;
  EXPECT_TRUE(one.uses_unit) << one.notice;
}

}  // namespace
}  // namespace polyweft::unit_test
