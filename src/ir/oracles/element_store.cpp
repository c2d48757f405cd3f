#include "ir/oracles/element_store.h"

namespace polyweft::ir {

int64_t elements_of(const Box& box) {
  int64_t count = 1;
  for (uint32_t d = 0; d < box.lo.size(); ++d) count *= box.extent(d);
  return count;
}

ElementStore::ElementStore(const Program& program, std::vector<Box> boxes)
    : program_(program), boxes_(std::move(boxes)) {
  for (const Box& box : boxes_) cells_.emplace_back(static_cast<size_t>(elements_of(box)));
}

bool ElementStore::contains(TensorId id, const std::vector<int64_t>& point) const {
  const Box& box = boxes_[id];
  for (size_t d = 0; d < point.size(); ++d)
    if (point[d] < box.lo[d] || point[d] >= box.hi[d]) return false;
  return true;
}

int64_t ElementStore::flat(TensorId id, const std::vector<int64_t>& point) const {
  const Box& box = boxes_[id];
  int64_t out = 0;
  for (uint32_t d = 0; d < point.size(); ++d) out = out * box.extent(d) + point[d] - box.lo[d];
  return out;
}

std::vector<int64_t> ElementStore::point(const Element& element) const {
  const Box& box = boxes_[element.tensor];
  std::vector<int64_t> out(box.lo.size());
  int64_t rest = element.flat;
  for (size_t d = out.size(); d-- > 0;) {
    int64_t extent = box.extent(static_cast<uint32_t>(d));
    out[d] = box.lo[d] + rest % extent;
    rest /= extent;
  }
  return out;
}

Scalar ElementStore::value(const Element& e) const {
  const Cell& cell = cells_[e.tensor][static_cast<size_t>(e.flat)];
  Scalar out;
  out.value.type = program_.tensors[e.tensor].type;
  if (is_float(out.value.type))
    out.value.f = cell.f;
  else
    out.value.i = cell.i;
  out.error = cell.error;
  out.tag = cell.tag;
  return out;
}

void ElementStore::set(const Element& e, const Scalar& value) {
  Cell& cell = cells_[e.tensor][static_cast<size_t>(e.flat)];
  if (is_float(value.value.type))
    cell.f = value.value.f;
  else
    cell.i = value.value.i;
  cell.error = value.error;
  cell.tag = value.tag;
  cell.state = State::known;
}

void ElementStore::fill(TensorId id, const TensorData& data) {
  for (int64_t k = 0; k < elements(id); ++k) set({id, k}, {data.at(k), 0, true, tag_of_element(id, point({id, k}))});
}

std::string ElementStore::name(const Element& e) const {
  std::string out = program_.tensors[e.tensor].name, index;
  for (int64_t x : point(e)) index += (index.empty() ? "" : ", ") + std::to_string(x);
  return index.empty() ? out : out + "[" + index + "]";
}

}  // namespace polyweft::ir
