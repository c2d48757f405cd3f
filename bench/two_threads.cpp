// How near programs on two threads come to what both cores can do, in one run: multiply-adds in registers on both cores at once for products, a copy past the caches by
// both cores for softmax. The model's first schedules are timed briefly, the best one is judged: rounds of ceiling, kernel, ceiling, the multiply-adds for as long as the
// kernel (a clock is higher in short bursts); a round is quiet where both ceilings are within 3 % of their upper decile. Prints the median share of quiet rounds. Run it
// alone on the machine.
//
//   bench_two_threads [CANDIDATES [ROUNDS [FILE.weft [FILE.trace]]]]       (by default 8 and 40, and three programs of its own)
#include <HalideRuntime.h>
#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "driver/spaces.h"
#include "driver/task.h"
#include "driver/workshop.h"
#include "polyweft/cost_model.h"
#include "polyweft/search.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "targets/cpu/calibrate.h"

using namespace polyweft;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kThreads = 2;

struct Subject {
  std::string name, text;
  double flops = 0;  ///< 0: bound by memory
  double bytes = 0;  ///< read and written
};

std::vector<Subject> own_subjects() {
  return {
      {"gemm 1024", "program gemm(M = 1024, N = 1024, K = 1024)\nin A: f32[M, K]\nconst in B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n",
       2.0 * 1024 * 1024 * 1024, 0},
      {"conv 56x56 64->64 3x3",
       "program conv(N = 1)\nin X: f32[N, 56, 56, 64]\nconst in W: f32[3, 3, 64, 64]\nout Y[n: N, y: 56, x: 56, f: 64] =\n"
       "  sum[p: 3, t: 3, c: 64 where 0 <= y + p - 1 < 56 and 0 <= x + t - 1 < 56] X[n, y + p - 1, x + t - 1, c] * W[p, t, c, f]\n",
       2.0 * 56 * 56 * 64 * 64 * 9, 0},
      {"softmax 2048^2",
       "program softmax(R = 2048, C = 2048)\nin X: f32[R, C]\nlet m[i: R] = max[j: C] X[i, j]\nlet e[i: R, j: C] = exp(X[i, j] - m[i])\n"
       "let s[i: R] = sum[j: C] e[i, j]\nout O[i: R, j: C] = e[i, j] / s[i]\n",
       0, 2.0 * 2048 * 2048 * 4},
  };
}

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "bench_two_threads: %s\n", message.c_str());
  std::exit(3);
}
template <class T>
T take(Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(result).value();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}
template <class F>
double ns_of(const F& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Work of both cores at once, in the kernels' own pool.
class Ceiling {
 public:
  Ceiling(const Target& target, const Subject& subject, double kernel_ns)
      : target_(target),
        subject_(subject),
        loops_(std::max(1, static_cast<int>(kernel_ns / loop_ns(target) + 0.5))),
        from_(subject.flops > 0 ? 0 : lines()),
        to_(from_.size()) {}
  /// Flops or bytes a nanosecond.
  double rate() {
    const auto work = [&] { halide_do_par_for(nullptr, subject_.flops > 0 ? multiply : copy, 0, kThreads, reinterpret_cast<uint8_t*>(this)); };
    if (subject_.flops == 0) work();  // the second core may have been asleep
    const double ns = ns_of(work);
    return subject_.flops > 0 ? done_[0] + done_[1] > 0 ? (done_[0] + done_[1]) / ns : 0 : subject_.bytes / ns;
  }

 private:
  struct alignas(64) Line {
    float cells[16];
  };
  static double loop_ns(const Target& target) {
    double least = 1e300;
    for (int k = 0; k < 20; ++k) least = std::min(least, ns_of([&] { targets::run_fma_loop(target); }));
    return least;
  }
  size_t lines() const { return static_cast<size_t>(subject_.bytes / 2 / sizeof(Line)); }
  static int multiply(void*, int thread, uint8_t* data) {
    auto& self = *reinterpret_cast<Ceiling*>(data);
    double flops = 0;
    for (int k = 0; k < self.loops_; ++k) flops += targets::run_fma_loop(self.target_);
    self.done_[static_cast<size_t>(thread)] = flops;
    return 0;
  }
  static int copy(void*, int thread, uint8_t* data) {
    auto& self = *reinterpret_cast<Ceiling*>(data);
    const size_t part = self.from_.size() / kThreads;
    const Line* from = self.from_.data() + static_cast<size_t>(thread) * part;
    Line* to = self.to_.data() + static_cast<size_t>(thread) * part;
    for (size_t k = 0; k < part; ++k)
      for (int q = 0; q < 16; q += 4) _mm_stream_ps(to[k].cells + q, _mm_load_ps(from[k].cells + q));
    _mm_sfence();
    return 0;
  }
  const Target& target_;
  const Subject& subject_;
  int loops_;  ///< of multiply-adds, on each core
  std::vector<Line> from_, to_;
  double done_[kThreads] = {};
};

/// Arguments on lines of their own, filled with small numbers.
struct Arguments {
  std::vector<std::vector<unsigned char>> storage;
  std::vector<void*> raw;
  explicit Arguments(const std::vector<ArgumentSpec>& specs) {
    for (const ArgumentSpec& spec : specs) {
      const auto count = static_cast<size_t>(std::accumulate(spec.extents.begin(), spec.extents.end(), int64_t{1}, std::multiplies<>()));
      if (spec.type != ElementType::f32) stop("only programs of f32");
      storage.emplace_back(count * sizeof(float) + 128);
      const auto address = reinterpret_cast<uintptr_t>(storage.back().data());
      raw.push_back(storage.back().data() + (64 - address % 64) % 64);
      for (size_t k = 0; k < count; ++k) static_cast<float*>(raw.back())[k] = static_cast<float>((k * 2654435761u >> 9) % 1000) / 1000 - 0.5f;
    }
  }
};

struct Contestant {
  std::string trace;
  std::shared_ptr<LoadedKernel> kernel;
  double ns = 1e300;
  double call(const std::vector<void*>& raw) {
    return ns_of([&] {
      if (take(kernel->call_raw(raw)) != 0) stop("a kernel refused its arguments");
    });
  }
};

Contestant contestant(const Workshop& workshop, const NestTemplate& nest_template, const std::vector<int64_t>& decisions) {
  return {trace_text(nest_template, decisions), take(workshop.load(take(instantiate(nest_template, decisions))))};
}

std::vector<Contestant> contestants(const Workshop& workshop, const Task& task, int threads, size_t wanted) {
  const MachineModel machine = workshop.machine_model(threads);
  schedules::TargetFacts facts;
  facts.vector_bytes = machine.vector_bytes;
  facts.vector_registers = machine.vector_registers;
  facts.cache_bytes = machine.cache_bytes;
  facts.threads = threads;
  const auto templates = take(schedules::sketch_templates(task.program, task.key.cls, facts));
  const auto model = analytic_model(machine);
  auto strategy = enumerate_by_model(search_spaces(templates, *model), {.enumeration_limit = 4000, .epsilon = 0});
  std::vector<Contestant> out;
  for (const auto& candidate : strategy->ask(wanted))
    if (workshop.for_runner(take(instantiate(templates[candidate.sketch], candidate.decisions))))
      out.push_back(contestant(workshop, templates[candidate.sketch], candidate.decisions));
  return out;
}

Contestant best_of(std::vector<Contestant> all, const std::vector<void*>& raw) {
  if (all.empty()) stop("no schedule was built");
  for (int round = 0; round < 5; ++round)
    for (Contestant& c : all) c.ns = std::min({c.ns, c.call(raw), c.call(raw)});
  return *std::min_element(all.begin(), all.end(), [](const Contestant& a, const Contestant& b) { return a.ns < b.ns; });
}

/// What a nest pays beside its parts: two parts that each take `part_ns`, called in a row or after a pause in which the pool falls asleep. (Empty parts
/// would show nothing: the caller has done both before the other thread is awake.)
double fork_join_ns(double part_ns, int pause_us) {
  const auto part = [](void*, int, uint8_t* length) {
    for (const auto start = Clock::now(); std::chrono::duration<double, std::nano>(Clock::now() - start).count() < *reinterpret_cast<const double*>(length);) {
    }
    return 0;
  };
  std::vector<double> ns;
  for (int k = 0; k < (pause_us > 0 ? 100 : 1000); ++k) {
    if (pause_us > 0) usleep(static_cast<useconds_t>(pause_us));
    ns.push_back(ns_of([&] { halide_do_par_for(nullptr, part, 0, kThreads, reinterpret_cast<uint8_t*>(&part_ns)); }) - part_ns);
  }
  return median(ns);
}

void print_fork_join() {
  std::printf("fork and join, beside two parts of each length, in a row and after pauses of 1 ms:");
  for (double us : {2, 5, 10, 20, 50, 100}) std::printf("  %.0f us: %.1f, %.1f us", us, fork_join_ns(us * 1e3, 0) / 1e3, fork_join_ns(us * 1e3, 1000) / 1e3);
  std::printf("\n");
}

struct Round {
  double before, after, ns, alone_ns;
};

void judge(const Subject& subject, const Workshop& workshop, size_t candidates, int rounds, const std::string& trace) {
  const Task task = take(make_task(take(parse_program(subject.text)), {}, workshop.target()));
  std::vector<Contestant> two;
  if (trace.empty()) {
    two = contestants(workshop, task, kThreads, candidates);
  } else {
    const NestTemplate given = take(schedules::replay(task.program, task.key.cls, take(parse_trace(trace))));
    if (std::getenv("PW_NEST")) std::printf("%s\n", print(take(instantiate(given, values_of(given.trace)))).c_str());
    two.push_back(contestant(workshop, given, values_of(given.trace)));
  }
  const auto base = take(schedules::base_template(task.program, task.key.cls));
  Arguments arguments(argument_specs(take(instantiate(base, {})), task.program));
  Contestant best = best_of(std::move(two), arguments.raw), alone = best_of(contestants(workshop, task, 1, candidates), arguments.raw);
  Ceiling ceiling(workshop.target(), subject, best.ns);
  std::vector<Round> all;
  for (int r = 0; r < rounds; ++r) {
    Round round{};
    round.before = ceiling.rate();
    round.ns = best.call(arguments.raw);
    round.after = ceiling.rate();
    round.alone_ns = alone.call(arguments.raw);
    all.push_back(round);
  }
  if (std::getenv("PW_ROUNDS"))
    for (const Round& r : all) std::printf("  %7.1f %9.1f us %7.1f  alone %9.1f us\n", r.before, r.ns / 1e3, r.after, r.alone_ns / 1e3);
  std::vector<double> ceilings;
  for (const Round& r : all) ceilings.insert(ceilings.end(), {r.before, r.after});
  std::sort(ceilings.begin(), ceilings.end());
  const double top = ceilings.empty() ? 0 : ceilings[ceilings.size() * 9 / 10];
  std::vector<double> shares, speedups, times;
  const double work = subject.flops > 0 ? subject.flops : subject.bytes;
  for (const Round& r : all)
    if (std::min(r.before, r.after) >= 0.97 * top) {
      shares.push_back(work / r.ns / ((r.before + r.after) / 2));
      speedups.push_back(r.alone_ns / r.ns);
      times.push_back(r.ns);
    }
  std::sort(shares.begin(), shares.end());
  const double low = shares.empty() ? 0 : shares[shares.size() / 4], high = shares.empty() ? 0 : shares[shares.size() * 3 / 4];
  std::printf("%-24s %9.1f us  ceiling %7.1f %s  share %.3f (quartiles %.3f..%.3f, %zu of %d rounds quiet)  one thread %9.1f us  speed-up %.2f\n", subject.name.c_str(),
              median(times) / 1e3, top, subject.flops > 0 ? "GFLOP/s" : "GB/s", median(shares), low, high, shares.size(), rounds, alone.ns / 1e3, median(speedups));
  if (std::getenv("PW_TRACE")) std::printf("%s\n", best.trace.c_str());
}

std::string contents(const char* path) {
  std::ifstream file(path);
  if (!file) stop(std::string("cannot read ") + path);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

}  // namespace

int main(int argc, char** argv) {
  const auto candidates = static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 8);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 40;
  halide_set_num_threads(kThreads);
  print_fork_join();
  const Workshop workshop(take(find_target("host")));
  std::vector<Subject> subjects = own_subjects();
  if (argc > 3) {
    const Program program = take(parse_program(contents(argv[3])));
    subjects = {{argv[3], contents(argv[3]), 0, 0}};
    subjects[0].flops =
        count_flops(take(instantiate(take(schedules::base_template(take(make_task(program, {}, workshop.target())).program, NumericsClass::reassoc)), {})));
  }
  for (const Subject& subject : subjects) judge(subject, workshop, candidates, rounds, argc > 4 ? contents(argv[4]) : "");
}
