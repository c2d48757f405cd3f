// How long the independent checker takes: nest -> verdict, median ms of 5 proofs, isl operations; and what the helper
// process costs to spawn. Without arguments: packed gemm by two traces, then the first choice of each sketch of the
// examples at their own sizes. Usage: bench_proofs [RUNS [NAME_PART]], or bench_proofs RUNS FILE.weft NEST for the text
// of one nest (`polyweft show RECORD --stage loops`).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "lang/parser.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"

using namespace polyweft;

namespace {

const char* kTuned = R"(trace 1
  tile C [k: kc, j: nr, i: mr]
  permute C [k.1, j.1, i.1, k, i, j]
  promote B in C at k.1 heap layout [d1 / nr, d0, d1 % nr]
  accumulate C at i.1 reg
  unroll C i
  vectorize C j 16
decide nr = 32
decide mr = 13
decide kc = 512
)";
const char* kThreeLevels = R"(trace 1
  tile C [j: nc, k: kc, i: mc, j: nr, i: mr]
  promote B at kc heap layout [j / nr, k, j % nr]
  promote A at mc heap layout [i / mr, k, i % mr]
  accumulate C at mr reg
  unroll C i ; vectorize C j 16 ; parallel C mc
decide nc = 256, kc = 128, mc = 96, nr = 32, mr = 6
)";

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}
template <class T>
T or_die(Result<T> result) {
  if (result) return std::move(result).value();
  die(result.error().code + " " + result.error().message);
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  if (!in) die("cannot read " + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Program program_in(const std::string& path, const std::map<std::string, int64_t>& sizes = {}) {
  auto file = or_die(lang::parse(contents(path), path));
  return normalize(polyweft::bind(file.programs.front(), or_die(make_binding(file.programs.front(), sizes))));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void time_proof(const std::string& name, const Program& program, const LoopNest& nest, int runs) {
  std::vector<double> ms;
  poly::NestCheck last;
  for (int k = 0; k < runs; ++k) {
    last = poly::check_nest(program, nest);
    ms.push_back(last.ms);
  }
  std::printf("%-34s %-10s %9.1f ms %9lu operations %s\n", name.c_str(), name_of(last.verdict), median(ms),
              last.isl_operations, last.message.c_str());
  std::fflush(stdout);
}

LoopNest nest_by(const Program& program, const char* text) {
  Trace trace = or_die(parse_trace(text));
  auto t = or_die(schedules::replay(program, NumericsClass::reassoc, trace));
  return or_die(instantiate(t, values_of(t.trace)));
}

void sketches_of(const std::string& path, const std::string& wanted, int runs) {
  std::string name = std::filesystem::path(path).stem();
  if (name.find(wanted) == std::string::npos) return;
  Program program = program_in(path);
  std::shared_ptr<const LoopNest> recurrence;
  if (schedules::has_recurrence(program))
    recurrence = std::make_shared<LoopNest>(or_die(poly::base_nest(program, NumericsClass::reassoc)));
  Machine machine;
  machine.units.vector_bits = 512;
  machine.units.vector_registers = 32;
  machine.set_caches({48 << 10, 2 << 20, 16 << 20}, FigureOrigin::described);
  int number = 0;
  for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, on_cores(machine, 2))) {
    auto t = schedules::replay(program, NumericsClass::reassoc, trace, recurrence);
    if (!t) continue;
    if (auto nest = instantiate(*t, values_of(trace)))
      time_proof(name + " sketch " + std::to_string(++number), program, *nest, runs);
  }
}

/// From fork to the end of a process that is given nothing to do.
void time_spawn(const std::string& helper, int runs) {
  std::vector<double> ms;
  for (int k = 0; k < runs; ++k) {
    auto start = std::chrono::steady_clock::now();
    pid_t child = fork();
    if (child == 0) {
      if (!std::freopen("/dev/null", "r", stdin)) _exit(126);
      execl(helper.c_str(), helper.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) >= 126)) return;
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("%-34s %-10s %9.1f ms\n", "polyweft-isl: spawn and end", "", median(ms));
}

}  // namespace

int main(int argc, char** argv) {
  int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  if (argc > 3) {
    LoopNest nest = or_die(parse_loop_nest(contents(argv[3])));
    std::map<std::string, int64_t> sizes;
    for (const auto& p : nest.params) sizes[p.name] = p.value;
    time_proof(argv[3], program_in(argv[2], sizes), nest, runs);
    return 0;
  }
  std::string wanted = argc > 2 ? argv[2] : "";
  const std::string examples = std::string(PW_SOURCE_DIR) + "/examples/";
  time_spawn(std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "src/tools/polyweft-isl", runs);
  Program gemm = program_in(examples + "01_gemm.weft");
  for (auto [name, trace] : {std::pair{"gemm 512 tuned", kTuned}, {"gemm 512 three levels", kThreeLevels}})
    if (std::string(name).find(wanted) != std::string::npos) time_proof(name, gemm, nest_by(gemm, trace), runs);
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(examples))
    if (entry.path().extension() == ".weft") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) sketches_of(path, wanted, runs);
}
