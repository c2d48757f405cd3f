#include "targets/gpu/cuda/cuda_kernel.h"

#include <algorithm>
#include <utility>

#include "ir/nests/sample_points.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "targets/gpu/cuda/cuda.h"
#include "targets/gpu/kernels.h"

namespace polyweft::targets {
namespace {

constexpr size_t kGuardBytes = 4096;  ///< before and behind each buffer
constexpr unsigned char kGuardValue = 0xC5;

/// Memory of the device with guards on both sides.
class GuardedMemory {
 public:
  explicit GuardedMemory(const CudaFunctions& cuda) : cuda_(cuda) {}
  GuardedMemory(GuardedMemory&& other) noexcept
      : cuda_(other.cuda_), all_(std::exchange(other.all_, 0)), bytes_(other.bytes_) {}
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (all_) cuda_.release(all_);
  }

  CudaStatus allocate(size_t bytes) {
    bytes_ = bytes;
    if (const CudaStatus code = cuda_.allocate(&all_, bytes + 2 * kGuardBytes); code != 0) return code;
    return cuda_.fill(all_, kGuardValue, bytes + 2 * kGuardBytes);
  }
  CudaAddress cells() const { return all_ + kGuardBytes; }
  /// "before ", "behind ", or nothing.
  Result<std::string> changed_guard() const {
    std::vector<unsigned char> guard(kGuardBytes);
    for (const auto& [at, side] : {std::pair{all_, "before "}, std::pair{cells() + bytes_, "behind "}}) {
      if (const CudaStatus code = cuda_.to_host(guard.data(), at, guard.size()); code != 0)
        return cuda_status(cuda_, code, "to give the surroundings of its memory").error();
      if (std::any_of(guard.begin(), guard.end(), [](unsigned char byte) { return byte != kGuardValue; }))
        return std::string(side);
    }
    return std::string();
  }

 private:
  const CudaFunctions& cuda_;
  CudaAddress all_ = 0;
  size_t bytes_ = 0;
};

class CudaProgram final : public DeviceProgram {
 public:
  CudaProgram(DeviceNest device, const CudaDevice& cuda)
      : device_(std::move(device)), nest_(device_.nest), cuda_(cuda.cuda), context_(cuda.context) {}
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;
  ~CudaProgram() override {
    for (CudaEvent* event : {start_, end_})
      if (event) cuda_.destroy_event(event);
    memory_.clear();
    if (module_) cuda_.unload_module(module_);
  }

  Status open(std::string_view ptx, const std::string& symbol) {
    if (Status set = refused(cuda_.set_context(context_), "its context"); !set) return set;
    broken_.assign(nest_.arguments.size(), false);
    for (BufferId id : kernel_arguments(device_)) {
      const DeviceBuffer& at = device_.buffers[id];
      const auto bytes = static_cast<size_t>(std::max<int64_t>(at.bytes, 1) * at.instances);
      const CudaStatus code = memory_.emplace(id, cuda_).first->second.allocate(bytes);
      if (code != 0) return refused(code, std::to_string(bytes) + " bytes for " + nest_.buffers[id].name);
    }
    for (CudaEvent** event : {&start_, &end_})
      if (Status made = refused(cuda_.create_event(event, 0), "an event"); !made) return made;
    if (device_.kernels.empty()) return Ok{};  // nothing is computed
    return load(ptx, symbol);
  }

  size_t arguments() const override { return nest_.arguments.size(); }
  size_t argument_bytes(size_t argument) const override { return dense_bytes(given(argument)); }

  Status put(size_t argument, size_t at, std::string_view bytes) override {
    if (at == 0) broken_[argument] = false;
    if (!keeps_promise(given(argument), bytes)) broken_[argument] = true;
    if (bytes.empty()) return Ok{};
    return refused(cuda_.to_device(cells_of(argument) + at, bytes.data(), bytes.size()),
                   "to take " + given(argument).name);
  }
  Status get(size_t argument, size_t at, std::span<char> bytes) override {
    if (bytes.empty()) return Ok{};
    return refused(cuda_.to_host(bytes.data(), cells_of(argument) + at, bytes.size()),
                   "to give " + given(argument).name);
  }

  Result<double> pack() override {
    std::vector<NodeId> roots;
    for (const Pack& pack : nest_.packs) roots.push_back(pack.root);
    return timed(roots);
  }
  Result<DeviceCall> call() override {
    DeviceCall out;
    if (std::find(broken_.begin(), broken_.end(), true) != broken_.end()) {
      out.code = ir::kValueOutOfRange;
      return out;
    }
    const auto ns = time(1);
    if (!ns) return ns.error();
    out.ns = *ns;
    for (const auto& [id, memory] : memory_) {
      const auto side = memory.changed_guard();
      if (!side) return side.error();
      if (!side->empty() && out.outside.empty()) out.outside = *side + nest_.buffers[id].name;
    }
    return out;
  }
  Result<double> time(uint32_t calls) override {
    auto ns = timed(std::vector<NodeId>(std::max(calls, 1u), nest_.root));
    if (!ns) return ns;
    return *ns / std::max(calls, 1u);
  }

 private:
  const Buffer& given(size_t argument) const { return nest_.buffers[given_for(nest_, nest_.arguments[argument])]; }
  CudaAddress cells_of(size_t argument) const {
    return memory_.at(given_for(nest_, nest_.arguments[argument])).cells();
  }
  Status refused(CudaStatus code, const std::string& what) const { return cuda_status(cuda_, code, what); }

