#include "driver/compile_service.h"

#include <algorithm>

#include "driver/register_tile.h"
#include "ir/nests/walk_nest.h"
#include "support/hash.h"
#include "targets/registry.h"

namespace polyweft {
namespace {

// A flood of spills rejects a candidate that was meant to live in registers; a base nest has nothing to keep there.
// Below that the clock decides: constants of a polynomial that are loaded where they are used cost little, and on 16
// registers nearly every kernel with an exponential has some.
int most_spills(const Target& target) {
  return 2 * target.machine.units.vector_registers;
}
bool has_register_blocks(const LoopNest& nest) {
  return std::any_of(nest.buffers.begin(), nest.buffers.end(), [](const Buffer& b) { return b.scope == Scope::reg; });
}

/// Computations that the loop unrolls; 0 where a loop inside is none of registers.
int64_t unrolled_computations(const LoopNest& nest, NodeId id) {
  const Node& node = nest.nodes[id];
  if (std::holds_alternative<Compute>(node)) return 1;
  if (const auto* alloc = std::get_if<Alloc>(&node)) return unrolled_computations(nest, alloc->body);
  if (const auto* loop = std::get_if<Loop>(&node)) {
    const bool is_counted =
        loop->lo.of.size() == 1 && loop->hi.of.size() == 1 && (loop->hi.of[0] - loop->lo.of[0]).is_constant();
    if (loop->mark.kind != MarkKind::unroll || !is_counted) return 0;
    return std::max<int64_t>((loop->hi.of[0] - loop->lo.of[0]).constant, 0) * unrolled_computations(nest, loop->body);
  }
  int64_t out = 0;
  if (const auto* seq = std::get_if<Seq>(&node))
    for (NodeId child : seq->children) out += unrolled_computations(nest, child);
  return out;
}

/// Of the longest block of lanes that runs straight through (batches of small problems): what it spills is stored and
/// loaded once a block, and not by each iteration of a sum.
int64_t straight_computations(const LoopNest& nest) {
  int64_t out = 0;
  ir::walk_nodes(nest, nest.root, [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node);
    if (loop && loop->mark.kind == MarkKind::vector) out = std::max(out, unrolled_computations(nest, loop->body));
    return true;
  });
  return out;
}

/// Of kernels that nobody gave a name: a program may have a name that a symbol cannot have, and one called memset must
/// not become the memset that its code calls.
std::string symbol_of(const targets::Backend& backend, const LoopNest& nest) {
  return backend.may_be_named(nest.name) ? nest.name : "kernel_" + nest.name;
}

LoadableKernel loadable(targets::Artifact artifact) {
  LoadableKernel kernel;
  kernel.kind = std::move(artifact.kind);
  kernel.symbol = artifact.kernels.front();
  kernel.spills = artifact.facts.spills;
  kernel.terminates = true;
  kernel.id = std::move(artifact.id);
  kernel.bytes = std::move(artifact.bytes);
  kernel.features = std::move(artifact.features);
  return kernel;
}

}  // namespace

CompileService::CompileService(Target target, Call* call)
    : target_(std::move(target)),
      call_(call),
      times_(call ? call->times : nullptr),
      answers_(std::make_shared<std::map<std::string, std::shared_ptr<const targets::Artifact>>>()),
      thread_(std::make_shared<CodeThread>()),
      backend_(targets::backend_for(target_)) {
  if (!backend_) return;
  auto reference = (*backend_)->reference_target(target_);
  if (reference && reference->architecture != target_.architecture)
    reference_ = std::make_shared<const CompileService>(std::move(*reference), call);
}

CompileService CompileService::for_other_threads() const {
  CompileService out = *this;
  out.call_ = nullptr;
  out.answers_ = std::make_shared<std::map<std::string, std::shared_ptr<const targets::Artifact>>>();
  if (reference_) out.reference_ = std::make_shared<const CompileService>(reference_->for_other_threads());
  return out;
}

