// Records the schedules of programs with their measured times, for the replay of searches (tests/replay):
//
//   bench_record_spaces LIST FOLDER [--only NAME] [--candidates N] [--seed S] [--lock FILE] [--runner WORDS]
//   bench_record_spaces export FOLDER TO
//
// LIST has a line for each space: its name, the program's file, sizes. Each becomes FOLDER/NAME.db, a row for each
// candidate as it was measured, so that a recording that was stopped goes on. A candidate is compared with the base
// nest and timed beside the sentinel, the first of the first choices that runs. A third of the candidates are points of
// the rules' sketches, the others are children of candidates measured before, fast and slow ones: one decision changed,
// a mutation, or a crossing. --lock names a file that is locked while a candidate is timed, so that measurements of one
// machine take turns. --runner has words before the runner's command (`chrt -r 10`). `export` writes what a replay
// needs, without traces: TO/NAME.sqlite.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/recorded_spaces/store.h"
#include "bench/take.h"
#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/planner.h"
#include "driver/rule_of_thumb.h"
#include "driver/spaces.h"
#include "driver/task.h"
#include "driver/threads.h"
#include "ir/nests/suit_target.h"
#include "polyweft/cost_model.h"
#include "schedules/mutations/mutations.h"
#include "support/helper_path.h"
#include "support/rng.h"

using namespace polyweft;
using namespace polyweft::bench;

namespace {

constexpr double kFirstSketches = 0.35;  // of the candidates
constexpr size_t kSampled = 400;         // points of a sketch that are predicted, of which some are measured
constexpr int kChildren = 12;            // of a parent
constexpr double kNearBest = 1.15;       // who comes so near is timed by more pairs
constexpr size_t kFinals = 40;           // and so many of the fastest by many pairs

struct SpaceToRecord {
  std::string name, file;
  TaskOptions options;
};
struct Settings {
  std::string only, lock;
  std::vector<std::string> runner;
  int64_t candidates = 2000;
  uint64_t seed = 1;
};

std::vector<SpaceToRecord> spaces_in(const std::string& list) {
  std::ifstream in(list);
  if (!in) stop("no file " + list);
  std::vector<SpaceToRecord> out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    SpaceToRecord space;
    if (line.empty() || line[0] == '#' || !(words >> space.name >> space.file)) continue;
    for (std::string word; words >> word;) {
      const size_t at = word.find('=');
      if (at == std::string::npos) stop(list + ": no size: " + word);
      space.options.parameters[word.substr(0, at)] = std::stoll(word.substr(at + 1));
    }
    out.push_back(std::move(space));
  }
  return out;
}

/// Steps with all decisions open: what differs only in values has one structure.
std::string structure_text(const NestTemplate& t) {
  Trace trace = t.trace;
  for (Decision& decision : trace.decisions)
    if (!decision.candidates.empty()) decision.value = decision.candidates.front();
  return trace.text();
}

/// What one space is recorded with.
class Recording {
 public:
  Recording(const SpaceToRecord& space, const Settings& settings, const CompileService& compiler, IslClient& isl,
            const std::string& folder)
      : space_(space),
        settings_(settings),
        compiler_(compiler),
        store_(folder + "/" + space.name + ".db"),
        trust_({}, isl, none_),
        planner_(compiler, isl, none_, trust_),
        rng_(settings.seed) {
    std::ifstream in(space.file);
    if (!in) stop("no file " + space.file);
    const Program program = take(parse_program(std::string(std::istreambuf_iterator<char>(in), {})));
    task_ = take(make_task(program, space.options, compiler.target()));
    templates_ = take(planner_.sketches(task_));
    begin_space();
    begin_lab();
    mutator_.emplace(task_.program, task_.key.cls, compiler.machine(1),
                     planner_.answers(task_, std::chrono::milliseconds(500)));
  }

  void record() {
    const auto wanted = settings_.candidates;
    add_first_sketches();
    load();
    rng_ = Rng(settings_.seed).fork(members_.size() + 1);
    try_first_choices();
    auto sampled = sampled_points();
    const auto of_first = static_cast<size_t>(kFirstSketches * static_cast<double>(wanted));
    while (count() < static_cast<int64_t>(of_first) && measure_sampled(sampled)) say();
    while (count() < wanted) {
      if (!measure_children()) break;
      say();
    }
    finals();
  }

