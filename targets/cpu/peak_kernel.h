// Peak kernels: kernels that do nothing but one multiply-add instruction in registers, on all threads, as fast as it
// goes. What a kernel's rate is a share of is measured by calling peak kernel and kernel in turns, in one process, each
// for as long as the other: a clock that is high for 50 us, and what another attached stage takes of the core, are then
// the same for both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/cpu/build.h"

namespace polyweft::targets {

/// The instruction that bounds a kernel's rate: a tensor instruction, or multiply-adds of vectors of a float type.
struct Unit {
  std::string instruction;              ///< name of its file; empty: plain vectors
  ElementType type = ElementType::f32;  ///< of plain vectors
};
/// Of the nest's tensor instructions the one that does most; else multiply-adds of the widest float type that its
/// arithmetic is in (f16 counts as f32 where the target computes it so). None for a nest of integers without tensor
/// instructions.
std::optional<Unit> unit_of(const LoopNest& nest, const Target& target);
/// "tdpbusd", "f32 multiply-adds".
std::string name_of(const Unit& unit);
/// Arithmetic operations of one instruction; a multiply-add is two.
double operations_of(const Unit& unit, const Target& target);

/// A kernel that runs at least `instructions` of the unit on each of `threads` threads (a multiple of what is in
/// flight: `peak_kernel_instructions`). Called like any kernel, it looks at no argument.
Result<CompiledObject> compile_peak_kernel(const Unit& unit, const Target& target, const std::string& symbol,
                                           int threads, int64_t instructions);
int64_t peak_kernel_instructions(const Unit& unit, int64_t at_least);

}  // namespace polyweft::targets
