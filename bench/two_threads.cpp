// How near programs on two threads come to what both cores can do, in one run: multiply-adds in registers on both cores
// at once for products, a copy past the caches by both cores for softmax. The model's first schedules are timed
// briefly, the best one is judged; or those given, in turns: rounds of ceiling, kernel, ceiling, kernel,
// .., ceiling, the multiply-adds for as long as a kernel (a clock is higher in short bursts). Of attached stages on the
// same cores a round knows nothing but its ceilings, so a kernel's time counts where the ceiling right before and the
// one right after agree within 2 %: prints the median and the upper quartile of its shares of their mean there, and of
// those among them where both are within 3 % of the ceilings' upper decile (idle). Also how one core's rate falls when
// the other works too: where it halves, both are one core's two threads. Run it alone on the machine.
//
// PW_CEILING=X: a call waits, in all a minute, for a ceiling of X or more (of products only): what this machine has in
// its idle minutes is known from other runs.
//
//   bench_two_threads [CANDIDATES [ROUNDS [FILE.weft [FILE.trace ..]]]]       (by default 8 and 40, and three programs
//   of its own; only programs of one float type)
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

#include "bench/take.h"
#include "driver/compile_service.h"
#include "driver/spaces.h"
#include "driver/task.h"
#include "ir/nests/suit_target.h"
#include "polyweft/cost_model.h"
#include "polyweft/search.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "support/large_array.h"
#include "targets/cpu/calibrate.h"
#include "tests/cpu.h"

using namespace polyweft;
using bench::stop;
using bench::take;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kThreads = 2;

struct Subject {
  std::string name, text;
  double flops = 0;  ///< 0: bound by memory
  double bytes = 0;  ///< read and written
  bool is_f64 = false;
};

std::vector<Subject> own_subjects() {
  return {
      {"gemm 1024",
       "program gemm(M = 1024, N = 1024, K = 1024)\nin A: f32[M, K]\nconst in B: f32[K, N]\nout C[i: M, j: N] = sum[k: "
       "K] A[i, k] * B[k, j]\n",
       2.0 * 1024 * 1024 * 1024, 0},
      {"conv 56x56 64->64 3x3",
       "program conv(N = 1)\nin X: f32[N, 56, 56, 64]\nconst in W: f32[3, 3, 64, 64]\nout Y[n: N, y: 56, x: 56, f: 64] "
       "=\n"
       "  sum[p: 3, t: 3, c: 64 where 0 <= y + p - 1 < 56 and 0 <= x + t - 1 < 56] X[n, y + p - 1, x + t - 1, c] * "
       "W[p, t, c, f]\n",
       2.0 * 56 * 56 * 64 * 64 * 9, 0},
      {"softmax 2048^2",
       "program softmax(R = 2048, C = 2048)\nin X: f32[R, C]\nlet m[i: R] = max[j: C] X[i, j]\nlet e[i: R, j: C] = "
       "exp(X[i, j] - m[i])\n"
       "let s[i: R] = sum[j: C] e[i, j]\nout O[i: R, j: C] = e[i, j] / s[i]\n",
       0, 2.0 * 2048 * 2048 * 4},
  };
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
        lines_(subject.flops > 0 ? 0 : static_cast<size_t>(subject.bytes / 2 / kLine)),
        from_(lines_ * kLine),
        to_(lines_ * kLine) {}
  /// Flops or bytes a nanosecond.
  double rate() {
    const auto work = [&] {
      halide_do_par_for(nullptr, subject_.flops > 0 ? multiply : copy, 0, kThreads, reinterpret_cast<uint8_t*>(this));
    };
    if (subject_.flops == 0) work();  // the second core may have been asleep
    const double ns = ns_of(work);
    if (subject_.flops == 0) return subject_.bytes / ns;
    return (done_[0] + done_[1]) / (subject_.is_f64 ? 2 : 1) / ns;
  }

 private:
  static constexpr size_t kLine = 64;
  static double loop_ns(const Target& target) {
    double least = 1e300;
    for (int k = 0; k < 20; ++k) least = std::min(least, ns_of([&] { targets::run_fma_loop(target); }));
    return least;
  }
  static int multiply(void*, int thread, uint8_t* data) {
    auto& self = *reinterpret_cast<Ceiling*>(data);
    double flops = 0;
    for (int k = 0; k < self.loops_; ++k) flops += targets::run_fma_loop(self.target_);
    self.done_[static_cast<size_t>(thread)] = flops;
    return 0;
  }
  static int copy(void*, int thread, uint8_t* data) {
    auto& self = *reinterpret_cast<Ceiling*>(data);
    const size_t part = self.lines_ / kThreads * kLine / sizeof(float);
    const float* from = reinterpret_cast<const float*>(self.from_.data()) + static_cast<size_t>(thread) * part;
    float* to = reinterpret_cast<float*>(self.to_.data()) + static_cast<size_t>(thread) * part;
    for (size_t k = 0; k < part; k += 4) _mm_stream_ps(to + k, _mm_load_ps(from + k));
    _mm_sfence();
    return 0;
  }
  const Target& target_;
  const Subject& subject_;
  int loops_;  ///< of multiply-adds, on each core
  size_t lines_;
  LargeArray from_, to_;
  double done_[kThreads] = {};
};

