// What the tests of example kernels share: a program with oracle at some sizes, its inputs, compiled kernels and their
// comparison with plain loops.
//
// The plain loops sum in an order of their own, so elements may differ by the running error bound of class reassoc, or
// by a little of the largest element.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "polybench/kernels.h"
#include "polyweft/tuner.h"

namespace polyweft::polybench {

using Sizes = std::map<std::string, int64_t>;

constexpr double kUntouched = 119;  ///< what an output holds before the call

/// The longest analysis takes less than a second, but a busy machine must not fail the test.
inline Tuner patient_tuner() {
  TunerOptions options;
  options.isl_deadline = std::chrono::minutes(2);
  return Tuner(*find_target("host"), std::move(options));
}

struct Case {
  Kernel kernel;
  Sizes sizes;
};

inline std::string name_of(const Case& c) {
  std::string name = c.kernel.name;
  for (const auto& [parameter, value] : c.sizes) name += "_" + parameter + std::to_string(value);
  return name;
}
inline void PrintTo(const Case& c, std::ostream* out) {
  *out << name_of(c);
}
inline std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return name_of(info.param);
}

inline Result<Program> program_of(const Kernel& kernel) {
  return load_program(std::string(PW_SOURCE_DIR) + "/examples/" + kernel.folder + "/" + kernel.name + ".weft");
}

/// The sizes of a line such as `# LARGE: -p M=1200 -p N=1400`.
inline Sizes named_sizes(const Program& program, const std::string& name) {
  Sizes out;
  const std::string& text = program.source_text;
  const size_t line = text.find("# " + name + ": "), end = text.find('\n', line);
  for (size_t at = text.find("-p ", line); line != std::string::npos && at < end; at = text.find("-p ", at + 1)) {
    const size_t equals = text.find('=', at);
    out[text.substr(at + 3, equals - at - 3)] = std::stoll(text.substr(equals + 1));
  }
  return out;
}

/// The file's sizes, all 1, every parameter once at each of 13, 7, 3, 2, 1, and each at 0 where the program allows
/// that.
inline std::vector<Case> cases_of(const Kernel& kernel) {
  const auto program = program_of(kernel);
  if (!program) return {{kernel, {}}};
  const int64_t odd[] = {13, 7, 3, 2, 1};
  const size_t parameters = program->parameters.size();
  std::vector<Sizes> wanted(7);
  for (size_t p = 0; p < parameters; ++p) {
    const auto& parameter = program->parameters[p];
    wanted[0][parameter.name] = parameter.value;
    wanted[1][parameter.name] = 1;
    for (size_t r = 0; r < 5; ++r) wanted[r + 2][parameter.name] = odd[(p + r) % 5];
  }
  for (const auto& parameter : program->parameters) {
    wanted.push_back(wanted[3]);
    wanted.back()[parameter.name] = 0;
  }
  std::vector<Case> out;
  std::set<Sizes> seen;
  for (auto& sizes : wanted) {
    if (kernel.fit) kernel.fit(sizes);
    if (make_binding(*program, sizes) && seen.insert(sizes).second) out.push_back({kernel, sizes});
  }
  return out;
}

inline std::vector<Case> all_cases(const std::vector<Kernel>& kernels) {
  std::vector<Case> out;
  for (const auto& kernel : kernels)
    for (auto& c : cases_of(kernel)) out.push_back(std::move(c));
  return out;
}

/// At the sizes of the files: a search takes longer than a base nest.
inline std::vector<Case> default_cases(const std::vector<Kernel>& kernels) {
  std::vector<Case> out;
  for (const auto& kernel : kernels) out.push_back(cases_of(kernel).front());
  return out;
}

inline double number(const Literal& v) {
  return is_float(v.type) ? v.f : static_cast<double>(v.i);
}
inline void put(TensorData& data, int64_t i, double value) {
  data.set(i, Literal{data.type, value, static_cast<int64_t>(value)});
}

inline TaskOptions base_order(NumericsClass cls = NumericsClass::reassoc, int threads = 1) {
  TaskOptions out;
  out.trace = "trace 1\n";
  out.cls = cls;
  out.threads = threads;
  return out;
}

/// Which elements of an output are defined, and how far they may lie from the plain loops.
struct Judge {
  std::vector<uint8_t> written;
  std::vector<double> bound;
};

