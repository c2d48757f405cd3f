#include "lang/source.h"

#include <algorithm>

namespace polyweft::lang {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
}

Span Source::span(Extent extent) const {
  auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), extent.begin);
  auto line = static_cast<size_t>(next - line_starts_.begin()) - 1;
  uint32_t line_end = line + 1 < line_starts_.size() ? line_starts_[line + 1] - 1 : static_cast<uint32_t>(text_.size());
  uint32_t end = std::max(extent.begin, std::min(extent.end, line_end));
  return {static_cast<int32_t>(line + 1), static_cast<int32_t>(extent.begin - line_starts_[line] + 1),
          static_cast<int32_t>(std::max<uint32_t>(1, end - extent.begin))};
}

Extent Source::extent(Span span) const {
  const uint32_t begin = line_starts_[static_cast<size_t>(span.line - 1)] + static_cast<uint32_t>(span.column - 1);
  return {begin, begin + static_cast<uint32_t>(span.length)};
}

void Reporter::error(const char* code, Extent where, std::string text, std::vector<std::string> notes) {
  if (full()) return;
  Diagnostic diagnostic{Severity::error, code, std::move(text), source_.span(where), std::move(notes)};
  if (std::find(errors_.begin(), errors_.end(), diagnostic) == errors_.end()) errors_.push_back(std::move(diagnostic));
}

void Reporter::warning(const char* code, Extent where, std::string text, std::vector<std::string> notes) {
  if (warnings_.size() >= kMaxErrors) return;
  warnings_.push_back({Severity::warning, code, std::move(text), source_.span(where), std::move(notes)});
}

}  // namespace polyweft::lang
