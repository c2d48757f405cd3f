// How well the analytic model ranks the candidates of recorded spaces (bench_record_spaces, before `export`):
//
//   bench_recorded_ranks FOLDER [--only NAME] [--csv FILE]
//
// For each space: the share of pairs of candidates that it orders as they were measured, of those that differ by more
// than their spreads; and how much slower than the best of all the best of those is that it ranks first, among the
// first eight and the first 32. --csv writes a line for each candidate: space, candidate, prediction, measured ratio.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/recorded_spaces/store.h"
#include "bench/take.h"
#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/planner.h"
#include "driver/task.h"
#include "driver/threads.h"
#include "polyweft/cost_model.h"
#include "support/helper_path.h"

using namespace polyweft;
using bench::stop;
using bench::take;

namespace {

struct Ranked {
  int64_t id = 0;
  double predicted_ns = 0, ratio = 0, spread = 0;
};

/// The candidates of one space that ran, predicted anew.
class Space {
 public:
  Space(const std::string& path, const CompileService& compiler)
      : store_(path),
        compiler_(compiler),
        isl_({.helper = helper_program("polyweft-isl")}),
        none_(""),
        trust_({}, isl_, none_),
        planner_(compiler, isl_, none_, trust_) {
    const auto header = store_.header();
    if (!header) stop(path + ": no space");
    TaskOptions options;
    std::istringstream sizes(header->sizes);
    for (std::string word; sizes >> word;) {
      const size_t at = word.find('=');
      options.parameters[word.substr(0, at)] = std::stoll(word.substr(at + 1));
    }
    task_ = take(make_task(take(parse_program(header->program)), options, compiler.target()));
    model_ = analytic_model(calibrated(compiler.machine(1), header->peak_gflops, header->memory_gb_s));
  }
  std::vector<Ranked> ranked() {
    std::map<int64_t, NestTemplate> templates;
    for (const bench::Structure& s : store_.structures())
      if (auto replayed = planner_.replay(task_, s.trace)) templates.emplace(s.id, std::move(*replayed));
    std::vector<Ranked> out;
    for (const bench::Member& m : store_.members()) {
      const auto t = templates.find(m.structure);
      if (t == templates.end() || m.status != RunStatus::ok || m.ratio <= 0) continue;
      if (auto nest = instantiate(t->second, m.decisions))
        out.push_back({m.id, model_->predict_ns(on_threads(*nest, 1)), m.ratio, m.spread});
    }
    return out;
  }

 private:
  bench::SpaceStore store_;
  const CompileService& compiler_;
  IslClient isl_;
  Stored none_;
  Trust trust_;
  Planner planner_;
  Task task_;
  std::unique_ptr<CostModel> model_;
};

double share_of_pairs(const std::vector<Ranked>& all) {
  double right = 0, pairs = 0;
  for (size_t a = 0; a < all.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const double apart = std::abs(std::log(all[a].ratio / all[b].ratio));
      if (apart < std::max(0.02, all[a].spread + all[b].spread)) continue;
      ++pairs;
      right += (all[a].ratio < all[b].ratio) == (all[a].predicted_ns < all[b].predicted_ns);
    }
  return pairs > 0 ? right / pairs : 1;
}

/// Of the best of the first `count` over the best of all, minus 1; candidates in the order of the model.
double regret(const std::vector<Ranked>& all, size_t count) {
  double best = 1e300, found = 1e300;
  for (size_t k = 0; k < all.size(); ++k) {
    best = std::min(best, all[k].ratio);
    if (k < count) found = std::min(found, all[k].ratio);
  }
  return found / best - 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string only, csv;
  if (argc < 2) stop("usage: bench_recorded_ranks FOLDER [--only NAME] [--csv FILE]");
  for (int k = 2; k + 1 < argc; k += 2) (std::string(argv[k]) == "--only" ? only : csv) = argv[k + 1];
  std::ofstream lines;
  if (!csv.empty()) lines.open(csv);
  const CompileService compiler(take(find_target("host")));
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    if (entry.path().extension() == ".db" && entry.path().stem().string().find(only) != std::string::npos)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::vector<Ranked> all = Space(path.string(), compiler).ranked();
    std::stable_sort(all.begin(), all.end(),
                     [](const Ranked& a, const Ranked& b) { return a.predicted_ns < b.predicted_ns; });
    std::printf("%-24s %5zu candidates  pairs in order %.3f  regret of the first %.3f, of 8 %.3f, of 32 %.3f\n",
                path.stem().c_str(), all.size(), share_of_pairs(all), regret(all, 1), regret(all, 8), regret(all, 32));
    std::fflush(stdout);
    for (const Ranked& r : all)
      lines << path.stem().string() << "," << r.id << "," << r.predicted_ns << "," << r.ratio << "\n";
  }
}
