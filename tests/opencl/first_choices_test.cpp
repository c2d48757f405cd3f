// First choices for a device with blocks of threads: kernels with many points are launched over many threads.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "ir/nests/frequencies.h"
#include "ir/nests/walk_nest.h"
#include "polyweft/program.h"
#include "polyweft/tuner.h"
#include "targets/gpu/launches.h"

namespace polyweft::opencl_test {
namespace {

constexpr double kManyPoints = 1e5;
constexpr int64_t kManyThreads = 1024;

/// What keeps these from it.
const std::set<std::string> kFewThreads = {
    "09_lstm",            // steps in time that are shorter than their launches
    "10_cholesky",        // the same
    "12_smith_waterman",  // diagonals of 1000 cells, and one maximum over all
};

std::vector<std::filesystem::path> examples() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".weft") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// Statements that run in a launch.
double points_of(const LoopNest& nest, NodeId id, const ir::Frequencies& known, double times, bool inside) {
  if (id == kNoNode) return 0;
  const Node& node = nest.nodes[id];
  double out = 0;
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) out += points_of(nest, child, known, times, inside);
  if (const auto* choice = std::get_if<If>(&node)) {
    const auto holds = known.holds.find(&node);
    const double share = holds == known.holds.end() ? 1 : holds->second;
    out += points_of(nest, choice->then, known, times * share, inside);
    out += points_of(nest, choice->otherwise, known, times * (1 - share), inside);
  }
  if (const auto* alloc = std::get_if<Alloc>(&node)) out += points_of(nest, alloc->body, known, times, inside);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    const auto found = known.loops.find(loop->var);
    const double trips = found == known.loops.end() ? 1 : found->second.entered * found->second.trips;
    out += points_of(nest, loop->body, known, times * trips, true);
  }
  return out + (std::holds_alternative<Compute>(node) ? times : 0);
}

TEST(FirstChoices, many_points_are_for_many_threads) {
  auto target = find_target("opencl");
  ASSERT_TRUE(target);
  Tuner tuner(*target, TunerOptions{});
  for (const auto& path : examples()) {
    SCOPED_TRACE(path.filename().string());
    std::ifstream in(path);
    const auto program = parse_program(std::string(std::istreambuf_iterator<char>(in), {}));
    ASSERT_TRUE(program);
    const auto text = tuner.show(*program, TaskOptions{}, ShowStage::loops);
    ASSERT_TRUE(text) << text.error().message;
    auto nest = parse_loop_nest(*text);
    ASSERT_TRUE(nest) << nest.error().message;
    const auto device = targets::device_nest(*nest);
    ASSERT_TRUE(device) << device.error().message;
    const ir::Frequencies known = ir::frequencies_of(device->nest);
    int64_t most = 0;
    bool is_large = false;
    for (const targets::DeviceKernel& kernel : device->kernels) {
      const double points = points_of(device->nest, kernel.root, known, 1, false);
      const int64_t threads = kernel.block_count() * kernel.thread_count();
      if (points < kManyPoints) continue;
      is_large = true;
      most = std::max(most, threads);
      if (!kFewThreads.contains(path.stem().string()))
        EXPECT_GE(threads, kManyThreads) << points << " points\n" << print(device->nest);
    }
    if (kFewThreads.contains(path.stem().string()) && is_large)
      EXPECT_LT(most, kManyThreads) << "no exception any more: take it off the list";
  }
}

}  // namespace
}  // namespace polyweft::opencl_test
