// Records of other machines: no answers, but schedules that a search begins with.
#include "driver/seeds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "driver/probed_machine.h"
#include "driver/spaces.h"
#include "driver/task.h"
#include "polyweft/database.h"
#include "schedules/sketches/sketches.h"

namespace polyweft {
namespace {

Target with_caches(int64_t first, int64_t second) {
  Target target = find_target("x86-64-v3").value();
  target.machine.set_caches({first, second, 16 << 20}, FigureOrigin::described);
  return target;
}

Program product() {
  return parse_program(
             "program p(M = 512, N = 512, K = 1024)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
             "A[i, k] * B[k, j]\n")
      .value();
}

std::vector<NestTemplate> templates_for(const Target& target) {
  const Task task = make_task(product(), {}, target).value();
  return schedules::sketch_templates(task.program, task.key.cls, target.machine, schedules::Isl{}).value();
}

TEST(Seeds, a_record_without_an_optional_step_is_one_that_leaves_it_out) {
  const Target target = with_caches(32 << 10, 512 << 10);
  const auto templates = templates_for(target);
  const auto model = analytic_model(target.machine);
  int found = 0;
  for (const NestTemplate& t : templates) {
    const auto ahead = std::find_if(t.trace.decisions.begin(), t.trace.decisions.end(), is_optional);
    if (ahead == t.trace.decisions.end()) continue;
    ++found;
    const auto position = static_cast<size_t>(ahead - t.trace.decisions.begin());
    for (const int64_t distance : ahead->candidates) {
      std::vector<int64_t> decisions = values_of(t.trace);
      decisions[position] = distance;
      std::string text = trace_text(t, decisions), without = text, constant = text;
      const size_t line = text.find("  prefetch "), end = text.find('\n', line);
      const size_t decide = text.find("decide " + ahead->name + " "), decide_end = text.find('\n', decide);
      ASSERT_TRUE(line != std::string::npos && decide != std::string::npos) << text;
      const std::string step = text.substr(line, end - line);
      without.erase(decide, decide_end - decide + 1).erase(line, end - line + 1);
      constant.erase(decide, decide_end - decide + 1)
          .replace(line, end - line, step.substr(0, step.rfind(' ') + 1) + std::to_string(distance));
      const auto same = seed_of(text, templates, *model), as_constant = seed_of(constant, templates, *model),
                 left_out = seed_of(without, templates, *model);
      ASSERT_TRUE(same && as_constant && left_out) << text;
      EXPECT_EQ(same->decisions, decisions) << text;
      EXPECT_EQ(as_constant->decisions, decisions) << constant;
      EXPECT_EQ(left_out->decisions[position], 0) << without;
      const LoopNest nest = instantiate(t, decisions).value();
      EXPECT_EQ(print(nest).find("prefetch") == std::string::npos, distance == 0);
    }
  }
  EXPECT_GE(found, 1);
}

TEST(Spaces, where_nothing_is_measured_optional_steps_stay_as_rules_gave_them) {
  const Target target = with_caches(32 << 10, 512 << 10);
  const auto templates = templates_for(target);
  const auto model = analytic_model(target.machine);
  const auto open = search_spaces(templates, *model), usual = search_spaces(templates, *model, OptionalSteps::usual);
  int optional = 0;
  for (size_t s = 0; s < templates.size(); ++s)
    for (size_t d = 0; d < open[s].choices.size(); ++d) {
      const Decision& decision = templates[s].trace.decisions[d];
      if (!is_optional(decision)) {
        EXPECT_EQ(open[s].choices[d].values, usual[s].choices[d].values);
        continue;
      }
      ++optional;
      EXPECT_EQ(open[s].choices[d].values, decision.candidates);
      EXPECT_EQ(usual[s].choices[d].values, std::vector<int64_t>{decision.value});
    }
  EXPECT_GE(optional, 1);
}

TEST(Seeds, have_the_steps_of_the_record_and_sizes_that_are_offered_here) {
  const Target large = with_caches(48 << 10, 2 << 20), small = with_caches(32 << 10, 512 << 10);
  const auto theirs = templates_for(large), ours = templates_for(small);
  const auto model = analytic_model(small.machine);
  int found = 0;
  for (const NestTemplate& t : theirs) {
    const auto seed = seed_of(trace_text(t, values_of(t.trace)), ours, *model);
    if (!seed) continue;
    ++found;
    const Trace& trace = ours[seed->sketch].trace;
    EXPECT_TRUE(trace.steps == t.trace.steps);
    EXPECT_FALSE(violated(trace, seed->decisions));
    ASSERT_EQ(trace.decisions.size(), seed->decisions.size());
    for (size_t d = 0; d < trace.decisions.size(); ++d) {
      const auto& offered = trace.decisions[d].candidates;
      EXPECT_TRUE(offered.empty() || std::count(offered.begin(), offered.end(), seed->decisions[d]) == 1)
          << trace.decisions[d].name << " = " << seed->decisions[d];
    }
    EXPECT_EQ(seed->nest_hash, hash(instantiate(ours[seed->sketch], seed->decisions).value()));
    EXPECT_GT(seed->predicted_ns, 0);
  }
  EXPECT_GE(found, 2);
}

TEST(Seeds, are_none_where_no_rule_proposes_the_steps) {
  const Target target = with_caches(32 << 10, 512 << 10);
  const auto templates = templates_for(target);
  const auto model = analytic_model(target.machine);
  EXPECT_FALSE(seed_of("trace 1\n  tile C [i: 3]\n", templates, *model).has_value());
  EXPECT_FALSE(seed_of("no trace", templates, *model).has_value());
}

TEST(Seeds, a_record_of_other_caches_is_the_nearest_one_and_no_hit) {
  const Task large = make_task(product(), {}, with_caches(48 << 10, 2 << 20)).value(),
             small = make_task(product(), {}, with_caches(48 << 10, 512 << 10)).value();
  EXPECT_NE(large.key.target, small.key.target);
  const auto path = std::filesystem::temp_directory_path() / ("polyweft-seeds-" + std::to_string(getpid()) + ".db");
  {
    auto database = open_database(path).value();
    TuningRecord record;
    record.key = large.key;
    record.canonical_text = large.canonical_text;
    record.trace_text = "trace 1\n";
    record.certificate.verdict = Verdict::proven;
    record.measurement.status = RunStatus::ok;
    record.measurement.timing.median_ns = 1000;
    const int64_t id = database->insert(record).value();
    EXPECT_TRUE(database->best(large.key, large.canonical_text)->has_value());
    EXPECT_FALSE(database->best(small.key, small.canonical_text)->has_value());
    const auto nearest = database->nearest(small.key).value();
    ASSERT_TRUE(nearest.has_value());
    EXPECT_EQ(nearest->id, id);
    EXPECT_EQ(nearest->differs_in, "target");
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
}

// What is probed may differ from day to day: it is in no key.
TEST(Seeds, probes_change_no_key) {
  Target target = with_caches(32 << 10, 512 << 10), probed = target;
  probed.machine.clock_ghz = {3.3, FigureOrigin::probed};
  probed.machine.memories[2].bytes = {7 << 20, FigureOrigin::probed};
  probed.machine.memories[0].ways = {8, FigureOrigin::probed};
  EXPECT_EQ(fingerprint(probed), fingerprint(target));
  EXPECT_NE(fingerprint(with_caches(48 << 10, 512 << 10)), fingerprint(target));
}

TEST(ProbedMachine, gives_a_search_its_rates_and_no_capacities) {
  const Machine described = with_caches(32 << 10, 512 << 10).machine;
  Machine probed = described;
  probed.clock_ghz = {3.5, FigureOrigin::probed};
  probed.units.loads_per_cycle = {3, FigureOrigin::probed};
  probed.units.stores_per_cycle = {9, FigureOrigin::assumed};
  probed.memories[1].bytes = {1 << 20, FigureOrigin::probed};
  probed.memories.back().bytes_per_cycle = {4, FigureOrigin::probed};
  const Machine taken = with_probed_rates(described, probed);
  EXPECT_EQ(taken.clock_ghz.value, 3.5);
  EXPECT_EQ(taken.units.loads_per_cycle.value, 3);
  EXPECT_EQ(taken.units.stores_per_cycle.value, described.units.stores_per_cycle.value) << "it was not probed";
  EXPECT_EQ(taken.memories.back().bytes_per_cycle.value, 4);
  EXPECT_EQ(taken.memories[1].bytes.value, 512 << 10);
}

// A search that is long enough measures once and keeps it; a short one takes what is there.
TEST(ProbedMachine, is_measured_once_a_host) {
  const Target host = find_target("host").value();
  const auto path = std::filesystem::temp_directory_path() / ("polyweft-probed-" + std::to_string(getpid()) + ".db");
  {
    auto database = open_database(path).value();
    TuneOptions quick, thorough;
    quick.budget = std::chrono::seconds(1);
    thorough.budget = std::chrono::seconds(60);
    EXPECT_EQ(machine_for_search(host, database.get(), quick).clock_ghz.origin, FigureOrigin::assumed);
    EXPECT_TRUE(database->probed_hosts()->empty());
    const Machine first = machine_for_search(host, database.get(), thorough);
    EXPECT_EQ(first.clock_ghz.origin, FigureOrigin::probed);
    ASSERT_EQ(database->probed_hosts()->size(), 1u);
    EXPECT_EQ(machine_for_search(host, database.get(), quick).clock_ghz, first.clock_ghz);
    EXPECT_EQ(machine_for_search(host, database.get(), thorough).clock_ghz, first.clock_ghz);
    EXPECT_EQ(machine_for_search(host, nullptr, thorough).clock_ghz.origin, FigureOrigin::assumed);
    Target elsewhere = host;
    elsewhere.is_host = false;
    EXPECT_EQ(machine_for_search(elsewhere, database.get(), thorough).clock_ghz.origin, FigureOrigin::assumed);
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
}

}  // namespace
}  // namespace polyweft
