// A secret of this user on this host: 32 random bytes in a file of mode 0600, made at the first use. What is
// authenticated with it was done here.
#pragma once

#include <string>

#include "polyweft/result.h"

namespace polyweft {

/// The 32 bytes in file `path`, made with its folders (mode 0700) where there is none; of several processes that make
/// it at once, one wins and all read its bytes. PW0722 where it cannot be made or read, is no regular file of this
/// user's, or is readable for others.
Result<std::string> host_secret(const std::string& path);

}  // namespace polyweft
