// polyweft-device: answers the requests of targets/gpu/device_process.h on standard input until it is closed.
#include <llvm/Support/ErrorHandling.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "support/subprocess.h"
#include "targets/gpu/device_process.h"
#include "targets/gpu/opencl/opencl.h"
#include "targets/gpu/opencl/opencl_kernel.h"
#include "targets/gpu/spirv/spirv_code.h"

using namespace polyweft;
using targets::DeviceRequest;

namespace {

std::string refused(const Error& error) {
  return ByteWriter().string(error.code).string(error.message).bytes();
}
ByteWriter good() {
  ByteWriter out;
  out.string("").string("");
  return out;
}

void on_fatal_error(void*, const char* reason, bool) {
  (void)write_frame(1, static_cast<uint16_t>(FrameType::response),
                    refused(fail("PW0512", std::string("LLVM's back end for SPIR-V refuses the kernel: ") + reason)));
  std::_Exit(0);
}

class Device {
 public:
  std::string answer(std::string_view request) {
    ByteReader reader(request);
    switch (static_cast<DeviceRequest>(reader.u8())) {
      case DeviceRequest::spirv:
        return spirv(reader);
      case DeviceRequest::figures:
        return figures();
      case DeviceRequest::open:
        return open(reader);
      case DeviceRequest::put:
        return put(reader);
      case DeviceRequest::call:
        return call(reader);
      case DeviceRequest::get:
        return get(reader);
    }
    return refused(fail("PW0605", "a request of no known kind"));
  }

 private:
  static std::string spirv(ByteReader& reader) {
    const auto module = targets::spirv_of_llvm(std::string(reader.view()));
    if (!module) return refused(module.error());
    return good().string({reinterpret_cast<const char*>(module->data()), module->size()}).bytes();
  }

  static std::string figures() {
    const auto& device = targets::opencl_device();
    if (!device) return refused(device.error());
    return good()
        .string(device->name)
        .string(device->driver)
        .i64(device->compute_units)
        .i64(device->most_threads)
        .i64(device->local_bytes)
        .bytes();
  }

  std::string open(ByteReader& reader) {
    auto nest = parse_loop_nest(std::string(reader.view()));
    const std::string symbol(reader.view());
    const std::string_view module = reader.view();
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    if (!nest) return refused(nest.error());
    auto device = targets::device_nest(*nest);
    if (!device) return refused(device.error());
    kernel_ = nullptr;
    arguments_.clear();
    for (BufferId id : nest->arguments)
      arguments_.emplace_back(targets::dense_bytes(nest->buffers[targets::given_for(*nest, id)]), '\0');
    auto kernel = targets::opencl_kernel(std::move(device).value(), {module.begin(), module.end()}, symbol);
    if (!kernel) return refused(kernel.error());
    kernel_ = std::move(kernel).value();
    return good().bytes();
  }

  /// The bytes of an argument from `at` on; empty where there are not so many.
  std::span<char> part(uint32_t argument, uint64_t at, uint64_t size) {
    if (argument >= arguments_.size() || at > arguments_[argument].size() || size > arguments_[argument].size() - at)
      return {};
    return {arguments_[argument].data() + at, size};
  }

  std::string put(ByteReader& reader) {
    const uint32_t argument = reader.u32();
    const uint64_t at = reader.u64();
    const std::string_view bytes = reader.view();
    const std::span<char> to = part(argument, at, bytes.size());
    if (to.size() != bytes.size()) reader.mark_failed("a part of an argument");
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    std::copy(bytes.begin(), bytes.end(), to.begin());
    return good().bytes();
  }

  std::string get(ByteReader& reader) {
    const uint32_t argument = reader.u32();
    const uint64_t at = reader.u64(), size = reader.u64();
    const std::span<char> from = part(argument, at, size);
    if (from.size() != size) reader.mark_failed("a part of an argument");
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    return good().string({from.data(), from.size()}).bytes();
  }

  std::string call(ByteReader& reader) {
    if (!kernel_) return refused(fail("PW0605", "a call before a kernel is there"));
    if (reader.u8()) kernel_->forget_packed();
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    std::vector<void*> addresses;
    for (std::string& bytes : arguments_) addresses.push_back(bytes.data());
    const auto code = kernel_->call_raw(addresses);
    if (!code) return refused(code.error());
    return good().u32(static_cast<uint32_t>(*code)).bytes();
  }

  std::unique_ptr<targets::LoadedKernel> kernel_;
  std::vector<std::string> arguments_;  ///< bytes of each
};

}  // namespace

int main() {
  llvm::install_fatal_error_handler(on_fatal_error);
  Device device;
  return serve_requests([&](std::string_view request) { return device.answer(request); });
}
