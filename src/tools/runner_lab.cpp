#include "runner_lab.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runner_compare.h"
#include "runner_inputs.h"
#include "runner_trial.h"
#include "runner_values.h"
#include "support/cpu_features.h"

namespace polyweft::runner {
namespace {

constexpr size_t kTasksKept = 4;
constexpr double kReferenceLimitNs = 300e9;

size_t bytes_of(const ArgumentSpec& argument) {
  return static_cast<size_t>(element_count(argument.extents)) * element_bytes(argument.type);
}

ArgumentSpec bound_of(const ArgumentSpec& output) {
  ArgumentSpec bound = output;
  bound.name += "_bound";
  bound.type = ElementType::f64;
  return bound;
}

/// halide_buffer_t has 32-bit extents and strides.
Status fits_the_buffer_struct(const ArgumentSpec& argument) {
  int64_t stride = 1;
  for (size_t d = argument.extents.size(); d-- > 0;) {
    if (argument.extents[d] > INT32_MAX || stride > INT32_MAX)
      return fail("PW0610", "runner: argument " + argument.name +
                                " has an extent or stride over 2^31-1, which the kernel interface cannot express");
    stride *= std::max<int64_t>(argument.extents[d], 1);
  }
  return Ok{};
}

uint64_t bytes_needed(const RunnerTask& task) {
  uint64_t bytes = 0;
  for (const auto& argument : task.arguments) {
    const uint64_t copies = 4;  // in the arguments' memory, and for each input set
    bytes += copies * bytes_of(argument);
    if (argument.is_output && !task.bound.bytes.empty())
      bytes += copies * 8 * static_cast<uint64_t>(element_count(argument.extents));
  }
  return bytes;
}

Status inputs_come_first(const RunnerTask& task) {
  const auto is_output = [](const ArgumentSpec& a) { return a.is_output; };
  const auto first_output = std::find_if(task.arguments.begin(), task.arguments.end(), is_output);
  if (first_output == task.arguments.end()) return fail("PW0610", "runner: task " + task.id + " has no output");
  if (!std::all_of(first_output, task.arguments.end(), is_output))
    return fail("PW0610", "runner: task " + task.id + " has an input behind an output");
  return Ok{};
}

/// `device`: may be null.
Status runs_here(const LoadableKernel& kernel, const Device* device = nullptr) {
  if (device && kernel.kind == kDeviceKernels) return Ok{};
  if (kernel.kind != kElfShared)
    return fail("PW0612", "runner: kernel " + kernel.symbol + " is of kind '" + kernel.kind.substr(0, 64) +
                              "', this runner loads " + kElfShared +
                              (device ? std::string(" and ") + kDeviceKernels : ""));
  return cpu_can_run(kernel.features, "runner: kernel " + kernel.symbol);
}

bool are_given_well(const RunnerTask& task) {
  for (size_t a = 0; a < task.given.size(); ++a) {
    if (task.given[a].empty()) continue;
    if (a >= task.arguments.size() || task.arguments[a].is_output ||
        task.given[a].size() != bytes_of(task.arguments[a]))
      return false;
  }
  return true;
}

Status acceptable(const RunnerTask& task, uint64_t memory_limit) {
  if (Status ordered = inputs_come_first(task); !ordered) return ordered;
  for (const LoadableKernel* kernel : {&task.reference, &task.bound})
    if (Status runs = runs_here(*kernel); !runs) return runs;
  for (const auto& argument : task.arguments)
    if (Status fits = fits_the_buffer_struct(argument); !fits) return fits;
  if (!are_given_well(task)) return fail("PW0610", "runner: task " + task.id + " is given data of another size");
  if (task.reference.bytes.empty()) return fail("PW0610", "runner: task " + task.id + " has no reference kernel");
  const uint64_t needed = bytes_needed(task);
  if (needed > memory_limit)
    return fail("PW0609", "runner: the task's arguments and their reference copies take " + std::to_string(needed) +
                              " bytes, more than the limit of " + std::to_string(memory_limit) +
                              "; raise the memory limit or bind smaller sizes");
  return Ok{};
}

Result<std::unique_ptr<TaskData>> make_task(const RunnerTask& task, std::string encoded) {
  auto data = std::make_unique<TaskData>();
  data->task = task;
  data->encoded = std::move(encoded);
  data->bytes = bytes_needed(task);
  if (!task.bound.bytes.empty())
    for (const auto& argument : task.arguments)
      if (argument.is_output) data->bound_outputs.push_back(bound_of(argument));
  const auto add = [&](const ArgumentSpec& argument) -> Status {
    auto region = Region::make(argument.name, bytes_of(argument),
                               argument.is_output ? RegionUse::output : RegionUse::input, data->regions.size());
    if (!region) return region.error();
    data->regions.push_back(std::move(*region));
    return Ok{};
  };
  data->regions.reserve(task.arguments.size() + data->bound_outputs.size());
  for (const auto& argument : data->task.arguments)
    if (Status added = add(argument); !added) return added.error();
  for (const auto& argument : data->bound_outputs)
    if (Status added = add(argument); !added) return added.error();
  return data;
}

Result<PrivateBytes> copy_of(const unsigned char* from, size_t bytes) {
  auto copy = PrivateBytes::make(bytes);
  if (copy) std::memcpy(copy->data(), from, bytes);
  return copy;
}

bool is_given(const TaskData& task, size_t argument) {
  return argument < task.task.given.size() && !task.task.given[argument].empty();
}

Status fill_inputs(const TaskData& task, InputSet set, Draw draw, SetData& data) {
  const Rng rng = Rng(task.task.seed).fork(static_cast<uint64_t>(set));
  for (size_t a = 0; a < task.inputs(); ++a) {
    auto bytes = PrivateBytes::make(task.regions[a].bytes());
    if (!bytes) return bytes.error();
    if (is_given(task, a))
      std::memcpy(bytes->data(), task.task.given[a].data(), task.regions[a].bytes());
    else
      fill_input(task.task.arguments[a], set, rng.fork(a), bytes->data(), draw);
    data.inputs.push_back(std::move(*bytes));
  }
  return Ok{};
}

Status keep_answers(const TaskData& task, SetData& data) {
  for (size_t a = task.inputs(); a < task.regions.size(); ++a) {
    auto copy = copy_of(task.regions[a].data(Placement::at_start), task.regions[a].bytes());
    if (!copy) return copy.error();
    (a < task.task.arguments.size() ? data.outputs : data.bounds).push_back(std::move(*copy));
  }
  return Ok{};
}

/// Of all outputs together; in `output` the name of the one with the first element that is not judged.
Judgeable judgeable_elements(const TaskData& task, const SetData& data, std::string& output) {
  Judgeable out;
  for (size_t o = 0; o < data.outputs.size(); ++o) {
    const ArgumentSpec& spec = task.task.arguments[task.inputs() + o];
    const auto* bound = data.bounds.empty() ? nullptr : reinterpret_cast<const double*>(data.bounds[o].data());
    const Judgeable one = judgeable(spec, bound, data.outputs[o].data());
    out.elements += one.elements;
    out.judged += one.judged;
    if (!out.first.empty() || one.first.empty()) continue;
    out.first = one.first;
    output = spec.name;
  }
  return out;
}

double share_of(const Judgeable& found) {
  return found.elements == 0 ? 1 : static_cast<double>(found.judged) / static_cast<double>(found.elements);
}

bool is_worth_a_try(const TaskData& task, Draw draw) {
  for (size_t a = 0; a < task.inputs(); ++a)
    if (changes(draw, task.task.arguments[a]) && !is_given(task, a)) return true;
  return false;
}

Error reference_error(const TaskData& task, const Failure& failure) {
  const char* which = failure.slot == Slot::incumbent ? "the kernel of the error bounds" : "the reference kernel";
  return fail("PW0608", std::string("runner: ") + which + " of task " + task.task.id + " failed: " + failure.detail);
}

}  // namespace

bool TaskData::has_given_data() const {
  return std::any_of(task.given.begin(), task.given.end(), [](const auto& bytes) { return !bytes.empty(); });
}

size_t TaskData::inputs() const {
  return static_cast<size_t>(
      std::count_if(task.arguments.begin(), task.arguments.end(), [](const ArgumentSpec& a) { return !a.is_output; }));
}

std::vector<BoundArgument> TaskData::arguments() const {
  std::vector<BoundArgument> out;
  for (size_t a = 0; a < task.arguments.size(); ++a) out.push_back({&task.arguments[a], &regions[a]});
  return out;
}

std::vector<BoundArgument> TaskData::arguments_of_bound() const {
  std::vector<BoundArgument> out = arguments();
  out.resize(inputs());
  for (size_t b = 0; b < bound_outputs.size(); ++b)
    out.push_back({&bound_outputs[b], &regions[task.arguments.size() + b]});
  return out;
}

void lay_out(TaskData& task, const SetData& data, Placement placement) {
  for (size_t a = 0; a < task.regions.size(); ++a) {
    Region& region = task.regions[a];
    region.set_canary(placement);
    if (a < data.inputs.size()) {
      std::memcpy(region.data(placement), data.inputs[a].data(), region.bytes());
      continue;
    }
    const bool is_answer = a < task.task.arguments.size();
    std::memset(region.data(placement), poison_byte(is_answer ? task.task.arguments[a].type : ElementType::f64),
                region.bytes());
  }
}

TaskData* Lab::known(const RunnerTask& task, const std::string& encoded) {
  const auto same = [&](const auto& t) { return t->task.id == task.id && t->encoded == encoded; };
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), same);
  if (found == tasks_.end()) return nullptr;
  std::rotate(found, found + 1, tasks_.end());
  return tasks_.back().get();
}

