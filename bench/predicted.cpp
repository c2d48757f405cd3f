// What the cost model says of schedules: bench_predicted TARGET FILE.weft [-p NAME=N].. TRACE..
// A line each: the nanoseconds that the model predicts for one call, and the trace's path. Nothing is proven or run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/take.h"
#include "driver/task.h"
#include "ir/nests/suit_target.h"
#include "lang/parser.h"
#include "poly/band.h"
#include "polyweft/cost_model.h"
#include "polyweft/target.h"
#include "schedules/steps.h"

using namespace polyweft;
using bench::stop;
using bench::take;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) stop("cannot read " + path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

Result<double> predicted_ns(const Program& program, const Target& target, const std::string& path) {
  auto trace = parse_trace(contents(path));
  if (!trace) return trace.error();
  const schedules::Isl isl{nullptr,
                           [&](const poly::BandQuestion& question) { return poly::band_facts(program, question); }};
  auto made = schedules::replay(program, NumericsClass::reassoc, *trace, isl);
  if (!made) return made.error();
  ir::suit_target(*made, target);
  auto nest = instantiate(*made, values_of(made->trace));
  if (!nest) return nest.error();
  return analytic_model(target.machine)->predict_ns(*nest);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench_predicted TARGET FILE.weft [-p NAME=N].. TRACE..\n");
    return 2;
  }
  const Target target = take(find_target(argv[1]));
  std::map<std::string, int64_t> sizes;
  std::vector<std::string> traces;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    if (word != "-p" || i + 1 == argc) {
      traces.push_back(word);
      continue;
    }
    const std::string bound = argv[++i];
    const size_t at = bound.find('=');
    sizes[bound.substr(0, at)] = std::atoll(bound.c_str() + (at == std::string::npos ? at : at + 1));
  }
  const auto parsed = take(lang::parse(contents(argv[2]), argv[2]));
  const Program& source = parsed.programs.front();
  const Program program = normalize(polyweft::bind(source, take(make_binding(source, sizes))));
  for (const std::string& path : traces)
    if (const auto ns = predicted_ns(program, target, path))
      std::printf("%14.0f %s\n", *ns, path.c_str());
    else
      std::printf("%14s %s: %s\n", "-", path.c_str(), ns.error().message.c_str());
  return 0;
}
