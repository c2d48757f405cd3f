#include "random/pairs.h"

#include "ir/normalize/normalize.h"
#include "random/band_traces.h"
#include "schedules/random_pairs.h"
#include "tests/generators/random_program.h"

namespace polyweft::random_test {
namespace {

using test::pick;

/// A text of twenty shapes with odd sizes; some with parameters of 0 or 1, some with a packed input.
Program shaped_program(Rng& rng) {
  std::string text = test::random_program(rng);
  if (size_t at = text.find("\nin B: "); at != std::string::npos && rng.chance(0.3)) text.insert(at + 1, "const ");
  auto parsed = lang::parse(text, "random.weft");
  if (!parsed) throw std::runtime_error("parse: " + parsed.error().message + "\n" + text);
  Program program = parsed->programs.front();
  for (Parameter& p : program.parameters) {
    if (rng.chance(0.1)) p.value = 1;
    if (rng.chance(0.04)) {
      VarId var = static_cast<VarId>(&p - program.parameters.data());
      for (Guard& g : program.assumptions)
        if (g == guard_ge0(Affine::variable(var) - Affine::of(1))) g = guard_ge0(Affine::variable(var));
      p.value = 0;
    }
  }
  return program;
}

/// By construction; sizes anew, mostly odd.
Program constructed_program(Rng& rng) {
  Program program = ir::random_program(rng());
  for (Parameter& p : program.parameters) {
    Parameter before = p;
    p.value = pick(rng, std::vector<int64_t>{1, 1, 2, 3, 4, 5, 7, 9, 11});
    if (!make_binding(program, {{p.name, p.value}})) p = before;
  }
  return program;
}

/// Sizes of the steps; the two digits of a layout share one.
std::vector<std::vector<Size*>> sizes_of(Trace& trace) {
  std::vector<std::vector<Size*>> out;
  for (Step& step : trace.steps) {
    if (auto* tile = std::get_if<TileStep>(&step))
      for (auto& level : tile->levels) out.push_back({&level.size});
    if (auto* vectorize = std::get_if<VectorizeStep>(&step)) out.push_back({&vectorize->lanes});
    auto* promote = std::get_if<PromoteStep>(&step);
    if (promote && promote->layout.size() == 3) out.push_back({&promote->layout[0].factor, &promote->layout[2].factor});
  }
  return out;
}

void set_size(Trace& trace, size_t k, const Size& size) {
  std::vector<std::vector<Size*>> all = sizes_of(trace);
  for (Size* place : all.at(k)) *place = size;
}

/// Half of the sizes become named decisions, with a random value in place of the one that the step was tried with.
Trace with_decisions(Rng& rng, const Program& program, NumericsClass cls, Trace trace,
                     const std::shared_ptr<const LoopNest>& fixed) {
  size_t count = sizes_of(trace).size();
  for (size_t k = 0; k < count; ++k) {
    if (rng.chance(0.5)) continue;
    Trace next = trace;
    std::string name = "d" + std::to_string(k);
    int64_t old = sizes_of(next)[k][0]->constant;
    set_size(next, k, {0, name});
    next.decisions.push_back({name, old, {}});
    if (!schedules::replay(program, cls, next, fixed)) continue;
    trace = next;
    next.decisions.back().value = pick(rng, std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 12, 16});
    auto t = schedules::replay(program, cls, next, fixed);
    if (t && instantiate(*t, values_of(next))) trace = next;
  }
  return trace;
}

/// The trace as far as it stands beside the step autovectorize, and that step.
void leave_to_compiler(const Program& program, Pair& pair) {
  Trace trace = pair.trace;
  trace.steps.push_back(AutovectorizeStep{});
  while (trace.steps.size() > 1 && !schedules::replay(program, pair.cls, trace))
    trace.steps.erase(trace.steps.end() - 2);
  if (trace.steps.size() == 1) trace = Trace{{AutovectorizeStep{}}, {}, {}};
  pair.trace = std::move(trace);
}

/// Elements of a batch as lanes, where the program has one.
void take_lanes_of_batch(Rng& rng, const Program& program, Pair& pair) {
  Trace trace;
  trace.steps.push_back(BatchStep{pick(rng, std::vector<int64_t>{2, 4, 4, 8, 16}), pick(rng, 1, 2)});
  if (schedules::replay(program, pair.cls, trace)) pair.trace = std::move(trace);
}

Result<Program> ready(const Program& source, NumericsClass cls) {
  auto binding = make_binding(source, {});
  if (!binding) return binding.error();
  return polyweft::normalize(polyweft::bind(source, *binding), cls);
}

}  // namespace