class KernelTest : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { tuner_ = std::make_unique<Tuner>(patient_tuner()); }
  static void TearDownTestSuite() { tuner_.reset(); }

  // The program at the case's sizes, its inputs, and what the plain loops make of them.
  void SetUp() override {
    auto parsed = program_of(GetParam().kernel);
    ASSERT_TRUE(parsed) << parsed.error().message;
    program_ = std::move(parsed).value();
    const auto binding = make_binding(program_, GetParam().sizes);
    ASSERT_TRUE(binding) << binding.error().message;
    bound_ = polyweft::bind(program_, *binding);
    make_inputs();
    GetParam().kernel.run(arrays_);
  }

  void make_inputs() {
    inputs_ = ir::seeded_inputs(bound_, 5, ir::DataKind::random);
    arrays_.sizes = GetParam().sizes;
    const auto ids = bound_.inputs();
    for (size_t i = 0; i < ids.size(); ++i) {
      auto& values = arrays_.values[bound_.tensors[ids[i]].name];
      for (int64_t e = 0; e < inputs_[i].elements(); ++e) values.push_back(number(inputs_[i].at(e)));
    }
    if (GetParam().kernel.prepare) GetParam().kernel.prepare(arrays_);
    for (size_t i = 0; i < ids.size(); ++i)
      for (int64_t e = 0; e < inputs_[i].elements(); ++e)
        put(inputs_[i], e, arrays_.values[bound_.tensors[ids[i]].name][e]);
  }

  // `got`: the outputs, in program order. Where no equation writes, `untouched` must stand.
  void expect_plain(const std::vector<TensorData>& got, double untouched, const std::string& who) {
    const auto ids = bound_.outputs();
    for (size_t o = 0; o < ids.size(); ++o) {
      const std::string& name = bound_.tensors[ids[o]].name;
      const auto& plain = arrays_.values.at(name);
      const auto& [written, bound] = judges_[o];
      ASSERT_EQ(got[o].elements(), static_cast<int64_t>(plain.size())) << name;
      double largest = 0;
      for (size_t e = 0; e < plain.size(); ++e)
        if (written[e]) largest = std::max(largest, std::abs(plain[e]));
      for (size_t e = 0; e < plain.size(); ++e) {
        const double is = number(got[o].at(static_cast<int64_t>(e)));
        if (!written[e]) {
          ASSERT_EQ(is, untouched) << who << ": " << name << " element " << e << " is not defined";
          continue;
        }
        const double may_differ = std::max(std::isfinite(bound[e]) ? bound[e] : 0, relative(got[o].type) * largest);
        ASSERT_LE(std::abs(is - plain[e]), may_differ)
            << who << ": " << name << " element " << e << " is " << is << ", the plain loops have " << plain[e];
      }
    }
  }

  /// Of the largest element. Judges with a bound need none for f32; the plain loops compute in f64.
  double relative(ElementType type) const {
    return type == ElementType::f64 ? 1e-9 : has_bounds_ || !is_float(type) ? 0 : 1e-4;
  }

  /// The outputs of a compiled kernel; elements that it does not write hold kUntouched.
  std::vector<TensorData> outputs_of(TaskOptions options, const std::string& who) {
    std::vector<TensorData> outputs;
    options.parameters = GetParam().sizes;
    auto kernel = tuner_->compile(program_, options);
    if (!kernel) {
      ADD_FAILURE() << who << ": " << kernel.error().code << " " << kernel.error().message;
      return outputs;
    }
    auto inputs = inputs_;
    for (const auto& argument : kernel->arguments()) {
      if (!argument.is_output) continue;
      outputs.push_back(make_tensor(argument.type, argument.extents));
      for (int64_t e = 0; e < outputs.back().elements(); ++e) put(outputs.back(), e, kUntouched);
    }
    std::vector<void*> buffers;
    for (auto* tensors : {&inputs, &outputs})
      for (auto& tensor : *tensors) buffers.push_back(tensor.bytes.data());
    const auto called = kernel->call(buffers);
    EXPECT_TRUE(called) << called.error().message;
    return outputs;
  }

  void run_and_compare(const TaskOptions& options, const std::string& who) {
    const auto outputs = outputs_of(options, who);
    if (!HasFailure()) expect_plain(outputs, kUntouched, who);
  }

  static inline std::unique_ptr<Tuner> tuner_;
  Program program_, bound_;
  Arrays arrays_;
  std::vector<TensorData> inputs_;
  std::vector<Judge> judges_;  ///< one an output
  bool has_bounds_ = false;
};

/// Small enough for the evaluator and its running error bounds.
class EvaluatedKernelTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    auto& evaluation = evaluations_[name_of(GetParam())];
    if (!evaluation) {
      ir::EvaluateOptions options;
      options.with_bounds = true;
      auto evaluated = ir::evaluate(bound_, inputs_, options);
      ASSERT_TRUE(evaluated) << evaluated.error().message;
      evaluation = std::make_shared<const ir::Evaluation>(std::move(evaluated).value());
    }
    evaluation_ = *evaluation;
    has_bounds_ = true;
    for (size_t o = 0; o < evaluation_.ids.size(); ++o)
      judges_.push_back({evaluation_.written[o], evaluation_.bound[o]});
  }

  /// A strict base nest has the evaluator's bits; with functions, which have ULPs to spare, it may differ by
  /// `tolerated` of the largest element.
  void expect_bits_of_the_evaluator(double tolerated = 0) {
    const auto got = outputs_of(base_order(NumericsClass::strict), "strict base nest");
    ASSERT_EQ(got.size(), evaluation_.tensors.size());
    for (size_t o = 0; o < got.size(); ++o) {
      double largest = 0;
      for (int64_t e = 0; e < got[o].elements(); ++e)
        largest = std::max(largest, std::abs(number(evaluation_.tensors[o].at(e))));
      for (int64_t e = 0; e < got[o].elements(); ++e) {
        if (!evaluation_.written[o][static_cast<size_t>(e)]) continue;
        const double is = number(got[o].at(e)), expected = number(evaluation_.tensors[o].at(e));
        ASSERT_LE(std::abs(is - expected), tolerated * largest)
            << bound_.tensors[evaluation_.ids[o]].name << " element " << e << " is " << is << ", the evaluator has "
            << expected;
      }
    }
  }

  static inline std::map<std::string, std::shared_ptr<const ir::Evaluation>>
      evaluations_;  ///< by the name of the case: several tests share one
  ir::Evaluation evaluation_;
};

}  // namespace polyweft::polybench
