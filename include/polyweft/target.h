// Target: what a kernel is built for, described by feature flags and units, never by a chip's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/result.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// What is made of a kernel for files: ELF relocatable, assembly, LLVM's text, ELF shared object, archive, C header, C source; or the bytes that the target's runner
/// loads, whatever these are.
enum class Emit : uint8_t { object, assembly, llvm, shared, static_library, header, c, artifact };

/// What a target's instructions can do, as its architecture derives it from the features.
struct Capabilities {
  bool fused_products = false;    ///< a * b + c in one rounding
  bool half_arithmetic = false;   ///< + - * / sqrt and fused sums of f16 in f16
  bool compiler_gathers = false;  ///< LLVM's vectorizers take gathers for loads at strides
  bool memory_operands = false;   ///< arithmetic takes an operand from memory, one value for all lanes too
  bool operator==(const Capabilities&) const = default;
};

struct Target {
  std::string name;                   ///< "host", "x86-64-v3", or a description's; not part of the fingerprint
  std::string architecture;           ///< that a backend builds for: "x86-64"
  std::vector<std::string> features;  ///< LLVM's names, sorted: "avx2", "avx512f", "fma" ...
  Capabilities can;
  int vector_bits = 0;
  int vector_registers = 0;
  std::vector<int64_t> cache_bytes = {32 << 10, 1 << 20, 8 << 20};  ///< data caches, L1 first; advertised, not calibrated
  std::vector<double> bytes_per_cycle = {50, 10, 5};  ///< that one core reads from its second cache, the third and so on, then memory; described or assumed, not measured
  double gather_lane_cycles = 0;   ///< that a gather takes for each of its lanes; 0: as LLVM's model of the CPU has it
  double scatter_lane_cycles = 0;  ///< the same of a scatter
  std::vector<double> scattered_line_cycles;          ///< a line from the second cache and so on, then memory, where lines lie pages apart; empty: as bytes_per_cycle
  std::vector<int64_t> tlb_pages = {64, 1536};        ///< entries of the translation look-aside buffers for small pages, first level first
  std::vector<double> tlb_miss_cycles = {7, 30};      ///< of each level, where loads do not wait for one another
  double page_start_cycles = 500;                     ///< until the prefetchers of the second cache have begun anew at a page of a stream
  int cores = 1;
  bool is_host = false;  ///< its kernels run here: this CPU has all features, as far as it is not held to fewer
  bool has(const std::string& feature) const;
};
/// Architecture, features and units: what decides whether a kernel may run and which is best. Never a name, a cache or a clock.
PW_EXPORT std::string fingerprint(const Target& target);
/// "host", a name that target_names() has, or the path of a description (TOML). PW0510 for an unknown name, PW0511 for a malformed description.
PW_EXPORT Result<Target> find_target(const std::string& name);
/// From now on, in this process and in the runners that it starts, this machine counts as having no features beyond those of a level of its architecture: find_target("host")
/// has no others, and code that needs one is not loaded (PW0517). Empty: it counts as what it is. For programs that test what a lesser CPU does; called before
/// anything else. PW0510 for a name that is not a level.
PW_EXPORT Status hold_host(const std::string& level);
/// Names that find_target knows without a file.
PW_EXPORT std::vector<std::string> target_names();
/// A description that find_target reads back.
PW_EXPORT std::string describe(const Target& target);

/// An innermost loop of machine code and what an iteration of it costs by LLVM's scheduling model of a CPU: no measurement, every access hits L1.
struct LoopCost {
  std::string function, label;
  int first_line = 0, last_line = 0;  ///< of Assembly::text, counted from 1
  int depth = 1;                      ///< loops around it and itself; 0: a function without loops
  bool hot = false;                   ///< the deepest, of these the one with most multiply-adds, then most vector instructions
  int instructions = 0, fmas = 0, vector = 0, loads = 0, stores = 0, spills = 0;
  double cycles = 0;  ///< an iteration in the simulated steady state
  double fma_ports = 0, load_ports = 0, store_ports = 0, front_end = 0;
  double port_bound = 0;     ///< cycles of the busiest port
  std::string busiest_port;  ///< its name in the model
  std::string bound;         ///< "fma ports" "vector ports" "load ports" "store ports" "port NAME" "front end" "latency"
};
struct Assembly {
  std::string text;   ///< loops and their instructions marked by comments; an assembler takes it
  std::string model;  ///< LLVM's name of the modelled CPU
  std::vector<LoopCost> loops;
};

}  // namespace polyweft
#pragma GCC visibility pop
