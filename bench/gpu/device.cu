// What the device is, what a launch costs, how fine events are, and the clock under load.
#include <chrono>

#include "measure.h"

namespace {

using measure::print;

__global__ void nothing() {}

__global__ void spin(long long cycles, unsigned long long* out) {
  const long long first = clock64();
  unsigned long long begin, end;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  while (clock64() - first < cycles) {
  }
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
  if (threadIdx.x == 0 && blockIdx.x == 0)
    out[0] = end - begin, out[1] = static_cast<unsigned long long>(clock64() - first);
}

void attributes() {
  cudaDeviceProp p;
  measure::check(cudaGetDeviceProperties(&p, 0), "properties");
  int clock = 0, memory_clock = 0, reserved = 0;
  cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0),
      cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0);
  cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, 0);
  std::printf("# %s, compute capability %d.%d\n", p.name, p.major, p.minor);
  print("multiprocessors", p.multiProcessorCount, "");
  print("registers a multiprocessor", p.regsPerMultiprocessor, "");
  print("registers a block", p.regsPerBlock, "");
  print("shared memory a multiprocessor", double(p.sharedMemPerMultiprocessor), "bytes");
  print("shared memory a block, opted in", double(p.sharedMemPerBlockOptin), "bytes");
  print("shared memory reserved a block", reserved, "bytes");
  print("L2", p.l2CacheSize, "bytes");
  print("L2 persisting limit", p.persistingL2CacheMaxSize, "bytes");
  print("memory", double(p.totalGlobalMem), "bytes");
  print("memory bus", p.memoryBusWidth, "bits");
  print("memory clock", memory_clock / 1000.0, "MHz");
  print("clock", clock / 1000.0, "MHz");
  print("threads a multiprocessor", p.maxThreadsPerMultiProcessor, "");
  print("blocks a multiprocessor", p.maxBlocksPerMultiProcessor, "");
  print("constant memory", double(p.totalConstMem), "bytes");
}

double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

void launches() {
  const auto single = measure::time(200, [] { nothing<<<1, 32>>>(); });
  print("event, empty kernel, event", single.median_us, "us", single.spread);
  const auto empty = measure::time(200, [] {});
  print("event, event", empty.median_us, "us", empty.spread);
  const auto many = measure::time(20, [] {
    for (int i = 0; i < 1000; ++i) nothing<<<1, 32>>>();
  });
  print("stream: a launch of 1000", many.median_us / 1000, "us", many.spread);
  cudaDeviceSynchronize();
  std::vector<float> round_trips;
  for (int i = 0; i < 300; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    nothing<<<1, 32>>>();
    cudaDeviceSynchronize();
    round_trips.push_back(float(microseconds_since(begin)));
  }
  const auto round_trip = measure::summary(round_trips);
  print("launch and synchronize, host clock", round_trip.median_us, "us", round_trip.spread);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; ++i) nothing<<<1, 32>>>();
  print("host time of an asynchronous launch", microseconds_since(begin) / 500, "us");
  cudaDeviceSynchronize();
}

void graphs() {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < 1000; ++i) nothing<<<1, 32, 0, stream>>>();
  cudaStreamEndCapture(stream, &graph);
  measure::check(cudaGraphInstantiate(&executable, graph, 0), "graph");
  const auto replay = measure::time(20, [&] { cudaGraphLaunch(executable, nullptr); });
  print("graph: a node of 1000", replay.median_us / 1000, "us", replay.spread);
}

/// Differences of events around kernels of growing length tell the step of the event clock.
void event_step() {
  measure::Buffer<unsigned long long> out(2);
  std::vector<double> times;
  cudaEvent_t a, b;
  cudaEventCreate(&a), cudaEventCreate(&b);
  for (int i = 0; i < 400; ++i) {
    cudaEventRecord(a);
    spin<<<1, 1>>>(2000 + 13 * i, out.data());
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    times.push_back(1e6 * ms);
  }
  std::sort(times.begin(), times.end());
  double least = 1e9;
  for (size_t i = 1; i < times.size(); ++i)
    if (times[i] - times[i - 1] > 0.5) least = std::min(least, times[i] - times[i - 1]);
  print("event clock: least difference seen", least, "ns");
}

void clocks() {
  measure::Buffer<unsigned long long> out(2);
  for (int i = 0; i < 3; ++i) spin<<<measure::multiprocessors() * 8, 256>>>(200000000, out.data());
  unsigned long long values[2];
  cudaMemcpy(values, out.data(), 16, cudaMemcpyDeviceToHost);
  print("clock while spinning", 1000.0 * double(values[1]) / double(values[0]), "MHz");
}

}  // namespace

int main() {
  attributes();
  clocks();
  launches();
  graphs();
  event_step();
  return 0;
}
