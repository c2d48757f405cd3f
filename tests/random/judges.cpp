// The judges of one pair, in the order of what they need; the first that objects names the disagreement.
#include <algorithm>
#include <cmath>

#include "ir/nests/instruction.h"
#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/oracles/interpreter.h"
#include "ir/passes/passes.h"
#include "ir/values/seeded_data.h"
#include "poly/base_nest.h"
#include "poly/check.h"
#include "poly/check/checker.h"
#include "random/band_traces.h"
#include "random/guarded_call.h"
#include "random/pairs.h"
#include "schedules/steps.h"
#include "targets/registry.h"

namespace polyweft::random_test {
namespace {

std::string words(const Error& error) {
  std::string out = error.code + " " + error.message;
  for (const auto& note : error.notes) out += "\n  note: " + note;
  return out;
}

/// The first objection ends the judgement.
struct Objection {
  Outcome outcome;
  std::string kind, message;
};
[[noreturn]] void object(const std::string& kind, const std::string& message) {
  throw Objection{Outcome::disagreement, kind, message};
}
[[noreturn]] void refuse(const Error& error) {
  throw Objection{Outcome::refused, "", words(error)};
}

bool same_value(const Literal& a, const Literal& b) {
  return a == b || (is_float(a.type) && std::isnan(a.f) && std::isnan(b.f));
}

std::string value_text(const Literal& v) {
  char text[64];
  if (is_float(v.type))
    std::snprintf(text, sizeof text, "%.9g", v.f);
  else
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(v.i));
  return text;
}

std::string place(size_t output, int64_t element, const Literal& got, const Literal& wanted) {
  return "output " + std::to_string(output) + " element " + std::to_string(element) + ": " + value_text(got) +
         " instead of " + value_text(wanted);
}

class Judge {
 public:
  explicit Judge(const Pair& pair) : pair_(pair) {}

  Judgement run() {
    return judged([&] {
      prepare();
      make_nest();
      evaluate();
      compare();
    });
  }
  Judgement run(const Expected& expected) {
    return judged([&] {
      program_ = expected.program;
      inputs_ = expected.inputs;
      wanted_ = expected.wanted;
      make_nest();
      compare();
    });
  }
  std::shared_ptr<const Expected> expected(Judgement& why) {
    why = judged([&] {
      prepare();
      evaluate();
    });
    if (why.outcome != Outcome::agreed) return nullptr;
    return std::make_shared<const Expected>(Expected{std::move(program_), std::move(inputs_), std::move(wanted_)});
  }

 private:
  template <class Work>
  Judgement judged(const Work& work) {
    try {
      work();
    } catch (const Objection& objection) {
      out_.outcome = objection.outcome;
      out_.kind = objection.kind;
      out_.message = objection.message + (nest_.nodes.empty() ? "" : "\n" + print(nest_));
    }
    return out_;
  }

  void compare() {
    interpret();
    run_passes();
    check();
    compile();
  }

  void prepare() {
    auto binding = make_binding(pair_.source, {});
    if (!binding) throw Objection{Outcome::no_program, "", words(binding.error())};
    program_ = polyweft::normalize(polyweft::bind(pair_.source, *binding), pair_.cls);
    bool has_zero = false;
    for (const Parameter& p : pair_.source.parameters) {
      out_.tiny |= p.value <= 1;
      has_zero |= p.value == 0;
    }
    // The generators promise programs for sizes of 1 and more; with 0 the language has a say.
    if (!has_zero) return;
    poly::CheckReport report = poly::check(polyweft::normalize(pair_.source));
    if (!report.errors.empty()) throw Objection{Outcome::no_program, "", report.errors[0].text};
  }

