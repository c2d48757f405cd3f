#include "ir/oracles/evaluator.h"

#include <algorithm>
#include <cstdio>

#include "ir/oracles/element_store.h"
#include "ir/oracles/expression_value.h"
#include "ir/values/float_places.h"
#include "ir/values/interval.h"

namespace polyweft::ir {
namespace {

std::string joined_values(const std::vector<int64_t>& values) {
  std::string out;
  for (int64_t value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
  return "[" + out + "]";
}

std::vector<int64_t> extents_of(const Box& box) {
  std::vector<int64_t> out;
  for (uint32_t d = 0; d < box.lo.size(); ++d) out.push_back(box.extent(d));
  return out;
}

std::vector<int64_t> declared_extents(const Tensor& tensor) {
  std::vector<int64_t> out;
  for (const Affine& extent : tensor.shape) out.push_back(std::max<int64_t>(extent.constant, 0));
  return out;
}

Status check_input(const Tensor& tensor, const TensorData& data) {
  std::vector<int64_t> wanted = declared_extents(tensor);
  if (data.type != tensor.type || data.extents != wanted)
    return fail("PW0160", tensor.name + ": is " + name_of(data.type) + joined_values(data.extents) +
                              ", the program wants " + name_of(tensor.type) + joined_values(wanted));
  if (static_cast<int64_t>(data.bytes.size()) != data.elements() * size_bytes(data.type))
    return fail("PW0160", tensor.name + ": has " + std::to_string(data.bytes.size()) + " bytes for " +
                              std::to_string(data.elements()) + " elements of " + name_of(data.type));
  return Ok{};
}

class Evaluator {
 public:
  Evaluator(const Program& program, std::vector<Box> boxes, std::optional<NumericsClass> tags)
      : program_(program),
        store_(program, std::move(boxes)),
        expressions_(
            program, [this](TensorId id, const std::vector<int64_t>& point) { return read(id, point); }, tags),
        definitions_(program.tensors.size()) {
    for (EquationId q = 0; q < program.equations.size(); ++q)
      for (TensorId id : program.equations[q].targets) definitions_[id].push_back(q);
  }

  Status run(const std::vector<TensorData>& inputs, const std::vector<TensorId>& wanted) {
    std::vector<TensorId> ids = program_.inputs();
    for (size_t k = 0; k < ids.size(); ++k) store_.fill(ids[k], inputs[k]);
    fill_constants();
    for (TensorId id : wanted) {
      for (int64_t flat = 0; flat < store_.elements(id); ++flat) compute({id, flat});
      if (failure_) return *failure_;
    }
    return Ok{};
  }

  void extract(TensorId id, const EvaluateOptions& options, Evaluation& out) {
    TensorData data = make_tensor(program_.tensors[id].type, extents_of(store_.box(id)));
    std::vector<double> bound;
    std::vector<Tag> tags;
    std::vector<uint8_t> written(static_cast<size_t>(store_.elements(id)), 0);
    for (int64_t flat = 0; flat < store_.elements(id); ++flat) {
      bool known = store_.state({id, flat}) == State::known;
      Scalar value = store_.value({id, flat});
      if (known) data.set(flat, value.value);
      written[static_cast<size_t>(flat)] = known;
      if (options.with_bounds) bound.push_back(known ? 2 * value.error : 0);
      if (options.tags) tags.push_back(known ? value.tag : Tag{});
    }
    out.ids.push_back(id);
    out.boxes.push_back(store_.box(id));
    out.tensors.push_back(std::move(data));
    out.bound.push_back(std::move(bound));
    out.written.push_back(std::move(written));
    out.tags.push_back(std::move(tags));
  }

 private:
  void fill_constants() {
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      const Tensor& tensor = program_.tensors[id];
      if (tensor.kind != TensorKind::constant) continue;
      for (size_t k = 0; k < tensor.data.size(); ++k)
        store_.set({id, static_cast<int64_t>(k)}, {tensor.data[k], 0, true, tag_of_literal(tensor.data[k])});
    }
  }

  /// Depth-first with an explicit stack: an element whose reads are not known yet waits below them. A waiting element
  /// met again is an ancestor of the one that reads it, hence a cycle.
  void compute(Element root) {
    if (store_.state(root) != State::unknown || failure_) return;
    stack_.assign(1, root);
    while (!stack_.empty() && !failure_) {
      Element element = stack_.back();
      State state = store_.state(element);
      if (state == State::known || state == State::undefined) {
        stack_.pop_back();
        continue;
      }
      missing_.clear();
      attempt(element);
      if (missing_.empty()) continue;
      store_.state(element) = State::waiting;
      push_missing();
    }
  }

  void push_missing() {
    for (const Element& element : missing_)
      if (store_.state(element) == State::waiting) return report_cycle(element);
    stack_.insert(stack_.end(), missing_.begin(), missing_.end());
  }

  /// Computes an element, or leaves what it lacks in missing_.
  void attempt(const Element& element) {
    std::vector<int64_t> point = store_.point(element);
    for (EquationId q : definitions_[element.tensor]) {
      const Equation& equation = program_.equations[q];
      Environment env = environment_of(program_, equation);
      if (!solve(equation, point, env)) continue;
      reader_ = element;
      std::vector<Scalar> values = expressions_.components(*equation.rhs, env, equation.targets.size());
      if (missing_.empty() && !failure_) store_results(equation, point, values);
      return;
    }
    store_.state(element) = State::undefined;
  }

  void store_results(const Equation& equation, const std::vector<int64_t>& point, const std::vector<Scalar>& values) {
    PW_CHECK(values.size() == equation.targets.size());
    for (size_t k = 0; k < values.size(); ++k)
      store_.set({equation.targets[k], store_.flat(equation.targets[k], point)}, values[k]);
  }

  Scalar read(TensorId id, const std::vector<int64_t>& point) {
    if (!store_.contains(id, point)) return undefined_read(id, point);
    Element element = {id, store_.flat(id, point)};
    State state = store_.state(element);
    if (state == State::known) return store_.value(element);
    if (state == State::undefined) return undefined_read(id, point);
    missing_.push_back(element);
    return {{}, 0, false, {}};
  }

  Scalar undefined_read(TensorId id, const std::vector<int64_t>& point) {
    if (!failure_) {
      std::string element = program_.tensors[id].name + joined_values(point);
      failure_ = fail("PW0162", element + " is read by " + store_.name(reader_) + " but no equation defines it");
    }
    return {{}, 0, false, {}};
  }

  /// The waiting elements from the top of the stack down to `first` are the cycle, last reader first. An element that
  /// two readers pushed has a stale copy further down, which is skipped.
  void report_cycle(const Element& first) {
    std::vector<std::string> path;
    const std::string start = store_.name(first);
    for (auto element = stack_.rbegin(); element != stack_.rend(); ++element) {
      std::string name = store_.name(*element);
      bool seen = std::find(path.begin(), path.end(), name) != path.end();
      if (store_.state(*element) == State::waiting && !seen) path.push_back(name);
      if (name == start) break;
    }
    std::reverse(path.begin(), path.end());
    std::string chain;
    for (const std::string& name : path) chain += name + " reads ";
    std::string subject =
        path.size() == 2 ? path[0] + " and " + path[1] + " need each other: " : path[0] + " needs itself: ";
    failure_ = fail("PW0163", subject + chain + path[0]);
  }

  const Program& program_;
  ElementStore store_;
  ExpressionEvaluator expressions_;
  std::vector<std::vector<EquationId>> definitions_;
  std::vector<Element> stack_, missing_;
  Element reader_;
  std::optional<Error> failure_;
};

std::vector<TensorId> wanted_tensors(const Program& program, Wanted wanted) {
  if (wanted == Wanted::outputs) return program.outputs();
  std::vector<TensorId> out(program.tensors.size());
  for (TensorId id = 0; id < out.size(); ++id) out[id] = id;
  return out;
}

double elements_of_inputs(const Program& program) {
  double total = 0;
  for (const Tensor& tensor : program.tensors) {
    double count = 1;
    for (int64_t extent : tensor.kind == TensorKind::input ? declared_extents(tensor) : std::vector<int64_t>{})
      count *= static_cast<double>(extent);
    total += count;
  }
  return total;
}

/// Before anything is enumerated: the elements of the inputs and the points of all domains.
Status check_size(const Program& program, int64_t limit) {
  double total = elements_of_inputs(program);
  for (const Equation& equation : program.equations) total += most_points(slot_ranges(equation), {});
  if (total <= static_cast<double>(limit)) return Ok{};
  char count[32];
  std::snprintf(count, sizeof count, "%.0f", total);
  return fail("PW0812",
              std::string("evaluate: up to ") + count + " elements are more than the limit of " + std::to_string(limit),
              {"evaluate at smaller parameters"});
}

/// Boxes may be larger than the domains in them.
Status check_size(const std::vector<Box>& boxes, int64_t limit) {
  double total = 0;
  for (const Box& box : boxes) {
    double count = 1;
    for (uint32_t d = 0; d < box.lo.size(); ++d) count *= static_cast<double>(box.extent(d));
    total += count;
  }
  if (total <= 4 * static_cast<double>(limit)) return Ok{};
  return fail("PW0812", "evaluate: the boxes of the tensors hold more than " + std::to_string(4 * limit) + " elements",
              {"evaluate at smaller parameters"});
}

}  // namespace

Status check_promise(const Tensor& tensor, const TensorData& data) {
  if (!tensor.values_lo) return Ok{};
  const ValueRange promised{tensor.values_lo->constant, tensor.values_hi->constant};
  for (int64_t k = 0; k < data.elements(); ++k) {
    const Literal value = data.at(k);
    if (const int64_t place = ir::place_of(value); place < promised.lo || place >= promised.hi)
      return fail("PW0161", tensor.name + ": element " + std::to_string(k) + " is " + ir::value_text(value) +
                                ", outside the promised " + ir::promise_text(tensor.type, promised));
  }
  return Ok{};
}

Status check_inputs(const Program& bound, const std::vector<TensorData>& inputs, bool check_promises) {
  std::vector<TensorId> ids = bound.inputs();
  if (ids.size() != inputs.size())
    return fail("PW0160", bound.name + ": has " + std::to_string(ids.size()) + " inputs, " +
                              std::to_string(inputs.size()) + " given");
  for (size_t k = 0; k < ids.size(); ++k) {
    Status status = check_input(bound.tensors[ids[k]], inputs[k]);
    if (status && check_promises) status = check_promise(bound.tensors[ids[k]], inputs[k]);
    if (!status) return status;
  }
  return Ok{};
}

Result<Evaluation> evaluate(const Program& bound, const std::vector<TensorData>& inputs,
                            const EvaluateOptions& options) {
  Status status = check_inputs(bound, inputs, options.check_promises);
  if (!status) return status.error();
  status = check_size(bound, options.element_limit);
  if (!status) return status.error();
  std::vector<Box> all_boxes = boxes(bound);
  status = check_size(all_boxes, options.element_limit);
  if (!status) return status.error();
  Evaluator evaluator(bound, std::move(all_boxes), options.tags);
  std::vector<TensorId> wanted = wanted_tensors(bound, options.wanted);
  status = evaluator.run(inputs, wanted);
  if (!status) return status.error();
  Evaluation out;
  for (TensorId id : wanted) evaluator.extract(id, options, out);
  return out;
}

}  // namespace polyweft::ir
