// Chains through memory in the code of a loop, by the text of its instructions: x86-64's operands of five parts,
// AArch64's moved bases, indices and pairs.
#include "targets/cpu/memory_chains.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "targets/cpu/assembly_reader.h"

namespace polyweft::targets {
namespace {

/// Of the lines between the label and the branch.
double chain_of(const std::string& target, const std::string& body) {
  const std::string text =
      "\t.text\nf:\n.LBB0_1:\n" + body +
      (target == "aarch64" ? "\tsubs\tx9, x9, #1\n\tb.ne\t.LBB0_1\n\tret\n" : "\tdecq\t%r9\n\tjne\t.LBB0_1\n\tretq\n");
  auto assembly = read_assembly(text, *find_target(target));
  if (!assembly) {
    ADD_FAILURE() << assembly.error().message << "\n" << text;
    return -1;
  }
  std::vector<llvm::MCInst> code;
  for (const PlacedInst& placed : assembly->code) code.push_back(placed.inst);
  code.resize(code.size() - 1);  // without the return
  return memory_chain_cycles(code, assembly->cpu.described(), *assembly->cpu.set);
}

struct ChainCase {
  const char* what;
  const char* body;
  double share;  ///< of the chain from one iteration to the next
};

TEST(MemoryChains, of_aarch64_wait_from_the_load_to_the_store) {
  const double whole =
      chain_of("aarch64", "\tldr\ts0, [x0]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0, #4]\n\tadd\tx0, x0, #4\n");
  EXPECT_GE(whole, 6) << "a load and a sum";
  EXPECT_LE(whole, 20);
  for (const ChainCase& c :
       {ChainCase{"a base that moves before the store", "\tldr\ts0, [x0]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0, #4]!\n",
                  1},
        {"a base that moves after the load", "\tldr\ts0, [x0], #4\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0]\n", 1},
        {"an unscaled distance", "\tldur\ts0, [x0, #-4]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0]\n\tadd\tx0, x0, #4\n", 1},
        {"every second iteration", "\tldr\ts0, [x0]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0, #8]\n\tadd\tx0, x0, #4\n",
         0.5},
        {"downwards", "\tldr\ts0, [x0]\n\tfadd\ts0, s0, s1\n\tstur\ts0, [x0, #-4]\n\tsub\tx0, x0, #4\n", 1},
        {"an index that moves",
         "\tldr\ts0, [x0, x1, lsl #2]\n\tfadd\ts0, s0, s1\n\tadd\tx1, x1, #1\n\tstr\ts0, [x0, x1, lsl #2]\n", 1},
        {"the other way", "\tldr\ts0, [x0, #4]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0]\n\tadd\tx0, x0, #4\n", 0},
        {"another array",
         "\tldr\ts0, [x0]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x2, #4]\n\tadd\tx0, x0, #4\n\tadd\tx2, x2, #4\n", 0},
        {"a value that is not stored", "\tldr\ts0, [x0]\n\tfadd\ts0, s1, s1\n\tstr\ts0, [x0, #4]\n\tadd\tx0, x0, #4\n",
         0},
        {"a base of unknown steps", "\tldr\ts0, [x0]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0, #4]\n\tadd\tx0, x0, x3\n",
         0}})
    EXPECT_NEAR(chain_of("aarch64", c.body), c.share * whole, 0.01) << c.what;
}

TEST(MemoryChains, of_aarch64_vectors_and_cells_that_stay) {
  EXPECT_GE(chain_of("aarch64", "\tldr\tq0, [x0]\n\tfadd\tv0.4s, v0.4s, v1.4s\n\tstr\tq0, [x0, #16]!\n"), 6);
  EXPECT_GE(chain_of("aarch64", "\tldr\ts0, [x0, #8]\n\tfadd\ts0, s0, s1\n\tstr\ts0, [x0, #8]\n"), 6);
}

TEST(MemoryChains, of_x86_64) {
  const double whole =
      chain_of("x86-64-v3",
               "\tvmovss\t(%rdi), %xmm0\n\tvaddss\t%xmm1, %xmm0, %xmm0\n\tvmovss\t%xmm0, 4(%rdi)\n\taddq\t$4, %rdi\n");
  EXPECT_GE(whole, 6);
  EXPECT_NEAR(
      chain_of("x86-64-v3",
               "\tvmovss\t(%rdi), %xmm0\n\tvaddss\t%xmm1, %xmm0, %xmm0\n\tvmovss\t%xmm0, 8(%rdi)\n\taddq\t$4, %rdi\n"),
      whole / 2, 0.01);
  EXPECT_EQ(
      chain_of("x86-64-v3",
               "\tvmovss\t(%rdi), %xmm0\n\tvaddss\t%xmm1, %xmm0, %xmm0\n\tvmovss\t%xmm0, 4(%rsi)\n\taddq\t$4, %rdi\n"),
      0);
}

}  // namespace
}  // namespace polyweft::targets
