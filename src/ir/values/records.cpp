#include "polyweft/records.h"

#include <algorithm>
#include <string_view>

#include "polyweft/runner.h"

namespace polyweft {
namespace {

constexpr std::string_view kEmulated = "; emulated";  // on disk: frozen

}  // namespace

TaskKey emulated(TaskKey key) {
  if (!is_emulated(key)) key.target += kEmulated;
  return key;
}

std::string fingerprint_in(const TaskKey& key) {
  return key.target.substr(0, key.target.find("; "));  // no fingerprint has a semicolon
}

bool is_emulated(const TaskKey& key) {
  return key.target.ends_with(kEmulated);
}

const char* name_of(RunStatus status) {
  switch (status) {
    case RunStatus::ok:
      return "ok";
    case RunStatus::wrong_result:
      return "wrong_result";
    case RunStatus::crash:
      return "crash";
    case RunStatus::hang:
      return "hang";
    case RunStatus::illegal_instruction:
      return "illegal_instruction";
    case RunStatus::out_of_bounds:
      return "out_of_bounds";
    case RunStatus::out_of_memory:
      return "out_of_memory";
    case RunStatus::forbidden_system_call:
      return "forbidden_system_call";
    case RunStatus::input_overwritten:
      return "input_overwritten";
    case RunStatus::early_exit:
      return "early_exit";
    case RunStatus::arithmetic_trap:
      return "arithmetic_trap";
    case RunStatus::kernel_error:
      return "kernel_error";
    case RunStatus::build_failed:
      return "build_failed";
    case RunStatus::spilled:
      return "spilled";
    case RunStatus::slower:
      return "slower";
    case RunStatus::not_run:
      return "not_run";
    case RunStatus::timed_out:
      return "timed_out";
  }
  return "unknown";
}

namespace {

bool has_interval(const Timing& timing) {
  constexpr double kNoEnd = 1e6;  // above it, or below its inverse: the runner's word for too few pairs
  return timing.ratio_lo > 1 / kNoEnd || timing.ratio_hi < kNoEnd;
}

/// One pair may be an accident; two or more that all show half as much again are none.
const char* word_of_few_pairs(const Timing& timing) {
  constexpr double kFar = 1.5;
  const size_t pairs = std::min(timing.samples_ns.size(), timing.beside_ns.size());
  size_t faster = 0, slower = 0;
  for (size_t k = 0; k < pairs; ++k) {
    const double own = timing.samples_ns[k], other = timing.beside_ns[k];
    slower += own > kFar * other;
    faster += other > kFar * own;
  }
  if (pairs >= 2 && slower == pairs) return "slower";
  if (pairs >= 2 && faster == pairs) return "faster";
  return "too few pairs";
}

}  // namespace

const char* comparison_word(const Timing& timing) {
  constexpr double kTie = 0.01;
  if (timing.ratio <= 0) return "not compared";
  if (!has_interval(timing)) return word_of_few_pairs(timing);
  const double width = timing.is_exact ? 0 : kTie;
  if (timing.ratio_lo >= 1 - width && timing.ratio_hi <= 1 + width) return "tie";
  if (timing.ratio_lo > 1) return "slower";
  if (timing.ratio_hi < 1) return "faster";
  return "too noisy";
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::not_checked:
      return "not_checked";
    case Verdict::proven:
      return "proven";
    case Verdict::refuted:
      return "refuted";
    case Verdict::not_proven:
      return "not_proven";
  }
  return "unknown";
}

}  // namespace polyweft