void Lab::make_room(uint64_t bytes) {
  const auto total = [&] {
    uint64_t sum = bytes;
    for (const auto& task : tasks_) sum += task->bytes;
    return sum;
  };
  while (!tasks_.empty() && (tasks_.size() >= kTasksKept || total() > setting_.memory_limit_bytes))
    tasks_.erase(tasks_.begin());
}

Result<double> Lab::begin(const RunnerTask& task, std::string encoded) {
  if (known(task, encoded) == nullptr) {
    if (Status fits = acceptable(task, setting_.memory_limit_bytes); !fits) return fits.error();
    make_room(bytes_needed(task));
    auto data = make_task(task, std::move(encoded));
    if (!data) return data.error();
    tasks_.push_back(std::move(*data));
  }
  tasks_.back()->incumbent.reset();
  auto set = prepared(InputSet::integer_valued);
  if (set) return (*set)->reference_ns;
  tasks_.pop_back();
  return set.error();
}

Status Lab::set_incumbent(LoadableKernel kernel) {
  if (tasks_.empty()) return fail("PW0610", "runner: an incumbent came before any task");
  if (Status runs = runs_here(kernel, setting_.device); !runs) return runs;
  if (kernel.bytes.empty())
    tasks_.back()->incumbent.reset();
  else
    tasks_.back()->incumbent = std::move(kernel);
  return Ok{};
}

