// A backend that the library does not know is added from outside: the registry lists it, its kernels give the
// interpreter's bits, what it has not got it says.
#include "backend/python_backend.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "backend/bits.h"
#include "backend/python_cases.h"
#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "poly/base_nest.h"
#include "polyweft/tuner.h"
#include "support/cpu_features.h"
#include "targets/registry.h"

namespace polyweft::backend_test {
namespace {

namespace fs = std::filesystem;
using targets::Backend;

/// An architecture is added once, before anybody else asks the registry.
class PythonTarget : public testing::Test {
 protected:
  static void SetUpTestSuite() { targets::add_backend(python_backend()); }
  void SetUp() override {
    ASSERT_NE(backend_, nullptr);
    if (Status runs = backend_->runs_here(target_); !runs) GTEST_SKIP() << runs.error().message;
  }

  std::unique_ptr<targets::LoadedKernel> loaded(const LoopNest& nest) const {
    const auto made = backend_->build(nest, target_, {"kernel", targets::Caller::anyone, targets::Loader::process});
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (!made) return nullptr;
    auto kernel = backend_->load(*made, nest, target_);
    EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message);
    return kernel ? std::move(*kernel) : nullptr;
  }
  std::string text(const LoopNest& nest) const {
    auto made = backend_->build(nest, target_, {"kernel"});
    return made ? std::string(made->bytes.begin(), made->bytes.end()) : made.error().message;
  }

  void expect_bits(const LoopNest& nest, targets::LoadedKernel& kernel, const std::vector<TensorData>& inputs) const {
    ASSERT_EQ(difference_from_interpreter(nest, kernel, inputs), "") << print(nest) << text(nest);
  }
  void expect_refused(const LoopNest& nest, const std::string& what) const {
    const auto made = backend_->build(nest, target_, {"kernel"});
    ASSERT_FALSE(made) << what;
    EXPECT_EQ(made.error().code, "PW0523");
    EXPECT_EQ(made.error().message, "the backend for python has no " + what);
  }

  const Backend* backend_ = targets::backend_of("python");
  Target target_ = find_target("python").value();
};

// ---- the registry ----

TEST_F(PythonTarget, is_found_by_its_name_and_its_architecture) {
  std::vector<std::string> architectures;
  for (const Backend* backend : targets::backends()) architectures.push_back(backend->architecture());
  EXPECT_TRUE(std::is_sorted(architectures.begin(), architectures.end()));
  EXPECT_EQ(std::count(architectures.begin(), architectures.end(), "python"), 1);
  const auto names = target_names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "python"), 1);
  EXPECT_EQ(target_.architecture, "python");
  EXPECT_EQ(fingerprint(target_), "python/64/32K+1024K");
  EXPECT_TRUE(target_.is_host);
  EXPECT_NE(find_target("host")->architecture, "python");
  auto backend = targets::backend_for(target_);
  ASSERT_TRUE(backend);
  EXPECT_EQ(*backend, backend_);
}

