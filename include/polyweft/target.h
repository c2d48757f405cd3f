// Target: what a kernel is built for, described by feature flags and a Machine, never by a chip's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/result.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// What is made of a kernel for files: ELF relocatable, assembly, LLVM's text, ELF shared object, archive, C header, C
/// source; or the bytes that the target's runner loads, whatever these are.
enum class Emit : uint8_t { object, assembly, llvm, shared, static_library, header, c, artifact };

/// Where a figure of a machine is from: what its kind is assumed to have; what the machine, a table of its maker or a
/// person says; what was measured on it.
enum class FigureOrigin : uint8_t { assumed, described, probed };
PW_EXPORT const char* name_of(FigureOrigin origin);
template <class T>
struct Figure {
  T value = {};
  FigureOrigin origin = FigureOrigin::assumed;
  bool operator==(const Figure&) const = default;
};

/// Who computes: so many of these are in one of the level outside.
struct MachineLevel {
  std::string name;  ///< "device", "core", "thread"
  Figure<int64_t> count = {1};
};
struct MemoryLevel {
  std::string name;             ///< "L1", "L2", ..., "memory"
  std::string scope;            ///< name of the level that has one each
  Figure<int64_t> bytes = {0};  ///< capacity; 0: as good as any (main memory)
  Figure<int64_t> line_bytes = {64};
  Figure<int64_t> ways = {0};            ///< 0: its sets are not told apart
  Figure<double> bytes_per_cycle = {0};  ///< that one core reads from here; 0: as many as its loads (the first)
  Figure<double> scattered_line_cycles = {
      0};  ///< a line from here where lines lie pages apart and no prefetcher helps; 0: as bytes_per_cycle has it
};
/// A translation look-aside buffer, for small pages.
struct TlbLevel {
  Figure<int64_t> pages = {64};      ///< entries
  Figure<double> miss_cycles = {7};  ///< where loads do not wait for one another
};
/// What one core computes with. What has no origin follows from the features.
struct MachineUnits {
  int vector_bits = 0;
  int vector_registers = 0;
  bool has_memory_operands = false;              ///< arithmetic takes an operand from memory: it needs no register
  bool has_compiler_gathers = false;             ///< LLVM's vectorizers take gathers for loads at strides
  bool has_compiler_vectors = true;              ///< LLVM's vectorizers make vectors of loops left to them
  std::vector<std::string> instructions = {};    ///< tensor instructions, by the names of their files
  Figure<double> multiply_adds_per_cycle = {2};  ///< of vectors
  Figure<double> multiply_add_latency_cycles = {4};
  Figure<double> division_latency_cycles = {13};
  Figure<double> tile_latency_cycles = {52};  ///< of a product of tiles, where there is a tile unit
  Figure<double> loads_per_cycle = {2};       ///< of vectors
  Figure<double> stores_per_cycle = {1};
  Figure<double> forwarding_cycles = {4};  ///< from a store to a load of the same cell
  Figure<double> gather_lane_slots = {3};  ///< of loads or stores, that a lane of a gather or scatter takes
  Figure<double> gather_lane_cycles = {
      0};  ///< that a gather takes for each of its lanes; 0: as LLVM's model of the CPU has it
  Figure<double> scatter_lane_cycles = {0};    ///< the same of a scatter
  Figure<double> window_instructions = {256};  ///< in flight that wait for one another's results
};

