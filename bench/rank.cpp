// How well the cost model ranks the schedules of a program: its order beside measured times.
//
//   bench_rank measure STORE CANDIDATES FILE...   builds the model's best and random schedules of each program, compares their outputs, times
//                                                 them interleaved and writes STORE (one program and its traces with nanoseconds)
//   bench_rank judge STORE...                     asks the model again, without measuring: rank correlation, and how much slower than the best
//                                                 measured schedule the model's first choice among them is
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "driver/isl_client.h"
#include "driver/spaces.h"
#include "driver/task.h"
#include "driver/workshop.h"
#include "polyweft/cost_model.h"
#include "polyweft/search.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"

using namespace polyweft;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

namespace {

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "bench_rank: %s\n", message.c_str());
  std::exit(3);
}
template <class T>
T take(Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(result).value();
}

struct Subject {
  Task task;
  std::vector<NestTemplate> templates;
};
Subject subject_of(const Program& program, const Workshop& workshop) {
  schedules::TargetFacts facts;
  const MachineModel machine = workshop.machine_model(1);
  facts.vector_bytes = machine.vector_bytes;
  facts.vector_registers = machine.vector_registers;
  facts.cache_bytes = machine.cache_bytes;
  Subject out{take(make_task(program, {}, workshop.target())), {}};
  out.templates = take(schedules::sketch_templates(out.task.program, out.task.key.cls, facts));
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
  double predicted_ns = 0, ns = 1e300;
  std::shared_ptr<LoadedKernel> kernel;
};

template <class F>
void fill(void* at, size_t count) {
  uint32_t state = 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    static_cast<F*>(at)[i] = static_cast<F>(static_cast<double>(state >> 8) / (1 << 24) - 0.5);
  }
}
template <class F>
double greatest_difference(const void* a, const void* b, size_t count) {
  double out = 0, scale = 1e-30;
  for (size_t i = 0; i < count; ++i) {
    out = std::max(out, std::abs(static_cast<double>(static_cast<const F*>(a)[i]) - static_cast<double>(static_cast<const F*>(b)[i])));
    scale = std::max(scale, std::abs(static_cast<double>(static_cast<const F*>(a)[i])));
  }
  return out / scale;
}

std::vector<Contestant> contestants_of(const Subject& subject, const Workshop& workshop, size_t wanted) {
  const auto model = analytic_model(workshop.machine_model(1));
  std::vector<Contestant> out;
  auto strategy = enumerate_by_model(search_spaces(subject.templates, *model), {.enumeration_limit = 4000, .epsilon = 0.6});
  std::vector<Candidate> chosen = strategy->ask(wanted);
  for (const auto& candidate : chosen) {
    const NestTemplate& nest_template = subject.templates[candidate.sketch];
    const LoopNest nest = take(instantiate(nest_template, candidate.decisions));
    if (!workshop.for_runner(nest)) continue;  // spills
    auto kernel = workshop.load(nest);
    if (kernel) out.push_back({trace_text(nest_template, candidate.decisions), candidate.sketch, candidate.predicted_ns, 1e300, *kernel});
  }
  return out;
}

double call_ns(LoadedKernel& kernel, const std::vector<void*>& raw, int repetitions) {
  const auto start = Clock::now();
  for (int r = 0; r < repetitions; ++r)
    if (take(kernel.call_raw(raw)) != 0) stop("a kernel refused its arguments");
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / repetitions;
}

