// Instruction files, and what matches them: structure and types decide, never names.
#include "ir/nests/instruction.h"

#include <gtest/gtest.h>

#include "ir/text/instruction_texts.h"

namespace polyweft {
namespace {

using namespace ir;

std::string with_change(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string text_of_instruction(const std::string& name) {
  for (const std::string text : instruction_texts())
    if (text.find("\nname " + name + "\n") != std::string::npos) return text;
  ADD_FAILURE() << name;
  return "";
}

TEST(Instruction, files_are_read_and_named_once) {
  std::set<std::string> names;
  for (const Instruction& i : known_instructions()) {
    EXPECT_TRUE(names.insert(i.name).second) << i.name;
    EXPECT_FALSE(i.needs.empty());
    EXPECT_EQ(i.operands[0].buffer, i.compute.dst[0].id);
  }
  EXPECT_EQ(names.count("vpdpbusd_512"), 1u);
  EXPECT_FALSE(instruction_named("vpdpbusd_511").ok());
}

TEST(Instruction, features_are_sets_of_which_one_is_enough) {
  struct Flags {
    std::set<std::string> on;
    bool has(const std::string& feature) const { return on.count(feature) > 0; }
  };
  const Instruction& i = **instruction_named("vpdpbusd_256");
  EXPECT_TRUE(i.runs_on(Flags{{"avxvnni"}}));
  EXPECT_TRUE(i.runs_on(Flags{{"avx512vnni", "avx512vl"}}));
  EXPECT_FALSE(i.runs_on(Flags{{"avx512vnni"}}));
  EXPECT_FALSE(i.runs_on(Flags{{"avx2"}}));
}

TEST(Instruction, malformed_files_are_refused) {
  const std::string text = text_of_instruction("vpdpbusd_512");
  const std::pair<const char*, const char*> kChanges[] = {
      {"instruction 1", "instruction 2"},
      {"classes strict", "classes exact"},
      {"needs avx512vnni", "needs avx512vnni |"},
      {"needs avx512vnni", "issues 0\nneeds avx512vnni"},
      {"(D: i32x16, A: i8x64", "(A: i8x64, D: i32x16"},
      {", B: i8x64)", ")"},
      {"i32x16", "i32"},
      {"for q in 0 .. 4", "for q in 1 .. 4"},
      {"for q in 0 .. 4", "for q in 0 .. 3"},
      {"A[i, q]", "A[i, i]"},
      {"A[i, q]", "A[i, -q + 3]"},
      {"accumulate sum: D[i] <-", "store: D[i] <-"},
      {"name vpdpbusd_512\n", "\n"},
      {"nest 1", "net 1"},
  };
  for (const auto& [from, to] : kChanges) {
    auto parsed = parse_instruction(with_change(text, from, to));
    ASSERT_FALSE(parsed.ok()) << from << " -> " << to;
    EXPECT_EQ(parsed.error().code, "PW0416");
  }
  EXPECT_TRUE(parse_instruction(text).ok());
}

TEST(Instruction, malformed_fragments_are_refused) {
  const std::string text = text_of_instruction("mma_m16n8k16_bf16");
  ASSERT_TRUE(parse_instruction(text).ok());
  const std::pair<const char*, const char*> kChanges[] = {
      {"fragment A lane", "fragment X lane"},        // no such operand
      {"fragment B lane", "fragment A lane"},        // twice
      {"fragment B lane j p/2%4 cell p/8 p%2", ""},  // not for all operands
      {"lane i%8 p/2%4", "i%8 p/2%4"},               // no lanes
      {"lane i%8 p/2%4", "lane i%4 p/2%4"},          // of 16 lanes
      {"cell p/8 i/8 p%2", "cell p/8 i/8"},          // fewer cells than the call has
      {"cell p/8 i/8 p%2", "cell p/8 i/8 i%2"},      // digits overlap
      {"i%8 p/2%4", "j%8 p/2%4"},                    // of a loop that the operand has not
      {"p/2%4", "p/3%4"},                            // divides nothing
      {"p/2%4", "p/0%4"},
      {"p/2%4", "p/2%0"},
      {"lane i%8 p/2%4", "lane *2 i%8 p/2%4"},                                  // of 64 lanes, the others of 32
      {"lane i%8 p/2%4", "lane *0 i%8"},                                        // no copies
      {"D lane i%8 j/2%4 cell i/8", "D lane *2 i%8 j/2 cell i/8"},              // copies of sums
      {"A lane i%8 p/2%4 cell p/8 i/8 p%2", "A lane *4 i%8 cell p/8 i/8 p%2"},  // cells that no lane has
  };
  for (const auto& [from, to] : kChanges) {
    auto parsed = parse_instruction(with_change(text, from, to));
    ASSERT_FALSE(parsed.ok()) << from << " -> " << to;
    EXPECT_EQ(parsed.error().code, "PW0416");
  }
}

TEST(Instruction, malformed_factors_in_shared_memory_are_refused) {
  const std::string text = text_of_instruction("wgmma_m64n64k16_bf16");
  const auto whole = parse_instruction(text);
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->reads_shared());
  EXPECT_EQ(whole->lanes(), 128);
  const std::pair<const char*, const char*> kChanges[] = {{"B: sharedx1024", "B: bf16x8"},  // one factor in registers
                                                          {"A: sharedx1024", "A: sharedx512"},  // not all cells
                                                          {"D: f32x32", "D: sharedx4096"},      // sums
                                                          {"fragment D", "fragment A"},         // of a factor
                                                          {"lane i/16%4 i%8", "lane i/32%2 i%8"}};
  for (const auto& [from, to] : kChanges) {
    auto parsed = parse_instruction(with_change(text, from, to));
    ASSERT_FALSE(parsed.ok()) << from << " -> " << to;
    EXPECT_EQ(parsed.error().code, "PW0416");
  }
}

/// A sub-nest as a schedule makes it: other names, other loops around, factors in the other order.
const char* const kTensorNest = R"(nest 1 other class strict
loops row, depth, x, y
buffer weights: i8[8, 16] argument align 1 tensor 1 element [$0, $1]
buffer image: u8[5, 8] argument align 1 tensor 0 element [$0, $1]
buffer out: i32[5, 16] argument align 4 output tensor 2 element [$0, $1]
arguments image, weights, out
body {
  for row in 0 .. 5 {
    for depth in 0 .. 8 step 4 {
      for x in 0 .. 4 tensor "vpdpbusd_512" {
        for y in 0 .. 16 vector 16 {
          compute 0(row, y, depth + x) accumulate sum: out[row, y] <- (convert:i32(weights[depth + x, y]) * convert:i32(image[row, depth + x]))
        }
      }
    }
  }
}
)";

std::string verdict_on_text(const std::string& text) {
  auto nest = parse_loop_nest(text);
  if (!nest) return nest.error().message;
  Status status = verify(*nest);
  return status ? "ok" : status.error().code + " " + status.error().message;
}

TEST(InstructionMatch, finds_the_operands_whatever_they_are_called) {
  auto nest = parse_loop_nest(kTensorNest);
  ASSERT_TRUE(nest.ok());
  ASSERT_EQ(verdict_on_text(kTensorNest), "ok");
  for (const Node& node : nest->nodes) {
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop || loop->mark.kind != MarkKind::tensor) continue;
    auto found = match_tensor_loop(*nest, *loop);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(nest->buffers[found->binding.access[0]->id].name, "image");
    EXPECT_EQ(nest->buffers[found->binding.access[1]->id].name, "weights");
    EXPECT_EQ(found->loops[0]->mark.kind, MarkKind::vector);
  }
}

