#include "ir/values/machine_figures.h"

namespace polyweft {
namespace ir {
namespace {

using List = std::vector<AnyFigure>;

template <class Member>
List of_caches(Machine& machine, Member member) {
  List out;
  for (size_t cache = 0; cache < machine.caches(); ++cache) out.emplace_back(&(machine.memories[cache].*member));
  return out;
}
/// What is read beyond the first cache: caches, then memory.
template <class Member>
List of_outer(Machine& machine, Member member) {
  List out;
  for (size_t level = 1; level < machine.memories.size(); ++level) out.emplace_back(&(machine.memories[level].*member));
  return out;
}
template <class Member>
List of_tlbs(Machine& machine, Member member) {
  List out;
  for (TlbLevel& level : machine.tlbs) out.emplace_back(&(level.*member));
  return out;
}
List cores_of(Machine& machine) {
  List out;
  for (MachineLevel& level : machine.levels)
    if (level.name == "core") out.emplace_back(&level.count);
  return out;
}
List block_units_of(Machine& machine) {
  List out;
  for (MachineLevel& level : machine.levels)
    if (level.name == "block") out.emplace_back(&level.count);
  return out;
}
/// Nothing where no blocks of threads run.
template <auto Member>
List of_grid(Machine& machine) {
  return machine.has_grid() ? List{&(machine.grid.*Member)} : List{};
}
/// Nothing where there is no unit beside the CPU.
template <auto Member>
List of_unit(Machine& machine) {
  return machine.has_unit() ? List{&(machine.unit.*Member)} : List{};
}
/// It says that there is one; a machine without a unit does not list it.
List scratchpad_of(Machine& machine) {
  return machine.has_unit() || !machine.unit.commands.empty() ? List{&machine.unit.scratchpad_bytes} : List{};
}
template <auto Member>
List of_units(Machine& machine) {
  return {&(machine.units.*Member)};
}
template <auto Member>
List of_machine(Machine& machine) {
  return {&(machine.*Member)};
}

constexpr double kMost = 1'000'000;

}  // namespace

double value_of(const AnyFigure& figure) {
  return std::visit([](const auto* f) { return static_cast<double>(f->value); }, figure);
}
FigureOrigin origin_of(const AnyFigure& figure) {
  return std::visit([](const auto* f) { return f->origin; }, figure);
}
void set_figure(const AnyFigure& figure, double value, FigureOrigin origin) {
  std::visit([&](auto* f) { *f = {static_cast<decltype(f->value)>(value), origin}; }, figure);
}

const std::vector<FigureKey>& figure_keys() {
  static const std::vector<FigureKey> keys = {
      {"cache_bytes", "bytes", 1024, 0x1p40, true, [](Machine& m) { return of_caches(m, &MemoryLevel::bytes); }},
      {"cache_line_bytes", "bytes", 16, 4096, true, [](Machine& m) { return of_caches(m, &MemoryLevel::line_bytes); }},
      {"cache_ways", "", 0, 1024, true, [](Machine& m) { return of_caches(m, &MemoryLevel::ways); }},
      {"bytes_per_cycle", "bytes/cycle", 0.01, 10'000, true,
       [](Machine& m) { return of_outer(m, &MemoryLevel::bytes_per_cycle); }},
      {"scattered_line_cycles", "cycles", 0, kMost, true,
       [](Machine& m) { return of_outer(m, &MemoryLevel::scattered_line_cycles); }},
      {"shared_cache_bytes", "bytes", 1024, 0x1p40, false, of_machine<&Machine::shared_cache_bytes>},
      {"tlb_pages", "pages", 0, kMost, true, [](Machine& m) { return of_tlbs(m, &TlbLevel::pages); }},
      {"tlb_miss_cycles", "cycles", 0, kMost, true, [](Machine& m) { return of_tlbs(m, &TlbLevel::miss_cycles); }},
      {"page_bytes", "bytes", 1024, 0x1p30, false, of_machine<&Machine::page_bytes>},
      {"page_start_cycles", "cycles", 0, kMost, false, of_machine<&Machine::page_start_cycles>},
      {"page_fault_ns", "ns", 0, kMost, false, of_machine<&Machine::page_fault_ns>},
      {"prefetched_bytes", "bytes", 16, kMost, false, of_machine<&Machine::prefetched_bytes>},
      {"streaming_store_gain", "", 0.1, 10, false, of_machine<&Machine::streaming_store_gain>},
      {"clock_ghz", "GHz", 0.01, 100, false, of_machine<&Machine::clock_ghz>},
      {"multiply_adds_per_cycle", "vectors/cycle", 0.01, 64, false, of_units<&MachineUnits::multiply_adds_per_cycle>},
      {"multiply_add_latency_cycles", "cycles", 0.1, 1000, false, of_units<&MachineUnits::multiply_add_latency_cycles>},
      {"division_latency_cycles", "cycles", 0.1, 1000, false, of_units<&MachineUnits::division_latency_cycles>},
      {"tile_latency_cycles", "cycles", 0.1, 10'000, false, of_units<&MachineUnits::tile_latency_cycles>},
      {"loads_per_cycle", "vectors/cycle", 0.01, 64, false, of_units<&MachineUnits::loads_per_cycle>},
      {"stores_per_cycle", "vectors/cycle", 0.01, 64, false, of_units<&MachineUnits::stores_per_cycle>},
      {"forwarding_cycles", "cycles", 0, 1000, false, of_units<&MachineUnits::forwarding_cycles>},
      {"gather_lane_slots", "", 0, 1000, false, of_units<&MachineUnits::gather_lane_slots>},
      {"gather_lane_cycles", "cycles", 0, 1000, false, of_units<&MachineUnits::gather_lane_cycles>},
      {"scatter_lane_cycles", "cycles", 0, 1000, false, of_units<&MachineUnits::scatter_lane_cycles>},
      {"window_instructions", "", 1, 100'000, false, of_units<&MachineUnits::window_instructions>},
      {"fork_join_ns", "ns", 0, 1e9, false, of_machine<&Machine::fork_join_ns>},
      {"cores", "", 1, 1024, false, cores_of},
      {"block_units", "", 1, kMost, false, block_units_of},
      {"lockstep_threads", "", 1, 1024, false, of_grid<&GridFigures::lockstep_threads>},
      {"block_threads", "", 1, kMost, false, of_grid<&GridFigures::block_threads>},
      {"block_shared_bytes", "bytes", 0, 0x1p40, false, of_grid<&GridFigures::block_shared_bytes>},
      {"unit_shared_bytes", "bytes", 0, 0x1p40, false, of_grid<&GridFigures::unit_shared_bytes>},
      {"thread_registers", "", 1, kMost, false, of_grid<&GridFigures::thread_registers>},
      {"unit_registers", "", 1, 1e9, false, of_grid<&GridFigures::unit_registers>},
      {"unit_threads", "", 1, kMost, false, of_grid<&GridFigures::unit_threads>},
      {"access_bytes", "bytes", 1, 64, false, of_grid<&GridFigures::access_bytes>},
      {"copy_stages", "", 1, 16, false, of_grid<&GridFigures::copy_stages>},
      {"coalesced_bytes", "bytes", 1, 4096, false, of_grid<&GridFigures::coalesced_bytes>},
      {"shared_banks", "", 1, 1024, false, of_grid<&GridFigures::shared_banks>},
      {"shared_bytes_per_cycle", "bytes/cycle", 0, 10'000, false, of_grid<&GridFigures::shared_bytes_per_cycle>},
      {"barrier_cycles", "cycles", 0, kMost, false, of_grid<&GridFigures::barrier_cycles>},
      {"launch_ns", "ns", 0, 1e9, false, of_grid<&GridFigures::launch_ns>},
      {"scratchpad_bytes", "bytes", 64, 0x1p22, false, scratchpad_of},
      {"scratchpad_row_bytes", "bytes", 1, 4096, false, of_unit<&UnitFigures::scratchpad_row_bytes>},
      {"accumulator_bytes", "bytes", 0, 0x1p22, false, of_unit<&UnitFigures::accumulator_bytes>},
      {"accumulator_row_bytes", "bytes", 4, 16384, false, of_unit<&UnitFigures::accumulator_row_bytes>},
      {"accumulator_first", "", 0, 0x1p40, false, of_unit<&UnitFigures::accumulator_first>},
      {"copy_rows", "", 1, 65536, false, of_unit<&UnitFigures::copy_rows>},
      {"copy_row_bytes", "bytes", 1, 65536, false, of_unit<&UnitFigures::copy_row_bytes>},
      {"copy_bytes_per_cycle", "bytes/cycle", 1, 4096, false, of_unit<&UnitFigures::copy_bytes_per_cycle>},
      {"copy_latency_cycles", "cycles", 0, kMost, false, of_unit<&UnitFigures::copy_latency_cycles>},
      {"copies_in_flight", "", 1, 128, false, of_unit<&UnitFigures::copies_in_flight>},
      {"queued_commands", "", 1, 256, false, of_unit<&UnitFigures::queued_commands>},
      {"product_row_cycles", "cycles", 0, kMost, false, of_unit<&UnitFigures::product_row_cycles>},
      {"product_cycles", "cycles", 0, kMost, false, of_unit<&UnitFigures::product_cycles>},
      {"zero_row_cycles", "cycles", 0, kMost, false, of_unit<&UnitFigures::zero_row_cycles>},
      {"command_cycles", "cycles", 0, kMost, false, of_unit<&UnitFigures::command_cycles>},
  };
  return keys;
}

std::string name_of_entry(const FigureKey& key, size_t entry) {
  return key.is_list ? key.name + ("[" + std::to_string(entry) + "]") : key.name;
}

}  // namespace ir

std::vector<NamedFigure> figures(const Machine& machine) {
  Machine copy = machine;
  std::vector<NamedFigure> out;
  for (const ir::FigureKey& key : ir::figure_keys()) {
    const auto list = key.figures(copy);
    for (size_t entry = 0; entry < list.size(); ++entry)
      out.push_back({ir::name_of_entry(key, entry), ir::value_of(list[entry]), key.unit, ir::origin_of(list[entry])});
  }
  return out;
}

}  // namespace polyweft
