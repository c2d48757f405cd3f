#include "c_source/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lang/parser.h"
#include "poly/base_nest.h"

namespace polyweft::c_source_test {
namespace {

namespace fs = std::filesystem;

/// Sizes of some 4 to 12 that the assumptions admit, found by halving all at once.
Binding small_sizes(const Program& program) {
  Binding best;
  for (int halvings = 0; halvings < 12; ++halvings) {
    std::map<std::string, int64_t> sizes;
    for (const Parameter& p : program.parameters)
      sizes[p.name] = std::max(p.value >> halvings, std::min<int64_t>(p.value, 5));
    auto binding = make_binding(program, sizes);
    for (const Parameter& p : program.parameters)
      sizes[p.name] = std::max(p.value >> halvings, std::min<int64_t>(p.value, 4));
    if (!binding) binding = make_binding(program, sizes);
    if (binding) best = *binding;
  }
  return best;
}

bool calls_functions(const Program& program) {
  bool found = false;
  const auto look = [&](const ExprNode& e) {
    found |= (e.op >= Op::exp && e.op <= Op::cos && e.op != Op::sqrt) || e.op == Op::pow;
  };
  for (const Equation& q : program.equations) visit(q.rhs, look);
  for (const Combiner& c : program.combiners)
    for (const Expr& e : c.result) visit(e, look);
  return found;
}

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(PW_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".weft") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<Program> programs_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  auto parsed = lang::parse(text.str(), file);
  EXPECT_TRUE(parsed) << file;
  return parsed ? parsed->programs : std::vector<Program>();
}

void Cases::add(const Program& source, const Binding& sizes, NumericsClass cls, const std::string& what) {
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

Cases cases_of(const std::string& folder, const std::vector<NumericsClass>& classes) {
  Cases cases;
  for (const fs::path& file : files_of(folder))
    for (const Program& program : programs_of(file.string()))
      for (const NumericsClass cls : classes)
        cases.add(program, small_sizes(program), cls, file.filename().string() + ":" + program.name);
  return cases;
}

std::string difference(const Case& one, const std::vector<TensorData>& got, const ir::Evaluation& wanted) {
  for (size_t k = 0; k < got.size(); ++k)
    for (int64_t e = 0; e < got[k].elements(); ++e) {
      if (!wanted.written.empty() && !wanted.written[k].empty() && !wanted.written[k][static_cast<size_t>(e)]) continue;
      const Literal a = got[k].at(e), b = wanted.tensors[k].at(e);
      const double bound =
          wanted.bound.empty() || wanted.bound[k].empty() ? 0 : wanted.bound[k][static_cast<size_t>(e)];
      const bool both_nan = is_float(a.type) && std::isnan(a.f) && std::isnan(b.f);
      const bool is_near = is_float(a.type) && (a.f == b.f || std::abs(a.f - b.f) <= bound || std::isinf(bound));
      const bool same = a == b || both_nan || (is_float(a.type) && a.f == b.f && one.nest.cls != NumericsClass::strict);
      const bool undetermined = std::isinf(bound) && !one.is_exact;
      if (same || undetermined || (!one.is_exact && is_near)) continue;
      const auto text = [](const Literal& v) { return is_float(v.type) ? std::to_string(v.f) : std::to_string(v.i); };
      return "output " + std::to_string(k) + " element " + std::to_string(e) + ": " + text(a) + " instead of " +
             text(b);
    }
  return "";
}

}  // namespace polyweft::c_source_test