class Description {
 public:
  explicit Description(const std::string& text)
      : path_((fs::temp_directory_path() / ("polyweft-python-" + std::to_string(getpid()) + ".toml")).string()) {
    std::ofstream(path_) << text;
  }
  ~Description() { fs::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_F(PythonTarget, is_described_in_a_file) {
  const Description written(describe(target_));
  const auto again = find_target(written.path());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(fingerprint(*again), fingerprint(target_));
  EXPECT_EQ(again->machine.units.vector_registers, target_.machine.units.vector_registers);
  const Description wrong("architecture = \"python\"\nfeatures = [\"asyncio\"]\n");
  const auto refused = find_target(wrong.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "PW0511");
  EXPECT_NE(refused.error().message.find("'asyncio' is a feature, and Python has none"), std::string::npos)
      << refused.error().message;
}

TEST_F(PythonTarget, makes_a_module_that_names_its_functions) {
  const LoopNest nest = nest_of_text(text_of_case("packed_input"));
  const auto made = backend_->build(nest, target_, {"kernel"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->kind, kPythonSource);
  EXPECT_EQ(made->kernels, (std::vector<std::string>{"kernel", "kernel_pack_B"}));
  ASSERT_EQ(made->plan.launches.size(), 1u);
  EXPECT_EQ(made->plan.launches[0].symbol, "kernel");
  EXPECT_TRUE(made->plan.workspaces.empty());
  EXPECT_TRUE(made->features.empty());
  EXPECT_EQ(made->id.size(), 32u);
  EXPECT_EQ(made->id, backend_->build(nest, target_, {"kernel"})->id);
  EXPECT_NE(text(nest).find("\ndef kernel_pack_B(B, Bp):\n"), std::string::npos) << text(nest);
  const auto folded =
      backend_->build(nest_of_text(text_of_case("fold_pads_and_a_mixed_radix_layout")), target_, {"kernel"});
  ASSERT_TRUE(folded) << folded.error().message;
  ASSERT_EQ(folded->plan.workspaces.size(), 1u);
  EXPECT_EQ(folded->plan.workspaces[0].name, "w");
  EXPECT_EQ(folded->plan.workspaces[0].bytes, 4 * (4 * (2 + 1) * (4 + 2)));
}

TEST_F(PythonTarget, loads_its_own_artifacts_only) {
  const LoopNest nest = base_nest_of(text_of_case("matrix_product"));
  auto made = backend_->build(nest, target_, {"kernel"});
  ASSERT_TRUE(made) << made.error().message;
  made->kind = "elf-shared";
  const auto kernel = backend_->load(*made, nest, target_);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, "PW0516");
  EXPECT_EQ(kernel.error().message,
            "the kernel cannot be loaded: it is of kind 'elf-shared', and 'python-source' is loaded here");
}

class Nowhere final : public Backend {
 public:
  std::string architecture() const override { return "nowhere"; }
  std::string derive(Target&) const override { return {}; }
  Result<targets::Artifact> build(const LoopNest&, const Target&, const targets::BuildOptions&) const override {
    return lacks("code");
  }
};

TEST_F(PythonTarget, a_machine_that_no_backend_knows_is_no_host) {
  const Nowhere nowhere;
  const auto host = targets::host_of({&nowhere, backend_});
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().code, "PW0522");
  EXPECT_EQ(host.error().message,
            "target host: no backend knows the machine that this process runs on, whose architecture is " +
                native_architecture());
  ASSERT_EQ(host.error().notes.size(), 1u);
  EXPECT_EQ(host.error().notes[0], "name a target instead; there are backends for nowhere, python");
  const auto known = targets::host_of(targets::backends());
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known->architecture, native_architecture());
}

TEST_F(PythonTarget, says_where_there_is_no_python) {
  const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  ASSERT_EQ(setenv("PATH", "/nonexistent", 1), 0);
  const Status runs = python_backend()->runs_here(target_);
  ASSERT_EQ(setenv("PATH", path.c_str(), 1), 0);
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().code, "PW0517");
  EXPECT_EQ(runs.error().message,
            "a kernel for python needs python3, which does not run here: child process: cannot start 'python3': No "
            "such file or directory");
}

// ---- bits ----

TEST_F(PythonTarget, programs_give_the_bits_of_interpreter_and_evaluator) {
  for (const PythonCase& c : program_cases()) {
    SCOPED_TRACE(c.name);
    const Program program = program_of_text(c.text);
    for (const NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc}) {
      const auto nest = poly::base_nest(program, cls);
      ASSERT_TRUE(nest) << nest.error().message;
      const auto kernel = loaded(*nest);
      ASSERT_NE(kernel, nullptr);
      for (uint64_t seed = 1; seed <= 3; ++seed) expect_bits(*nest, *kernel, inputs_of(program, seed));
      if (cls != NumericsClass::strict) continue;
      const auto inputs = inputs_of(program, 4);
      const auto wanted = ir::evaluate(program, inputs);
      ASSERT_TRUE(wanted) << wanted.error().message;
      std::vector<TensorData> got = wanted->tensors;
      for (TensorData& data : got) std::fill(data.bytes.begin(), data.bytes.end(), 0);
      ASSERT_EQ(call(*kernel, inputs, got).value(), 0);
      for (size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(first_difference(got[k], wanted->tensors[k]), "") << "output " << k;
    }
  }
}

