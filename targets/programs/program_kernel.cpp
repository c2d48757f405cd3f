#include "targets/programs/program_kernel.h"

#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "ir/values/kernel_codes.h"
#include "support/subprocess.h"
#include "targets/gpu/device_program.h"
#include "targets/programs/program_requests.h"

namespace polyweft::targets {
namespace {

constexpr const char* kMark = "#!";
constexpr std::chrono::hours kLongest{24 * 7};  // whoever asks has a deadline, and ends this process
constexpr size_t kCarried = 32 << 20;           ///< of what a frame carries

std::vector<std::string> split_command(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// A file without a name that another process can open while this one holds it.
class HeldFile {
 public:
  HeldFile() : fd_(memfd_create("program", MFD_CLOEXEC)) {}
  ~HeldFile() {
    if (fd_ >= 0) close(fd_);
  }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;
  bool fill(std::string_view bytes) const {
    while (fd_ >= 0 && !bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return fd_ >= 0;
  }
  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

Result<std::map<std::string, uint32_t>> functions_of(std::string_view executable) {
  const auto aligned = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(executable.data(), executable.size()));
  auto file = llvm::object::ObjectFile::createObjectFile(aligned->getMemBufferRef());
  if (!file)
    return fail("PW0516", "the kernel cannot be loaded: it is no executable: " + llvm::toString(file.takeError()));
  std::map<std::string, uint32_t> out;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto name = symbol.getName();
    auto address = symbol.getAddress();
    if (name && address) out[name->str()] = static_cast<uint32_t>(*address);
    if (!name) llvm::consumeError(name.takeError());
    if (!address) llvm::consumeError(address.takeError());
  }
  return out;
}

/// The process that runs the executable.
class RunningProgram {
 public:
  Status start(const std::string& command, std::string_view executable) {
    if (!file_.fill(executable)) return fail("PW0606", "no memory for the file of a program");
    WorkerOptions options;
    options.argv = split_command(command);
    if (options.argv.empty()) return fail("PW0516", "the kernel cannot be loaded: no command runs its program");
    options.argv.push_back(file_.path());
    auto started = WorkerProcess::start(std::move(options));
    if (!started) return fail("PW0606", started.error().message + ", which runs the programs of this target");
    process_.emplace(std::move(*started));
    return Ok{};
  }

  Result<uint32_t> reserve(size_t bytes) {
    if (bytes > UINT32_MAX / 2) return 0u;
    auto reader = ask(request_of(polyweft_reserve).u32(static_cast<uint32_t>(bytes)));
    if (!reader) return reader.error();
    const uint32_t at = reader->u32();
    if (Status whole = reader->finish(); !whole) return whole.error();
    return at;
  }
  Status write(uint32_t at, std::string_view bytes) {
    for (size_t from = 0; from < bytes.size(); from += kCarried) {
      std::string request = request_of(polyweft_write).u32(at + static_cast<uint32_t>(from)).bytes();
      request += bytes.substr(from, kCarried);
      auto reader = ask_bytes(request);
      if (!reader) return reader.error();
      if (Status whole = reader->finish(); !whole) return whole;
    }
    return Ok{};
  }
  Status read(uint32_t at, std::span<char> bytes) {
    for (size_t from = 0; from < bytes.size(); from += kCarried) {
      const size_t size = std::min(kCarried, bytes.size() - from);
      auto request = request_of(polyweft_read).u32(at + static_cast<uint32_t>(from)).u32(static_cast<uint32_t>(size));
      auto reader = ask(request);
      if (!reader) return reader.error();
      if (answer_.size() != size) return fail("PW0605", "a program's answer has another size than what was read");
      std::copy(answer_.begin(), answer_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from));
    }
    return Ok{};
  }
  Result<bool> times_are_counted() {
    auto reader = ask(request_of(polyweft_counted).u32(0));
    if (!reader) return reader.error();
    const bool are_counted = reader->u32() != 0;
    if (Status whole = reader->finish(); !whole) return whole.error();
    return are_counted;
  }
  /// The code of a call, and the ns of all.
  Result<DeviceCall> call(uint32_t function, const std::vector<uint32_t>& arguments, uint32_t times) {
    ByteWriter request = request_of(polyweft_call);
    request.u32(function).u32(times);
    for (const uint32_t argument : arguments) request.u32(argument);
    auto reader = ask(request);
    if (!reader) return reader.error();
    DeviceCall out;
    out.code = static_cast<int>(reader->u32());
    out.ns = static_cast<double>(reader->u64());
    if (Status whole = reader->finish(); !whole) return whole.error();
    return out;
  }

 private:
  static ByteWriter request_of(polyweft_program_request what) {
    ByteWriter out;
    out.u8(static_cast<uint8_t>(what));
    return out;
  }
  Result<ByteReader> ask(const ByteWriter& request) { return ask_bytes(request.bytes()); }
  Result<ByteReader> ask_bytes(std::string_view request) {
    auto answer = process_->running() ? process_->call(request, kLongest)
                                      : Result<std::string>(fail("PW0601", "the program of the kernel has ended"));
    if (!answer) return answer.error();
    answer_ = std::move(*answer);
    return ByteReader(answer_);
  }

  HeldFile file_;
  std::optional<WorkerProcess> process_;
  std::string answer_;  ///< that readers look into
};

class ProgramKernel final : public HeldKernel {
 public:
  explicit ProgramKernel(LoopNest nest) : nest_(std::move(nest)), broken_(nest_.arguments.size(), false) {}

