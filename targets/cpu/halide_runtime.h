// The functions of Halide's runtime that kernels for CPUs call: halide_malloc, halide_free, halide_do_par_for.
#pragma once

#include "targets/common/runtime_hooks.h"

namespace polyweft::targets {

const RuntimeHooks& halide_runtime();
/// halide_do_par_for beside malloc and free: code without parallel loops asks for the C library alone.
const RuntimeHooks& halide_tasks_alone();

}  // namespace polyweft::targets