TEST_F(PythonTarget, operators_of_all_types_give_the_bits_of_the_interpreter) {
  for (const std::string type : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
    SCOPED_TRACE(type);
    const Program program = program_of_text(operators_of(type));
    const auto nest = poly::base_nest(program, NumericsClass::strict);
    ASSERT_TRUE(nest) << nest.error().message;
    const auto kernel = loaded(*nest);
    ASSERT_NE(kernel, nullptr);
    for (uint64_t seed = 1; seed <= 12; ++seed) expect_bits(*nest, *kernel, inputs_of(program, seed));
  }
}

TEST_F(PythonTarget, constructs_of_nests_give_the_bits_of_the_interpreter) {
  for (const PythonCase& c : nest_cases()) {
    SCOPED_TRACE(c.name);
    for (const char* type : {"f64", "f32"}) {
      const LoopNest nest = nest_of_text(std::regex_replace(c.text, std::regex("f64"), type));
      const auto kernel = loaded(nest);
      ASSERT_NE(kernel, nullptr);
      for (uint64_t seed = 1; seed <= 5; ++seed) expect_bits(nest, *kernel, inputs_of(nest, seed));
    }
  }
}

TEST_F(PythonTarget, broken_promises_and_wrong_calls_are_told) {
  const LoopNest nest = base_nest_of(text_of_case("gather"));
  const auto kernel = loaded(nest);
  ASSERT_NE(kernel, nullptr);
  auto inputs = ir::seeded_inputs(program_of_text(text_of_case("gather")), 1, ir::DataKind::random);
  inputs[0].set(2, ir::integer_literal(ElementType::i32, 10));
  std::vector<TensorData> out = {make_tensor(ElementType::f32, {4, 5})};
  EXPECT_EQ(call(*kernel, inputs, out).value(), ir::kValueOutOfRange);
  inputs.pop_back();
  const auto short_call = call(*kernel, inputs, out);
  ASSERT_FALSE(short_call);
  EXPECT_EQ(short_call.error().code, "PW0654");
}

// ---- refusals ----

TEST_F(PythonTarget, programs_that_it_cannot_print_are_refused_by_what_they_need) {
  const auto unary = [](const std::string& type, const std::string& value) {
    return "program p(N = 4)\nin X: " + type + "[N]\nout Y[i: N] = " + value + "\n";
  };
  for (const std::string function : {"exp", "log", "tanh", "sigmoid", "erf", "sin", "cos", "rsqrt"})
    expect_refused(base_nest_of(unary("f32", function + "(X[i])")), function);
  expect_refused(base_nest_of(unary("f64", "pow(X[i], X[i])")), "pow");
  expect_refused(base_nest_of(unary("f16", "X[i] + X[i]")), "type f16: buffer X");
  expect_refused(base_nest_of(unary("f32", "f32(bf16(X[i]))")), "type bf16");
  const auto symbolic =
      poly::symbolic_nest(normalize(parse_program(text_of_case("matrix_product")).value()), NumericsClass::strict);
  ASSERT_TRUE(symbolic) << symbolic.error().message;
  expect_refused(*symbolic, "symbolic kernels");
}

LoopNest nest_with(const LoopNest& nest, Node extra) {
  LoopNest out = nest;
  const NodeId added = out.add(std::move(extra));
  out.root = out.add(Seq{{nest.root, added}});
  return out;
}

TEST_F(PythonTarget, nests_that_it_cannot_print_are_refused_by_what_they_need) {
  const LoopNest plain = base_nest_of(text_of_case("matrix_product"));
  LoopNest tensor = plain;
  for (Node& node : tensor.nodes)
    if (auto* loop = std::get_if<Loop>(&node)) loop->mark = {MarkKind::tensor, 0, "vpdpbusd_512"};
  expect_refused(tensor, "tensor instructions: loop i wants vpdpbusd_512");
  expect_refused(nest_with(plain, Sync{}), "barriers");

  LoopNest deep = plain;
  for (int k = 0; k <= 20; ++k) {
    const VarId var = deep.new_loop_var("l" + std::to_string(k));
    deep.root = deep.add(Loop{var, {{Affine::of(0)}}, {{Affine::of(1)}}, 1, {}, deep.root});
  }
  expect_refused(deep, "more than 20 loops inside one another");

  Expr sum = make_literal(ir::float_literal(ElementType::f32, 1));
  for (int k = 0; k < 200; ++k) sum = make_op(Op::add, ElementType::f32, {sum, sum->args.empty() ? sum : sum->args[1]});
  Compute store;
  store.dst = {{plain.arguments.back(), {{Affine::of(0), nullptr, {}, {}}, {Affine::of(0), nullptr, {}, {}}}}};
  store.rhs = {sum};
  expect_refused(nest_with(plain, store), "expressions of more than 180 parentheses inside one another");
}