Pair random_pair(uint64_t seed) {
  Rng rng(seed);
  Pair out;
  bool shaped = rng.chance(0.6);
  out.source = shaped ? shaped_program(rng) : constructed_program(rng);
  out.cls = pick(rng, std::vector<NumericsClass>{NumericsClass::reassoc, NumericsClass::reassoc,
                                                 NumericsClass::contract, NumericsClass::strict});
  out.whole_numbers = shaped && rng.chance(0.5);
  if (print(out.source).find("exp(") != std::string::npos)
    out.whole_numbers = false;  // whole inputs, but not what is summed
  out.data_seed = rng();
  out.threads = static_cast<int>(pick(rng, 1, 4));
  out.target = pick(rng, std::vector<std::string>{"host", "host", "host", "x86-64-v3", "x86-64"});
  out.ask_checker = rng.chance(0.08);
  auto program = ready(out.source, out.cls);
  if (!program) return out;
  if (!schedules::has_recurrence(*program))
    out.trace = with_decisions(rng, *program, out.cls, test::random_trace(rng, *program, out.cls), nullptr);
  if (rng.chance(0.2))
    leave_to_compiler(*program, out);
  else if (rng.chance(0.15))
    take_lanes_of_batch(rng, *program, out);
  return out;
}

Pair random_grid_pair(uint64_t seed, const std::string& target) {
  Pair out = random_pair(seed);
  Rng rng = Rng(seed).fork(1);
  out.target = target;
  out.ask_checker = true;
  out.threads = 1;
  if (out.trace.steps.size() == 1 && std::holds_alternative<AutovectorizeStep>(out.trace.steps[0])) out.trace = {};
  auto program = ready(out.source, out.cls);
  if (!program) return out;
  schedules::Isl isl = isl_of(*program);
  if (schedules::has_recurrence(*program)) out.trace = random_band_trace(rng, *program, out.cls).trace;
  for (int tries = 0; tries < 12; ++tries) {
    const auto t = schedules::replay(*program, out.cls, out.trace, isl);
    if (!t || t->stages.empty()) return out;
    const Stage& stage = pick(rng, t->stages);
    if (stage.loops.empty()) continue;
    Trace next = out.trace;
    next.steps.push_back(BindStep{stage.name, pick(rng, stage.loops).name,
                                  pick(rng, std::vector<std::string>{"block_x", "block_y", "block_z", "thread_x",
                                                                     "thread_x", "thread_y", "thread_z"})});
    if (schedules::replay(*program, out.cls, next, isl)) out.trace = std::move(next);
  }
  return out;
}

std::string described(const Pair& pair) {
  return print(pair.source) + pair.trace.text() + "class " + name_of(pair.cls) + ", " +
         (pair.whole_numbers ? "whole" : "random") + " numbers of seed " + std::to_string(pair.data_seed) + ", " +
         std::to_string(pair.threads) + " threads, " + pair.target + (pair.ask_checker ? ", checker" : "") + "\n";
}

namespace {

bool smaller_trace_shows(Pair& pair, const std::function<bool(const Pair&)>& shows) {
  for (size_t k = pair.trace.steps.size(); k-- > 0;) {
    Pair next = pair;
    next.trace.steps.erase(next.trace.steps.begin() + static_cast<std::ptrdiff_t>(k));
    if (shows(next)) return pair = std::move(next), true;
    auto* tile = std::get_if<TileStep>(&pair.trace.steps[k]);
    for (size_t level = 0; tile && tile->levels.size() > 1 && level < tile->levels.size(); ++level) {
      next = pair;
      auto& levels = std::get<TileStep>(next.trace.steps[k]).levels;
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(level));
      if (shows(next)) return pair = std::move(next), true;
    }
  }
  for (const Decision& decision : pair.trace.decisions) {
    Pair next = pair;
    std::erase_if(next.trace.decisions, [&](const Decision& d) { return d.name == decision.name; });
    if (shows(next)) return pair = std::move(next), true;
  }
  for (size_t k = 0; k < sizes_of(pair.trace).size(); ++k) {
    Pair next = pair;
    std::string name = sizes_of(next.trace)[k][0]->decision;
    if (name.empty()) continue;
    for (const Decision& decision : pair.trace.decisions)
      if (decision.name == name) set_size(next.trace, k, {decision.value, ""});
    std::erase_if(next.trace.decisions, [&](const Decision& d) { return d.name == name; });
    if (shows(next)) return pair = std::move(next), true;
  }
  return false;
}

}  // namespace

Pair shrunk(Pair pair, const std::string& kind, int budget) {
  auto shows = [&](const Pair& candidate) { return budget-- > 0 && judge(candidate).kind == kind; };
  for (Pair plain : {pair, pair}) {
    plain.threads = 1;
    if (plain.threads != pair.threads && shows(plain)) pair = plain;
    plain = pair;
    plain.target = "host";
    if (plain.target != pair.target && shows(plain)) pair = plain;
  }
  for (bool progress = true; progress && budget > 0;) {
    progress = smaller_trace_shows(pair, shows);
    if (progress) continue;
    for (Program& candidate : ir::smaller_programs(pair.source)) {
      Pair next = pair;
      next.source = std::move(candidate);
      if (!shows(next)) continue;
      pair = std::move(next);
      progress = true;
      break;
    }
  }
  return pair;
}

}  // namespace polyweft::random_test