Json measured(const Program& program, const std::string& text, const Workshop& workshop, size_t wanted) {
  const Subject subject = subject_of(program, workshop);
  auto contestants = contestants_of(subject, workshop, wanted);
  if (contestants.empty()) stop("no schedule was built");
  const LoopNest first = take(instantiate(subject.templates[0], values_of(subject.templates[0].trace)));
  Memory memory;
  size_t outputs = 0, output_elements = 0;
  ElementType type = ElementType::f32;
  for (BufferId id : first.arguments) {
    const Buffer& buffer = first.buffers[id];
    const auto elements = static_cast<size_t>(std::accumulate(buffer.extents.begin(), buffer.extents.end(), int64_t{1}, std::multiplies<>()));
    type = buffer.type;
    if (type != ElementType::f32 && type != ElementType::f64) stop("only programs of f32 or f64 are compared here");
    void* at = memory.add(elements * static_cast<size_t>(size_bytes(type)));
    type == ElementType::f32 ? fill<float>(at, elements) : fill<double>(at, elements);
    outputs = memory.raw.size() - 1;  // the last one
    output_elements = elements;
  }
  const size_t bytes = output_elements * static_cast<size_t>(size_bytes(type));
  std::vector<unsigned char> expected(bytes);
  for (size_t c = 0; c < contestants.size(); ++c) {
    std::memset(memory.raw[outputs], 0x7f, bytes);
    call_ns(*contestants[c].kernel, memory.raw, 1);
    if (c == 0) std::memcpy(expected.data(), memory.raw[outputs], bytes);
    const double difference = type == ElementType::f32 ? greatest_difference<float>(expected.data(), memory.raw[outputs], output_elements)
                                                       : greatest_difference<double>(expected.data(), memory.raw[outputs], output_elements);
    if (!(difference < 1e-4)) stop("two schedules differ by " + std::to_string(difference) + ":\n" + contestants[0].trace + contestants[c].trace);
  }
  for (int round = 0; round < 5; ++round)
    for (auto& c : contestants) {
      const double once = call_ns(*c.kernel, memory.raw, 1);
      const int repetitions = std::clamp(static_cast<int>(1e6 / once), 1, 1000);
      for (int part = 0; part < (once < 2e7 ? 3 : 1); ++part) c.ns = std::min(c.ns, call_ns(*c.kernel, memory.raw, repetitions));
    }
  Json out = {{"program", text}, {"schedules", Json::array()}};
  for (const auto& c : contestants) out["schedules"].push_back({{"trace", c.trace}, {"ns", c.ns}});
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

std::string one_line(std::string trace) {
  std::replace(trace.begin(), trace.end(), '\n', ';');
  return trace;
}

double judge(const Json& store, const Workshop& workshop, bool verbose) {
  const Program program = take(parse_program(store["program"].get<std::string>()));
  const Task task = take(make_task(program, {}, workshop.target()));
  const auto model = analytic_model(workshop.machine_model(1));
  std::vector<double> predicted, ns;
  std::vector<size_t> order;
  for (const auto& s : store["schedules"]) {
    const Trace trace = take(parse_trace(s["trace"].get<std::string>()));
    const NestTemplate nest_template = take(schedules::replay(task.program, task.key.cls, trace));
    predicted.push_back(model->predict_ns(take(instantiate(nest_template, values_of(nest_template.trace)))));
    ns.push_back(s["ns"].get<double>());
    order.push_back(order.size());
  }
  const double best = *std::min_element(ns.begin(), ns.end());
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return predicted[a] < predicted[b]; });
  if (verbose)
    for (size_t i : order)
      std::printf("%10.1f us measured %10.1f us predicted  %.2f  %s\n", ns[i] / 1e3, predicted[i] / 1e3, predicted[i] / ns[i],
                  one_line(store["schedules"][i]["trace"].get<std::string>()).c_str());
  double best_of_ten = 1e300;
  for (size_t k = 0; k < std::min<size_t>(10, order.size()); ++k) best_of_ten = std::min(best_of_ten, ns[order[k]]);
  std::printf("%-24s %3zu schedules  best %10.1f us  rank correlation %.2f  first choice %.3f of the best, best of ten %.3f\n",
              store["program"].get<std::string>().substr(0, store["program"].get<std::string>().find('\n')).c_str(), ns.size(), best / 1e3,
              rank_correlation(predicted, ns), best / ns[order[0]], best / best_of_ten);
  return best / ns[order[0]];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const Workshop workshop(take(find_target("host")));
  if (verb == "measure" && argc > 4) {
    Json all = Json::array();
    for (int f = 4; f < argc; ++f) {
      std::ifstream file(argv[f]);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      all.push_back(measured(take(parse_program(text)), text, workshop, static_cast<size_t>(std::atoi(argv[3]))));
      judge(all.back(), workshop, false);
    }
    std::ofstream(argv[2]) << all.dump(1) << '\n';
    return 0;
  }
  if ((verb == "judge" || verb == "list") && argc > 2) {
    double product = 1;
    int count = 0;
    for (int f = 2; f < argc; ++f) {
      std::ifstream file(argv[f]);
      for (const auto& store : Json::parse(file)) product *= judge(store, workshop, verb == "list"), ++count;
    }
    std::printf("first choice: geomean %.3f of the best, %d programs\n", std::pow(product, 1.0 / std::max(count, 1)), count);
    return 0;
  }
  stop("usage: bench_rank measure STORE CANDIDATES FILE... | bench_rank judge STORE... | bench_rank list STORE...");
}
