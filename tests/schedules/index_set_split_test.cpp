// index_set_split by brute force: strided scatters of all small sizes, in classes of residues and in ranges, before
// both judges.
#include <regex>
#include <set>

#include "harness.h"
#include "ir/oracles/interpreter.h"
#include "machines.h"
#include "poly/check/checker.h"
#include "schedules/queries.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::test {
namespace {

/// A transposed convolution along y: `kernel` taps, stride, padding; every output that the definition has.
std::string scatter(int stride, int kernel, int pad, int size = 3) {
  const std::string hit = "(y + " + std::to_string(pad) + " - t)", s = std::to_string(stride);
  return "program scatter(N = " + std::to_string(size) + ")\nin X: f32[N, 2]\nconst in W: f32[" +
         std::to_string(kernel) +
         ", 2, 5]\nout Y[y: " + std::to_string((size - 1) * stride + std::max(kernel - 2 * pad, 1)) +
         ", f: 5] = sum[t: " + std::to_string(kernel) + ", c: 2 where " + hit + " % " + s + " == 0 and 0 <= " + hit +
         " // " + s + " < N] X[" + hit + " // " + s + ", c] * W[t, c, f]\n";
}

const char* kImage =
    "program image(H = 3)\nin X: f32[2, H, 4, 3]\nconst in W: f32[4, 3, 3, 7]\nout Y[n: 2, y: 7, x: 8, f: 7] = sum[t: "
    "4, r: 3, c: 3 where (y + 1 - t) % 2 == 0 and "
    "0 <= (y + 1 - t) // 2 < H and (x - r) % 2 == 0 and 0 <= (x - r) // 2 < 4] X[n, (y + 1 - t) // 2, (x - r) // 2, c] "
    "* W[t, r, c, f]\n";

NestTemplate replayed_split(const Program& program, const std::string& steps, NumericsClass cls) {
  auto trace = parse_trace("trace 1\n" + steps);
  EXPECT_TRUE(trace.ok()) << steps;
  EXPECT_EQ(parse_trace(trace->text())->text(), trace->text());
  auto t = schedules::replay(program, cls, *trace);
  if (!t) throw std::runtime_error(described(t.error()) + "\n" + steps);
  return *t;
}

/// Both judges and the numbers.
void expect_right_split(const Program& program, const std::string& steps, NumericsClass cls = NumericsClass::reassoc) {
  auto nest = instantiate(replayed_split(program, steps, cls), {});
  ASSERT_TRUE(nest.ok()) << described(nest.error()) << steps;
  EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << steps << print(*nest);
  auto check = poly::check_nest(program, *nest);
  EXPECT_EQ(std::string(name_of(check.verdict)), "proven") << check.code << " " << check.message << "\n"
                                                           << steps << print(*nest);
  auto inputs = ir::seeded_inputs(program, 3, ir::DataKind::integers);
  ir::EvaluateOptions wanted_options;
  wanted_options.tags = cls;
  ir::InterpreterOptions options;
  options.with_tags = true;
  auto wanted = ir::evaluate(program, inputs, wanted_options);
  auto got = ir::interpret(*nest, inputs, options);
  ASSERT_TRUE(wanted.ok() && got.ok()) << steps;
  EXPECT_EQ(got->tags, wanted->tags) << steps;
}

TEST(IndexSetSplit, classes_of_a_scatter_are_dense_and_right) {
  for (int stride : {2, 3})
    for (int kernel : {1, 2, 3, 4, 5})
      for (int pad : {0, 1}) {
        Program program = normalized_program(scatter(stride, kernel, pad));
        const std::string split = "index_set_split Y y, t mod " + std::to_string(stride) + "\n";
        auto t = replayed_split(program, split, NumericsClass::strict);
        EXPECT_LE(t.stages.size(), static_cast<size_t>(stride));
        for (const Stage& part : t.stages)
          EXPECT_TRUE(part.guards.empty()) << part.name << " of " << scatter(stride, kernel, pad);
        expect_right_split(program, split, NumericsClass::strict);
        expect_right_split(program, split +
                                        "tile Y [f: 8, y: 2]\npermute Y [f.1, y.1, t, c, y, f]\naccumulate Y at y.1 "
                                        "reg\nunroll Y y\nvectorize Y f 4\n");
      }
}

TEST(IndexSetSplit, parts_are_split_again_and_steps_act_on_each) {
  Program program = normalized_program(kImage);
  const std::string split = "index_set_split Y y, t mod 2\nindex_set_split Y x, r mod 2\n";
  auto t = replayed_split(program, split, NumericsClass::reassoc);
  std::set<std::string> names;
  for (const Stage& part : t.stages) names.insert(part.name);
  EXPECT_EQ(names, (std::set<std::string>{"Y.p1.p1", "Y.p1.p2", "Y.p2.p1", "Y.p2.p2"}));
  expect_right_split(program, split);
  expect_right_split(program, split + "split Y t at 1\n");
  expect_right_split(program, split +
                                  "promote W in Y at root heap layout [f / 4, d0, d1, d2, f % 4]\ntile Y [f: 4, x: "
                                  "3]\npermute Y [f.1, n, y, x.1, t, r, c, x, f]\n" +
                                  "accumulate Y at x.1 reg\nunroll Y x\nvectorize Y f 4\n");
  expect_right_split(program, "index_set_split Y y, x mod 2\n");
  expect_right_split(program, split + "index_set_split Y.p2.p1 y at 1\nunroll Y.p2.p1.p2 f\nunroll Y.p1 f\n");
}

TEST(IndexSetSplit, ranges_take_borders_and_interior_apart) {
  Program program = normalized_program(
      "program blur(N = 9)\nin X: f32[N]\nin k: f32[3]\nlet B[x: N] = sum[r: 3 where 0 <= x + r - 1 < N] X[x + r - 1] "
      "* k[r]\nout Y[x: N - 1] = B[x + 1] - "
      "B[x]\n");
  auto t = replayed_split(program, "index_set_split B x at 1, 8\n", NumericsClass::reassoc);
  ASSERT_EQ(t.stages.size(), 4u);
  EXPECT_TRUE(t.stages[1].inside.empty()) << "the interior still tests its borders";
  expect_right_split(program, "index_set_split B x at 1, 8\nindex_set_split Y x at 3\n", NumericsClass::strict);
  expect_right_split(program, "index_set_split B x at 1, 8\nvectorize B.p2 x 4\n");
  expect_right_split(program, "index_set_split Y x mod 3\nindex_set_split B x mod 2\n");
}

std::vector<std::vector<int64_t>> numbers_of(const std::string& text) {
  std::vector<std::vector<int64_t>> out;
  std::regex instance("Y\\[([^\\]]*)\\]"), value("=(-?\\d+)");
  for (std::sregex_iterator it(text.begin(), text.end(), instance), end; it != end; ++it) {
    const std::string inside = (*it)[1];
    out.emplace_back();
    for (std::sregex_iterator v(inside.begin(), inside.end(), value); v != end; ++v)
      out.back().push_back(std::stoll((*v)[1]));
  }
  return out;
}

// Two classes of a reduced index that fold into one element are refused; the pair is in the domain, of one element, in
// two classes.
TEST(IndexSetSplit, refuses_to_part_the_folds_of_an_element) {
  for (const char* text :
       {"program p(N = 5)\nin X: f32[N + 3]\nout Y[y: N] = sum[t: 4] X[y + t]\n",
        "program p(N = 5)\nin X: f32[N + 3]\nout Y[y: N] = sum[t: 4 where (y + t) % 2 == 0 and t >= 1] X[y + t]\n"}) {
    Program program = normalized_program(text);
    auto t = schedules::base_template(program, NumericsClass::reassoc);
    ASSERT_TRUE(t.ok());
    const int64_t modulus = 3;
    auto refused = schedules::index_set_split(*t, IndexSetSplitStep{"Y", {"y", "t"}, modulus, {}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, "PW0306");
    auto pair = numbers_of(refused.error().notes.at(0));
    ASSERT_EQ(pair.size(), 2u) << refused.error().notes.at(0);
    EXPECT_EQ(pair[0][0], pair[1][0]);
    EXPECT_NE(pair[0][1] % modulus, pair[1][1] % modulus);
    for (const auto& point : pair) EXPECT_TRUE(schedules::contains(*t, t->stages[0], point));
  }
}

TEST(IndexSetSplit, refuses_what_it_cannot_take_apart) {
  struct Case {
    const char* steps;
    const char* code;
  };
  Program program = normalized_program(scatter(2, 3, 1));
  for (const Case& c :
       {Case{"index_set_split Y q mod 2", "PW0303"}, Case{"index_set_split Y y, y mod 2", "PW0304"},
        Case{"index_set_split Y t at 1", "PW0304"}, Case{"index_set_split Y y at 0", "PW0303"},
        Case{"index_set_split Y y at 2, 9", "PW0303"}, Case{"tile Y [f: 2]\n index_set_split Y y mod 2", "PW0304"},
        Case{"index_set_split Q y mod 2", "PW0302"}, Case{"index_set_split Y y, t, c, f mod 64", "PW0304"},
        Case{"index_set_split Y y mod 1", "PW0301"}}) {
    auto nest = nest_of(program, std::string("trace 1\n ") + c.steps + "\n");
    ASSERT_FALSE(nest.ok()) << c.steps;
    EXPECT_EQ(nest.error().code, c.code) << c.steps << "\n" << described(nest.error());
  }
}

TEST(IndexSetSplit, is_proposed_where_conditions_have_residues) {
  for (const std::string& text : {scatter(3, 4, 1), std::string(kImage)}) {
    Program program = normalized_program(text);
    auto traces =
        schedules::sketches(program, NumericsClass::reassoc, machine_with(16, 16, {1 << 10, 8 << 10, 64 << 10}, 1));
    EXPECT_NE(traces.front().text().find("index_set_split Y y, t mod"), std::string::npos) << traces.front().text();
    for (const Trace& trace : traces) {
      auto t = schedules::replay(program, NumericsClass::reassoc, trace);
      ASSERT_TRUE(t.ok()) << described(t.error());
      for (const Stage& stage : t->stages) EXPECT_TRUE(stage.guards.empty());
      auto nest = instantiate(*t, values_of(trace));
      ASSERT_TRUE(nest.ok()) << described(nest.error());
      EXPECT_EQ(difference(program, *nest, 7, ir::DataKind::random), "") << trace.text();
    }
  }
}

}  // namespace
}  // namespace polyweft::test
