// The independent checker on the sketches of the examples: every nest that a tune may end with must be decided.
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "harness.h"
#include "machines.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "samples.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::test {
namespace {

std::string example_text(const std::string& name) {
  std::ifstream in(std::string(PW_SOURCE_DIR) + "/examples/" + name + ".weft");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The decisions of the trace with values drawn from their candidates; its own values where they break a constraint.
std::vector<int64_t> drawn(const Trace& trace, std::mt19937_64& random) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::vector<int64_t> out;
    for (const Decision& d : trace.decisions)
      out.push_back(d.candidates.empty() ? d.value : d.candidates[random() % d.candidates.size()]);
    if (!violated(trace, out)) return out;
  }
  return values_of(trace);
}

struct Subject {
  const char* name;
  std::map<std::string, int64_t> sizes;
  bool is_long = false;  ///< class strict in the soak alone
};

std::string judge_sketches(const Subject& subject, NumericsClass cls, int draws) {
  bool in_full = std::getenv("PW_FULL_SIZES") != nullptr;
  Program program =
      normalized_program(example_text(subject.name), in_full ? std::map<std::string, int64_t>() : subject.sizes);
  std::shared_ptr<const LoopNest> recurrence;
  if (schedules::has_recurrence(program)) {
    auto base = poly::base_nest(program, cls);
    if (!base) return described(base.error());
    recurrence = std::make_shared<LoopNest>(*std::move(base));
  }
  std::mt19937_64 random(7);
  std::string failures;
  int count = 0;
  for (const Trace& trace : schedules::sketches(program, cls, machine_with(64, 32, {48 << 10, 2 << 20, 16 << 20}, 2))) {
    auto t = schedules::replay(program, cls, trace, recurrence);
    if (!t) return described(t.error());
    for (int k = 0; k <= draws; ++k) {
      std::vector<int64_t> values = k == 0 ? values_of(trace) : drawn(trace, random);
      auto nest = instantiate(*t, values);
      if (!nest) continue;
      poly::NestCheck check = poly::check_nest(program, *nest);
      ++count;
      std::printf("%-24s %-8s sketch %d: %s %s %s %.0f ms\n", subject.name, name_of(cls), count, name_of(check.verdict),
                  check.code.c_str(), check.message.c_str(), check.ms);
      std::fflush(stdout);
      if (const char* folder = std::getenv("PW_KEEP_NESTS"))
        std::ofstream(std::string(folder) + "/" + subject.name + "_" + name_of(cls) + "_" + std::to_string(count))
            << with_values(trace, values).text() << "\n"
            << print(*nest);
      if (check.verdict != Verdict::proven)
        failures += check.code + " " + check.message + "\n" + with_values(trace, values).text() + "\n";
    }
  }
  return failures;
}

const Subject kSubjects[] = {
    {"01_gemm", {{"M", 19}, {"N", 37}, {"K", 23}}},
    {"02_batched_gemm", {{"B", 2}, {"M", 9}, {"N", 21}, {"K", 7}}},
    {"03_conv2d_bias_relu", {{"H", 5}, {"W", 7}, {"C", 3}, {"F", 18}}, true},
    {"04_depthwise_pointwise", {{"H", 5}, {"W", 6}, {"C", 9}, {"F", 17}}, true},
    {"05_softmax", {{"M", 5}, {"N", 137}}},
    {"06_layernorm", {{"M", 5}, {"N", 137}}},
    {"07_attention", {{"H", 2}, {"G", 1}, {"S", 23}, {"D", 19}}, true},
    {"08_jacobi2d", {}},
    {"09_lstm", {}},
    {"10_cholesky", {}},
    {"11_floyd_warshall", {}},
    {"12_smith_waterman", {}},
    {"13_unsharp", {{"H", 9}, {"W", 21}}},
    {"14_quantized_gemm", {{"M", 7}, {"N", 21}, {"K", 10}}},
    {"15_harris", {{"H", 9}, {"W", 37}}, true},
};

class Examples : public testing::TestWithParam<Subject> {};

TEST_P(Examples, have_every_sketch_proven) {
  int draws = std::getenv("PW_DRAWS") ? std::atoi(std::getenv("PW_DRAWS")) : 0;
  std::vector<NumericsClass> classes = {NumericsClass::reassoc};
  if (takes_all_cases() || !GetParam().is_long) classes.push_back(NumericsClass::strict);
  for (auto cls : classes) EXPECT_EQ(judge_sketches(GetParam(), cls, draws), "");
}

INSTANTIATE_TEST_SUITE_P(CheckerOfSchedules, Examples, testing::ValuesIn(kSubjects),
                         [](const auto& info) { return std::string(info.param.name).substr(3); });

}  // namespace
}  // namespace polyweft::test
