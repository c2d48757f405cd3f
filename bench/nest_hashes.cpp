// A hash for the trace of each sketch of some programs and for each nest that instantiate makes of it, at sampled
// decisions, and the time of all: two builds whose lists are equal make the same nests, to the bit. Of an error its
// code and message.
//
//   bench_nest_hashes SAMPLES PROGRAM.weft.. > before; (the other build) > after; diff before after
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ir/nests/instruction.h"
#include "lang/parser.h"
#include "poly/band.h"
#include "poly/base_nest.h"
#include "polyweft/nest_template.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "support/hash.h"
#include "support/rng.h"
#include "tests/machines.h"

using namespace polyweft;

namespace {

constexpr NumericsClass kClass = NumericsClass::reassoc;

std::string contents(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Wide vectors and many registers, with every instruction that is known or none, or half of both; one thread or two.
std::vector<Machine> all_machines() {
  std::vector<Machine> out;
  for (const int cores : {1, 2}) out.push_back(test::machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, cores));
  for (const int cores : {1, 2}) out.push_back(test::machine_with(32, 16, {32 << 10, 512 << 10, 16 << 20}, cores));
  for (const int cores : {1, 2}) {
    out.push_back(test::machine_with(64, 32, {48 << 10, 64 << 10, 1 << 20}, cores));
    for (const ir::Instruction& each : ir::known_instructions()) out.back().units.instructions.push_back(each.name);
  }
  return out;
}

Result<std::vector<NestTemplate>> sketches_of(const Program& program, const Machine& machine) {
  if (!schedules::has_recurrence(program)) return schedules::sketch_templates(program, kClass, machine);
  schedules::Isl isl;
  isl.band_facts = [&program](const poly::BandQuestion& question) { return poly::band_facts(program, question); };
  isl.propose_bands = [&program] { return poly::propose_bands(program); };
  if (auto base = poly::base_nest(program, kClass))
    isl.recurrence_nest = std::make_shared<const LoopNest>(std::move(*base));
  return schedules::sketch_templates(program, kClass, machine, isl);
}

/// Mostly candidates, sometimes sizes that do not fit together.
std::vector<int64_t> sampled(const Trace& trace, Rng& rng) {
  std::vector<int64_t> out;
  for (const Decision& decision : trace.decisions) {
    const bool is_candidate = !decision.candidates.empty() && rng.below(4) > 0;
    out.push_back(is_candidate ? decision.candidates[rng.below(decision.candidates.size())]
                               : static_cast<int64_t>(1 + rng.below(260)));
  }
  return out;
}

std::string described(const Result<LoopNest>& nest) {
  if (nest) return hex(blake2b_128(print(*nest)));
  return nest.error().code + " " + nest.error().message;
}

/// Prints a line for each nest; seconds in instantiate.
double print_hashes(const std::string& name, const NestTemplate& t, int samples) {
  Rng rng(1);
  double seconds = 0;
  std::vector<int64_t> decisions = values_of(t.trace);
  std::printf("%s trace: %s\n", name.c_str(), hex(blake2b_128(t.trace.text())).c_str());
  const int last = decisions.empty() ? 0 : samples;
  for (int k = 0; k <= last; ++k) {
    const auto start = std::chrono::steady_clock::now();
    const auto nest = instantiate(t, decisions);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%s sample %d: %s\n", name.c_str(), k, described(nest).c_str());
    decisions = sampled(t.trace, rng);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_nest_hashes SAMPLES PROGRAM.weft..\n");
    return 2;
  }
  double seconds = 0, sketching = 0;
  for (int k = 2; k < argc; ++k) {
    auto file = lang::parse(contents(argv[k]), argv[k]);
    if (!file) continue;
    for (const Program& source : file->programs) {
      auto binding = make_binding(source, {});
      if (!binding) continue;
      const Program program = normalize(polyweft::bind(source, *binding));
      size_t variant = 0;
      for (const Machine& machine : all_machines()) {
        const auto start = std::chrono::steady_clock::now();
        const auto templates = sketches_of(program, machine);
        sketching += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const std::string name = program.name + " machine " + std::to_string(variant++);
        for (size_t s = 0; templates && s < templates->size(); ++s)
          seconds += print_hashes(name + " sketch " + std::to_string(s), (*templates)[s], std::atoi(argv[1]));
      }
    }
  }
  std::fprintf(stderr, "%.3f s in sketches, %.3f s in instantiate\n", sketching, seconds);
  return 0;
}