  void make_nest() {
    auto trace = parse_trace(pair_.trace.text());
    if (!trace) object("text", words(trace.error()));
    if (!(*trace == pair_.trace)) object("text", "another trace comes back");
    out_.recurrence = schedules::has_recurrence(program_);
    std::shared_ptr<const LoopNest> base;
    if ((out_.recurrence || pair_.base_order) && schedules::runs_base_order(*trace)) {
      auto nest = poly::base_nest(program_, pair_.cls);
      if (!nest && nest.error().code.rfind("PW083", 0) == 0) refuse(nest.error());
      if (!nest) object("base", words(nest.error()));
      base = std::make_shared<const LoopNest>(std::move(*nest));
    }
    nest_ = pair_.base_order ? *base : nest_by(*trace, base);
    if (auto status = verify(nest_); !status) object("verify", words(status.error()));
    auto again = parse_loop_nest(print(nest_));
    if (!again) object("nest text", words(again.error()));
    if (hash(*again) != hash(nest_)) object("nest text", "another nest comes back");
    for (const Node& node : nest_.nodes) {
      const auto* loop = std::get_if<Loop>(&node);
      out_.parallel |= loop && loop->mark.kind == MarkKind::parallel;
      out_.vector |= loop && loop->mark.kind == MarkKind::vector;
      if (!loop || loop->mark.kind != MarkKind::tensor) continue;
      auto instruction = ir::instruction_named(loop->mark.detail);
      has_order_of_its_own_ |= !pair_.whole_numbers && instruction && is_float((*instruction)->operands[0].type);
    }
    out_.packed = !nest_.packs.empty();
    out_.auto_vectorized = nest_.auto_vectorized;
    out_.batch = !trace->steps.empty() && std::holds_alternative<BatchStep>(trace->steps.front());
    has_order_of_its_own_ |= nest_.auto_vectorized && nest_.cls == NumericsClass::reassoc && !pair_.whole_numbers;
  }

  LoopNest nest_by(const Trace& trace, const std::shared_ptr<const LoopNest>& base) {
    schedules::Isl isl = isl_of(program_);
    isl.recurrence_nest = base;
    auto made = schedules::replay(program_, pair_.cls, trace, isl);
    if (!made && made.error().code == "PW0321") refuse(made.error());  // a band that a random one left no place for
    if (!made) object("replay", words(made.error()));
    auto nest = instantiate(*made, values_of(pair_.trace));
    if (!nest && nest.error().code.rfind("PW031", 0) == 0 && nest.error().code != "PW0314") refuse(nest.error());
    if (!nest) object("instantiate", words(nest.error()));
    return std::move(*nest);
  }

  void evaluate() {
    inputs_ = ir::seeded_inputs(program_, pair_.data_seed,
                                pair_.whole_numbers ? ir::DataKind::integers : ir::DataKind::random);
    ir::EvaluateOptions options;
    options.with_bounds = true;
    options.tags = pair_.cls;
    auto wanted = ir::evaluate(program_, inputs_, options);
    bool no_such_value = !wanted && out_.tiny && wanted.error().code == "PW0161";  // `values 0..K` with K = 0
    if (no_such_value) throw Objection{Outcome::no_program, "", words(wanted.error())};
    if (!wanted) object("evaluate", words(wanted.error()));
    wanted_ = std::move(*wanted);
  }

  bool is_written(size_t output, int64_t element) const {
    return wanted_.written.empty() || wanted_.written[output].empty() ||
           wanted_.written[output][static_cast<size_t>(element)] != 0;
  }

  void interpret() {
    ir::InterpreterOptions options;
    options.with_tags = true;
    auto got = ir::interpret(nest_, inputs_, options);
    if (!got) object("interpret", words(got.error()));
    run_ = std::move(*got);
    if (run_.tensors.size() != wanted_.tensors.size()) object("interpret", "another number of outputs");
    for (size_t k = 0; k < run_.tensors.size(); ++k) {
      if (run_.tensors[k].extents != wanted_.tensors[k].extents)
        object("interpret", "output " + std::to_string(k) + " has other extents");
      for (int64_t e = 0; e < run_.tensors[k].elements(); ++e) compare_element(k, e);
    }
  }

