#include "targets/gpu/cuda/cuda_kernel.h"

#include <algorithm>
#include <utility>

#include "targets/gpu/cuda/cuda.h"

namespace polyweft::targets {
namespace {

/// Memory of the device with canaries on both sides.
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
    if (const CudaStatus code = cuda_.allocate(&all_, bytes + 2 * kCanaryBytes); code != 0) return code;
    return cuda_.fill(all_, kCanary, bytes + 2 * kCanaryBytes);
  }
  CudaAddress cells() const { return all_ + kCanaryBytes; }
  /// "before ", "behind ", or nothing.
  Result<std::string> changed_canary() const {
    std::vector<unsigned char> guard(kCanaryBytes);
    for (const auto& [at, side] : {std::pair{all_, "before "}, std::pair{cells() + bytes_, "behind "}}) {
      if (const CudaStatus code = cuda_.to_host(guard.data(), at, guard.size()); code != 0)
        return cuda_status(cuda_, code, "to give the surroundings of its memory").error();
      if (!is_canary(guard)) return std::string(side);
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
      : DeviceProgram(std::move(device)), on_(cuda), cuda_(cuda.cuda), context_(cuda.context) {}
  ~CudaProgram() override {
    for (CudaEvent* event : {start_, end_})
      if (event) cuda_.destroy_event(event);
    memory_.clear();
    if (other_data_) cuda_.release(other_data_);
    if (module_) cuda_.unload_module(module_);
  }

  Status open(std::string_view ptx, const std::string& symbol) {
    if (Status set = refused(cuda_.set_context(context_), "its context"); !set) return set;
    for (BufferId id : taken_) {
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

  Result<double> pack() override {
    std::vector<NodeId> roots;
    for (const Pack& pack : nest_.packs) roots.push_back(pack.root);
    return timed(roots);
  }
  /// By data that fill the second cache twice over.
  Result<bool> empty_caches() override {
    const auto bytes = static_cast<size_t>(2 * on_.second_cache_bytes);
    if (bytes == 0) return false;
    if (!other_data_)
      if (Status taken = refused(cuda_.allocate(&other_data_, bytes), std::to_string(bytes) + " bytes"); !taken)
        return taken.error();
    if (Status filled = refused(cuda_.fill(other_data_, 0, bytes), "to fill memory"); !filled) return filled.error();
    if (Status done = refused(cuda_.synchronize(), "to finish"); !done) return done.error();
    return true;
  }
  int64_t clock_mhz() override { return cuda_clock_mhz(on_); }
  Result<double> time(uint32_t calls) override {
    auto ns = timed(std::vector<NodeId>(std::max(calls, 1u), nest_.root));
    if (!ns) return ns;
    return *ns / std::max(calls, 1u);
  }

 private:
  Status write(BufferId id, size_t at, std::string_view bytes) override {
    return refused(cuda_.to_device(memory_.at(id).cells() + at, bytes.data(), bytes.size()),
                   "to take " + nest_.buffers[id].name);
  }
  Status read(BufferId id, size_t at, std::span<char> bytes) override {
    return refused(cuda_.to_host(bytes.data(), memory_.at(id).cells() + at, bytes.size()),
                   "to give " + nest_.buffers[id].name);
  }
  Result<std::string> changed_canary(BufferId id) override { return memory_.at(id).changed_canary(); }
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
      if (Status given = give_shared_memory(k); !given) return given;
    }
    return Ok{};
  }

  /// What a launch asks for beyond what kernels may declare must be allowed first.
  Status give_shared_memory(size_t kernel) {
    constexpr int kMostDynamicBytes = 8;  // CUfunction_attribute
    const int64_t bytes = device_.kernels[kernel].dynamic_shared_bytes;
    if (bytes == 0) return Ok{};
    return refused(cuda_.set_function(functions_[kernel], kMostDynamicBytes, static_cast<int>(bytes)),
                   std::to_string(bytes) + " bytes of shared memory for a block");
  }

  Result<double> timed(const std::vector<NodeId>& roots) {
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

  Status launch(uint32_t k) override {
    const DeviceKernel& kernel = device_.kernels[k];
    if (kernel.block_count() == 0 || kernel.thread_count() == 0) return Ok{};
    std::vector<uint64_t> words;
    for (BufferId id : taken_) words.push_back(memory_.at(id).cells());
    for (VarId var : kernel.outer) words.push_back(static_cast<uint64_t>(value_of(var)));
    std::vector<void*> arguments;
    for (uint64_t& word : words) arguments.push_back(&word);
    const auto of = [](const GridSize& size, size_t d) { return static_cast<unsigned>(size[d]); };
    return refused(cuda_.launch(functions_[k], of(kernel.blocks, 0), of(kernel.blocks, 1), of(kernel.blocks, 2),
                                of(kernel.threads, 0), of(kernel.threads, 1), of(kernel.threads, 2),
                                static_cast<unsigned>(kernel.dynamic_shared_bytes), nullptr, arguments.data(), nullptr),
                   "a launch of " + std::to_string(kernel.block_count()) + " blocks of " +
                       std::to_string(kernel.thread_count()) + " threads");
  }

  const CudaDevice& on_;
  const CudaFunctions& cuda_;
  CudaContext* const context_;
  CudaAddress other_data_ = 0;  ///< that empties caches; 0: none yet
  CudaModule* module_ = nullptr;
  CudaEvent *start_ = nullptr, *end_ = nullptr;
  std::vector<CudaFunction*> functions_;      ///< by kernel
  std::map<BufferId, GuardedMemory> memory_;  ///< what kernels take
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
