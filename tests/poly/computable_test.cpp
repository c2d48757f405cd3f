// Random systems of recursive equations. The naive evaluator decides which are computable; those must run, and the
// others be refused.
#include <chrono>
#include <random>

#include "corpus.h"
#include "ir/oracles/evaluator.h"
#include "poly/base_nest.h"
#include "poly/check.h"
#include "poly/runs.h"
#include "run_nest.h"

namespace polyweft::poly_test {
namespace {

/// Text of a system of one to four equations over tensors of one rank, each read guarded to the common box.
class System {
 public:
  explicit System(uint64_t seed) : random_(seed) {
    rank_ = 1 + pick(3);
    extent_ = rank_ == 1 ? 5 + pick(12) : rank_ == 2 ? 4 + pick(4) : 3 + pick(2);
    equations_ = 1 + pick(4);
    for (int q = 0; q < equations_; ++q) {
      std::string expression = input();
      for (int terms = 1 + pick(2); terms > 0; --terms) expression += " + " + term();
      lines_.push_back("let T" + std::to_string(q) + "[" + slots() + "]: f64 = " + expression);
    }
  }
  std::string text(const std::vector<bool>& plain = {}) const {
    std::string out = "program system()\nin X: f64[" + repeated(std::to_string(extent_)) + "]\n";
    for (size_t q = 0; q < lines_.size(); ++q)
      out += (q < plain.size() && plain[q] ? "let T" + std::to_string(q) + "[" + slots() + "]: f64 = " + input()
                                           : lines_[q]) +
             "\n";
    for (size_t q = 0; q < lines_.size(); ++q)
      out += "out Y" + std::to_string(q) + "[" + slots() + "] = T" + std::to_string(q) + "[" + indices() + "]\n";
    return out;
  }
  size_t equations() const { return lines_.size(); }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  std::string repeated(const std::string& one) const {
    std::string out = one;
    for (int d = 1; d < rank_; ++d) out += ", " + one;
    return out;
  }
  static std::string name(int d) { return std::string(1, static_cast<char>('i' + d)); }
  std::string indices() const {
    std::string out;
    for (int d = 0; d < rank_; ++d) out += (d ? ", " : "") + name(d);
    return out;
  }
  std::string slots() const {
    std::string out;
    for (int d = 0; d < rank_; ++d) out += (d ? ", " : "") + name(d) + ": " + std::to_string(extent_);
    return out;
  }
  std::string input() const { return "X[" + indices() + "]"; }
  std::string subscript(int d) {
    std::string own = name(d), other = name(pick(rank_));
    switch (pick(14)) {
      case 0:
      case 1:
      case 2:
        return own + "-1";
      case 3:
        return own + "-2";
      case 4:
        return own + "+1";
      case 5:
      case 6:
        return own;
      case 7:
        return std::to_string(extent_ - 1) + "-" + own;
      case 8:
        return "2*" + own + "-" + std::to_string(pick(4));
      case 9:
        return "3*" + own + "-1";
      case 10:
        return own + "//2";
      case 11:
        return "(" + own + "-1)//2";
      case 12:
        return own + "-1+2*(" + other + "%2)";
      default:
        return other + "-1";
    }
  }
  std::string guard() {
    std::string a = name(pick(rank_)), b = name(pick(rank_));
    switch (pick(7)) {
      case 0:
        return a + " % 2 == 0";
      case 1:
        return a + " % 3 != 1";
      case 2:
        return a + " < " + std::to_string(extent_ / 2);
      case 3:
        return a + " >= " + std::to_string(extent_ / 2);
      case 4:
        return a + " <= " + b;
      case 5:
        return a + " + " + b + " < " + std::to_string(extent_);
      default:
        return a + " // 2 >= 1";
    }
  }
  std::string term() {
    std::string read, inside;
    for (int d = 0; d < rank_; ++d) {
      std::string at = subscript(d);
      read += (d ? ", " : "") + at;
      inside += (d ? " and 0 <= " : "0 <= ") + at + " < " + std::to_string(extent_);
    }
    if (pick(3) == 0) inside += " and " + guard();
    if (pick(6) == 0) inside += " and " + guard();
    return "(T" + std::to_string(pick(equations_)) + "[" + read + "] where " + inside + " else 1)";
  }