 private:
  int64_t count() const { return std::ssize(members_); }
  void say() {
    if (count() / 50 == said_) return;
    said_ = count() / 50;
    std::printf("%s: %zu candidates of %zu structures, best %.4f, %lld of %lld children new\n", space_.name.c_str(),
                members_.size(), structures_.size(), best_, static_cast<long long>(new_),
                static_cast<long long>(asked_));
    std::fflush(stdout);
  }

  // The machine's rates are those of the first recording: predictions of one space must be comparable.
  void begin_space() {
    std::optional<SpaceHeader> header = store_.header();
    if (!header) {
      std::string sizes;
      for (const auto& [name, value] : space_.options.parameters)
        sizes += (sizes.empty() ? "" : " ") + name + "=" + std::to_string(value);
      header = SpaceHeader{space_.name,
                           task_.source_text,
                           sizes,
                           task_.key.target,
                           compiler_.target().name,
                           settings_.seed,
                           compiler_.measured_peak_gflops(1),
                           compiler_.measured_memory_gb_s(1),
                           "",
                           0};
      store_.set_header(*header);
    }
    model_ = analytic_model(calibrated(compiler_.machine(1), header->peak_gflops, header->memory_gb_s));
    scorer_ = std::make_unique<Scorer>(*model_);
  }

  void begin_lab() {
    const LoopNest base = take(planner_.base_nest(task_));
    RunnerTask lab;
    lab.arguments = argument_specs(base, task_.program);
    lab.reference = take(compiler_.for_runner(base, CompileService::Spills::allow));
    lab.id = lab.reference.id;
    set_rule_of_thumb(task_, lab);
    std::vector<std::string> command = settings_.runner;
    command.push_back(helper_program("polyweft-runner"));
    runner_ = take(start_local_runner({.command = command}));
    if (auto begun = runner_->begin(lab); !begun) stop(begun.error().message);
  }

  void add_first_sketches() {
    const bool is_new = !store_.has_structures();
    for (uint32_t k = 0; k < templates_.size(); ++k) {
      Structure s{k + 1, k, structure_text(templates_[k]), std::make_shared<const NestTemplate>(templates_[k])};
      if (is_new) store_.add(s, true, choices_of(*s.t));
      add_structure(std::move(s));
    }
  }
  void add_structure(Structure s) {
    last_id_ = std::max(last_id_, s.id);
    if (s.id > 0) by_id_.emplace(s.id, structures_.size());
    by_trace_.emplace(s.trace, structures_.size());
    structures_.push_back(std::move(s));
  }
  std::vector<Choice> choices_of(const NestTemplate& t) const {
    return search_space(t, nullptr, OptionalSteps::open).choices;
  }

  void load() {
    for (Structure& s : store_.structures())
      if (!by_id_.contains(s.id)) add_structure(std::move(s));
    for (Member& m : store_.members()) keep(std::move(m));
    const SpaceHeader header = *store_.header();
    if (header.sentinel.empty()) return;
    const Member& m = members_.at(by_hash_.at(header.sentinel));
    const NestTemplate* t = template_of(structure_of(m));
    if (!t) stop("the sentinel's trace does not replay");
    sentinel_ns_ = header.sentinel_ns;
    const LoadableKernel kernel = take(compiler_.for_runner(on_threads(take(instantiate(*t, m.decisions)), 1)));
    if (auto set = runner_->set_incumbent(kernel); !set) stop(set.error().message);
  }
  size_t structure_of(const Member& m) const { return by_id_.at(m.structure); }
  /// Null where the stored trace gives none.
  const NestTemplate* template_of(size_t structure) {
    Structure& s = structures_[structure];
    if (!s.t)
      if (auto t = planner_.replay(task_, s.trace)) s.t = std::make_shared<const NestTemplate>(std::move(*t));
    return s.t.get();
  }

  size_t keep(Member m) {
    if (m.status == RunStatus::ok && (best_ == 0 || m.ratio < best_)) best_ = m.ratio;
    by_hash_.emplace(m.nest_hash, members_.size());
    members_.push_back(std::move(m));
    return members_.size() - 1;
  }

