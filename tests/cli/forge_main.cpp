// cli_forge DATABASE RECORD: stores the record once more with a nest that leaves out the last step of its first loop
// over k, as proven, with fresh digests and a tempting time: what a forger with our library can do. Prints the number
// of the forged record.
#include <cstdio>
#include <cstdlib>
#include <regex>

#include "polyweft/database.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto database = polyweft::open_database(argv[1]);
  if (!database) return 3;
  auto stored = (*database)->record(std::atoll(argv[2]));
  if (!stored || !*stored) return 1;
  polyweft::TuningRecord record = **stored;
  std::smatch at;
  const std::regex loop(R"((for k\S* in 0 \.\. )(\d+))");
  if (!std::regex_search(record.nest_text, at, loop)) return 1;
  record.nest_text = at.prefix().str() + at[1].str() + std::to_string(std::stoi(at[2].str()) - 1) + at.suffix().str();
  record.measurement.timing.median_ns = 1;
  auto id = (*database)->insert(record);
  if (!id) return std::fprintf(stderr, "%s\n", id.error().message.c_str()), 1;
  std::printf("%lld\n", static_cast<long long>(*id));
  return 0;
}
