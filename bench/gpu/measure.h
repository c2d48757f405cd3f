// Times kernels by events and prints one line a figure: name, value, unit, spread.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace measure {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

template <class T>
class Buffer {
 public:
  explicit Buffer(size_t size) { check(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc"); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

struct Times {
  double median_us, least_us, spread;  // spread: quartiles' distance over the median
};

inline Times summary(std::vector<float> us) {
  std::sort(us.begin(), us.end());
  const size_t n = us.size();
  return {us[n / 2], us[0], (us[3 * n / 4] - us[n / 4]) / us[n / 2]};
}

/// `launch` enqueues one kernel; `before`, outside the timed part, brings caches into the wanted state.
template <class Launch, class Before>
Times time(int repetitions, const Launch& launch, const Before& before) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event"), check(cudaEventCreate(&end), "event");
  std::vector<float> us;
  for (int i = 0; i < repetitions + 2; ++i) {
    before();
    cudaEventRecord(begin);
    launch();
    cudaEventRecord(end);
    check(cudaEventSynchronize(end), "timed kernel");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (i >= 2) us.push_back(1000 * ms);
  }
  check(cudaGetLastError(), "launch");
  cudaEventDestroy(begin), cudaEventDestroy(end);
  return summary(us);
}

template <class Launch>
Times time(int repetitions, const Launch& launch) {
  return time(repetitions, launch, [] {});
}

/// The time of one of `count` launches in a graph: launch(stream, i) enqueues one.
template <class Launch>
Times time_in_graph(int count, const Launch& launch) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamCreate(&stream), "stream");
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < count; ++i) launch(stream, i);
  cudaStreamEndCapture(stream, &graph);
  check(cudaGraphInstantiate(&executable, graph, 0), "graph");
  Times t = time(11, [&] { cudaGraphLaunch(executable, nullptr); });
  t.median_us /= count, t.least_us /= count;
  cudaGraphExecDestroy(executable), cudaGraphDestroy(graph), cudaStreamDestroy(stream);
  return t;
}

inline void print(const std::string& name, double value, const char* unit, double spread = 0) {
  std::printf("%s\t%.6g\t%s\t%.3f\n", name.c_str(), value, unit, spread);
  std::fflush(stdout);
}

inline int multiprocessors() {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "attribute");
  return count;
}

}  // namespace measure
