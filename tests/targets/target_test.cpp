// Targets: names, descriptions in TOML, what is refused.
#include "polyweft/target.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/cpu_features.h"
#include "targets/cpu/this_machine.h"
#include "targets/registry.h"

namespace polyweft {
namespace {

std::string lines_of(const std::vector<NamedFigure>& all) {
  std::ostringstream out;
  for (const NamedFigure& figure : all)
    out << figure.key << " = " << figure.value << " " << figure.unit << " " << name_of(figure.origin) << "\n";
  return out.str();
}

class Description : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("polyweft-target-" + std::to_string(getpid()) + ".toml");
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Result<Target> read(const std::string& text) {
    std::ofstream(path_) << text;
    return find_target(path_);
  }
  std::filesystem::path path_;
};

TEST_F(Description, every_one_of_the_folder_is_read) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PW_SOURCE_DIR "/targets/descriptions")) {
    auto target = find_target(entry.path());
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_GE(target->machine.units.vector_bits, 128);
    ++found;
  }
  EXPECT_GE(found, 2);
}

TEST_F(Description, what_describe_prints_is_read_back) {
  for (const auto& name : target_names()) {
    const auto target = find_target(name);
    ASSERT_TRUE(target.ok());
    auto again = read(describe(*target));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(fingerprint(*again), fingerprint(*target));
    EXPECT_EQ(lines_of(figures(again->machine)), lines_of(figures(target->machine)));
    EXPECT_EQ(again->is_host, target->is_host);
  }
}

TEST(ThisMachine, caches_are_read_from_a_folder_of_linux) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("polyweft-caches-" + std::to_string(getpid()));
  const auto write = [&](const std::string& index, const std::string& level, const std::string& type,
                         const std::string& size) {
    std::filesystem::create_directories(folder / index);
    std::ofstream(folder / index / "level") << level << "\n";
    std::ofstream(folder / index / "type") << type << "\n";
    std::ofstream(folder / index / "size") << size << "\n";
  };
  write("index0", "1", "Instruction", "64K");
  write("index1", "1", "Data", "48K");
  write("index2", "2", "Unified", "2M");
  write("index3", "3", "Unified", "many");
  const auto bytes = [&](int level) { return targets::described_cache_bytes(folder.string(), level); };
  EXPECT_EQ(bytes(1), 48 << 10);
  EXPECT_EQ(bytes(2), 2 << 20);
  EXPECT_EQ(bytes(3), 0);
  EXPECT_EQ(bytes(4), 0);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(bytes(1), 0);
  const auto caches = targets::caches_of_this_machine();
  ASSERT_EQ(caches.size(), 3u);
  for (int64_t size : caches) EXPECT_GE(size, 1024);
  Machine machine;
  targets::describe_caches(machine);
  for (size_t cache = 0; cache < machine.caches(); ++cache) {
    const MemoryLevel& level = machine.memories[cache];
    EXPECT_EQ(level.bytes.value, caches[cache]);
    if (level.ways.origin != FigureOrigin::described) continue;
    const int64_t bytes_of_a_way = level.bytes.value / level.ways.value;
    EXPECT_EQ(bytes_of_a_way * level.ways.value, level.bytes.value);
    EXPECT_GE(bytes_of_a_way, level.line_bytes.value);
  }
}

TEST(Hosts, targets_of_other_architectures_run_here_by_devices_and_programs_alone) {
  for (const std::string& name : target_names()) {
    const auto target = find_target(name);
    if (target->architecture == native_architecture()) continue;
    EXPECT_EQ(target->is_host, targets::backend_of(target->architecture)->runs_here(*target).ok()) << name;
    if (target->architecture == "aarch64" || target->architecture == "riscv64") EXPECT_FALSE(target->is_host) << name;
  }
  for (const targets::Backend* backend : targets::backends())
    if (backend->architecture() != native_architecture()) EXPECT_FALSE(backend->host()) << backend->architecture();
}

TEST_F(Description, says_where_each_figure_is_from) {
  auto target = read(
      "architecture = \"x86-64\"\nfeatures = []\ncache_bytes = [32768, 524288, 8388608]\nclock_ghz = 3.5\ntlb_pages = "
      "[64, 2048]\n"
      "probed = [\"clock_ghz\", \"cache_bytes[2]\"]\nassumed = [\"tlb_pages\"]\n");
  ASSERT_TRUE(target.ok()) << target.error().message;
  const Machine& machine = target->machine;
  EXPECT_EQ(machine.clock_ghz, (Figure<double>{3.5, FigureOrigin::probed}));
  EXPECT_EQ(machine.memories[1].bytes, (Figure<int64_t>{524288, FigureOrigin::described}));
  EXPECT_EQ(machine.memories[2].bytes, (Figure<int64_t>{8388608, FigureOrigin::probed}));
  EXPECT_EQ(machine.tlbs[1].pages, (Figure<int64_t>{2048, FigureOrigin::assumed}));
  EXPECT_EQ(machine.fork_join_ns, Machine().fork_join_ns);
  const auto again = read(describe(*target));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(lines_of(figures(again->machine)), lines_of(figures(machine)));
}

TEST_F(Description, of_earlier_versions_is_read) {
  auto target = read(
      "architecture = \"x86-64\"\nfeatures = []\ncache_bytes = [32768, 524288, 268435456]\nbytes_per_cycle = [30, 24, "
      "10]\nscattered_line_cycles = []\n"
      "tlb_pages = [64, 3072]\ntlb_miss_cycles = [0.5, 8]\npage_start_cycles = 0\ngather_lane_cycles = "
      "1.6\nscatter_lane_cycles = 1.1\ncores = 2\n");
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target->machine.cache_bytes(2), 16 << 20) << "what a thread counts on of a cache that all cores share";
  EXPECT_EQ(target->machine.memories[3].bytes_per_cycle.value, 10);
  EXPECT_EQ(target->machine.memories[3].scattered_line_cycles.value, 0);
  EXPECT_EQ(target->machine.tlbs[1].miss_cycles.value, 8);
  EXPECT_EQ(target->machine.cores(), 2);
}

