// best() in a database of 100,000 records: median and 99th percentile of a look-up, warm.
#include "polyweft/database.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "tests/db/record_fixture.h"

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
  std::vector<double> us;
  for (int i = 0; i < 20'000; ++i) {
    const TuningRecord wanted = numbered_record(static_cast<int>((i * 7919L) % kRecords));
    const auto start = std::chrono::steady_clock::now();
    auto found = (*database)->best(wanted.key, wanted.canonical_text);
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    if (!found || !*found) return std::fprintf(stderr, "record %d not found\n", i), 1;
  }
  std::sort(us.begin(), us.end());
  std::printf("database: %d records, %.0f durable inserts/s; best(): median %.1f us, p99 %.1f us\n", kRecords, kRecords / fill_s, us[us.size() / 2],
              us[us.size() * 99 / 100]);
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
}
