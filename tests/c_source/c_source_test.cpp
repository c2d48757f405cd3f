// The base nests of every program there is, printed as C, compiled and compared with the evaluator.
#include "targets/c/c_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "c_source/compiled.h"
#include "cpu.h"
#include "ir/evaluator.h"
#include "ir/random_program.h"
#include "ir/scalar.h"
#include "ir/seeded_data.h"
#include "lang/parser.h"
#include "poly/base_nest.h"

namespace polyweft::c_source_test {
namespace {

namespace fs = std::filesystem;
using targets::c_source;
constexpr const char* kStrict = "-O1 -ffp-contract=off -Wall -Wextra -Werror";
constexpr const char* kSanitized = "-O1 -ffp-contract=off -fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all";

std::vector<Program> programs_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  auto parsed = lang::parse(text.str(), file.string());
  EXPECT_TRUE(parsed) << file;
  return parsed ? parsed->programs : std::vector<Program>();
}

/// Sizes of some 4 to 12 that the assumptions admit, found by halving all at once.
Binding small_sizes(const Program& program) {
  Binding best;
  for (int halvings = 0; halvings < 12; ++halvings) {
    std::map<std::string, int64_t> sizes;
    for (const Parameter& p : program.parameters) sizes[p.name] = std::max(p.value >> halvings, std::min<int64_t>(p.value, 5));
    auto binding = make_binding(program, sizes);
    for (const Parameter& p : program.parameters) sizes[p.name] = std::max(p.value >> halvings, std::min<int64_t>(p.value, 4));
    if (!binding) binding = make_binding(program, sizes);
    if (binding) best = *binding;
  }
  return best;
}

/// A program, its nest in a class, and what is expected of it.
struct Case {
  std::string symbol, what;
  Program program;
  LoopNest nest;
  bool is_exact = false;  ///< strict, and no function of the C library that rounds in its own way
};

bool calls_functions(const Program& program) {
  bool found = false;
  const auto look = [&](const ExprNode& e) { found |= (e.op >= Op::exp && e.op <= Op::cos && e.op != Op::sqrt) || e.op == Op::pow; };
  for (const Equation& q : program.equations) visit(q.rhs, look);
  for (const Combiner& c : program.combiners)
    for (const Expr& e : c.result) visit(e, look);
  return found;
}

class Cases {
 public:
  void add(const Program& source, const Binding& sizes, NumericsClass cls, const std::string& what) {
    Case one;
    one.symbol = "k" + std::to_string(cases_.size());
    one.what = what + ", " + name_of(cls);
    one.program = normalize(bind(source, sizes));
    one.is_exact = cls == NumericsClass::strict && !calls_functions(source);
    auto nest = poly::base_nest(one.program, cls);
    if (!nest && nest.error().code.rfind("PW08", 0) == 0) return;  // too hard, or too large
    ASSERT_TRUE(nest) << one.what << ": " << nest.error().message;
    one.nest = std::move(*nest);
    cases_.push_back(std::move(one));
  }

  std::vector<std::string> sources() const {
    std::vector<std::string> out;
    for (const Case& one : cases_) {
      auto text = c_source(one.nest, one.symbol);
      EXPECT_TRUE(text) << one.what;
      out.push_back(text ? *text : "");
    }
    return out;
  }

  size_t size() const { return cases_.size(); }
  const std::vector<Case>& all() const { return cases_; }

