#include "deadline.h"

#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace polyweft::cli {

Result<std::chrono::milliseconds> parse_duration(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double scale = unit == "ms"                  ? 1
                       : unit == "s" || unit.empty() ? 1e3
                       : unit == "m"                 ? 60e3
                       : unit == "h"                 ? 3600e3
                                                     : 0;
  if (end == text.c_str() || scale == 0 || !(value * scale >= 1) || value * scale > 1e12)
    return fail("PW0003", option + " " + text + ": expected a duration, e.g. 60s, 500ms or 5m");
  return std::chrono::milliseconds(static_cast<int64_t>(value * scale));
}

Result<std::chrono::milliseconds> parse_duration_or_zero(const std::string& option, const std::string& text) {
  for (const char* zero : {"0", "0s", "0ms", "0m", "0h"})
    if (text == zero) return std::chrono::milliseconds(0);
  return parse_duration(option, text);
}

// A thread of its own: what takes too long may be a kernel, a compiler or a helper, and none of them looks at a clock.
void end_after(std::chrono::milliseconds limit, const OutputOptions& output) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::thread([=] {
    std::this_thread::sleep_until(end);
    const int code = report(fail("PW0836", "the command did not end within " + std::to_string(limit.count()) + " ms",
                                 {"give more time with --deadline; what was stored before is kept"}),
                            output);
    _exit(code);
  }).detach();
}

}  // namespace polyweft::cli
