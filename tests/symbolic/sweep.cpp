#include "symbolic/sweep.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/passes/register_blocks.h"
#include "ir/passes/vectorize_rows.h"
#include "ir/small_inputs.h"
#include "ir/values/scalar.h"
#include "lang/parser.h"
#include "poly/base_nest.h"
#include "poly/check/checker.h"
#include "polyweft/target.h"
#include "random/guarded_call.h"
#include "targets/cpu/build.h"

namespace polyweft::symbolic_test {
namespace {

std::string difference(const ir::Evaluation& expected, const std::vector<TensorData>& found, bool exact) {
  if (found.size() != expected.tensors.size()) return "another number of outputs";
  for (size_t o = 0; o < found.size(); ++o) {
    if (found[o].elements() != expected.tensors[o].elements())
      return "output " + std::to_string(o) + " has other extents";
    for (int64_t k = 0; k < found[o].elements(); ++k) {
      if (!expected.written[o][static_cast<size_t>(k)]) continue;
      const Literal a = found[o].at(k), b = expected.tensors[o].at(k);
      if (!test::same_within(a, b, exact ? 0 : expected.bound[o][static_cast<size_t>(k)]))
        return "output " + std::to_string(o) + " element " + std::to_string(k) + ": " +
               std::to_string(is_float(a.type) ? a.f : static_cast<double>(a.i)) + " for " +
               std::to_string(is_float(b.type) ? b.f : static_cast<double>(b.i));
    }
  }
  return "";
}

std::string text_of(const Binding& binding) {
  std::string out;
  for (int64_t value : binding) out += " " + std::to_string(value);
  return out;
}

/// What a symbolic nest computes, at these sizes. What is normalized after the sizes are bound may have other
/// equations.
Program computed(const Program& program, const Binding& binding) {
  return polyweft::bind(normalize(program), binding);
}

/// Terms instead of numbers: the nest's in the interpreter, those of the equations that it computes in the evaluator.
/// (As it is written, a reduction that a condition empties is another term than the identity which takes its place.)
std::string tag_difference(const Program& normal, const LoopNest& nest, const std::vector<TensorData>& inputs) {
  ir::EvaluateOptions options;
  options.tags = nest.cls;
  auto expected = ir::evaluate(normal, inputs, options);
  ir::InterpreterOptions with_tags;
  with_tags.with_tags = true;
  auto found = ir::interpret(nest, inputs, with_tags);
  if (!expected) return "evaluator: " + expected.error().message;
  if (!found) return "interpreter: " + found.error().code + ": " + found.error().message;
  for (size_t o = 0; o < expected->tags.size(); ++o)
    for (size_t k = 0; k < expected->tags[o].size(); ++k)
      if (expected->written[o][k] && !(found->tags[o][k] == expected->tags[o][k]))
        return "the tags of output " + std::to_string(o) + " differ at element " + std::to_string(k);
  return "";
}

/// The checker's verdict on the nest at these sizes.
std::string refutation(const Program& normal, const LoopNest& nest) {
  const poly::NestCheck check = poly::check_nest(normal, nest);
  return check.verdict == Verdict::proven ? "" : "not proven: " + check.code + ": " + check.message;
}

/// A symbolic nest, what code generation's passes make of it, and its code.
struct Judged {
  const LoopNest& nest;
  const LoopNest& behind_passes;
  const targets::LoadedCode& code;
};

std::string judge(const Program& program, const Judged& judged, const Binding& binding, bool exact) {
  auto here = specialize(judged.nest, binding);
  if (!here) return here.error().message;
  if (auto fits = verify(*here); !fits) return fits.error().message;
  const Program bound = polyweft::bind(program, binding);
  const auto inputs = test::small_inputs(bound, 7);
  ir::EvaluateOptions options;
  options.with_bounds = !exact;
  auto expected = ir::evaluate(bound, inputs, options);
  if (!expected) return "evaluator: " + expected.error().message;
  if (const std::string wrong = tag_difference(computed(program, binding), *here, inputs); !wrong.empty()) return wrong;
  auto behind = specialize(judged.behind_passes, binding);
  if (!behind) return "behind passes: " + behind.error().message;
  if (const std::string wrong = tag_difference(computed(program, binding), *behind, inputs); !wrong.empty())
    return "behind passes: " + wrong + "\n" + print(*behind);
  const auto called = random_test::guarded_call(*here, judged.code, inputs, random_test::Wall::behind, 1, binding);
  if (!called.trouble.empty()) return called.trouble;
  return difference(*expected, called.outputs, exact);
}

}  // namespace

std::vector<Program> programs_in(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PW_SOURCE_DIR + ("/" + folder)))
    if (entry.path().extension() == ".weft") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Program> out;
  for (const auto& path : paths) {
    std::ifstream in(path);
    auto parsed = lang::parse({std::istreambuf_iterator<char>(in), {}}, path.string());
    if (parsed)
      for (Program& program : parsed->programs) out.push_back(std::move(program));
  }
  return out;
}

