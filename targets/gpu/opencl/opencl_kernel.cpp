#include "targets/gpu/opencl/opencl_kernel.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "targets/gpu/opencl/opencl.h"

namespace polyweft::targets {
namespace {

/// Owns what was made by OpenCL.
template <class T>
class Owned {
 public:
  using Release = cl_int (*)(T);
  Owned() = default;
  Owned(T value, Release release) : value_(value), release_(release) {}
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, nullptr)), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_), std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (value_) release_(value_);
  }
  T get() const { return value_; }
  const T* address() const { return &value_; }

 private:
  T value_ = nullptr;
  Release release_ = nullptr;
};

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class OpenClProgram final : public DeviceProgram {
 public:
  OpenClProgram(DeviceNest device, const OpenClDevice& opencl)
      : DeviceProgram(std::move(device)), opencl_(opencl), cl_(opencl.cl) {}

  Status open(std::string_view spirv, const std::string& symbol) {
    cl_int code = CL_SUCCESS;
    context_ = {cl_.create_context(nullptr, 1, &opencl_.id, nullptr, nullptr, &code), cl_.release_context};
    if (code != CL_SUCCESS) return opencl_status(code, "a context");
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    queue_ = {cl_.create_queue(context_.get(), opencl_.id, properties, &code), cl_.release_queue};
    if (code != CL_SUCCESS) return opencl_status(code, "a queue");
    memory_.resize(nest_.buffers.size());
    for (BufferId id : taken_)
      if (Status made = make_buffer(id); !made) return made;
    if (device_.kernels.empty()) return Ok{};  // nothing is computed
    if (Status built = build(spirv); !built) return built;
    for (size_t k = 0; k < device_.kernels.size(); ++k)
      if (Status made = make_kernel(k, symbol); !made) return made;
    for (size_t k = 0; k < device_.kernels.size(); ++k)
      if (Status set = set_buffers(k); !set) return set;
    return Ok{};
  }

  Result<double> pack() override {
    const double started = now_ns();
    for (const Pack& pack : nest_.packs)
      if (Status done = run(pack.root); !done) return done.error();
    if (Status done = finish(); !done) return done.error();
    return nest_.packs.empty() ? 0 : now_ns() - started;
  }

  Result<double> time(uint32_t calls) override {
    first_ = {}, last_ = {};
    for (uint32_t call = 0; call < calls; ++call)
      if (Status done = run(nest_.root); !done) return done.error();
    if (Status done = finish(); !done) return done.error();
    if (!first_.get()) return 0.0;
    cl_ulong start = 0, end = 0;
    if (cl_.get_profile(first_.get(), CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) != CL_SUCCESS ||
        cl_.get_profile((last_.get() ? last_ : first_).get(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) !=
            CL_SUCCESS ||
        end < start)
      return fail("PW0658", "the OpenCL device does not say when a kernel began and ended");
    return static_cast<double>(end - start) / std::max(calls, 1u);
  }

 private:
  struct Memory {
    Owned<cl_mem> all;    ///< with canaries on both sides
    Owned<cl_mem> cells;  ///< what kernels get
    size_t bytes = 0;     ///< of `all`
    size_t used = 0;      ///< of the cells'
  };

  Status write(BufferId id, size_t at, std::string_view bytes) override {
    return opencl_status(cl_.write_buffer(queue_.get(), memory_[id].cells.get(), CL_TRUE, at, bytes.size(),
                                          bytes.data(), 0, nullptr, nullptr),
                         "to take " + nest_.buffers[id].name);
  }
  Status read(BufferId id, size_t at, std::span<char> bytes) override {
    return opencl_status(cl_.read_buffer(queue_.get(), memory_[id].cells.get(), CL_TRUE, at, bytes.size(), bytes.data(),
                                         0, nullptr, nullptr),
                         "to give " + nest_.buffers[id].name);
  }
  Status finish() { return opencl_status(cl_.finish(queue_.get()), "to finish"); }

  Status build(std::string_view spirv) {
    cl_int code = CL_SUCCESS;
    program_ = {cl_.create_program(context_.get(), spirv.data(), spirv.size(), &code), cl_.release_program};
    if (code != CL_SUCCESS) return opencl_status(code, "the SPIR-V module");
    code =
        cl_.build_program(program_.get(), 1, &opencl_.id, "-cl-fp32-correctly-rounded-divide-sqrt", nullptr, nullptr);
    if (code == CL_SUCCESS) return Ok{};
    size_t size = 0;
    cl_.get_build_info(program_.get(), opencl_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    cl_.get_build_info(program_.get(), opencl_.id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    return fail("PW0516", "the kernel cannot be loaded: the compiler of the device refuses it: " + log.substr(0, 2000));
  }

  Status make_kernel(size_t k, const std::string& symbol) {
    cl_int code = CL_SUCCESS;
    kernels_.push_back(
        {cl_.create_kernel(program_.get(), kernel_symbol(symbol, k).c_str(), &code), cl_.release_kernel});
    if (code != CL_SUCCESS) return opencl_status(code, "kernel " + kernel_symbol(symbol, k));
    const int64_t threads = device_.kernels[k].thread_count();
    size_t most = 0;
    code =
        cl_.get_group_info(kernels_.back().get(), opencl_.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr);
    if (code != CL_SUCCESS) return opencl_status(code, "to say how many threads a block may have");
    if (static_cast<size_t>(threads) <= most) return Ok{};
    return fail("PW0658", "a block of " + std::to_string(threads) + " threads: the OpenCL device takes at most " +
                              std::to_string(most) + " of this kernel");
  }

  Status make_buffer(BufferId id) {
    const DeviceBuffer& at = device_.buffers[id];
    const Buffer& buffer = nest_.buffers[id];
    const std::string& name = buffer.name;
    Memory& memory = memory_[id];
    const size_t cells = static_cast<size_t>(std::max<int64_t>(at.bytes, 1) * at.instances);
    const bool is_dense = at.place == DevicePlace::argument && at.instances == 1;
    memory.used = is_dense ? static_cast<size_t>(allocated_elements(buffer) * size_bytes(buffer.type)) : cells;
    memory.bytes = cells + 2 * kCanaryBytes;
    cl_int code = CL_SUCCESS;
    const auto refused = [&] { return opencl_status(code, std::to_string(cells) + " bytes for " + name); };
    memory.all = {cl_.create_buffer(context_.get(), CL_MEM_READ_WRITE, memory.bytes, nullptr, &code),
                  cl_.release_memory};
    if (code != CL_SUCCESS) return refused();
    code = cl_.fill_buffer(queue_.get(), memory.all.get(), &kCanary, 1, 0, memory.bytes, 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return refused();
    const cl_buffer_region region = {kCanaryBytes, cells};
    memory.cells = {
        cl_.create_sub_buffer(memory.all.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code),
        cl_.release_memory};
    return refused();
  }

  Result<std::string> changed_canary(BufferId id) override {
    const Memory& memory = memory_[id];
    const size_t behind = kCanaryBytes + memory.used;
    for (const auto& [from, to, side] :
         {std::tuple{size_t{0}, kCanaryBytes, "before "}, std::tuple{behind, memory.bytes, "behind "}}) {
      canary_.resize(to - from);
      const cl_int code = cl_.read_buffer(queue_.get(), memory.all.get(), CL_TRUE, from, canary_.size(), canary_.data(),
                                          0, nullptr, nullptr);
      if (code != CL_SUCCESS)
        return opencl_status(code, "to give the surroundings of " + nest_.buffers[id].name).error();
      if (!is_canary(canary_)) return std::string(side);
    }
    return std::string();
  }

  Status set_buffers(size_t k) {
    cl_uint position = 0;
    for (BufferId id : taken_) {
      const cl_int code = cl_.set_argument(kernels_[k].get(), position++, sizeof(cl_mem), memory_[id].cells.address());
      if (code != CL_SUCCESS) return opencl_status(code, "argument " + nest_.buffers[id].name);
    }
    return Ok{};
  }

  Status launch(uint32_t k) override {
    const DeviceKernel& kernel = device_.kernels[k];
    auto position = static_cast<cl_uint>(taken_.size());
    for (VarId var : kernel.outer) {
      const cl_long value = value_of(var);
      if (Status set = opencl_status(cl_.set_argument(kernels_[k].get(), position++, sizeof value, &value),
                                     "the value of a loop");
          !set)
        return set;
    }
    size_t global[3], local[3];
    for (size_t d = 0; d < 3; ++d) {
      local[d] = static_cast<size_t>(kernel.threads[d]);
      global[d] = local[d] * static_cast<size_t>(kernel.blocks[d]);
      if (global[d] == 0) return Ok{};
    }
    cl_event event = nullptr;
    const cl_int code = cl_.launch(queue_.get(), kernels_[k].get(), 3, nullptr, global, local, 0, nullptr, &event);
    if (event && !first_.get()) {
      first_ = {event, cl_.release_event};
    } else if (event) {
      last_ = {event, cl_.release_event};
    }
    return opencl_status(code, "a launch of " + std::to_string(kernel.block_count()) + " blocks of " +
                                   std::to_string(kernel.thread_count()) + " threads");
  }

  const OpenClDevice& opencl_;
  const OpenClFunctions& cl_;
  Owned<cl_context> context_;
  Owned<cl_command_queue> queue_;
  Owned<cl_program> program_;
  std::vector<Owned<cl_kernel>> kernels_;
  std::vector<Memory> memory_;         ///< by buffer
  std::vector<unsigned char> canary_;  ///< as read back
  Owned<cl_event> first_, last_;       ///< launches since time() began
};

}  // namespace

Result<std::unique_ptr<DeviceProgram>> opencl_kernel(DeviceNest nest, std::string_view spirv,
                                                     const std::string& symbol) {
  const Result<OpenClDevice>& device = opencl_device();
  if (!device) return device.error();
  auto out = std::make_unique<OpenClProgram>(std::move(nest), *device);
  if (Status opened = out->open(spirv, symbol); !opened) return opened.error();
  return std::unique_ptr<DeviceProgram>(std::move(out));
}

}  // namespace polyweft::targets