  void compare_element(size_t k, int64_t e) {
    auto at = static_cast<size_t>(e);
    if (is_written(k, e) != (run_.written[k][at] != 0))
      object("written", "output " + std::to_string(k) + " element " + std::to_string(e));
    if (!is_written(k, e)) return;
    Literal got = run_.tensors[k].at(e), wanted = wanted_.tensors[k].at(e);
    if (!(run_.tags[k][at] == wanted_.tags[k][at])) object("tags", place(k, e, got, wanted) + " (another term)");
    bool within = is_float(got.type) && !pair_.whole_numbers && std::abs(got.f - wanted.f) <= wanted_.bound[k][at];
    // An infinite bound says that a rounding decides a branch: then anything may come out.
    bool undetermined = !pair_.whole_numbers && std::isinf(wanted_.bound[k][at]);
    bool equal = same_value(got, wanted) || (is_float(got.type) && got.f == wanted.f);
    if (!equal && !within && !undetermined)
      object("values", place(k, e, got, wanted) + ", bound " + std::to_string(wanted_.bound[k][at]));
  }

  /// Behind each pass of code generation the nest computes the same terms, bit by bit.
  void run_passes() {
    ir::PassOptions options;
    options.scalars.vector_bits = int64_t{128} << pair_.data_seed % 3;
    options.scalars.carried_values = options.scalars.promoted_cells = pair_.data_seed % 2 ? 24 : 12;
    LoopNest nest = nest_;
    for (const ir::NestPass& pass : ir::nest_passes()) {
      nest = pass.run(std::move(nest), options);
      const std::string kind = "pass " + std::string(pass.name);
      LoopNest with_registers = nest;
      with_registers.auto_vectorized = with_registers.avoids_gathers = false;
      if (auto status = verify(with_registers); !status) object(kind, words(status.error()) + "\n" + print(nest));
      ir::InterpreterOptions how;
      how.with_tags = true;
      auto got = ir::interpret(nest, inputs_, how);
      if (!got) object(kind, words(got.error()) + "\n" + print(nest));
      const bool is_same = got->written == run_.written && got->tags == run_.tags;
      bool has_same_bits = true;
      for (size_t k = 0; k < run_.tensors.size(); ++k) has_same_bits &= got->tensors[k].bytes == run_.tensors[k].bytes;
      if (!is_same || !has_same_bits)
        object(kind, std::string(is_same ? "other bits" : "other terms") + "\n" + print(nest));
    }
  }

  void check() {
    if (!pair_.ask_checker) return;
    poly::NestCheckLimits limits;
    limits.isl_operations = 4'000'000;
    poly::NestCheck check = poly::check_nest(program_, nest_, limits);
    out_.asked_checker = true;
    out_.not_decided = check.verdict == Verdict::not_proven;
    out_.undecided_why = out_.not_decided ? check.message : "";
    if (check.verdict == Verdict::refuted)
      object("refuted", check.code + " " + check.message + " (all others agree that it is right)");
  }

  void compile() {
    if (!pair_.run_code) return;
    auto target = find_target(pair_.target);
    if (!target) object("target", words(target.error()));
    if (target->machine.has_grid()) return compile_for_device(*target);
    if (!target->is_host) target = find_target("host");  // a level above this machine's
    if (pair_.show_code) {
      std::printf("%s", print(nest_).c_str());
      if (auto text = targets::llvm_text(nest_, *target)) std::printf("%s", text->c_str());
      if (auto text = targets::assembly_text(nest_, *target)) std::printf("%s", text->c_str());
    }
    auto object_code = targets::compile_object(nest_, *target);
    if (!object_code) object("code", words(object_code.error()));
    auto code = targets::load_code(*object_code);
    if (!code) object("code", words(code.error()));
    for (Wall wall : {Wall::behind, Wall::before}) {
      CallResult call = guarded_call(nest_, **code, inputs_, wall, pair_.threads);
      if (!call.trouble.empty())
        object("call", call.trouble + (wall == Wall::behind ? " (walls behind the data)" : " (walls before the data)"));
      for (size_t k = 0; k < call.outputs.size(); ++k) compare_compiled(k, call.outputs[k]);
    }
  }

