// Everything a program that links Polyweft needs.
#pragma once

#include "polyweft/database.h"
#include "polyweft/dsl.h"
#include "polyweft/loop_nest.h"
#include "polyweft/program.h"
#include "polyweft/records.h"
#include "polyweft/result.h"
#include "polyweft/runner.h"
#include "polyweft/target.h"
#include "polyweft/trace.h"
#include "polyweft/tuner.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// How the candidates of a file are measured.
struct MeasureOptions {
  std::string helper_directory = {};     ///< as TunerOptions::helper_directory
  std::vector<std::string> runner = {};  ///< as TunerOptions::runner
  bool json = false;                     ///< lines as docs/schemas/polyweft.measure-1.json instead of text
};
/// Measures the candidates of a file that Tuner::propose wrote, by `polyweft-runner --batch` in a process of its own,
/// and writes PATH.results; ended at any time, the next call goes on. Lines go to standard output, messages to standard
/// error. Gives the process's exit code, 0 where all was measured. PW0606 where it cannot be started, PW0601 where a
/// signal ended it.
PW_EXPORT Result<int> measure(const std::string& path, const MeasureOptions& options = {});

}  // namespace polyweft
#pragma GCC visibility pop