/// Arguments in pages as the runner's, filled with small numbers.
struct Arguments {
  std::vector<LargeArray> storage;
  std::vector<void*> raw;
  explicit Arguments(const std::vector<ArgumentSpec>& specs) {
    for (const ArgumentSpec& spec : specs) {
      const auto count = static_cast<size_t>(
          std::accumulate(spec.extents.begin(), spec.extents.end(), int64_t{1}, std::multiplies<>()));
      if (spec.type != ElementType::f32 && spec.type != ElementType::f64) stop("only programs of f32 and of f64");
      storage.emplace_back(count * static_cast<size_t>(size_bytes(spec.type)));
      raw.push_back(storage.back().data());
      const auto value = [](size_t k) { return static_cast<float>((k * 2654435761u >> 9) % 1000) / 1000 - 0.5f; };
      for (size_t k = 0; k < count; ++k)
        if (spec.type == ElementType::f32)
          static_cast<float*>(raw.back())[k] = value(k);
        else
          static_cast<double*>(raw.back())[k] = value(k);
    }
  }
};

struct Contestant {
  std::string name, trace;
  std::shared_ptr<LoadedKernel> kernel;
  double ns = 1e300;
  double call(const std::vector<void*>& raw) {
    return ns_of([&] {
      if (take(kernel->call_raw(raw)) != 0) stop("a kernel refused its arguments");
    });
  }
};

Contestant contestant(const CompileService& compiler, const NestTemplate& nest_template,
                      const std::vector<int64_t>& decisions) {
  return {"", trace_text(nest_template, decisions), take(compiler.load(take(instantiate(nest_template, decisions))))};
}

std::vector<Contestant> contestants(const CompileService& compiler, const Task& task, int threads, size_t wanted) {
  const Machine machine = compiler.machine(threads);
  const auto templates = take(schedules::sketch_templates(task.program, task.key.cls, machine));
  const auto model = analytic_model(machine);
  auto strategy = enumerate_by_model(search_spaces(templates, *model), {.enumeration_limit = 4000, .epsilon = 0});
  std::vector<Contestant> out;
  for (const auto& candidate : strategy->ask(wanted))
    if (compiler.for_runner(take(instantiate(templates[candidate.sketch], candidate.decisions))))
      out.push_back(contestant(compiler, templates[candidate.sketch], candidate.decisions));
  return out;
}

Contestant best_of(std::vector<Contestant> all, const std::vector<void*>& raw) {
  if (all.empty()) stop("no schedule was built");
  for (int round = 0; round < 5; ++round)
    for (Contestant& c : all) c.ns = std::min({c.ns, c.call(raw), c.call(raw)});
  return *std::min_element(all.begin(), all.end(),
                           [](const Contestant& a, const Contestant& b) { return a.ns < b.ns; });
}

/// What a nest pays beside its parts: two parts that each take `part_ns`, called in a row or after a pause in which the
/// pool falls asleep. (Empty parts would show nothing: the caller has done both before the other thread is awake.)
double fork_join_ns(double part_ns, int pause_us) {
  const auto part = [](void*, int, uint8_t* length) {
    for (const auto start = Clock::now(); std::chrono::duration<double, std::nano>(Clock::now() - start).count() <
                                          *reinterpret_cast<const double*>(length);) {
    }
    return 0;
  };
  std::vector<double> ns;
  for (int k = 0; k < (pause_us > 0 ? 100 : 1000); ++k) {
    if (pause_us > 0) usleep(static_cast<useconds_t>(pause_us));
    ns.push_back(ns_of([&] { halide_do_par_for(nullptr, part, 0, kThreads, reinterpret_cast<uint8_t*>(&part_ns)); }) -
                 part_ns);
  }
  return median(ns);
}

void print_fork_join() {
  std::printf("fork and join, beside two parts of each length, in a row and after pauses of 1 ms:");
  for (double us : {2, 5, 10, 20, 50, 100})
    std::printf("  %.0f us: %.1f, %.1f us", us, fork_join_ns(us * 1e3, 0) / 1e3, fork_join_ns(us * 1e3, 1000) / 1e3);
  std::printf("\n");
}

/// A call between two ceilings.
struct Call {
  double before, after, ns;
};
double part(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values.empty()
             ? 0
             : values[std::min(values.size() - 1, static_cast<size_t>(static_cast<double>(values.size()) * share))];
}

