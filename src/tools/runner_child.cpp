#include "runner_child.h"

#include <HalideRuntime.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "runner_values.h"
#include "support/huge_pages.h"
#include "targets/workers/runner_protocol.h"

namespace polyweft::runner {
namespace {

using targets::kMaxArguments;

// Read by signal handlers and by the runtime's callbacks, which take no context of ours.
Control* shared_control = nullptr;
uint64_t largest_allocation = 0;

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// --- what happens when a kernel misbehaves ---

void note_registers(Fault& fault, const ucontext_t* context) {
#if defined(__x86_64__)
  fault.stack_pointer = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
  fault.is_write = (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
  fault.stack_pointer = context->uc_mcontext.sp;
#elif defined(__riscv)
  fault.stack_pointer = context->uc_mcontext.__gregs[REG_SP];
#else
  (void)context;
#endif
}

extern "C" void write_down_fault(int signal, siginfo_t* info, void* context) {
  Fault& fault = shared_control->fault;
  int32_t none = 0;
  if (fault.signal.compare_exchange_strong(none, signal)) {
    fault.code = info->si_code;
    fault.address = reinterpret_cast<uint64_t>(info->si_addr);
    if (signal == SIGSYS) fault.system_call = info->si_syscall;
    note_registers(fault, static_cast<const ucontext_t*>(context));
  }
  _exit(kExitFault);
}

/// An exception or a cancelled thread that would leave the kernel.
[[noreturn]] void write_down_unwinding() {
  shared_control->fault.signal = SIGABRT;
  _exit(kExitFault);
}

void catch_faults() {
  std::set_terminate(write_down_unwinding);
  static std::array<unsigned char, 64 << 10> other_stack;  // a stack overflow leaves no room on the first one
  stack_t stack{};
  stack.ss_sp = other_stack.data();
  stack.ss_size = other_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = write_down_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGABRT})
    sigaction(signal, &action, nullptr);
  signal(SIGHUP, SIG_DFL);
}

// --- the kernels' runtime ---

void keep_message(void*, const char* text) {
  std::snprintf(shared_control->message, sizeof shared_control->message, "%s", text);
}

void* allocate(void* context, size_t bytes) {
  void* memory = bytes <= largest_allocation ? halide_default_malloc(context, bytes) : nullptr;
  if (memory == nullptr) shared_control->allocation_failed = 1;
  return memory;
}

/// Each thread of the pool enters once and waits for the others: a thread that has not begun yet would meet the walls
/// on its first steps.
int wait_for_all(void*, int, uint8_t* data) {
  auto& missing = *reinterpret_cast<std::atomic<int>*>(data);
  --missing;
  for (const uint64_t begin = now_ns(); missing > 0 && now_ns() - begin < 5'000'000'000u;) sched_yield();
  return 0;
}

/// Threads are made here, while that is still allowed.
void start_pool(int threads) {
  halide_set_num_threads(threads);
  std::atomic<int> missing{threads};
  if (threads > 1) halide_do_par_for(nullptr, wait_for_all, 0, threads, reinterpret_cast<uint8_t*>(&missing));
  halide_set_error_handler(keep_message);
  halide_set_custom_print(keep_message);
  halide_set_custom_malloc(allocate);
}

// --- arguments ---

halide_type_t halide_type_of(ElementType type) {
  const auto bits = static_cast<uint8_t>(8 * element_bytes(type));
  switch (type) {
    case ElementType::f64:
    case ElementType::f32:
    case ElementType::f16:
      return {halide_type_float, bits};
    case ElementType::bf16:
      return {halide_type_bfloat, bits};
    case ElementType::u8:
      return {halide_type_uint, bits};
    case ElementType::boolean:
      return {halide_type_uint, 1};
    default:
      return {halide_type_int, bits};
  }
}

/// A buffer with its dimensions: dim[0] is the last axis.
struct BufferArgument {
  halide_buffer_t buffer{};
  std::array<halide_dimension_t, targets::kMaxRank> dimensions{};

  BufferArgument() { buffer.dim = dimensions.data(); }
  BufferArgument(const BufferArgument&) = delete;
  BufferArgument& operator=(const BufferArgument&) = delete;

  void describe(const ArgumentSpec& spec, unsigned char* host) {
    buffer.host = host;
    buffer.type = halide_type_of(spec.type);
    buffer.dimensions = static_cast<int32_t>(spec.extents.size());
    int32_t stride = 1;
    for (size_t d = 0; d < spec.extents.size(); ++d) {
      const auto extent = static_cast<int32_t>(spec.extents[spec.extents.size() - 1 - d]);
      dimensions[d] = halide_dimension_t(0, extent, stride);
      stride *= std::max(extent, 1);
    }
  }
  void describe_bytes(unsigned char* host, size_t bytes) {
    buffer.host = host;
    buffer.type = {halide_type_uint, 8};
    buffer.dimensions = 1;
    dimensions[0] = halide_dimension_t(0, static_cast<int32_t>(bytes), 1);
  }
};

using Arguments = std::array<halide_buffer_t*, kMaxArguments>;

template <size_t... I>
int call_with(void* entry, const Arguments& arguments, std::index_sequence<I...>) {
  return reinterpret_cast<int (*)(std::remove_cvref_t<decltype(arguments[I])>...)>(entry)(arguments[I]...);
}
using Caller = int (*)(void*, const Arguments&);
template <size_t N>
int call_n(void* entry, const Arguments& arguments) {
  return call_with(entry, arguments, std::make_index_sequence<N>());
}
template <size_t... N>
constexpr std::array<Caller, sizeof...(N)> callers(std::index_sequence<N...>) {
  return {call_n<N>...};
}
constexpr auto kCallers = callers(std::make_index_sequence<kMaxArguments + 1>());

/// The memory of a packed argument: this process's own, with guards.
struct Packed {
  unsigned char* reserved = nullptr;
  unsigned char* data = nullptr;
  size_t bytes = 0;
};

constexpr size_t kPackedGuard = size_t{1} << 20;

bool reserve_packed(Packed& packed, int64_t bytes) {
  if (bytes < 0 || bytes > INT32_MAX) return false;
  const size_t pages = (static_cast<size_t>(bytes) + kPage - 1) / kPage * kPage;
  void* memory = mmap(nullptr, pages + 2 * kPackedGuard + kHugePage, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  packed.reserved = static_cast<unsigned char*>(memory);
  packed.bytes = static_cast<size_t>(bytes);
  const size_t guard = kHugePage - (reinterpret_cast<size_t>(memory) + kPackedGuard) % kHugePage + kPackedGuard;
  packed.data =
      packed.reserved + guard + (pages - packed.bytes) / 64 * 64;  // ends at the guard, as far as alignment lets it
  if (packed.bytes >= kWorthHugePages) madvise(packed.reserved + guard, pages, MADV_HUGEPAGE);
  return mprotect(packed.reserved + guard, pages, PROT_READ | PROT_WRITE) == 0;
}

/// One loaded kernel.
class LoadedKernel {
 public:
  explicit LoadedKernel(const Module& module) : module_(module) {
    for (auto& placement : buffers_) placement = std::vector<BufferArgument>(module.arguments.size());
  }

  bool load() {
    void* handle = open_object();
    if (handle == nullptr) {
      keep_message(nullptr, dlerror());
      return false;
    }
    entry_ = dlsym(handle, module_.kernel->symbol.c_str());
    if (entry_ == nullptr) keep_message(nullptr, ("the object has no symbol '" + module_.kernel->symbol + "'").c_str());
    find_packers(handle);
    describe_arguments();
    return entry_ != nullptr;
  }

  int call(Placement placement) const {
    return kCallers[module_.arguments.size()](entry_, arguments_[static_cast<uint32_t>(placement)]);
  }

  int pack(Placement placement, Control& control) {
    for (size_t a = 0; a < packers_.size(); ++a) {
      if (packers_[a].pack == nullptr) continue;
      if (const int code = pack_argument(a, placement, control); code != 0) return code;
    }
    return 0;
  }

 private:
  struct Packer {
    int64_t (*bytes)() = nullptr;
    int (*pack)(halide_buffer_t*, halide_buffer_t*) = nullptr;
    Packed memory;
    BufferArgument buffer;
  };

  void* open_object() const {
    const auto& bytes = module_.kernel->bytes;
    int fd = static_cast<int>(
        syscall(SYS_memfd_create, "kernel", MFD_CLOEXEC | 0x10u));  // 0x10: MFD_EXEC, where the kernel asks for it
    if (fd < 0) fd = memfd_create("kernel", MFD_CLOEXEC);
    if (fd < 0) return nullptr;
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
      if (n <= 0) return nullptr;
      done += static_cast<size_t>(n);
    }
    return dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  }

  void find_packers(void* handle) {
    packers_ = std::vector<Packer>(module_.arguments.size());
    for (size_t a = 0; a < packers_.size(); ++a) {
      const ArgumentSpec& spec = *module_.arguments[a].spec;
      if (!spec.is_packed) continue;
      const std::string symbol = module_.kernel->symbol + "_pack_" + spec.name;
      packers_[a].bytes = reinterpret_cast<int64_t (*)()>(dlsym(handle, (symbol + "_bytes").c_str()));
      packers_[a].pack = reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*)>(dlsym(handle, symbol.c_str()));
      if (packers_[a].bytes == nullptr) packers_[a].pack = nullptr;  // this kernel takes the argument as it is
    }
  }

  void describe_arguments() {
    for (uint32_t p = 0; p < kPlacements; ++p)
      for (size_t a = 0; a < module_.arguments.size(); ++a) {
        const BoundArgument& argument = module_.arguments[a];
        buffers_[p][a].describe(*argument.spec, argument.region->data(static_cast<Placement>(p)));
        arguments_[p][a] = &buffers_[p][a].buffer;
      }
  }

  int pack_argument(size_t a, Placement placement, Control& control) {
    Packer& packer = packers_[a];
    if (packer.memory.reserved == nullptr) {
      if (!reserve_packed(packer.memory, packer.bytes())) return halide_error_code_out_of_memory;
      packer.buffer.describe_bytes(packer.memory.data, packer.memory.bytes);
      control.packed_address[a] = reinterpret_cast<uint64_t>(packer.memory.data);
      control.packed_bytes[a] = packer.memory.bytes;
    }
    const int code = packer.pack(&buffers_[static_cast<uint32_t>(placement)][a].buffer, &packer.buffer.buffer);
    for (uint32_t p = 0; p < kPlacements; ++p) arguments_[p][a] = &packer.buffer.buffer;
    return code;
  }

  const Module& module_;
  void* entry_ = nullptr;
  std::array<std::vector<BufferArgument>, kPlacements> buffers_;
  std::array<Arguments, kPlacements> arguments_{};
  std::vector<Packer> packers_;
};

// --- orders ---

class Worker {
 public:
  explicit Worker(const ChildPlan& plan) : control_(*plan.control) {
    for (const auto& module : plan.modules) kernels_.push_back(std::make_unique<LoadedKernel>(module));
  }

