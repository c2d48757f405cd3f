// Snapshots: a read with cells of its own, before all judges; what it lets tiles do that they may not do without;
// refusals.
#include "ir/normalize/snapshot.h"

#include <random>
#include <regex>

#include "bands_harness.h"
#include "samples.h"

namespace polyweft::test {
namespace {

Program closure(int n) {
  return normalized_program("program fw(N = " + std::to_string(n) +
                            ")\nin path0: i32[N, N]\nlet path[0, i: N, j: N] = path0[i, j]\n"
                            "let path[k: 1..N+1, i: N, j: N] = min(path[k-1, i, j], path[k-1, i, k-1] + path[k-1, k-1, "
                            "j])\nout path_out[i: N, j: N] = path[N, i, j]\n");
}

const std::string kSnapshots = "snapshot R of path read 3 in path@2\nsnapshot C of path read 2 in path@2\n";
const std::string kQuarters =
    "cut R where j - k + 1\ncut C where i - k + 1\ncut path@2 where i - k + 1\ncut path@2 where j - k + 1\n";
const std::string kBand =
    "band fw [k, i, j] of R.p1: [k, k-1, j], R.p2: [k, k-1, j+N], C.p1: [k, i, k-1], C.p2: [k, i+N, k-1], path@2.p1: "
    "[k, i, j], path@2.p2: [k, i, j+N], path@2.p3: [k, "
    "i+N, j], path@2.p4: [k, i+N, j+N]\nfold path d0 mod 1\n";

TEST(Snapshots, let_the_closure_of_a_graph_run_in_tiles_in_one_plane) {
  for (int n : {1, 6, 9}) {
    expect_right(closure(n), kSnapshots + kQuarters + kBand);
    expect_right(closure(n), kSnapshots + kQuarters + kBand + "tile fw [k: 3, i: 3, j: 4]\n");
  }
  const std::string tiles = "store path in path_out\nfold R d0 mod 3\nfold C d0 mod 3\ntile fw [k: 3, i: 3, j: 6]\n";
  expect_right(
      closure(12),
      kSnapshots + kQuarters + kBand + tiles +
          "isolate path@2.p1, path@2.p2, path@2.p3, path@2.p4 in fw at j.1 where i - k, j - k\ndistribute fw at i\n"
          "permute path@2.p4.far [i, k, j]\nvectorize path@2.p1 j 4\nvectorize path@2.p4.far j 4\n");
}

// Row and column k are read at step k and change at step k: no tile of several steps may take them from the plane that
// they live in.
TEST(Snapshots, are_what_makes_such_tiles_legal) {
  const std::string plain = "band fw [k, i, j] of path@2: [k, i, j]\n";
  EXPECT_NE(refusal(closure(9), plain + "fold path d0 mod 1\n").find("PW0305"), std::string::npos);
  const std::string pieces =
      "cut path@2 where i - k + 1\ncut path@2 where j - k + 1\nband fw [k, i, j] of path@2.p1: [k, i, j], path@2.p2: "
      "[k, i, j+N], path@2.p3: [k, i+N, j], "
      "path@2.p4: [k, i+N, j+N]\n";
  const std::string why = refusal(closure(9), pieces + "fold path d0 mod 1\n");
  EXPECT_NE(why.find("PW0305"), std::string::npos) << why;
  EXPECT_NE(why.find("must run before path@2"), std::string::npos) << why;
  // With a ring of copies that is too small for the tile the next steps would overwrite what this one reads.
  const std::string small =
      refusal(closure(12), kSnapshots + kQuarters + kBand + "fold R d0 mod 2\ntile fw [k: 3, i: 3, j: 6]\n");
  EXPECT_NE(small.find("PW0305"), std::string::npos) << small;
}

TEST(Snapshots, are_copies_in_the_nest_that_hold_elements_of_the_tensor) {
  const auto t = replayed(closure(6), kSnapshots + kQuarters + kBand);
  ASSERT_TRUE(t.ok()) << described(t.error());
  const auto nest = instantiate(*t, {});
  ASSERT_TRUE(nest.ok());
  const std::string text = print(*nest);
  EXPECT_TRUE(std::regex_search(
      text, std::regex("buffer C: i32\\[6, 6\\] heap align 64 tensor 1 element \\[\\$0, \\$1, \\$0\\]")))
      << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("copy C\\["))) << text;
  EXPECT_FALSE(std::regex_search(text, std::regex("tensor [3-9]"))) << text;
  // A copy from another place, or of the wrong step, is refuted by checker and tags.
  const Program program = closure(6);
  int changed = 0;
  for (size_t k = 0; k < nest->nodes.size(); ++k) {
    if (!std::holds_alternative<Copy>(nest->nodes[k])) continue;
    LoopNest wrong = *nest;
    auto& copy = std::get<Copy>(wrong.nodes[k]);
    std::swap(copy.src.index[1], copy.src.index[2]);
    EXPECT_EQ(poly::check_nest(program, wrong).verdict, Verdict::refuted) << print(wrong);
    ++changed;
  }
  EXPECT_EQ(changed, 4);
}

