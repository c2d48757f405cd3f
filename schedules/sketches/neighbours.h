// Equations beside a band that could run in it: where the elements that they make or read lie along its members.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "poly/band.h"

namespace polyweft::schedules {

/// What the slot holds: its variable, or where it is fixed.
Affine coordinate(const Slot& slot);
/// The members at the element with these coordinates, as the tensor's widest statement has them; nothing where an index
/// of its is no coordinate.
std::optional<std::vector<Affine>> members_at(const Program& program, const poly::BandProposal& proposal,
                                              TensorId tensor, const std::vector<Affine>& element);
/// The one element of these tensors that the equation reads, where it reads one alone.
std::optional<std::pair<TensorId, std::vector<Affine>>> element_read(const Equation& equation,
                                                                     const std::set<TensorId>& tensors);
/// The tensors that the band makes.
std::set<TensorId> tensors_of(const Program& program, const poly::BandProposal& proposal);

}  // namespace polyweft::schedules
