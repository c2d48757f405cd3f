// Which of a search's kernels is kept: the fastest that the checker proves. The base nest is among them, so that a
// search whose schedules all fall through ends with it, and not with nothing; a stored answer is what every later call
// asks for.
#pragma once

#include <functional>
#include <vector>

#include "driver/tune_loop.h"

namespace polyweft {

struct Settled {
  size_t winner = 0;  ///< number of it
  Certificate certificate;
  int refuted = 0;  ///< that the checker refuted: of a search's own nests defects of ours, and none of them is kept
};

/// Who made the nests: a search of this process, or whoever wrote a file of work. Nobody here answers for the latter.
enum class NestsFrom : uint8_t { search, file };

/// `winners`: fastest first, the base nest where it ran. Where nothing is proven and something could not be decided (a
/// quota of isl), the fastest of these with that verdict, which best() does not serve. PW0650 where nothing is left;
/// `failed`: candidates that the lab gave up, for the message. `prove` may be a false checker in tests.
Result<Settled> settle(const std::vector<Winner>& winners, int failed,
                       const std::function<Result<Certificate>(const Winner&)>& prove,
                       NestsFrom origin = NestsFrom::search);

}  // namespace polyweft
