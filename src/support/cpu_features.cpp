#include "support/cpu_features.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#elif defined(__riscv)
#include <setjmp.h>
#include <signal.h>
#endif

#include <algorithm>
#include <atomic>
#include <iterator>

#include "support/cpu_levels.h"

namespace polyweft {
namespace {

#if defined(__x86_64__)

// The builtin takes literals only, and looks at XCR0 as well.
std::vector<std::string> detected() {
  __builtin_cpu_init();
  std::vector<std::string> out;
#define PW_TAKE(name) \
  if (__builtin_cpu_supports(name)) out.emplace_back(name)
  PW_TAKE("amx-bf16");
  PW_TAKE("amx-int8");
  PW_TAKE("amx-tile");
  PW_TAKE("avx");
  PW_TAKE("avx2");
  PW_TAKE("avx512bf16");
  PW_TAKE("avx512bw");
  PW_TAKE("avx512cd");
  PW_TAKE("avx512dq");
  PW_TAKE("avx512f");
  PW_TAKE("avx512fp16");
  PW_TAKE("avx512vbmi");
  PW_TAKE("avx512vbmi2");
  PW_TAKE("avx512vl");
  PW_TAKE("avx512vnni");
  PW_TAKE("avxvnni");
  PW_TAKE("bmi");
  PW_TAKE("bmi2");
  PW_TAKE("f16c");
  PW_TAKE("fma");
  PW_TAKE("lzcnt");
  PW_TAKE("movbe");
  PW_TAKE("popcnt");
  PW_TAKE("sse");
  PW_TAKE("sse2");
  PW_TAKE("sse3");
  PW_TAKE("sse4.1");
  PW_TAKE("sse4.2");
  PW_TAKE("ssse3");
#undef PW_TAKE
  return out;
}

#elif defined(__aarch64__)

std::vector<std::string> detected() {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  std::vector<std::string> out;
  if (second & HWCAP2_BF16) out.emplace_back("bf16");
  if (first & HWCAP_ASIMDDP) out.emplace_back("dotprod");
  if (first & HWCAP_ASIMDHP) out.emplace_back("fullfp16");
  if (second & HWCAP2_I8MM) out.emplace_back("i8mm");
  if (first & HWCAP_ASIMD) out.emplace_back("neon");
  constexpr int kLengthMask = 0xffff;  // bytes; PR_SVE_VL_LEN_MASK
  const int answer = first & HWCAP_SVE ? prctl(PR_SVE_GET_VL) : -1;
  const std::string length = "vl" + std::to_string(8 * (answer & kLengthMask));
  if (answer < 0 || vector_bits_of_feature(length) == 0) return out;  // of another length nothing is used
  out.emplace_back("sve");
  if (second & HWCAP2_SVE2) out.emplace_back("sve2");
  out.push_back(length);
  return out;
}

#elif defined(__riscv)

static_assert(__riscv_xlen == 64 && __riscv_flen >= 64, "this file is compiled for rv64gc");

sigjmp_buf no_vectors;

extern "C" void leave_by_jump(int) {
  siglongjmp(no_vectors, 1);
}

/// Of a vector register; 0 where there are none. By asking for the length: qemu-user 7.2 does not say it in AT_HWCAP.
/// The register cannot be read where the system does not let programs use vectors.
unsigned long vector_register_bits() {
  struct sigaction jump {
  }, before{};
  jump.sa_handler = leave_by_jump;
  sigaction(SIGILL, &jump, &before);
  volatile unsigned long bytes = 0;
  if (sigsetjmp(no_vectors, 1) == 0) {
    unsigned long read = 0;
    __asm__ volatile("csrr %0, 0xc22" : "=r"(read));  // vlenb
    bytes = read;
  }
  sigaction(SIGILL, &before, nullptr);
  return 8 * bytes;
}

std::vector<std::string> detected() {
  static const unsigned long bits = vector_register_bits();
  std::vector<std::string> out = {"a", "c", "d", "f", "m", "unaligned-scalar-mem"};  // the last by Linux's promise
  if (bits >= 128) out.insert(out.end(), {"v", "zvl128b"});
  if (bits >= 256) out.emplace_back("zvl256b");
  if (bits >= 512) out.emplace_back("zvl512b");
  return out;
}

#else
#error "say what this architecture's features are"
#endif

constexpr int kNotHeld = -1;
std::atomic<int> held{kNotHeld};  // index in own_levels()

const std::vector<CpuLevel>& own_levels() {
  return cpu_levels(native_architecture());
}

int index_of_level(const std::string& level) {
  const auto& all = own_levels();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CpuLevel& each) { return each.name == level; });
  return found == all.end() ? kNotHeld : static_cast<int>(found - all.begin());
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

}  // namespace

std::string native_architecture() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv)
  return "riscv64";
#else
#error "name this architecture"
#endif
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> has = detected(), out;
  const int level = held;
  if (level == kNotHeld) return has;
  const std::vector<std::string>& most = own_levels()[static_cast<size_t>(level)].features;
  std::set_intersection(has.begin(), has.end(), most.begin(), most.end(), std::back_inserter(out));
  return out;
}

std::vector<std::string> missing_cpu_features(const std::vector<std::string>& needed) {
  const std::vector<std::string> has = cpu_features();
  std::vector<std::string> out;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(out),
               [&](const std::string& name) { return !std::binary_search(has.begin(), has.end(), name); });
  return out;
}

Status hold_cpu(const std::string& level) {
  const int index = index_of_level(level);
  if (index == kNotHeld && !level.empty()) {
    std::vector<std::string> known;
    for (const CpuLevel& each : own_levels()) known.push_back(each.name);
    return fail("PW0510", "'" + level + "' is no level that the host can be held to",
                {"known: " + joined(known, ", ")});
  }
  held = index;
  return Ok{};
}

std::string held_cpu_level() {
  const int level = held;
  return level == kNotHeld ? "" : own_levels()[static_cast<size_t>(level)].name;
}

Status cpu_can_run(const std::vector<std::string>& needed, const std::string& what) {
  const std::vector<std::string> missing = missing_cpu_features(needed);
  if (missing.empty()) return Ok{};
  const std::string level = held_cpu_level();
  const std::string cpu = level.empty() ? "this CPU" : "this CPU, held to " + level + ",";
  return fail("PW0517", what + " needs " + joined(missing) + ", which " + cpu + " has not",
              {"use build, or --target host"});
}

}  // namespace polyweft
