// Texts of nests beside each other and beside plain C, in one process, one thread (or HL_NUM_THREADS), rounds
// interleaved, on the same inputs: what a schedule is worth before any step makes it. Arguments are f64 or i32. Usage:
// bench_nests ROUNDS NEST.. [PLAIN.so]: the first nest's argument shapes hold for all; PLAIN.so has plain(inputs..,
// outputs..) over bare pointers (bench/polybench/polybench.c) and is the judge of the others' results. PW_ASM=FILE
// writes the first nest's assembly.
#include <HalideRuntime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/cpu/build.h"
#include "tests/cpu.h"

using namespace polyweft;
using Clock = std::chrono::steady_clock;

namespace {

template <class T>
T or_die(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s %s\n", result.error().code.c_str(), result.error().message.c_str());
  std::exit(1);
}

struct Argument {
  std::vector<double> cells;  // of i32: two in each
  std::vector<halide_dimension_t> dims;
  halide_buffer_t buffer{};
  bool is_i32;
  Argument(const Buffer& b, uint64_t seed) : dims(b.extents.size()), is_i32(b.type == ElementType::i32) {
    int32_t stride = 1;
    for (size_t d = dims.size(); d-- > 0; stride *= dims[dims.size() - 1 - d].extent)
      dims[dims.size() - 1 - d] = {0, static_cast<int32_t>(b.extents[d]), stride, 0};
    cells.assign(static_cast<size_t>(allocated_elements(b)), 0.0);
    std::mt19937_64 random(seed);
    if (is_i32 && !b.is_output)
      for (size_t k = 0; k < cells.size(); ++k)
        reinterpret_cast<int32_t*>(cells.data())[k] = static_cast<int32_t>(random() % 1000);
    else if (!b.is_output)
      for (double& cell : cells) cell = static_cast<double>(random() >> 11) * 0x1p-53;
    const bool is_square = !is_i32 && !b.is_output && b.extents.size() == 2 && b.extents[0] == b.extents[1];
    for (int64_t k = 0; is_square && std::getenv("PW_DOMINANT") && k < b.extents[0]; ++k)
      cells[static_cast<size_t>(k * (b.extents[0] + 1))] += static_cast<double>(b.extents[0]);
    buffer.host = reinterpret_cast<uint8_t*>(cells.data());
    buffer.type = is_i32 ? halide_type_t{halide_type_int, 32, 1} : halide_type_t{halide_type_float, 64, 1};
    buffer.dimensions = static_cast<int32_t>(dims.size());
    buffer.dim = dims.data();
  }
  Argument(const Argument&) = delete;
};
using Arguments = std::vector<std::shared_ptr<Argument>>;

/// Inputs are those of `first`, where there is one: all racers read the same memory, near or far.
Arguments arguments_of(const LoopNest& nest, const Arguments* first) {
  Arguments out;
  for (BufferId id : nest.arguments) {
    const size_t k = out.size();
    const bool is_shared = first && !nest.buffers[id].is_output && k < first->size();
    out.push_back(is_shared ? (*first)[k] : std::make_shared<Argument>(nest.buffers[id], 17 + k));
  }
  return out;
}

struct Racer {
  std::string name;
  void* code = nullptr;
  bool is_plain = false;
  std::unique_ptr<targets::LoadedCode> loaded = nullptr;
  Arguments arguments = {};
  std::vector<double> ms = {};
  int run() {
    const auto at = [&](size_t k) -> void* {
      if (k >= arguments.size()) return nullptr;
      return is_plain ? static_cast<void*>(arguments[k]->cells.data()) : &arguments[k]->buffer;
    };
    const auto start = Clock::now();
    const int status = reinterpret_cast<int (*)(void*, void*, void*, void*)>(code)(at(0), at(1), at(2), at(3));
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    return is_plain ? 0 : status;
  }
};

Racer nest_racer(const std::string& path, const LoopNest& nest, const Target& host, const Arguments* first) {
  Racer out{path, nullptr};
  const auto object = or_die(targets::compile_object(nest, host));
  out.loaded = or_die(targets::load_code(object));
  out.code = out.loaded->address(nest.name);
  out.arguments = arguments_of(nest, first);
  std::printf("%s: code %.1f ms, %zu bytes, %d spills\n", path.c_str(), object.codegen_ms, object.object.size(),
              object.spills);
  return out;
}

double largest_difference(const Arguments& a, const Arguments& b) {
  double most = 0;
  for (size_t k = 0; k < a.size(); ++k)
    if (a[k]->is_i32) {
      if (a[k]->cells.size() != b[k]->cells.size() ||
          std::memcmp(a[k]->cells.data(), b[k]->cells.data(), a[k]->cells.size() * sizeof(double)) != 0)
        most = 1;
    } else
      for (size_t c = 0; c < a[k]->cells.size(); ++c) {
        const double apart = std::fabs(a[k]->cells[c] - b[k]->cells[c]) / std::max(1.0, std::fabs(b[k]->cells[c]));
        most = apart <= most ? most : apart;  // NaN wins
      }
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  if (!std::getenv("HL_NUM_THREADS")) halide_set_num_threads(1);
  if (argc < 3) return std::fprintf(stderr, "usage: bench_nests ROUNDS NEST.. [PLAIN.so]\n"), 2;
  const Target host = or_die(find_target("host"));
  std::vector<Racer> racers;
  std::optional<LoopNest> first;
  for (int k = 2; k < argc; ++k) {
    const std::string path = argv[k];
    if (path.ends_with(".so")) {
      void* plain = dlopen(path.c_str(), RTLD_NOW);
      if (!plain || !first)
        return std::fprintf(stderr, "%s: %s\n", path.c_str(), first ? dlerror() : "comes after a nest"), 1;
      Racer racer{path, dlsym(plain, "plain"), true};
      racer.arguments = arguments_of(*first, &racers.front().arguments);
      racers.push_back(std::move(racer));
      continue;
    }
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    LoopNest nest = or_die(parse_loop_nest(text.str()));
    if (auto status = verify(nest); !status)
      return std::fprintf(stderr, "%s: %s %s\n", path.c_str(), status.error().code.c_str(),
                          status.error().message.c_str()),
             1;
    if (!first && std::getenv("PW_ASM"))
      std::ofstream(std::getenv("PW_ASM")) << or_die(targets::assembly_text(nest, host));
    racers.push_back(nest_racer(path, nest, host, racers.empty() ? nullptr : &racers.front().arguments));
    if (!first) first = std::move(nest);
  }
  for (int round = 0; round < std::atoi(argv[1]); ++round)
    for (Racer& racer : racers)
      if (const int status = racer.run(); status != 0)
        return std::fprintf(stderr, "%s returns %d\n", racer.name.c_str(), status), 1;
  if (racers.back().ms.empty()) return 0;
  const Racer& judge = racers.back();
  for (Racer& racer : racers) {
    std::vector<double> sorted = racer.ms, ratios;
    for (size_t k = 0; k < sorted.size(); ++k) ratios.push_back(judge.ms[k] / racer.ms[k]);
    std::sort(sorted.begin(), sorted.end());
    std::sort(ratios.begin(), ratios.end());
    std::printf("%-50s best %9.2f median %9.2f ms, last/this %.3f (%.3f..%.3f), differs from the last by %.2g\n",
                racer.name.c_str(), sorted[0], sorted[sorted.size() / 2], ratios[ratios.size() / 2],
                ratios[ratios.size() / 4], ratios[3 * ratios.size() / 4],
                largest_difference(racer.arguments, judge.arguments));
  }
}
