// Random systems large enough to be timed, as .weft files: bench_random_systems FOLDER SEED COUNT. bench/floor.py runs
// them (--suite random).
//
// Turns: programs of src/ir/random_program, systems of recurrences of tests/random. All sizes of a program grow
// together until it takes 10^6 operations; one whose work does not depend on its sizes, or needs more than 10^8 or 256
// MB by then, is passed over. Each file says its seed. SEED: a number, or the hash of a commit.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "driver/task.h"
#include "lang/parser.h"
#include "poly/base_nest.h"
#include "random/recurrences.h"
#include "support/rng.h"
#include "tests/generators/random_program.h"

namespace {

using namespace polyweft;

constexpr rlim_t kMostSeconds = 20;
constexpr double kLeast = 1e6, kMost = 1e8;
constexpr int64_t kMostBytes = int64_t{256} << 20, kLargest = 1 << 21;

std::optional<Program> drawn(uint64_t seed) {
  if (seed % 2 == 0) return ir::random_program(seed);
  Rng rng(seed);
  auto parsed = lang::parse(random_test::random_recurrence(rng), "");
  return parsed ? std::optional(parsed->programs.front()) : std::nullopt;
}

Program with_sizes(Program program, int64_t size) {
  for (Parameter& p : program.parameters) p.value = size;
  return program;
}

/// Operations of a call of the base nest; nothing where there is none within the limits.
std::optional<double> work_of(const Program& program) {
  auto binding = make_binding(program, {});
  if (!binding) return std::nullopt;
  poly::BaseOptions options;
  options.workspace_limit_bytes = kMostBytes;
  auto nest = poly::base_nest(polyweft::normalize(polyweft::bind(program, *binding)), NumericsClass::reassoc, options);
  if (!nest) return std::nullopt;
  for (const BufferId id : nest->arguments)
    if (allocated_elements(nest->buffers[id]) > kMostBytes / 8) return std::nullopt;
  return count_flops(*nest);
}

std::optional<Program> large_enough(const Program& program) {
  for (int64_t size = 8; size <= kLargest && !program.parameters.empty(); size += std::max<int64_t>(1, size / 3)) {
    const Program larger = with_sizes(program, size);
    const auto work = work_of(larger);
    if (!work || *work > kMost) return std::nullopt;
    if (*work >= kLeast) return larger;
  }
  return std::nullopt;
}

/// Writes the program of the seed where there is one; in a process of its own, since no limit of isl bounds its time.
bool write_in_child(uint64_t seed, const std::filesystem::path& file) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{kMostSeconds, kMostSeconds};
    setrlimit(RLIMIT_CPU, &limit);
    auto program = drawn(seed);
    auto large = program ? large_enough(*program) : std::nullopt;
    if (!large) _exit(1);
    large->name = "random_" + std::to_string(seed);
    std::ofstream(file) << "# seed " << seed << "\n" << print(*large);
    _exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A number, or a commit's hash: its first eight digits.
uint64_t first_seed(const std::string& text) {
  const bool is_hash = text.size() >= 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return std::strtoull(text.substr(0, is_hash ? 8 : text.size()).c_str(), nullptr, is_hash ? 16 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_random_systems FOLDER SEED COUNT\n");
    return 1;
  }
  uint64_t seed = first_seed(argv[2]);
  std::filesystem::create_directories(argv[1]);
  for (int made = 0; made < std::atoi(argv[3]); ++seed) {
    char name[32];
    std::snprintf(name, sizeof name, "%03d.weft", made);
    if (write_in_child(seed, std::filesystem::path(argv[1]) / name)) ++made;
  }
  return 0;
}
