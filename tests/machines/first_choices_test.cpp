// What is served untuned on machines that nobody is near: blocks of registers fit the registers, blocks for a cache fit
// the cache. Nothing is run.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "driver/compile_service.h"
#include "polyweft/tuner.h"
#include "samples.h"

namespace polyweft {
namespace {

struct Described {
  const char* name;
  int64_t first, second;         ///< caches, bytes
  const char* level;             ///< whose features it has: 16 registers of 256 bits, 32 of 512
  std::set<std::string> sample;  ///< examples whose choices are looked at here; each is some machine's
};
const Described kMachines[] = {
    {"small16", 32 << 10, 512 << 10, "x86-64-v3", {"01_gemm", "10_cholesky", "13_unsharp"}},
    {"small32", 32 << 10, 512 << 10, "x86-64-v4", {"02_batched_gemm", "08_jacobi2d", "14_quantized_gemm"}},
    {"large16", 48 << 10, 2 << 20, "x86-64-v3", {"03_conv2d_bias_relu", "09_lstm", "15_harris"}},
    {"large32", 48 << 10, 2 << 20, "x86-64-v4", {"04_depthwise_pointwise", "07_attention", "19_elsewhere"}},
    {"tall16", 64 << 10, 1 << 20, "x86-64-v3", {"05_softmax", "11_floyd_warshall", "16_gpu_product", "17_gpu_rows"}},
    {"tall32", 64 << 10, 1 << 20, "x86-64-v4", {"06_layernorm", "12_smith_waterman", "18_unit_product"}},
};

Target target_of(const Described& described) {
  Target target = find_target(described.level).value();
  target.name = described.name;
  target.machine.set_caches({described.first, described.second, 16 << 20}, FigureOrigin::described);
  target.machine.set_cores(1, FigureOrigin::described);
  return target;
}

/// All of them, or the sample of this machine.
std::vector<Program> examples(const Described& described) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".weft" &&
        (test::takes_all_cases() || described.sample.count(entry.path().stem().string())))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Program> out;
  for (const auto& path : paths) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    auto parsed = parse_programs(text.str(), path);
    EXPECT_TRUE(parsed.ok()) << path;
    for (auto& program : parsed->programs) out.push_back(std::move(program));
  }
  return out;
}

bool has_register_blocks(const LoopNest& nest) {
  return std::any_of(nest.buffers.begin(), nest.buffers.end(), [](const Buffer& b) { return b.scope == Scope::reg; });
}

/// Bytes of each copy that is made inside a loop: of the whole operand where it is made outside.
void collect_packs(const LoopNest& nest, NodeId id, bool is_inside, std::vector<std::pair<std::string, int64_t>>& out) {
  const Node& node = nest.nodes[id];
  if (const auto* seq = std::get_if<Seq>(&node))
    for (const NodeId child : seq->children) collect_packs(nest, child, is_inside, out);
  if (const auto* loop = std::get_if<Loop>(&node)) collect_packs(nest, loop->body, true, out);
  if (const auto* alloc = std::get_if<Alloc>(&node)) {
    const Buffer& buffer = nest.buffers[alloc->buffer];
    if (is_inside && buffer.scope == Scope::heap)
      out.emplace_back(buffer.name, allocated_elements(buffer) * size_bytes(buffer.type));
    collect_packs(nest, alloc->body, is_inside, out);
  }
}

constexpr int kMostSpills = 4;

class OnMachine : public testing::TestWithParam<Described> {};

TEST_P(OnMachine, first_choices_fit_registers_and_caches) {
  const Target target = target_of(GetParam());
  Tuner tuner(target, {});
  const CompileService compiler(target);
  size_t with_blocks = 0;
  for (const Program& program : examples(GetParam())) {
    const auto text = tuner.show(program, {}, ShowStage::loops);
    ASSERT_TRUE(text.ok()) << program.name << ": " << text.error().message;
    const auto nest = parse_loop_nest(*text);
    ASSERT_TRUE(nest.ok()) << program.name;
    if (nest->auto_vectorized) continue;
    const auto kernel = compiler.for_runner(*nest, CompileService::Spills::allow);
    ASSERT_TRUE(kernel.ok()) << program.name << ": " << kernel.error().message;
    const bool has_blocks = has_register_blocks(*nest);
    with_blocks += has_blocks;
    EXPECT_TRUE(!has_blocks || kernel->spills <= kMostSpills) << program.name << " spills " << kernel->spills << "\n"
                                                              << tuner.show(program, {}, ShowStage::trace).value();
    std::vector<std::pair<std::string, int64_t>> packs;
    collect_packs(*nest, nest->root, false, packs);
    for (const auto& [name, bytes] : packs)
      EXPECT_LE(bytes, target.machine.cache_bytes(target.machine.caches() - 1) / 2) << program.name << ": " << name;
    EXPECT_TRUE(packs.empty() ||
                std::any_of(packs.begin(), packs.end(),
                            [&](const auto& pack) { return pack.second <= target.machine.cache_bytes(1); }))
        << program.name;
  }
  EXPECT_GE(with_blocks, test::takes_all_cases() ? 5u : 1u);
}

TEST(FirstChoices, of_each_example_are_looked_at_on_some_machine) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".weft") continue;
    ++files;
    EXPECT_EQ(std::count_if(std::begin(kMachines), std::end(kMachines),
                            [&](const Described& each) { return each.sample.count(entry.path().stem().string()) > 0; }),
              1)
        << entry.path();
  }
  EXPECT_GE(files, 19u);
}

INSTANTIATE_TEST_SUITE_P(FirstChoices, OnMachine, testing::ValuesIn(kMachines),
                         [](const auto& described) { return std::string(described.param.name); });

}  // namespace
}  // namespace polyweft
