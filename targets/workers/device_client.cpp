#include "targets/workers/device_client.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace polyweft::targets {
namespace {

constexpr size_t kPart = 32 << 20;  ///< of an argument's bytes, in a frame

ByteWriter request_of(DeviceRequest kind) {
  ByteWriter out;
  out.u8(static_cast<uint8_t>(kind));
  return out;
}

}  // namespace

std::string device_kernels(std::string_view nest_text, std::string_view symbol, std::string_view module) {
  return ByteWriter().string(nest_text).string(symbol).string(module).bytes();
}

std::string DeviceFigures::text() const {
  return name + ", driver " + driver;
}

Result<DeviceClient> DeviceClient::start(const std::string& program) {
  WorkerOptions options;
  options.argv = {program};
  options.limits.file_bytes = UINT64_MAX;  // drivers keep what they compiled
  options.limits.open_files = 1024;
  auto process = WorkerProcess::start(std::move(options));
  if (!process) return process.error();
  return DeviceClient(std::move(*process));
}

/// What stands behind the status of an answer.
Result<ByteReader> DeviceClient::ask(const ByteWriter& request, Deadline deadline) {
  auto answer = process_.call(request.bytes(), deadline);
  if (!answer) {
    Error problem = answer.error();
    problem.notes.push_back("the compiler and the driver of the device ran in that process");
    return problem;
  }
  answer_ = std::move(*answer);
  ByteReader reader(answer_);
  const std::string code(reader.view()), message(reader.view());
  if (code.empty()) return reader;
  return fail(code, message);
}

Result<DeviceFigures> DeviceClient::figures(DeviceRequest which) {
  auto reader = ask(request_of(which), kLongestAnswer);
  if (!reader) return reader.error();
  DeviceFigures out;
  out.name = reader->view();
  out.driver = reader->view();
  out.machine = reader->view();
  out.compute_units = reader->i64();
  out.most_threads = reader->i64();
  out.local_bytes = reader->i64();
  out.clock_mhz = reader->i64();
  out.second_cache_bytes = reader->i64();
  out.memory_mb_s = reader->i64();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return out;
}

Result<std::vector<unsigned char>> DeviceClient::spirv(const std::string& llvm_text) {
  auto reader = ask(request_of(DeviceRequest::spirv).string(llvm_text), kLongestAnswer);
  if (!reader) return reader.error();
  const std::string_view module = reader->view();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return std::vector<unsigned char>(module.begin(), module.end());
}

Result<std::vector<uint64_t>> DeviceClient::open(uint32_t kernel, std::string_view kernels, Deadline deadline) {
  auto reader = ask(request_of(DeviceRequest::open).u32(kernel).string(kernels), deadline);
  if (!reader) return reader.error();
  std::vector<uint64_t> bytes(reader->count(sizeof(uint64_t)));
  for (uint64_t& of_argument : bytes) of_argument = reader->u64();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return bytes;
}

Status DeviceClient::close(uint32_t kernel) {
  auto reader = ask(request_of(DeviceRequest::close).u32(kernel), kLongestAnswer);
  if (!reader) return reader.error();
  return reader->finish();
}

Status DeviceClient::put(uint32_t kernel, uint32_t argument, std::span<const char> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kPart) {
    ByteWriter request = request_of(DeviceRequest::put);
    request.u32(kernel).u32(argument).u64(at);
    request.string({bytes.data() + at, std::min(kPart, bytes.size() - at)});
    auto reader = ask(request, kLongestAnswer);
    if (!reader) return reader.error();
    if (Status whole = reader->finish(); !whole) return whole;
  }
  return Ok{};
}

Status DeviceClient::get(uint32_t kernel, uint32_t argument, std::span<char> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kPart) {
    const size_t size = std::min(kPart, bytes.size() - at);
    auto reader = ask(request_of(DeviceRequest::get).u32(kernel).u32(argument).u64(at).u64(size), kLongestAnswer);
    if (!reader) return reader.error();
    const std::string_view part = reader->view();
    if (part.size() != size) reader->mark_failed("the size of an output");
    if (Status whole = reader->finish(); !whole) return whole;
    std::memcpy(bytes.data() + at, part.data(), size);
  }
  return Ok{};
}

Result<double> DeviceClient::pack(uint32_t kernel, Deadline deadline) {
  auto reader = ask(request_of(DeviceRequest::pack).u32(kernel), deadline);
  if (!reader) return reader.error();
  const double ns = reader->f64();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return ns;
}

Result<DeviceCall> DeviceClient::call(uint32_t kernel, Deadline deadline) {
  auto reader = ask(request_of(DeviceRequest::call).u32(kernel), deadline);
  if (!reader) return reader.error();
  DeviceCall out;
  out.code = static_cast<int>(reader->u32());
  out.ns = reader->f64();
  out.outside = reader->view();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return out;
}

Result<std::vector<double>> DeviceClient::time_cold(uint32_t kernel, uint32_t samples, Deadline deadline) {
  auto reader = ask(request_of(DeviceRequest::cold).u32(kernel).u32(samples), deadline);
  if (!reader) return reader.error();
  std::vector<double> out(reader->count(sizeof(double)));
  for (double& ns : out) ns = reader->f64();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return out;
}

Result<int64_t> DeviceClient::clock_mhz(uint32_t kernel) {
  auto reader = ask(request_of(DeviceRequest::clock).u32(kernel), kLongestAnswer);
  if (!reader) return reader.error();
  const int64_t mhz = reader->i64();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return mhz;
}

Result<bool> DeviceClient::times_are_counted(uint32_t kernel) {
  auto reader = ask(request_of(DeviceRequest::counted).u32(kernel), kLongestAnswer);
  if (!reader) return reader.error();
  const bool are_counted = reader->u8() != 0;
  if (Status whole = reader->finish(); !whole) return whole.error();
  return are_counted;
}

Result<std::array<std::vector<double>, 2>> DeviceClient::time(const DeviceTiming& timing, Deadline deadline) {
  ByteWriter request = request_of(DeviceRequest::time);
  request.u32(timing.first).u32(timing.second).u32(timing.samples).u32(timing.repeat).u32(timing.untimed);
  request.u32(timing.second_repeat);
  auto reader = ask(request, deadline);
  if (!reader) return reader.error();
  std::array<std::vector<double>, 2> out;
  for (uint32_t k = 0; k < (timing.second == DeviceTiming::kNone ? 1u : 2u); ++k)
    for (uint32_t s = 0; s < timing.samples; ++s) out[k].push_back(reader->f64());
  if (Status whole = reader->finish(); !whole) return whole.error();
  return out;
}

}  // namespace polyweft::targets