/// What blocks of threads and the units that run them have; of machines that run such blocks.
struct GridFigures {
  Figure<int64_t> lockstep_threads = {16};          ///< of a block that run one instruction at a time (a warp, a
                                                    ///< subgroup); 1: each runs for itself
  Figure<int64_t> block_threads = {256};            ///< most of a block
  Figure<int64_t> block_shared_bytes = {32 << 10};  ///< of shared memory, most of a block
  Figure<int64_t> unit_shared_bytes = {64 << 10};   ///< of all blocks that one unit holds at a time
  Figure<int64_t> thread_registers = {128};         ///< of 32 bits, most of a thread
  Figure<int64_t> unit_registers = {64 << 10};      ///< of 32 bits, of all threads that one unit holds at a time
  Figure<int64_t> unit_threads = {2048};            ///< most that one unit holds at a time
  Figure<int64_t> coalesced_bytes = {64};           ///< of memory that neighbours in lockstep ask for at once
  Figure<int64_t> access_bytes = {1};               ///< most that a thread loads or stores at once; 1: an element
  Figure<int64_t> copy_stages = {1};                ///< most slots of copies into shared memory that a block goes on
                                                    ///< beside; 1: its threads wait for each copy
  Figure<int64_t> shared_banks = {1};               ///< of shared memory, 4 bytes wide; 1: none that threads meet in
  Figure<double> shared_bytes_per_cycle = {0};      ///< of a unit; 0: shared memory lies in the caches
  Figure<double> barrier_cycles = {100};            ///< of a block that waits for its threads
  Figure<double> launch_ns = {10'000};              ///< of a kernel
};

/// A unit beside the CPU that multiplies tiles in memories of its own, into which copies of its own bring operands; of
/// machines that have one.
struct UnitFigures {
  Figure<int64_t> scratchpad_bytes = {0};  ///< 0: there is no unit
  Figure<int64_t> scratchpad_row_bytes = {16};
  Figure<int64_t> accumulator_bytes = {0};  ///< of memory for sums; 0: sums lie in the scratchpad
  Figure<int64_t> accumulator_row_bytes = {64};
  Figure<int64_t> accumulator_first = {int64_t{1} << 31};  ///< address of its first byte among the unit's
  Figure<int64_t> copy_rows = {16};                        ///< most of a copy
  Figure<int64_t> copy_row_bytes = {64};                   ///< most of one of its rows
  Figure<double> copy_bytes_per_cycle = {16};              ///< in each direction
  Figure<double> copy_latency_cycles = {100};
  Figure<int64_t> copies_in_flight = {1};   ///< in each direction
  Figure<int64_t> queued_commands = {16};   ///< that each engine holds: copies in, copies out, products
  Figure<double> product_row_cycles = {1};  ///< of a product, for each row of its first operand
  Figure<double> product_cycles = {0};      ///< beside those
  Figure<double> zero_row_cycles = {1};     ///< of first values of sums
  Figure<double> command_cycles = {4};      ///< of the CPU, for each command
  std::vector<std::string> commands = {};   ///< how each is issued, a line each: docs/accelerators.md
};

/// What a machine has and what it costs: all that sketch rules, cost models and the driver know of hardware. At least
/// one cache.
struct Machine {
  std::vector<MachineLevel> levels = {{"device"}, {"core"}, {"thread"}};  ///< outermost first
  std::vector<MemoryLevel> memories;                                      ///< innermost first, main memory last
  std::vector<TlbLevel> tlbs = {{{64}, {7}}, {{1536}, {30}}};             ///< first level first
  MachineUnits units;
  GridFigures grid = {};
  UnitFigures unit = {};
  Figure<int64_t> page_bytes = {4096};  ///< of a small page
  Figure<double> page_start_cycles = {
      500};  ///< until the prefetchers of the second cache have begun anew at a page of a stream
  Figure<int64_t> prefetched_bytes = {1024};        ///< pieces as long as this are prefetched
  Figure<double> streaming_store_gain = {1.5};      ///< rate of non-temporal stores over that of reads from memory
  Figure<int64_t> shared_cache_bytes = {16 << 20};  ///< that a thread counts on in a cache of all cores: a virtual
                                                    ///< machine's advertised one is mostly its neighbours'
  Figure<double> clock_ghz = {2};
  /// Of calls in a row: 0.5 to 1.1 us measured beside parts that touch no memory, 1.1 to 1.6 us in products of 32^3 to
  /// 64^3. After a pause of 1 ms the pool is asleep and takes 15 to 100 us; that is not what this counts.
  Figure<double> fork_join_ns = {2'000};
  Figure<double> page_fault_ns = {500};  ///< of a page of fresh memory, when it is first touched

  /// Caches of 32 KiB, 1 MiB and 8 MiB, one core.
  PW_EXPORT Machine();
  /// These data caches, the first one first, then main memory. The third and those after it belong to all cores. Other
  /// figures are the assumed ones; of a level beyond those that have any, the last one's.
  PW_EXPORT void set_caches(const std::vector<int64_t>& bytes, FigureOrigin origin);
  size_t caches() const { return memories.size() - 1; }
  /// Bytes that one thread counts on in cache `cache` (0: the first): of a cache of all cores no more than
  /// shared_cache_bytes, unless that was probed.
  PW_EXPORT int64_t cache_bytes(size_t cache) const;
  int64_t vector_bytes() const { return units.vector_bits / 8; }
  PW_EXPORT int cores() const;
  PW_EXPORT void set_cores(int64_t cores, FigureOrigin origin);
  /// Does it run blocks of threads? Its levels are then the device, the block and the thread.
  PW_EXPORT bool has_grid() const;
  bool has_unit() const { return unit.scratchpad_bytes.value > 0; }
  /// That run blocks; 1 where it runs none.
  PW_EXPORT int64_t block_units() const;
};
/// The part of a machine that a task of so many threads runs on.
PW_EXPORT Machine on_cores(Machine machine, int cores);

/// A figure by the key that descriptions have for it.
struct NamedFigure {
  std::string key;  ///< "clock_ghz"; of lists with the place: "cache_bytes[2]"
  double value = 0;
  std::string unit;  ///< "GHz"; empty for plain numbers
  FigureOrigin origin = FigureOrigin::assumed;
};
/// All of them, in the order of a description.
PW_EXPORT std::vector<NamedFigure> figures(const Machine& machine);

/// What a target's instructions can do, as its architecture derives it from the features.
struct Capabilities {
  bool fused_products = false;   ///< a * b + c in one rounding
  bool half_arithmetic = false;  ///< + - * / sqrt and fused sums of f16 in f16
  bool operator==(const Capabilities&) const = default;
};

struct Target {
  std::string name;                   ///< "host", one of target_names(), or a description's; not in the fingerprint
  std::string architecture;           ///< that a backend builds for, by the backend's name
  std::vector<std::string> features;  ///< of instructions and registers, by LLVM's names, sorted
  Capabilities can;
  Machine machine;
  bool is_host = false;  ///< its kernels run here: this CPU has all features, as far as it is not held to fewer
  bool has(const std::string& feature) const;
};
/// Architecture, features and units, the first two caches as described, and the limits of blocks where the machine runs
/// such: what decides whether a kernel may run and which is best. Never a name, a clock or what was probed.
PW_EXPORT std::string fingerprint(const Target& target);
/// "host", a name that target_names() has, that of a device of this machine ("cuda": PW0517 where there is none), one
/// of description_names(), or the path of a description (TOML). PW0510 for an unknown name, PW0511 for a malformed
/// description.
PW_EXPORT Result<Target> find_target(const std::string& name);
/// What find_target() knows by a name and has this fingerprint. PW0540 where nothing has.
PW_EXPORT Result<Target> target_of_fingerprint(const std::string& fingerprint);
/// From now on, in this process and in the runners that it starts, this machine counts as having no features beyond
/// those of a level of its architecture: find_target("host") has no others, and code that needs one is not loaded
/// (PW0517). Empty: it counts as what it is. For programs that test what a lesser CPU does; called before anything
/// else. PW0510 for a name that is not a level.
PW_EXPORT Status hold_host(const std::string& level);
/// Names that find_target knows without a file.
PW_EXPORT std::vector<std::string> target_names();
/// Descriptions that are installed, by their names without ".toml".
PW_EXPORT std::vector<std::string> description_names();
/// A unit beside a CPU, or in it, that descriptions may name in their features.
struct KnownUnit {
  std::string feature;      ///< "unit-16x16x16-s8"
  std::string instruction;  ///< "unit_16x16x16_s8"
  std::string text;         ///< "C: i32[16, 16] += A: i8[16, 16] * B: i8[16, 16]"
  std::string file;         ///< that it is from; empty: it is part of this library
};
/// Sorted by feature.
PW_EXPORT std::vector<KnownUnit> known_units();
/// From now on, in this process and in the helpers that it starts, the files NAME.instruction of this folder count
/// beside the library's own (docs/add_an_instruction.md). Called before anything else. PW0020 where the folder cannot
/// be read, has no such file, or has one that is malformed or has the name of another instruction.
PW_EXPORT Status add_instructions(const std::string& folder);
/// A description that find_target reads back, with the origin of each figure.
PW_EXPORT std::string describe(const Target& target);
/// A description's text; `name` stands in messages. PW0511 where it is malformed.
PW_EXPORT Result<Target> parse_target(const std::string& text, const std::string& name);
/// The target's machine with what can be measured of it on this one, now: clock, rates and latencies of arithmetic,
/// loads and stores, caches as one thread sees them, look-aside buffers, fork and join. Some 2 s, on all cores for some
/// ms. PW0517 where the target's kernels do not run here, PW0523 where its backend measures nothing.
PW_EXPORT Result<Machine> probe(const Target& target);

/// An innermost loop of machine code and what an iteration of it costs by LLVM's scheduling model of a CPU: no
/// measurement, every access hits L1.
struct LoopCost {
  std::string function, label;
  int first_line = 0, last_line = 0;  ///< of Assembly::text, counted from 1
  int depth = 1;                      ///< loops around it and itself; 0: a function without loops
  bool hot = false;  ///< the deepest, of these the one with most multiply-adds, then most vector instructions
  int instructions = 0, fmas = 0, vector = 0, loads = 0, stores = 0, spills = 0;
  double cycles = 0;  ///< an iteration in the simulated steady state
  double fma_ports = 0, load_ports = 0, store_ports = 0, front_end = 0;
  double port_bound = 0;     ///< cycles of the busiest port
  std::string busiest_port;  ///< its name in the model
  std::string bound;  ///< "fma ports" "vector ports" "load ports" "store ports" "port NAME" "front end" "latency"
};
struct Assembly {
  std::string text;   ///< loops and their instructions marked by comments; an assembler takes it
  std::string model;  ///< LLVM's name of the modelled CPU
  std::vector<LoopCost> loops;
};

}  // namespace polyweft
#pragma GCC visibility pop
