#include "targets/tile_unit.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "support/cpu_features.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

constexpr int kTiles = 8, kTileRows = 16, kRowBytes = 64;

struct TileFile {
  bool is_configured = false;
  uint8_t rows[kTiles] = {};
  uint16_t row_bytes[kTiles] = {};
  alignas(64) uint8_t cells[kTiles][kTileRows][kRowBytes] = {};
};
thread_local TileFile tiles;

struct Shared {
  std::atomic<int64_t> configurations, releases, zeros, loads, stores, products;
  std::atomic<int> problem;  // line of the check that failed
};
Shared* shared = nullptr;

// A fault inside the handler, or an instruction that breaks the unit's rules, ends the child.
#define PW_TILE_CHECK(condition)  \
  do {                            \
    if (!(condition)) {           \
      shared->problem = __LINE__; \
      _exit(99);                  \
    }                             \
  } while (false)

/// C4 RXBmmmmm WvvvvLpp opcode modrm [sib] [displacement]
struct Decoded {
  int pp = 0, vvvv = 0, mod = 0, reg = 0, rm = 0;
  uint8_t opcode = 0;
  bool has_index = false;
  uint64_t base = 0, index = 0;  // base with the displacement; index scaled
  size_t length = 0;
};

uint64_t general_register(const ucontext_t& context, int number) {
  static constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<uint64_t>(context.uc_mcontext.gregs[order[number]]);
}

int64_t signed_bytes(const uint8_t* from, int count) {
  if (count == 1) return static_cast<int8_t>(*from);
  int32_t value = 0;
  std::memcpy(&value, from, 4);
  return value;
}

void memory_operand(const ucontext_t& context, const uint8_t* code, bool x, bool b, Decoded& out) {
  const uint8_t* at = code + 5;
  int displacement = out.mod == 1 ? 1 : out.mod == 2 ? 4 : 0;
  if (out.rm % 8 == 4) {
    const uint8_t sib = *at++;
    const int index = (sib >> 3 & 7) + 8 * x, base = (sib & 7) + 8 * b;
    out.has_index = index != 4;
    if (out.has_index) out.index = general_register(context, index) << (sib >> 6);
    if ((sib & 7) == 5 && out.mod == 0)
      displacement = 4;
    else
      out.base = general_register(context, base);
    if (displacement) out.base += static_cast<uint64_t>(signed_bytes(at, displacement));
    at += displacement;
  } else if (out.mod == 0 && out.rm % 8 == 5) {  // relative to the next instruction
    out.base = reinterpret_cast<uint64_t>(at + 4) + static_cast<uint64_t>(signed_bytes(at, 4));
    at += 4;
  } else {
    out.base = general_register(context, out.rm);
    if (displacement) out.base += static_cast<uint64_t>(signed_bytes(at, displacement));
    at += displacement;
  }
  out.length = static_cast<size_t>(at - code);
}

Decoded decode(const ucontext_t& context, const uint8_t* code) {
  PW_TILE_CHECK(code[0] == 0xc4 && (code[1] & 0x1f) == 2);  // VEX of three bytes, map 0F38
  PW_TILE_CHECK((code[2] & 0x84) == 0x80);                  // 128 bits, and W as spoil() left it
  const bool r = !(code[1] & 0x80), x = !(code[1] & 0x40), b = !(code[1] & 0x20);
  Decoded out;
  out.pp = code[2] & 3;
  out.vvvv = ~code[2] >> 3 & 15;
  out.opcode = code[3];
  out.mod = code[4] >> 6;
  out.reg = (code[4] >> 3 & 7) + 8 * r;
  out.rm = (code[4] & 7) + 8 * b;
  out.length = 5;
  if (out.mod != 3) memory_operand(context, code, x, b, out);
  return out;
}