  /// The candidate's number; nothing where these values give no nest.
  std::optional<size_t> tried(size_t structure, const std::vector<int64_t>& decisions, bool* is_new) {
    const NestTemplate& t = *structures_[structure].t;
    const auto score = scorer_->score(t, decisions);
    if (!score) return std::nullopt;
    if (const auto at = by_hash_.find(score->nest_hash); at != by_hash_.end()) return at->second;
    *is_new = true;
    Member m{count() + 1, 0, decisions, score->predicted_ns, score->nest_hash, RunStatus::not_run, 0, 0, {}};
    measure(take(instantiate(t, decisions)), m);
    if (structures_[structure].id == 0) {
      structures_[structure].id = ++last_id_;
      by_id_.emplace(last_id_, structure);
      store_.add(structures_[structure], false, choices_of(t));
    }
    m.structure = structures_[structure].id;
    m.first_choice = first_choice_;
    store_.add(m);
    return keep(std::move(m));
  }

  Result<RunOutcome> timed(const LoadableKernel& kernel, int pairs, std::chrono::milliseconds budget) {
    RunRequest request;
    request.candidate = kernel;
    request.time_budget = budget;
    request.pair_with_incumbent = request.pair_to_the_end = sentinel_ns_ > 0;
    request.most_pairs = pairs;
    request.incumbent_ns = sentinel_ns_;
    if (sentinel_ns_ > 0)
      request.deadline = std::chrono::milliseconds(50 + static_cast<int64_t>(50 * sentinel_ns_ / 1e6));
    const int file = settings_.lock.empty() ? -1 : open(settings_.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file >= 0 && flock(file, LOCK_EX) != 0) stop("cannot lock " + settings_.lock);
    auto outcome = runner_->run(request);
    if (file >= 0) close(file);
    return outcome;
  }

  void measure(const LoopNest& nest, Member& m) {
    auto kernel = compiler_.for_runner(on_threads(nest, 1));
    if (!kernel) return void(m.status = RunStatus::build_failed);
    const auto tell = [&](int pairs, std::chrono::milliseconds budget) {
      const RunOutcome outcome = take(timed(*kernel, pairs, budget));
      m.status = outcome.status;
      const Timing& timing = outcome.timing;
      if (sentinel_ns_ == 0 && m.status == RunStatus::ok) begin_with(m, *kernel, timing.median_ns);
      m.ratio = timing.ratio > 0 ? timing.ratio : timing.median_ns / std::max(sentinel_ns_, 1.0);
      m.spread = timing.ratio > 0 ? (std::min(timing.ratio_hi, 2 * timing.ratio) - timing.ratio_lo) / 2 / timing.ratio
                                  : timing.ci_rel;
    };
    const bool is_first = sentinel_ns_ == 0;
    tell(15, std::chrono::milliseconds(20));
    if (is_first || m.status != RunStatus::ok || m.ratio > kNearBest * best_) return;
    tell(60, std::chrono::milliseconds(60));
  }
  void begin_with(const Member& m, const LoadableKernel& kernel, double ns) {
    sentinel_ns_ = ns;
    if (auto set = runner_->set_incumbent(kernel); !set) stop(set.error().message);
    store_.set_sentinel(m.nest_hash, ns);
    std::printf("%s: the sentinel takes %.1f us\n", space_.name.c_str(), ns / 1e3);
  }

  void try_first_choices() {
    if (!members_.empty()) return;
    int number = 0;
    for (const Candidate& candidate : planner_.choices(task_, templates_)) {
      bool is_new = false;
      first_choice_ = number;
      tried(candidate.sketch, candidate.decisions, &is_new);
      number += is_new;
    }
    first_choice_.reset();
    if (sentinel_ns_ == 0) stop(space_.name + ": none of the first choices runs");
  }