  /// With what the driver's assembler says where it refuses the module.
  Status load(std::string_view ptx, const std::string& symbol) {
    constexpr int kErrorLog = 5, kErrorLogBytes = 6;  // CUjit_option
    const std::string text(ptx);
    std::string log(8192, '\0');
    int names[] = {kErrorLog, kErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    if (cuda_.load_module(&module_, text.c_str(), 2, names, values) != 0)
      return fail("PW0516", "the kernel cannot be loaded: the driver refuses it: " + log.substr(0, log.find('\0')));
    for (size_t k = 0; k < device_.kernels.size(); ++k) {
      functions_.push_back(nullptr);
      const std::string name = kernel_symbol(symbol, k);
      const CudaStatus code = cuda_.function(&functions_.back(), module_, name.c_str());
      if (code != 0) return refused(code, "kernel " + name);
    }
    return Ok{};
  }

  /// Parts of arguments hold whole elements.
  static bool keeps_promise(const Buffer& buffer, std::string_view part) {
    if (!buffer.values || buffer.is_output) return true;
    TensorData values = make_tensor(buffer.type, {static_cast<int64_t>(part.size()) / size_bytes(buffer.type)});
    std::copy_n(reinterpret_cast<const unsigned char*>(part.data()), values.bytes.size(), values.bytes.begin());
    for (int64_t i = 0; i < values.elements(); ++i)
      if (const int64_t value = values.at(i).i; value < buffer.values->lo || value >= buffer.values->hi) return false;
    return true;
  }

  Result<double> timed(const std::vector<NodeId>& roots) {
    variables_.assign(nest_.params.size() + nest_.loop_names.size(), 0);
    for (size_t p = 0; p < nest_.params.size(); ++p) variables_[p] = nest_.params[p].value;
    if (Status done = refused(cuda_.record(start_, nullptr), "an event"); !done) return done.error();
    for (NodeId root : roots)
      if (Status done = run(root); !done) return done.error();
    if (Status done = refused(cuda_.record(end_, nullptr), "an event"); !done) return done.error();
    if (Status done = refused(cuda_.synchronize(), "to finish"); !done) return done.error();
    float milliseconds = 0;
    if (Status done = refused(cuda_.elapsed(&milliseconds, start_, end_), "the time of a call"); !done)
      return done.error();
    constexpr double kNsOfMs = 1e6;
    return roots.empty() ? 0 : milliseconds * kNsOfMs;
  }

  Status run(NodeId id) {
    if (id == kNoNode) return Ok{};
    if (const auto at = device_.kernel_at.find(id); at != device_.kernel_at.end()) return launch(at->second);
    const Node& node = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children)
        if (Status done = run(child); !done) return done;
    if (const auto* choice = std::get_if<If>(&node))
      return run(evaluate(choice->condition, variables_) ? choice->then : choice->otherwise);
    if (const auto* alloc = std::get_if<Alloc>(&node)) return run(alloc->body);
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop) return Ok{};
    const int64_t lo = ir::value_of(loop->lo, true, variables_), hi = ir::value_of(loop->hi, false, variables_);
    for (int64_t value = lo; value < hi; value += loop->step) {
      variables_[loop->var] = value;
      if (Status done = run(loop->body); !done) return done;
    }
    return Ok{};
  }

  Status launch(uint32_t k) {
    const DeviceKernel& kernel = device_.kernels[k];
    if (kernel.block_count() == 0 || kernel.thread_count() == 0) return Ok{};
    std::vector<uint64_t> words;
    for (BufferId id : kernel_arguments(device_)) words.push_back(memory_.at(id).cells());
    for (VarId var : kernel.outer) words.push_back(static_cast<uint64_t>(variables_[var]));
    std::vector<void*> arguments;
    for (uint64_t& word : words) arguments.push_back(&word);
    const auto of = [](const GridSize& size, size_t d) { return static_cast<unsigned>(size[d]); };
    return refused(cuda_.launch(functions_[k], of(kernel.blocks, 0), of(kernel.blocks, 1), of(kernel.blocks, 2),
                                of(kernel.threads, 0), of(kernel.threads, 1), of(kernel.threads, 2), 0, nullptr,
                                arguments.data(), nullptr),
                   "a launch of " + std::to_string(kernel.block_count()) + " blocks of " +
                       std::to_string(kernel.thread_count()) + " threads");
  }

  const DeviceNest device_;
  const LoopNest& nest_;
  const CudaFunctions& cuda_;
  CudaContext* const context_;
  CudaModule* module_ = nullptr;
  CudaEvent *start_ = nullptr, *end_ = nullptr;
  std::vector<CudaFunction*> functions_;      ///< by kernel
  std::map<BufferId, GuardedMemory> memory_;  ///< what kernels take
  std::vector<bool> broken_;                  ///< arguments with a value outside of what their caller has promised
  std::vector<int64_t> variables_;
};

}  // namespace

Result<std::unique_ptr<DeviceProgram>> cuda_kernel(DeviceNest nest, std::string_view ptx, const std::string& symbol) {
  const Result<CudaDevice>& device = cuda_device();
  if (!device) return device.error();
  auto out = std::make_unique<CudaProgram>(std::move(nest), *device);
  if (Status opened = out->open(ptx, symbol); !opened) return opened.error();
  return std::unique_ptr<DeviceProgram>(std::move(out));
}

}  // namespace polyweft::targets
