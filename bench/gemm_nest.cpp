// Code generation alone: a packed GEMM written by hand as a nest, f32, one thread. Prints codegen time, link time,
// spills and GFLOP/s (best and median of 41 calls). Usage: bench_gemm_nest [M N K [MR NR KC MC]]. Shares of the peak:
// divide by `polyweft targets`' figure.
#include <HalideRuntime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/cpu/build.h"
#include "tests/cpu.h"

using namespace polyweft;
using Clock = std::chrono::steady_clock;

namespace {

struct Sizes {
  long m = 512, n = 512, k = 512, mr = 14, nr = 32, kc = 512, mc = 168;
};

std::string text(const char* format, auto... values) {
  char out[400];
  std::snprintf(out, sizeof out, format, values...);
  return out;
}

// The tile of `rows` rows at row 0 + ic + mr * ir; variables carry the suffix s.
std::string tile(const Sizes& z, long rows, const char* s) {
  const long vectors = z.nr / 16;
  std::string unrolled = text("for i%%d%s in 0 .. %ld unroll { for u%%d%s in 0 .. %ld unroll { ", s, rows, s, vectors);
  const auto head = [&](int n) { return text(unrolled.c_str(), n, n); };
  const std::string masked = text("min(16, -%ld*jr - 16*u%%d%s + %ld)", z.nr, s, z.n);
  const auto lanes = [&](int n, bool edge) {
    return text("for v%d%s in 0 .. %s vector 16 { ", n, s, edge ? text(masked.c_str(), n).c_str() : "16");
  };
  const auto c_at = [&](int n) {
    return text("C[ic + %ld*ir + i%d%s, %ld*jr + 16*u%d%s + v%d%s]", z.mr, n, s, z.nr, n, s, n, s);
  };
  const auto acc_at = [&](int n) { return text("acc%s[i%d%s, u%d%s, v%d%s]", s, n, s, n, s, n, s); };
  std::string out = text("alloc acc%s { if kc - 1 >= 0 { ", s);
  out += head(0) + lanes(0, true) + "copy " + acc_at(0) + " <- " + c_at(0) + " } } }\n } else { ";
  out += head(1) + lanes(1, false) + text("compute 0(i1%s) init sum: ", s) + acc_at(1) + " } } } }\n";
  out += text("for k%s in 0 .. min(%ld, -kc + %ld) { ", s, z.kc, z.k) + head(2) + lanes(2, false) +
         text("compute 0(i2%s) accumulate sum fused: ", s) + acc_at(2) +
         text(" <- (Ap[ir, k%s, i2%s] * Bp[jr, k%s, 16*u2%s + v2%s]) } } } }\n", s, s, s, s, s);
  return out + head(3) + lanes(3, true) + "copy " + c_at(3) + " <- " + acc_at(3) + " } } } }\n";
}

std::string nest_text(const Sizes& z) {
  const long vectors = z.nr / 16, panels_b = (z.n + z.nr - 1) / z.nr, panels_a = (z.mc + z.mr - 1) / z.mr,
             rest = z.m % z.mr;
  std::string out = "nest 1 gemm class reassoc\nloops kc, ic, jp, kp, up, vp, ip, ka, ra, ir, jr";
  for (const char* s : {"a", "b"})
    for (int n = 0; n < 4; ++n) out += text(", i%d%s, u%d%s, v%d%s", n, s, n, s, n, s);
  out += ", ka1, kb1\n";
  out.replace(out.find("ka1, kb1"), 8, "k_a, k_b");
  out += text(
      "buffer A: f32[%ld, %ld] argument align 4\nbuffer B: f32[%ld, %ld] argument align 4\nbuffer C: f32[%ld, %ld] "
      "argument align 4 output\n",
      z.m, z.k, z.k, z.n, z.m, z.n);
  out += text("buffer Bp: f32[%ld, %ld, %ld] heap align 64\nbuffer Ap: f32[%ld, %ld, %ld] heap align 64\n", panels_b,
              z.kc, z.nr, panels_a, z.kc, z.mr);
  out += text(
      "buffer acca: f32[%ld, %ld, 16] reg align 64\nbuffer accb: f32[%ld, %ld, 16] reg align 64\narguments A, B, "
      "C\nbody {\n",
      z.mr, vectors, std::max(1L, rest), vectors);
  out += text(
      "for kc in 0 .. %ld step %ld { alloc Bp { for jp in 0 .. %ld { for kp in 0 .. min(%ld, -kc + %ld) { for up in 0 "
      ".. %ld unroll { for vp in 0 .. 16 vector 16 {\n",
      z.k, z.kc, panels_b, z.kc, z.k, vectors);
  out += text(
      "copy Bp[jp, kp, 16*up + vp] <- B[kc + kp, %ld*jp + 16*up + vp] valid -%ld*jp - 16*up - vp + %ld >= 0 else 0:f32 "
      "} } } }\n",
      z.nr, z.nr, z.n - 1);
  out += text(
      "for ic in 0 .. %ld step %ld { alloc Ap { for ip in 0 .. min(%ld, floor(-ic + %ld / %ld)) { for ka in 0 .. "
      "min(%ld, -kc + %ld) { for ra in 0 .. %ld vector %ld {\n",
      z.m, z.mc, panels_a, z.m + z.mr - 1, z.mr, z.kc, z.k, z.mr, z.mr);
  out +=
      text("copy Ap[ip, ka, ra] <- A[ic + %ld*ip + ra, kc + ka] valid -ic - %ld*ip - ra + %ld >= 0 else 0:f32 } } }\n",
           z.mr, z.mr, z.m - 1);
  out += text("for jr in 0 .. %ld { for ir in 0 .. min(%ld, floor(-ic + %ld / %ld)) { if -ic - %ld*ir + %ld >= 0 {\n",
              panels_b, panels_a, z.m + z.mr - 1, z.mr, z.mr, z.m - z.mr);
  std::string full = tile(z, z.mr, "a"), partial = tile(z, std::max(1L, rest), "b");
  const auto rename = [](std::string& t, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = t.find(from, at)) != std::string::npos; at += to.size()) t.replace(at, from.size(), to);
  };
  for (auto* t : {&full, &partial}) {
    rename(*t, "for ka in", "for k_a in");
    rename(*t, "for kb in", "for k_b in");
    rename(*t, "ir, ka,", "ir, k_a,");
    rename(*t, "ir, kb,", "ir, k_b,");
    rename(*t, "jr, ka,", "jr, k_a,");
    rename(*t, "jr, kb,", "jr, k_b,");
  }
  return out + full + "} else {\n" + partial + "}\n} } } } } } }\n";
}