TEST_F(PythonTarget, what_it_does_not_override_is_refused) {
  const LoopNest nest = base_nest_of(text_of_case("matrix_product"));
  const auto expect_none = [](const auto& result, const std::string& what) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, "PW0523");
    EXPECT_EQ(result.error().message, "the backend for python has no " + what);
  };
  for (const Emit emit :
       {Emit::object, Emit::assembly, Emit::llvm, Emit::shared, Emit::static_library, Emit::header, Emit::c})
    expect_none(backend_->emit(nest, target_, emit, {"kernel"}), "products of this form");
  expect_none(backend_->start_runner({}), "runner");
  expect_none(backend_->marked_assembly(nest, target_, "kernel"), "costs of instructions");
  expect_none(backend_->expected_code(nest, target_, 1), "costs of instructions");
  EXPECT_FALSE(backend_->peak_kernel(nest, target_, 1, 1000));
  EXPECT_FALSE(backend_->host());
  for (const std::string name : {"while", "f32", "range", "2x", "a.b", ""})
    EXPECT_EQ(backend_->may_be_named(name).error().code, "PW0513") << name;
  EXPECT_TRUE(backend_->may_be_named("kernel"));
}

// ---- the main door ----

class PythonTuner : public PythonTarget {
 protected:
  Tuner tuner() const {
    TunerOptions options;
    options.helper_directory = PW_BINARY_DIR "/src/tools";
    return Tuner(target_, options);
  }
  Program program_ = parse_program(
                         "program p(M = 6, N = 9, K = 5)\nin A: i32[M, K]\nin B: i32[K, N]\nout C[i: M, j: N] = sum[k: "
                         "K] A[i, k] * B[k, j]\n")
                         .value();
};

TEST_F(PythonTuner, compiles_and_runs) {
  const auto inputs = ir::seeded_inputs(polyweft::bind(program_, {6, 9, 5}), 1, ir::DataKind::random);
  const auto wanted = ir::evaluate(polyweft::bind(program_, {6, 9, 5}), inputs);
  ASSERT_TRUE(wanted);
  auto kernel = tuner().compile(program_, TaskOptions{});
  ASSERT_TRUE(kernel) << kernel.error().message;
  for (int round = 0; round < 2; ++round) {
    const auto got = kernel->run(inputs);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(first_difference((*got)[0], wanted->tensors[0]), "");
  }
}

TEST_F(PythonTuner, writes_its_module_to_a_file) {
  const auto built = tuner().build(program_, {}, Emit::artifact, "kernel");
  ASSERT_TRUE(built) << built.error().message;
  const std::string module(built->bytes.begin(), built->bytes.end());
  EXPECT_NE(module.find("\ndef kernel(A, B, C):\n"), std::string::npos) << module;
}

TEST_F(PythonTuner, says_what_it_cannot_do) {
  const auto built = tuner().build(program_, {}, Emit::c, "");
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, "PW0523");
  TuneOptions options;
  options.trials = 1;
  const auto tuned = tuner().tune(program_, options);
  ASSERT_FALSE(tuned);
  EXPECT_EQ(tuned.error().message, "the backend for python has no runner");
  options.budget = std::chrono::milliseconds(0);
  const auto unmeasured = tuner().tune(program_, options);
  ASSERT_TRUE(unmeasured) << unmeasured.error().message;
  EXPECT_EQ(unmeasured->reason, "nothing measured");
  EXPECT_EQ(unmeasured->record.certificate.verdict, Verdict::proven);
}

}  // namespace
}  // namespace polyweft::backend_test