// One row in place: the left neighbour is overwritten before it is read, unless it was copied.
TEST(Snapshots, let_a_stencil_run_in_place) {
  const Program program = normalized_program(
      "program row(T = 5, N = 11)\nin a: f32[N]\nlet x[0, i: N] = a[i]\nlet x[t: 1..T, 0] = x[t-1, 0]\nlet x[t: 1..T, "
      "N-1] = x[t-1, N-1]\n"
      "let x[t: 1..T, i: 1..N-1] = 0.25 * x[t-1, i-1] + 0.5 * x[t-1, i] + 0.25 * x[t-1, i+1]\nout y[i: N] = x[T-1, "
      "i]\n");
  const std::string band = "band b [t, s, i] of x@2: [t, 1, 0], x@3: [t, 1, N-1], x@4: [t, 1, i]\n";
  EXPECT_NE(refusal(program, band + "fold x d0 mod 1\n").find("PW0305"), std::string::npos);
  expect_right(program,
               "snapshot L of x read 1 in x@4\nband b [t, s, i] of L: [t, 0, i], x@2: [t, 1, 0], x@4: [t, 1, i], x@3: "
               "[t, 1, N-1]\nfold x d0 mod 1\nfold L d0 mod 1\n");
  expect_right(program,
               "snapshot L of x read 1 in x@4\nband b [t, s, i] of L: [t, 0, i], x@2: [t, 1, 0], x@4: [t, 1, i], x@3: "
               "[t, 1, N-1]\nfold x d0 mod 1\nfold L d0 mod 1\n"
               "distribute b at s\nvectorize L i 4\nvectorize x@4 i 4\n");
}

TEST(Snapshots, of_reads_in_sums_and_under_conditions) {
  const Program product = normalized_program(
      "program p(M = 5, N = 7)\nin A: f32[M, N]\nin x: f32[N]\nout y[i: M] = sum[j: N] A[i, j] * x[j]\n");
  expect_right(product, "snapshot P of A read 1 in y\nsnapshot z of x read 1 in y\nvectorize P j 4\n");
  const Program guarded = normalized_program(
      "program g(N = 9)\nin a: f32[N]\nlet b[i: 2..N] = 2.0 * a[i]\nout y[i: N] = b[i-1] where i >= 3 else 0.0\n");
  expect_right(guarded, "snapshot c of b read 1 in y\n");
  const Program triangle =
      normalized_program("program t(N = 9)\nin a: f32[N, N]\nout y[i: N] = sum[j: i..N] a[j, i]\n");
  expect_right(triangle, "snapshot c of a read 1 in y\n");
}

