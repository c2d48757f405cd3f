// Every trace of schedules/library at its own sizes: replayed, proven by the checker in its process, stored in a
// database; then `polyweft db verify` proves all of that database again. A line for each, with the processor time of
// its proof; exit 1 where one is not proven, takes more than 10 s, or verify objects. Usage: bench_library [NAME_PART
// [DATABASE]], the database is made anew. bench_library --programs FOLDER writes the program of each trace there
// instead, as NAME.weft.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "driver/task.h"
#include "ir/nests/suit_target.h"
#include "poly/band.h"
#include "schedules/steps.h"
#include "tests/cpu.h"
#include "tests/library/cases.h"

using namespace polyweft;

namespace {

constexpr double kMostMs = 10'000;

struct Proof {
  std::string name, verdict;
  double ms = 0;
  bool is_good() const { return verdict == name_of(Verdict::proven) && ms <= kMostMs; }
};

Result<LoopNest> nest_by(const Task& task, const std::string& text, const Target& target) {
  const auto trace = parse_trace(text);
  if (!trace) return trace.error();
  const schedules::Isl isl{
      nullptr, [&](const poly::BandQuestion& question) { return poly::band_facts(task.program, question); }};
  auto made = schedules::replay(task.program, task.key.cls, *trace, isl);
  if (!made) return made.error();
  ir::suit_target(*made, target);
  return instantiate(*made, values_of(made->trace));
}

/// What is stored of a trace; nothing was measured but its proof.
TuningRecord record_of(const Task& task, const std::string& trace, const LoopNest& nest) {
  TuningRecord out;
  out.key = task.key;
  out.canonical_text = task.canonical_text;
  out.program_text = task.source_text;
  out.program_name = task.source.name;
  out.trace_text = trace;
  out.nest_text = print(nest);
  out.measurement.nest_hash = hash(nest);
  out.measurement.strategy = "replay";
  out.measurement.toolchain = toolchain();
  out.measurement.unix_time = static_cast<int64_t>(std::time(nullptr));
  out.origin = "library";
  return out;
}

Result<Proof> proof_of(Tuner& tuner, Database& database, const std::filesystem::path& file) {
  const std::string trace = library_test::contents(file);
  const auto program = parse_program(library_test::program_in(trace));
  if (!program) return program.error();
  const auto task = make_task(*program, {}, tuner.target());
  if (!task) return task.error();
  const auto nest = nest_by(*task, trace, tuner.target());
  if (!nest) return nest.error();
  TuningRecord record = record_of(*task, trace, *nest);
  const auto certificate = tuner.prove(record);
  if (!certificate) return certificate.error();
  record.certificate = *certificate;
  if (const auto id = database.insert(record); !id) return id.error();
  return Proof{file.stem(), name_of(certificate->verdict), certificate->check_ms};
}

int write_programs(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& file : library_test::library_files()) {
    const std::string program = library_test::program_in(library_test::contents(file));
    std::ofstream(folder / (file.stem().string() + ".weft")) << program;
  }
  return 0;
}

std::filesystem::path build_folder() {
  return std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
}

}  // namespace

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  if (argc == 3 && argv[1] == std::string("--programs")) return write_programs(argv[2]);
  const std::string wanted = argc > 1 ? argv[1] : "";
  const std::string database =
      argc > 2 ? argv[2] : (std::filesystem::temp_directory_path() / "polyweft-library.db").string();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(database + suffix);
  TunerOptions options;
  options.database = database;
  options.isl_deadline = std::chrono::minutes(2);  // what takes too long is to be seen, too
  std::vector<Proof> proofs;
  {
    Tuner tuner(*find_target("host"), options);
    const auto stores = open_database(database);
    if (!stores) return std::fprintf(stderr, "%s\n", stores.error().message.c_str()), 3;
    for (const auto& file : library_test::library_files()) {
      if (file.stem().string().find(wanted) == std::string::npos) continue;
      const auto proof = proof_of(tuner, **stores, file);
      proofs.push_back(proof ? *proof : Proof{file.stem(), proof.error().code + " " + proof.error().message});
      std::printf("%-44s %9.1f ms  %s\n", proofs.back().name.c_str(), proofs.back().ms, proofs.back().verdict.c_str());
      std::fflush(stdout);
    }
  }
  if (proofs.empty()) return std::fprintf(stderr, "no trace has '%s' in its name\n", wanted.c_str()), 2;
  double sum = 0;
  for (const Proof& proof : proofs) sum += proof.ms;
  const Proof& longest =
      *std::max_element(proofs.begin(), proofs.end(), [](const Proof& a, const Proof& b) { return a.ms < b.ms; });
  const auto good = std::count_if(proofs.begin(), proofs.end(), [](const Proof& p) { return p.is_good(); });
  std::printf("%zu traces, %td proven within %.0f s each, %.1f s together, longest %s with %.2f s\n", proofs.size(),
              good, kMostMs / 1e3, sum / 1e3, longest.name.c_str(), longest.ms / 1e3);
  std::fflush(stdout);
  const std::string verify =
      (build_folder() / "src" / "cli" / "polyweft").string() + " db verify --database " + database;
  std::printf("polyweft db verify --database %s\n", database.c_str());
  std::fflush(stdout);
  const bool verified = std::system(verify.c_str()) == 0;
  return good == static_cast<std::ptrdiff_t>(proofs.size()) && verified ? 0 : 1;
}