void print_shares(const Subject& subject, const Contestant& contestant, const std::vector<Call>& calls, double top,
                  double alone_ns) {
  const double work = subject.flops > 0 ? subject.flops : subject.bytes;
  std::vector<double> shares, times, idle, ceilings;
  for (const Call& c : calls) {
    const double mean = (c.before + c.after) / 2;
    if (std::abs(c.before - c.after) > 0.02 * mean) continue;
    shares.push_back(work / c.ns / mean);
    times.push_back(c.ns);
    ceilings.push_back(mean);
    if (std::min(c.before, c.after) >= 0.97 * top) idle.push_back(shares.back());
  }
  std::printf(
      "%-24s %9.1f us  ceiling %7.1f %s  share %.3f, upper quartile %.3f (%zu of %zu calls)  idle %.3f, %.3f (%zu, "
      "ceiling %.1f)  one thread %9.1f us\n",
      contestant.name.c_str(), part(times, 0.5) / 1e3, part(ceilings, 0.5), subject.flops > 0 ? "GFLOP/s" : "GB/s",
      part(shares, 0.5), part(shares, 0.75), shares.size(), calls.size(), part(idle, 0.5), part(idle, 0.75),
      idle.size(), top, alone_ns / 1e3);
}

std::string contents(const char* path) {
  std::ifstream file(path);
  if (!file) stop(std::string("cannot read ") + path);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

void judge(const Subject& subject, const CompileService& compiler, size_t candidates, int rounds,
           const std::vector<std::string>& traces) {
  const Task task = take(make_task(take(parse_program(subject.text)), {}, compiler.target()));
  const auto base = take(schedules::base_template(task.program, task.key.cls));
  Arguments arguments(argument_specs(take(instantiate(base, {})), task.program));
  std::vector<Contestant> racers;
  for (const std::string& path : traces) {
    NestTemplate given = take(schedules::replay(task.program, task.key.cls, take(parse_trace(contents(path.c_str())))));
    ir::suit_target(given, compiler.target());
    if (std::getenv("PW_NEST")) std::printf("%s\n", print(take(instantiate(given, values_of(given.trace)))).c_str());
    racers.push_back(contestant(compiler, given, values_of(given.trace)));
    racers.back().name = path.substr(path.rfind('/') + 1);
  }
  if (traces.empty()) {
    racers.push_back(best_of(contestants(compiler, task, kThreads, candidates), arguments.raw));
    racers.back().name = subject.name;
  }
  const Contestant alone = best_of(contestants(compiler, task, 1, traces.empty() ? candidates : 1), arguments.raw);
  for (Contestant& racer : racers)
    racer.ns = std::min({racer.call(arguments.raw), racer.call(arguments.raw), racer.call(arguments.raw)});
  Ceiling ceiling(compiler.target(), subject, racers[0].ns);
  std::vector<std::vector<Call>> calls(racers.size());
  std::vector<double> ceilings{ceiling.rate()};
  const char* wanted = subject.flops > 0 ? std::getenv("PW_CEILING") : nullptr;
  const auto end = Clock::now() + std::chrono::minutes(1);
  for (int r = 0; r < rounds; ++r)
    for (size_t n = 0; n < racers.size(); ++n) {
      const size_t k = (n + static_cast<size_t>(r)) % racers.size();  // nobody always has the same place
      while (wanted && ceilings.back() < std::atof(wanted) && Clock::now() < end) ceilings.push_back(ceiling.rate());
      if (subject.flops == 0)
        racers[k].call(arguments.raw);  // as the copy, once before it counts: the last cache holds some of both
      const double ns = racers[k].call(arguments.raw), before = ceilings.back();
      ceilings.push_back(ceiling.rate());
      calls[k].push_back({before, ceilings.back(), ns});
    }
  if (std::getenv("PW_ROUNDS"))
    for (const Call& c : calls[0]) std::printf("  %7.1f %9.1f us %7.1f\n", c.before, c.ns / 1e3, c.after);
  const double top = part(ceilings, 0.9);
  std::printf("%s: ceilings' quartiles %.1f..%.1f..%.1f, tenths %.1f..%.1f\n", subject.name.c_str(),
              part(ceilings, 0.25), part(ceilings, 0.5), part(ceilings, 0.75), part(ceilings, 0.1), top);
  for (size_t k = 0; k < racers.size(); ++k) print_shares(subject, racers[k], calls[k], top, alone.ns);
  if (std::getenv("PW_TRACE")) std::printf("%s\n", racers[0].trace.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  const auto candidates = static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 8);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 40;
  halide_set_num_threads(kThreads);
  print_fork_join();
  const CompileService compiler(take(find_target("host")));
  std::printf("multiply-adds on one core %.1f, on both %.1f GFLOP/s\n",
              targets::measured_fma_peak_gflops(compiler.target(), 1),
              targets::measured_fma_peak_gflops(compiler.target(), 2));
  std::vector<Subject> subjects = own_subjects();
  if (argc > 3) {
    const Program program = take(parse_program(contents(argv[3])));
    subjects = {{argv[3], contents(argv[3])}};
    subjects[0].flops = count_flops(take(instantiate(
        take(schedules::base_template(take(make_task(program, {}, compiler.target())).program, NumericsClass::reassoc)),
        {})));
    for (const auto& tensor : program.tensors) subjects[0].is_f64 |= tensor.type == ElementType::f64;
  }
  std::vector<std::string> traces;
  for (int k = 4; k < argc; ++k) traces.push_back(argv[k]);
  for (const Subject& subject : subjects) judge(subject, compiler, candidates, rounds, traces);
}
