// How well the cost model ranks the schedules of a program: its order beside measured times.
//
//   bench_rank measure STORE CANDIDATES FILE...   builds the model's best and random schedules of each program,
//   compares their outputs, times
//                                                 them interleaved and writes STORE (one program and its traces with
//                                                 nanoseconds)
//   bench_rank judge STORE...                     asks the model again, without measuring: rank correlation, and how
//   much slower than the best
//                                                 measured schedule the first choice among them is (list: with all of
//                                                 them, finalists numbered)
//   bench_rank recount STORE...                   expects the cycles of all machine code again and writes them into
//   STORE; times stay as they were measured
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "bench/take.h"
#include "driver/compile_service.h"
#include "driver/first_choices.h"
#include "driver/isl_client.h"
#include "driver/planner.h"
#include "driver/spaces.h"
#include "driver/task.h"
#include "ir/nests/instruction.h"
#include "ir/values/scalar.h"
#include "poly/band.h"
#include "polyweft/cost_model.h"
#include "polyweft/search.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "tests/cpu.h"

using namespace polyweft;
using bench::stop;
using bench::take;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

namespace {

struct Subject {
  Task task;
  std::vector<NestTemplate> templates;
};
/// This program is BUILD/bench/bench_rank.
std::string helper_beside_bench() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "src/tools/polyweft-isl")
      .string();
}

IslClient& isl_helper() {
  static IslClient isl({.helper = helper_beside_bench()});
  return isl;
}

Subject subject_of(const Program& program, const CompileService& compiler) {
  IslClient& isl = isl_helper();
  static Stored none{""};
  static Trust trust({}, isl, none);
  Planner planner(compiler, isl, none, trust);
  Subject out{take(make_task(program, {}, compiler.target())), {}};
  out.templates = take(planner.sketches(out.task));
  return out;
}

/// Memory on lines of its own; the first element of every page is touched before anything is timed.
struct Memory {
  std::vector<std::vector<unsigned char>> storage;
  std::vector<void*> raw;
  void* add(size_t bytes) {
    storage.emplace_back(bytes + 128, 0);
    auto address = reinterpret_cast<uintptr_t>(storage.back().data());
    raw.push_back(storage.back().data() + (64 - address % 64) % 64);
    return raw.back();
  }
};

struct Contestant {
  std::string trace;
  uint32_t sketch = 0;
  double predicted_ns = 0, code_cycles = 0, by_code_ns = 0,
         ns = 1e300;  ///< code_cycles, by_code_ns: 0 where nothing is known of its code
  std::shared_ptr<LoadedKernel> kernel;
};

Literal literal_of(ElementType type, double value) {
  return is_float(type) ? ir::float_literal(type, value) : ir::integer_literal(type, static_cast<int64_t>(value));
}
/// Fractions, or whole numbers: of the values that the caller promises, else all of a byte's.
TensorData filled(const Buffer& buffer) {
  TensorData out = make_tensor(buffer.type, buffer.extents);
  uint32_t state = 12345;
  const double least = buffer.values                    ? static_cast<double>(buffer.values->lo)
                       : buffer.type == ElementType::u8 ? 0
                                                        : -128;
  const double count = buffer.values ? static_cast<double>(buffer.values->hi - buffer.values->lo) : 256;
  for (int64_t i = 0; i < out.elements(); ++i) {
    state = state * 1664525 + 1013904223;
    const double fraction = static_cast<double>(state >> 8) / (1 << 24);
    out.set(i, literal_of(buffer.type, is_float(buffer.type) ? fraction - 0.5 : least + std::floor(count * fraction)));
  }
  return out;
}
double number(const Literal& literal) {
  return is_float(literal.type) ? literal.f : static_cast<double>(literal.i);
}
double greatest_difference(const TensorData& a, const TensorData& b) {
  double out = 0, scale = 1e-30;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = number(a.at(i)), y = number(b.at(i));
    out = std::max(out, std::abs(x - y));
    scale = std::max(scale, std::abs(x));
  }
  return out / scale;
}

