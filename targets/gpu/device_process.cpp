#include "targets/gpu/device_process.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "support/helper_path.h"
#include "support/subprocess.h"

namespace polyweft::targets {
namespace {

constexpr std::chrono::minutes kLongestAnswer{5};
constexpr std::chrono::hours kLongestCall{24 * 7};
constexpr size_t kPart = 32 << 20;  ///< of an argument's bytes, in a frame

/// A helper whose kernel is gone: a driver takes a third of a second to start.
class IdleHelper {
 public:
  void keep(WorkerProcess helper) {
    const std::lock_guard lock(mutex_);
    helper_ = std::move(helper);
  }
  std::optional<WorkerProcess> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(helper_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<WorkerProcess> helper_;
};
IdleHelper& idle_helper() {
  static IdleHelper idle;
  return idle;
}

Result<WorkerProcess> start_helper() {
  WorkerOptions options;
  options.argv = {helper_program("polyweft-device")};
  return WorkerProcess::start(std::move(options));
}

/// What stands behind the status of an answer; the answer must outlive it.
Result<ByteReader> good_answer(const std::string& answer) {
  ByteReader reader(answer);
  const std::string code(reader.view()), message(reader.view());
  if (code.empty()) return reader;
  return fail(code, message);
}

Result<std::string> ask(WorkerProcess& helper, const ByteWriter& request, std::chrono::milliseconds deadline) {
  auto answer = helper.call(request.bytes(), deadline);
  if (answer) return answer;
  Error problem = answer.error();
  problem.notes.push_back("the compiler and the driver of the device ran in that process");
  return problem;
}

Result<DeviceFigures> ask_figures() {
  auto helper = start_helper();
  if (!helper) return helper.error();
  auto answer = ask(*helper, ByteWriter().u8(static_cast<uint8_t>(DeviceRequest::figures)), kLongestAnswer);
  if (!answer) return answer.error();
  auto reader = good_answer(*answer);
  if (!reader) return reader.error();
  DeviceFigures out;
  out.name = reader->view();
  out.driver = reader->view();
  out.compute_units = reader->i64();
  out.most_threads = reader->i64();
  out.local_bytes = reader->i64();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return out;
}

class KernelInHelper final : public LoadedKernel {
 public:
  KernelInHelper(const LoopNest& nest, WorkerProcess helper) : helper_(std::move(helper)) {
    for (BufferId id : nest.arguments) {
      const Buffer& given = nest.buffers[given_for(nest, id)];
      arguments_.push_back({dense_bytes(given), given.is_output});
    }
  }

  ~KernelInHelper() override {
    if (helper_.running()) idle_helper().keep(std::move(helper_));
  }
  KernelInHelper(const KernelInHelper&) = delete;
  KernelInHelper& operator=(const KernelInHelper&) = delete;

  Status open(const LoopNest& nest, const Bytes& spirv, const std::string& symbol) {
    ByteWriter request;
    request.u8(static_cast<uint8_t>(DeviceRequest::open)).string(print(nest)).string(symbol);
    request.string({reinterpret_cast<const char*>(spirv.data()), spirv.size()});
    auto answer = ask(helper_, request, kLongestAnswer);
    if (!answer) return answer.error();
    auto reader = good_answer(*answer);
    if (!reader) return reader.error();
    return reader->finish();
  }

  Result<int> call_raw(const std::vector<void*>& arguments) override {
    if (arguments.size() != arguments_.size()) return fail("PW0654", "wrong number of arguments");
    for (size_t a = 0; a < arguments.size(); ++a)
      if (Status sent = put(a, static_cast<const char*>(arguments[a])); !sent) return sent.error();
    const auto code = start();
    if (!code) return code;
    for (size_t a = 0; a < arguments.size() && *code == 0; ++a)
      if (Status received = get(a, static_cast<char*>(arguments[a])); !received) return received.error();
    return code;
  }
  void forget_packed() override { forgets_ = 1; }

 private:
  Status put(size_t argument, const char* data) {
    for (size_t at = 0; at < arguments_[argument].bytes; at += kPart) {
      ByteWriter request;
      request.u8(static_cast<uint8_t>(DeviceRequest::put)).u32(static_cast<uint32_t>(argument)).u64(at);
      request.string({data + at, std::min(kPart, arguments_[argument].bytes - at)});
      auto answer = ask(helper_, request, kLongestAnswer);
      if (!answer) return answer.error();
      auto reader = good_answer(*answer);
      if (!reader) return reader.error();
      if (Status whole = reader->finish(); !whole) return whole;
    }
    return Ok{};
  }

  Result<int> start() {
    ByteWriter request;
    request.u8(static_cast<uint8_t>(DeviceRequest::call)).u8(forgets_);
    auto answer = ask(helper_, request, kLongestCall);
    if (!answer) return answer.error();
    forgets_ = 0;
    auto reader = good_answer(*answer);
    if (!reader) return reader.error();
    const auto code = static_cast<int>(reader->u32());
    if (Status whole = reader->finish(); !whole) return whole.error();
    return code;
  }

  Status get(size_t argument, char* data) {
    if (!arguments_[argument].is_output) return Ok{};
    for (size_t at = 0; at < arguments_[argument].bytes; at += kPart) {
      const size_t size = std::min(kPart, arguments_[argument].bytes - at);
      ByteWriter request;
      request.u8(static_cast<uint8_t>(DeviceRequest::get)).u32(static_cast<uint32_t>(argument)).u64(at).u64(size);
      auto answer = ask(helper_, request, kLongestAnswer);
      if (!answer) return answer.error();
      auto reader = good_answer(*answer);
      if (!reader) return reader.error();
      const std::string_view bytes = reader->view();
      if (bytes.size() != size) reader->mark_failed("the size of an output");
      if (Status whole = reader->finish(); !whole) return whole;
      std::memcpy(data + at, bytes.data(), size);
    }
    return Ok{};
  }

  struct Argument {
    size_t bytes = 0;
    bool is_output = false;
  };
  WorkerProcess helper_;
  std::vector<Argument> arguments_;
  uint8_t forgets_ = 0;
};

}  // namespace

const Result<DeviceFigures>& device_figures() {
  static const Result<DeviceFigures> figures = ask_figures();
  return figures;
}

// LLVM 22.1 keeps numbers of basic blocks from one module to the next, by addresses, and ends the process where it
// finds something that it cannot write. So each module is written by a process of its own.
Result<Bytes> spirv_by_helper(const std::string& llvm_text) {
  auto helper = start_helper();
  if (!helper) return helper.error();
  ByteWriter request;
  request.u8(static_cast<uint8_t>(DeviceRequest::spirv)).string(llvm_text);
  auto answer = helper->call(request.bytes(), kLongestAnswer);
  if (!answer) return answer.error();
  auto reader = good_answer(*answer);
  if (!reader) return reader.error();
  const std::string_view bytes = reader->view();
  if (Status whole = reader->finish(); !whole) return whole.error();
  return Bytes(bytes.begin(), bytes.end());
}

Result<std::unique_ptr<LoadedKernel>> kernel_on_device(const LoopNest& nest, const Bytes& spirv,
                                                       const std::string& symbol) {
  auto idle = idle_helper().take();
  Result<WorkerProcess> helper = idle ? Result<WorkerProcess>(std::move(*idle)) : start_helper();
  if (!helper) return helper.error();
  auto out = std::make_unique<KernelInHelper>(nest, std::move(helper).value());
  if (Status opened = out->open(nest, spirv, symbol); !opened) return opened.error();
  return std::unique_ptr<LoadedKernel>(std::move(out));
}

}  // namespace polyweft::targets