template <class T>
Result<T> CompileService::asked(
    const char* stage, const LoopNest& nest,
    std::function<Result<T>(const targets::Backend&, const LoopNest&, const Target&)> question) const {
  if (!backend_) return backend_.error();
  if (!call_ || !call_->stop.may_come()) {
    const StageTimes::Running running(times_.get(), stage);
    return question(**backend_, nest, target_);
  }
  struct Owned {
    LoopNest nest;
    Target target;
    StageTimes times;
  };
  auto own = std::make_shared<Owned>(nest, target_);
  auto answer = thread_->run<T>(call_->stop, [own, stage, question = std::move(question), backend = *backend_] {
    const StageTimes::Running running(&own->times, stage);
    return question(*backend, own->nest, own->target);
  });
  for (const StageTimes::Row& row : own->times.rows()) times_->add(row.stage, row.processor, row.entered);
  return answer;
}

bool CompileService::is_too_many(int spills, const LoopNest& nest) const {
  constexpr int64_t kComputationsOfSpill = 4;
  return spills > most_spills(target_) + straight_computations(nest) / kComputationsOfSpill &&
         has_register_blocks(nest);
}

Result<LoadableKernel> CompileService::for_runner(const LoopNest& nest, Spills spills) const {
  auto artifact = asked<targets::Artifact>(
      "code to run", nest, [](const targets::Backend& backend, const LoopNest& nest, const Target& target) {
        return backend.build(nest, target, {symbol_of(backend, nest), targets::Caller::lab});
      });
  if (!artifact) return artifact.error();
  if (spills == Spills::refuse && is_too_many(artifact->facts.spills, nest))
    return spill_refusal(nest, target_, artifact->facts.spills);
  return loadable(std::move(artifact).value());
}

Status CompileService::kernels_run_here() const {
  if (!backend_) return backend_.error();
  return (*backend_)->runs_here(target_);
}

namespace {

/// Names are part of code: of symbols, and of what is said about arguments.
std::string text_key(const LoopNest& nest) {
  return hex(blake2b_128(print(nest)));
}

}  // namespace

Result<std::shared_ptr<const targets::Artifact>> CompileService::answer(const LoopNest& nest) const {
  constexpr size_t kMost = 32;
  const std::string name = text_key(nest);
  if (const auto known = answers_->find(name); known != answers_->end()) return known->second;
  auto artifact = asked<targets::Artifact>(
      "code of the answer", nest, [](const targets::Backend& backend, const LoopNest& nest, const Target& target) {
        return backend.build(nest, target,
                             {symbol_of(backend, nest), targets::Caller::anyone, targets::Loader::process});
      });
  if (!artifact) return artifact.error();
  if (answers_->size() >= kMost) answers_->clear();
  return answers_->insert_or_assign(name, std::make_shared<const targets::Artifact>(std::move(*artifact)))
      .first->second;
}

Result<int> CompileService::spills_of_answer(const LoopNest& nest) const {
  const auto artifact = answer(nest);
  if (!artifact) return artifact.error();
  const int spills = (*artifact)->facts.spills;
  if (is_too_many(spills, nest)) return spill_refusal(nest, target_, spills);
  return spills;
}

Result<std::shared_ptr<LoadedKernel>> CompileService::load(const LoopNest& nest) const {
  if (!backend_) return backend_.error();
  if (Status runs = kernels_run_here(); !runs) return runs.error();
  auto artifact = answer(nest);
  if (!artifact) return artifact.error();
  auto kernel = (*backend_)->load(**artifact, nest, target_);
  if (!kernel) return kernel.error();
  return std::shared_ptr<LoadedKernel>(std::move(kernel).value());
}

Result<std::unique_ptr<Runner>> CompileService::start_runner(const RunnerOptions& options) const {
  if (!backend_) return backend_.error();
  return (*backend_)->start_runner(options);
}

Result<Assembly> CompileService::marked_assembly(const LoopNest& nest) const {
  return asked<Assembly>("code to show", nest,
                         [](const targets::Backend& backend, const LoopNest& nest, const Target& target) {
                           return backend.marked_assembly(nest, target, symbol_of(backend, nest));
                         });
}

Result<double> CompileService::expected_cycles(const LoopNest& nest, int threads) const {
  const auto code = expected_code(nest, threads);
  return code ? Result<double>(code->cycles) : code.error();
}