 private:
  std::vector<Case> cases_;
};

/// "" or the first element that differs by more than the class allows.
std::string difference(const Case& one, const std::vector<TensorData>& got, const ir::Evaluation& wanted) {
  for (size_t k = 0; k < got.size(); ++k)
    for (int64_t e = 0; e < got[k].elements(); ++e) {
      if (!wanted.written.empty() && !wanted.written[k].empty() && !wanted.written[k][static_cast<size_t>(e)]) continue;
      const Literal a = got[k].at(e), b = wanted.tensors[k].at(e);
      const double bound = wanted.bound.empty() || wanted.bound[k].empty() ? 0 : wanted.bound[k][static_cast<size_t>(e)];
      const bool both_nan = is_float(a.type) && std::isnan(a.f) && std::isnan(b.f);
      const bool is_near = is_float(a.type) && (a.f == b.f || std::abs(a.f - b.f) <= bound || std::isinf(bound));
      const bool same = a == b || both_nan || (is_float(a.type) && a.f == b.f && one.nest.cls != NumericsClass::strict);
      const bool undetermined = std::isinf(bound) && !one.is_exact;
      if (same || undetermined || (!one.is_exact && is_near)) continue;
      const auto text = [](const Literal& v) { return is_float(v.type) ? std::to_string(v.f) : std::to_string(v.i); };
      return "output " + std::to_string(k) + " element " + std::to_string(e) + ": " + text(a) + " instead of " + text(b);
    }
  return "";
}

/// Returns how many ran.
int expect_same(const std::string& name, const Cases& cases, const std::string& flags) {
  const Compiled code(name, cases.sources(), flags);
  int ran = 0;
  if (!code.is_complete()) return 0;
  for (const Case& one : cases.all()) {
    for (const uint64_t seed : {1, 2}) {
      const auto inputs = ir::seeded_inputs(one.program, seed, seed == 1 ? ir::DataKind::integers : ir::DataKind::random);
      ir::EvaluateOptions options;
      options.with_bounds = true;
      const auto wanted = ir::evaluate(one.program, inputs, options);
      EXPECT_TRUE(wanted) << one.what;
      if (!wanted) continue;
      EXPECT_EQ(difference(one, run(code, one.nest, one.symbol, inputs), *wanted), "") << one.what << "\n" << print(one.nest) << *c_source(one.nest, one.symbol);
      ++ran;
    }
  }
  return ran;
}

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(PW_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".weft") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

Cases cases_of(const std::string& folder, const std::vector<NumericsClass>& classes) {
  Cases cases;
  for (const fs::path& file : files_of(folder))
    for (const Program& program : programs_of(file))
      for (const NumericsClass cls : classes) cases.add(program, small_sizes(program), cls, file.filename().string() + ":" + program.name);
  return cases;
}

Cases random_cases(uint64_t first, int count) {
  Cases cases;
  for (int k = 0; k < count; ++k) {
    const uint64_t seed = first + static_cast<uint64_t>(k);
    const Program program = ir::random_program(seed);
    cases.add(program, *make_binding(program, {}), k % 3 == 2 ? NumericsClass::reassoc : NumericsClass::strict, "seed " + std::to_string(seed));
  }
  return cases;
}

TEST(CSource, programs_of_the_language_page_mean_the_same) {
  EXPECT_GE(expect_same("language", cases_of("tests/lang/programs", {NumericsClass::strict, NumericsClass::reassoc}), kStrict), 120);
}

TEST(CSource, examples_mean_the_same) {
  EXPECT_GE(expect_same("examples", cases_of("examples", {NumericsClass::reassoc}), kStrict), 30);
}

TEST(CSource, recurrences_mean_the_same) {
  EXPECT_GE(expect_same("recurrences", cases_of("examples/recurrences", {NumericsClass::strict}), kStrict), 26);
}

TEST(CSource, polybench_means_the_same) {
  EXPECT_GE(expect_same("polybench", cases_of("examples/polybench", {NumericsClass::reassoc}), kStrict), 58);
}

TEST(CSource, programs_of_the_floor_mean_the_same) {
  EXPECT_GE(expect_same("floor", cases_of("bench/floor", {NumericsClass::reassoc}), kStrict), 86);
}

TEST(CSource, random_programs_mean_the_same) {
  EXPECT_GE(expect_same("random", random_cases(1000, 150), kStrict), 290);
}

TEST(CSource, random_programs_have_no_undefined_behaviour) {
  EXPECT_GE(expect_same("sanitized", random_cases(5000, 40), kSanitized), 78);
}

TEST(CSource, programs_of_the_language_page_have_no_undefined_behaviour) {
  EXPECT_GE(expect_same("sanitized_language", cases_of("tests/lang/programs", {NumericsClass::reassoc}), kSanitized), 60);
}

/// Each operator on each type that has it, on inputs with the extreme values of their types.
std::string program_of_type(const std::string& t, bool is_real) {
  const std::string others[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"};
  std::string text = "program all_of_" + t + "(N = 64)\nin A: " + t + "[N]\nin B: " + t + "[N]\nin c: bool[N]\n";
  int number = 0;
  const auto out = [&](const std::string& e, const std::string& type) { text += "out O" + std::to_string(number++) + "[i: N]: " + type + " = " + e + "\n"; };
  for (const std::string e : {"A[i] + B[i]", "A[i] - B[i] * A[i]", "-A[i]", "abs(A[i])", "max(A[i], B[i])", "min(B[i], A[i])", "clamp(A[i], B[i], A[i])", "select(c[i], A[i], B[i])"}) out(e, t);
  if (is_real)
    for (const std::string e : {"A[i] / B[i]", "sqrt(A[i])", "floor(A[i])", "ceil(A[i])", "round(A[i])"}) out(e, t);
  else
    for (const std::string e : {"A[i] // B[i]", "A[i] % B[i]", "A[i] & B[i]", "A[i] ^ ~B[i]", "A[i] | B[i]", "A[i] << B[i]", "A[i] >> B[i]"}) out(e, t);
  for (const std::string& to : others) {
    out(to + "(A[i])", to);
    if (to[0] == 'i' || to[0] == 'u') out("sat_" + to + "(A[i])", to);
  }
  for (const std::string e : {"A[i] < B[i]", "A[i] != B[i] and not c[i]", "A[i] >= B[i] or c[i]"}) out(e, "bool");
  text += "out s: " + t + " = sum[i: N] A[i]\nout p: " + t + " = prod[i: N] B[i]\nout m: " + t + " = max[i: N] A[i]\nout a = argmax[i: N] A[i]\nout b = argmin[i: N] B[i]\n";
  return text;
}

Literal extreme(ElementType type, uint64_t k) {
  if (!is_float(type)) {
    const int64_t least = ir::least_of(type), greatest = ir::greatest_of(type);
    const int64_t values[] = {0, 1, -1, least, greatest, least + 1, greatest - 1, 7, -7, static_cast<int64_t>(0x9e3779b97f4a7c15 * k)};
    return ir::integer_literal(type, values[k % std::size(values)]);
  }
  const double values[] = {0.0, -0.0, 1, -1.5, 2.5, INFINITY, -INFINITY, NAN, 65504, 1e-7, 3e38, 255.5, -128.5, 2147483648.0, 9.3e18, 1.0 + 0x1p-11, 1e-42, 1234.5678};
  return ir::float_literal(type, values[k % std::size(values)]);
}

std::vector<TensorData> extreme_inputs(const Program& bound, uint64_t seed) {
  std::vector<TensorData> out = ir::seeded_inputs(bound, seed, ir::DataKind::random);
  for (size_t k = 0; k < 2; ++k)  // A and B meet in all pairs over the seeds
    for (int64_t e = 0; e < out[k].elements(); ++e) out[k].set(e, extreme(out[k].type, static_cast<uint64_t>(e) * (k == 0 ? 1 : seed) + (k == 0 ? 0 : seed / 2)));
  return out;
}

TEST(CSource, all_operators_on_all_types_have_the_language_s_bits) {
  Cases cases;
  for (const std::string t : {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}) {
    auto parsed = lang::parse(program_of_type(t, t[0] == 'f' || t[0] == 'b'), t);
    ASSERT_TRUE(parsed) << t << ": " << parsed.error().message;
    cases.add(parsed->programs[0], {64}, NumericsClass::strict, t);
  }
  for (const std::string& flags : {std::string(kStrict), std::string(kStrict) + " -O3 " + test::march(), std::string(kSanitized)}) {
    const Compiled code("operators", cases.sources(), flags);
    ASSERT_TRUE(code.is_complete());
    for (const Case& one : cases.all())
      for (uint64_t seed = 1; seed <= 19; ++seed) {
        const auto inputs = extreme_inputs(one.program, seed);
        const auto wanted = ir::evaluate(one.program, inputs);
        ASSERT_TRUE(wanted);
        EXPECT_EQ(difference(one, run(code, one.nest, one.symbol, inputs), {*wanted}), "") << one.what << " seed " << seed << flags;
      }
  }
}

}  // namespace
}  // namespace polyweft::c_source_test