/// The best of each of the best sketches: of these a first choice is made by their code.
void add_best_of_sketches(const Subject& subject, const CostModel& model, size_t count,
                          std::vector<Candidate>& chosen) {
  std::set<uint32_t> sketches;
  for (const Candidate& candidate : first_choices(subject.templates, model, kAllRanked)) {
    if (sketches.size() == count) return;
    if (!sketches.insert(candidate.sketch).second) continue;
    const bool is_listed = std::any_of(chosen.begin(), chosen.end(),
                                       [&](const Candidate& c) { return c.nest_hash == candidate.nest_hash; });
    if (!is_listed) chosen.push_back(candidate);
  }
}

/// The base order, and the same left to the compiler: what every first choice must beat.
void add_plain_ones(const Subject& subject, const CostModel& model, std::vector<Candidate>& chosen) {
  for (uint32_t k = 0; k < subject.templates.size(); ++k) {
    const NestTemplate& t = subject.templates[k];
    const bool is_listed = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate& c) { return c.sketch == k; });
    if (!schedules::runs_base_order(t.trace) || is_listed) continue;
    const LoopNest nest = take(instantiate(t, {}));
    chosen.push_back({k, {}, model.predict_ns(nest), hash(nest)});
  }
}

std::vector<Contestant> contestants_of(const Subject& subject, const CompileService& compiler, size_t wanted) {
  const auto model = analytic_model(compiler.machine(1));
  std::vector<Contestant> out;
  auto strategy =
      enumerate_by_model(search_spaces(subject.templates, *model), {.enumeration_limit = 4000, .epsilon = 0.6});
  std::vector<Candidate> chosen = strategy->ask(wanted / 2);
  add_best_of_sketches(subject, *model, wanted - wanted / 2, chosen);
  add_plain_ones(subject, *model, chosen);
  for (const auto& candidate : chosen) {
    const NestTemplate& nest_template = subject.templates[candidate.sketch];
    const LoopNest nest = take(instantiate(nest_template, candidate.decisions));
    if (!compiler.for_runner(nest)) continue;  // spills
    auto kernel = compiler.load(nest);
    if (!kernel) continue;
    const auto expected = compiler.expected_cycles(nest, 1);
    const double cycles = expected ? *expected : 0;
    out.push_back({trace_text(nest_template, candidate.decisions), candidate.sketch, candidate.predicted_ns, cycles,
                   cycles > 0 ? model->predict_ns(nest, cycles) : 0, 1e300, *kernel});
  }
  return out;
}

double call_ns(LoadedKernel& kernel, const std::vector<void*>& raw, int repetitions) {
  const auto start = Clock::now();
  for (int r = 0; r < repetitions; ++r)
    if (take(kernel.call_raw(raw)) != 0) stop("a kernel refused its arguments");
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / repetitions;
}

std::string one_line(std::string trace) {
  std::replace(trace.begin(), trace.end(), '\n', ';');
  return trace;
}