Result<targets::ExpectedCode> CompileService::expected_code(const LoopNest& nest, int threads) const {
  const auto code = asked<targets::ExpectedCode>(
      "code to rank", nest, [threads](const targets::Backend& backend, const LoopNest& nest, const Target& target) {
        return backend.expected_code(nest, target, threads);
      });
  if (code && is_too_many(code->spills, nest)) return spill_refusal(nest, target_, code->spills);
  return code;
}

Status CompileService::may_be_named(const std::string& symbol) const {
  if (!backend_) return backend_.error();
  return (*backend_)->may_be_named(symbol);
}

namespace {

// Libraries have the runtime inside, whose memory comes in large pages; an object comes alone.
targets::Caller caller_of(Abi abi, Emit emit) {
  if (abi != Abi::c) return targets::Caller::anyone;
  const bool has_runtime = emit == Emit::static_library || emit == Emit::shared || emit == Emit::artifact;
  return has_runtime ? targets::Caller::plain_c : targets::Caller::plain_c_alone;
}

}  // namespace

std::string CompileService::to_link(const LoopNest& nest, Emit emit, Abi abi) const {
  return backend_ ? (*backend_)->to_link(nest, emit, caller_of(abi, emit)) : std::string();
}

Result<std::vector<unsigned char>> CompileService::product(const LoopNest& nest, Emit emit, const std::string& name,
                                                           Abi abi) const {
  const auto caller = caller_of(abi, emit);
  constexpr const char* kObject = "elf-object";
  if (emit == Emit::object && abi == Abi::halide && backend_ && (name.empty() || name == symbol_of(**backend_, nest))) {
    const auto known = answers_->find(text_key(nest));
    if (known != answers_->end() && known->second->kind == kObject) return known->second->bytes;
  }
  return asked<targets::Bytes>(
      "code of the answer", nest,
      [emit, name, caller](const targets::Backend& backend, const LoopNest& nest, const Target& target) {
        return backend.emit(nest, target, emit, {name.empty() ? symbol_of(backend, nest) : name, caller});
      });
}

Result<std::vector<unsigned char>> CompileService::product(const std::vector<targets::LevelCode>& levels, Emit emit,
                                                           const std::string& name, Abi abi) const {
  if (!backend_) return backend_.error();
  const std::string symbol = name.empty() ? symbol_of(**backend_, levels.front().nest) : name;
  return (*backend_)->emit_levels(levels, emit, {symbol, caller_of(abi, emit)});
}

Result<LoopNest> CompileService::behind_passes(const LoopNest& nest, const std::string& last) const {
  if (!backend_) return backend_.error();
  return (*backend_)->behind_passes(nest, target_, last);
}

Result<std::string> CompileService::levels(const LoopNest& nest) const {
  if (!backend_) return backend_.error();
  return (*backend_)->levels(nest, target_);
}

Machine calibrated(Machine machine, double peak_gflops, double memory_gb_s) {
  const double flops_per_cycle = 2 * machine.units.multiply_adds_per_cycle.value *
                                 static_cast<double>(machine.vector_bytes()) / 4 * machine.cores();
  if (peak_gflops > 0) machine.clock_ghz = {peak_gflops / flops_per_cycle, FigureOrigin::probed};
  if (memory_gb_s > 0)
    machine.memories.back().bytes_per_cycle = {memory_gb_s / machine.cores() / machine.clock_ghz.value,
                                               FigureOrigin::probed};
  return machine;
}

std::optional<CompileService::PeakKernel> CompileService::peak_kernel(const LoopNest& nest, int threads,
                                                                      int64_t instructions) const {
  if (!backend_) return std::nullopt;
  auto made = (*backend_)->peak_kernel(nest, target_, threads, instructions);
  if (!made) return std::nullopt;
  return PeakKernel{loadable(std::move(made->artifact)), std::move(made->unit), made->operations};
}

double CompileService::measured_peak_gflops(int threads) const {
  return backend_ ? (*backend_)->measured_peak_gflops(target_, threads) : 0;
}

double CompileService::measured_memory_gb_s(int threads) const {
  return backend_ ? (*backend_)->measured_memory_gb_s(target_, threads) : 0;
}

std::string toolchain() {
  return "polyweft 0.1.0 llvm " + targets::llvm_version() + " isl 0.25";
}

}  // namespace polyweft
