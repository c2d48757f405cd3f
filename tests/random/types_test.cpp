// Random (program, trace) pairs in ten element types through machine code: register buffers, layouts, folds, masks,
// tails, unrolling, parallel loops, functions of several stages, on every level of x86-64 that this machine runs. The
// oracle is the plain interpreter of the same nest.
#include <cstdlib>

#include "schedules/random_pairs.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

uint64_t seeds_wanted() {
  const char* text = std::getenv("PW_RANDOM_NESTS");
  return text ? std::strtoull(text, nullptr, 10) : 200;
}

std::string with_replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The generator knows five types; the others take the place of one.
std::string with_other_type(const std::string& text, Rng& rng) {
  if (text.find("idx") != std::string::npos) return text;
  if (text.find("combine ") != std::string::npos) return text;  // its components keep their types
  const std::vector<std::string> all = {"f16", "bf16", "i8", "u8", "i64", "f16", "bf16", "", "", ""};
  const std::string& chosen = all[rng.below(all.size())];
  if (chosen.empty()) return text;
  std::string out = text;
  for (const char* known : {"f32", "f64", "i32", "i16"})
    out = with_replaced(out, std::string(": ") + known, ": " + chosen);
  return out;
}

struct TypedPair {
  std::string text;
  NumericsClass cls;
  Trace trace;
};

Result<LoopNest> nest_of_pair(const TypedPair& pair) {
  const Program program = test::normalized_program(pair.text);
  auto scheduled = schedules::replay(program, pair.cls, pair.trace);
  if (!scheduled) return scheduled.error();
  return instantiate(*scheduled, values_of(pair.trace));
}

std::string verdict_of(const TypedPair& pair, const Target& target, uint64_t seed) {
  auto nest = nest_of_pair(pair);
  return nest ? compiled_difference(*nest, target, seed) : "";
}

/// Drops steps one by one while the two still differ.
TypedPair shrunk_pair(TypedPair pair, const Target& target, uint64_t seed) {
  for (size_t k = 0; k < pair.trace.steps.size();) {
    TypedPair fewer = pair;
    fewer.trace.steps.erase(fewer.trace.steps.begin() + static_cast<std::ptrdiff_t>(k));
    if (verdict_of(fewer, target, seed).empty())
      ++k;
    else
      pair = fewer, k = 0;
  }
  return pair;
}

TypedPair random_typed_pair(uint64_t seed) {
  Rng rng(seed);
  TypedPair pair;
  pair.text = with_other_type(test::random_program(rng), rng);
  const NumericsClass classes[] = {NumericsClass::reassoc, NumericsClass::contract, NumericsClass::strict};
  pair.cls = classes[rng.below(3)];
  pair.trace = test::random_trace(rng, test::normalized_program(pair.text), pair.cls);
  return pair;
}

TEST(RandomTypes, machine_code_of_pairs_gives_the_bits_of_the_interpreter) {
  const std::vector<Target> targets = runnable_targets();
  uint64_t compared = 0;
  for (uint64_t seed = 1; seed <= seeds_wanted(); ++seed) {
    const Target& target = targets[seed % targets.size()];
    const TypedPair pair = random_typed_pair(seed);
    if (!nest_of_pair(pair)) continue;
    ++compared;
    if (verdict_of(pair, target, seed).empty()) continue;
    const TypedPair least = shrunk_pair(pair, target, seed);
    FAIL() << "seed " << seed << " class " << name_of(least.cls) << "\n"
           << least.text << least.trace.text() << print(*nest_of_pair(least)) << verdict_of(least, target, seed);
  }
  EXPECT_GT(compared * 2, seeds_wanted()) << "too many pairs give no nest";
}

}  // namespace
}  // namespace polyweft::targets_test
