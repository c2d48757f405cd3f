// store A in R: the cells of output R hold A, too.
//
// Where R[i, j] = A[T, i, j] is the last that is done to A, and cells of A and R are as many, the copy moves nothing.
// Legal where each write to A comes before the first of R, and R is written by nothing else: seen on the nest, when
// sizes are known, and proven by the checker.
//
// store A [d0, d2 + 2*d1, d1]: cells of A in skewed or exchanged dimensions. layout [c0, c2 / 64, c1, c2 % 64]: and
// those in blocks, as `promote` lays out a copy; what a pass over 64 rows reads of each column then is contiguous,
// column after column.
//
// Seidel's sweep runs j' = j + 2i at once for all i: with cells [j', i] the lanes of a row i are neighbours. Legal by
// structure: the map gives back the element by whole numbers, so that no two elements share a cell.
#include <algorithm>

#include "schedules/bands.h"
#include "schedules/placement.h"
#include "schedules/reindex.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kMostCells = int64_t{1} << 40;

bool is_gathered(const NestTemplate& t, TensorId tensor) {
  for (const Stage& stage : t.stages)
    for (const Access& access : reads_of(t, stage, tensor))
      if (std::any_of(access.index.begin(), access.index.end(), [](const Subscript& s) { return s.data != nullptr; }))
        return true;
  return false;
}

int64_t extent_of(const Affine& cell, const Box& box) {
  int64_t out = 1;
  for (const Term& term : cell.terms)
    out += std::abs(term.coeff) * std::max<int64_t>(0, box.hi[term.var - kCellVar] - box.lo[term.var - kCellVar] - 1);
  return out;
}

Result<NestTemplate> store_in_output(NestTemplate t, TensorId tensor, const StoreStep& step) {
  const std::string subject = "store " + step.tensor + " in " + step.output;
  const auto output = tensor_named(t, step.output, "store");
  if (!output) return output.error();
  const Tensor &from = t.program.tensors[tensor], &to = t.program.tensors[*output];
  if (to.kind != TensorKind::output) return fail("PW0308", subject + ": " + step.output + " is no output");
  if (from.type != to.type)
    return fail("PW0308", subject + ": one holds " + name_of(from.type) + ", the other " + name_of(to.type));
  for (const TensorStorage& other : t.storages)
    if (other.tensor == tensor) return fail("PW0304", subject + ": its cells are in another order than the output's");
  for (const auto& [other, host] : t.in_outputs)
    if (other == tensor || host == *output)
      return fail("PW0304", subject + ": " + (other == tensor ? step.tensor : step.output) + " is taken already");
  t.in_outputs.emplace_back(tensor, *output);
  return t;
}

}  // namespace

Result<NestTemplate> store(NestTemplate t, const StoreStep& step) {
  const std::string subject = "store " + step.tensor;
  const auto named = tensor_named(t, step.tensor, "store");
  if (!named) return named.error();
  const TensorId tensor = *named;
  const uint32_t rank = t.program.tensors[tensor].rank;
  if (t.program.tensors[tensor].kind != TensorKind::local)
    return fail("PW0304", subject + ": inputs and outputs lie as the caller has them", {"promote a copy"});
  if (!step.output.empty()) return store_in_output(std::move(t), tensor, step);
  if (step.cell.size() != rank)
    return fail("PW0308", subject + ": it has " + std::to_string(rank) + " dimensions, the cells " +
                              std::to_string(step.cell.size()));
  for (const TensorStorage& other : t.storages)
    if (other.tensor == tensor) return fail("PW0304", subject + ": it is stored so already");
  for (const auto& [other, output] : t.in_outputs)
    if (other == tensor)
      return fail("PW0304", subject + ": it lives in an output, whose cells are as the caller has them");
  if (is_gathered(t, tensor)) return fail("PW0308", subject + ": it is read at places that depend on data");
  TensorStorage storage{tensor, {}, {}};
  int64_t cells = 1;
  for (const LinearText& text : step.cell) {
    Affine cell = Affine::of(text.constant);
    for (const auto& [coeff, name] : text.terms) {
      const auto dim = dimension_number(name, rank);
      if (!dim)
        return fail("PW0303", subject + ": there is no dimension '" + name + "'", {"dimensions are d0, d1, .."});
      cell = cell + coeff * Affine::variable(kCellVar + *dim);
    }
    const int64_t extent = extent_of(cell, t.boxes[tensor]);
    if (extent > kMostCells / cells) return fail("PW0308", subject + ": more than 2^40 cells");
    cells *= extent;
    storage.cell.push_back(std::move(cell));
  }
  constexpr VarId kResult = kCellVar + 0x1000;
  auto back = inverse(storage.cell, kCellVar, rank, kResult);
  if (!back) return fail("PW0308", subject + ": the cells do not give back the element by whole numbers");
  std::map<VarId, Affine> renamed;
  for (uint32_t k = 0; k < rank; ++k) renamed[kResult + k] = Affine::variable(kCellVar + k);
  for (const Affine& e : *back) storage.element.push_back(substitute(e, renamed));
  for (const TensorFold& fold : t.folds)
    if (fold.tensor == tensor && std::find(storage.cell.begin(), storage.cell.end(),
                                           Affine::variable(kCellVar + fold.dim)) == storage.cell.end())
      return fail("PW0308", subject + ": d" + std::to_string(fold.dim) + " is folded and no dimension of the cells");
  for (const LayoutDigit& digit : step.layout) {
    const auto dim = dimension_number(digit.dim, rank, 'c');
    if (!dim)
      return fail("PW0303", subject + ": there is no coordinate '" + digit.dim + "'",
                  {"coordinates of the cells are c0, c1, .."});
    storage.layout.push_back({*dim, digit.part, digit.factor});
  }
  if (!storage.layout.empty())
    if (auto status = is_digit_order(storage.layout, rank, subject); !status) return status.error();
  t.storages.push_back(std::move(storage));
  return t;
}

}  // namespace polyweft::schedules