TEST_F(Description, of_a_machine_with_blocks_has_their_limits) {
  auto target = read(
      "architecture = \"spirv64\"\nfeatures = []\nlockstep_threads = 32\nblock_threads = 1024\nblock_shared_bytes = "
      "49152\nshared_banks = 32\nlaunch_ns = 4000\nblock_units = 132\n");
  ASSERT_TRUE(target.ok()) << target.error().message;
  const Machine& machine = target->machine;
  EXPECT_EQ(machine.grid.lockstep_threads, (Figure<int64_t>{32, FigureOrigin::described}));
  EXPECT_EQ(machine.grid.block_threads.value, 1024);
  EXPECT_EQ(machine.grid.block_shared_bytes.value, 49152);
  EXPECT_EQ(machine.grid.shared_banks.value, 32);
  EXPECT_EQ(machine.grid.launch_ns.value, 4000);
  EXPECT_EQ(machine.block_units(), 132);
  EXPECT_EQ(machine.grid.unit_registers, GridFigures().unit_registers);
  EXPECT_NE(fingerprint(*target).find("/1024x48K"), std::string::npos) << fingerprint(*target);
  const auto again = read(describe(*target));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(lines_of(figures(again->machine)), lines_of(figures(machine)));
  EXPECT_EQ(describe(find_target("host").value()).find("lockstep"), std::string::npos);
}

TEST_F(Description, refusals) {
  const std::string path = path_.string();
  auto refused = [&](const std::string& body, const std::string& message) {
    const std::string text =
        (body.find("architecture") == std::string::npos ? "architecture = \"x86-64\"\n" : "") + body;
    auto target = read(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.error().code, "PW0511");
    EXPECT_EQ(target.error().message, path + ": " + message);
  };
  refused("architecture = \"vax\"\nfeatures = []",
          "architecture 'vax' is not one this version builds for; it builds for aarch64, amdgcn, emulated-amdgcn, "
          "emulated-nvptx64, hexagon, nvptx64, riscv64, riscv64-unit, spirv64, wasm32, x86-64");
  refused("architecture = \"aarch64\"\nfeatures = [\"avx\"]", "'avx' is not a feature this version knows");
  refused("architecture = \"aarch64\"\nfeatures = []", "code for this architecture needs 'neon'");
  const char* length = "code for scalable vectors needs 'sve' and their length: one of vl128, vl256, vl512";
  refused("architecture = \"aarch64\"\nfeatures = [\"neon\", \"sve\"]", length);
  refused("architecture = \"aarch64\"\nfeatures = [\"neon\", \"sve\", \"vl128\", \"vl256\"]", length);
  refused("architecture = \"aarch64\"\nfeatures = [\"neon\", \"vl256\"]", length);
  refused("architecture = \"riscv64\"\nfeatures = [\"a\", \"c\", \"d\", \"f\", \"m\", \"unaligned-scalar-mem\"]",
          "code for this architecture needs 'v'");
  refused("architecture = \"\"",
          "it has no 'architecture': aarch64, amdgcn, emulated-amdgcn, emulated-nvptx64, hexagon, nvptx64, riscv64, "
          "riscv64-unit, spirv64, wasm32, x86-64");
  refused("cores = 2", "it has no list 'features'");
  refused("features = []\nblock_threads = 64", "block_threads is no figure of such a machine");
  refused("features = [\"avx3\"]", "'avx3' is not a feature this version knows");
  refused("features = [1]", "'?' is not a feature this version knows");
  refused("features = []\ncache_bytes = [3]", "cache_bytes must lie between 1024 and 1099511627776");
  refused("features = []\ncache_bytes = []", "cache_bytes must have 1 to 4 levels");
  refused("features = []\ncache_bytes = [32768, 524288]\nbytes_per_cycle = [3]",
          "bytes_per_cycle must have 2 figures: as many as cache_bytes, from the second cache on, then memory");
  refused("features = []\nbytes_per_cycle = [50, 0, 5]", "bytes_per_cycle must lie between 0.01 and 10000");
  refused("features = []\ntlb_pages = [64]", "tlb_pages and tlb_miss_cycles must have as many figures each, at most 4");
  refused("features = []\ntlb_miss_cycles = [7]", "tlb_miss_cycles must have 2 figures: as many as tlb_pages");
  refused("features = []\ntlb_miss_cycles = 7", "tlb_miss_cycles must be a list of numbers");
  refused("features = []\nclock_ghz = [3]", "clock_ghz must be one number");
  refused("features = []\ncache_ways = [8]", "cache_ways must have 3 figures: as many as cache_bytes");
  refused("features = []\npage_start_cycles = -1.0", "page_start_cycles must lie between 0 and 1000000");
  refused("features = []\ngather_lane_cycles = -1.0", "gather_lane_cycles must lie between 0 and 1000");
  refused("features = []\ncores = 0", "cores must lie between 1 and 1024");
  refused(std::string(70'000, '#'), "has 70024 bytes, the limit is 65536");
  EXPECT_EQ(read("features = [").error().code, "PW0511");
  const auto unknown = find_target("no-such-target");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "PW0510");
  EXPECT_EQ(unknown.error().message, "target 'no-such-target' is unknown and no such file can be read");
}

}  // namespace
}  // namespace polyweft