Json measured(const Program& program, const std::string& text, const CompileService& compiler, size_t wanted) {
  const Subject subject = subject_of(program, compiler);
  auto contestants = contestants_of(subject, compiler, wanted);
  if (contestants.empty()) stop("no schedule was built");
  const LoopNest first = take(instantiate(subject.templates[0], values_of(subject.templates[0].trace)));
  Memory memory;
  TensorData expected;
  for (BufferId id : first.arguments) {
    const auto pack =
        std::find_if(first.packs.begin(), first.packs.end(), [&](const auto& p) { return p.packed == id; });
    expected = filled(first.buffers[pack == first.packs.end() ? id : pack->source]);  // of the last one: the output
    std::memcpy(memory.add(expected.bytes.size()), expected.bytes.data(), expected.bytes.size());
  }
  TensorData got = expected;
  const double most = got.type == ElementType::bf16 || got.type == ElementType::f16 ? 1e-2
                      : got.type == ElementType::f32                                ? 1e-3
                      : is_float(got.type)                                          ? 1e-4
                                                                                    : 1e-12;
  for (size_t c = 0; c < contestants.size(); ++c) {
    std::memset(memory.raw.back(), 0x7f, got.bytes.size());
    call_ns(*contestants[c].kernel, memory.raw, 1);
    std::memcpy((c == 0 ? expected : got).bytes.data(), memory.raw.back(), got.bytes.size());
    const double difference = c == 0 ? 0 : greatest_difference(expected, got);
    if (!(difference < most))
      stop("two schedules differ by " + std::to_string(difference) + ":\n" + contestants[0].trace +
           contestants[c].trace);
  }
  for (int round = 0; round < 5; ++round)
    for (auto& c : contestants) {
      const double once = call_ns(*c.kernel, memory.raw, 1);
      const int repetitions = std::clamp(static_cast<int>(1e6 / once), 1, 1000);
      for (int part = 0; part < (once < 2e7 ? 3 : 1); ++part)
        c.ns = std::min(c.ns, call_ns(*c.kernel, memory.raw, repetitions));
    }
  for (const auto& c : contestants)
    std::printf("  predicted %10.1f us  by its code %10.1f us  measured %10.1f us  %s\n", c.predicted_ns / 1e3,
                c.by_code_ns / 1e3, c.ns / 1e3, one_line(c.trace).substr(0, 100).c_str());
  Json out = {{"program", text}, {"schedules", Json::array()}};
  for (const auto& c : contestants)
    out["schedules"].push_back({{"trace", c.trace},
                                {"sketch", c.sketch},
                                {"predicted_ns", c.predicted_ns},
                                {"code_cycles", c.code_cycles},
                                {"ns", c.ns}});
  return out;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& v) {
    std::vector<size_t> order(v.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return v[x] < v[y]; });
    std::vector<double> out(v.size());
    for (size_t r = 0; r < order.size(); ++r) out[order[r]] = static_cast<double>(r);
    return out;
  };
  const auto x = ranks(a), y = ranks(b);
  double distance = 0;
  for (size_t i = 0; i < x.size(); ++i) distance += (x[i] - y[i]) * (x[i] - y[i]);
  const auto n = static_cast<double>(x.size());
  return n < 2 ? 1 : 1 - 6 * distance / (n * (n * n - 1));
}

struct Stored {
  Task task;
  std::vector<NestTemplate> templates;  ///< by schedule, with its decisions
};
Stored stored_schedules(const Json& store, const CompileService& compiler) {
  const Program program = take(parse_program(store["program"].get<std::string>()));
  Stored out{take(make_task(program, {}, compiler.target())), {}};
  schedules::Isl isl{nullptr,
                     [&](const poly::BandQuestion& question) { return poly::band_facts(out.task.program, question); }};
  if (schedules::has_recurrence(out.task.program))
    isl.recurrence_nest = std::make_shared<const LoopNest>(take(isl_helper().base_nest(out.task)));
  for (const auto& s : store["schedules"])
    out.templates.push_back(take(
        schedules::replay(out.task.program, out.task.key.cls, take(parse_trace(s["trace"].get<std::string>())), isl)));
  return out;
}

void recount(Json& store, const CompileService& compiler) {
  const Stored stored = stored_schedules(store, compiler);
  for (size_t s = 0; s < stored.templates.size(); ++s) {
    const auto cycles =
        compiler.expected_cycles(take(instantiate(stored.templates[s], values_of(stored.templates[s].trace))), 1);
    store["schedules"][s]["code_cycles"] = cycles ? *cycles : 0;
  }
}

