#include "driver/library_seeds.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "driver/trace_library.h"
#include "ir/nests/suit_target.h"
#include "ir/normalize/normalize.h"
#include "polyweft/cost_model.h"
#include "schedules/seeds/seed_template.h"

namespace polyweft {
namespace {

using schedules::Counterparts;
using schedules::OpenTrace;
using schedules::Structured;
using schedules::VectorUnit;

/// What the library's schedules for CPUs were written for: 16 lanes of f32 in 32 registers.
constexpr VectorUnit kLibraryUnit{64, 32};
constexpr size_t kMostTraces = 12;

/// A trace whose program has the task's structure, and how far the two are apart.
struct Match {
  LibraryTrace of;
  Structured from;
  double distance = 0;
  bool is_users = false;
};

VectorUnit unit_of(const Machine& machine) {
  return {machine.vector_bytes(), machine.units.vector_registers};
}

/// Octaves between extents; a type of another size, and what is packed ahead in one alone, count as two.
double distance_of(const Structured& from, const Structured& to) {
  constexpr double kOfKind = 2;
  double out = 0;
  const Counterparts names(from, to);
  for (EquationId q = 0; q < from.program.equations.size(); ++q)
    for (const auto& [index, other] : names.index_names(q)) {
      const auto extents = names.extents(q, index);
      out += std::abs(std::log2(static_cast<double>(std::max<int64_t>(1, extents.from)) /
                                static_cast<double>(std::max<int64_t>(1, extents.to))));
    }
  for (size_t t = 0; t < from.structure.tensors.size(); ++t) {
    const Tensor &a = from.program.tensors[from.structure.tensors[t]], &b = to.program.tensors[to.structure.tensors[t]];
    out += kOfKind * ((a.is_const_input != b.is_const_input) + (size_bytes(a.type) != size_bytes(b.type)));
  }
  return out;
}

std::optional<Match> match_of(LibraryTrace of, const Task& task, const Structured& own) {
  const auto binding = make_binding(of.program, {});
  if (!binding) return std::nullopt;
  auto from = schedules::structured(normalize(polyweft::bind(of.program, *binding), task.key.cls));
  if (!from || from->structure.text != own.structure.text) return std::nullopt;
  Match out{std::move(of), std::move(*from)};
  out.distance = distance_of(out.from, own);
  return out;
}

std::vector<Match> nearest(std::vector<LibraryTrace> traces, const Task& task, const Structured& own, size_t most) {
  std::vector<Match> out;
  for (LibraryTrace& trace : traces)
    if (auto match = match_of(std::move(trace), task, own)) out.push_back(std::move(*match));
  std::stable_sort(out.begin(), out.end(), [](const Match& a, const Match& b) { return a.distance < b.distance; });
  if (out.size() > most) out.erase(out.begin() + static_cast<std::ptrdiff_t>(most), out.end());
  return out;
}

/// Users' traces are for this machine, unless their vectors are longer.
VectorUnit unit_of(const Trace& trace, const Match& match, VectorUnit own) {
  for (const Step& step : trace.steps)
    if (const auto* s = std::get_if<VectorizeStep>(&step)) {
      const auto found = Counterparts(match.from, match.from).statement(s->statement);
      if (!found) continue;
      const Program& program = match.from.program;
      const int64_t bytes = size_bytes(program.tensors[program.equations[found->from].targets[0]].type);
      own.vector_bytes = std::max(own.vector_bytes, s->lanes.constant * bytes);
    }
  return own;
}

/// Lanes of a grid are threads: they stay as many.
VectorUnit library_unit(const Machine& machine) {
  return machine.has_grid() ? unit_of(machine) : kLibraryUnit;
}

std::vector<OpenTrace> open_traces(const std::vector<Match>& matches, const Structured& own, const Machine& machine) {
  std::vector<OpenTrace> out;
  for (const Match& match : matches) {
    const VectorUnit to = unit_of(machine),
                     from = match.is_users ? unit_of(match.of.trace, match, to) : library_unit(machine);
    auto open =
        schedules::open_trace(match.of.trace, Counterparts(match.from, own), {from, to, machine.units.instructions});
    if (!open) continue;
    open->names = {match.of.name};
    out.push_back(std::move(*open));
  }
  return schedules::merged(std::move(out));
}

class SeedMaker {
 public:
  SeedMaker(const Task& task, const SeedQuestion& question)
      : task_(task),
        question_(question),
        model_(analytic_model(on_cores(question.target.machine, task.key.threads))),
        start_(std::chrono::steady_clock::now()) {}

