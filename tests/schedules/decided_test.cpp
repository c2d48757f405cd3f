// A sketch's text is a trace: every size that its steps name is decided. Programs are random, at sizes where vectors,
// strips and tiles have several candidates.
#include "harness.h"
#include "machines.h"
#include "schedules/sketches/sketches.h"
#include "tests/generators/random_program.h"

namespace polyweft::test {
namespace {

/// Random systems with every parameter at 66, and hosts by rows of which a scaled copy is left over: outer indices
/// times an elementwise tail.
std::vector<Program> programs() {
  std::vector<Program> out;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Program source = ir::random_program(seed);
    std::map<std::string, int64_t> sizes;
    for (const Parameter& parameter : source.parameters) sizes[parameter.name] = 66;
    if (auto binding = make_binding(source, sizes)) out.push_back(normalize(polyweft::bind(source, *binding)));
  }
  for (const char* around : {"i: N, j: N + 1", "i: N, j: 3", "i: N"})
    for (const char* made : {"min[j: N] X[i, j]", "sum[j: N] X[i, j] * X[j, i]", "X[i, 0] * 2.0"})
      for (const char* tail :
           {"min(W[k], T[i])", "sqrt(abs(max(W[k], -T[i])))", "W[k] + (T[i] where k > 3 else 0.0)"}) {
        const std::string indices = around;
        out.push_back(normalized_program(
            "program p(N = 66, M = 66)\nin X: f32[N, N]\nin W: f32[M]\nlet T[i: N]: f32 = " + std::string(made) +
            "\nout Y[" + indices + ", k: M]: f32 = " + tail + "\n"));
      }
  return out;
}

TEST(Sketches, decide_every_size_that_their_steps_name) {
  const Machine chips[] = {machine_with(32, 16, {32 << 10, 1 << 20, 8 << 20}),
                           machine_with(64, 32, {48 << 10, 2 << 20, 16 << 20}, 4)};
  size_t traces = 0, with_decisions = 0;
  for (const Program& program : programs())
    for (const auto& machine : chips)
      for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, machine)) {
        auto again = parse_trace(trace.text());
        EXPECT_TRUE(again.ok()) << print(program) << trace.text() << (again ? "" : described(again.error()));
        ++traces;
        with_decisions += !trace.decisions.empty();
      }
  EXPECT_GT(traces, 500u);
  EXPECT_GT(with_decisions, 100u);
}

}  // namespace
}  // namespace polyweft::test