  bool load() {
    for (auto& kernel : kernels_)
      if (!kernel->load()) return false;
    return true;
  }

  Reply follow(const Command& command) {
    Reply reply;
    if (static_cast<size_t>(command.slot) >= kernels_.size()) return reply;
    switch (command.order) {
      case Order::call:
        reply.code = timed(command, command.slot, 1, reply.elapsed_ns);
        break;
      case Order::pack:
        reply.code = pack(command, reply.elapsed_ns);
        break;
      case Order::time:
        reply.code = time(command);
        break;
      case Order::time_pairs:
        reply.code = time_pairs(command);
        break;
    }
    return reply;
  }

 private:
  int pack(const Command& command, double& elapsed_ns) {
    const uint64_t begin = started(command.slot);
    const int code = kernels_[static_cast<uint32_t>(command.slot)]->pack(command.placement, control_);
    elapsed_ns = ended(begin);
    return code;
  }

  uint64_t started(Slot slot) {
    control_.running.store(static_cast<uint32_t>(slot), std::memory_order_relaxed);
    const uint64_t begin = now_ns();
    control_.launch_started_ns.store(begin, std::memory_order_release);
    return now_ns();
  }
  double ended(uint64_t begin) {
    const uint64_t end = now_ns();
    control_.launch_started_ns.store(0, std::memory_order_release);
    return static_cast<double>(end - begin);
  }