  struct Point {
    std::vector<int64_t> decisions;
    double predicted_ns = 0;
  };
  struct Sampled {
    std::vector<Point> points;  ///< best first
    double weight = 0;
  };
  std::vector<Sampled> sampled_points() {
    std::vector<Sampled> out(templates_.size());
    double best = 0;
    for (size_t s = 0; s < out.size(); ++s) {
      Rng rng = Rng(settings_.seed).fork(1'000'000 + s);
      const auto choices = choices_of(templates_[s]);
      std::map<std::string, Point> distinct;
      for (size_t k = 0; k < kSampled; ++k) {
        std::vector<int64_t> decisions;
        for (const Choice& choice : choices) decisions.push_back(choice.values[rng.below(choice.values.size())]);
        if (const auto score = scorer_->score(templates_[s], decisions))
          distinct.emplace(score->nest_hash, Point{decisions, score->predicted_ns});
      }
      for (auto& [hash, point] : distinct)
        if (!by_hash_.contains(hash)) out[s].points.push_back(std::move(point));
      std::stable_sort(out[s].points.begin(), out[s].points.end(),
                       [](const Point& a, const Point& b) { return a.predicted_ns < b.predicted_ns; });
      if (!out[s].points.empty() && (best == 0 || out[s].points.front().predicted_ns < best))
        best = out[s].points.front().predicted_ns;
    }
    for (Sampled& s : out)
      if (!s.points.empty()) s.weight = std::max(0.1, best / s.points.front().predicted_ns);
    return out;
  }
  /// Of a sketch, which is drawn by its best prediction: the best that is left, or any. False: none is left.
  bool measure_sampled(std::vector<Sampled>& sampled) {
    double total = 0;
    for (const Sampled& s : sampled) total += s.points.empty() ? 0 : s.weight;
    if (total <= 0) return false;
    double at = rng_.uniform() * total;
    for (size_t s = 0; s < sampled.size(); ++s) {
      auto& points = sampled[s].points;
      if (points.empty() || (at -= sampled[s].weight) > 0) continue;
      const size_t k = rng_.chance(0.6) ? 0 : rng_.below(points.size());
      bool is_new = false;
      tried(s, points[k].decisions, &is_new);
      points.erase(points.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
    return true;
  }

  // Fast ones for the most part, of all candidates or of one family, but any may be a parent.
  std::optional<size_t> parent() {
    const auto families = static_cast<uint32_t>(templates_.size());
    const double kind = rng_.uniform();
    const auto family = static_cast<uint32_t>(rng_.below(families));
    std::vector<size_t> able;
    for (size_t m = 0; m < members_.size(); ++m) {
      const bool is_able = members_[m].status == RunStatus::ok;
      if (is_able && (kind >= 0.4 || structures_[structure_of(members_[m])].family == family)) able.push_back(m);
    }
    if (able.empty()) return std::nullopt;
    std::sort(able.begin(), able.end(), [&](size_t a, size_t b) { return members_[a].ratio < members_[b].ratio; });
    if (kind >= 0.85) return able[rng_.below(able.size())];
    const size_t most = std::max<size_t>(8, able.size() / (kind < 0.4 ? 5 : 20));
    return able[rng_.below(std::min(most, able.size()))];
  }

  std::optional<size_t> child_of(size_t parent_number, const char** kind, bool* is_new) {
    const Member parent = members_[parent_number];
    const NestTemplate* t = template_of(structure_of(parent));
    if (!t) return std::nullopt;
    const double drawn = rng_.uniform();
    if (drawn < 0.3) {
      *kind = "decision";
      std::vector<int64_t> decisions = parent.decisions;
      return change(decisions, choices_of(*t)) ? tried(structure_of(parent), decisions, is_new) : std::nullopt;
    }
    std::optional<NestTemplate> child;
    if (drawn < 0.85) {
      *kind = "mutated";
      child = mutator_->mutated({*t, parent.decisions}, rng_);
    } else {
      *kind = "crossed";
      const auto other = this->parent();
      const NestTemplate* of_other = other ? template_of(structure_of(members_[*other])) : nullptr;
      if (of_other) child = mutator_->crossed({*t, parent.decisions}, {*of_other, members_[*other].decisions}, rng_);
    }
    if (!child) return std::nullopt;
    ir::suit_target(*child, compiler_.target());
    const std::vector<int64_t> decisions = values_of(child->trace);
    std::string trace = structure_text(*child);
    const auto known = by_trace_.find(trace);
    const size_t structure = known == by_trace_.end() ? structures_.size() : known->second;
    if (known == by_trace_.end())
      add_structure({0, structures_[structure_of(parent)].family, std::move(trace),
                     std::make_shared<const NestTemplate>(std::move(*child))});
    return template_of(structure) ? tried(structure, decisions, is_new) : std::nullopt;
  }
  bool change(std::vector<int64_t>& decisions, const std::vector<Choice>& choices) {
    std::vector<size_t> open;
    for (size_t c = 0; c < choices.size(); ++c)
      if (choices[c].values.size() > 1) open.push_back(c);
    if (open.empty()) return false;
    const size_t c = open[rng_.below(open.size())];
    const auto& values = choices[c].values;
    const auto at = std::find(values.begin(), values.end(), decisions[c]) - values.begin();
    const auto next =
        rng_.chance(0.3) ? static_cast<std::ptrdiff_t>(rng_.below(values.size())) : at + (rng_.chance(0.5) ? 1 : -1);
    decisions[c] = values[static_cast<size_t>(std::clamp<std::ptrdiff_t>(next, 0, std::ssize(values) - 1))];
    return true;
  }
  /// False: parents enough, and nothing new.
  bool measure_children() {
    constexpr int kMostParents = 200;
    for (int tries = 0; tries < kMostParents; ++tries) {
      const auto mother = parent();
      if (!mother) continue;
      bool is_any_new = false;
      for (int k = 0; k < kChildren && count() < settings_.candidates; ++k) {
        ++asked_;
        const char* kind = "";
        bool is_new = false;
        const auto child = child_of(*mother, &kind, &is_new);
        new_ += is_new;
        is_any_new |= is_new;
        if (child && *child != *mother) store_.add_edge(members_[*mother].id, members_[*child].id, kind);
      }
      if (is_any_new) return true;
    }
    return false;
  }

  // Of many that are about as fast some were lucky.
  void finals() {
    std::vector<size_t> order;
    for (size_t m = 0; m < members_.size(); ++m)
      if (members_[m].status == RunStatus::ok) order.push_back(m);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return members_[a].ratio < members_[b].ratio; });
    order.resize(std::min(order.size(), kFinals));
    for (const size_t k : order) {
      Member& m = members_[k];
      const NestTemplate* t = template_of(structure_of(m));
      if (!t) continue;
      const auto kernel = compiler_.for_runner(on_threads(take(instantiate(*t, m.decisions)), 1));
      if (!kernel) continue;
      const RunOutcome outcome = take(timed(*kernel, 200, std::chrono::milliseconds(150)));
      if (outcome.status != RunStatus::ok || outcome.timing.ratio <= 0) continue;
      m.ratio = outcome.timing.ratio;
      m.spread = (outcome.timing.ratio_hi - outcome.timing.ratio_lo) / 2 / m.ratio;
      store_.set_time(m);
    }
    std::printf("%s: done, %zu candidates\n", space_.name.c_str(), members_.size());
    std::fflush(stdout);
  }

