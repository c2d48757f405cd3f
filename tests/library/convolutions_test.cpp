// Every convolution's trace of schedules/library replays on its case, is proven, and gives the right elements.
//
// A case is told by the first line of its file. The oracle is the definition on a sample of elements, corners among them, in exact integers.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <vector>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

const std::filesystem::path kLibrary = std::filesystem::path(PW_SOURCE_DIR) / "schedules" / "library";

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

bool read_header(const std::string& line, Convolution& c) {
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

std::vector<Convolution> cases() {
  std::vector<Convolution> out;
  for (const auto& entry : std::filesystem::directory_iterator(kLibrary)) {
    if (entry.path().extension() != ".trace") continue;
    std::ifstream in(entry.path());
    Convolution c;
    c.trace = std::string(std::istreambuf_iterator<char>(in), {});
    if (c.trace.rfind("# conv ", 0) != 0) continue;  // other tests' cases
    c.name = entry.path().stem();
    if (!read_header(c.trace.substr(0, c.trace.find('\n')), c)) {
      ADD_FAILURE() << c.name << " does not say its case in its first line";
      continue;
    }
    out.push_back(std::move(c));
  }
  return out;
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : separator) + part;
  return out;
}

/// As people write it: the text of the peers' harness.
std::string program_of(const Convolution& c) {
  const std::string axes = std::string("zyx").substr(3 - c.rank()), taps = std::string("ptr").substr(3 - c.rank());
  std::vector<std::string> sizes, data, reduced, kernel, guard, reads, weights;
  for (size_t d = 0; d < c.rank(); ++d) {
    const std::string a(1, axes[d]), t(1, taps[d]), pad = std::to_string(c.pad), stride = std::to_string(c.stride), size = std::to_string(c.size[d]);
    const std::string hit = c.transposed ? "(" + a + " + " + pad + " - " + t + ")" : stride + "*" + a + " + " + std::to_string(c.dilation) + "*" + t + " - " + pad;
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
  const std::string channel = c.groups == 1 ? "c" : "f // " + std::to_string(out_group) + " * " + std::to_string(in_group) + " + c";
  return "program kernel(N = " + std::to_string(c.n) + ")\nin X: f32[N, " + joined(sizes, ", ") + ", " + std::to_string(c.ci) + "]\nconst in W: f32[" +
         joined(kernel, ", ") + ", " + std::to_string(in_group) + ", " + std::to_string(c.co) + "]\nout Y[n: N, " + joined(data, ", ") + ", f: " + std::to_string(c.co) +
         "] =\n  sum[" + joined(reduced, ", ") + ", c: " + std::to_string(in_group) + (guard.empty() ? "" : " where " + joined(guard, " and ")) + "] X[n, " +
         joined(reads, ", ") + ", " + channel + "] * W[" + joined(weights, ", ") + ", c, f]\n";
}

float* floats(TensorData& data) {
  return reinterpret_cast<float*>(data.bytes.data());
}

TensorData integers(std::vector<int64_t> extents, std::mt19937& random) {
  TensorData out = make_tensor(ElementType::f32, std::move(extents));
  for (int64_t i = 0; i < out.elements(); ++i) floats(out)[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return out;
}

int64_t offset(const std::vector<int64_t>& extents, const std::vector<int64_t>& index) {
  int64_t out = 0;
  for (size_t d = 0; d < extents.size(); ++d) out = out * extents[d] + index[d];
  return out;
}

double element(const Convolution& c, TensorData& x, TensorData& w, const std::vector<int64_t>& at) {
  const int64_t f = at.back(), in_group = c.ci / c.groups, first = f / (c.co / c.groups) * in_group;
  double sum = 0;
  std::vector<int64_t> tap(c.rank(), 0);
  for (bool more = true; more;) {
    std::vector<int64_t> from = {at[0]}, weight = tap;
    for (size_t d = 0; d < c.rank() && from.size() == d + 1; ++d)
      if (auto row = c.hit(d, at[d + 1], tap[d])) from.push_back(*row);
    from.push_back(first);
    weight.insert(weight.end(), {0, f});
    if (from.size() == c.rank() + 2) {
      const float* pixel = floats(x) + offset(x.extents, from);
      const float* column = floats(w) + offset(w.extents, weight);
      for (int64_t k = 0; k < in_group; ++k) sum += static_cast<double>(pixel[k]) * static_cast<double>(column[k * c.co]);
    }
    size_t d = c.rank();
    while (d > 0 && ++tap[d - 1] == c.kernel[d - 1]) tap[--d] = 0;
    more = d > 0;
  }
  return sum;
}

/// Elements that differ from the definition, of a sample with all corners.
int wrong_elements(const Convolution& c, TensorData& x, TensorData& w, TensorData& y, std::mt19937& random) {
  int wrong = 0;
  for (int sample = 0; sample < 600; ++sample) {
    std::vector<int64_t> at;
    for (size_t d = 0; d < y.extents.size(); ++d) {
      const int64_t last = y.extents[d] - 1, any = static_cast<int64_t>(random() % static_cast<uint64_t>(y.extents[d]));
      at.push_back(sample >= 300 ? any : (sample >> d) % 2 ? last : sample % 7 == 0 ? any : 0);
    }
    wrong += static_cast<double>(floats(y)[offset(y.extents, at)]) != element(c, x, w, at);
  }
  return wrong;
}

TEST(ConvolutionLibrary, every_trace_is_proven_and_right) {
  Tuner tuner(*find_target("host"), {});
  std::mt19937 random(1);
  const auto all = cases();
  EXPECT_GE(all.size(), 30u);
  for (const Convolution& c : all) {
    SCOPED_TRACE(c.name);
    const auto program = parse_program(program_of(c));
    ASSERT_TRUE(program) << program_of(c);
    TaskOptions options;
    options.trace = c.trace;
    auto kernel = tuner.compile(*program, options);  // proves the trace first
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      continue;
    }
    EXPECT_EQ(kernel->origin(), "trace");
    std::vector<int64_t> image = {c.n}, taps = c.kernel;
    image.insert(image.end(), c.size.begin(), c.size.end());
    image.push_back(c.ci);
    taps.insert(taps.end(), {c.ci / c.groups, c.co});
    TensorData x = integers(image, random), w = integers(taps, random);
    auto outputs = kernel->run({x, w});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_EQ(wrong_elements(c, x, w, outputs->at(0), random), 0);
    floats(outputs->at(0))[0] += 1;  // the oracle sees one wrong corner
    EXPECT_GT(wrong_elements(c, x, w, outputs->at(0), random), 0);
  }
}

}  // namespace
}  // namespace polyweft