  int timed(const Command& command, Slot slot, uint32_t repeat, double& elapsed_ns) {
    const LoadedKernel& kernel = *kernels_[static_cast<uint32_t>(slot)];
    const uint64_t begin = started(slot);
    for (uint32_t r = 0; r < repeat; ++r)
      if (const int code = kernel.call(command.placement); code != 0) {
        ended(begin);
        return code;
      }
    elapsed_ns = ended(begin) / repeat;
    return 0;
  }

  int time(const Command& command) {
    const auto slot = static_cast<uint32_t>(command.slot);
    for (uint32_t i = 0; i < std::min(command.count, kMaxSamples); ++i)
      if (const int code = timed(command, command.slot, command.repeat, control_.samples_ns[slot][i]); code != 0)
        return code;
    return 0;
  }

  /// Alternating, each sample after `untimed` calls of its own kind.
  int time_pairs(const Command& command) {
    const Slot second = command.slot == Slot::candidate ? Slot::incumbent : Slot::candidate;
    for (uint32_t i = 0; i < std::min(command.count, kMaxSamples); ++i)
      for (const Slot slot : {command.slot, second}) {
        double ignored = 0;
        for (uint32_t u = 0; u < command.untimed; ++u)
          if (const int code = timed(command, slot, 1, ignored); code != 0) return code;
        const uint32_t repeat = slot == command.slot ? command.repeat : command.other_repeat;
        if (const int code = timed(command, slot, repeat, control_.samples_ns[static_cast<uint32_t>(slot)][i]);
            code != 0)
          return code;
      }
    return 0;
  }