void configure(const Decoded& d) {
  uint8_t memory[64];
  std::memcpy(memory, reinterpret_cast<const void*>(d.base), 64);
  PW_TILE_CHECK(memory[0] == 1 && memory[1] == 0);
  tiles = TileFile{};
  tiles.is_configured = true;
  for (int n = 0; n < kTiles; ++n) {
    std::memcpy(&tiles.row_bytes[n], memory + 16 + 2 * n, 2);
    tiles.rows[n] = memory[48 + n];
    PW_TILE_CHECK(tiles.rows[n] <= kTileRows && tiles.row_bytes[n] <= kRowBytes);
  }
  ++shared->configurations;
}

bool is_usable(int tile) {
  return tiles.is_configured && tile < kTiles && tiles.rows[tile] > 0 && tiles.row_bytes[tile] > 0;
}

void load_tile(const Decoded& d) {
  PW_TILE_CHECK(d.rm % 8 == 4 && is_usable(d.reg));
  std::memset(tiles.cells[d.reg], 0, sizeof tiles.cells[d.reg]);
  for (unsigned row = 0; row < tiles.rows[d.reg]; ++row)
    std::memcpy(tiles.cells[d.reg][row], reinterpret_cast<const void*>(d.base + row * d.index), tiles.row_bytes[d.reg]);
  ++shared->loads;
}

void store_tile(const Decoded& d) {
  PW_TILE_CHECK(d.rm % 8 == 4 && is_usable(d.reg));
  for (unsigned row = 0; row < tiles.rows[d.reg]; ++row)
    std::memcpy(reinterpret_cast<void*>(d.base + row * d.index), tiles.cells[d.reg][row], tiles.row_bytes[d.reg]);
  ++shared->stores;
}

