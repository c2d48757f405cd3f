// The cases of schedules/library: a trace's program stands in its file (lines that begin with `#| `), or follows from
// its first line (a convolution) or its name (a product, gemm_FAMILY_TYPE_MxNxK).
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

namespace polyweft::library_test {

inline std::filesystem::path library_folder() {
  return std::filesystem::path(PW_SOURCE_DIR) / "schedules" / "library";
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::filesystem::path> library_files() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(library_folder()))
    if (entry.path().extension() == ".trace") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// The program that the file holds; empty where it holds none.
inline std::string program_in(const std::string& trace) {
  std::istringstream lines(trace);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("#| ", 0) == 0) out += line.substr(3) + "\n";
  return out;
}

struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool has_weights = false;
};

/// Of a file's name without its extension: "gemm_skinny_f32_4x4096x4096".
inline std::optional<Product> product_named(const std::string& name) {
  Product out;
  const std::string sizes = name.substr(name.rfind('_') + 1);
  if (name.rfind("gemm_", 0) != 0 || std::sscanf(sizes.c_str(), "%ldx%ldx%ld", &out.m, &out.n, &out.k) != 3)
    return std::nullopt;
  out.has_weights = name.find("skinny") != std::string::npos;
  return out;
}

inline std::string program_of(const Product& p) {
  return "program kernel(M = " + std::to_string(p.m) + ", N = " + std::to_string(p.n) + ", K = " + std::to_string(p.k) +
         ")\nin A: f32[M, K]\n" + (p.has_weights ? "const in" : "in") +
         " W: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * W[k, j]\n";
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

inline std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : separator) + part;
  return out;
}

/// As people write it: the text of the peers' harness.
inline std::string program_of(const Convolution& c) {
  const std::string axes = std::string("zyx").substr(3 - c.rank()), taps = std::string("ptr").substr(3 - c.rank());
  std::vector<std::string> sizes, data, reduced, kernel, guard, reads, weights;
  for (size_t d = 0; d < c.rank(); ++d) {
    const std::string a(1, axes[d]), t(1, taps[d]), pad = std::to_string(c.pad), stride = std::to_string(c.stride),
                                                    size = std::to_string(c.size[d]);
    const std::string hit = c.transposed
                                ? "(" + a + " + " + pad + " - " + t + ")"
                                : stride + "*" + a + " + " + std::to_string(c.dilation) + "*" + t + " - " + pad;
    sizes.push_back(size);
    kernel.push_back(std::to_string(c.kernel[d]));
    data.push_back(a + ": " + std::to_string(c.out(d)));
    reduced.push_back(t + ": " + kernel.back());
    weights.push_back(t);
    if (c.transposed) guard.push_back(hit + " % " + stride + " == 0 and 0 <= " + hit + " // " + stride + " < " + size);
    if (!c.transposed && c.pad > 0) guard.push_back("0 <= " + hit + " < " + size);
    reads.push_back(c.transposed ? hit + " // " + stride : hit);
  }
  const int64_t in_group = c.ci / c.groups, out_group = c.co / c.groups;
  const std::string channel =
      c.groups == 1 ? "c" : "f // " + std::to_string(out_group) + " * " + std::to_string(in_group) + " + c";
  return "program kernel(N = " + std::to_string(c.n) + ")\nin X: f32[N, " + joined(sizes, ", ") + ", " +
         std::to_string(c.ci) + "]\nconst in W: f32[" + joined(kernel, ", ") + ", " + std::to_string(in_group) + ", " +
         std::to_string(c.co) + "]\nout Y[n: N, " + joined(data, ", ") + ", f: " + std::to_string(c.co) +
         "] =\n  sum[" + joined(reduced, ", ") + ", c: " + std::to_string(in_group) +
         (guard.empty() ? "" : " where " + joined(guard, " and ")) + "] X[n, " + joined(reads, ", ") + ", " + channel +
         "] * W[" + joined(weights, ", ") + ", c, f]\n";
}

/// The text of the program that a trace is for; empty where the file says nothing of it.
inline std::string program_for(const std::filesystem::path& file, const std::string& trace) {
  if (std::string held = program_in(trace); !held.empty()) return held;
  if (Convolution c; read_header(trace.substr(0, trace.find('\n')), c)) return program_of(c);
  const auto product = product_named(file.stem());
  return product ? program_of(*product) : "";
}

}  // namespace polyweft::library_test
