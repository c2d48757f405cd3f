// Which PTX a GPU takes, by the names of machines. Free of LLVM: runners have it too.
#pragma once

#include <string>

namespace polyweft::targets {

/// Does a GPU of machine `gpu` ("sm_90a", which need not be one of ours) take PTX for this machine? PTX with an "a"
/// behind the number is for that machine alone, other PTX for all later ones.
bool takes_ptx_for(const std::string& gpu, const std::string& machine);

}  // namespace polyweft::targets