// m x 4k by k x 4n bytes; sums wrap.
void multiply_bytes(const Decoded& d, bool a_signed, bool b_signed) {
  for (int m = 0; m < tiles.rows[d.reg]; ++m)
    for (int k = 0; k < tiles.row_bytes[d.rm] / 4; ++k)
      for (int n = 0; n < tiles.row_bytes[d.reg] / 4; ++n) {
        uint32_t sum = 0;
        std::memcpy(&sum, &tiles.cells[d.reg][m][4 * n], 4);
        for (int q = 0; q < 4; ++q) {
          const uint8_t a = tiles.cells[d.rm][m][4 * k + q], b = tiles.cells[d.vvvv][k][4 * n + q];
          sum += static_cast<uint32_t>((a_signed ? static_cast<int8_t>(a) : int{a}) *
                                       (b_signed ? static_cast<int8_t>(b) : int{b}));
        }
        std::memcpy(&tiles.cells[d.reg][m][4 * n], &sum, 4);
      }
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float bf16_cell(const uint8_t* cell) {
  uint16_t bits = 0;
  std::memcpy(&bits, cell, 2);
  return flushed(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

// Even and odd terms are two chains of fused additions from zero; their sum is added to the cell. Subnormal numbers are
// zero, coming and going.
void multiply_bf16(const Decoded& d) {
  for (int m = 0; m < tiles.rows[d.reg]; ++m)
    for (int n = 0; n < tiles.row_bytes[d.reg] / 4; ++n) {
      float even = 0, odd = 0, sum = 0;
      for (int k = 0; k < tiles.row_bytes[d.rm] / 4; ++k) {
        const uint8_t *a = &tiles.cells[d.rm][m][4 * k], *b = &tiles.cells[d.vvvv][k][4 * n];
        even = flushed(std::fma(bf16_cell(a), bf16_cell(b), even));
        odd = flushed(std::fma(bf16_cell(a + 2), bf16_cell(b + 2), odd));
      }
      std::memcpy(&sum, &tiles.cells[d.reg][m][4 * n], 4);
      sum = flushed(flushed(sum) + flushed(even + odd));
      std::memcpy(&tiles.cells[d.reg][m][4 * n], &sum, 4);
    }
}

void multiply(const Decoded& d) {
  const int a = d.rm, b = d.vvvv, c = d.reg;
  PW_TILE_CHECK(d.mod == 3 && is_usable(a) && is_usable(b) && is_usable(c) && a != b && a != c && b != c);
  PW_TILE_CHECK(tiles.rows[c] == tiles.rows[a] && tiles.row_bytes[c] == tiles.row_bytes[b] &&
                tiles.row_bytes[a] / 4 == tiles.rows[b]);
  if (d.opcode == 0x5c) {
    PW_TILE_CHECK(d.pp == 2);  // F3: bf16
    multiply_bf16(d);
  } else {
    multiply_bytes(d, d.pp >= 2, d.pp % 2 == 1);  // none UU, 66 US, F3 SU, F2 SS
  }
  ++shared->products;
}

void on_illegal(int, siginfo_t*, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  auto& rip = context.uc_mcontext.gregs[REG_RIP];
  const Decoded d = decode(context, reinterpret_cast<const uint8_t*>(rip));
  if (d.opcode == 0x49 && d.mod != 3) {
    PW_TILE_CHECK(d.pp == 0 && d.reg == 0);
    configure(d);
  } else if (d.opcode == 0x49 && d.pp == 0) {
    PW_TILE_CHECK(d.reg == 0 && d.rm == 0);
    tiles = TileFile{};
    ++shared->releases;
  } else if (d.opcode == 0x49) {
    PW_TILE_CHECK(d.pp == 3 && d.rm == 0 && is_usable(d.reg));
    std::memset(tiles.cells[d.reg], 0, sizeof tiles.cells[d.reg]);
    ++shared->zeros;
  } else if (d.opcode == 0x4b) {
    PW_TILE_CHECK(d.mod != 3 && (d.pp == 1 || d.pp == 2 || d.pp == 3));
    d.pp == 2 ? store_tile(d) : load_tile(d);
  } else {
    PW_TILE_CHECK(d.opcode == 0x5e || d.opcode == 0x5c);
    multiply(d);
  }
  rip += static_cast<greg_t>(d.length);
}

/// arch_prctl(ARCH_REQ_XCOMP_PERM, ...) of this process gives `answer` (0, or an error) without asking the system.
bool answer_permission(uint32_t answer) {
  const uint32_t low = offsetof(seccomp_data, args[0]);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 18, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool is_tile_instruction(const uint8_t* code) {
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0)
    return false;  // VEX of three bytes, map 0F38, W0, 128 bits
  const bool has_no_vvvv = (code[2] & 0x78) == 0x78;
  return (code[3] == 0x49 && has_no_vvvv) || (code[3] == 0x4b && has_no_vvvv) || code[3] == 0x5c || code[3] == 0x5e;
}
/// With W set no chip knows them: each faults, on machines with the unit as on all others.
void spoil(targets::Bytes& object) {
  for (size_t at = 0; at + 4 <= object.size(); ++at)
    if (is_tile_instruction(&object[at])) object[at + 2] |= 0x80;
}

bool ask_permission() {
  return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

enum class TileUnitKind : uint8_t { emulated, native };

/// The child: its own runtime and threads, since those of the parent are not there.
[[noreturn]] void child(const std::string& path, const std::string& symbol, std::vector<TensorData>& arguments,
                        uint8_t* results, TileUnitKind unit, TilePermission permission) {
  struct sigaction action = {};
  action.sa_sigaction = on_illegal;
  action.sa_flags = SA_SIGINFO;
  if (unit == TileUnitKind::emulated && sigaction(SIGILL, &action, nullptr) != 0) _exit(98);
  const bool is_refused = permission == TilePermission::refused;
  if ((unit == TileUnitKind::emulated || is_refused) && !answer_permission(is_refused ? EPERM : 0)) _exit(98);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* kernel = library ? dlsym(library, symbol.c_str()) : nullptr;
  if (!kernel) _exit(97);
  const int code = call(kernel, arguments);
  for (const TensorData& data : arguments) results = std::copy(data.bytes.begin(), data.bytes.end(), results);
  _exit(code);
}

TileRun run(const std::string& symbol, const targets::Bytes& library, std::vector<TensorData> arguments,
            TileUnitKind unit, TilePermission permission) {
  TileRun out;
  const int file = memfd_create("kernel.so", MFD_CLOEXEC);
  size_t bytes = sizeof(Shared);
  for (const TensorData& data : arguments) bytes += data.bytes.size();
  auto* memory = static_cast<uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (file < 0 || memory == MAP_FAILED ||
      write(file, library.data(), library.size()) != static_cast<ssize_t>(library.size())) {
    out.problem = "no memory";
    return out;
  }
  shared = new (memory) Shared{};
  const pid_t pid = fork();
  if (pid == 0)
    child("/proc/self/fd/" + std::to_string(file), symbol, arguments, memory + sizeof(Shared), unit, permission);
  int status = 0;
  waitpid(pid, &status, 0);
  close(file);
  out.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  out.ended = WIFEXITED(status) && out.code < 90;
  if (shared->problem != 0) out.problem = "the emulator stopped at line " + std::to_string(shared->problem);
  out.counts = {
      shared->configurations, shared->releases, shared->zeros, shared->loads, shared->stores, shared->products, 0};
  const uint8_t* from = memory + sizeof(Shared);
  for (TensorData& data : arguments) {
    std::copy(from, from + data.bytes.size(), data.bytes.begin());
    from += data.bytes.size();
  }
  out.arguments = std::move(arguments);
  munmap(memory, bytes);
  return out;
}

/// The chip's own unit is asked for in a child: leave once given holds for the whole process.
bool chip_runs(const Target& target) {
  if (!missing_cpu_features(target.features).empty()) return false;
  static const bool is_given = [] {
    const pid_t pid = fork();
    if (pid == 0) _exit(ask_permission() ? 0 : 1);
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return is_given;
}

}  // namespace

TileRun run_with_tiles(const LoopNest& nest, const Target& target, std::vector<TensorData> arguments,
                       TilePermission permission) {
  TileRun out;
  auto object = targets::compile_object(nest, target);
  if (!object) {
    out.problem = object.error().message;
    return out;
  }
  // The emulator knows tile instructions alone: all others are this CPU's.
  std::vector<std::string> others;
  std::copy_if(target.features.begin(), target.features.end(), std::back_inserter(others),
               [](const std::string& name) { return name.rfind("amx-", 0) != 0; });
  if (const Status runs = cpu_can_run(others, "what surrounds the tile unit"); !runs) {
    out.problem = runs.error().message;
    return out;
  }
  const auto linked = [&] {
    return targets::shared_object(*object, targets::exported_symbols(nest), targets::Runtime::inside);
  };
  const bool runs_here = chip_runs(target);
  auto library = runs_here ? linked() : Result<targets::Bytes>(targets::Bytes{});
  spoil(object->object);
  auto spoiled = linked();
  if (!library || !spoiled) {
    out.problem = (library ? spoiled : library).error().message;
    return out;
  }
  out = run(nest.name, *spoiled, arguments, TileUnitKind::emulated, permission);
  if (!runs_here || !out.ended) return out;
  const TileRun native = run(nest.name, *library, std::move(arguments), TileUnitKind::native, permission);
  out.ran_on_chip = true;
  const auto differs = [&] {
    for (size_t a = 0; a < out.arguments.size(); ++a)
      if (const std::string what = difference(native.arguments[a], out.arguments[a]); !what.empty())
        return "argument " + std::to_string(a) + ": " + what;
    return std::string(native.code == out.code ? "" : "the code is " + std::to_string(native.code));
  };
  out.problem = native.ended ? differs() : "it ended by signal " + std::to_string(native.signal);
  out.ended = out.problem.empty();
  if (!out.ended) out.problem = "on this chip: " + out.problem;
  return out;
}

Target with_tiles() {
  Target target = *find_target("x86-64");
  for (const char* level : {"x86-64-v4", "x86-64-v3", "x86-64-v2"})
    if (const auto found = find_target(level); found->is_host && target.name == "x86-64") target = *found;
  target.name = "tiles";
  for (const char* feature : {"amx-tile", "amx-int8", "amx-bf16"}) target.features.push_back(feature);
  std::sort(target.features.begin(), target.features.end());
  return target;
}

}  // namespace polyweft::targets_test
