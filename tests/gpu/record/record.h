// What every recorder shares: the file format of tests/gpu/recorded/README.md, a seeded generator, and kernels' errors.
#pragma once

#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace record {

/// The generator of the README: a bijection of 32 bits, applied to seed * 0x9E3779B1 + index.
__host__ __device__ inline uint32_t mix(uint32_t seed, uint32_t index) {
  uint32_t h = seed * 0x9E3779B1u + index;
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  return h ^ (h >> 16);
}

class Random {
 public:
  explicit Random(uint32_t seed) : seed_(seed) {}
  uint32_t bits() { return mix(seed_, next_++); }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>((uint64_t{bits()} * limit) >> 32); }
  int between(int first, int last) { return first + static_cast<int>(below(static_cast<uint32_t>(last - first + 1))); }

 private:
  uint32_t seed_, next_ = 0;
};

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

inline void finish(const char* what) {
  check(cudaGetLastError(), what);
  check(cudaDeviceSynchronize(), what);
}

/// Device memory that lives as long as the object.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t size) : size_(size) {
    check(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc");
    check(cudaMemset(data_, 0xEE, size * sizeof(T)), "cudaMemset");
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> out(size_);
    check(cudaMemcpy(out.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
    return out;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

/// One array of a record.
struct Field {
  template <class T>
  Field(const std::string& name, const std::vector<int>& shape, const std::vector<T>& values)
      : text(" @" + name + ":u" + std::to_string(8 * sizeof(T)) + ":") {
    for (size_t i = 0; i < shape.size(); ++i) text += (i ? "x" : "") + std::to_string(shape[i]);
    size_t count = 1;
    for (int extent : shape) count *= static_cast<size_t>(extent);
    if (count != values.size()) {
      std::fprintf(stderr, "%s: %zu values\n", text.c_str(), values.size());
      std::exit(1);
    }
    bytes.assign(reinterpret_cast<const char*>(values.data()), count * sizeof(T));
  }
  std::string text, bytes;
};

class File {
 public:
  explicit File(const std::string& path) : out_(path, std::ios::binary) { out_ << "polyweft gpu record 1\n"; }
  File(const std::string& path, std::ios::openmode mode) : out_(path, std::ios::binary | mode) {}
  /// `name` is the instruction as PTX spells it, followed by key=value words.
  void add(const std::string& name, const std::vector<Field>& fields) {
    out_ << "record " << name;
    for (const Field& field : fields) out_ << field.text;
    out_ << "\n";
    for (const Field& field : fields) out_ << field.bytes;
    out_.flush();
  }

 private:
  std::ofstream out_;
};

/// Each lane's `inputs` words go in, its `outputs` words come out; one warp a case.
template <class Op, int inputs, int outputs>
__global__ void per_lane(const uint32_t* in, uint32_t* out) {
  const uint32_t thread = blockIdx.x * 32 + threadIdx.x;
  uint32_t a[inputs], d[outputs];
  for (int i = 0; i < inputs; ++i) a[i] = in[thread * inputs + i];
  for (int i = 0; i < outputs; ++i) d[i] = 0;
  Op::run(a, d);
  for (int i = 0; i < outputs; ++i) out[thread * outputs + i] = d[i];
}

template <class Op, int inputs, int outputs>
std::vector<uint32_t> run_per_lane(const std::vector<uint32_t>& in) {
  const int cases = static_cast<int>(in.size() / (32 * inputs));
  Buffer<uint32_t> source(in), result(static_cast<size_t>(cases) * 32 * outputs);
  per_lane<Op, inputs, outputs><<<cases, 32>>>(source.data(), result.data());
  finish("per_lane");
  return result.values();
}

/// Cases by number, so that one that faults (and ends its process) is noted and the others are still recorded.
class Cases {
 public:
  struct State {
    int current;
    char name[1000];
  };
  Cases(int first, State* state) : first_(first), state_(state) {}
  bool due(const std::string& name) {
    if (next_++ < first_) return false;
    state_->current = next_ - 1;
    std::snprintf(state_->name, sizeof(state_->name), "%s", name.c_str());
    return true;
  }

 private:
  int first_, next_ = 0;
  State* state_;
};

/// Calls body(file, cases) in child processes, each behind the case at which the last one failed.
template <class Body>
void record_each(const std::string& path, const Body& body) {
  File{path};
  auto* state = static_cast<Cases::State*>(
      mmap(nullptr, sizeof(Cases::State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int first = 0;; first = state->current + 1) {
    const pid_t child = fork();
    if (child == 0) {
      File file(path, std::ios::app);
      Cases cases(first, state);
      body(file, cases);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status == 0) return;
    File(path, std::ios::app).add(std::string(state->name) + " faulted=1", {});
  }
}

}  // namespace record
