// Polyweft against the libraries that Debian packages, in one process, interleaved.
//
//   bench_peers [--threads N] [--rounds N] [--only TEXT] [--database FILE] [--tune SECONDS]
//
// Each result is compared before anything is timed. A round calls everybody in turn; the ratio peer / ours is taken
// within a round, so that a slow moment of the machine strikes both. Exit 1: somebody's result is wrong.
#include <HalideRuntime.h>
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>

#include "peers/case.h"
#include "polyweft/tuner.h"

namespace polyweft::peers {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int threads = 1, rounds = 21, tune_s = 0;
  std::string only, database;
};

double median(std::vector<double> values, double at = 0.5) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Memory at 64 bytes, as most callers have it.
struct Aligned {
  explicit Aligned(size_t bytes) : at(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), size(bytes) {
    std::memset(at, 0, (bytes + 127) / 64 * 64);
  }
  ~Aligned() { std::free(at); }
  Aligned(const Aligned&) = delete;
  void* at;
  size_t size;
};

halide_type_t type_of(ElementType type) {
  return {type == ElementType::u8 ? halide_type_uint : halide_type_float, static_cast<uint8_t>(8 * size_bytes(type)),
          1};
}

/// A buffer as kernels take it.
struct View {
  View(void* data, ElementType type, const std::vector<int64_t>& extents) : dims(extents.size()) {
    int32_t stride = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      dims[d] = {0, static_cast<int32_t>(extents[extents.size() - 1 - d]), stride, 0};
      stride *= dims[d].extent;
    }
    buffer.host = static_cast<uint8_t*>(data);
    buffer.type = type_of(type);
    buffer.dimensions = static_cast<int32_t>(dims.size());
    buffer.dim = dims.data();
  }
  View(const View&) = delete;
  std::vector<halide_dimension_t> dims;
  halide_buffer_t buffer{};
};

[[noreturn]] void stop(const Error& error) {
  std::fprintf(stderr, "bench_peers: %s %s\n", error.code.c_str(), error.message.c_str());
  std::exit(3);
}

/// Our kernel as a stranger would load it: a shared object, const inputs packed ahead.
class Ours {
 public:
  Ours(Tuner& tuner, const Program& program, const TaskOptions& options, const Data& data,
       const std::vector<ArgumentSpec>& arguments)
      : output_(std::make_unique<View>(nullptr, data.type, arguments.back().extents)) {
    auto built = tuner.build(program, options, Emit::shared, "");
    if (!built) stop(built.error());
    origin_ = built->origin;
    char path[] = "/tmp/polyweft_peers_XXXXXX";
    const int file = mkstemp(path);
    if (file < 0 || write(file, built->bytes.data(), built->bytes.size()) != static_cast<ssize_t>(built->bytes.size()))
      stop(fail("PW0001", "no room in /tmp"));
    close(file);
    handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (!handle_) stop(fail("PW0001", std::string("dlopen: ") + dlerror()));
    kernel_ = dlsym(handle_, "kernel");
    size_t next = 0;
    for (const ArgumentSpec& argument : arguments)
      if (!argument.is_output) add_input(argument.name, data.inputs[next++]);
    for (const auto& view : inputs_) pointers_.push_back(&view->buffer);
    pointers_.push_back(&output_->buffer);
  }
  const std::string& origin() const { return origin_; }
  void call(void* output) {
    output_->buffer.host = static_cast<uint8_t*>(output);
    halide_buffer_t* const* a = pointers_.data();
    int code = -1;
    if (pointers_.size() == 2)
      code = reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*)>(kernel_)(a[0], a[1]);
    if (pointers_.size() == 3)
      code = reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*, halide_buffer_t*)>(kernel_)(a[0], a[1], a[2]);
    if (pointers_.size() == 4)
      code = reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*, halide_buffer_t*, halide_buffer_t*)>(kernel_)(
          a[0], a[1], a[2], a[3]);
    if (code != 0) stop(fail("PW0654", "the kernel returned " + std::to_string(code)));
  }

 private:
  void add_input(const std::string& name, const TensorData& data) {
    memory_.push_back(std::make_unique<Aligned>(data.bytes.size()));
    std::memcpy(memory_.back()->at, data.bytes.data(), data.bytes.size());
    auto plain = std::make_unique<View>(memory_.back()->at, data.type, data.extents);
    auto* bytes = reinterpret_cast<int64_t (*)()>(dlsym(handle_, ("kernel_pack_" + name + "_bytes").c_str()));
    auto* pack =
        reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*)>(dlsym(handle_, ("kernel_pack_" + name).c_str()));
    if (!bytes || !pack) return inputs_.push_back(std::move(plain));
    const int64_t size = bytes();
    memory_.push_back(std::make_unique<Aligned>(static_cast<size_t>(size)));
    inputs_.push_back(std::make_unique<View>(memory_.back()->at, ElementType::u8, std::vector<int64_t>{size}));
    if (pack(&plain->buffer, &inputs_.back()->buffer) != 0) stop(fail("PW0654", "the pack function failed"));
  }
  std::string origin_;
  void *handle_ = nullptr, *kernel_ = nullptr;
  std::unique_ptr<View> output_;
  std::vector<halide_buffer_t*> pointers_;
  std::vector<std::unique_ptr<Aligned>> memory_;
  std::vector<std::unique_ptr<View>> inputs_;
};

