// Sliding windows (T10): what moves while a loop runs.
#pragma once

#include "schedules/queries.h"

namespace polyweft::schedules {

/// The dimension of the attached stage's tensor along which the window that loops[depth - 1] of `host` reads of it
/// moves up, at one speed for all readers. PW0304 where the loop cannot carry a window, PW0306 where its iterations run
/// at once, PW0315 with two instances where the window does something else.
Result<Slide> slide_of(const NestTemplate& t, uint32_t attached, uint32_t host, uint32_t depth, const Sliding& sliding,
                       const std::string& subject);
/// Do all windows of a template still slide? Asked after each step: a later one may change the loop, or who reads.
Status windows_slide(const NestTemplate& t, bool has_new_readers);

}  // namespace polyweft::schedules
