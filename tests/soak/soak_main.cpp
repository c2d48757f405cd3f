// The long tests, part by part in slices: soak [--minutes M] [--seconds S] [--only PART,PART] [--seed N] [--units N]
// [--vectors N] [--compiled N]
// [--state FILE] [--share K/N] [--rerun PART UNIT]. Exit 1 when something failed. See scripts/soak.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "cpu.h"
#include "soak/part.h"

namespace polyweft::soak {

void Part::failed(const std::string& what, const std::string& rerun_argument) {
  ++failures_;
  std::printf("FAILED %s\nrerun: soak --rerun %s '%s'\n", what.c_str(), name().c_str(), rerun_argument.c_str());
  std::fflush(stdout);
}

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double seconds = 600;
  uint64_t seed = 0;
  int64_t units = INT64_MAX;  ///< of each part, in this run
  int vectors = 50, compiled = 3;
  int64_t share = 0, shares = 1;  ///< this process takes units share, share + shares, ..: processes beside each other,
                                  ///< each with a state of its own
  std::string only, state, rerun_part, rerun_unit;
};

bool read(int argc, char** argv, Options& o) {
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    auto value = [&] { return k + 1 < argc ? argv[++k] : ""; };
    if (name == "--minutes")
      o.seconds = 60 * std::atof(value());
    else if (name == "--seconds")
      o.seconds = std::atof(value());
    else if (name == "--seed")
      o.seed = std::strtoull(value(), nullptr, 10);
    else if (name == "--units")
      o.units = std::atoll(value());
    else if (name == "--vectors")
      o.vectors = std::atoi(value());
    else if (name == "--compiled")
      o.compiled = std::atoi(value());
    else if (name == "--only")
      o.only = std::string(",") + value() + ",";
    else if (name == "--state")
      o.state = value();
    else if (name == "--share") {
      if (std::sscanf(value(), "%ld/%ld", &o.share, &o.shares) != 2 || o.share < 0 || o.share >= o.shares)
        return std::fprintf(stderr, "soak: --share takes K/N with 0 <= K < N\n"), false;
    } else if (name == "--rerun")
      o.rerun_part = value(), o.rerun_unit = value();
    else
      return std::fprintf(stderr, "soak: unknown option %s\n", name.c_str()), false;
  }
  return true;
}

struct Progress {
  std::unique_ptr<Part> part;
  int64_t next = 0, done_here = 0, failures_before = 0;
  bool is_over(const Options& o) const { return next >= part->units() || done_here >= o.units; }
};

/// Lines "PART SEED NEXT FAILURES REST".
void restore(const Options& o, uint64_t seed, std::vector<Progress>& all) {
  std::ifstream in(o.state);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, rest;
    uint64_t of_seed = 0;
    int64_t next = 0, failures = 0;
    words >> name >> of_seed >> next >> failures;
    std::getline(words, rest);
    for (Progress& progress : all) {
      if (progress.part->name() != name || of_seed != seed) continue;
      progress.next = next;
      progress.failures_before = failures;
      progress.part->restore(rest);
    }
  }
}

void save(const Options& o, uint64_t seed, const std::vector<Progress>& all) {
  if (o.state.empty()) return;
  std::ofstream out(o.state + ".new");
  for (const Progress& p : all)
    out << p.part->name() << " " << seed << " " << p.next << " " << p.failures_before + p.part->failures() << " "
        << p.part->saved() << "\n";
  out.close();
  std::rename((o.state + ".new").c_str(), o.state.c_str());
}

/// The seed of an unfinished run, so that starting again goes on.
uint64_t seed_of(const Options& o) {
  if (o.seed) return o.seed;
  std::ifstream in(o.state);
  std::string name;
  uint64_t seed = 0;
  if (in >> name >> seed) return seed;
  return std::random_device()() % 100'000 + 1;
}

int soak(const Options& o) {
  const uint64_t seed = seed_of(o);
  std::vector<Progress> all;
  auto add = [&](std::unique_ptr<Part> part) {
    const bool wanted = o.rerun_part.empty()
                            ? o.only.empty() || o.only.find("," + part->name() + ",") != std::string::npos
                            : part->name() == o.rerun_part;
    if (wanted) all.push_back({std::move(part)});
  };
  add(shapes_part(seed, o.vectors, o.compiled));
  add(mutants_part(seed));
  add(pairs_part(seed));
  add(math_part(seed));
  add(rows_part(seed));
  if (all.empty()) return std::fprintf(stderr, "soak: no such part\n"), 2;
  if (!o.rerun_part.empty()) {
    if (!all[0].part->rerun(o.rerun_unit)) return std::fprintf(stderr, "soak: no such unit\n"), 2;
    return all[0].part->failures() ? 1 : 0;
  }
  std::printf("soak: seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (Progress& progress : all) progress.next = o.share;
  restore(o, seed, all);
  const auto end = Clock::now() + std::chrono::duration<double>(o.seconds);
  for (bool more = true; more && Clock::now() < end;) {
    more = false;
    for (Progress& progress : all) {
      const auto slice = Clock::now() + std::chrono::duration<double>(std::min(60.0, o.seconds / 4));
      while (!progress.is_over(o) && Clock::now() < std::min(slice, end)) {
        progress.part->run(progress.next);
        progress.next += o.shares;
        ++progress.done_here;
      }
      more |= !progress.is_over(o);
      save(o, seed, all);
    }
  }
  int64_t failures = 0;
  for (const Progress& progress : all) {
    failures += progress.failures_before + progress.part->failures();
    std::printf("%s: %s\n", progress.part->name().c_str(), progress.part->figures().c_str());
  }
  return failures ? 1 : 0;
}

}  // namespace
}  // namespace polyweft::soak

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  polyweft::soak::Options options;
  if (!polyweft::soak::read(argc, argv, options)) return 2;
  return polyweft::soak::soak(options);
}
