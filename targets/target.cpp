// Targets by name, as the backends have them, and descriptions in TOML.
#include "polyweft/target.h"

#include <llvm/Support/MemoryBuffer.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "support/cpu_features.h"
#include "targets/registry.h"

namespace polyweft {
namespace {

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
  target.architecture = table["architecture"].value_or(std::string());
  if (target.architecture.empty()) return malformed(path, "it has no 'architecture': " + targets::architectures());
  const targets::Backend* backend = targets::backend_of(target.architecture);
  if (!backend) return malformed(path, "architecture '" + target.architecture + "' is not one this version builds for; it builds for " + targets::architectures());
  const auto* features = table["features"].as_array();
  if (!features) return malformed(path, "it has no list 'features'");
  for (const auto& entry : *features) {
    const auto name = entry.value<std::string>();
    target.features.push_back(name.value_or("?"));
  }
  std::sort(target.features.begin(), target.features.end());
  if (const std::string problem = backend->derive(target); !problem.empty()) return malformed(path, problem);
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
  target.gather_lane_cycles = table["gather_lane_cycles"].value_or(target.gather_lane_cycles);
  target.scatter_lane_cycles = table["scatter_lane_cycles"].value_or(target.scatter_lane_cycles);
  for (const double cycles : {target.gather_lane_cycles, target.scatter_lane_cycles})
    if (!(cycles >= 0 && cycles <= 1000)) return malformed(path, "gather_lane_cycles and scatter_lane_cycles must lie between 0 and 1000");
  if (!are_fine || target.tlb_pages.size() != target.tlb_miss_cycles.size() || !(target.page_start_cycles >= 0 && target.page_start_cycles <= 1'000'000))
    return malformed(path, "scattered_line_cycles, tlb_pages, tlb_miss_cycles and page_start_cycles must lie between 0 and 1000000, at most 4 of each, as many misses as pages");
  target.cores = static_cast<int>(std::clamp<int64_t>(table["cores"].value_or(int64_t{1}), 1, 1024));
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
  std::vector<std::string> out = {"host"};
  for (const targets::Backend* backend : targets::backends())
    for (const auto& name : backend->target_names()) out.push_back(name);
  return out;
}

Status hold_host(const std::string& level) {
  return hold_cpu(level);
}

Result<Target> find_target(const std::string& name) {
  if (name == "host") return targets::host_of(targets::backends());
  for (const targets::Backend* backend : targets::backends()) {
    const auto names = backend->target_names();
    if (std::find(names.begin(), names.end(), name) != names.end()) return backend->named(name);
  }
  auto file = llvm::MemoryBuffer::getFile(name);
  if (!file) {
    std::string known;
    for (const auto& other : target_names()) known += other + ", ";
    return fail("PW0510", "target '" + name + "' is unknown and no such file can be read", {"known: " + known + "or the path of a description"});
  }
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
  out << "page_start_cycles = " << target.page_start_cycles << "\ngather_lane_cycles = " << target.gather_lane_cycles << "\nscatter_lane_cycles = " << target.scatter_lane_cycles << "\ncores = " << target.cores << "\n";
  return out.str();
}

}  // namespace polyweft
