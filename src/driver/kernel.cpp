#include <algorithm>
#include <cmath>
#include <cstring>

#include "driver/kernel_impl.h"
#include "driver/task.h"
#include "ir/values/float_places.h"
#include "ir/values/kernel_codes.h"

namespace polyweft {
namespace {

std::string shape_text(const std::vector<int64_t>& extents) {
  std::string out = "[";
  for (size_t d = 0; d < extents.size(); ++d) out += (d ? ", " : "") + std::to_string(extents[d]);
  return out + "]";
}

Status fits(const ArgumentSpec& spec, const TensorData& data) {
  if (data.type != spec.type)
    return fail("PW0652", spec.name + " is " + name_of(spec.type) + ", not " + name_of(data.type));
  if (data.extents != spec.extents)
    return fail("PW0653",
                spec.name + " has the shape " + shape_text(spec.extents) + ", not " + shape_text(data.extents));
  return Ok{};
}

struct BoundCall {
  std::vector<TensorData> inputs, outputs;
  std::vector<TensorData*> arguments;
};

Result<BoundCall> bind_arguments(const std::vector<ArgumentSpec>& specs, const std::vector<TensorData>& inputs) {
  BoundCall call;
  call.inputs = inputs;
  for (const auto& spec : specs)
    if (spec.is_output) call.outputs.push_back(make_tensor(spec.type, spec.extents));
  if (specs.size() != inputs.size() + call.outputs.size())
    return fail("PW0654", "the kernel has " + std::to_string(specs.size() - call.outputs.size()) + " inputs, not " +
                              std::to_string(inputs.size()));
  size_t in = 0, out = 0;
  for (const auto& spec : specs) {
    TensorData& data = spec.is_output ? call.outputs[out++] : call.inputs[in++];
    if (auto ok = fits(spec, data); !ok) return ok.error();
    call.arguments.push_back(&data);
  }
  return call;
}

/// What a code means; `call_kernel` of a promised value says which.
Error kernel_error(int code, const std::vector<ArgumentSpec>& specs, const std::vector<void*>& buffers) {
  for (size_t a = 0; code == ir::kValueOutOfRange && a < specs.size(); ++a) {
    const ArgumentSpec& spec = specs[a];
    if (!spec.has_values || spec.is_output) continue;
    TensorData data = make_tensor(spec.type, spec.extents);
    if (!data.bytes.empty()) std::memcpy(data.bytes.data(), buffers[a], data.bytes.size());
    for (int64_t k = 0; k < data.elements(); ++k)
      if (const int64_t place = ir::place_of(data.at(k)); place < spec.values_lo || place >= spec.values_hi)
        return fail("PW0161", spec.name + ": element " + std::to_string(k) + " is " + ir::value_text(data.at(k)) +
                                  ", outside the promised " +
                                  ir::promise_text(spec.type, {spec.values_lo, spec.values_hi}));
  }
  if (code == ir::kNoTileUnit)
    return fail("PW0655", "the system does not let this process use the tile unit",
                {"is it switched on for guests and by the operating system? tune with --target host"});
  return fail("PW0655", "the kernel returned error " + std::to_string(code));
}

Error no_memory(const std::string& workspace) {
  return fail("PW0659", "there is no memory for what a call keeps: " + workspace,
              {"choose smaller sizes, or a schedule that keeps less: --max-workspace BYTES"});
}

/// The kernel counts on memory that is there and aligned.
Status has_memory(const ArgumentSpec& spec, const void* at) {
  uint64_t bytes = static_cast<uint64_t>(size_bytes(spec.type));
  if (reinterpret_cast<uintptr_t>(at) % bytes != 0)
    return fail("PW0657",
                spec.name + ": its address is not a multiple of " + std::to_string(bytes) + ", the size of an element");
  for (int64_t extent : spec.extents) bytes *= static_cast<uint64_t>(extent);
  if (!at && bytes > 0) return fail("PW0657", spec.name + ": null, not " + std::to_string(bytes) + " bytes");
  return Ok{};
}

std::string names_of_sizes(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// Whoever calls gives sizes to a kernel that takes them, and to no other.
Status has_its_sizes(const Kernel::Impl& kernel) {
  if (!kernel.symbolic) return Ok{};
  return fail("PW0670", "the kernel takes its sizes with each call: " + names_of_sizes(kernel.symbolic->sizes),
              {"give them to at(), run() or call()"});
}

Status run_once(Kernel::Impl& kernel, const std::vector<TensorData*>& arguments) {
  auto code = kernel.loaded->call(arguments);
  if (!code) return code.error();
  if (*code == 0) return Ok{};
  std::vector<void*> buffers;
  for (TensorData* data : arguments) buffers.push_back(data->bytes.data());
  return *code == ir::kNoMemory ? no_memory(kernel.workspace) : kernel_error(*code, kernel.arguments, buffers);
}

}  // namespace

Result<std::vector<TensorData>> Kernel::run(const std::vector<TensorData>& inputs) {
  if (auto sized = has_its_sizes(*impl_); !sized) return sized.error();
  auto call = bind_arguments(impl_->arguments, inputs);
  if (!call) return call.error();
  const std::lock_guard one(impl_->calls);
  impl_->loaded->forget_packed();
  if (auto ran = run_once(*impl_, call->arguments); !ran) return ran.error();
  return std::move(call->outputs);
}

Status Kernel::call(const std::vector<void*>& buffers) {
  if (auto sized = has_its_sizes(*impl_); !sized) return sized;
  if (buffers.size() != impl_->arguments.size())
    return fail("PW0654", "the kernel has " + std::to_string(impl_->arguments.size()) + " arguments, not " +
                              std::to_string(buffers.size()));
  for (size_t a = 0; a < buffers.size(); ++a)
    if (auto ok = has_memory(impl_->arguments[a], buffers[a]); !ok) return ok;
  const std::lock_guard one(impl_->calls);
  impl_->loaded->forget_packed();
  auto code = impl_->loaded->call_raw(buffers);
  if (!code) return code.error();
  if (*code == ir::kNoMemory) return no_memory(impl_->workspace);
  if (*code != 0) return kernel_error(*code, impl_->arguments, buffers);
  return Ok{};
}

Result<std::vector<std::chrono::nanoseconds>> Kernel::time(const std::vector<TensorData>& inputs, int repetitions) {
  if (auto sized = has_its_sizes(*impl_); !sized) return sized.error();
  auto call = bind_arguments(impl_->arguments, inputs);
  if (!call) return call.error();
  const std::lock_guard one(impl_->calls);
  std::vector<std::chrono::nanoseconds> times;
  for (int r = 0; r < repetitions; ++r) {
    const auto start = std::chrono::steady_clock::now();
    if (auto ran = run_once(*impl_, call->arguments); !ran) return ran.error();
    times.push_back(std::chrono::steady_clock::now() - start);
  }
  return times;
}

const std::vector<std::string>& Kernel::sizes() const {
  static const std::vector<std::string> kNone;
  return impl_->symbolic ? impl_->symbolic->sizes : kNone;
}

Result<Kernel> Kernel::at(const std::vector<int64_t>& sizes) const {
  if (!impl_->symbolic)
    return fail("PW0670", "the kernel has its sizes: it takes none", {"compile it with TaskOptions::symbolic"});
  const Impl::Symbolic& symbolic = *impl_->symbolic;
  if (sizes.size() != symbolic.sizes.size())
    return fail("PW0670", "the kernel takes " + std::to_string(symbolic.sizes.size()) + " sizes (" +
                              names_of_sizes(symbolic.sizes) + "), not " + std::to_string(sizes.size()));
  const auto nest = specialize(symbolic.signature, sizes);
  if (!nest) return fail("PW0670", nest.error().message, {"give other sizes: " + names_of_sizes(symbolic.sizes)});
  auto loaded = impl_->loaded->at(sizes);
  if (!loaded) return loaded.error();
  auto out = std::make_shared<Impl>();
  out->loaded = std::move(*loaded);
  out->arguments = argument_specs(*nest, symbolic.program);
  out->origin = impl_->origin;
  out->workspace = impl_->workspace;
  return Kernel(std::move(out));
}

Result<std::vector<TensorData>> Kernel::run(const std::vector<TensorData>& inputs,
                                            const std::vector<int64_t>& sizes) const {
  auto kernel = at(sizes);
  return kernel ? kernel->run(inputs) : kernel.error();
}

Status Kernel::call(const std::vector<void*>& buffers, const std::vector<int64_t>& sizes) const {
  auto kernel = at(sizes);
  return kernel ? kernel->call(buffers) : Status(kernel.error());
}

const std::vector<ArgumentSpec>& Kernel::arguments() const {
  return impl_->arguments;
}
const std::string& Kernel::origin() const {
  return impl_->origin;
}

}  // namespace polyweft
