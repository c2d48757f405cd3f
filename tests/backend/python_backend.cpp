#include "backend/python_backend.h"

#include <cstring>
#include <mutex>

#include "backend/python_text.h"
#include "support/hash.h"
#include "support/subprocess.h"

namespace polyweft::backend_test {
namespace {

using targets::Artifact;
using targets::BuildOptions;
using targets::LoadedKernel;

// Reads frames (support/framing.h). A request is nothing (is anybody there?), or: a module's text, a function of it,
// then for each argument its role, the function that packs it or nothing, and its bytes. The role is "in", "out", or
// the size of what it is packed into. The answer: the function's code, then the outputs' bytes.
const char* const kChild = R"(
import struct
import sys

def read(size):
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(0)
    return data

def fields(data):
    at = 0
    while at < len(data):
        size, = struct.unpack_from('<I', data, at)
        yield data[at + 4:at + 4 + size]
        at += 4 + size

modules = {}

def call(text, name, *arguments):
    if text not in modules:
        modules[text] = {}
        exec(compile(text, '<kernel>', 'exec'), modules[text])
    functions, buffers, outputs = modules[text], [], []
    for role, pack, data in zip(arguments[::3], arguments[1::3], arguments[2::3]):
        buffer = bytearray(data)
        if role == b'out':
            outputs.append(buffer)
        elif role != b'in':
            source, buffer = buffer, bytearray(int(role))
            code = functions[pack.decode()](source, buffer)
            if code:
                return code, outputs
        buffers.append(buffer)
    return functions[name.decode()](*buffers), outputs

while True:
    magic, version, _, size = struct.unpack('<4sHHI', read(12))
    code, outputs = call(*fields(read(size))) if size else (0, [])
    answer = struct.pack('<I', code) + b''.join(struct.pack('<I', len(data)) + data for data in outputs)
    sys.stdout.buffer.write(struct.pack('<4sHHI', magic, version, 2, len(answer)) + answer)
    sys.stdout.buffer.flush()
)";

constexpr std::chrono::hours kLongestCall{24 * 7};
constexpr std::chrono::minutes kLongestStart{1};

Result<WorkerProcess> start_python() {
  WorkerOptions options;
  options.argv = {"python3", "-I", "-S", "-B", "-c", kChild};
  return WorkerProcess::start(std::move(options));
}

/// Whether there is a python3 that answers.
Status python_answers() {
  auto child = start_python();
  if (!child) return child.error();
  auto answer = child->call("", kLongestStart);
  if (!answer) return answer.error();
  return Ok{};
}

/// A module in a child process that is started with it.
class PythonKernel final : public LoadedKernel {
 public:
  PythonKernel(const LoopNest& nest, PythonModule module, WorkerProcess child)
      : module_(std::move(module)), child_(std::move(child)) {
    for (BufferId id : nest.arguments) slots_.push_back(slot_of(nest, id));
  }

  Result<int> call_raw(const std::vector<void*>& arguments) override {
    if (arguments.size() != slots_.size()) return fail("PW0654", "wrong number of arguments");
    ByteWriter request;
    request.string(module_.text).string(module_.functions[0]);
    for (size_t a = 0; a < slots_.size(); ++a) {
      const Slot& slot = slots_[a];
      request.string(slot.role).string(slot.pack).string(
          {slot.bytes ? static_cast<const char*>(arguments[a]) : "", slot.bytes});
    }
    auto answer = child_.call(request.bytes(), kLongestCall);
    if (!answer) return answer.error();
    return take(*answer, arguments);
  }
  void forget_packed() override {}  // every call packs

 private:
  struct Slot {
    std::string role, pack;
    size_t bytes = 0;
  };

  Slot slot_of(const LoopNest& nest, BufferId id) const {
    const Buffer& b = nest.buffers[id];
    Slot slot{b.is_output ? "out" : "in", "", bytes_of(b)};
    for (size_t k = 0; k < nest.packs.size(); ++k) {
      if (nest.packs[k].packed != id) continue;
      slot = {std::to_string(allocated_elements(b) * size_bytes(b.type)), module_.functions[k + 1],
              bytes_of(nest.buffers[nest.packs[k].source])};
    }
    return slot;
  }
  static size_t bytes_of(const Buffer& b) {
    int64_t bytes = size_bytes(b.type);
    for (int64_t extent : b.extents) bytes *= extent;
    return static_cast<size_t>(bytes);
  }

  Result<int> take(const std::string& answer, const std::vector<void*>& arguments) const {
    ByteReader reader(answer);
    const auto code = static_cast<int>(reader.u32());
    for (size_t a = 0; code == 0 && a < slots_.size(); ++a) {
      if (slots_[a].role != "out") continue;
      const std::string_view bytes = reader.view();
      if (bytes.size() != slots_[a].bytes)
        reader.mark_failed("the size of an output");
      else if (!bytes.empty())
        std::memcpy(arguments[a], bytes.data(), bytes.size());
    }
    if (code != 0) return code;
    if (Status whole = reader.finish(); !whole) return whole.error();
    return code;
  }

  PythonModule module_;
  WorkerProcess child_;
  std::vector<Slot> slots_;
};

class PythonBackend final : public targets::Backend {
 public:
  std::string architecture() const override { return "python"; }
  std::vector<std::string> target_names() const override { return {"python"}; }
  Target named(const std::string& name) const override {
    Target target = Backend::named(name);
    derive(target);
    return target;
  }
  std::string derive(Target& target) const override {
    if (!target.features.empty()) return "'" + target.features.front() + "' is a feature, and Python has none";
    target.machine.units.vector_bits = 64;
    target.machine.units.vector_registers = 16;
    target.is_host = runs_here(target).ok();
    return {};
  }

  Status runs_here(const Target& target) const override {
    std::call_once(asked_, [this] {
      if (Status answers = python_answers(); !answers) why_not_ = answers.error().message;
    });
    if (why_not_.empty()) return Ok{};
    return fail("PW0517", "a kernel for " + target.name + " needs python3, which does not run here: " + why_not_,
                {"use build, or --target host"});
  }
  Status may_be_named(const std::string& symbol) const override {
    if (is_free_in_python(symbol)) return Ok{};
    return fail("PW0513", "the kernel's name '" + symbol + "' is no name that Python leaves free",
                {"give the kernel another name with --name"});
  }

  Result<Artifact> build(const LoopNest& nest, const Target&, const BuildOptions& options) const override {
    auto made = python_module(nest, options.symbol);
    if (!made) return made.error();
    Artifact out;
    out.kind = kPythonSource;
    out.bytes = {made->text.begin(), made->text.end()};
    out.id = hex(blake2b_128(made->text));
    out.kernels = std::move(made->functions);
    out.plan.launches = {{out.kernels.front()}};
    for (const Buffer& b : nest.buffers)
      if (b.scope != Scope::argument && b.scope != Scope::constant && !b.within)
        out.plan.workspaces.push_back({b.name, allocated_elements(b) * size_bytes(b.type)});
    return out;
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kPythonSource); !fits) return fits.error();
    auto child = start_python();
    if (!child) return child.error();
    PythonModule module{{artifact.bytes.begin(), artifact.bytes.end()}, artifact.kernels};
    return std::unique_ptr<LoadedKernel>(
        std::make_unique<PythonKernel>(nest, std::move(module), std::move(child).value()));
  }

 private:
  mutable std::once_flag asked_;
  mutable std::string why_not_;  ///< empty: python3 answers
};

}  // namespace

std::unique_ptr<targets::Backend> python_backend() {
  return std::make_unique<PythonBackend>();
}

}  // namespace polyweft::backend_test