Result<const SetData*> Lab::prepared(InputSet set) {
  auto& slot = tasks_.back()->sets[static_cast<size_t>(set)];
  if (!slot) {
    auto data = judgeable_data(set);
    if (!data) return data.error();
    slot = std::move(*data);
  }
  return &*slot;
}

/// Data on which most elements of the reference can be judged: the usual ones, else the first others that do, else
/// those that leave most. What is adversarial stays so.
Result<SetData> Lab::judgeable_data(InputSet set) {
  constexpr double kMost = 0.75;
  const TaskData& task = *tasks_.back();
  auto best = reference_on(set, Draw::usual);
  if (!best || set == InputSet::adversarial) return best;
  SetNote note;
  note.set = set;
  note.drawn = name_of(Draw::usual);
  const Judgeable usual = judgeable_elements(task, *best, note.output);
  if (usual.first.empty()) return best;
  note.element = usual.first;
  note.judged = note.usual_judged = share_of(usual);
  for (const Draw draw : kOtherDraws) {
    if (note.judged >= kMost) break;
    if (!is_worth_a_try(task, draw)) continue;
    auto other = reference_on(set, draw);
    if (!other) return other;
    std::string ignored;
    const double judged = share_of(judgeable_elements(task, *other, ignored));
    if (judged <= note.judged) continue;
    note.judged = judged;
    note.drawn = name_of(draw);
    best = std::move(other);
  }
  best->note = std::move(note);
  return best;
}

Result<SetData> Lab::reference_on(InputSet set, Draw draw) {
  SetData data;
  TaskData& task = *tasks_.back();
  if (Status filled = fill_inputs(task, set, draw, data); !filled) return filled.error();
  lay_out(task, data, Placement::at_start);
  std::vector<Module> modules{{&task.task.reference, task.arguments()}};
  if (!task.bound_outputs.empty()) modules.push_back({&task.task.bound, task.arguments_of_bound()});
  const size_t kernels = modules.size();
  auto process = CandidateProcess::start(setting_, std::move(modules), task.regions, task.task.threads);
  if (auto* failure = std::get_if<Failure>(&process)) return reference_error(task, *failure);
  for (size_t k = 0; k < kernels; ++k)
    for (const Order order : {Order::pack, Order::call}) {
      auto reply = std::get<CandidateProcess>(process).order({order, static_cast<Slot>(k), Placement::at_start, 1, 1},
                                                             kReferenceLimitNs);
      if (auto* failure = std::get_if<Failure>(&reply)) return reference_error(task, *failure);
      if (k == 0 && order == Order::call) data.reference_ns = std::get<Reply>(reply).elapsed_ns;
    }
  if (Status kept = keep_answers(task, data); !kept) return kept.error();
  return data;
}

// All candidates are met first in one layout; who is run again is run in another one, so that a race that is repeated
// does not repeat the luck of addresses.
Result<RunOutcome> Lab::run(const RunRequest& request) {
  if (tasks_.empty()) return fail("PW0610", "runner: a candidate came before any task");
  if (Status runs = runs_here(request.candidate, setting_.device); !runs) return runs.error();
  if (const auto& incumbent = tasks_.back()->incumbent;
      incumbent && request.pair_with_incumbent && incumbent->kind != request.candidate.kind)
    return fail("PW0610", "runner: a candidate of kind " + request.candidate.kind + " beside an incumbent of kind " +
                              incumbent->kind);
  std::vector<ComparedSet> sets;
  std::vector<InputSet> wanted = request.compare_on;
  if (wanted.empty()) wanted.push_back(InputSet::integer_valued);  // no kernel is timed that was not compared
  for (const InputSet set : wanted) {
    auto data = prepared(set);
    if (!data) return data.error();
    sets.push_back({set, *data});
  }
  TaskData& task = *tasks_.back();
  const size_t layout = task.runs_of[request.candidate.id]++;
  for (Region& region : task.regions) region.lay_out(layout);
  RunOutcome outcome = Trial(setting_, task, request, sets).outcome();
  for (const ComparedSet& set : sets)
    if (set.data->note) outcome.notes.push_back(*set.data->note);
  return outcome;
}

}  // namespace polyweft::runner
