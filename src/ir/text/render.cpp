#include "ir/text/render.h"

#include <algorithm>

namespace polyweft {
namespace {

constexpr size_t kMaxLine = 160;

std::string line_of(const std::string& text, int32_t line) {
  size_t begin = 0;
  for (int32_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  size_t end = std::min(text.find('\n', begin), text.size());
  return text.substr(begin, end - begin);
}

/// Bytes that would move the cursor of a terminal become '?'.
std::string printable(std::string line) {
  for (char& c : line)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) c = '?';
  return line;
}

/// The line and below it the caret, both indented by four.
std::string excerpt(std::string line, size_t column, size_t length) {
  line = printable(std::move(line));
  if (column > line.size()) column = line.size();
  if (line.size() > kMaxLine) {
    size_t begin = column > kMaxLine / 2 ? column - kMaxLine / 2 : 0;
    line = line.substr(begin, kMaxLine);
    column -= begin;
  }
  std::string caret;
  for (size_t i = 0; i < column; ++i) caret += line[i] == '\t' ? '\t' : ' ';
  length = std::min(length, std::max<size_t>(1, line.size() - column));
  caret += "^" + std::string(std::max<size_t>(1, length) - 1, '~');
  return "    " + line + "\n    " + caret + "\n";
}

std::string notes_of(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "  note: " + note + "\n";
  return text;
}

}  // namespace

std::string render(const Diagnostic& diagnostic, const std::string& source_name, const std::string& source_text) {
  const Span& where = diagnostic.where;
  bool has_place = where.line > 0;
  std::string text = source_name;
  if (has_place) text += (text.empty() ? "" : ":") + std::to_string(where.line) + ":" + std::to_string(where.column);
  if (!text.empty()) text += ": ";
  text += diagnostic.severity == Severity::error ? "error: " : "warning: ";
  text += printable(diagnostic.text) + " [" + diagnostic.code + "]\n";
  if (has_place && !source_text.empty())
    text += excerpt(line_of(source_text, where.line), static_cast<size_t>(std::max(1, where.column)) - 1,
                    static_cast<size_t>(std::max(1, where.length)));
  return text + notes_of(diagnostic.notes);
}

std::string render(const Error& error, const std::string& source_text) {
  std::string text;
  for (const Diagnostic& each : error.diagnostics) text += render(each, error.source_name, source_text);
  if (!error.diagnostics.empty()) return text;
  Diagnostic only{Severity::error, error.code, error.message, {}, error.notes};
  return render(only, error.source_name, "");
}

}  // namespace polyweft