  void compile_for_device(const Target& target) {
    const auto backend = targets::backend_for(target);
    if (!backend) object("target", words(backend.error()));
    const targets::BuildOptions options{"kernel", targets::Caller::anyone, targets::Loader::process};
    const auto code = [&](const Error& error) {
      auto text = (*backend)->emit(nest_, target, Emit::llvm, options);
      object("code", words(error) + (pair_.show_code && text ? "\n" + std::string(text->begin(), text->end()) : ""));
    };
    auto made = (*backend)->build(nest_, target, options);
    if (!made) code(made.error());
    auto kernel = (*backend)->load(*made, nest_, target);
    if (!kernel) code(kernel.error());
    std::vector<TensorData> tensors = inputs_;
    for (const TensorData& output : run_.tensors) {
      tensors.push_back(output);
      std::fill(tensors.back().bytes.begin(), tensors.back().bytes.end(), kUntouched);
    }
    std::vector<TensorData*> arguments;
    for (TensorData& tensor : tensors) arguments.push_back(&tensor);
    const auto called = (*kernel)->call(arguments);
    if (!called) code(called.error());
    if (*called != 0) object("call", "the kernel returned " + std::to_string(*called));
    has_order_of_its_own_ |= nest_.cls == NumericsClass::reassoc && !pair_.whole_numbers;  // that of its compiler
    for (size_t k = 0; k < run_.tensors.size(); ++k) compare_compiled(k, tensors[inputs_.size() + k]);
  }

  void compare_compiled(size_t k, const TensorData& got) {
    const auto bytes = static_cast<size_t>(size_bytes(got.type));
    for (int64_t e = 0; e < got.elements(); ++e) {
      if (!is_written(k, e)) {
        for (size_t b = 0; b < bytes; ++b)
          if (got.bytes[static_cast<size_t>(e) * bytes + b] != kUntouched)
            object("compiled", "output " + std::to_string(k) + " element " + std::to_string(e) +
                                   " is written though no equation defines it");
        continue;
      }
      const bool within = has_order_of_its_own_ && std::abs(got.at(e).f - run_.tensors[k].at(e).f) <=
                                                       2 * wanted_.bound[k][static_cast<size_t>(e)];
      // The sign of a zero is free but in strict, and with it what a division by that zero gives.
      const Literal mine = got.at(e), wanted = run_.tensors[k].at(e);
      const bool is_free = is_float(mine.type) && nest_.cls != NumericsClass::strict &&
                           (mine.f == wanted.f || std::isinf(wanted_.bound[k][static_cast<size_t>(e)]));
      if (!within && !is_free && !same_value(mine, wanted))
        object("compiled", place(k, e, got.at(e), run_.tensors[k].at(e)) + " (machine code against interpreter)");
    }
  }

  const Pair& pair_;
  Judgement out_;
  bool has_order_of_its_own_ =
      false;  ///< an instruction that sums floats in its own order: within the bound, not bit for bit
  Program program_;
  LoopNest nest_;
  std::vector<TensorData> inputs_;
  ir::Evaluation wanted_;
  ir::NestRun run_;
};

}  // namespace

Judgement judge(const Pair& pair) {
  return Judge(pair).run();
}

std::shared_ptr<const Expected> expected_of(const Pair& pair, Judgement& why) {
  return Judge(pair).expected(why);
}

Judgement judge(const Pair& pair, const Expected& expected) {
  return Judge(pair).run(expected);
}

}  // namespace polyweft::random_test
