// The loops of a nest for a person: trips a loop, bytes a buffer, register blocks on one line.
#pragma once

#include <string>

#include "polyweft/polyweft.h"

namespace polyweft::cli {

/// One line a loop, buffer or statement, indented; a column of trip counts ("?" where they change from iteration to
/// iteration) and one of bytes.
std::string outline(const LoopNest& nest);

}  // namespace polyweft::cli