/// As a first choice is made: the best of each way by the nest, then by their code.
double judge(const Json& store, const CompileService& compiler, bool verbose) {
  const Stored stored = stored_schedules(store, compiler);
  const std::vector<NestTemplate>& templates = stored.templates;
  const auto model = analytic_model(compiler.machine(1));
  std::vector<Candidate> ranked;
  std::vector<double> predicted, ns;
  std::map<std::string, double> cycles;
  for (const auto& s : store["schedules"]) {
    const NestTemplate& of_schedule = templates[ranked.size()];
    const std::vector<int64_t> decisions = values_of(of_schedule.trace);
    const LoopNest nest = take(instantiate(of_schedule, decisions));
    predicted.push_back(model->predict_ns(nest));
    ns.push_back(s["ns"].get<double>());
    cycles[hash(nest)] = s.value("code_cycles", 0.0);
    ranked.push_back({static_cast<uint32_t>(ranked.size()), decisions, predicted.back(), hash(nest)});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Candidate& a, const Candidate& b) { return a.predicted_ns < b.predicted_ns; });
  const auto known = [&](const LoopNest& nest) -> Result<CodeCost> {
    const double found = cycles[hash(nest)];
    return found > 0 ? Result<CodeCost>(CodeCost{found}) : fail("PW0901", "nothing is known of its code");
  };
  const std::vector<Candidate> last = ordered_by_code(ranked, templates, *model, known);
  const double best = *std::min_element(ns.begin(), ns.end()), chosen = ns[last.front().sketch];
  const auto position = [&](const Candidate& c) {
    return std::find_if(last.begin(), last.end(), [&](const Candidate& l) { return l.sketch == c.sketch; }) -
           last.begin();
  };
  for (const Candidate& c : ranked) {
    if (!verbose) break;
    const double code = cycles[c.nest_hash],
                 by_code = code > 0 ? model->predict_ns(take(instantiate(templates[c.sketch], c.decisions)), code) : 0;
    const auto at = static_cast<size_t>(position(c));
    std::printf("  %-2s %10.1f us measured %10.1f us predicted %10.1f us by its code (%.0f cycles)  %s\n",
                at < last.size() ? std::to_string(at + 1).c_str() : "", ns[c.sketch] / 1e3, c.predicted_ns / 1e3,
                by_code / 1e3, code, one_line(store["schedules"][c.sketch]["trace"].get<std::string>()).c_str());
  }
  std::printf("%-24s %3zu schedules  best %10.1f us  rank correlation %.2f  first choice %.3f of the best\n",
              store["program"].get<std::string>().substr(0, store["program"].get<std::string>().find('\n')).c_str(),
              ns.size(), best / 1e3, rank_correlation(predicted, ns), best / chosen);
  return best / chosen;
}

}  // namespace

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  const std::string verb = argc > 1 ? argv[1] : "";
  const CompileService compiler(take(find_target("host")));
  if (verb == "measure" && argc > 4) {
    Json all = Json::array();
    for (int f = 4; f < argc; ++f) {
      std::ifstream file(argv[f]);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      all.push_back(measured(take(parse_program(text)), text, compiler, static_cast<size_t>(std::atoi(argv[3]))));
      judge(all.back(), compiler, false);
    }
    std::ofstream(argv[2]) << all.dump(1) << '\n';
    return 0;
  }
  if ((verb == "judge" || verb == "list") && argc > 2) {
    double product = 1;
    int count = 0;
    for (int f = 2; f < argc; ++f) {
      std::ifstream file(argv[f]);
      for (const auto& store : Json::parse(file)) product *= judge(store, compiler, verb == "list"), ++count;
    }
    std::printf("first choice: geomean %.3f of the best, %d programs\n", std::pow(product, 1.0 / std::max(count, 1)),
                count);
    return 0;
  }
  if (verb == "recount" && argc > 2) {
    for (int f = 2; f < argc; ++f) {
      Json all = Json::parse(std::ifstream(argv[f]));
      for (auto& store : all) recount(store, compiler);
      std::ofstream(argv[f]) << all.dump(1) << '\n';
    }
    return 0;
  }
  stop(
      "usage: bench_rank measure STORE CANDIDATES FILE... | bench_rank judge STORE... | bench_rank list STORE... | "
      "bench_rank recount STORE...");
}
