// One comparison: a program, its data, and the calls of libraries that compute the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::peers {

/// Inputs of the program in its order; the memory outlives every call.
struct Data {
  std::vector<TensorData> inputs;
  int64_t output_elements = 0;
  ElementType type = ElementType::f32;
  template <class T>
  const T* in(size_t k) const {
    return reinterpret_cast<const T*>(inputs[k].bytes.data());
  }
};

/// A library's way to compute it into `output`. Whatever may be done once (reordered weights, generated code) is done
/// before.
struct Peer {
  std::string name;
  std::function<void(void* output)> call;
};
using Peers = std::vector<Peer>;

struct Case {
  std::string family, name, text;  ///< the program is called `kernel`
  bool exact = true;  ///< sums of small whole numbers: equal bit for bit; else random data within a tolerance
  std::function<void(const Data&, Peers&)> add_peers;
};

struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  bool is_f64 = false;
};
/// Forward convolution of an image in channels-last order; groups == channels: depthwise.
struct Convolution {
  int64_t height = 0, width = 0, in = 0, out = 0, taps = 1, stride = 1, padding = 0;
  bool depthwise = false;
  int64_t out_height() const { return (height + 2 * padding - taps) / stride + 1; }
  int64_t out_width() const { return (width + 2 * padding - taps) / stride + 1; }
};
enum class Rows : uint8_t { softmax, layernorm };
enum class Stream : uint8_t { add, exp, gelu };

/// OpenBLAS and BLIS, opened at run time so that both may define the same symbols; nothing where they are not
/// installed.
void add_blas(const Gemm& gemm, const Data& data, Peers& out);
void add_blas_transpose(int64_t rows, int64_t columns, const Data& data, Peers& out);
void add_libxsmm(const Gemm& gemm, const Data& data, Peers& out);
void add_onednn_gemm(const Gemm& gemm, bool weights_packed, const Data& data, Peers& out);
void add_onednn_convolution(const Convolution& c, const Data& data, Peers& out);
void add_onednn_rows(Rows kind, int64_t rows, int64_t columns, const Data& data, Peers& out);
void add_onednn_stream(Stream kind, int64_t elements, const Data& data, Peers& out);
/// axis 1: of rows, 0: of columns.
void add_onednn_sum(int64_t rows, int64_t columns, int axis, const Data& data, Peers& out);
void add_onednn_transpose(int64_t rows, int64_t columns, const Data& data, Peers& out);

std::vector<Case> all_cases();

}  // namespace polyweft::peers
