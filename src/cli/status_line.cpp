#include "status_line.h"

#include <algorithm>
#include <atomic>
#include <iostream>

namespace polyweft::cli {
namespace {

std::atomic<size_t> standing{0};  // columns that what stands there takes

/// Columns of a terminal: characters, colours aside.
size_t columns_of(const std::string& text) {
  size_t out = 0;
  bool is_colour = false;
  for (const char c : text) {
    if (c == '\x1b') is_colour = true;
    out += !is_colour && (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (c == 'm') is_colour = false;
  }
  return out;
}

}  // namespace

std::string cut(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, std::max<size_t>(width, 3) - 3) + "...";
}

// The cursor goes back to the line's beginning: what the terminal itself shows there (the ^C of Ctrl-C) is then written
// over, too, and cannot push the line into a second one.
void show_status(const std::string& whole, int width) {
  const std::string text = cut(whole, static_cast<size_t>(std::max(width - 1, 8)));
  const size_t before = standing.exchange(text.size());
  const std::string blanks(before > text.size() ? before - text.size() : 0, ' ');
  std::cerr << "\r" + text + blanks + "\r" << std::flush;
}

// Blanks, not an escape sequence: works on every terminal and under NO_COLOR.
void clear_status() {
  const size_t before = standing.exchange(0);
  if (before > 0) std::cerr << "\r" + std::string(std::max<size_t>(before, 2), ' ') + "\r" << std::flush;
}

std::string wrapped(const std::string& text, int width, size_t indent) {
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t end = std::min(text.find(' ', word), text.size());
    const size_t blanks = word - at, columns = columns_of(text.substr(word, end - word));
    const bool fits = column + blanks + columns <= static_cast<size_t>(std::max(width, 1));
    if (fits || column <= indent) {
      out += text.substr(at, end - at);
      column += blanks + columns;
    } else if (columns > 0) {
      out += "\n" + std::string(indent, ' ') + text.substr(word, end - word);
      column = indent + columns;
    }
    at = end;
  }
  return out;
}

}  // namespace polyweft::cli
