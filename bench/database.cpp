// best() in a database of 100,000 records: median and 99th percentile of a look-up, warm; and a hit from open database
// to callable kernel.
#include "polyweft/database.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "polyweft/tuner.h"
#include "tests/db/record_fixture.h"

namespace {

/// Median of 15 requests, each by a Tuner of its own that opens the database, finds the record and makes code of it;
/// milliseconds, < 0: failed.
double hit_ms(const std::string& database) {
  using namespace polyweft;
  const auto gemm = parse_program(
      "program gemm(M = 512, N = 512, K = 512)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, "
      "k] * B[k, j]\n");
  const auto host = find_target("host");
  if (!gemm || !host) return -1;
  TunerOptions options;
  options.database = database;
  TuneOptions few;
  few.trials = 2;
  if (auto tuned = Tuner(*host, options).tune(*gemm, few); !tuned)
    return std::fprintf(stderr, "%s\n", tuned.error().message.c_str()), -1;
  std::vector<double> ms;
  for (int i = 0; i < 15; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Tuner tuner(*host, options);
    auto kernel = tuner.compile(*gemm, TaskOptions{});
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (!kernel || kernel->origin().rfind("record", 0) != 0) return -1;
  }
  std::sort(ms.begin(), ms.end());
  return ms[ms.size() / 2];
}

}  // namespace

int main() {
  using namespace polyweft;
  constexpr int kRecords = 100'000;
  const auto path = std::filesystem::temp_directory_path() / "polyweft-bench.db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
  auto database = open_database(path);
  if (!database) return std::fprintf(stderr, "%s\n", database.error().message.c_str()), 3;
  const std::string nest(4000, 'n');
  const auto fill_start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRecords; ++i) {
    TuningRecord record = numbered_record(i);
    record.nest_text = nest + std::to_string(i);
    if (auto id = (*database)->insert(record); !id) return std::fprintf(stderr, "%s\n", id.error().message.c_str()), 3;
  }
  const double fill_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - fill_start).count();
  // As a process finds it: opened anew, the writes of the fill on the disk and out of the way.
  database = fail("", "");
  ::sync();
  database = open_database(path);
  if (!database) return std::fprintf(stderr, "%s\n", database.error().message.c_str()), 3;
  constexpr int kWarmUp = 5'000;
  std::vector<double> us;
  for (int i = -kWarmUp; i < 20'000; ++i) {
    const TuningRecord wanted = numbered_record(static_cast<int>(((i + kWarmUp) * 7919L) % kRecords));
    const auto start = std::chrono::steady_clock::now();
    auto found = (*database)->best(wanted.key, wanted.canonical_text);
    if (i >= 0)
      us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    if (!found || !*found) return std::fprintf(stderr, "record %d not found\n", i), 1;
  }
  std::sort(us.begin(), us.end());
  std::printf("database: %d records, %.0f durable inserts/s; best(): median %.1f us, p99 %.1f us\n", kRecords,
              kRecords / fill_s, us[us.size() / 2], us[us.size() * 99 / 100]);
  database = fail("", "");
  const double ms = hit_ms(path.string());
  if (ms < 0) return std::fprintf(stderr, "bench_database: the hit failed\n"), 1;
  std::printf("a hit in it, from opening the file to a callable gemm 512^3: median %.1f ms\n", ms);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
}
