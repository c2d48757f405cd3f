// Kernels: what their arguments are, at sizes, and calls.
#include "errors.h"
#include "handles.h"

using namespace polyweft::capi;

namespace {

const polyweft::ArgumentSpec* argument(const pw_kernel* kernel, size_t index) {
  if (!kernel || index >= kernel->kernel.arguments().size()) return nullptr;
  return &kernel->kernel.arguments()[index];
}

/// SIZE_MAX where it depends on the sizes.
size_t bytes_of(const polyweft::ArgumentSpec& spec) {
  auto bytes = static_cast<size_t>(polyweft::size_bytes(spec.type));
  for (const int64_t extent : spec.extents) {
    if (extent < 0) return SIZE_MAX;
    bytes *= static_cast<size_t>(extent);
  }
  return bytes;
}

pw_status run(polyweft::Kernel kernel, void* const* buffers, const size_t* bytes, size_t count) {
  const auto& arguments = kernel.arguments();
  if (count != arguments.size())
    return fail_with(polyweft::fail(
        "PW0654", "the kernel has " + std::to_string(arguments.size()) + " arguments, not " + std::to_string(count)));
  for (size_t i = 0; i < count && kernel.sizes().empty(); ++i) {
    const size_t expected = bytes_of(arguments[i]);
    if (bytes[i] != expected)
      return fail_with(polyweft::fail("PW0653", arguments[i].name + " has " + std::to_string(expected) +
                                                    " bytes, not " + std::to_string(bytes[i])));
    if (!buffers[i] && expected > 0) return null_argument(arguments[i].name);
  }
  const auto called = kernel.call(std::vector<void*>(buffers, buffers + count));
  return called ? PW_OK : fail_with(called.error());
}

polyweft::Result<polyweft::Kernel> at(const pw_kernel& kernel, const int64_t* sizes, size_t count) {
  return kernel.kernel.at(std::vector<int64_t>(sizes, sizes + count));
}

}  // namespace

extern "C" {

const char* pw_kernel_origin(const pw_kernel* kernel) {
  return kernel ? kernel->kernel.origin().c_str() : "";
}
size_t pw_kernel_size_count(const pw_kernel* kernel) {
  return kernel ? kernel->kernel.sizes().size() : 0;
}
const char* pw_kernel_size_name(const pw_kernel* kernel, size_t index) {
  return index < pw_kernel_size_count(kernel) ? kernel->kernel.sizes()[index].c_str() : "";
}
pw_status pw_kernel_at(const pw_kernel* kernel, const int64_t* sizes, size_t count, pw_kernel** out) {
  if (!kernel) return null_argument("kernel");
  if (count > 0 && !sizes) return null_argument("sizes");
  if (!out) return null_argument("out");
  return guarded([&] {
    auto sized = at(*kernel, sizes, count);
    if (!sized) return fail_with(sized.error());
    *out = new pw_kernel{std::move(sized).value()};
    return PW_OK;
  });
}
size_t pw_kernel_argument_count(const pw_kernel* kernel) {
  return kernel ? kernel->kernel.arguments().size() : 0;
}
const char* pw_kernel_argument_name(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? spec->name.c_str() : "";
}
const char* pw_kernel_argument_type(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? polyweft::name_of(spec->type) : "";
}
int pw_kernel_argument_is_output(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec && spec->is_output ? 1 : 0;
}
size_t pw_kernel_argument_rank(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? spec->extents.size() : 0;
}
int64_t pw_kernel_argument_extent(const pw_kernel* kernel, size_t index, size_t dimension) {
  const auto* spec = argument(kernel, index);
  return spec && dimension < spec->extents.size() ? spec->extents[dimension] : 0;
}
size_t pw_kernel_argument_bytes(const pw_kernel* kernel, size_t index) {
  const auto* spec = argument(kernel, index);
  return spec ? bytes_of(*spec) : 0;
}

pw_status pw_kernel_run(pw_kernel* kernel, void* const* buffers, const size_t* bytes, size_t count) {
  if (!kernel) return null_argument("kernel");
  if (count > 0 && (!buffers || !bytes)) return null_argument("buffers or bytes");
  return guarded([&] { return run(kernel->kernel, buffers, bytes, count); });
}
pw_status pw_kernel_run_at(const pw_kernel* kernel, const int64_t* sizes, size_t size_count, void* const* buffers,
                           const size_t* bytes, size_t count) {
  if (!kernel) return null_argument("kernel");
  if (size_count > 0 && !sizes) return null_argument("sizes");
  if (count > 0 && (!buffers || !bytes)) return null_argument("buffers or bytes");
  return guarded([&] {
    auto sized = at(*kernel, sizes, size_count);
    return sized ? run(std::move(sized).value(), buffers, bytes, count) : fail_with(sized.error());
  });
}
void pw_kernel_free(pw_kernel* kernel) {
  delete kernel;
}

}  // extern "C"