  bool is_late() const {
    constexpr std::chrono::milliseconds kMost{2000};
    const auto most = std::min(kMost, question_.options.budget / 10);
    return std::chrono::steady_clock::now() - start_ > most;
  }
  Status add(const OpenTrace& trace, LibrarySeeds& out) const {
    auto seed = schedules::seed_template(task_.program, task_.key.cls, trace, question_.isl);
    if (!seed) return seed.error();
    if (task_.key.threads > 1) seed->made = schedules::in_parallel(std::move(seed->made));
    ir::suit_target(seed->made, question_.target);
    const auto sketch = static_cast<uint32_t>(out.templates.size());
    Status made = fail("PW0310", "no nest is made of its sizes");
    for (const auto& chosen : seed->chosen) {
      const auto values = schedules::instantiable(seed->made, chosen);
      if (!values) continue;
      const LoopNest nest = instantiate(seed->made, *values).value();
      out.seeds.push_back({sketch, *values, model_->predict_ns(nest), hash(nest)});
      made = Ok{};
    }
    if (made) out.templates.push_back(std::move(seed->made));
    return made;
  }

 private:
  const Task& task_;
  const SeedQuestion& question_;
  std::unique_ptr<CostModel> model_;
  std::chrono::steady_clock::time_point start_;
};

/// One seed a nest, the best predicted first.
void keep_best(std::vector<Candidate>& seeds) {
  std::stable_sort(seeds.begin(), seeds.end(),
                   [](const Candidate& a, const Candidate& b) { return a.predicted_ns < b.predicted_ns; });
  std::vector<Candidate> out;
  for (Candidate& seed : seeds) {
    const auto is_same = [&](const Candidate& c) { return c.nest_hash == seed.nest_hash; };
    if (out.size() < kMostSeeds && std::none_of(out.begin(), out.end(), is_same)) out.push_back(std::move(seed));
  }
  seeds = std::move(out);
}

}  // namespace

Result<LibrarySeeds> library_seeds(const Task& task, const SeedQuestion& question) {
  LibrarySeeds out;
  const TuneOptions& options = question.options;
  FolderOfTraces users;
  if (!options.seeds.empty()) {
    auto read = traces_in(options.seeds);
    if (!read) return read.error();
    users = std::move(*read);
    out.warnings = std::move(users.left_out);
  }
  const std::string folder = options.uses_library ? library_folder(question.target.machine) : "";
  std::vector<LibraryTrace> given = question.records;
  std::move(users.traces.begin(), users.traces.end(), std::back_inserter(given));
  if (folder.empty() && given.empty()) return out;
  const auto own = schedules::structured(task.program);
  if (!own) return out;
  std::vector<Match> matches = nearest(std::move(given), task, *own, kMostTraces);
  for (Match& match : matches) match.is_users = true;
  if (!folder.empty())
    for (Match& match : nearest(library_traces(folder, schedules::key_of(own->structure)), task, *own, kMostTraces))
      matches.push_back(std::move(match));
  const SeedMaker maker(task, question);
  const size_t of_users =
      static_cast<size_t>(std::count_if(matches.begin(), matches.end(), [](const Match& m) { return m.is_users; }));
  for (const OpenTrace& trace : open_traces(matches, *own, question.target.machine)) {
    if (out.templates.size() == kMostSeedTemplates || (maker.is_late() && !out.templates.empty())) break;
    const Status added = maker.add(trace, out);
    const auto is_named = [&](const LibraryTrace& t) { return t.name == trace.names.front(); };
    const bool is_record = std::any_of(question.records.begin(), question.records.end(), is_named);
    const bool is_users = std::any_of(matches.begin(), matches.begin() + static_cast<std::ptrdiff_t>(of_users),
                                      [&](const Match& m) { return is_named(m.of); });
    if (!added && is_users && !is_record)
      out.warnings.push_back(left_out(options.seeds + "/" + trace.names.front(), added.error().message));
  }
  keep_best(out.seeds);
  return out;
}

}  // namespace polyweft
