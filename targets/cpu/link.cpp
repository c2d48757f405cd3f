// Shared objects by lld as a library, archives by LLVM's writer, and code loaded into this process by ORC.
#include <fcntl.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <span>
#include <thread>

#include "halide_runtime_bytes.h"
#include "support/cpu_features.h"
#include "targets/cpu/build.h"
#include "targets/cpu/linking.h"
#include "targets/cpu/runtime_object.h"

LLD_HAS_DRIVER(elf)

namespace polyweft::targets {
namespace {

/// An anonymous file that lld can name.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  bool fill(const unsigned char* data, size_t bytes) const {
    size_t done = 0;
    while (fd_ >= 0 && done < bytes) {
      const ssize_t n = write(fd_, data + done, bytes - done);
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
    }
    return fd_ >= 0;
  }

 private:
  int fd_;
};

/// Takes what lld writes through a pipe. A regular file lld would replace by renaming, which a memory file does not
/// survive, and a named one would be left behind by a process that is killed during a link.
class OutputPipe {
 public:
  OutputPipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    write_ = ends[1];
    reader_ = std::thread([this, from = ends[0]] { drain(from); });
  }
  ~OutputPipe() { end(); }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;
  bool is_open() const { return write_ >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(write_); }
  Bytes contents() {
    end();
    return std::move(bytes_);
  }

 private:
  void drain(int from) {
    unsigned char piece[65536];
    for (ssize_t n; (n = read(from, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR);)
      if (n > 0) bytes_.insert(bytes_.end(), piece, piece + n);
    close(from);
  }
  void end() {
    if (write_ >= 0) close(write_);
    write_ = -1;
    if (reader_.joinable()) reader_.join();
  }

  int write_ = -1;
  std::thread reader_;
  Bytes bytes_;
};

// lld keeps global state: one link at a time in a process.
Status run_lld(LldDriver driver, const std::vector<std::string>& arguments) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::vector<const char*> pointers;
  for (const auto& a : arguments) pointers.push_back(a.c_str());
  std::string problems;
  llvm::raw_string_ostream errors(problems);
  const bool linked = driver(pointers, llvm::nulls(), errors, false, false);
  lld::CommonLinkerContext::destroy();
  if (!linked) return fail("PW0514", "linking failed: " + errors.str().substr(0, 1000));
  return Ok{};
}

std::string version_script(const std::vector<std::string>& exported) {
  std::string text = "{ global:";
  for (const auto& symbol : exported) text += " " + symbol + ";";
  return text + " local: *; };\n";
}

}  // namespace

Result<Bytes> shared_object(const CompiledObject& object, const std::vector<std::string>& exported, Runtime runtime) {
  MemoryFile input("kernel.o"), script("exports"), runtime_file("runtime.o");
  OutputPipe output;
  const std::string exports = version_script(exported);
  const auto halide = halide_runtime_object(object.architecture);
  const bool ready = output.is_open() && input.fill(object.object.data(), object.object.size()) &&
                     script.fill(reinterpret_cast<const unsigned char*>(exports.data()), exports.size()) &&
                     (runtime == Runtime::external || runtime_file.fill(halide.data(), halide.size()));
  if (!ready) return fail("PW0514", "no memory for the files of a link", {"are there free file descriptors?"});
  std::vector<std::string> arguments = {"ld.lld",          "-shared", "--threads=1", "--hash-style=gnu",
                                        "--build-id=none", "-z",      "now",         "--version-script",
                                        script.path(),     "-o",      output.path(), input.path()};
  if (runtime == Runtime::inside) arguments.push_back(runtime_file.path());
  if (auto linked = run_lld(&lld::elf::link, arguments); !linked) return linked.error();
  Bytes bytes = output.contents();
  if (bytes.empty()) return fail("PW0514", "linking failed: nothing was written");
  return bytes;
}

Result<Bytes> joined_objects(const std::vector<std::span<const unsigned char>>& objects) {
  return linked_by(&lld::elf::link, {"ld.lld", "-r", "--threads=1"}, objects);
}

Result<Bytes> linked_by(LldDriver driver, std::vector<std::string> arguments,
                        const std::vector<std::span<const unsigned char>>& objects) {
  std::vector<std::unique_ptr<MemoryFile>> inputs;
  OutputPipe output;
  arguments.insert(arguments.end(), {"-o", output.path()});
  bool is_ready = output.is_open();
  for (const auto& object : objects) {
    inputs.push_back(std::make_unique<MemoryFile>("part.o"));
    is_ready = is_ready && inputs.back()->fill(object.data(), object.size());
    arguments.push_back(inputs.back()->path());
  }
  if (!is_ready) return fail("PW0514", "no memory for the files of a link", {"are there free file descriptors?"});
  if (auto linked = run_lld(driver, arguments); !linked) return linked.error();
  Bytes bytes = output.contents();
  if (bytes.empty()) return fail("PW0514", "linking failed: nothing was written");
  return bytes;
}

Result<Bytes> static_executable(const std::vector<std::span<const unsigned char>>& objects) {
  return linked_by(&lld::elf::link, {"ld.lld", "-static", "--threads=1", "--build-id=none", "-e", "_start"}, objects);
}

Result<Bytes> static_library(const CompiledObject& object) {
  const auto halide = halide_runtime_object(object.architecture);
  std::vector<llvm::NewArchiveMember> members;
  const auto add = [&](std::span<const unsigned char> bytes, const char* name) {
    members.emplace_back(
        llvm::MemoryBufferRef(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name));
  };
  add(object.object, "kernel.o");
  add(halide, "halide_runtime.o");
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, true, false);
  if (!archive) return fail("PW0515", "the archive cannot be written: " + llvm::toString(archive.takeError()));
  const auto data = (*archive)->getBuffer();
  return Bytes(data.bytes_begin(), data.bytes_end());
}

namespace {

class JitCode final : public LoadedCode {
 public:
  explicit JitCode(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
  void* address(const std::string& symbol) const override {
    auto found = jit_->lookup(symbol);
    if (!found) {
      llvm::consumeError(found.takeError());
      return nullptr;
    }
    return found->toPtr<void*>();
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

Error jit_error(llvm::Error error) {
  return fail("PW0516", "the kernel cannot be loaded: " + llvm::toString(std::move(error)));
}

// Kernels of this process share the runtime that is linked into the library: one thread pool for all.
llvm::orc::SymbolMap runtime_symbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap symbols;
  for (const auto& [name, pointer] : runtime_functions())
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(pointer),
                                          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  return symbols;
}

}  // namespace

Result<std::unique_ptr<LoadedCode>> load_code(const CompiledObject& object) {
  if (auto runs = cpu_can_run(object.features, "this code"); !runs) return runs.error();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return jit_error(jit.takeError());
  if (auto problem = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(runtime_symbols(**jit))))
    return jit_error(std::move(problem));
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.object.data()), object.object.size());
  if (auto problem = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes, "kernel.o")))
    return jit_error(std::move(problem));
  return std::unique_ptr<LoadedCode>(std::make_unique<JitCode>(std::move(*jit)));
}

}  // namespace polyweft::targets
