// The naive evaluator: a bound Program, element by element, straight from the definition. The oracle of everything
// else.
//
// It knows no order: an element is computed when somebody asks for it, what it reads first, with a stack of its own (a
// recurrence of a million steps needs no deep call stack), and is kept. An element that turns out to need itself is an
// error that names the elements. Functions come from the C library in extended precision, so that nothing is shared
// with the kernels.
#pragma once

#include <vector>

#include "ir/oracles/tag.h"
#include "polyweft/program.h"

namespace polyweft::ir {

enum class Wanted : uint8_t {
  outputs,  ///< the outputs, in program order
  all       ///< every tensor, in the order of Program::tensors; locals on their whole domain
};
struct EvaluateOptions {
  Wanted wanted = Wanted::outputs;
  bool with_bounds = false;                  ///< fill Evaluation::bound
  bool check_promises = true;                ///< scan inputs declared `values lo..hi`
  std::optional<NumericsClass> tags;         ///< fill Evaluation::tags, for reductions of this class
  int64_t element_limit = int64_t{1} << 27;  ///< elements of all tensors together
};

/// One entry a wanted tensor.
struct Evaluation {
  std::vector<TensorId> ids;
  std::vector<Box> boxes;           ///< element 0 of `tensors` is at lo
  std::vector<TensorData> tensors;  ///< 0 where not defined
  /// For every element the greatest distance of two results that class reassoc allows (error_bound.h); empty without
  /// with_bounds. Infinite where a rounding may decide a branch or overflow.
  std::vector<std::vector<double>> bound;
  std::vector<std::vector<uint8_t>> written;  ///< 1 where an equation defines the element
  std::vector<std::vector<Tag>> tags;  ///< the term that each element stands for (tag.h); empty without options.tags
};

/// Evaluates a bound program (or a normalized one). `inputs` in the order of Program::inputs(), dense.
/// PW0160: wrong inputs; PW0161: a value outside its promise; PW0162: a read of an element that nothing defines;
/// PW0163: an element that needs itself; PW0812: more elements than the limit. About 10^6 to 10^7 operators a second.
Result<Evaluation> evaluate(const Program& bound, const std::vector<TensorData>& inputs,
                            const EvaluateOptions& options = {});

/// PW0161 where the tensor of a bound program has a `values` promise that the data breaks.
Status check_promise(const Tensor& tensor, const TensorData& data);

/// Checks number, types and extents of the inputs, and the `values` promises.
Status check_inputs(const Program& bound, const std::vector<TensorData>& inputs, bool check_promises = true);

}  // namespace polyweft::ir
