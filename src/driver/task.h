// A task: a program at a binding, class and thread count, on a target. What the key says, and what every stage needs of
// it.
#pragma once

#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/program.h"
#include "polyweft/records.h"
#include "polyweft/target.h"
#include "polyweft/tuner.h"

namespace polyweft {

struct Task {
  Program source;  ///< as parsed
  Binding binding;
  Program program;  ///< bound and normalized
  TaskKey key;
  std::string canonical_text;
  std::string source_text;  ///< text that parses back to `source`
  std::string device;       ///< of this machine, that its kernels run on (Backend::device_here)
};

Result<Task> make_task(const Program& program, const TaskOptions& options, const Target& target);

/// Arithmetic operations on numbers (a multiply-add counts 2) that one call of the nest executes, exactly. Rates are of
/// the program's: see flops.h.
double count_flops(const LoopNest& nest);

/// The ABI of a nest: inputs, then outputs, in program order.
std::vector<ArgumentSpec> argument_specs(const LoopNest& nest, const Program& program);

}  // namespace polyweft
