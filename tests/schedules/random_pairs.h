// Random programs and random traces: what the property tests draw from. All choices come from one seed.
#pragma once

#include <string>
#include <vector>

#include "harness.h"
#include "schedules/queries.h"
#include "support/rng.h"

namespace polyweft::test {

struct RandomProgram {
  std::string text;
};

inline int64_t pick(Rng& rng, int64_t lo, int64_t hi) {
  return lo + static_cast<int64_t>(rng.below(static_cast<uint64_t>(hi - lo + 1)));
}
template <class T>
const T& pick(Rng& rng, const std::vector<T>& from) {
  return from[rng.below(from.size())];
}

/// A reduction whose state has several components. The first combiner is exact, so that whole numbers must agree bit
/// for bit; the second is not commutative.
inline std::string random_tuple(Rng& rng, const std::string& head, const std::string& type) {
  const bool is_float = type[0] == 'f';
  const std::string least = is_float        ? "-inf"
                            : type == "i32" ? "-2147483648"
                                            : "-32768",
                    pair = "(" + type + ", " + type + ")";
  const std::string range = pick(rng, std::vector<std::string>{"k: N", "k: N", "k: 0..i+1", "k: N where k != 1"}),
                    index = range == "k: 0..i+1" ? "k, i" : "i, k";
  const std::string matrix = range == "k: 0..i+1" ? "[M, M]" : "[M, N]";
  switch (rng.below(5)) {
    case 0:
      return head + "in X: " + type + "[K, M, N]\nlet (a, b)[k: K] = " + (rng.below(2) ? "argmax" : "argmin") +
             "[i: M, j: N] X[k, i, j]\nout A[k: K] = a[k]\nout B[k: K] = b[k]\n";
    case 1:
      return head + "in X: " + type + matrix + "\ncombine more((m, c), (n, d)): " + pair + " from (" + least +
             ", 0) associative commutative = (max(m, n), select(m == max(m, n), c, 0) + select(n == max(m, n), d, "
             "0))\nlet (m, c)[i: M] = reduce more[" +
             range + "] (X[" + index + "], 1)\nout A[i: M] = m[i]\nout C[i: M] = c[i]\n";
    case 2:
      return head + "in X: " + type + matrix + "\ncombine first((a, h), (b, k)): " + pair + " from (0, 0) " +
             pick(rng, std::vector<std::string>{"", "associative", "commutative"}) +
             " = (select(h == 1, a, b), max(h, k))\nlet (m, c)[i: M] = reduce first[" + range + "] (X[" + index +
             "], 1)\nout A[i: M] = m[i]\nout C[i: M] = c[i]\n";
    case 3:
      return head + "in X: f32" + matrix +
             "\ncombine online((m, s), (n, t)): (f32, f32) from (-inf, 0) associative commutative = (max(m, n), "
             "select(m == -inf, 0, s * exp(m - max(m, n))) + "
             "select(n == -inf, 0, t * exp(n - max(m, n))))\nlet (m, s)[i: M] = reduce online[" +
             range + "] (X[" + index + "], 1)\nout A[i: M] = m[i]\nout C[i: M] = s[i]\n";
    default:
      return head + "in X: f32" + matrix + "\nin V: f32[" + (range == "k: 0..i+1" ? "M" : "N") +
             ", K]\ncombine online((m, s, o), (n, t, q)): (f32, f32, f32) from (-inf, 0, 0) associative commutative = "
             "(max(m, n), "
             "select(m == -inf, 0, s * exp(m - max(m, n))) + select(n == -inf, 0, t * exp(n - max(m, n))), "
             "select(m == -inf, 0, o * exp(m - max(m, n))) + select(n == -inf, 0, q * exp(n - max(m, n))))\nlet (m, s, "
             "o)[i: M, d: K] = reduce online[" +
             range + "] (X[" + index + "], 1, V[k, d])\nout O[i: M, d: K] = o[i, d]\nout S[i: M, d: K] = s[i, d]\n";
  }
}

/// One of some twenty shapes, with random extents, shifts, guards, types and reducers.
inline std::string random_program(Rng& rng) {
  auto n = [&](int64_t lo, int64_t hi) { return std::to_string(pick(rng, lo, hi)); };
  std::string type = pick(rng, std::vector<std::string>{"f32", "f32", "f64", "i32", "i16"});
  std::string reducer = pick(rng, std::vector<std::string>{"sum", "sum", "sum", "max", "min"});
  std::string zero = type[0] == 'f' ? "0" : "0";
  std::string head = "program p(M = " + n(1, 9) + ", N = " + n(1, 19) + ", K = " + n(1, 9) + ")\n";
  std::string in_a = "in A: " + type + "[M, K]\n", in_b = "in B: " + type + "[K, N]\n";
  std::string shift = n(0, 3);
  switch (rng.below(18)) {
    case 16:
    case 17:
      return random_tuple(rng, head, type);
    case 0:
      return head + in_a + in_b + "out C[i: M, j: N] = " + reducer + "[k: K] A[i, k] * B[k, j]\n";
    case 1:
      return head + in_a + in_b + "in s: " + type +
             "\nlet C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\nout D[i: M, j: N] = max(C[i, j] * s, C[i, j])\n";
    case 2:
      return head + in_a + "in x: " + type + "[K]\nout y[i: M] = " + reducer + "[k: K] A[i, k] * x[k]\n";
    case 3:
      return head + "in X: " + type + "[N + 3, K]\nin W: " + type +
             "[4, K, M]\nout Y[x: N, f: M] = sum[r: 4, c: K] X[x + r, c] * W[r, c, f]\n";
    case 4:
      return head + "in X: " + type + "[N, M]\nin W: " + type +
             "[3, M]\nout Y[x: N, c: M] = sum[r: 3 where 0 <= x + r - 1 < N] X[x + r - 1, c] * W[r, c]\n";
    case 5:
      return head + "in A: " + type + "[M, M]\nin B: " + type +
             "[M, N]\nout C[i: M, j: N] = sum[k: i+1..M] A[k, i] * B[k, j]\n";
    case 6:
      return head + in_a + "in B: " + type + "[N, K]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[j, k]\n";
    case 7:
      return head + "in X: " + type +
             "[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet e[i: M, j: N] = X[i, j] - m[i]\nlet s[i: M] = sum[j: N] "
             "e[i, j]\n"
             "out Y[i: M, j: N] = e[i, j] + s[i]\n";
    case 8:
      return head + "in X: " + type + "[M + 2, N + " + shift + "]\nlet P[y: M + 2, x: N] = X[y, x + " + shift +
             "] - X[y, x]\n"
             "let Q[y: M, x: N] = P[y, x] + P[y + 2, x]\nout Y[y: M, x: N] = Q[y, x] - P[y + 1, x]\n";
    case 9:
      return head + "in X: " + type +
             "[M, N]\nlet P[y: M + 2, x: N + 2] = X[y - 1, x - 1] where 1 <= y <= M and 1 <= x <= N else " + zero +
             "\nout Y[y: M, x: N] = " + reducer + "[r: 3, s: 3] P[y + r, x + s]\n";
    case 10:
      return head + "in Q: " + type + "[N, K]\nin V: " + type +
             "[N, M]\nlet a[i: N, j: 0..i+1] = sum[d: K] Q[i, d] * Q[j, d]\n"
             "let m[i: N] = max[j: 0..i+1] a[i, j]\nout O[i: N, d: M] = (sum[j: 0..i+1] a[i, j] * V[j, d]) - m[i]\n";
    case 11:
      return head + in_a + "out p[i: M] = argmax[k: K] A[i, k]\nout v[i: M] = max[k: K] A[i, k]\n";
    case 12:
      return head + "in idx: i32[M, 3] values 0..K\nin E: " + type +
             "[K, N]\nout Y[b: M, d: N] = sum[l: 3] E[idx[b, l], d]\n";
    case 13:
      return head + "in X: " + type + "[N, M]\nin W: " + type +
             "[3, M]\nout Y[x: 2 * N + 1, c: M] = sum[r: 3 where (x + 1 - r) % 2 == 0 and 0 <= (x + 1 - r) // 2 < N] "
             "X[(x + 1 - r) // 2, c] * W[r, c]\n";
    case 14:
      return head + "in X: " + type +
             "[M, N]\nlet C[y: -1..M+1, x: N] = X[clamp(y, 0, M-1), x]\nlet d[y: M, x: N] = sum[r: 3] C[y + r - 1, x]\n"
             "out U[y: 2 * M, x: N] = d[y // 2, x] - X[y // 2, x]\n";
    default:
      return head + "in X: " + type + "[M, N]\nlet L[i: M, j: N] where i <= j + " + shift +
             " = X[i, j]\nlet L[i: M, j: N] where i > j + " + shift +
             " = X[i, j] * X[i, j]\nout Y[i: M, j: N] = L[i, j]\nout s[i: M] = " + reducer + "[j: N] L[i, j]\n";
  }
}

inline Size random_size(Rng& rng) {
  return Size{pick(rng, 1, 8), ""};
}

/// A step that makes sense at least by its names; the template may refuse it.
inline Step random_step(Rng& rng, const NestTemplate& t) {
  const Stage& stage = pick(rng, t.stages);
  const Equation& equation = schedules::equation_of(t, stage);
  auto loop = [&](const Stage& s) {
    return s.loops.empty() ? std::string("root") : s.loops[rng.below(s.loops.size())].name;
  };
  auto index = [&] { return equation.index_names.empty() ? std::string("i") : pick(rng, equation.index_names); };
  Scope scope = pick(rng, std::vector<Scope>{Scope::heap, Scope::stack, Scope::reg});
  std::string other = pick(rng, t.stages).name;
  switch (rng.below(18)) {
    case 15:
    case 16:
      if (!stage.reduces) return UnrollStep{stage.name, {index()}};
      return AccumulateStep{stage.name, rng.below(4) == 0 ? "root" : loop(stage), scope};
    case 17:
      return RfactorStep{stage.name, index(), pick(rng, 1, 5)};
    case 0:
    case 1:
    case 2: {
      TileStep step{stage.name, {}};
      for (int64_t k = pick(rng, 1, 3); k > 0; --k) step.levels.push_back({index(), random_size(rng)});
      return step;
    }
    case 3: {
      PermuteStep step{stage.name, {}};
      for (const auto& l : stage.loops) step.loops.push_back(l.name);
      for (size_t k = step.loops.size(); k > 1; --k) std::swap(step.loops[k - 1], step.loops[rng.below(k)]);
      return step;
    }
    case 4:
      if (pick(rng, 0, 1) == 0) return ParallelStep{stage.name, index(), pick(rng, 1, 4)};
      return ParallelStep{stage.name, loop(stage), 0};
    case 5:
    case 6:
      return VectorizeStep{stage.name, index(), Size{pick(rng, 2, 8), ""}};
    case 7:
      return UnrollStep{stage.name, {index()}};
    case 8: {
      PromoteStep step;
      step.tensor = pick(rng, t.program.tensors).name;
      step.statement = stage.name;
      step.at = rng.below(4) == 0 ? "root" : loop(stage);
      step.scope = scope;
      for (uint32_t d = 0; d < t.program.tensors.size() && step.layout.empty() && rng.below(2); ++d)
        if (t.program.tensors[d].name == step.tensor && t.program.tensors[d].rank == 2) {
          Size f = random_size(rng);
          step.layout = {{LayoutDigit::Part::quotient, "d1", f},
                         {LayoutDigit::Part::whole, "d0", {}},
                         {LayoutDigit::Part::remainder, "d1", f}};
        }
      return step;
    }
    case 9:
      return AccumulateStep{stage.name, rng.below(4) == 0 ? "root" : loop(stage), scope};
    case 10:
      return InlineStep{stage.name};
    case 11: {
      const Stage& host = pick(rng, t.stages);
      ComputeAtStep step{stage.name, host.name, loop(host), rng.below(3) ? Scope::heap : scope};
      if (rng.below(2))
        step.sliding = rng.below(4) == 0 ? Sliding{true, Size{1, ""}}
                                         : Sliding{false, Size{rng.below(3) ? 1 : pick(rng, 2, 8), ""}};
      return step;
    }
    case 12: {
      if (stage.loops.empty()) return DistributeStep{stage.name};
      const auto& split_loop = pick(rng, stage.loops);
      int64_t lo = stage.lo[split_loop.index], hi = std::max(stage.hi[split_loop.index], lo + 1);
      SplitStep step{stage.name, split_loop.name, {pick(rng, lo, hi)}};
      if (rng.below(2)) step.at.push_back(step.at[0] + pick(rng, 1, 2));
      return step;
    }
    case 13: {
      IndexSetSplitStep step{stage.name, {index()}, 0, {}};
      if (rng.below(3)) step.modulus = pick(rng, 2, 3);
      if (step.modulus && rng.below(2)) step.indices.push_back(index());
      if (!step.modulus) step.at = {pick(rng, 1, 3)};
      return step;
    }
    default: {
      const Stage& host = pick(rng, t.stages);
      return FuseStep{stage.name, host.name, loop(host)};
    }
  }
}

/// Steps that this program's template accepts, drawn until `wanted` are there or the tries are spent.
inline Trace random_trace(Rng& rng, const Program& program, NumericsClass cls) {
  Trace trace;
  auto t = schedules::base_template(program, cls);
  if (!t) return trace;
  size_t wanted = static_cast<size_t>(pick(rng, 1, 8));
  for (int tries = 0; tries < 40 && trace.steps.size() < wanted; ++tries) {
    Step step = random_step(rng, *t);
    auto next = schedules::apply(*t, step);
    if (!next) continue;
    *t = std::move(*next);
    trace.steps.push_back(step);
  }
  return trace;
}

/// Empty: equal results, or sizes that do not fit together (PW031x). Else what is wrong.
inline std::string verdict_on(const Program& program, const Trace& trace, NumericsClass cls, int* refused = nullptr) {
  auto reread = parse_trace(trace.text());
  if (!reread) return "text: " + described(reread.error());
  if (!(*reread == trace)) return "text: another trace comes back";
  auto t = schedules::replay(program, cls, *reread);
  if (!t) return "replay: " + described(t.error());
  auto nest = instantiate(*t, values_of(trace));
  if (!nest) {
    if (nest.error().code == "PW0314") return "instantiate: " + described(nest.error());
    if (refused) ++*refused;
    return nest.error().code.rfind("PW031", 0) == 0 ? "" : "instantiate: " + described(nest.error());
  }
  return difference(program, *nest, 3, ir::DataKind::random);
}

/// Drops steps one by one while the pair still fails.
inline Trace shrunk(const Program& program, Trace trace, NumericsClass cls) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t k = 0; k < trace.steps.size(); ++k) {
      Trace fewer = trace;
      fewer.steps.erase(fewer.steps.begin() + static_cast<std::ptrdiff_t>(k));
      std::string verdict = verdict_on(program, fewer, cls);
      if (verdict.empty() || verdict.rfind("replay", 0) == 0) continue;
      trace = std::move(fewer);
      smaller = true;
      break;
    }
  }
  return trace;
}

}  // namespace polyweft::test
