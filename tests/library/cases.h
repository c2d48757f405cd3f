// The cases of schedules/library. A trace's program stands in its file, in lines that begin with `#| `. What oracles
// need to know of it follows from the first line (a convolution) or the name (a product of f32, gemm_FAMILY_f32_MxNxK).
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/seeds/trace_file.h"

namespace polyweft::library_test {

inline std::filesystem::path library_folder() {
  return std::filesystem::path(PW_SOURCE_DIR) / "schedules" / "library";
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Of a folder, by name.
inline std::vector<std::filesystem::path> library_files(const std::filesystem::path& folder = library_folder()) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".trace") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// The program that the file holds; empty where it holds none.
inline std::string program_in(const std::string& trace) {
  return schedules::program_in(trace);
}

struct Product {
  int64_t m = 0, n = 0, k = 0;
};

/// Of a file's name without its extension: "gemm_skinny_f32_4x4096x4096".
inline std::optional<Product> product_named(const std::string& name) {
  Product out;
  const std::string sizes = name.substr(name.rfind('_') + 1);
  const bool is_f32 = name.rfind("gemm_", 0) == 0 && name.find("_f32_") != std::string::npos;
  if (!is_f32 || std::sscanf(sizes.c_str(), "%ldx%ldx%ld", &out.m, &out.n, &out.k) != 3) return std::nullopt;
  return out;
}

/// "# conv n 1 size 14 14 ci 256 co 256 kernel 3 3 stride 1 pad 1 groups 1 dilation 1 transposed 0"
struct Convolution {
  std::string name, trace;
  int64_t n = 1, ci = 1, co = 1, stride = 1, pad = 0, groups = 1, dilation = 1, transposed = 0;
  std::vector<int64_t> size, kernel;

  size_t rank() const { return size.size(); }
  int64_t out(size_t d) const {
    const int64_t reach = dilation * (kernel[d] - 1) + 1;
    return transposed ? (size[d] - 1) * stride + reach - 2 * pad : (size[d] + 2 * pad - reach) / stride + 1;
  }
  /// The input row that tap t of output row y reads; nothing in the padding and between the rows of a transposed one.
  std::optional<int64_t> hit(size_t d, int64_t y, int64_t t) const {
    int64_t at = transposed ? y + pad - dilation * t : stride * y + dilation * t - pad;
    if (transposed && (at % stride + stride) % stride != 0) return std::nullopt;
    if (transposed) at = at >= 0 ? at / stride : -1;
    if (at < 0 || at >= size[d]) return std::nullopt;
    return at;
  }
};

inline bool read_header(const std::string& line, Convolution& c) {
  std::istringstream in(line);
  std::string hash, kind, word;
  in >> hash >> kind;
  if (hash != "#" || kind != "conv") return false;
  int64_t value = 0;
  std::vector<int64_t>* last = nullptr;
  while (in >> word) {
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      if (last) last->push_back(std::stoll(word));
      continue;
    }
    last = word == "size" ? &c.size : word == "kernel" ? &c.kernel : nullptr;
    if (last) continue;
    if (!(in >> value)) return false;
    for (auto [name, field] : {std::pair{"n", &c.n},
                               {"ci", &c.ci},
                               {"co", &c.co},
                               {"stride", &c.stride},
                               {"pad", &c.pad},
                               {"groups", &c.groups},
                               {"dilation", &c.dilation},
                               {"transposed", &c.transposed}})
      if (word == name) *field = value;
  }
  return !c.size.empty() && c.size.size() == c.kernel.size();
}

inline bool is_convolution(const std::string& trace) {
  return trace.rfind("# conv ", 0) == 0;
}

}  // namespace polyweft::library_test
