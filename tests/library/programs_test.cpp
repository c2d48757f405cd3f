// Traces of schedules/library for which no other test has an oracle: neither products of f32 nor convolutions. Each
// replays, is proven, and its kernel, at smaller sizes where these are parameters, agrees with the compiled base
// nest within the running error bound.
#include <gtest/gtest.h>

#include "library/cases.h"
#include "library/covering_sample.h"
#include "polyweft/tuner.h"

namespace polyweft {
namespace {

constexpr int64_t kMostRows =
    150;  ///< base nests of thousands of keys take seconds; the same trace on fewer runs the same blocks and tails

std::vector<std::filesystem::path> other_files() {
  std::vector<std::filesystem::path> out;
  for (const auto& file : library_test::library_files())
    if (!library_test::product_named(file.stem()) && !library_test::is_convolution(library_test::contents(file)))
      out.push_back(file);
  return out;
}

std::set<std::string> steps_of_file(const std::filesystem::path& file) {
  return library_test::features_of(library_test::contents(file));
}

// A sample that covers steps; all of them in the soak.
TEST(Library, other_traces_are_proven_and_right) {
  Tuner tuner(*find_target("host"), {});
  const auto all = other_files();
  EXPECT_GE(all.size(), 50u);
  for (const auto& file : library_test::covering_sample<std::filesystem::path>(all, steps_of_file)) {
    const std::string trace = library_test::contents(file), text = library_test::program_in(trace);
    SCOPED_TRACE(file.filename().string());
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << text;
    TaskOptions options;
    options.trace = trace;
    const auto kernel = tuner.compile(*program, options);      // proves the trace first
    if (!kernel && kernel.error().code == "PW0518") continue;  // an instruction that this CPU has not
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ(kernel->origin(), "trace");
    for (const auto& parameter : program->parameters)
      if (parameter.value > kMostRows) options.parameters[parameter.name] = kMostRows;
    const auto inputs = tuner.make_inputs(*program, options, InputSet::random, 3);
    ASSERT_TRUE(inputs) << inputs.error().message;
    const auto compared = tuner.verify(*program, options, *inputs);
    ASSERT_TRUE(compared) << compared.error().message;
    EXPECT_TRUE(compared->equal) << compared->detail;
    if (trace.find("\nwavefront ") == std::string::npos && trace.find("\noverlap ") == std::string::npos) continue;
    options.threads = 2;  // diamonds start everywhere at once, tiles that overlap wait for nobody
    const auto at_once = tuner.verify(*program, options, *inputs);
    ASSERT_TRUE(at_once) << at_once.error().message;
    EXPECT_TRUE(at_once->equal) << at_once->detail;
  }
}

}  // namespace
}  // namespace polyweft
