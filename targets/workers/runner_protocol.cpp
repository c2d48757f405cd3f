#include "targets/workers/runner_protocol.h"

#include <algorithm>

#include "ir/values/measured_times.h"

namespace polyweft::targets {
namespace {

constexpr int64_t kMostPairs = 1 << 20;
constexpr int64_t kLongestMs = int64_t{24} * 3600 * 1000;

constexpr size_t kLongestSymbol = size_t{1} << 20;  // a program's name may be as long as its text

bool is_symbol(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '$';
  };
  return !name.empty() && name.size() <= kLongestSymbol && std::all_of(name.begin(), name.end(), fits);
}

void put(ByteWriter& out, const std::vector<std::string>& words) {
  out.u32(static_cast<uint32_t>(words.size()));
  for (const auto& word : words) out.string(word);
}

std::vector<std::string> take_words(ByteReader& in, size_t most, const char* too_many) {
  std::vector<std::string> words;
  const uint32_t count = in.count(4);
  if (count > most) in.mark_failed(too_many);
  for (uint32_t k = 0; k < count && !in.failed(); ++k) words.push_back(in.string());
  return words;
}

void put(ByteWriter& out, const LoadableKernel& kernel) {
  out.string(kernel.kind);
  out.string({reinterpret_cast<const char*>(kernel.bytes.data()), kernel.bytes.size()});
  out.string(kernel.symbol).string(kernel.id).u8(kernel.terminates);
  put(out, kernel.features);
}

/// An empty kernel (no bytes, no symbol) is a value too: "none".
LoadableKernel take_kernel(ByteReader& in) {
  LoadableKernel kernel;
  kernel.kind = in.string();
  const std::string_view bytes = in.view();
  kernel.bytes.assign(bytes.begin(), bytes.end());
  kernel.symbol = in.string();
  kernel.id = in.string();
  kernel.terminates = in.u8() != 0;
  kernel.features = take_words(in, kMaxFeatures, "needs too many features");
  if (!kernel.bytes.empty() && !is_symbol(kernel.symbol)) in.mark_failed("names a symbol that is none");
  if (kernel.id.size() > 256) in.mark_failed("has an identifier that is too long");
  return kernel;
}

void put(ByteWriter& out, const ArgumentSpec& argument) {
  out.string(argument.name).u8(static_cast<uint8_t>(argument.type)).u32(static_cast<uint32_t>(argument.extents.size()));
  for (const int64_t extent : argument.extents) out.i64(extent);
  out.u8(argument.is_output).u8(argument.partial).u8(argument.is_packed).u8(argument.has_values);
  out.i64(argument.values_lo).i64(argument.values_hi);
}

ArgumentSpec take_argument(ByteReader& in) {
  ArgumentSpec argument;
  argument.name = in.string();
  const uint8_t type = in.u8();
  if (type > static_cast<uint8_t>(ElementType::boolean)) in.mark_failed("has an unknown element type");
  argument.type = static_cast<ElementType>(type);
  const uint32_t rank = in.count(8);
  if (rank > kMaxRank) in.mark_failed("has an argument of too many dimensions");
  int64_t elements = 1;
  for (uint32_t d = 0; d < rank && !in.failed(); ++d) {
    argument.extents.push_back(in.i64_in(0, kMaxElements));
    if (argument.extents.back() > 0 && elements > kMaxElements / argument.extents.back())
      in.mark_failed("has an argument of too many elements");
    else
      elements *= std::max<int64_t>(argument.extents.back(), 1);
  }
  argument.is_output = in.u8() != 0;
  argument.partial = in.u8() != 0;
  argument.is_packed = in.u8() != 0;
  argument.has_values = in.u8() != 0;
  argument.values_lo = in.i64();
  argument.values_hi = in.i64();
  if (argument.has_values && argument.values_lo >= argument.values_hi)
    in.mark_failed("has an argument with an empty range of values");
  return argument;
}

SetNote take_note(ByteReader& in) {
  SetNote note;
  const uint8_t set = in.u8();
  if (set > static_cast<uint8_t>(InputSet::adversarial)) in.mark_failed("has a note of an unknown input set");
  note.set = static_cast<InputSet>(set);
  note.drawn = in.string();
  note.judged = in.f64();
  note.output = in.string();
  note.element = in.string();
  note.usual_judged = in.f64();
  return note;
}

int64_t take_ms(ByteReader& in) {
  return in.i64_in(0, kLongestMs);
}

template <class T>
Result<T> finished(const ByteReader& in, T value) {
  if (Status done = in.finish(); !done) return done.error();
  return value;
}

}  // namespace

