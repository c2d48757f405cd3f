// The memory of the evaluator: values, errors and states of the elements of all tensors.
#pragma once

#include "ir/oracles/error_bound.h"
#include "ir/values/domain.h"

namespace polyweft::ir {

struct Element {
  TensorId tensor = 0;
  int64_t flat = 0;
};

enum class State : uint8_t { unknown, waiting, known, undefined };

class ElementStore {
 public:
  ElementStore(const Program& program, std::vector<Box> boxes);

  const Box& box(TensorId id) const { return boxes_[id]; }
  int64_t elements(TensorId id) const { return static_cast<int64_t>(cells_[id].size()); }
  bool contains(TensorId id, const std::vector<int64_t>& point) const;
  int64_t flat(TensorId id, const std::vector<int64_t>& point) const;
  std::vector<int64_t> point(const Element& element) const;

  State& state(const Element& e) { return cells_[e.tensor][static_cast<size_t>(e.flat)].state; }
  Scalar value(const Element& e) const;
  void set(const Element& e, const Scalar& value);
  void fill(TensorId id, const TensorData& data);
  /// "A[1, 0]" or "best".
  std::string name(const Element& e) const;

 private:
  struct Cell {
    union {
      double f;
      int64_t i = 0;
    };
    double error = 0;
    Tag tag;
    State state = State::unknown;
  };
  const Program& program_;
  std::vector<Box> boxes_;
  std::vector<std::vector<Cell>> cells_;
};

/// Elements of a box.
int64_t elements_of(const Box& box);

}  // namespace polyweft::ir
