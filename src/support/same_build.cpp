#include "support/build_identity.h"

namespace polyweft {

Status same_build(const std::string& helper, const std::string& theirs) {
  if (theirs == build_identity()) return Ok{};
  return fail("PW0611",
              helper + " is of " + (theirs.empty() ? "an older build" : "build " + theirs) + ", and this is build " +
                  build_identity(),
              {"build and install polyweft, polyweft-isl and polyweft-runner together"});
}

}  // namespace polyweft
