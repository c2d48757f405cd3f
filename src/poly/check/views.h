// Private to the checker: accesses as plain affine cells over boxes, and the places where the paths of two statements
// part.
#pragma once

#include "poly/check/boxes.h"

namespace polyweft::poly::checker {

/// Where the paths of two statements part.
struct Parting {
  size_t shared = 0;  ///< loops around both
  bool first_is_before = false;
  bool is_same = false;
};
/// Nothing where times do not alternate between shared loops and places of the text.
std::optional<Parting> part(const Statement& a, const Statement& b);

/// Statement, its cells (loops around the Alloc first) and ranges, of the iterations in its domain.
struct View {
  const Statement* s = nullptr;
  std::vector<Affine> cell;
  Box box;
  std::vector<std::vector<Affine>>
      forms;        ///< of each cell coordinate: itself, then what equalities of the statement make of it
  Parting parting;  ///< of a writer: from the reader
  size_t dimensions() const { return box.size(); }
  /// Dimensions of one value only.
  std::map<VarId, Affine> single_values() const {
    std::map<VarId, Affine> out;
    for (size_t d = 0; d < box.size(); ++d)
      if (box[d].least == box[d].greatest) out[static_cast<VarId>(d)] = Affine::of(box[d].least);
    return out;
  }
};
/// The dimensions of `later` as those of a pair: after the dimensions of `earlier`.
inline std::map<VarId, Affine> dimensions_after(const View& earlier, const View& later) {
  std::map<VarId, Affine> out;
  for (size_t d = 0; d < later.dimensions(); ++d)
    out[static_cast<VarId>(d)] = Affine::variable(static_cast<VarId>(earlier.dimensions() + d));
  return out;
}
/// Ranges of both, in that order.
inline Box box_of_pair(const View& earlier, const View& later) {
  Box out = earlier.box;
  out.insert(out.end(), later.box.begin(), later.box.end());
  return out;
}
/// Instances that agree with those of another statement in the outer `equal` loops; carried: and are earlier in the
/// next one.
struct Class {
  size_t equal = 0;
  bool is_carried = false;
};
/// Coordinates of a less those of b, by intervals, for the pairs whose instance of a is in the class of that of b.
class Differences {
 public:
  Differences(const View& a, const View& b, Class c);
  /// No such pair exists. False: there may be some.
  bool is_never() const { return is_never_; }
  Bounds of(size_t coordinate) const;

 private:
  const View &a_, &b_;
  Box box_;                     ///< of b's dimensions, then of those that a has for itself
  std::map<VarId, Affine> at_;  ///< a's dimensions over these
  bool is_never_ = false;
};
/// Nothing where a subscript is gathered, or a range is not known.
std::optional<View> view_of(const LoopNest& nest, const Statements& statements, size_t number, const Access& access);

}  // namespace polyweft::poly::checker
