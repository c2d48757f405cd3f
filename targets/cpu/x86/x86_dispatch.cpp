// The functions that stand before several levels of code. No ifunc: those are resolved by the loader before anything
// else runs, and not every loader and linker has them.
//
//   @polyweft.level: 0 before the first call, then 1 + the number of the level; 1: there is none. All who come first at
//   once write the same value, so that an atomic store is enough.
//
//   words of CPUID, of which a level needs bits:  leaf 1 ecx, leaf 7 ebx ecx edx, leaf 7.1 eax, leaf 80000001h ecx, and
//   XCR0, by which the system says that it saves the registers.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "ir/values/kernel_codes.h"
#include "targets/cpu/x86/x86_levels.h"

namespace polyweft::targets {
namespace {

enum Word { kLeaf1c, kLeaf7b, kLeaf7c, kLeaf7d, kLeaf71a, kExtended1c, kXcr0, kWords };
constexpr std::array<const char*, kWords> kWordNames = {"leaf1c",  "leaf7b",     "leaf7c", "leaf7d",
                                                        "leaf71a", "extended1c", "xcr0"};
using Masks = std::array<uint32_t, kWords>;

/// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID.
struct FeatureBit {
  std::string_view feature;
  Word word;
  int bit;
  uint32_t xcr0;  ///< what the system must save
};
constexpr uint32_t kAvx = 0x6, kAvx512 = 0xe6, kAmx = 0x60000;
constexpr auto kBits = std::to_array<FeatureBit>({
    {"amx-bf16", kLeaf7d, 22, kAmx},
    {"amx-int8", kLeaf7d, 25, kAmx},
    {"amx-tile", kLeaf7d, 24, kAmx},
    {"avx", kLeaf1c, 28, kAvx},
    {"avx2", kLeaf7b, 5, kAvx},
    {"avx512bf16", kLeaf71a, 5, kAvx512},
    {"avx512bw", kLeaf7b, 30, kAvx512},
    {"avx512cd", kLeaf7b, 28, kAvx512},
    {"avx512dq", kLeaf7b, 17, kAvx512},
    {"avx512f", kLeaf7b, 16, kAvx512},
    {"avx512fp16", kLeaf7d, 23, kAvx512},
    {"avx512vbmi", kLeaf7c, 1, kAvx512},
    {"avx512vl", kLeaf7b, 31, kAvx512},
    {"avx512vbmi2", kLeaf7c, 6, kAvx512},
    {"avx512vnni", kLeaf7c, 11, kAvx512},
    {"avxvnni", kLeaf71a, 4, kAvx},
    {"bmi", kLeaf7b, 3, 0},
    {"bmi2", kLeaf7b, 8, 0},
    {"f16c", kLeaf1c, 29, kAvx},
    {"fma", kLeaf1c, 12, kAvx},
    {"lzcnt", kExtended1c, 5, 0},
    {"movbe", kLeaf1c, 22, 0},
    {"popcnt", kLeaf1c, 23, 0},
    {"sse3", kLeaf1c, 0, 0},
    {"sse4.1", kLeaf1c, 19, 0},
    {"sse4.2", kLeaf1c, 20, 0},
    {"ssse3", kLeaf1c, 9, 0},
});

Result<Masks> masks_of(const Target& target) {
  Masks out{};
  for (const std::string& feature : target.features) {
    if (feature == "sse" || feature == "sse2") continue;  // every CPU of the architecture has them
    const auto* found =
        std::find_if(kBits.begin(), kBits.end(), [&](const FeatureBit& bit) { return bit.feature == feature; });
    if (found == kBits.end())
      return fail("PW0523", "products for several targets: CPUID does not tell feature '" + feature + "' of target " +
                                target.name);
    out[found->word] |= uint32_t{1} << found->bit;
    out[kXcr0] |= found->xcr0;
  }
  return out;
}

/// A function that the caller sees: result and parameters as LLVM has them, and what it gives where there is no level.
struct Entry {
  std::string suffix, result, parameters, refusal;
};

/// "ptr %a0, i64 %a1"
std::string parameters_of(size_t pointers, size_t sizes) {
  std::string out;
  for (size_t k = 0; k < pointers + sizes; ++k)
    out += (k ? ", " : "") + std::string(k < pointers ? "ptr " : "i64 ") + "%a" + std::to_string(k);
  return out;
}

Entry entry_of(const std::string& suffix, size_t pointers, size_t sizes) {
  return {suffix, "i32", parameters_of(pointers, sizes), std::to_string(ir::kNoLevel)};
}

std::vector<Entry> entries_of(const LoopNest& nest) {
  const auto is_promised = [&](BufferId id) {
    return nest.buffers[id].values.has_value() || !nest.buffers[id].promise.empty();
  };
  const size_t pointers = nest.arguments.size(), sizes = nest.symbolic ? nest.params.size() : 0;
  std::vector<Entry> out = {entry_of("", pointers, sizes)};
  if (std::any_of(nest.arguments.begin(), nest.arguments.end(), is_promised))
    out.push_back(entry_of("_unchecked", pointers, sizes));
  if (nest.symbolic) out.push_back({"_message", "ptr", "i32 %a0", "null"});
  for (const Pack& pack : nest.packs) {
    const std::string name = "_pack_" + nest.buffers[pack.source].name;
    out.push_back(entry_of(name, 2, sizes));
    out.push_back({name + "_bytes", "i64", parameters_of(0, sizes), "-1"});
    if (is_promised(pack.source)) out.push_back(entry_of(name + "_unchecked", 2, sizes));
  }
  return out;
}

constexpr const char* kWordsOfCpu = R"(
define internal { i32, i32, i32, i32 } @polyweft.cpuid(i32 %leaf, i32 %sub) {
  %r = call { i32, i32, i32, i32 }
      asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}"(i32 %leaf, i32 %sub)
  ret { i32, i32, i32, i32 } %r
}
define internal i32 @polyweft.enabled(i32 %leaf1c) {
  %masked = and i32 %leaf1c, 134217728
  %has = icmp ne i32 %masked, 0
  br i1 %has, label %ask, label %none
ask:
  %r = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)
  %low = extractvalue { i32, i32 } %r, 0
  ret i32 %low
none:
  ret i32 0
}
define internal i32 @polyweft.highest(i32 %most) {
  %basic = call { i32, i32, i32, i32 } @polyweft.cpuid(i32 0, i32 0)
  %last = extractvalue { i32, i32, i32, i32 } %basic, 0
  %has7 = icmp uge i32 %last, 7
  %r1 = call { i32, i32, i32, i32 } @polyweft.cpuid(i32 1, i32 0)
  %leaf1c = extractvalue { i32, i32, i32, i32 } %r1, 2
  %r7 = call { i32, i32, i32, i32 } @polyweft.cpuid(i32 7, i32 0)
  %subs = extractvalue { i32, i32, i32, i32 } %r7, 0
  %b = extractvalue { i32, i32, i32, i32 } %r7, 1
  %c = extractvalue { i32, i32, i32, i32 } %r7, 2
  %d = extractvalue { i32, i32, i32, i32 } %r7, 3
  %leaf7b = select i1 %has7, i32 %b, i32 0
  %leaf7c = select i1 %has7, i32 %c, i32 0
  %leaf7d = select i1 %has7, i32 %d, i32 0
  %r71 = call { i32, i32, i32, i32 } @polyweft.cpuid(i32 7, i32 1)
  %a71 = extractvalue { i32, i32, i32, i32 } %r71, 0
  %more = icmp uge i32 %subs, 1
  %has71 = and i1 %has7, %more
  %leaf71a = select i1 %has71, i32 %a71, i32 0
  %extended = call { i32, i32, i32, i32 } @polyweft.cpuid(i32 -2147483648, i32 0)
  %extended.last = extractvalue { i32, i32, i32, i32 } %extended, 0
  %has.extended = icmp uge i32 %extended.last, -2147483647
  %re = call { i32, i32, i32, i32 } @polyweft.cpuid(i32 -2147483647, i32 0)
  %ce = extractvalue { i32, i32, i32, i32 } %re, 2
  %extended1c = select i1 %has.extended, i32 %ce, i32 0
  %xcr0 = call i32 @polyweft.enabled(i32 %leaf1c)
)";