  Status open(std::string_view module, const std::string& symbol) {
    const size_t end = module.find('\n');
    const std::string command(module.substr(2, end - 2));
    const std::string_view executable = module.substr(std::min(end, module.size() - 1) + 1);
    auto functions = functions_of(executable);
    if (!functions) return functions.error();
    functions_ = std::move(functions).value();
    symbol_ = symbol;
    if (nest_.arguments.size() > polyweft_most_arguments)
      return fail("PW0516", "the kernel cannot be loaded: it has " + std::to_string(nest_.arguments.size()) +
                                " arguments, and programs take at most " + std::to_string(polyweft_most_arguments));
    if (auto entry = function(symbol_); !entry) return entry.error();
    if (Status started = program_.start(command, executable); !started) return started;
    for (BufferId id : nest_.arguments)
      for (BufferId each : {id, given_for(nest_, id)})
        if (Status made = make(each); !made) return made;
    return Ok{};
  }

  size_t arguments() const override { return nest_.arguments.size(); }
  size_t argument_bytes(size_t argument) const override { return dense_bytes(nest_.buffers[given(argument)]); }
  Status put(size_t argument, size_t at, std::string_view bytes) override {
    if (at == 0) broken_[argument] = false;
    if (!keeps_promise(nest_.buffers[given(argument)], bytes)) broken_[argument] = true;
    return program_.write(cells(given(argument)) + static_cast<uint32_t>(at), bytes);
  }
  Status get(size_t argument, size_t at, std::span<char> bytes) override {
    return program_.read(cells(given(argument)) + static_cast<uint32_t>(at), bytes);
  }

  Result<double> pack() override {
    double ns = 0;
    for (const Pack& pack : nest_.packs) {
      const auto entry = function(symbol_ + "_pack_" + nest_.buffers[pack.source].name);
      if (!entry) return entry.error();
      const auto called = program_.call(*entry, {cells(pack.source), cells(pack.packed)}, 1);
      if (!called) return called.error();
      ns += called->ns;
    }
    return ns;
  }