TEST(InstructionMatch, what_differs_is_refused) {
  const std::pair<const char*, const char*> kChanges[] = {
      {"weights: i8", "weights: u8"},                                            // u8 x u8
      {"image: u8", "image: i8"},                                                // i8 x i8
      {"convert:i32(weights[depth + x, y])", "convert:i32(weights[depth, y])"},  // the same cell four times: see below
      {"for x in 0 .. 4 tensor", "for x in 0 .. 3 tensor"},                      // a shorter tile
      {"vector 16", "vector 32"},                                                // other lanes
      {"accumulate sum:", "accumulate max:"},                                    // another fold
      {"out[row, y] <-", "out[row, x] <-"},                                      // the reduced axis moves the result
      {"image[row, depth + x]", "image[row, y]"},  // another cell for each lane: see below
      {"vpdpbusd_512", "vpdpbusd_256"},            // an instruction of other extents
      {"vpdpbusd_512", "nothing"},                 // none
      {") * convert", ") + convert"},              // another operator
  };
  for (const auto& [from, to] : kChanges) {
    const std::string changed = with_change(kTensorNest, from, to), said = verdict_on_text(changed);
    // An operand that does not move with one of its own axes repeats its cells: still the instruction.
    const bool is_still_one =
        std::string(to).find("weights[depth, y]") != std::string::npos || std::string(to) == "image[row, y]";
    EXPECT_EQ(said == "ok", is_still_one) << from << " -> " << to << ": " << said;
    EXPECT_TRUE(is_still_one || said.find("PW0417") == 0 || said.find("PW0416") == 0) << said;
  }
}

TEST(InstructionMatch, a_missing_factor_is_one) {
  const std::string sums = with_change(kTensorNest, " * convert:i32(image[row, depth + x])", "");
  EXPECT_EQ(verdict_on_text(with_change(with_change(sums, "(convert", "convert"), "y]))", "y])")), "ok");
}

}  // namespace
}  // namespace polyweft
