// Traces of schedules/library with vectors of NEON: each is proven at sizes that the interpreter gets through, and
// gives its bits in the emulator. The traces are for 512 bits; a quarter of the lanes is a register here.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "cpu.h"
#include "driver/flops.h"
#include "emulated/emulated.h"
#include "ir/normalize/normalize.h"
#include "library/cases.h"
#include "polyweft/tuner.h"

namespace polyweft::aarch64_test {
namespace {

using emulated_test::emulated_difference;

constexpr int kShare = 512 / 128;
constexpr double kMostFlops = 6e5;  // of the interpreter

/// vectorize C j 16 -> vectorize C j 4; what has fewer than eight lanes keeps two.
std::string for_short_vectors(const std::string& trace) {
  static const std::regex lanes("(^|\n)( *vectorize [^\n]* )([0-9]+)");
  std::string out, rest = trace;
  for (std::smatch found; std::regex_search(rest, found, lanes); rest = found.suffix())
    out += found.prefix().str() + found[1].str() + found[2].str() +
           std::to_string(std::max(2, std::stoi(found[3].str()) / kShare));
  return out + rest;
}

/// Sizes at which the interpreter ends soon: the largest of some caps that the program's assumptions allow.
std::optional<std::map<std::string, int64_t>> interpretable_sizes(const Program& program) {
  for (const int64_t cap : {70, 40, 24, 12}) {
    std::map<std::string, int64_t> sizes;
    for (const Parameter& p : program.parameters) sizes[p.name] = std::min(p.value, cap);
    const auto binding = make_binding(program, sizes);
    if (binding && count_flops(normalize(polyweft::bind(program, *binding))) <= kMostFlops) return sizes;
  }
  return std::nullopt;
}

TEST(Emulated, library_traces_give_the_bits_of_the_interpreter) {
  constexpr int kWanted = 20;
  constexpr size_t kStride = 37;  // a prime: all files in the end, families mixed
  Tuner tuner(find_target("aarch64").value(), TunerOptions{});
  int agreed = 0;
  const auto files = library_test::library_files();
  for (size_t k = 0; k < files.size() && agreed < kWanted; ++k) {
    const auto& file = files[k * kStride % files.size()];
    const std::string name = file.stem(), trace = library_test::contents(file), text = library_test::program_in(trace);
    SCOPED_TRACE(name);
    if (trace.find("tensorize ") != std::string::npos) {
      test::leave_out(name + ": its instruction is another architecture's");
      continue;
    }
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << text;
    TaskOptions options;
    const auto sizes = interpretable_sizes(*program);
    if (!sizes) continue;  // its sizes are constants of the program
    options.parameters = *sizes;
    options.trace = for_short_vectors(trace);
    const auto shown = tuner.show(*program, options, ShowStage::loops);
    if (!shown) {
      EXPECT_EQ(shown.error().code.substr(0, 4), "PW03")
          << shown.error().message;  // a step that these sizes or lanes refuse
      test::leave_out(name + ": " + shown.error().code + " " + shown.error().message);
      continue;
    }
    auto nest = parse_loop_nest(*shown);
    ASSERT_TRUE(nest) << nest.error().message;
    if (nest->auto_vectorized)
      nest->cls = NumericsClass::strict;  // else LLVM sums in another order than the interpreter
    const std::string what = emulated_difference(*nest, tuner.target(), 5);
    EXPECT_EQ(what, "");
    agreed += what.empty();
  }
  EXPECT_GE(agreed, kWanted);
  std::printf("aarch64: %d traces of the library agreed\n", agreed);
}

TEST(Emulated, short_vectors_are_a_quarter_of_the_lanes) {
  EXPECT_EQ(for_short_vectors(
                "trace 1\n  tile C [j: 16]\n  vectorize C j 16\nvectorize x1 i 8\n  vectorize y k 4\ndecide nr = 16\n"),
            "trace 1\n  tile C [j: 16]\n  vectorize C j 4\nvectorize x1 i 2\n  vectorize y k 2\ndecide nr = 16\n");
}

}  // namespace
}  // namespace polyweft::aarch64_test
