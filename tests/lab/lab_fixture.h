// A runner under test and kernels compiled from C.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "polyweft/runner.h"
#include "targets/workers/runner_client.h"

namespace polyweft::lab_tests {

/// The bytes of a shared object made from a C file of tests/lab by the system's compiler, once a process.
const std::vector<unsigned char>& object_of(const std::string& file, const std::string& flags = "");
LoadableKernel kernel(const std::string& symbol);

ArgumentSpec input(const std::string& name, ElementType type, std::vector<int64_t> extents);
ArgumentSpec output(const std::string& name, ElementType type, std::vector<int64_t> extents);

/// C[24,20] = A[24,16] * B[16,20], f32, with the error bound's kernel.
RunnerTask matrix_task();
/// Compares only, on integer-valued and random data.
RunRequest compare(const std::string& symbol);

RunnerOptions small_options();
/// One runner for all tests of the process; a test that must look at a fresh one starts its own.
targets::WorkerRunner& shared_runner();
/// Begins the task and runs the request on the shared runner.
RunOutcome run(const RunnerTask& task, const RunRequest& request);

/// Numbers of open descriptors of a process ("self" or a pid), and of processes below one.
size_t open_descriptors(const std::string& process);
size_t child_processes(int pid);

}  // namespace polyweft::lab_tests
