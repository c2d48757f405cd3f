// polyweft-device: answers the requests of targets/workers/device_client.h on standard input until it is closed.
#include <llvm/Support/ErrorHandling.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "support/limits.h"
#include "support/subprocess.h"
#include "targets/gpu/cuda/cuda.h"
#include "targets/gpu/cuda/cuda_kernel.h"
#include "targets/gpu/device_program.h"
#include "targets/gpu/opencl/opencl.h"
#include "targets/gpu/opencl/opencl_kernel.h"
#include "targets/gpu/spirv/spirv_code.h"
#include "targets/programs/program_kernel.h"
#include "targets/workers/device_client.h"

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
        return figures(targets::opencl_device(), "");
      case DeviceRequest::cuda:
        return figures(targets::cuda_device(), targets::cuda_device() ? targets::cuda_device()->machine : "");
      case DeviceRequest::open:
        return open(reader);
      case DeviceRequest::put:
        return put(reader);
      case DeviceRequest::pack:
        return pack(reader);
      case DeviceRequest::call:
        return call(reader);
      case DeviceRequest::get:
        return get(reader);
      case DeviceRequest::time:
        return time(reader);
      case DeviceRequest::close:
        return close(reader);
      case DeviceRequest::cold:
        return time_cold(reader);
      case DeviceRequest::clock:
        return clock(reader);
      case DeviceRequest::counted:
        return counted(reader);
    }
    return refused(fail("PW0605", "a request of no known kind"));
  }

 private:
  static std::string spirv(ByteReader& reader) {
    const auto module = targets::spirv_of_llvm(std::string(reader.view()));
    if (!module) return refused(module.error());
    return good().string({reinterpret_cast<const char*>(module->data()), module->size()}).bytes();
  }

  template <class Found>
  static std::string figures(const Found& device, const std::string& machine) {
    if (!device) return refused(device.error());
    return good()
        .string(device->name)
        .string(device->driver)
        .string(machine)
        .i64(device->compute_units)
        .i64(device->most_threads)
        .i64(device->local_bytes)
        .i64(device->clock_mhz)
        .i64(device->second_cache_bytes)
        .i64(device->memory_mb_s)
        .bytes();
  }

  /// Text, where SPIR-V begins with its number.
  static bool is_ptx(std::string_view module) { return module.starts_with("//"); }

  static Result<std::unique_ptr<targets::HeldKernel>> on_grid(LoopNest nest, std::string_view module,
                                                              const std::string& symbol) {
    auto device = is_ptx(module) ? targets::device_nest(std::move(nest), targets::kDeclaredSharedBytes)
                                 : targets::device_nest(std::move(nest));
    if (!device) return device.error();
    auto made = is_ptx(module) ? targets::cuda_kernel(std::move(device).value(), module, symbol)
                               : targets::opencl_kernel(std::move(device).value(), module, symbol);
    if (!made) return made.error();
    return std::unique_ptr<targets::HeldKernel>(std::move(made).value());
  }

  std::string open(ByteReader& reader) {
    const uint32_t number = reader.u32();
    ByteReader kernels(reader.view());
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    auto nest = parse_loop_nest(std::string(kernels.view()));
    const std::string symbol(kernels.view());
    const std::string_view module = kernels.view();
    if (Status whole = kernels.finish(); !whole) return refused(whole.error());
    if (!nest) return refused(nest.error());
    programs_.erase(number);
    auto program = targets::is_program(module) ? targets::kernel_of_program(std::move(nest).value(), module, symbol)
                                               : on_grid(std::move(nest).value(), module, symbol);
    if (!program) return refused(program.error());
    ByteWriter out = good();
    out.u32(static_cast<uint32_t>((*program)->arguments()));
    for (size_t a = 0; a < (*program)->arguments(); ++a) out.u64((*program)->argument_bytes(a));
    programs_.emplace(number, std::move(program).value());
    return out.bytes();
  }

  std::string close(ByteReader& reader) {
    programs_.erase(reader.u32());
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    return good().bytes();
  }

  /// The program of a number that the reader gives; without one the reader has failed.
  targets::HeldKernel* program(ByteReader& reader) {
    const auto found = programs_.find(reader.u32());
    if (found != programs_.end()) return found->second.get();
    reader.mark_failed("the number of a kernel that is there");
    return nullptr;
  }

  /// Does the argument have `size` bytes from `at` on?
  static bool is_part(const targets::HeldKernel& program, uint32_t argument, uint64_t at, uint64_t size) {
    if (argument >= program.arguments()) return false;
    const uint64_t bytes = program.argument_bytes(argument);
    return at <= bytes && size <= bytes - at;
  }

  std::string put(ByteReader& reader) {
    targets::HeldKernel* const to = program(reader);
    const uint32_t argument = reader.u32();
    const uint64_t at = reader.u64();
    const std::string_view bytes = reader.view();
    if (to && !is_part(*to, argument, at, bytes.size())) reader.mark_failed("a part of an argument");
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    if (Status done = to->put(argument, at, bytes); !done) return refused(done.error());
    return good().bytes();
  }

  std::string get(ByteReader& reader) {
    targets::HeldKernel* const from = program(reader);
    const uint32_t argument = reader.u32();
    const uint64_t at = reader.u64(), size = reader.u64();
    if (from && !is_part(*from, argument, at, size)) reader.mark_failed("a part of an argument");
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    std::string bytes(size, '\0');
    if (Status done = from->get(argument, at, bytes); !done) return refused(done.error());
    return good().string(bytes).bytes();
  }

  std::string pack(ByteReader& reader) {
    targets::HeldKernel* const of = program(reader);
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    const auto ns = of->pack();
    return ns ? good().f64(*ns).bytes() : refused(ns.error());
  }

  std::string call(ByteReader& reader) {
    targets::HeldKernel* const of = program(reader);
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    const auto call = of->call();
    if (!call) return refused(call.error());
    return good().u32(static_cast<uint32_t>(call->code)).f64(call->ns).string(call->outside).bytes();
  }

  std::string time(ByteReader& reader) {
    std::vector<targets::HeldKernel*> turns = {program(reader)};
    ByteReader second = reader;
    if (second.u32() == targets::DeviceTiming::kNone)
      reader = second;
    else
      turns.push_back(program(reader));
    const uint32_t samples = reader.u32(), first_repeat = reader.u32(), untimed = reader.u32();
    const std::array<uint32_t, 2> repeat = {first_repeat, reader.u32()};
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    std::vector<std::vector<double>> taken(turns.size());
    for (uint32_t s = 0; s < samples; ++s)
      for (size_t k = 0; k < turns.size(); ++k) {
        if (untimed > 0)
          if (const auto before = turns[k]->time(untimed); !before) return refused(before.error());
        const auto ns = turns[k]->time(repeat[k]);
        if (!ns) return refused(ns.error());
        taken[k].push_back(*ns);
      }
    ByteWriter out = good();
    for (const auto& of_kernel : taken)
      for (const double ns : of_kernel) out.f64(ns);
    return out.bytes();
  }

  std::string time_cold(ByteReader& reader) {
    targets::HeldKernel* const of = program(reader);
    const uint32_t samples = reader.u32();
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    std::vector<double> taken;
    for (uint32_t s = 0; s < samples; ++s) {
      const auto are_empty = of->empty_caches();
      if (!are_empty) return refused(are_empty.error());
      if (!*are_empty) break;
      const auto ns = of->time(1);
      if (!ns) return refused(ns.error());
      taken.push_back(*ns);
    }
    ByteWriter out = good();
    out.u32(static_cast<uint32_t>(taken.size()));
    for (const double ns : taken) out.f64(ns);
    return out.bytes();
  }

  std::string clock(ByteReader& reader) {
    targets::HeldKernel* const of = program(reader);
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    return good().i64(of->clock_mhz()).bytes();
  }

  std::string counted(ByteReader& reader) {
    targets::HeldKernel* const of = program(reader);
    if (Status whole = reader.finish(); !whole) return refused(whole.error());
    const auto are_counted = of->times_are_counted();
    return are_counted ? good().u8(*are_counted).bytes() : refused(are_counted.error());
  }

  std::map<uint32_t, std::unique_ptr<targets::HeldKernel>> programs_;
};

}  // namespace

int main() {
  die_with_parent(getppid());
  keep_freed_memory();
  llvm::install_fatal_error_handler(on_fatal_error);
  Device device;
  return serve_requests([&](std::string_view request) { return device.answer(request); });
}
