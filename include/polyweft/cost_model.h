// CostModel: predicts the time of a LoopNest from its text alone; the only judge of candidates that are never measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// What a cost model must know of a machine. Calibrated figures where there are any, else the description's.
struct MachineModel {
  double clock_ghz = 2.0;
  int vector_bytes = 32;
  int vector_registers = 16;
  bool memory_operands = true;  ///< Capabilities::memory_operands
  double fma_per_cycle = 2;  ///< vector multiply-adds
  double fma_latency_cycles = 4;
  double loads_per_cycle = 2, stores_per_cycle = 1;
  std::vector<int64_t> cache_bytes = {32 << 10, 1 << 20, 8 << 20};  ///< usable by one thread, L1 first
  std::vector<double> bytes_per_cycle = {64, 40, 9, 5};             ///< L1, L2, L3, memory
  std::vector<int> cache_ways = {12, 16};                           ///< as far as conflicts between sets count; the rest has none
  std::vector<int64_t> tlb_pages = {64, 1536};                      ///< entries for small pages, first level first
  std::vector<double> tlb_miss_cycles = {7, 30};                    ///< of each level
  std::vector<double> scattered_line_cycles;                        ///< from L2, L3, memory, where lines lie pages apart and no prefetcher helps; empty: as bytes_per_cycle
  double page_start_cycles = 500;                                   ///< of a stream: prefetchers begin anew at each page
  /// A fork and join of calls in a row: 0.5 to 1.1 us measured beside parts that touch no memory, 1.1 to 1.6 us in products of 32^3 to 64^3. After a pause of
  /// 1 ms the pool is asleep and takes 15 to 100 us; that is not what this counts.
  double fork_join_ns = 2'000;
  int threads = 1;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Nanoseconds of one call. No isl, no allocation worth naming; some 20 microseconds.
  virtual double predict_ns(const LoopNest& nest) const = 0;
  /// The same where the cycles of its instructions are known, with loads from the first cache: what it waits for memory and threads comes on top.
  virtual double predict_ns(const LoopNest& nest, double instruction_cycles) const = 0;
  virtual std::string name() const = 0;
};
/// max of port bounds a register block + exposed latency + traffic a cache level; see cost_models/analytic.cpp.
std::unique_ptr<CostModel> analytic_model(const MachineModel& machine);

}  // namespace polyweft
#pragma GCC visibility pop
