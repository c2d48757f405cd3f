// A symbolic nest at given sizes: parameters become values again, and shapes numbers. Loops and subscripts keep their
// parameters; whoever reads a nest takes them as values.
#include <algorithm>

#include "polyweft/loop_nest.h"

namespace polyweft {
namespace {

Error refusal(const LoopNest& nest, const std::string& what) {
  return fail("PW0418", nest.name + ": " + what);
}

Status admits(const LoopNest& nest, const std::vector<int64_t>& sizes) {
  if (sizes.size() != nest.params.size())
    return refusal(nest, std::to_string(sizes.size()) + " sizes, the nest has " + std::to_string(nest.params.size()) +
                             " parameters");
  std::vector<std::string> names;
  for (const Parameter& p : nest.params) names.push_back(p.name);
  for (size_t p = 0; p < sizes.size(); ++p)
    if (sizes[p] < -kLargestSize || sizes[p] > kLargestSize)
      return refusal(nest, names[p] + " = " + std::to_string(sizes[p]) + " is larger than a symbolic kernel takes");
  for (const Guard& g : nest.assumptions)
    if (!evaluate(g, sizes)) return refusal(nest, "the assumption " + print(g, names) + " does not hold");
  return Ok{};
}

Status give_extents(Buffer& buffer, const LoopNest& nest, const std::vector<int64_t>& sizes) {
  int64_t elements = 1;
  for (size_t d = 0; d < buffer.shape.size(); ++d) {
    buffer.extents[d] = std::max<int64_t>(0, evaluate(buffer.shape[d], sizes));
    if (__builtin_mul_overflow(elements, std::max<int64_t>(1, buffer.extents[d]), &elements) || elements > int64_t{1}
                                                                                                               << 58)
      return refusal(nest, "buffer " + buffer.name + " has more than 2^58 elements at these sizes");
  }
  std::erase_if(buffer.folds, [&](const Fold& fold) { return fold.window >= buffer.extents[fold.dim]; });
  buffer.layout = row_major(folded_extents(buffer));
  buffer.shape.clear();
  return Ok{};
}

}  // namespace

Result<LoopNest> specialize(const LoopNest& nest, const std::vector<int64_t>& sizes) {
  if (!nest.symbolic) return refusal(nest, "its sizes are constants");
  if (auto fits = admits(nest, sizes); !fits) return fits.error();
  LoopNest out = nest;
  out.symbolic = false;
  out.assumptions.clear();
  for (size_t p = 0; p < sizes.size(); ++p) out.params[p].value = sizes[p];
  for (Buffer& buffer : out.buffers) {
    if (!buffer.promise.empty())
      buffer.values = ValueRange{evaluate(buffer.promise[0], sizes), evaluate(buffer.promise[1], sizes)};
    buffer.promise.clear();
    const bool depends =
        std::find(buffer.extents.begin(), buffer.extents.end(), kSymbolicExtent) != buffer.extents.end();
    if (!depends) {
      buffer.shape.clear();
      continue;
    }
    if (auto given = give_extents(buffer, nest, sizes); !given) return given.error();
  }
  return out;
}

}  // namespace polyweft