  std::mt19937_64 random_;
  int rank_ = 1, extent_ = 4, equations_ = 1;
  std::vector<std::string> lines_;
};

enum class ComputableVerdict : uint8_t { runs, refused_rightly, over_refused, wrong };
struct Outcome {
  ComputableVerdict verdict = ComputableVerdict::wrong;
  bool computable = false, accepted = false;
  std::string why;
};

std::vector<TensorData> small_integers(const Program& program) {
  std::vector<TensorData> out;
  for (TensorId id : program.inputs()) {
    std::vector<int64_t> extents;
    for (const Affine& e : program.tensors[id].shape) extents.push_back(e.constant);
    out.push_back(make_tensor(program.tensors[id].type, extents));
    for (int64_t k = 0; k < out.back().elements(); ++k)
      out.back().set(k, ir::float_literal(program.tensors[id].type, static_cast<double>(k % 7 + 1)));
  }
  return out;
}

std::string first_difference(const LoopNest& nest, const std::vector<TensorData>& inputs,
                             const ir::Evaluation& expected) {
  PlainRun run(nest);
  run.run(inputs);
  for (size_t o = 0; o < expected.tensors.size(); ++o)
    for (int64_t k = 0; k < expected.tensors[o].elements(); ++k) {
      BufferId buffer = nest.arguments[inputs.size() + o];
      double a = expected.tensors[o].at(k).f, b = run.is_written(buffer, k) ? run.cell(buffer, k).f : std::nan("");
      if (a != b && !(std::isnan(a) && run.is_written(buffer, k) && std::isnan(b)))
        return "output " + std::to_string(o) + " differs at " + std::to_string(k);
    }
  return "";
}

Outcome outcome_of(const std::string& text) {
  Program program = parsed(text);
  Program bound = normalize(polyweft::bind(program, *make_binding(program, {})));
  auto inputs = small_integers(program);
  auto expected = ir::evaluate(program, inputs);
  Outcome out;
  out.computable = expected.ok();
  poly::CheckReport report = poly::check(program);
  out.accepted = report.errors.empty();
  if (!expected) {
    bool rightly = !report.errors.empty() && report.errors[0].code == "PW0207";
    if (expected.error().code != "PW0163")
      out.why = "the evaluator says " + expected.error().message;
    else if (!rightly)
      out.why = report.errors.empty() ? "accepted, though cyclic" : "refused without a cycle: " + report.errors[0].text;
    out.verdict = out.accepted || !out.why.empty() ? ComputableVerdict::wrong : ComputableVerdict::refused_rightly;
    return out;
  }
  auto nest = poly::base_nest(bound, NumericsClass::strict);
  if (!out.accepted || !nest) {
    out.why = !out.accepted ? "check: " + report.errors[0].text + " [" + report.errors[0].code + "]"
                            : "base nest: " + nest.error().message;
    out.verdict =
        !out.accepted && report.errors[0].code == "PW0207" ? ComputableVerdict::wrong : ComputableVerdict::over_refused;
    return out;
  }
  out.why = first_difference(*nest, inputs, *expected);
  out.verdict = out.why.empty() ? ComputableVerdict::runs : ComputableVerdict::wrong;
  return out;
}

/// The system with as many equations as possible made plain, that still comes to `verdict`.
std::string least(const System& system, ComputableVerdict verdict) {
  std::vector<bool> plain(system.equations(), false);
  for (size_t q = 0; q < plain.size(); ++q) {
    plain[q] = true;
    plain[q] = outcome_of(system.text(plain)).verdict == verdict;
  }
  return system.text(plain);
}

}  // namespace

TEST(Computable, systems_run_and_the_others_are_refused_with_a_cycle) {
  const char* asked = std::getenv("PW_SYSTEMS");
  const uint64_t systems = asked ? std::strtoull(asked, nullptr, 10) : 8;
  int computable = 0, over_refused = 0, cyclic = 0;
  for (uint64_t seed = 1; seed <= systems; ++seed) {
    System system(seed);
    auto begin = std::chrono::steady_clock::now();
    Outcome outcome = outcome_of(system.text());
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (seconds > 3) std::printf("seed %llu took %.1f s\n", static_cast<unsigned long long>(seed), seconds);
    std::fflush(stdout);
    computable += outcome.computable;
    cyclic += !outcome.computable;
    if (outcome.verdict == ComputableVerdict::wrong)
      ADD_FAILURE() << "seed " << seed << ": " << outcome.why << "; smallest:\n"
                    << least(system, ComputableVerdict::wrong);
    if (outcome.verdict != ComputableVerdict::over_refused) continue;
    ++over_refused;
    std::printf("seed %llu refused: %s\n%s", static_cast<unsigned long long>(seed), outcome.why.c_str(),
                least(system, ComputableVerdict::over_refused).c_str());
  }
  std::printf("systems %llu: computable %d, of these refused %d; cyclic %d\n", static_cast<unsigned long long>(systems),
              computable, over_refused, cyclic);
  EXPECT_GT(computable, static_cast<int>(systems / 8));
  EXPECT_GT(cyclic, static_cast<int>(systems / 8));
  EXPECT_LE(over_refused * 50, computable);
}

TEST(Runs, fold_and_unfold_to_the_same_list) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<poly::Run> points;
    int rows = 1 + static_cast<int>(random() % 9), shape = static_cast<int>(random() % 4);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < (shape == 0 ? i + 1 : 6); ++j) {
        poly::Run point;
        point.statement = static_cast<uint32_t>(shape == 2 ? j % 2 : 0);
        point.numbers = {i, shape == 3 ? static_cast<int64_t>(random() % 5) : i % 2 ? -j : j};
        points.push_back(point);
      }
    auto again = poly::unfolded(poly::folded(points));
    ASSERT_EQ(again.size(), points.size());
    for (size_t k = 0; k < points.size(); ++k) {
      ASSERT_EQ(again[k].statement, points[k].statement);
      ASSERT_EQ(again[k].numbers, points[k].numbers);
    }
  }
}

TEST(Runs, a_plough_of_many_rows_is_few_loops) {
  std::vector<poly::Run> points;
  for (int i = 0; i < 100; ++i)
    for (int j = 0; j < 100; ++j) {
      poly::Run point;
      point.numbers = {i, i % 2 ? 99 - j : j};
      points.push_back(point);
    }
  EXPECT_EQ(poly::points_in(poly::folded(points)), 2u);
}

}  // namespace polyweft::poly_test
