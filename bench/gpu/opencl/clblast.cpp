// Times CLBlast's SGEMM on the first OpenCL device that takes SPIR-V or, where none does, on the first one.
//
//   clblast M N K [--tuned FILE.json ...] [--indirect 1] [--seconds S]      C[M, N] = A[M, K] * B[K, N], row-major f32
//
// FILE.json: what clblast_tuner_xgemm and clblast_tuner_xgemm_direct wrote; its best parameters are used in place of
// those that CLBlast has for the device. --indirect 1: the kernel for large products at all sizes, which CLBlast takes
// from a size on that its tuner of routines finds. Prints a line of JSON: median and least of some samples, each of as
// many calls in a row as take 20 ms, and the largest difference from a product on the host.
#include <clblast.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

cl_device_id first_device() {
  cl_uint platforms = 0;
  clGetPlatformIDs(0, nullptr, &platforms);
  std::vector<cl_platform_id> all(platforms);
  clGetPlatformIDs(platforms, all.data(), nullptr);
  cl_device_id first = nullptr;
  for (cl_platform_id platform : all) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> devices(count);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
    for (cl_device_id device : devices) {
      char text[256] = {};
      clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof text, text, nullptr);
      if (std::string(text).find("SPIR-V") != std::string::npos) return device;
      if (!first) first = device;
    }
  }
  return first;
}

/// The parameters of a tuner's best result.
bool use_tuned(cl_device_id device, const std::string& path) {
  std::ifstream in(path);
  std::stringstream whole;
  whole << in.rdbuf();
  const std::string text = whole.str();
  std::smatch found;
  if (!std::regex_search(text, found, std::regex("\"best_kernel\": \"([A-Za-z]+)\""))) return false;
  const std::string kernel = found[1];
  if (!std::regex_search(text, found, std::regex("\"best_parameters\": \"([^\"]*)\""))) return false;
  std::unordered_map<std::string, size_t> parameters;
  const std::string list = found[1];
  const std::regex entry("([A-Z0-9]+)=([0-9]+)");
  for (std::sregex_iterator at(list.begin(), list.end(), entry), end; at != end; ++at)
    if ((*at)[1] != "PRECISION") parameters[(*at)[1]] = std::stoul((*at)[2]);
  return clblast::OverrideParameters(device, kernel, clblast::Precision::kSingle, parameters) ==
         clblast::StatusCode::kSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "clblast M N K [--tuned FILE.json ...] [--indirect 1] [--seconds S]\n"), 2;
  const size_t m = std::stoul(argv[1]), n = std::stoul(argv[2]), k = std::stoul(argv[3]);
  const cl_device_id device = first_device();
  if (!device) return std::fprintf(stderr, "no OpenCL device\n"), 1;
  double seconds = 1;
  for (int a = 4; a + 1 < argc; a += 2) {
    if (std::string(argv[a]) == "--seconds") seconds = std::stod(argv[a + 1]);
    if (std::string(argv[a]) == "--indirect" && std::string(argv[a + 1]) == "1")
      clblast::OverrideParameters(device, "GemmRoutine", clblast::Precision::kSingle, {{"XGEMM_MIN_INDIRECT_SIZE", 1}});
    if (std::string(argv[a]) == "--tuned" && !use_tuned(device, argv[a + 1]))
      return std::fprintf(stderr, "%s: no parameters\n", argv[a + 1]), 1;
  }
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, nullptr, nullptr);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (float& x : a) x = uniform(random);
  for (float& x : b) x = uniform(random);
  const auto on_device = [&](std::vector<float>& of) {
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, of.size() * sizeof(float), of.data(),
                          nullptr);
  };
  cl_mem da = on_device(a), db = on_device(b), dc = on_device(c);
  const auto call = [&] {
    return clblast::Gemm(clblast::Layout::kRowMajor, clblast::Transpose::kNo, clblast::Transpose::kNo, m, n, k, 1.0f,
                         da, 0, k, db, 0, n, 0.0f, dc, 0, n, &queue, nullptr);
  };
  for (int warm = 0; warm < 3; ++warm)
    if (const auto status = call(); status != clblast::StatusCode::kSuccess)
      return std::fprintf(stderr, "CLBlast: status %d\n", static_cast<int>(status)), 1;
  clFinish(queue);
  const auto ns_of = [&](int calls) {
    const auto started = Clock::now();
    for (int each = 0; each < calls; ++each) call();
    clFinish(queue);
    return std::chrono::duration<double, std::nano>(Clock::now() - started).count() / calls;
  };
  const int calls = std::max(1, static_cast<int>(20e6 / ns_of(1)));
  std::vector<double> samples;
  const auto started = Clock::now();
  while (samples.size() < 5 || std::chrono::duration<double>(Clock::now() - started).count() < seconds)
    samples.push_back(ns_of(calls));
  std::sort(samples.begin(), samples.end());
  clEnqueueReadBuffer(queue, dc, CL_TRUE, 0, c.size() * sizeof(float), c.data(), 0, nullptr, nullptr);
  double apart = 0;
  for (size_t i = 0; i < m; i += std::max<size_t>(1, m / 16))
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t x = 0; x < k; ++x) sum += static_cast<double>(a[i * k + x]) * b[x * n + j];
      apart = std::max(apart, std::abs(sum - c[i * n + j]));
    }
  std::printf("{\"median_ns\": %.0f, \"min_ns\": %.0f, \"samples\": %zu, \"gflops\": %.1f, \"apart\": %.2g}\n",
              samples[samples.size() / 2], samples[0], samples.size(),
              2.0 * static_cast<double>(m * n * k) / samples[samples.size() / 2], apart);
}
