#include "random/guarded_call.h"

#include <HalideRuntime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace polyweft::random_test {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned kDeadlineSeconds = 60;

size_t rounded_up(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

/// Shared memory between two pages without access. The bytes beside the data are checked, too.
class Walled {
 public:
  Walled(size_t bytes, size_t align, Wall wall) : bytes_(bytes), room_(rounded_up(std::max<size_t>(bytes, 1), kPage)) {
    void* at = mmap(nullptr, room_ + 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    map_ = static_cast<unsigned char*>(at);
    mprotect(map_, kPage, PROT_NONE);
    mprotect(map_ + kPage + room_, kPage, PROT_NONE);
    begin_ = wall == Wall::before ? 0 : (room_ - bytes_) / align * align;
    std::memset(map_ + kPage, kUntouched, room_);
  }
  ~Walled() { munmap(map_, room_ + 2 * kPage); }
  Walled(const Walled&) = delete;

  unsigned char* data() const { return map_ + kPage + begin_; }
  size_t bytes() const { return bytes_; }
  void make_read_only() const { mprotect(map_ + kPage, room_, PROT_READ); }
  bool surroundings_untouched() const {
    for (size_t k = 0; k < room_; ++k)
      if ((k < begin_ || k >= begin_ + bytes_) && map_[kPage + k] != kUntouched) return false;
    return true;
  }

 private:
  size_t bytes_, room_, begin_ = 0;
  unsigned char* map_ = nullptr;
};

halide_type_t halide_type(ElementType type) {
  if (type == ElementType::bf16) return {halide_type_bfloat, 16, 1};
  if (type == ElementType::boolean) return {halide_type_uint, 1, 1};
  if (type == ElementType::u8) return {halide_type_uint, 8, 1};
  return {is_float(type) ? halide_type_float : halide_type_int, static_cast<uint8_t>(8 * size_bytes(type)), 1};
}

/// One tensor as kernels take it.
struct Argument {
  Argument(ElementType of, std::vector<int64_t> of_extents, size_t align, Wall wall)
      : type(of), extents(std::move(of_extents)), dims(extents.size()) {
    size_t count = 1;
    for (int64_t extent : extents) count *= static_cast<size_t>(extent);
    memory = std::make_unique<Walled>(count * static_cast<size_t>(size_bytes(type)), align, wall);
    int32_t stride = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      dims[d] = {0, static_cast<int32_t>(extents[dims.size() - 1 - d]), stride, 0};
      stride *= dims[d].extent;
    }
    buffer.host =
        count == 0 ? nullptr : memory->data();  // what has no elements needs no address, and the kernel says its shape
    if (count == 0)
      for (auto& dim : dims) dim = {-7, -7, -7, 0};
    buffer.type = halide_type(type);
    buffer.dimensions = static_cast<int32_t>(dims.size());
    buffer.dim = dims.data();
  }
  bool is_shape_told() const {
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d].min != 0 || dims[d].extent != extents[dims.size() - 1 - d]) return false;
    return true;
  }
  ElementType type;
  std::vector<int64_t> extents;
  std::vector<halide_dimension_t> dims;
  std::unique_ptr<Walled> memory;
  halide_buffer_t buffer{};
};
using Arguments = std::vector<std::unique_ptr<Argument>>;

