#include "targets/gpu/opencl/opencl_kernel.h"

#include <algorithm>
#include <utility>

#include "ir/nests/sample_points.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "targets/gpu/kernels.h"
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

class OpenClKernel final : public LoadedKernel {
 public:
  OpenClKernel(DeviceNest device, const OpenClDevice& opencl)
      : device_(std::move(device)), nest_(device_.nest), opencl_(opencl), cl_(opencl.cl) {}

  Status open(const Bytes& spirv, const std::string& symbol) {
    cl_int code = CL_SUCCESS;
    context_ = {cl_.create_context(nullptr, 1, &opencl_.id, nullptr, nullptr, &code), cl_.release_context};
    if (code != CL_SUCCESS) return opencl_status(code, "a context");
    queue_ = {cl_.create_queue(context_.get(), opencl_.id, nullptr, &code), cl_.release_queue};
    if (code != CL_SUCCESS) return opencl_status(code, "a queue");
    if (device_.kernels.empty()) return Ok{};  // nothing is computed
    if (Status built = build(spirv); !built) return built;
    for (size_t k = 0; k < device_.kernels.size(); ++k)
      if (Status made = make_kernel(k, symbol); !made) return made;
    memory_.resize(nest_.buffers.size());
    for (BufferId id : kernel_arguments(device_))
      if (Status made = make_buffer(id); !made) return made;
    for (size_t k = 0; k < device_.kernels.size(); ++k)
      if (Status set = set_buffers(k); !set) return set;
    return Ok{};
  }

  Result<int> call_raw(const std::vector<void*>& arguments) override {
    if (arguments.size() != nest_.arguments.size()) return fail("PW0654", "wrong number of arguments");
    for (size_t a = 0; a < arguments.size(); ++a)
      if (!keeps_promise(nest_.buffers[given_for(nest_, nest_.arguments[a])], arguments[a]))
        return ir::kValueOutOfRange;
    for (size_t a = 0; a < arguments.size(); ++a)
      if (Status sent = send(nest_.arguments[a], arguments[a]); !sent) return sent.error();
    env_.assign(nest_.params.size() + nest_.loop_names.size(), 0);
    for (size_t p = 0; p < nest_.params.size(); ++p) env_[p] = nest_.params[p].value;
    if (!packed_is_fresh_)
      for (const Pack& pack : nest_.packs)
        if (Status done = run(pack.root); !done) return done.error();
    packed_is_fresh_ = true;
    if (Status done = run(nest_.root); !done) return done.error();
    for (size_t a = 0; a < arguments.size(); ++a)
      if (Status received = receive(nest_.arguments[a], arguments[a]); !received) return received.error();
    if (Status finished = opencl_status(cl_.finish(queue_.get()), "to finish"); !finished) return finished.error();
    return 0;
  }
  void forget_packed() override { packed_is_fresh_ = false; }

 private:
  Status build(const Bytes& spirv) {
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
    const auto bytes = static_cast<size_t>(std::max<int64_t>(at.bytes, 1) * at.instances);
    cl_int code = CL_SUCCESS;
    memory_[id] = {cl_.create_buffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code), cl_.release_memory};
    return opencl_status(code, std::to_string(bytes) + " bytes for " + nest_.buffers[id].name);
  }

  Status set_buffers(size_t k) {
    cl_uint position = 0;
    for (BufferId id : kernel_arguments(device_)) {
      const cl_int code = cl_.set_argument(kernels_[k].get(), position++, sizeof(cl_mem), memory_[id].address());
      if (code != CL_SUCCESS) return opencl_status(code, "argument " + nest_.buffers[id].name);
    }
    return Ok{};
  }

  bool keeps_promise(const Buffer& buffer, const void* data) const {
    if (!buffer.values || buffer.is_output) return true;
    TensorData values = make_tensor(buffer.type, buffer.extents);
    std::copy_n(static_cast<const unsigned char*>(data), values.bytes.size(), values.bytes.begin());
    for (int64_t i = 0; i < values.elements(); ++i)
      if (const int64_t value = values.at(i).i; value < buffer.values->lo || value >= buffer.values->hi) return false;
    return true;
  }

  Status send(BufferId argument, const void* data) {
    const BufferId id = given_for(nest_, argument);
    const size_t bytes = dense_bytes(nest_.buffers[id]);
    if (bytes == 0 || (id != argument && packed_is_fresh_)) return Ok{};
    return opencl_status(
        cl_.write_buffer(queue_.get(), memory_[id].get(), CL_FALSE, 0, bytes, data, 0, nullptr, nullptr),
        "to take " + nest_.buffers[id].name);
  }
  Status receive(BufferId id, void* data) {
    const size_t bytes = dense_bytes(nest_.buffers[id]);
    if (bytes == 0 || !nest_.buffers[id].is_output) return Ok{};
    return opencl_status(
        cl_.read_buffer(queue_.get(), memory_[id].get(), CL_FALSE, 0, bytes, data, 0, nullptr, nullptr),
        "to give " + nest_.buffers[id].name);
  }

  Status run(NodeId id) {
    if (id == kNoNode) return Ok{};
    if (const auto at = device_.kernel_at.find(id); at != device_.kernel_at.end()) return launch(at->second);
    const Node& node = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node))
      for (NodeId child : seq->children)
        if (Status done = run(child); !done) return done;
    if (const auto* choice = std::get_if<If>(&node))
      return run(evaluate(choice->condition, env_) ? choice->then : choice->otherwise);
    if (const auto* alloc = std::get_if<Alloc>(&node)) return run(alloc->body);
    const auto* loop = std::get_if<Loop>(&node);
    if (!loop) return Ok{};
    const int64_t lo = ir::value_of(loop->lo, true, env_), hi = ir::value_of(loop->hi, false, env_);
    for (int64_t value = lo; value < hi; value += loop->step) {
      env_[loop->var] = value;
      if (Status done = run(loop->body); !done) return done;
    }
    return Ok{};
  }

  Status launch(uint32_t k) {
    const DeviceKernel& kernel = device_.kernels[k];
    auto position = static_cast<cl_uint>(kernel_arguments(device_).size());
    for (VarId var : kernel.outer) {
      const cl_long value = env_[var];
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
    return opencl_status(cl_.launch(queue_.get(), kernels_[k].get(), 3, nullptr, global, local, 0, nullptr, nullptr),
                         "a launch of " + std::to_string(kernel.block_count()) + " blocks of " +
                             std::to_string(kernel.thread_count()) + " threads");
  }

  const DeviceNest device_;
  const LoopNest& nest_;
  const OpenClDevice& opencl_;
  const OpenClFunctions& cl_;
  Owned<cl_context> context_;
  Owned<cl_command_queue> queue_;
  Owned<cl_program> program_;
  std::vector<Owned<cl_kernel>> kernels_;
  std::vector<Owned<cl_mem>> memory_;  ///< by buffer
  std::vector<int64_t> env_;
  bool packed_is_fresh_ = false;
};

}  // namespace

Result<std::unique_ptr<LoadedKernel>> opencl_kernel(DeviceNest nest, const Bytes& spirv, const std::string& symbol) {
  const Result<OpenClDevice>& device = opencl_device();
  if (!device) return device.error();
  auto out = std::make_unique<OpenClKernel>(std::move(nest), *device);
  if (Status opened = out->open(spirv, symbol); !opened) return opened.error();
  return std::unique_ptr<LoadedKernel>(std::move(out));
}

}  // namespace polyweft::targets
