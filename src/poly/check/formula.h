// Private to the checker: affine formulas over the dimensions of an isl set space. Variable d is dimension d.
#pragma once

#include "poly/isl_util.h"
#include "polyweft/program.h"

namespace polyweft::poly::checker {

/// As one function with divisions; nothing where a clamp stands in e.
std::optional<Aff> single_value_of(const Affine& e, const Space& space);
PwAff value_of(const Affine& e, const Space& space);
/// Where the condition holds, in `space`.
Set holds(const Guard& g, const Space& space);
/// { x in space : e(x) != 0 }
Set differs(const Affine& e, const Space& space);
/// Coordinates first .. last of the target, as functions of the dimensions; equal: one value, else an interval
/// (inclusive).
struct Coordinate {
  Affine first, last;
  bool is_interval = false;
};
/// { x -> [coordinates] } with the target's tuple name.
Map map_of(const Space& domain, const std::vector<Coordinate>& coordinates, const std::string& target);
Map map_of(const Space& domain, const std::vector<Affine>& coordinates, const std::string& target);
Space named_space(Context& context, const std::string& name, size_t dimensions);

}  // namespace polyweft::poly::checker