TEST(Snapshots, refusals) {
  const Program program = closure(6);
  const auto expect_refused = [&](const std::string& steps, const std::string& what) {
    const std::string got = refusal(program, steps);
    EXPECT_NE(got.find(what), std::string::npos) << steps << got;
  };
  expect_refused("snapshot C of path read 2 in nobody\n", "PW0302");
  expect_refused("snapshot C of nothing read 2 in path@2\n", "PW0302 snapshot C: there is no tensor 'nothing'");
  expect_refused("snapshot C of path read 4 in path@2\n", "PW0308 snapshot C: statement path@2 reads path 3 times");
  expect_refused("snapshot path0 of path read 2 in path@2\n",
                 "PW0304 snapshot path0: there is a tensor or statement of this name");
  expect_refused("snapshot C of path read 2 in path@2\nsnapshot C of path read 2 in path@2\n",
                 "PW0304 snapshot C: there is a tensor");
  expect_refused("cut path@2 where i - k\nsnapshot C of path read 2 in path@2\n",
                 "PW0304 snapshot C: other steps came before");
  expect_refused("band fw [k, i, j] of path@2: [k, i, j]\nsnapshot C of path read 2 in path@2\n",
                 "PW0304 snapshot C: other steps came before");
  const Program sum =
      normalized_program("program p(N = 6)\nin a: f32[2*N]\nout y[i: N, j: N] = a[i + j] + a[i // 2]\n");
  EXPECT_NE(
      refusal(sum, "snapshot c of a read 1 in y\n").find("PW0308 snapshot c: it would hold an element once for each"),
      std::string::npos)
      << refusal(sum, "snapshot c of a read 1 in y\n");
  EXPECT_NE(refusal(sum, "snapshot c of a read 2 in y\n")
                .find("PW0308 snapshot c: what is read depends on data, or on quotients"),
            std::string::npos);
  const Program dragged =
      normalized_program("program d(N = 6)\nin a: f32[N]\nout partial y[i: N, j: N] where i + j >= 3 = a[i] + 1.0\n");
  EXPECT_NE(refusal(dragged, "snapshot c of a read 1 in y\n")
                .find("PW0308 snapshot c: it would hold an element once for each j"),
            std::string::npos);
  EXPECT_EQ(ir::with_snapshot(program, {99, 1, 1, "C"}).error().code, "PW0605");
  EXPECT_EQ(ir::with_snapshot(program, {1, 1, 7, "C"}).error().code, "PW0605");
}

/// x[t, i, j] from cells of plane t-1: near ones, and rows or columns of the step.
std::string random_system(std::mt19937& random, int n) {
  const std::vector<std::string> rows = {"i", "t-1", "i-1", "i+1"}, columns = {"j", "t-1", "j-1", "j+1"};
  std::string value = "x[t-1, i, j]";
  for (int k = 0; k < 2; ++k)
    value += " + " + std::to_string(k + 2) + " * x[t-1, " + rows[random() % rows.size()] + ", " +
             columns[random() % columns.size()] + "]";
  const std::string size = std::to_string(n);
  return "program r(N = " + size +
         ")\nin a: i32[N, N]\nlet x[0, i: N, j: N] = a[i, j]\nlet x[t: 1..N, i: N, j: N] where i == 0 or j == 0 or i "
         "== N-1 or j == N-1 = x[t-1, i, j]\n"
         "let x[t: 1..N, i: 1..N-1, j: 1..N-1] = " +
         value + "\nout y[i: N, j: N] = x[N-1, i, j]\n";
}

// Random reads, snapshots, shifts and tiles: what the relations admit is right before all judges.
TEST(Snapshots, random_systems_that_are_admitted_are_right) {
  std::mt19937 random(7);
  int admitted = 0, refused = 0;
  for (int round = 0; round < (takes_all_cases() ? 60 : 30); ++round) {
    const Program program = normalized_program(random_system(random, 6));
    std::string steps, first, statements = "x@2: [t, 1, i, j], x@3: [t, 1, i, j]";
    const uint32_t which = random() % 4;
    if (which >= 2) steps += "snapshot B of x read 3 in x@3\n";
    if (which % 2 == 1) steps += "snapshot A of x read 2 in x@3\n";
    NestTemplate with = schedules::unscheduled_template(program, NumericsClass::reassoc);
    const Trace snapshots = *parse_trace("trace 1\n" + steps);
    for (const Step& step : snapshots.steps) with = *schedules::apply(with, step);
    for (const Stage& stage : with.stages) {
      if (stage.name != "A" && stage.name != "B") continue;
      const auto& names = with.program.equations[stage.equation].index_names;
      const auto place = [&](const char* index) {
        return std::find(names.begin(), names.end(), index) != names.end() ? index : "0";
      };
      first += stage.name + ": [t, 0, " + place("i") + ", " + place("j") + "], ";
    }
    steps +=
        "band b [t, s, i, j] of " + first + statements + "\nfold x d0 mod " + std::to_string(1 + random() % 2) + "\n";
    if (random() % 2) steps += "tile b [i: 3, j: 2]\npermute b [t, s, i.1, j.1, i, j]\n";
    if (replayed(program, steps)) {
      ++admitted;
      expect_right(program, steps);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(admitted, takes_all_cases() ? 10 : 5);
  EXPECT_GT(refused, takes_all_cases() ? 5 : 2);
}

}  // namespace
}  // namespace polyweft::test
