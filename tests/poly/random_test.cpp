// Random valid programs: the checks accept them, the base nest computes them, and a broken copy is refused with a
// witness that the naive evaluator confirms.
#include "corpus.h"
#include "ir/normalize/needed_elements.h"
#include "ir/oracles/evaluator.h"
#include "ir/output_parts.h"
#include "ir/small_inputs.h"
#include "ir/values/domain.h"
#include "poly/base_nest.h"
#include "poly/boxes.h"
#include "poly/check.h"
#include "run_nest.h"
#include "tests/generators/random_program.h"

namespace polyweft::poly_test {
namespace {

bool equal_bits(const Literal& a, const Literal& b) {
  if (!is_float(a.type)) return a.i == b.i;
  return a.f == b.f || (std::isnan(a.f) && std::isnan(b.f));
}

/// What is wrong with the base nest of this program in class strict; empty: nothing.
std::string fault_of(const Program& bound) {
  auto nest = poly::base_nest(normalize(bound), NumericsClass::strict);
  if (!nest) return nest.error().message;
  auto inputs = test::small_inputs(bound, 11, 4);
  auto expected = ir::evaluate(bound, inputs);
  if (!expected) return "evaluator: " + expected.error().message;
  PlainRun run(*nest);
  run.run(inputs);
  for (size_t o = 0; o < expected->tensors.size(); ++o)
    for (int64_t k = 0; k < expected->tensors[o].elements(); ++k) {
      bool defined = expected->written[o][static_cast<size_t>(k)] != 0;
      BufferId buffer = nest->arguments[inputs.size() + o];
      if (run.is_written(buffer, k) != defined) return "written differs at " + std::to_string(k);
      if (defined && !equal_bits(run.cell(buffer, k), expected->tensors[o].at(k)))
        return "value differs at " + std::to_string(k);
    }
  return "";
}

/// The program with one subscript of one affine read moved by `by`; nothing where the choice has no such read.
std::optional<Program> with_moved_read(const Program& program, uint64_t choice, int64_t by) {
  Program out = program;
  Equation& equation = out.equations[choice % out.equations.size()];
  std::vector<Expr> reads;
  auto collect = [&](const Expr& e) -> Expr {
    if (e->op == Op::read && !e->access.index.empty() && !e->access.index[0].data) reads.push_back(e);
    return nullptr;
  };
  rewrite(equation.rhs, collect);
  if (reads.empty()) return std::nullopt;
  Expr chosen = reads[(choice / 7) % reads.size()];
  equation.rhs = rewrite(equation.rhs, [&](const Expr& e) -> Expr {
    if (e != chosen) return nullptr;
    auto copy = std::make_shared<ExprNode>(*e);
    copy->access.index[0].affine = copy->access.index[0].affine + Affine::of(by);
    return copy;
  });
  return out;
}

/// Sizes out of "with M = 1, N = 2: ..".
std::optional<std::map<std::string, int64_t>> sizes_in(const Program& program, const std::vector<std::string>& notes) {
  std::map<std::string, int64_t> out;
  if (notes.empty() || notes[0].rfind("with ", 0) != 0)
    return program.parameters.empty() ? std::optional(out) : std::nullopt;
  for (const Parameter& p : program.parameters) {
    size_t at = notes[0].find(" " + p.name + " = ");
    if (at == std::string::npos) return std::nullopt;
    out[p.name] = std::stoll(notes[0].substr(at + p.name.size() + 4));
  }
  return out;
}

/// The naive evaluator's verdict: an element that is missing or that needs itself.
bool evaluates(const Program& program, const std::map<std::string, int64_t>& sizes) {
  auto binding = make_binding(program, sizes);
  if (!binding) return true;
  Program bound = polyweft::bind(program, *binding);
  ir::EvaluateOptions options;
  options.wanted = ir::Wanted::all;
  options.check_promises = false;
  return ir::evaluate(bound, test::small_inputs(bound, 5, 4), options).ok();
}

Program at_defaults(const Program& program) {
  return polyweft::bind(program, *make_binding(program, {}));
}

}  // namespace

TEST(Random, valid_programs_are_accepted_and_their_boxes_are_those_of_enumeration) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Program program = ir::random_program(seed);
    poly::CheckReport report = poly::check(program);
    for (const Diagnostic& each : report.errors)
      ADD_FAILURE() << "seed " << seed << ": " << each.text << "\n" << print(program);
    auto boxes = poly::boxes(at_defaults(program));
    ASSERT_TRUE(boxes.ok()) << "seed " << seed;
    EXPECT_EQ(*boxes, ir::boxes(at_defaults(program))) << "seed " << seed;
  }
}

TEST(Random, base_nests_compute_what_the_evaluator_says_bit_for_bit) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Program program = ir::random_program(seed);
    std::string fault = fault_of(at_defaults(program));
    if (fault.empty()) continue;
    Program least = ir::shrink(
        program, [](const Program& p) { return !fault_of(at_defaults(p)).empty(); }, 100);
    ADD_FAILURE() << "seed " << seed << ": " << fault << "; smallest:\n" << print(least);
    break;
  }
}

/// Locals that are cut to what is needed: no read of what is left goes outside of them.
TEST(Random, base_nests_of_parts_compute_what_the_evaluator_says_bit_for_bit) {
  int cut = 0;
  for (uint64_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
    std::mt19937_64 rng(seed);
    const Program program = ir::with_parts_for_outputs(at_defaults(ir::random_program(seed)), rng);
    cut += !equal(ir::without_unneeded_elements(program), program);
    EXPECT_EQ(fault_of(program), "") << "seed " << seed << "\n" << print(program) << print(normalize(program));
  }
  EXPECT_GT(cut, 30);
}

TEST(Random, verdicts_on_moved_reads_are_those_of_the_evaluator) {
  int refused = 0, accepted = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    auto program = with_moved_read(ir::random_program(seed), seed * 2654435761u, seed % 2 ? 1 : -1);
    if (!program) continue;
    poly::CheckReport report = poly::check(*program);
    if (report.errors.empty()) {
      ++accepted;
      for (int64_t size = 1; size <= 4; ++size) {
        std::map<std::string, int64_t> sizes;
        for (const Parameter& p : program->parameters) sizes[p.name] = size;
        EXPECT_TRUE(evaluates(*program, sizes)) << "seed " << seed << " accepted, wrong at size " << size << "\n"
                                                << print(*program);
      }
      continue;
    }
    const Diagnostic& first = report.errors[0];
    bool has_gather = false;
    for (const Equation& equation : program->equations)
      visit(equation.rhs, [&](const ExprNode& e) {
        for (const Subscript& s : e.access.index) has_gather |= s.data != nullptr;
      });
    if (first.code != "PW0203" && first.code != "PW0204" && first.code != "PW0207") continue;
    auto sizes = sizes_in(*program, first.notes);
    if (!sizes || has_gather) continue;
    ++refused;
    EXPECT_FALSE(evaluates(*program, *sizes)) << "seed " << seed << " refused without reason: " << first.text << "\n"
                                              << print(*program);
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(accepted, 20);
}

}  // namespace polyweft::poly_test