/// Heap workspaces of the kernel, each before a wall of its own.
void* walled_malloc(void*, size_t bytes) {
  size_t room = rounded_up(bytes, kPage);
  auto* at = static_cast<unsigned char*>(
      mmap(nullptr, room + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (at == MAP_FAILED) return nullptr;
  mprotect(at + room, kPage, PROT_NONE);
  std::memset(at, 0xFF, room);  // a NaN in every float type: what is read before it is written shows
  return at + (room - bytes) / 64 * 64;
}
void keep_mapped(void*, void*) {}  // the child ends soon

template <size_t... K>
int call_with(void* kernel, halide_buffer_t* const* at, std::index_sequence<K...>) {
  return reinterpret_cast<int (*)(decltype((void)K, static_cast<halide_buffer_t*>(nullptr))...)>(kernel)(at[K]...);
}

constexpr size_t kMostArguments = 24;
constexpr int kShapeNotTold = 249;

template <size_t N = 1>
int call(void* kernel, const std::vector<halide_buffer_t*>& at) {
  if (at.size() == N) return call_with(kernel, at.data(), std::make_index_sequence<N>());
  if constexpr (N < kMostArguments)
    return call<N + 1>(kernel, at);
  else
    return 250;
}

struct Task {
  void* entry = nullptr;
  std::vector<halide_buffer_t*> arguments;
};

/// Ends the process: the exit code is the first code that is not 0.
[[noreturn]] void run_in_child(const std::vector<Task>& tasks, const Arguments& all, int threads) {
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(signal, SIG_DFL);
  alarm(kDeadlineSeconds);
  halide_set_num_threads(threads);
  halide_set_custom_malloc(walled_malloc);
  halide_set_custom_free(keep_mapped);
  for (const Task& task : tasks)
    if (int code = call(task.entry, task.arguments); code != 0) _exit(code & 255 ? code & 255 : 251);
  for (const auto& argument : all)
    if (!argument->is_shape_told()) _exit(kShapeNotTold);
  _exit(0);
}

std::string end_of_child(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return "waitpid failed";
  if (WIFSIGNALED(status))
    return "killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  if (WEXITSTATUS(status) == kShapeNotTold) return "did not tell the shape of an argument without elements";
  if (WEXITSTATUS(status) != 0) return "returned " + std::to_string(WEXITSTATUS(status));
  return "";
}

std::unique_ptr<Argument> argument_of(const Buffer& buffer, Wall wall) {
  if (!buffer.is_packed)
    return std::make_unique<Argument>(buffer.type, buffer.extents, static_cast<size_t>(size_bytes(buffer.type)), wall);
  return std::make_unique<Argument>(
      ElementType::u8, std::vector<int64_t>{allocated_elements(buffer) * size_bytes(buffer.type)}, 64, wall);
}

}  // namespace

CallResult guarded_call(const LoopNest& nest, const targets::LoadedCode& code, const std::vector<TensorData>& inputs,
                        Wall wall, int threads, const std::vector<int64_t>& sizes) {
  CallResult out;
  Arguments all;
  std::vector<Task> tasks;
  Task kernel{code.address(nest.name), {}};
  size_t next_input = 0;
  for (BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[id];
    all.push_back(argument_of(buffer, wall));
    Argument* argument = all.back().get();
    kernel.arguments.push_back(&argument->buffer);
    if (buffer.is_output) continue;
    const TensorData& data = inputs.at(next_input++);
    for (const Pack& pack : nest.packs) {
      if (pack.packed != id) continue;
      all.push_back(argument_of(nest.buffers[pack.source], wall));
      tasks.push_back({code.address(nest.name + "_pack_" + nest.buffers[pack.source].name),
                       {&all.back()->buffer, &argument->buffer}});
      argument = all.back().get();
    }
    if (data.bytes.size() != argument->memory->bytes())
      return {"an input has " + std::to_string(data.bytes.size()) + " bytes, the kernel wants others", {}};
    if (!data.bytes.empty()) std::memcpy(argument->memory->data(), data.bytes.data(), data.bytes.size());
    argument->memory->make_read_only();
  }
  tasks.push_back(kernel);
  for (Task& task : tasks)  // an integer is passed as a pointer is
    for (int64_t size : sizes) task.arguments.push_back(reinterpret_cast<halide_buffer_t*>(size));
  for (const Task& task : tasks)
    if (task.entry == nullptr) return {"a symbol is missing", {}};
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0) return {"fork failed", {}};
  if (child == 0) run_in_child(tasks, all, threads);
  out.trouble = end_of_child(child);
  for (const auto& argument : all)
    if (out.trouble.empty() && !argument->memory->surroundings_untouched()) out.trouble = "wrote beside a buffer";
  for (size_t k = 0; k < kernel.arguments.size(); ++k) {
    if (!nest.buffers[nest.arguments[k]].is_output) continue;
    for (const auto& argument : all) {
      if (&argument->buffer != kernel.arguments[k]) continue;
      TensorData data = make_tensor(argument->type, argument->extents);
      if (!data.bytes.empty()) std::memcpy(data.bytes.data(), argument->memory->data(), data.bytes.size());
      out.outputs.push_back(std::move(data));
    }
  }
  return out;
}

}  // namespace polyweft::random_test
