// Probes: their kernels run on every target of this machine, what they find is of a possible size, and steps of
// latencies are found where they are.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels.h"
#include "polyweft/target.h"
#include "targets/cpu/calibrate.h"
#include "targets/cpu/probe_kernels.h"
#include "targets/cpu/probe_memory.h"

namespace polyweft::targets_test {
namespace {

TEST(Probe, kernels_run_on_every_target_of_this_machine) {
  for (const Target& target : runnable_targets()) {
    auto kernels = targets::ProbeKernels::compiled_for(target);
    ASSERT_TRUE(kernels.ok()) << target.name << kernels.error().message;
    EXPECT_EQ(kernels->widths().back(), target.machine.units.vector_bits);
    std::vector<char> bytes(1 << 16);
    for (const targets::ProbeKernel kernel : {kernels->loads(), kernels->stores(), kernels->reads()})
      kernel(bytes.data(), 64);
    for (const int bits : kernels->widths())
      for (const targets::ProbeKernel kernel : {kernels->multiply_adds(bits), kernels->dependent_multiply_adds(bits)})
        kernel(nullptr, 100);
    kernels->additions()(nullptr, 100);
    kernels->forks()(nullptr, 2);
    void* ring[3] = {&ring[1], &ring[2], &ring[0]};
    EXPECT_EQ(kernels->chase()(ring, 16), reinterpret_cast<int64_t>(&ring[1]));
    EXPECT_EQ(kernels->chase()(ring, 17), reinterpret_cast<int64_t>(&ring[2])) << "whole iterations";
    void* list[8] = {&ring[0], &ring[1], &ring[2], &ring[0], &ring[1], &ring[2], &ring[0], &ring[1]};
    kernels->touches()(list, 8);
  }
}

TEST(Probe, finds_the_last_size_before_latency_rises) {
  EXPECT_EQ(targets::last_before_step({1, 1, 1.1, 1.2, 3, 4, 4}), 3u);
  EXPECT_EQ(targets::last_before_step({4, 4, 4, 14, 14}), 2u);
  EXPECT_EQ(targets::last_before_step({10, 10.5, 11}), 0u) << "no step";
  EXPECT_EQ(targets::last_before_step({7}), 0u);
  EXPECT_EQ(targets::last_before_step({}), 0u);
}

TEST(Probe, finds_possible_figures) {
  const Target host = find_target("host").value();
  const auto machine = probe(host);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  for (const NamedFigure& figure : figures(*machine))
    EXPECT_TRUE(std::isfinite(figure.value) && figure.value >= 0) << figure.key << " " << figure.value;
  EXPECT_EQ(machine->clock_ghz.origin, FigureOrigin::probed);
  EXPECT_GT(machine->clock_ghz.value, 0.2);
  EXPECT_LT(machine->clock_ghz.value, 10);
  EXPECT_GT(machine->units.multiply_adds_per_cycle.value, 0.1);
  EXPECT_LT(machine->units.multiply_adds_per_cycle.value, 9);
  EXPECT_GE(machine->units.multiply_add_latency_cycles.value, 1);
  EXPECT_GT(machine->units.loads_per_cycle.value, 0.1);
  EXPECT_LT(machine->units.stores_per_cycle.value, 9);
  EXPECT_EQ(machine->memories.size(), host.machine.memories.size());
  for (size_t cache = 1; cache < machine->caches(); ++cache)
    EXPECT_GT(machine->memories[cache].bytes.value, machine->memories[cache - 1].bytes.value);
  EXPECT_EQ(machine->cores(), host.machine.cores());
}

TEST(Probe, what_it_found_is_read_back) {
  Target target = find_target("host").value();
  target.machine = probe(target).value();
  const auto again = parse_target(describe(target), "again");
  ASSERT_TRUE(again.ok()) << again.error().message;
  const auto ours = figures(target.machine), theirs = figures(again->machine);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t k = 0; k < ours.size(); ++k) {
    EXPECT_DOUBLE_EQ(ours[k].value, theirs[k].value) << ours[k].key;
    EXPECT_EQ(ours[k].origin, theirs[k].origin) << ours[k].key;
  }
}

TEST(Probe, is_refused_for_machines_that_are_not_this_one) {
  const auto elsewhere = probe(find_target("aarch64").value());
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().code, "PW0517");
}

TEST(Calibration, knows_rates_of_every_target_of_this_machine) {
  for (const Target& target : runnable_targets()) {
    EXPECT_GT(targets::run_fma_loop(target), 0) << target.name;
    EXPECT_GT(targets::measured_fma_peak_gflops(target, 1), 0.1) << target.name;
  }
  EXPECT_GT(targets::measured_memory_gb_s(find_target("host").value(), 1), 0.05);
}

}  // namespace
}  // namespace polyweft::targets_test