  Control& control_;
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
};

/// Tile registers must be asked for before the walls close; where the processor has none the request fails and nothing
/// is lost.
void ask_for_tile_registers() {
#if defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  syscall(SYS_arch_prctl, kRequestPermission, kTileData);
#endif
}

void keep_only_the_command_stream(const ChildPlan& plan) {
  for (int fd = 0; fd <= 2; ++fd) dup2(plan.null_device, fd);
  dup2(plan.commands, kCommandDescriptor);
  syscall(SYS_close_range, kCommandDescriptor + 1, ~0u, 0);
}

bool set_own_limit(__rlimit_resource resource, uint64_t value) {
  const rlimit limit{value, value};
  return setrlimit(resource, &limit) == 0;
}

void limit_resources(const ChildPlan& plan) {
  set_own_limit(RLIMIT_CORE, 0);
  set_own_limit(RLIMIT_FSIZE, 0);
  set_own_limit(RLIMIT_NPROC, 0);
  if (plan.address_space_bytes != 0) set_own_limit(RLIMIT_AS, plan.address_space_bytes);
}

void answer(const Reply& reply) {
  if (::write(kCommandDescriptor, &reply, sizeof reply) != static_cast<ssize_t>(sizeof reply)) _exit(0);
}

void refuse(const char* why) {
  keep_message(nullptr, why);
  answer({Reply::Kind::not_loadable, 0, 0});
  _exit(0);
}

}  // namespace

void run_candidate_process(const ChildPlan& plan) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.supervisor) _exit(0);
  shared_control = plan.control;
  largest_allocation = plan.memory_limit_bytes;
  catch_faults();
  bool sealed = true;
  for (const Region& region : plan.regions) sealed &= region.seal_in_child();
  keep_only_the_command_stream(plan);
  if (!sealed) refuse("the inputs could not be sealed");
  [[maybe_unused]] static void* volatile before_scratch = nullptr;
  before_scratch =
      std::malloc(plan.regions.empty() ? 1
                                       : plan.regions.back().shift() +
                                             1);  // what kernels ask of the heap lies elsewhere in each layout, too
  Worker worker(plan);
  if (!worker.load()) refuse(std::string(shared_control->message).c_str());
  mallopt(M_ARENA_MAX, 1);  // further arenas reserve 64 MiB of addresses each, which the memory limit counts
  ask_for_tile_registers();
  start_pool(plan.threads);
  limit_resources(plan);
  if (Status locked = plan.sandbox->lock_candidate(); !locked) refuse(locked.error().message.c_str());
  answer({Reply::Kind::ready, 0, 0});
  Command command;
  while (::read(kCommandDescriptor, &command, sizeof command) == static_cast<ssize_t>(sizeof command))
    answer(worker.follow(command));
  _exit(0);
}

}  // namespace polyweft::runner