std::string encode(const WorkerDescription& description) {
  ByteWriter out;
  out.i64(description.landlock_abi)
      .u8(description.seccomp)
      .string(description.weaker)
      .string(description.build)
      .string(description.architecture);
  put(out, description.kinds);
  put(out, description.devices);
  out.u8(description.is_emulated);
  return std::move(out).bytes();
}

Result<WorkerDescription> decode_description(std::string_view payload) {
  ByteReader in(payload);
  WorkerDescription description;
  description.landlock_abi = static_cast<int>(in.i64_in(0, 1000));
  description.seccomp = in.u8() != 0;
  description.weaker = in.string();
  description.build = in.string();
  description.architecture = in.string();
  description.kinds = take_words(in, kMaxKinds, "says too many kinds of artifacts");
  description.devices = take_words(in, kMaxKinds, "says too many devices");
  description.is_emulated = in.u8() != 0;
  return finished(in, std::move(description));
}

std::string encode(const LoadableKernel& kernel) {
  ByteWriter out;
  put(out, kernel);
  return std::move(out).bytes();
}

Result<LoadableKernel> decode_kernel(std::string_view payload) {
  ByteReader in(payload);
  LoadableKernel kernel = take_kernel(in);
  return finished(in, std::move(kernel));
}

std::string encode(const RunnerTask& task) {
  ByteWriter out;
  out.string(task.id).u32(static_cast<uint32_t>(task.arguments.size()));
  for (const auto& argument : task.arguments) put(out, argument);
  put(out, task.reference);
  put(out, task.bound);
  out.u8(task.bit_exact).f64(task.relative_bound).u64(task.seed).i64(task.threads);
  out.u32(static_cast<uint32_t>(task.given.size()));
  for (const auto& bytes : task.given) out.string({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return std::move(out).bytes();
}

Result<RunnerTask> decode_task(std::string_view payload) {
  ByteReader in(payload);
  RunnerTask task;
  task.id = in.string();
  const uint32_t arguments = in.count(30);
  if (arguments > kMaxArguments) in.mark_failed("has too many arguments");
  for (uint32_t a = 0; a < arguments && !in.failed(); ++a) task.arguments.push_back(take_argument(in));
  task.reference = take_kernel(in);
  task.bound = take_kernel(in);
  task.bit_exact = in.u8() != 0;
  task.relative_bound = in.f64();
  if (!(task.relative_bound >= 0)) in.mark_failed("has a bound that is no number >= 0");
  task.seed = in.u64();
  task.threads = static_cast<int>(in.i64_in(1, kMaxThreads));
  const uint32_t given = in.count(4);
  if (given > arguments) in.mark_failed("is given more data than it has arguments");
  for (uint32_t a = 0; a < given && !in.failed(); ++a) {
    const std::string_view bytes = in.view();
    task.given.emplace_back(bytes.begin(), bytes.end());
  }
  return finished(in, std::move(task));
}

std::string encode(const RunRequest& request) {
  ByteWriter out;
  put(out, request.candidate);
  out.u32(static_cast<uint32_t>(request.compare_on.size()));
  for (const InputSet set : request.compare_on) out.u8(static_cast<uint8_t>(set));
  out.i64(request.time_budget.count())
      .f64(request.incumbent_ns)
      .u8(request.pair_with_incumbent)
      .u8(request.pair_to_the_end);
  out.i64(request.most_pairs).i64(request.deadline.count()).u8(request.with_cold_calls);
  return std::move(out).bytes();
}

Result<RunRequest> decode_request(std::string_view payload) {
  ByteReader in(payload);
  RunRequest request;
  request.candidate = take_kernel(in);
  request.compare_on.clear();
  for (uint32_t n = in.count(1); n > 0 && !in.failed(); --n) {
    const uint8_t set = in.u8();
    if (set > static_cast<uint8_t>(InputSet::adversarial)) in.mark_failed("has an unknown input set");
    request.compare_on.push_back(static_cast<InputSet>(set));
  }
  request.time_budget = std::chrono::milliseconds(take_ms(in));
  request.incumbent_ns = in.f64();
  if (!(request.incumbent_ns >= 0)) in.mark_failed("has a time that is no number >= 0");
  request.pair_with_incumbent = in.u8() != 0;
  request.pair_to_the_end = in.u8() != 0;
  request.most_pairs = static_cast<int>(in.i64_in(1, kMostPairs));
  request.deadline = std::chrono::milliseconds(take_ms(in));
  request.with_cold_calls = in.u8() != 0;
  return finished(in, std::move(request));
}

std::string encode(const RunOutcome& outcome) {
  ByteWriter out;
  out.u8(static_cast<uint8_t>(outcome.status)).string(outcome.detail);
  const Timing& t = outcome.timing;
  out.f64(t.median_ns).f64(t.min_ns).f64(t.ci_rel).i64(t.samples).f64(t.ratio).f64(t.ratio_lo).f64(t.ratio_hi);
  out.f64(t.cold_ns).f64(t.clock_mhz_lo).f64(t.clock_mhz_hi).u8(t.is_exact);
  for (const auto* samples : {&t.samples_ns, &t.beside_ns}) {
    out.u32(static_cast<uint32_t>(samples->size()));
    for (const float ns : *samples) out.f64(ns);
  }
  out.f64(outcome.reference_ns).f64(outcome.pack_ns);
  out.u32(static_cast<uint32_t>(outcome.notes.size()));
  for (const SetNote& note : outcome.notes)
    out.u8(static_cast<uint8_t>(note.set))
        .string(note.drawn)
        .f64(note.judged)
        .string(note.output)
        .string(note.element)
        .f64(note.usual_judged);
  return std::move(out).bytes();
}

Result<RunOutcome> decode_outcome(std::string_view payload) {
  ByteReader in(payload);
  RunOutcome outcome;
  const uint8_t status = in.u8();
  if (status > static_cast<uint8_t>(RunStatus::timed_out)) in.mark_failed("has an unknown status");
  outcome.status = static_cast<RunStatus>(status);
  outcome.detail = in.string();
  Timing& t = outcome.timing;
  t.median_ns = in.f64(), t.min_ns = in.f64(), t.ci_rel = in.f64();
  t.samples = static_cast<int>(in.i64_in(0, 1 << 30));
  t.ratio = in.f64(), t.ratio_lo = in.f64(), t.ratio_hi = in.f64();
  t.cold_ns = in.f64(), t.clock_mhz_lo = in.f64(), t.clock_mhz_hi = in.f64();
  t.is_exact = in.u8() != 0;
  for (auto* samples : {&t.samples_ns, &t.beside_ns}) {
    samples->resize(in.count(8));
    for (float& ns : *samples) ns = static_cast<float>(in.f64());
  }
  outcome.reference_ns = in.f64(), outcome.pack_ns = in.f64();
  for (const double ns : {outcome.reference_ns, outcome.pack_ns})
    if (!(ns >= 0 && ns <= kLongestNs)) in.mark_failed("has a time that no clock tells");
  for (uint32_t n = in.count(29); n > 0 && !in.failed(); --n) outcome.notes.push_back(take_note(in));
  if (Status done = in.finish(); !done) return done.error();
  if (const std::string found = impossible_time(t); !found.empty())
    return fail("PW0605", "message: has " + found + ", which no clock tells");
  return outcome;
}

std::string encode(const Error& error) {
  ByteWriter out;
  out.string(error.code).string(error.message);
  return std::move(out).bytes();
}

Error decode_error(std::string_view payload) {
  ByteReader in(payload);
  std::string code = in.string(), message = in.string();
  if (Status done = in.finish(); !done) return done.error();
  if (code.size() > 16 || message.size() > 4096)
    return fail("PW0605", "message: the payload has an error that is too long");
  return fail(std::move(code), std::move(message));
}

}  // namespace polyweft::targets