constexpr const char* kChosen = R"(
@polyweft.level = internal global i32 0
define internal i32 @polyweft.chosen() {
  %known = load atomic i32, ptr @polyweft.level monotonic, align 4
  %is.known = icmp ne i32 %known, 0
  br i1 %is.known, label %done, label %ask
ask:
  %found = call i32 @polyweft.highest(i32 2147483647)
  %kept = add i32 %found, 1
  store atomic i32 %kept, ptr @polyweft.level monotonic, align 4
  br label %done
done:
  %now = phi i32 [ %known, %0 ], [ %kept, %ask ]
  %number = sub i32 %now, 1
  ret i32 %number
}
)";

/// Of level number `k`, from 1 on: %has1 .. and %best1 ..
std::string level_test(size_t k, const Masks& masks) {
  const std::string number = std::to_string(k), before = k == 1 ? "0" : "%best" + std::to_string(k - 1);
  std::string out = "  %may" + number + ".0 = icmp sge i32 %most, " + number + "\n";
  size_t tests = 0;
  for (size_t word = 0; word < kWords; ++word) {
    if (masks[word] == 0) continue;
    const std::string id = number + "." + std::to_string(++tests), mask = std::to_string(masks[word]);
    out += "  %bits" + id + " = and i32 %" + kWordNames[word] + ", " + mask + "\n  %all" + id + " = icmp eq i32 %bits" +
           id + ", " + mask + "\n  %may" + id + " = and i1 %may" + number + "." + std::to_string(tests - 1) + ", %all" +
           id + "\n";
  }
  return out + "  %best" + number + " = select i1 %may" + number + "." + std::to_string(tests) + ", i32 " + number +
         ", i32 " + before + "\n";
}

