// Random (program, trace) pairs as machine code: evaluator, interpreter and compiled kernel agree. Kernels run on memory with guard pages behind
// or before every argument; interpreter and kernel agree bit for bit, also on NaN, infinities and denormal numbers.
//
//   PW_RANDOM_PAIRS=2000 compiled_tests      that many pairs instead of the suite's sample
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "ir/interpreter.h"
#include "schedules/random_pairs.h"
#include "targets/kernels.h"

namespace polyweft::test {
namespace {

/// Bytes that end (or begin) at a page which nobody may touch.
class GuardedBytes {
 public:
  GuardedBytes(const std::vector<unsigned char>& bytes, bool at_end) : size_(bytes.size()) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    length_ = (size_ + page - 1) / page * page + 2 * page;
    base_ = static_cast<unsigned char*>(mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(base_ + page, length_ - 2 * page, PROT_READ | PROT_WRITE);
    data_ = at_end ? base_ + length_ - page - size_ : base_ + page;
    if (size_ > 0) std::memcpy(data_, bytes.data(), size_);
  }
  ~GuardedBytes() { munmap(base_, length_); }
  GuardedBytes(const GuardedBytes&) = delete;
  unsigned char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_, length_ = 0;
  unsigned char *base_ = nullptr, *data_ = nullptr;
};

volatile uint64_t running_seed = 0;

void say_seed(int signal) {
  char text[80];
  const int length = std::snprintf(text, sizeof text, "signal %d in the kernel of seed %llu\n", signal, static_cast<unsigned long long>(running_seed));
  if (write(2, text, static_cast<size_t>(length)) < 0) _exit(1);
  _exit(128 + signal);
}

/// The interpreter's outputs, or why there are none.
std::string interpreted(const LoopNest& nest, const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs) {
  auto run = ir::interpret(nest, inputs);
  if (!run) return "interpreter: " + described(run.error());
  outputs = std::move(run->tensors);
  return "";
}

/// Calls the compiled nest on guarded copies and compares its outputs with the interpreter's bits. Packed constants go through the pack functions.
std::string compiled_difference(const LoopNest& nest, const Target& target, const std::vector<TensorData>& inputs, bool at_end) {
  std::vector<TensorData> expected;
  if (auto problem = interpreted(nest, inputs, expected); !problem.empty()) return problem;
  auto object = targets::compile_object(nest, target);
  if (!object) return object.error().code == "PW0505" ? "" : "compile: " + described(object.error());
  auto code = targets::load_code(*object);
  if (!code) return "load: " + described(code.error());
  std::vector<TensorData> arguments;
  size_t input = 0;
  for (BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[id];
    TensorData data = targets_test::argument_data(buffer);
    if (!buffer.is_output && !buffer.is_packed) data.bytes = inputs[input].bytes;
    if (buffer.is_packed) {
      for (const Pack& pack : nest.packs) {
        if (pack.packed != id) continue;
        TensorData source = inputs[input];
        void* entry = (*code)->address(nest.name + "_pack_" + nest.buffers[pack.source].name);
        if (!entry) return "no pack function for " + nest.buffers[pack.source].name;
        std::vector<TensorData> pair = {source, data};
        if (int status = targets_test::call(entry, pair)) return "pack returned " + std::to_string(status);
        data = pair[1];
      }
    }
    input += !buffer.is_output;
    arguments.push_back(std::move(data));
  }
  std::vector<std::unique_ptr<GuardedBytes>> memory;
  std::vector<std::unique_ptr<targets_test::Argument>> views;
  std::vector<halide_buffer_t*> raw(8, nullptr);
  if (arguments.size() > raw.size()) return "more than 8 arguments";
  for (size_t a = 0; a < arguments.size(); ++a) {
    memory.push_back(std::make_unique<GuardedBytes>(arguments[a].bytes, at_end));
    views.push_back(std::make_unique<targets_test::Argument>(arguments[a]));
    raw[a] = views.back()->get();
    raw[a]->host = memory.back()->data();
  }
  void* entry = (*code)->address(nest.name);
  if (!entry) return "no kernel";
  // Surplus arguments in registers and on the stack are ignored by the System V convention.
  using Kernel = int (*)(halide_buffer_t*, halide_buffer_t*, halide_buffer_t*, halide_buffer_t*, halide_buffer_t*, halide_buffer_t*, halide_buffer_t*, halide_buffer_t*);
  if (int status = reinterpret_cast<Kernel>(entry)(raw[0], raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], raw[7])) return "kernel returned " + std::to_string(status);
  size_t output = 0;
  for (size_t a = 0; a < arguments.size(); ++a) {
    const Buffer& buffer = nest.buffers[nest.arguments[a]];
    if (!buffer.is_output) continue;
    TensorData got = arguments[a];
    std::memcpy(got.bytes.data(), memory[a]->data(), memory[a]->size());
    auto what = targets_test::difference(got, expected[output++]);
    if (!what.empty()) return buffer.name + " on " + target.name + ", compiled against interpreted: " + what;
  }
  return "";
}

struct Count {
  int pairs = 0, compiled = 0, refused = 0;
};

std::string judged(const Program& program, const Trace& trace, NumericsClass cls, uint64_t seed, Count& count) {
  auto t = schedules::replay(program, cls, trace);
  if (!t) return "replay: " + described(t.error());
  auto nest = instantiate(*t, values_of(trace));
  if (!nest) {
    ++count.refused;
    return nest.error().code.rfind("PW031", 0) == 0 ? "" : "instantiate: " + described(nest.error());
  }
  if (auto status = verify(*nest); !status) return "verify: " + described(status.error());
  const auto kind = seed % 2 ? ir::DataKind::integers : ir::DataKind::random;
  if (auto what = difference(program, *nest, seed, kind); !what.empty()) return "interpreter against evaluator: " + what;
  static const std::vector<Target> targets = targets_test::runnable_targets();
  auto inputs = ir::seeded_inputs(program, seed, kind);
  ++count.compiled;
  const Target& target = targets[seed % 3 == 0 ? 0 : seed / 3 % targets.size()];
  if (auto what = compiled_difference(*nest, target, inputs, seed % 4 < 2); !what.empty()) return what;
  for (size_t k = 0; k < inputs.size(); ++k)
    if (!program.tensors[program.inputs()[k]].values_lo) targets_test::fill(inputs[k], seed + k);  // promises are kept
  return compiled_difference(*nest, target, inputs, seed % 4 >= 2);
}

Trace least_failing(const Program& program, Trace trace, NumericsClass cls, uint64_t seed) {
  Count ignored;
  for (size_t k = 0; k < trace.steps.size();) {
    Trace fewer = trace;
    fewer.steps.erase(fewer.steps.begin() + static_cast<std::ptrdiff_t>(k));
    std::string verdict = judged(program, fewer, cls, seed, ignored);
    if (verdict.empty() || verdict.rfind("replay", 0) == 0) {
      ++k;
      continue;
    }
    trace = std::move(fewer);
    k = 0;
  }
  return trace;
}

TEST(RandomPairs, evaluator_interpreter_and_machine_code_agree) {
  const char* wanted = std::getenv("PW_RANDOM_PAIRS");
  const int pairs = wanted ? std::atoi(wanted) : 400;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, say_seed);
  const NumericsClass classes[] = {NumericsClass::reassoc, NumericsClass::reassoc, NumericsClass::contract, NumericsClass::strict};
  Count count;
  int failures = 0;
  for (; count.pairs < pairs && failures < 5; ++count.pairs) {
    const uint64_t seed = 20'000 + static_cast<uint64_t>(count.pairs);
    const NumericsClass cls = classes[seed % 4];
    running_seed = seed;
    Rng rng(seed);
    const std::string text = random_program(rng);
    const Program program = normalized_program(text);
    const Trace trace = random_trace(rng, program, cls);
    if (judged(program, trace, cls, seed, count).empty()) continue;
    ++failures;
    const Trace least = least_failing(program, trace, cls, seed);
    ADD_FAILURE() << "seed " << seed << " class " << name_of(cls) << "\n" << text << least.text() << judged(program, least, cls, seed, count);
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, SIG_DFL);
  std::printf("%d pairs from seed 20000: %d compiled, %d sizes that do not fit together\n", count.pairs, count.compiled, count.refused);
  EXPECT_GT(count.compiled * 3, count.pairs * 2);
}

}  // namespace
}  // namespace polyweft::test