/// 0 where equal (or, for functions, close to it), else the largest relative difference.
template <class T>
double difference(const void* a, const void* b, int64_t elements, bool exact) {
  double worst = 0;
  for (int64_t k = 0; k < elements; ++k) {
    const auto x = static_cast<double>(static_cast<const T*>(a)[k]),
               y = static_cast<double>(static_cast<const T*>(b)[k]);
    const double apart = std::fabs(x - y);
    if (!(apart <= (exact ? 0 : 1e-4 * std::max(1.0, std::fabs(x)))))
      worst = std::max(worst, std::isnan(apart) ? INFINITY : apart / std::max(1.0, std::fabs(x)));
  }
  return worst;
}

struct Row {
  std::string family, name, peer, origin;
  double ours_us = 0, peer_us = 0, ratio = 0, low = 0, high = 0;
};

struct Player {
  std::string name;
  std::function<void(void*)> call;
  std::unique_ptr<Aligned> output;
  std::vector<double> us = {};
};

double seconds_of(Player& player, int calls) {
  const auto start = Clock::now();
  for (int k = 0; k < calls; ++k) player.call(player.output->at);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Workers of the pool that ran last still spin for its next call, on the core that the next one's needs. They give up
/// after some milliseconds; then the pool whose turn it is comes back with a call that is not timed.
void take_turn(Player& player, int threads) {
  if (threads == 1) return;
  usleep(6000);
  seconds_of(player, 1);
}

/// Rounds of everybody in turn; the order turns with the rounds.
void race(std::vector<Player>& players, int rounds, int threads) {
  int calls = 1;
  while (seconds_of(players[0], calls) < 0.0005 && calls < 100'000) calls *= 2;
  for (Player& player : players) seconds_of(player, calls);
  for (int round = 0; round < rounds; ++round)
    for (size_t k = 0; k < players.size(); ++k) {
      Player& player = players[(k + static_cast<size_t>(round)) % players.size()];
      take_turn(player, threads);
      player.us.push_back(1e6 * seconds_of(player, calls) / calls);
    }
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), tuner_(make_tuner(options)) {}

  int run() {
    for (const Case& c : all_cases())
      if ((c.family + " " + c.name).find(options_.only) != std::string::npos) run(c);
    print_summary();
    return wrong_ ? 1 : 0;
  }

 private:
  static Tuner make_tuner(const Options& options) {
    TunerOptions tuner;
    tuner.database = options.database;
    tuner.may_miss_database = true;
    return Tuner(*find_target("host"), tuner);
  }

  void run(const Case& c) {
    auto program = parse_program(c.text);
    if (!program) stop(program.error());
    TaskOptions task;
    task.threads = options_.threads;
    if (options_.tune_s > 0) tune(*program);
    auto inputs = tuner_.make_inputs(*program, task, c.exact ? InputSet::integer_valued : InputSet::random, 1);
    if (!inputs) stop(inputs.error());
    Data data{std::move(*inputs)};
    data.type = data.inputs[0].type;
    auto kernel = tuner_.compile(*program, task);
    if (!kernel) stop(kernel.error());
    const std::vector<int64_t>& extents = kernel->arguments().back().extents;
    data.output_elements = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
    Ours ours(tuner_, *program, task, data, kernel->arguments());
    Peers peers;
    c.add_peers(data, peers);
    std::vector<Player> players;
    const size_t bytes = static_cast<size_t>(data.output_elements * size_bytes(data.type));
    players.push_back({"polyweft", [&](void* out) { ours.call(out); }, std::make_unique<Aligned>(bytes)});
    for (Peer& peer : peers) players.push_back({peer.name, std::move(peer.call), std::make_unique<Aligned>(bytes)});
    for (Player& player : players) player.call(player.output->at);
    keep_those_who_agree(c, data, players);
    if (players.size() < 2) return;
    race(players, options_.rounds, options_.threads);
    report(c, ours.origin(), players);
  }

  void tune(const Program& program) {
    TuneOptions options;
    options.threads = options_.threads;
    options.budget = std::chrono::seconds(options_.tune_s);
    if (auto report = tuner_.tune(program, options); !report) stop(report.error());
  }

  void keep_those_who_agree(const Case& c, const Data& data, std::vector<Player>& players) {
    for (size_t k = players.size(); k-- > 1;) {
      const double apart =
          data.type == ElementType::f64
              ? difference<double>(players[0].output->at, players[k].output->at, data.output_elements, c.exact)
              : difference<float>(players[0].output->at, players[k].output->at, data.output_elements, c.exact);
      if (apart == 0) continue;
      std::printf("%s %s: polyweft and %s differ by %.3g: not timed\n", c.family.c_str(), c.name.c_str(),
                  players[k].name.c_str(), apart);
      wrong_ = true;
      players.erase(players.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }

  void report(const Case& c, const std::string& origin, const std::vector<Player>& players) {
    Row best;
    std::string others;
    for (size_t k = 1; k < players.size(); ++k) {
      std::vector<double> ratios;
      for (size_t r = 0; r < players[k].us.size(); ++r) ratios.push_back(players[k].us[r] / players[0].us[r]);
      Row row{c.family,
              c.name,
              players[k].name,
              origin,
              median(players[0].us),
              median(players[k].us),
              median(ratios),
              median(ratios, 0.25),
              median(ratios, 0.75)};
      char text[60];
      std::snprintf(text, sizeof text, "  %s %.2f", row.peer.c_str(), row.ratio);
      others += text;
      if (best.peer.empty() || row.ratio < best.ratio) best = row;
    }
    if (rows_.empty())
      std::printf("%-16s %-26s %11s %11s  %-9s %6s  %-12s  all\n", "family", "case", "ours us", "best us", "best peer",
                  "ratio", "quartiles");
    std::printf("%-16s %-26s %11.4f %11.4f  %-9s %6.3f  %.3f..%.3f %s\n", best.family.c_str(), best.name.c_str(),
                best.ours_us, best.peer_us, best.peer.c_str(), best.ratio, best.low, best.high, others.c_str());
    std::fflush(stdout);
    rows_.push_back(best);
  }

  void print_summary() const {
    std::map<std::string, std::pair<double, int>> geomean;
    for (const Row& row : rows_) {
      geomean[row.family].first += std::log(row.ratio);
      ++geomean[row.family].second;
    }
    std::printf(
        "\n%d thread%s, %d rounds; ratio = best peer's time / ours, above 1: we are quicker. Geometric means:\n",
        options_.threads, options_.threads == 1 ? "" : "s", options_.rounds);
    for (const auto& [family, sum] : geomean)
      std::printf("  %-16s %.3f of %d\n", family.c_str(), std::exp(sum.first / sum.second), sum.second);
    std::printf("losses (the upper quartile is below 1):\n");
    for (const Row& row : rows_)
      if (row.high < 1)
        std::printf("  %-16s %-26s %.3f against %s (%s)\n", row.family.c_str(), row.name.c_str(), row.ratio,
                    row.peer.c_str(), row.origin.c_str());
  }

  Options options_;
  Tuner tuner_;
  std::vector<Row> rows_;
  bool wrong_ = false;
};

bool read(int argc, char** argv, Options& o) {
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string name = argv[k], value = argv[k + 1];
    if (name == "--threads")
      o.threads = std::atoi(value.c_str());
    else if (name == "--rounds")
      o.rounds = std::atoi(value.c_str());
    else if (name == "--only")
      o.only = value;
    else if (name == "--database")
      o.database = value;
    else if (name == "--tune")
      o.tune_s = std::atoi(value.c_str());
    else
      return false;
  }
  return argc % 2 == 1 && o.threads > 0 && o.rounds > 0;
}

/// Before any library starts a thread: the process stays on its cores, the pools get as many threads.
void settle(int threads) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int k = 0; k < threads; ++k) CPU_SET(k, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "HL_NUM_THREADS"})
    setenv(name, std::to_string(threads).c_str(), 1);
  setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);  // its workers spin 2^20 cycles, not 2^26
  // Debian's OpenBLAS and BLIS are older than many CPUs and fall back to plain kernels where they do not know the name:
  // their AVX-512 family by hand.
  if (__builtin_cpu_supports("avx512f") == 0) return;
  setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  setenv("BLIS_ARCH_TYPE", "0", 0);
}

}  // namespace
}  // namespace polyweft::peers

int main(int argc, char** argv) {
  polyweft::peers::Options options;
  if (!polyweft::peers::read(argc, argv, options))
    return std::fprintf(
               stderr,
               "usage: bench_peers [--threads N] [--rounds N] [--only TEXT] [--database FILE] [--tune SECONDS]\n"),
           2;
  // The libraries' constructors read the environment, so this process starts once more with it.
  if (!std::getenv("PW_PEERS_SETTLED")) {
    polyweft::peers::settle(options.threads);
    setenv("PW_PEERS_SETTLED", "1", 1);
    execv("/proc/self/exe", argv);
    return 3;
  }
  return polyweft::peers::Bench(options).run();
}
