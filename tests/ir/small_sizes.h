// Small parameter values for the programs of LANGUAGE.md section 8: odd where possible, different in each dimension.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace polyweft::test {

inline std::map<std::string, int64_t> small_sizes(const std::string& name) {
  static const std::map<std::string, std::map<std::string, int64_t>> sizes = {
      {"gemm", {{"M", 7}, {"N", 5}, {"K", 6}}},
      {"batched_bf16", {{"B", 2}, {"M", 3}, {"N", 5}, {"K", 7}}},
      {"conv", {{"N", 1}, {"H", 6}, {"W", 5}}},
      {"conv_padded", {{"H", 5}, {"W", 4}, {"C", 3}, {"F", 2}}},
      {"depthwise", {{"H", 5}, {"W", 6}, {"C", 3}}},
      {"conv_transposed", {{"H", 5}, {"C", 3}, {"F", 2}}},
      {"pool", {{"H", 7}, {"W", 6}, {"C", 2}}},
      {"softmax", {{"M", 3}, {"N", 7}}},
      {"layernorm", {{"M", 3}, {"N", 7}}},
      {"attention", {{"H", 4}, {"G", 2}, {"S", 5}, {"D", 3}}},
      {"flash_attention", {{"H", 2}, {"S", 5}, {"D", 3}}},
      {"logsumexp", {{"M", 3}, {"N", 7}}},
      {"lstm", {{"L", 2}, {"T", 3}, {"H", 4}}},
      {"prefix_sum", {{"N", 17}}},
      {"heat1d", {{"T", 4}, {"N", 9}}},
      {"seidel2d", {{"T", 3}, {"N", 6}}},
      {"fdtd1d", {{"T", 4}, {"N", 7}}},
      {"cholesky", {{"N", 6}}},
      {"lu", {{"N", 6}}},
      {"floyd_warshall", {{"N", 6}}},
      {"smith_waterman", {{"M", 6}, {"N", 7}, {"V", 4}}},
      {"nussinov", {{"N", 7}}},
      {"histogram", {{"N", 50}, {"B", 16}}},
      {"embedding_bag", {{"B", 3}, {"L", 4}, {"V", 9}, {"D", 5}}},
      {"qgemm", {{"M", 4}, {"N", 5}, {"K", 6}}},
      {"int4_gemv", {{"N", 5}}},
      {"argmax_rows", {{"M", 4}, {"N", 7}}},
      {"fft_stage", {{"B", 3}}},
      {"pyramid", {{"H", 8}, {"W", 6}}},
      {"harris", {{"H", 7}, {"W", 8}}},
      {"trmm", {{"M", 6}, {"N", 5}}},
      {"deriche_rows", {{"W", 4}, {"H", 7}}}};
  return sizes.at(name);
}

}  // namespace polyweft::test
