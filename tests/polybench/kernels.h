// The kernels of PolyBench as plain loops of our own, in place and in the order of a textbook: the oracle of
// examples/polybench.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace polyweft::polybench {

/// A dense array of up to three dimensions that somebody else holds.
class Grid {
 public:
  Grid(std::vector<double>& values, int64_t columns, int64_t layers)
      : values_(values.data()), columns_(columns), layers_(layers) {}
  double& operator()(int64_t i) const { return values_[i]; }
  double& operator()(int64_t i, int64_t j) const { return values_[i * columns_ + j]; }
  double& operator()(int64_t i, int64_t j, int64_t k) const { return values_[(i * columns_ + j) * layers_ + k]; }

 private:
  double* values_;
  int64_t columns_, layers_;
};

/// Sizes and arrays of one call, by the names of the .weft file. Integers are held as doubles: they are small enough to
/// be exact.
struct Arrays {
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::vector<double>> values;

  int64_t operator[](const std::string& size) const { return sizes.at(size); }
  double scalar(const std::string& name) const { return values.at(name)[0]; }
  /// The array `name`, made of zeros where it is new.
  Grid grid(const std::string& name, int64_t rows, int64_t columns = 1, int64_t layers = 1) {
    auto& array = values[name];
    array.resize(static_cast<size_t>(rows * columns * layers));
    return {array, columns, layers};
  }
  /// The array `name`, a copy of `from`: kernels that work in place start so.
  Grid copy(const std::string& from, const std::string& name, int64_t rows, int64_t columns = 1, int64_t layers = 1) {
    values[name] = values.at(from);
    return grid(name, rows, columns, layers);
  }
};

struct Kernel {
  const char* name;                    ///< of the file in examples/polybench
  void (*run)(Arrays&);                ///< reads the inputs, adds the outputs
  void (*prepare)(Arrays&) = nullptr;  ///< makes random inputs fit: dominant diagonals, positive lengths
  void (*fit)(std::map<std::string, int64_t>&) =
      nullptr;                       ///< makes sizes fit: what the program assumes, what can be compared
  const char* folder = "polybench";  ///< of examples/
};

std::vector<Kernel> product_kernels();
std::vector<Kernel> solver_kernels();
std::vector<Kernel> stencil_kernels();

}  // namespace polyweft::polybench