  SpaceToRecord space_;
  const Settings& settings_;
  const CompileService& compiler_;
  SpaceStore store_;
  Stored none_{""};
  Trust trust_;
  Planner planner_;
  Rng rng_;
  Task task_;
  std::vector<NestTemplate> templates_;
  std::unique_ptr<CostModel> model_;
  std::unique_ptr<Scorer> scorer_;
  std::unique_ptr<Runner> runner_;
  std::optional<schedules::Mutator> mutator_;
  std::vector<Structure> structures_;
  std::map<std::string, size_t> by_trace_;
  std::map<int64_t, size_t> by_id_;
  int64_t last_id_ = 0;
  std::vector<Member> members_;
  std::map<std::string, size_t> by_hash_;
  std::optional<int> first_choice_;
  double sentinel_ns_ = 0, best_ = 0;
  int64_t asked_ = 0, new_ = 0, said_ = 0;
};

void record(const std::string& list, const std::string& folder, const Settings& settings) {
  const CompileService compiler(take(find_target("host")));
  for (const SpaceToRecord& space : spaces_in(list)) {
    if (!settings.only.empty() && settings.only != space.name) continue;
    IslClient::Options options;
    options.helper = helper_program("polyweft-isl");
    IslClient isl(options);
    Recording(space, settings, compiler, isl, folder).record();
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "export") {
    for (const auto& entry : std::filesystem::directory_iterator(words[1]))
      if (entry.path().extension() == ".db")
        take(export_space(entry.path(), std::filesystem::path(words[2]) / (entry.path().stem().string() + ".sqlite")));
    return 0;
  }
  Settings settings;
  if (words.size() < 2) stop("usage: bench_record_spaces LIST FOLDER [options], or export FOLDER TO");
  for (size_t k = 2; k + 1 < words.size(); k += 2) {
    std::istringstream value(words[k + 1]);
    if (words[k] == "--only")
      settings.only = words[k + 1];
    else if (words[k] == "--candidates")
      value >> settings.candidates;
    else if (words[k] == "--seed")
      value >> settings.seed;
    else if (words[k] == "--lock")
      settings.lock = words[k + 1];
    else if (words[k] == "--runner")
      for (std::string word; value >> word;) settings.runner.push_back(word);
    else
      stop("no such option: " + words[k]);
  }
  record(words[0], words[1], settings);
}
