// The note that says where a tensor is defined, read as a condition, holds exactly where an equation defines it.
#include "corpus.h"
#include "ir/values/domain.h"
#include "poly/check.h"

namespace polyweft::poly_test {
namespace {

/// "t = 0 and 0 <= i < N, or .." of the first note of PW0204; empty without one.
std::string definition_note(const Program& program, const std::string& tensor) {
  const std::string begin = tensor + " is defined on ";
  for (const Diagnostic& error : poly::check(program).errors)
    for (const std::string& note : error.notes)
      if (note.starts_with(begin)) return note.substr(begin.size());
  return "";
}

std::string with(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// As a condition of the language on indices of these names.
Guard condition_of(const std::string& note, const std::string& parameters, const std::vector<std::string>& indices) {
  std::string slots;
  for (const std::string& index : indices) slots += (slots.empty() ? "" : ", ") + index + ": 99";
  const Program program = parsed("program q(" + parameters + ")\nout partial m[" + slots + "]: f64 where (" +
                                 with(with(note, " = ", " == "), ", or ", ") or (") + ") = 1.0\n");
  return program.equations.at(0).where;
}

bool is_defined(const Program& program, const std::string& tensor, const std::vector<int64_t>& point) {
  for (const Equation& equation : program.equations) {
    ir::Environment env = ir::environment_of(program, equation);
    if (program.tensors[equation.targets[0]].name == tensor && ir::solve(equation, point, env)) return true;
  }
  return false;
}

struct DefinitionCase {
  std::string parameters;
  std::vector<std::string> indices;
  std::string equations;  ///< of u; its input is x: f32[N]
  std::string reader;
};
const DefinitionCase kDefinitions[] = {
    {"T = 5, N = 10",
     {"t", "i"},
     "let u[0, i: N] = x[i]\nlet u[t: 1..T, i: 1..N-1] = u[t-1, i-1] + u[t-1, i+1]",
     "out y[i: N] = u[T, i]"},
    {"T = 4, N = 7", {"t", "i"}, "let u[0, i: N] = x[i]\nlet u[t: 1..T+1, i: 1..N-1] = x[i]", "out y[i: N] = u[T, i]"},
    {"N = 6", {"i"}, "let u[i: 1..N] = x[i]", "out y[i: N] = u[i]"},
    {"N = 6", {"i", "j"}, "let u[i: N, j: 0..i+1] = x[j]", "out y[i: N] = u[i, i+1]"},
    {"N = 8, M = 5", {"i"}, "let u[i: N] where i < 2 or i > M = x[i]", "out y[i: N] = u[i]"},
    {"N = 8", {"i", "j"}, "let u[i: N, j: N] where i + j < N and i != 3 = x[j]", "out y[i: N] = u[i, i]"},
    {"N = 8", {"i"}, "let u[i: N] where i % 2 == 0 = x[i]", "out y[i: N] = u[i]"},
    {"N = 8", {"i"}, "let u[0] = x[0]\nlet u[N-1] = x[1]\nlet u[i: 2..N-1] = x[i]", "out y[i: N] = u[i]"},
    {"N = 8", {"i"}, "let u[i: 0..3] = x[0]\nlet u[i: 3..N-1] = x[i]", "out y[i: N] = u[i]"},
};

TEST(DefinitionText, is_exactly_where_a_tensor_is_defined) {
  constexpr int64_t kAround = 14;
  for (const DefinitionCase& c : kDefinitions) {
    const Program program =
        parsed("program p(" + c.parameters + ") assume N >= 4\nin x: f32[N]\n" + c.equations + "\n" + c.reader + "\n");
    const std::string note = definition_note(program, "u");
    ASSERT_NE(note, "") << c.equations;
    const Guard guard = condition_of(note, c.parameters, c.indices);
    for (int64_t n = 4; n <= 9; ++n) {
      std::map<std::string, int64_t> sizes;
      for (const Parameter& p : program.parameters) sizes[p.name] = p.name == "N" ? n : p.value;
      const Program bound = polyweft::bind(program, make_binding(program, sizes).value());
      std::vector<int64_t> values;
      for (const Parameter& p : bound.parameters) values.push_back(p.value);
      const bool is_flat = c.indices.size() == 1;
      for (int64_t a = -3; a < kAround; ++a)
        for (int64_t b = is_flat ? 0 : -3; b < (is_flat ? 1 : kAround); ++b) {
          std::vector<int64_t> point = {a}, at = values;
          if (!is_flat) point.push_back(b);
          at.insert(at.end(), point.begin(), point.end());
          ASSERT_EQ(polyweft::evaluate(guard, at), is_defined(bound, "u", point))
              << note << "\nu[" << a << (is_flat ? "" : ", " + std::to_string(b)) << "], N = " << n;
        }
    }
  }
}

TEST(DefinitionText, says_what_bounds_the_read_and_leaves_out_what_follows) {
  const auto note = [](const std::string& body) {
    return definition_note(parsed("program p(T = 5, N = 10)\nin x: f32[N]\n" + body), "u");
  };
  EXPECT_EQ(note("let u[0, i: N] = x[i]\nlet u[t: 1..T, i: 1..N-1] = x[i]\nout y[i: N] = u[T, i]\n"),
            "t = 0 and 0 <= i < N, or 1 <= t < T and 1 <= i < N-1");
  EXPECT_EQ(note("let u[i: N, j: 0..i+1] where i >= 0 = x[j]\nout y[i: N] = u[i, i+1]\n"), "i < N and 0 <= j < i+1");
  EXPECT_EQ(note("let u[0, t: N] = x[t]\nlet u[t: 1..T, j: N] = x[j]\nout y[i: N] = u[T, i]\n"),
            "index 1 = 0 and 0 <= t < N, or 1 <= t < T and 0 <= j < N");
}

}  // namespace
}  // namespace polyweft::poly_test
