// Schedules side by side, before anyone proves them: bench_traces FILE.weft TRACE.. [-p NAME=N] [-r ROUNDS] [-n] [-y]
// times the kernel of each trace, one thread (or HL_NUM_THREADS), interleaved; `base` stands for the base nest,
// FILE.nest for a text of loops, `strict:TRACE` rounds as written, -n prints the loops instead, -y adds each kernel's
// share of a peak kernel (its own multiply-add instruction in registers) that runs once a round for as long as the
// first kernel: of the best times, and the median of rounds whose peak kernel is within 3 % of its best. Inputs are
// random; outputs are compared with the first kernel's (greatest relative difference). For a proof and a record use
// `polyweft bench`.
#include <HalideRuntime.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>

#include "driver/task.h"
#include "ir/nests/suit_target.h"
#include "lang/parser.h"
#include "poly/band.h"
#include "poly/base_nest.h"
#include "polyweft/target.h"
#include "schedules/steps.h"
#include "support/large_array.h"
#include "targets/cpu/build.h"
#include "targets/cpu/peak_kernel.h"
#include "tests/cpu.h"

using namespace polyweft;
using Clock = std::chrono::steady_clock;

namespace {

template <class T>
T or_die(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s %s\n", result.error().code.c_str(), result.error().message.c_str());
  for (const auto& note : result.error().notes) std::fprintf(stderr, "  note: %s\n", note.c_str());
  std::exit(1);
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

LoopNest nest_of(const Program& program, std::string trace_path, const Target& host) {
  if (trace_path == "base") return or_die(poly::base_nest(program, NumericsClass::reassoc));
  if (trace_path.ends_with(".nest")) {
    LoopNest nest = or_die(parse_loop_nest(contents(trace_path)));
    if (auto status = verify(nest); !status) return or_die(Result<LoopNest>(status.error()));
    return nest;
  }
  const NumericsClass cls = trace_path.starts_with("strict:") ? NumericsClass::strict : NumericsClass::reassoc;
  if (cls == NumericsClass::strict) trace_path.erase(0, std::strlen("strict:"));
  const Trace trace = or_die(parse_trace(contents(trace_path)));
  const schedules::Isl isl{nullptr,
                           [&](const poly::BandQuestion& question) { return poly::band_facts(program, question); }};
  NestTemplate made = or_die(schedules::replay(program, cls, trace, isl));
  ir::suit_target(made, host);
  return or_die(instantiate(made, values_of(made.trace)));
}

struct Array {
  LargeArray memory;  ///< as the runner's: a page of 2 MB is no page of 4 KB
  std::vector<halide_dimension_t> dims;
  halide_buffer_t buffer{};
  Array(const Buffer& of, std::mt19937& random) {
    int64_t elements = 1;
    dims.resize(of.extents.size());
    for (size_t d = of.extents.size(); d-- > 0;) {
      dims[of.extents.size() - 1 - d] = {0, static_cast<int32_t>(of.extents[d]), static_cast<int32_t>(elements), 0};
      elements *= of.extents[d];
    }
    const auto size = static_cast<size_t>(size_bytes(of.type));
    memory = LargeArray(static_cast<size_t>(elements) * size);
    uint8_t* data = memory.data();
    for (int64_t k = 0; k < elements && !of.is_output; ++k) {
      const bool is_diagonal = of.extents.size() == 2 && of.extents[0] == of.extents[1] &&
                               k % (of.extents[1] + 1) == 0;  // dominant: factorizations exist
      const double value = static_cast<double>(random() % 1000) / 1000.0 +
                           (is_diagonal ? 2.0 * static_cast<double>(of.extents[0]) : 0.5);
      if (of.type == ElementType::f64) std::memcpy(data + 8 * k, &value, 8);
      const float narrow = static_cast<float>(value);
      if (of.type == ElementType::f32) std::memcpy(data + 4 * k, &narrow, 4);
      uint32_t bits = 0;
      std::memcpy(&bits, &narrow, 4);
      bits >>= 16;
      if (of.type == ElementType::bf16) std::memcpy(data + 2 * k, &bits, 2);
      if (!is_float(of.type)) data[static_cast<size_t>(k) * size] = static_cast<uint8_t>(random() % 4);
    }
    const bool is_real = of.type != ElementType::bf16 && is_float(of.type),
               is_unsigned = of.type == ElementType::u8 || of.type == ElementType::boolean;
    buffer.host = data;
    buffer.type = {of.type == ElementType::bf16 ? halide_type_bfloat
                   : is_real                    ? halide_type_float
                   : is_unsigned                ? halide_type_uint
                                                : halide_type_int,
                   static_cast<uint8_t>(8 * size), 1};
    buffer.dimensions = static_cast<int32_t>(dims.size());
    buffer.dim = dims.data();
  }
};

struct Racer {
  std::string name;
  std::unique_ptr<targets::LoadedCode> code;
  /// Arguments beyond the kernel's own are ignored by the calling conventions at hand.
  using Function = int (*)(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);
  Function function = nullptr;
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<void*> arguments;
  std::vector<double> ms;
  int call() { return function(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11)); }
  void* at(size_t k) { return k < arguments.size() ? arguments[k] : nullptr; }
};

uint16_t as_bits(const uint8_t* data) {
  uint16_t out;
  std::memcpy(&out, data, sizeof out);
  return out;
}

double number_at(const uint8_t* data, ElementType type, int64_t e) {
  const auto as = [&]<class T>(T) {
    T out;
    std::memcpy(&out, data + static_cast<size_t>(e) * sizeof out, sizeof out);
    return static_cast<double>(out);
  };
  switch (type) {
    case ElementType::f64:
      return as(double());
    case ElementType::f32:
      return as(float());
    case ElementType::i64:
      return as(int64_t());
    case ElementType::i32:
      return as(int32_t());
    case ElementType::i16:
      return as(int16_t());
    case ElementType::bf16:
      return static_cast<double>(std::bit_cast<float>(uint32_t{as_bits(data + 2 * e)} << 16));
    default:
      return as(uint8_t());
  }
}

double difference(const Racer& a, const Racer& b, const LoopNest& nest) {
  double worst = 0;
  for (size_t k = 0; k < nest.arguments.size(); ++k) {
    const Buffer& of = nest.buffers[nest.arguments[k]];
    if (!of.is_output) continue;
    int64_t elements = 1;
    for (int64_t extent : of.extents) elements *= extent;
    for (int64_t e = 0; e < elements; ++e) {
      const double x = number_at(a.arrays[k]->buffer.host, of.type, e),
                   y = number_at(b.arrays[k]->buffer.host, of.type, e);
      if (x == x || y == y) worst = std::max(worst, std::abs(x - y) / (1e-300 + std::abs(x)));
    }
  }
  return worst;
}

/// A packed argument is made from its source by the kernel's own pack function.
std::unique_ptr<Array> argument(const LoopNest& nest, BufferId id, targets::LoadedCode& code, std::mt19937& random) {
  for (const Pack& pack : nest.packs) {
    if (pack.packed != id) continue;
    Array source(nest.buffers[pack.source], random);
    Buffer flat;
    flat.type = ElementType::u8;
    flat.extents = {allocated_elements(nest.buffers[id]) * size_bytes(nest.buffers[id].type)};
    flat.is_output = true;
    auto packed = std::make_unique<Array>(flat, random);
    const auto function =
        reinterpret_cast<int (*)(void*, void*)>(code.address(nest.name + "_pack_" + nest.buffers[pack.source].name));
    if (const int failed = function(&source.buffer, &packed->buffer); failed != 0)
      std::fprintf(stderr, "packing: code %d\n", failed), std::exit(1);
    return packed;
  }
  return std::make_unique<Array>(nest.buffers[id], random);
}

/// The first kernel's instruction in registers, once a round.
struct PeakKernel {
  std::string name;
  std::unique_ptr<targets::LoadedCode> code;
  double operations = 0;
  std::vector<double> ms;
  double call() {
    const auto start = Clock::now();
    reinterpret_cast<int (*)()>(code->address("peak_kernel"))();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
};

PeakKernel peak_kernel(const LoopNest& nest, const Target& host, double wanted_ms) {
  const auto unit = targets::unit_of(nest, host);
  if (!unit) std::fprintf(stderr, "no instruction is known that bounds this program\n"), std::exit(1);
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  syscall(SYS_arch_prctl, kRequestPermission, kTileData);
  int64_t instructions = 10'000;
  for (int pass = 0;; ++pass) {
    PeakKernel out;
    out.name = name_of(*unit);
    out.code =
        or_die(targets::load_code(or_die(targets::compile_peak_kernel(*unit, host, "peak_kernel", 1, instructions))));
    out.operations = targets::operations_of(*unit, host) *
                     static_cast<double>(targets::peak_kernel_instructions(*unit, instructions));
    if (pass == 1) return out;
    double least = 1e300;
    for (int k = 0; k < 5; ++k) least = std::min(least, out.call());
    instructions = static_cast<int64_t>(static_cast<double>(instructions) * wanted_ms / least) + 1;
  }
}

/// Shares of the peak, of one kernel's times in the order of rounds.
void print_share(const PeakKernel& peak, const std::vector<double>& ms, double flops) {
  const double best = *std::min_element(peak.ms.begin(), peak.ms.end());
  std::vector<double> shares;
  for (size_t r = 0; r < ms.size(); ++r)
    if (peak.ms[r] <= 1.03 * best) shares.push_back(flops / ms[r] / (peak.operations / peak.ms[r]));
  std::sort(shares.begin(), shares.end());
  std::printf("  %.1f GFLOP/s, %.3f of the best %s (%.1f); %.3f in %zu idle rounds\n",
              flops / *std::min_element(ms.begin(), ms.end()) / 1e6,
              flops / *std::min_element(ms.begin(), ms.end()) / (peak.operations / best), peak.name.c_str(),
              peak.operations / best / 1e6, shares[shares.size() / 2], shares.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  if (!std::getenv("HL_NUM_THREADS")) halide_set_num_threads(1);
  std::vector<std::string> files;
  std::map<std::string, int64_t> sizes;
  int rounds = 5;
  bool prints = false, has_peak = false;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "-p" && k + 1 < argc) {
      const std::string pair = argv[++k];
      sizes[pair.substr(0, pair.find('='))] = std::atoll(pair.c_str() + pair.find('=') + 1);
    } else if (word == "-n") {
      prints = true;
    } else if (word == "-y") {
      has_peak = true;
    } else if (word == "-r" && k + 1 < argc) {
      rounds = std::atoi(argv[++k]);
    } else {
      files.push_back(word);
    }
  }
  if (files.size() < 2)
    return std::fprintf(stderr, "usage: bench_traces FILE.weft TRACE.. [-p NAME=N] [-r ROUNDS] [-n] [-y]\n"), 2;
  auto parsed = or_die(lang::parse(contents(files[0]), files[0]));
  const Program& source = parsed.programs.front();
  const Program program = normalize(polyweft::bind(source, or_die(make_binding(source, sizes))));
  const Target host = or_die(find_target("host"));
  std::vector<Racer> kernels;
  LoopNest nest;
  for (size_t k = 1; k < files.size(); ++k) {
    nest = nest_of(program, files[k], host);
    if (prints) std::printf("%s\n", print(nest).c_str());
    if (prints) continue;
    if (auto status = verify(nest); !status)
      return std::fprintf(stderr, "%s: %s\n", files[k].c_str(), status.error().message.c_str()), 1;
    Racer kernel;
    kernel.name = files[k];
    auto object = targets::compile_object(nest, host);
    if (!object) {
      std::fprintf(stderr, "%s: %s %s\n", files[k].c_str(), object.error().code.c_str(),
                   object.error().message.c_str());
      continue;
    }
    kernel.code = or_die(targets::load_code(*object));
    kernel.function = reinterpret_cast<Racer::Function>(kernel.code->address(nest.name));
    std::mt19937 random(7);
    for (BufferId id : nest.arguments) kernel.arrays.push_back(argument(nest, id, *kernel.code, random));
    for (auto& array : kernel.arrays) kernel.arguments.push_back(&array->buffer);
    kernels.push_back(std::move(kernel));
  }
  PeakKernel peak;
  if (has_peak && !kernels.empty()) {
    double least = 1e300;
    for (int k = 0; k < 3; ++k) {
      const auto start = Clock::now();
      kernels.front().call();
      least = std::min(least, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    peak = peak_kernel(nest, host, std::clamp(least, 0.02, 30.0));
  }
  const double flops = has_peak ? count_flops(or_die(poly::base_nest(program, NumericsClass::reassoc))) : 0;
  for (int round = 0; round < rounds; ++round) {
    if (peak.code) peak.ms.push_back(peak.call());
    for (Racer& kernel : kernels) {
      const auto start = Clock::now();
      if (int code = kernel.call(); code != 0)
        return std::fprintf(stderr, "%s: code %d\n", kernel.name.c_str(), code), 1;
      kernel.ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
  }
  for (Racer& kernel : kernels) {
    const std::vector<double> by_round = kernel.ms;
    std::sort(kernel.ms.begin(), kernel.ms.end());
    std::printf("%-40s best %10.3f ms  median %10.3f ms  difference %.1e\n", kernel.name.c_str(), kernel.ms.front(),
                kernel.ms[kernel.ms.size() / 2], difference(kernels.front(), kernel, nest));
    if (peak.code && rounds > 0) print_share(peak, by_round, flops);
  }
}