std::string dispatched(const Entry& entry, const std::string& symbol, const std::vector<LevelCode>& levels) {
  const std::string name = symbol + entry.suffix;
  std::string cases, calls, declared;
  for (size_t k = 1; k <= levels.size(); ++k) {
    const std::string number = std::to_string(k),
                      own = "@" + name_at_level(symbol, levels[k - 1].target) + entry.suffix;
    declared += "declare " + entry.result + " " + own + "(" + entry.parameters + ")\n";
    cases += " i32 " + number + ", label %l" + number;
    calls += "l" + number + ":\n  %r" + number + " = tail call " + entry.result + " " + own + "(" + entry.parameters +
             ")\n  ret " + entry.result + " %r" + number + "\n";
  }
  return declared + "define " + entry.result + " @" + name + "(" + entry.parameters +
         ") nounwind {\n  %l = call i32 @polyweft.chosen()\n  switch i32 %l, label %none [" + cases + " ]\n" + calls +
         "none:\n  ret " + entry.result + " " + entry.refusal + "\n}\n";
}

std::string level_hook(const std::string& symbol) {
  return "define i32 @" + symbol + R"(_level(i32 %most) nounwind {
  %told = icmp sgt i32 %most, 0
  br i1 %told, label %hold, label %ask
hold:
  %held = call i32 @polyweft.highest(i32 %most)
  %kept = add i32 %held, 1
  store atomic i32 %kept, ptr @polyweft.level monotonic, align 4
  ret i32 %held
ask:
  %now = call i32 @polyweft.chosen()
  ret i32 %now
}
)";
}

}  // namespace

std::string name_at_level(const std::string& symbol, const Target& target) {
  std::string out = symbol + "_at_" + target.name;
  for (size_t k = symbol.size(); k < out.size(); ++k)
    if (!std::isalnum(static_cast<unsigned char>(out[k]))) out[k] = '_';
  return out;
}

Result<std::string> x86_dispatch_text(const std::vector<LevelCode>& levels, const std::string& symbol) {
  std::string out = kWordsOfCpu;
  for (size_t k = 0; k < levels.size(); ++k) {
    const auto masks = masks_of(levels[k].target);
    if (!masks) return masks.error();
    out += level_test(k + 1, *masks);
  }
  out += "  ret i32 %best" + std::to_string(levels.size()) + "\n}\n" + kChosen + level_hook(symbol);
  for (const Entry& entry : entries_of(levels.front().nest)) out += dispatched(entry, symbol, levels);
  return out;
}

}  // namespace polyweft::targets
