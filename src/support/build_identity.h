// Which build this is. The library and its helper processes take nests and facts from each other unread, so they must
// be of one build.
#pragma once

#include <string>

#include "polyweft/result.h"

namespace polyweft {

/// 16 hexadecimal digits: a hash of the sources that say what helpers are asked and what they answer. Made by
/// cmake/build_identity.cmake.
const char* build_identity();

/// PW0611 where a helper process is of another build; `theirs` is empty where it does not know what a build is.
Status same_build(const std::string& helper, const std::string& theirs);

}  // namespace polyweft
