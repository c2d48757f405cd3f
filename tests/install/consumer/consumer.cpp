// A program of somebody else's: parses, tunes for two trials, runs, and compares with its own loops.
#include <polyweft/polyweft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int64_t kM = 24, kN = 40, kK = 17;
constexpr const char* kProgram =
    "program gemm(M = 24, N = 40, K = 17)\n"
    "in  A: f32[M, K]\n"
    "in  B: f32[K, N]\n"
    "out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n";

int give_up(const polyweft::Error& error) {
  std::fprintf(stderr, "consumer: %s\n", polyweft::render(error, kProgram).c_str());
  return 1;
}

polyweft::TensorData integers(int64_t rows, int64_t columns, int64_t factor) {
  polyweft::TensorData data{
      polyweft::ElementType::f32, {rows, columns}, std::vector<unsigned char>(rows * columns * sizeof(float))};
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float value = static_cast<float>(i * factor % 11 - 5);
    std::memcpy(&data.bytes[i * sizeof(float)], &value, sizeof(float));
  }
  return data;
}

float at(const polyweft::TensorData& data, int64_t row, int64_t column) {
  float value;
  std::memcpy(&value, &data.bytes[(row * data.extents[1] + column) * sizeof(float)], sizeof(float));
  return value;
}

bool is_product(const polyweft::TensorData& c, const polyweft::TensorData& a, const polyweft::TensorData& b) {
  for (int64_t i = 0; i < kM; ++i)
    for (int64_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kK; ++k) sum += at(a, i, k) * at(b, k, j);
      if (sum != at(c, i, j)) return false;
    }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const char* level = std::getenv("POLYWEFT_HOST");
  if (const auto held = level ? polyweft::hold_host(level) : polyweft::Status(polyweft::Ok{}); !held)
    return give_up(held.error());
  auto program = polyweft::parse_program(kProgram);
  if (!program) return give_up(program.error());
  auto host = polyweft::find_target("host");
  if (!host) return give_up(host.error());
  polyweft::Tuner tuner(*host, {.database = argv[1]});
  polyweft::TuneOptions options;
  options.trials = 2;
  options.budget = std::chrono::seconds(30);
  auto report = tuner.tune(*program, options);
  if (!report) return give_up(report.error());
  auto kernel = tuner.compile(report->record);
  if (!kernel) return give_up(kernel.error());
  const auto a = integers(kM, kK, 3), b = integers(kK, kN, 7);
  auto outputs = kernel->run({a, b});
  if (!outputs) return give_up(outputs.error());
  const bool right = outputs->size() == 1 && is_product(outputs->front(), a, b);
  std::printf("consumer: %s, %s\n", right ? "right" : "wrong", polyweft::toolchain().c_str());
  return right ? 0 : 1;
}
