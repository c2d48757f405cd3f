// The last line of a watched terminal, which the next thing that is said replaces. One a process, as the terminal is:
// messages of other places (errors, notes, the end of a deadline) end it before they begin.
#pragma once

#include <string>

namespace polyweft::cli {

/// Shows `text`, cut to the terminal's width, in place of what stands there.
void show_status(const std::string& text, int width);
/// Nothing stands there afterwards. Without a status line nothing is written.
void clear_status();
/// `text` in at most `width` characters, the last three of them dots where it was cut.
std::string cut(const std::string& text, size_t width);
/// Lines of at most `width` columns that end between words, all but the first indented. A longer word has a line of its
/// own. Sequences of colours take no columns.
std::string wrapped(const std::string& text, int width, size_t indent);

}  // namespace polyweft::cli