std::vector<Binding> bindings_of(const Program& program, int64_t most) {
  std::vector<Binding> out;
  const auto try_one = [&](const std::function<int64_t(size_t)>& value) {
    std::map<std::string, int64_t> values;
    for (size_t p = 0; p < program.parameters.size(); ++p) values[program.parameters[p].name] = value(p);
    auto binding = make_binding(program, values);
    if (binding && std::find(out.begin(), out.end(), *binding) == out.end()) out.push_back(*binding);
  };
  const std::vector<int64_t> mixed = {2, 5, 3, 1, 7, 4, 6};
  for (int64_t s : {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 17, 19}) {
    if (s > most) break;
    try_one([&](size_t) { return s; });
    try_one([&](size_t p) { return mixed[(p + static_cast<size_t>(s)) % mixed.size()]; });
    try_one([&](size_t p) { return p == 0 ? 2 * s : s; });
    try_one([&](size_t p) { return p == 0 ? s : 0; });
    try_one([&](size_t p) { return p + 1 == program.parameters.size() ? 0 : s; });
  }
  return out;
}

Swept sweep(const Program& program, NumericsClass cls, std::vector<Binding> bindings) {
  Swept out;
  auto nest = poly::symbolic_nest(normalize(program), cls);
  if (!nest) {
    out.refusal = nest.error().code + ": " + nest.error().message;
    return out;
  }
  if (auto verified = verify(*nest); !verified) {
    out.trouble = verified.error().message;
    return out;
  }
  auto again = parse_loop_nest(print(*nest));
  if (!again || print(*again) != print(*nest) || hash(*again) != hash(*nest)) {
    out.trouble = "the text does not parse back: " + (again ? print(*nest) : again.error().message);
    return out;
  }
  const ir::BlockShape shape = ir::block_shape(*find_target("host"));
  const LoopNest vectors = ir::vectorize_rows(ir::block_rows(*again, shape), shape.vector_bytes);
  if (auto verified = verify(vectors); !verified) {
    out.trouble = verified.error().message + "\n" + print(vectors);
    return out;
  }
  auto object = targets::compile_object(vectors, *find_target("host"));
  if (!object) {
    out.trouble = object.error().message;
    return out;
  }
  auto code = targets::load_code(*object);
  if (!code) {
    out.trouble = code.error().message;
    return out;
  }
  auto behind_passes = targets::behind_passes(vectors, *find_target("host"), "");
  if (behind_passes) behind_passes->auto_vectorized = false;  // else registers are not allowed
  if (auto verified = behind_passes ? verify(*behind_passes) : behind_passes.error(); !verified) {
    out.trouble = "behind passes: " + verified.error().message;
    return out;
  }
  if (bindings.empty()) bindings = bindings_of(program, std::getenv("PW_SYMBOLIC_ALL") ? 19 : 7);
  const size_t proofs = std::getenv("PW_SYMBOLIC_ALL") ? 4 : 1;
  for (size_t k = bindings.size() - std::min(bindings.size(), proofs); k < bindings.size(); ++k) {
    auto here = specialize(vectors, bindings[k]);
    if (here) out.trouble = refutation(computed(program, bindings[k]), *here);
    if (!out.trouble.empty()) {
      out.trouble = "at" + text_of(bindings[k]) + ": " + out.trouble;
      return out;
    }
  }
  for (const Binding& binding : bindings) {
    const std::string trouble =
        judge(program, {vectors, *behind_passes, **code}, binding, cls == NumericsClass::strict);
    if (!trouble.empty()) {
      out.trouble = "at" + text_of(binding) + ": " + trouble;
      return out;
    }
    ++out.sizes;
  }
  return out;
}

}  // namespace polyweft::symbolic_test
