// What mutations give: of each program so many children of random parents, parents being the rules' templates and the
// children that could be predicted. A line for each program, tab-separated: its name, templates, children asked for,
// share that is legal, share that is a nest not seen before, share of these that is predicted within 1.5 times the
// best, the best prediction over the rules' best one, children a second of one core. Usage: bench_mutations
// [--children N] [--seed S] FILE.weft .. With PW_SHOW set the trace that is predicted best is printed, too.
#include "schedules/mutations/mutations.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "driver/task.h"
#include "ir/nests/instruction.h"
#include "ir/nests/suit_target.h"
#include "poly/band.h"
#include "poly/band_json.h"
#include "poly/base_nest.h"
#include "polyweft/cost_model.h"
#include "schedules/sketches/sketches.h"
#include "tests/machines.h"

using namespace polyweft;

namespace {

struct Member {
  std::shared_ptr<const NestTemplate> t;
  std::vector<int64_t> decisions;
  double ns = 0;
};

void run(const std::string& file, int children, uint64_t seed) {
  std::ifstream in(file);
  const auto program = parse_program(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!program) return (void)std::printf("%s\t%s\n", file.c_str(), program.error().message.c_str());
  const Target target = *find_target("x86-64-v3");
  const Machine machine = test::machine_with(32, 16, {32 << 10, 512 << 10, 16 << 20});
  const auto task = make_task(*program, {}, target);
  if (!task) return (void)std::printf("%s\t%s\n", file.c_str(), task.error().message.c_str());
  std::map<std::string, Result<poly::BandFacts>> known;
  const auto facts = [&](const poly::BandQuestion& question) {
    const std::string text = poly::to_json(question).dump();
    const auto found = known.find(text);
    return found != known.end() ? found->second
                                : known.emplace(text, poly::band_facts(task->program, question)).first->second;
  };
  schedules::Isl isl{nullptr, facts, [&] { return poly::propose_bands(task->program); }};
  if (schedules::has_recurrence(task->program)) {
    auto base = poly::base_nest(task->program, task->key.cls);
    if (base) isl.recurrence_nest = std::make_shared<const LoopNest>(std::move(*base));
  }
  const auto templates = schedules::sketch_templates(task->program, task->key.cls, machine, isl);
  if (!templates) return (void)std::printf("%s\t%s\n", file.c_str(), templates.error().message.c_str());
  const auto model = analytic_model(machine);
  std::set<std::string> seen;
  std::vector<Member> members;
  const auto add = [&](std::shared_ptr<const NestTemplate> t) {
    const auto decisions = values_of(t->trace);
    const auto nest = instantiate(*t, decisions);
    if (!nest || !seen.insert(hash(*nest)).second) return false;
    const double ns = model->predict_ns(*nest);
    members.push_back({std::move(t), decisions, ns});
    return true;
  };
  for (const NestTemplate& t : *templates) add(std::make_shared<const NestTemplate>(t));
  const auto best_of = [&] {
    return std::min_element(members.begin(), members.end(),
                            [](const Member& a, const Member& b) { return a.ns < b.ns; })
        ->ns;
  };
  const double rules_ns = members.empty() ? 0 : best_of();
  const schedules::Mutator mutator(task->program, task->key.cls, machine, isl);
  Rng rng(seed);
  int legal = 0, fresh = 0, good = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int k = 0; k < children && !members.empty(); ++k) {
    std::vector<const Member*> near;
    const double best = best_of();
    for (const Member& m : members)
      if (m.ns <= 3 * best) near.push_back(&m);
    const Member& parent = *near[rng.below(near.size())];
    const Member& other = *near[rng.below(near.size())];
    auto child = rng.chance(0.2) ? mutator.crossed({*parent.t, parent.decisions}, {*other.t, other.decisions}, rng)
                                 : mutator.mutated({*parent.t, parent.decisions}, rng);
    legal += child.has_value();
    if (!child || !add(std::make_shared<const NestTemplate>(*child))) continue;
    ++fresh;
    good += members.back().ns <= 1.5 * best;
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%s\t%zu\t%d\t%.2f\t%.2f\t%.2f\t%.3f\t%.0f\n", program->name.c_str(), templates->size(), children,
              1.0 * legal / children, 1.0 * fresh / children, 1.0 * good / children,
              rules_ns > 0 ? best_of() / rules_ns : 0, children / s);
  std::fflush(stdout);
  if (std::getenv("PW_SHOW"))
    std::printf("%s\n", std::min_element(members.begin(), members.end(),
                                         [](const Member& a, const Member& b) { return a.ns < b.ns; })
                            ->t->trace.text()
                            .c_str());
}

}  // namespace

int main(int argc, char** argv) {
  int children = 1000;
  uint64_t seed = 1;
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--children" && a + 1 < argc)
      children = std::stoi(argv[++a]);
    else if (word == "--seed" && a + 1 < argc)
      seed = std::stoull(argv[++a]);
    else
      run(word, children, seed);
  }
}