double since_ms(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Matrix {
  std::vector<float> cells;
  halide_dimension_t dims[2];
  halide_buffer_t buffer{};
  Matrix(long rows, long columns)
      : cells(static_cast<size_t>(rows * columns)),
        dims{{0, static_cast<int32_t>(columns), 1, 0},
             {0, static_cast<int32_t>(rows), static_cast<int32_t>(columns), 0}} {
    for (size_t k = 0; k < cells.size(); ++k) cells[k] = static_cast<float>((k * 2654435761u >> 7) % 7) - 3;
    buffer.host = reinterpret_cast<uint8_t*>(cells.data());
    buffer.type = {halide_type_float, 32, 1};
    buffer.dimensions = 2;
    buffer.dim = dims;
  }
};

// Small integers: every order of summation is exact.
long wrong_cells(const Sizes& z, const Matrix& a, const Matrix& b, const Matrix& c) {
  long wrong = 0;
  std::vector<float> row(static_cast<size_t>(z.n));
  for (long i = 0; i < z.m; ++i) {
    std::fill(row.begin(), row.end(), 0.0f);
    for (long k = 0; k < z.k; ++k)
      for (long j = 0; j < z.n; ++j)
        row[static_cast<size_t>(j)] +=
            a.cells[static_cast<size_t>(i * z.k + k)] * b.cells[static_cast<size_t>(k * z.n + j)];
    for (long j = 0; j < z.n; ++j) wrong += row[static_cast<size_t>(j)] != c.cells[static_cast<size_t>(i * z.n + j)];
  }
  return wrong;
}

template <class T>
T or_die(Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s %s\n", result.error().code.c_str(), result.error().message.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (!polyweft::test::hold_cpu_as_told()) return 2;
  Sizes z;
  long* const fields[] = {&z.m, &z.n, &z.k, &z.mr, &z.nr, &z.kc, &z.mc};
  for (int k = 1; k < argc && k <= 7; ++k) *fields[k - 1] = std::atol(argv[k]);
  const LoopNest nest = or_die(parse_loop_nest(nest_text(z)));
  if (auto status = verify(nest); !status) return std::fprintf(stderr, "%s\n", status.error().message.c_str()), 1;
  const Target host = or_die(find_target("host"));
  if (std::getenv("PW_ASM")) std::ofstream(std::getenv("PW_ASM")) << or_die(targets::assembly_text(nest, host));
  if (std::getenv("PW_LL")) std::ofstream(std::getenv("PW_LL")) << or_die(targets::llvm_text(nest, host));
  targets::CompiledObject object;
  std::vector<double> codegen, link;
  for (int round = 0; round < 9; ++round) {
    object = or_die(targets::compile_object(nest, host));
    codegen.push_back(object.codegen_ms);
    const auto start = Clock::now();
    (void)or_die(targets::shared_object(object, {"gemm"}, targets::Runtime::external));
    link.push_back(since_ms(start));
  }
  std::sort(codegen.begin(), codegen.end());
  std::sort(link.begin(), link.end());
  const auto code = or_die(targets::load_code(object));
  auto* kernel = reinterpret_cast<int (*)(halide_buffer_t*, halide_buffer_t*, halide_buffer_t*)>(code->address("gemm"));
  Matrix a(z.m, z.k), b(z.k, z.n), c(z.m, z.n);
  std::vector<double> ms;
  for (int round = 0; round < 41; ++round) {
    const auto start = Clock::now();
    if (const int status = kernel(&a.buffer, &b.buffer, &c.buffer); status != 0)
      return std::fprintf(stderr, "the kernel returns %d\n", status), 1;
    ms.push_back(since_ms(start));
  }
  std::sort(ms.begin(), ms.end());
  const double flops = 2.0 * static_cast<double>(z.m) * static_cast<double>(z.n) * static_cast<double>(z.k);
  std::printf(
      "gemm %ldx%ldx%ld tile %ldx%ld kc %ld mc %ld: codegen %.1f ms, link %.1f ms, object %zu bytes, %d spills, %ld "
      "wrong cells, best %.1f median %.1f GFLOP/s\n",
      z.m, z.n, z.k, z.mr, z.nr, z.kc, z.mc, codegen[4], link[4], object.object.size(), object.spills,
      wrong_cells(z, a, b, c), flops / ms[0] / 1e6, flops / ms[20] / 1e6);
}
