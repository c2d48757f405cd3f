// Why a search ended, as TuneReport::reason and pw_report_reason say it: both headers list these words.
#pragma once

#include <array>

namespace polyweft::stop_reason {

inline constexpr const char* kBudget = "budget";
inline constexpr const char* kTrials = "trials";
inline constexpr const char* kShareReached = "share of the roofline";
inline constexpr const char* kExhausted = "space exhausted";
inline constexpr const char* kNoGain = "no expected gain";
inline constexpr const char* kInterrupted = "interrupted";
inline constexpr const char* kDeadline = "deadline";
inline constexpr const char* kHit = "hit";
inline constexpr const char* kSchedule = "schedule";
inline constexpr const char* kNothingMeasured = "nothing measured";

inline constexpr std::array kAll = {kBudget,      kTrials,   kShareReached, kExhausted, kNoGain,
                                    kInterrupted, kDeadline, kHit,          kSchedule,  kNothingMeasured};

}  // namespace polyweft::stop_reason