  Result<DeviceCall> call() override {
    if (std::find(broken_.begin(), broken_.end(), true) != broken_.end()) {
      DeviceCall refused;
      refused.code = ir::kValueOutOfRange;
      return refused;
    }
    auto out = run(1);
    if (!out) return out;
    for (const auto& [id, memory] : memory_) {
      const auto side = changed_canary(memory);
      if (!side) return side.error();
      if (!side->empty() && out->outside.empty()) out->outside = *side + nest_.buffers[id].name;
    }
    return out;
  }
  Result<double> time(uint32_t calls) override {
    const auto out = run(calls);
    if (!out) return out.error();
    if (out->code != 0) return fail("PW0658", "the kernel returned " + std::to_string(out->code));
    return out->ns / std::max(calls, 1u);
  }
  Result<bool> times_are_counted() override { return program_.times_are_counted(); }

 private:
  /// Of a buffer: canaries, the bytes, canaries.
  struct Memory {
    uint32_t at = 0;
    size_t bytes = 0;
  };

  BufferId given(size_t argument) const { return given_for(nest_, nest_.arguments[argument]); }
  uint32_t cells(BufferId id) const { return memory_.at(id).at; }
  Result<uint32_t> function(const std::string& name) const {
    const auto found = functions_.find(name);
    if (found != functions_.end()) return found->second;
    return fail("PW0516", "the kernel cannot be loaded: its program has no function " + name);
  }

  Status make(BufferId id) {
    if (memory_.contains(id)) return Ok{};
    const Buffer& buffer = nest_.buffers[id];
    const size_t bytes =
        std::max(dense_bytes(buffer), static_cast<size_t>(allocated_elements(buffer) * size_bytes(buffer.type)));
    const auto at = program_.reserve(bytes + 2 * kCanaryBytes);
    if (!at) return at.error();
    if (*at == 0)
      return fail("PW0658", std::to_string(bytes) + " bytes for " + buffer.name + ": the program has no such memory",
                  {"its addresses have 32 bits: all arguments together must stay below 2 GiB"});
    memory_[id] = {static_cast<uint32_t>(*at + kCanaryBytes), bytes};
    const std::string canary(kCanaryBytes, static_cast<char>(kCanary));
    if (Status before = program_.write(*at, canary); !before) return before;
    return program_.write(static_cast<uint32_t>(*at + kCanaryBytes + bytes), canary);
  }
  /// "before ", "behind ", or nothing.
  Result<std::string> changed_canary(const Memory& memory) {
    for (const bool is_before : {true, false}) {
      std::vector<unsigned char> found(kCanaryBytes);
      const size_t at = is_before ? memory.at - kCanaryBytes : memory.at + memory.bytes;
      if (Status got = program_.read(static_cast<uint32_t>(at), {reinterpret_cast<char*>(found.data()), found.size()});
          !got)
        return got.error();
      if (!is_canary(found)) return std::string(is_before ? "before " : "behind ");
    }
    return std::string();
  }
  Result<DeviceCall> run(uint32_t times) {
    const auto entry = function(symbol_);
    if (!entry) return entry.error();
    std::vector<uint32_t> addresses;
    for (BufferId id : nest_.arguments) addresses.push_back(cells(id));
    return program_.call(*entry, addresses, times);
  }

  LoopNest nest_;
  std::string symbol_;
  std::map<std::string, uint32_t> functions_;
  RunningProgram program_;
  std::map<BufferId, Memory> memory_;
  std::vector<bool> broken_;  ///< arguments with a value outside of what their caller has promised
};

}  // namespace

Bytes program_with_command(const std::string& command, const Bytes& executable) {
  const std::string line = kMark + command + "\n";
  Bytes out(line.begin(), line.end());
  out.insert(out.end(), executable.begin(), executable.end());
  return out;
}

bool is_program(std::string_view module) {
  return module.starts_with(kMark) && module.find('\n') != std::string_view::npos;
}

Result<std::unique_ptr<HeldKernel>> kernel_of_program(LoopNest nest, std::string_view module,
                                                      const std::string& symbol) {
  auto out = std::make_unique<ProgramKernel>(std::move(nest));
  if (Status opened = out->open(module, symbol); !opened) return opened.error();
  return std::unique_ptr<HeldKernel>(std::move(out));
}

}  // namespace polyweft::targets
