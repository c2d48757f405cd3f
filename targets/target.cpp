// The host by its feature flags, named levels of x86-64, and descriptions in TOML.
#include "polyweft/target.h"

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/TargetParser/Host.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "support/cpu_features.h"

namespace polyweft {
namespace {

void set_units(Target& target) {
  target.vector_bits = target.has("avx512f") ? 512 : target.has("avx") ? 256 : 128;
  target.vector_registers = target.has("avx512f") ? 32 : 16;
}

int64_t cache_size(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

/// Of what is known of a family of cores (vendors' optimization guides, measured streams); Target's own figures for the
/// others. Measured on Zen 5: independent loads of 1024 pages take no longer than those of 32, of 8192 to 32768 pages 1.7
/// to 6.6 cycles more; streams from the third cache or memory hide behind 8 to 32 cycles of arithmetic a line; lines 4160
/// bytes apart take 8 to 12 cycles each from the second cache, 10 to 16 from the third.
void assume_memory(Target& target) {
  if (!llvm::sys::getHostCPUName().starts_with("znver")) return;
  target.scattered_line_cycles = {8, 10, 16};
  target.tlb_pages = {64, 3072};
  target.tlb_miss_cycles = {0.5, 8};
  target.page_start_cycles = 0;
  target.bytes_per_cycle = {target.has("avx512f") ? 60.0 : 30.0, 24, 10};  // a third cache of its own for each cluster of cores
  target.gather_lane_cycles = 1.6;  // Zen 5, measured: 8 x 64 bits 15 cycles, 16 x 32 bits 20, 4 x 64 7.4, 8 x 32 13
  target.scatter_lane_cycles = 1.1;  // 9, 17, 5
}

Target host() {
  Target target;
  target.name = "host";
  target.is_host = true;
  target.features = cpu_features();
  set_units(target);
  target.cache_bytes = {cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10), cache_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20), cache_size(_SC_LEVEL3_CACHE_SIZE, 8 << 20)};
  assume_memory(target);
  target.cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return target;
}

Target named_level(const std::string& name, std::vector<std::string> features) {
  Target target;
  target.name = name;
  target.features = std::move(features);
  set_units(target);
  target.cores = host().cores;
  target.is_host = missing_cpu_features(target.features).empty();
  return target;
}

Error malformed(const std::string& path, const std::string& what) {
  return fail("PW0511", path + ": " + what, {"see the descriptions in targets/descriptions for the form"});
}

/// Figures under a name, where it stands there; false where one of them is out of range.
template <class Number>
bool read_figures(const toml::table& table, const char* name, std::vector<Number>& out) {
  const auto* figures = table[name].as_array();
  if (!figures) return !table.contains(name);
  out.clear();
  for (const auto& entry : *figures) {
    out.push_back(entry.value_or(Number{-1}));
    if (!(out.back() >= 0 && out.back() <= 1'000'000)) return false;
  }
  return out.size() <= 4;
}

Result<Target> from_toml(const std::string& path, const toml::table& table) {
  Target target;
  target.name = path;
  target.architecture = table["architecture"].value_or(std::string("x86-64"));
  if (target.architecture != "x86-64") return malformed(path, "architecture '" + target.architecture + "' is not one this version builds for; it builds for x86-64");
  const auto* features = table["features"].as_array();
  if (!features) return malformed(path, "it has no list 'features'");
  for (const auto& entry : *features) {
    const auto name = entry.value<std::string>();
    if (!name || !std::binary_search(known_cpu_features().begin(), known_cpu_features().end(), *name))
      return malformed(path, "'" + name.value_or("?") + "' is not a feature this version knows");
    target.features.push_back(*name);
  }
  std::sort(target.features.begin(), target.features.end());
  set_units(target);
  if (const auto* caches = table["cache_bytes"].as_array()) {
    target.cache_bytes.clear();
    for (const auto& entry : *caches) {
      const int64_t bytes = entry.value_or(int64_t{0});
      if (bytes < 1024 || bytes > (int64_t{1} << 40)) return malformed(path, "cache_bytes must lie between 1 KiB and 1 TiB");
      target.cache_bytes.push_back(bytes);
    }
    if (target.cache_bytes.empty() || target.cache_bytes.size() > 4) return malformed(path, "cache_bytes must have 1 to 4 levels");
    target.bytes_per_cycle.resize(target.cache_bytes.size(), target.bytes_per_cycle.back());
  }
  if (const auto* rates = table["bytes_per_cycle"].as_array()) {
    target.bytes_per_cycle.clear();
    for (const auto& entry : *rates) {
      const double rate = entry.value_or(0.0);
      if (!(rate >= 0.01 && rate <= 10'000)) return malformed(path, "bytes_per_cycle must lie between 0.01 and 10000");
      target.bytes_per_cycle.push_back(rate);
    }
    if (target.bytes_per_cycle.size() != target.cache_bytes.size())
      return malformed(path, "bytes_per_cycle must have as many figures as cache_bytes: from the second cache on, then memory");
  }
  const bool are_fine = read_figures(table, "scattered_line_cycles", target.scattered_line_cycles) && read_figures(table, "tlb_pages", target.tlb_pages) &&
                        read_figures(table, "tlb_miss_cycles", target.tlb_miss_cycles);
  target.page_start_cycles = table["page_start_cycles"].value_or(target.page_start_cycles);
  if (!are_fine || target.tlb_pages.size() != target.tlb_miss_cycles.size() || !(target.page_start_cycles >= 0 && target.page_start_cycles <= 1'000'000))
    return malformed(path, "scattered_line_cycles, tlb_pages, tlb_miss_cycles and page_start_cycles must lie between 0 and 1000000, at most 4 of each, as many misses as pages");
  target.cores = static_cast<int>(std::clamp<int64_t>(table["cores"].value_or(int64_t{1}), 1, 1024));
  target.is_host = missing_cpu_features(target.features).empty();
  return target;
}

template <class Number>
void put_figures(std::ostringstream& out, const char* name, const std::vector<Number>& figures) {
  out << name << " = [";
  for (size_t i = 0; i < figures.size(); ++i) out << (i ? ", " : "") << figures[i];
  out << "]\n";
}

}  // namespace

std::string fingerprint(const Target& target) {
  std::string out = target.architecture + "/" + std::to_string(target.vector_bits);
  for (const auto& feature : target.features) out += "," + feature;
  return out;
}

std::vector<std::string> target_names() {
  return {"host", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
}

Status hold_host(const std::string& level) {
  return hold_cpu(level);
}

Result<Target> find_target(const std::string& name) {
  if (name == "host") return host();
  if (auto features = features_of_level(name)) return named_level(name, std::move(*features));
  auto file = llvm::MemoryBuffer::getFile(name);
  if (!file)
    return fail("PW0510", "target '" + name + "' is unknown and no such file can be read",
                {"known: host, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, or the path of a description"});
  if ((*file)->getBufferSize() > (64 << 10)) return malformed(name, "longer than 64 KiB");
  try {
    return from_toml(name, toml::parse((*file)->getBuffer().str()));
  } catch (const toml::parse_error& problem) {
    return malformed(name, std::string(problem.description()));
  }
}

std::string describe(const Target& target) {
  std::ostringstream out;
  out << "architecture = \"" << target.architecture << "\"\nfeatures = [";
  for (size_t i = 0; i < target.features.size(); ++i) out << (i ? ", " : "") << '"' << target.features[i] << '"';
  out << "]\ncache_bytes = [";
  for (size_t i = 0; i < target.cache_bytes.size(); ++i) out << (i ? ", " : "") << target.cache_bytes[i];
  out << "]\nbytes_per_cycle = [";
  for (size_t i = 0; i < target.bytes_per_cycle.size(); ++i) out << (i ? ", " : "") << target.bytes_per_cycle[i];
  out << "]\n";
  put_figures(out, "scattered_line_cycles", target.scattered_line_cycles);
  put_figures(out, "tlb_pages", target.tlb_pages);
  put_figures(out, "tlb_miss_cycles", target.tlb_miss_cycles);
  out << "page_start_cycles = " << target.page_start_cycles << "\ncores = " << target.cores << "\n";
  return out.str();
}

}  // namespace polyweft
