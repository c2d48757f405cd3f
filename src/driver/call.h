// What a call of Tuner has beside its task: when it has to end, where its time goes, who hears what is being done.
#pragma once

#include <functional>
#include <string>

#include "support/stage_times.h"
#include "support/stop.h"

namespace polyweft {

struct Call {
  Stop stop;
  StageTimes times;
  std::function<void(const std::string&)> doing;  ///< "analysing the program"; may be empty

  void say(const std::string& what) const {
    if (doing) doing(what);
  }
};

/// Null: a call without an end, nobody asks where its time goes.
inline bool is_due(const Call* call) {
  return call && call->stop.is_due();
}
inline StageTimes* times_of(Call* call) {
  return call ? &call->times : nullptr;
}

}  // namespace polyweft
