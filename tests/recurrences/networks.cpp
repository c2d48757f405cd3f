// Recurrent networks, a step after the other.
#include <cmath>

#include "recurrences/oracles.h"

namespace polyweft::recurrences {
namespace {

using polybench::Arrays;
using polybench::Grid;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

/// Row `row` of the matrix at `matrix`, times a vector.
double product(const std::vector<double>& matrix, int64_t row, const double* vector, int64_t n) {
  double sum = 0;
  for (int64_t q = 0; q < n; ++q) sum += matrix[static_cast<size_t>(row * n + q)] * vector[q];
  return sum;
}

void gru(Arrays& a) {
  const int64_t steps = a["T"], batch = a["B"], in = a["I"], hidden = a["H"];
  const auto &W = a.values.at("W"), &U = a.values.at("U"), &b = a.values.at("b");
  const Grid X = a.grid("X", steps, batch, in), Y = a.grid("Y", steps, batch, hidden);
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<double> state(static_cast<size_t>(hidden)), next(state);
    for (int64_t k = 0; k < hidden; ++k) state[k] = a.values.at("h0")[n * hidden + k];
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t k = 0; k < hidden; ++k) {
        double from_input[3], from_state[3];
        for (int64_t gate = 0; gate < 3; ++gate) {
          from_input[gate] = b[gate * hidden + k] + product(W, gate * hidden + k, &X(t, n, 0), in);
          from_state[gate] = product(U, gate * hidden + k, state.data(), hidden);
        }
        const double keep = sigmoid(from_input[0] + from_state[0]), reset = sigmoid(from_input[1] + from_state[1]);
        const double proposal = std::tanh(from_input[2] + reset * from_state[2]);
        next[k] = (1 - keep) * proposal + keep * state[k];
        Y(t, n, k) = next[k];
      }
      state = next;
    }
  }
}

/// Layer by layer: a layer sees what the one below said at each step.
void stacked_lstm(Arrays& a) {
  const int64_t layers = a["L"], steps = a["T"], hidden = a["H"];
  const auto &W = a.values.at("W"), &U = a.values.at("U"), &b = a.values.at("b");
  std::vector<double> said = a.values.at("X");
  const Grid last = a.grid("hT", layers, hidden), cells = a.grid("cT", layers, hidden);
  for (int64_t l = 0; l < layers; ++l) {
    std::vector<double> h(static_cast<size_t>(hidden)), c(h), next(h);
    for (int64_t k = 0; k < hidden; ++k)
      h[k] = a.values.at("h0")[l * hidden + k], c[k] = a.values.at("c0")[l * hidden + k];
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t k = 0; k < hidden; ++k) {
        double z[4];
        for (int64_t gate = 0; gate < 4; ++gate) {
          const int64_t row = (l * 4 + gate) * hidden + k;
          z[gate] = b[row] + product(W, row, &said[t * hidden], hidden) + product(U, row, h.data(), hidden);
        }
        c[k] = sigmoid(z[1]) * c[k] + sigmoid(z[0]) * std::tanh(z[2]);
        next[k] = sigmoid(z[3]) * std::tanh(c[k]);
      }
      h = next;
      std::copy(h.begin(), h.end(), said.begin() + t * hidden);
    }
    for (int64_t k = 0; k < hidden; ++k) last(l, k) = h[k], cells(l, k) = c[k];
  }
  a.values["Y"] = said;
}

}  // namespace

std::vector<polybench::Kernel> network_kernels() {
  return {{"gru", gru, nullptr, nullptr, "recurrences"},
          {"stacked_lstm", stacked_lstm, nullptr, nullptr, "recurrences"}};
}

}  // namespace polyweft::recurrences
