// --deadline: no command runs longer than its user wants to wait, whatever the program is.
#pragma once

#include <chrono>
#include <string>

#include "output.h"

namespace polyweft::cli {

/// "60s", "500ms", "2m", "90" (seconds); PW0003 names `option` otherwise.
Result<std::chrono::milliseconds> parse_duration(const std::string& option, const std::string& text);

/// "0" in any unit too.
Result<std::chrono::milliseconds> parse_duration_or_zero(const std::string& option, const std::string& text);

/// From now on the process ends with PW0836 when `limit` has passed, whatever it is doing; helper processes end with
/// it.
void end_after(std::chrono::milliseconds limit, const OutputOptions& output);

}  // namespace polyweft::cli
