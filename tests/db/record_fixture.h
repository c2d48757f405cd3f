// Records for the database tests: numbered, all different, all fields used.
#pragma once

#include <string>

#include "polyweft/records.h"

namespace polyweft {

inline TuningRecord numbered_record(int number) {
  TuningRecord r;
  const std::string n = std::to_string(number);
  r.key.program = std::string(32 - n.size(), 'a') + n;
  r.key.binding = {512, number, 64};
  r.key.cls = NumericsClass::reassoc;
  r.key.target = "x86-64/avx512f";
  r.key.threads = 1;
  r.canonical_text = "canonical " + n;
  r.program_text = "program p" + n + "()";
  r.program_name = "p" + n;
  r.trace_text = "trace 1\n  tile C [i: " + n + "]\n";
  r.nest_text = "nest 1 text of " + n;
  r.certificate = {Verdict::proven, 1, "isl 0.25", 12.5};
  r.measurement.nest_hash = "hash" + n;
  r.measurement.status = RunStatus::ok;
  r.measurement.timing = {1000.0 + number, 990.0, 0.01, 31, 0.9, 0.89, 0.91};
  r.measurement.predicted_ns = 1100;
  r.measurement.strategy = "enumerate";
  r.measurement.seed = 7;
  r.measurement.toolchain = "polyweft 0.1.0";
  r.measurement.unix_time = 1'790'000'000;
  return r;
}

}  // namespace polyweft
