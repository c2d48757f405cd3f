// The text of a file: where its lines start, and stretches of it for messages.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/result.h"

namespace polyweft::lang {

/// Of the text of a file, and of a program that the builder writes (PW0806, PW0150).
inline constexpr size_t kMaxSourceBytes = size_t{1} << 20;

/// Byte offsets [begin, end) into the text.
struct Extent {
  uint32_t begin = 0;
  uint32_t end = 0;
};
inline Extent join(Extent a, Extent b) {
  return {a.begin, b.end};
}

class Source {
 public:
  Source(std::string name, std::string text);
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  /// Line, column and length; a stretch over several lines is cut at the end of its first.
  Span span(Extent extent) const;
  /// Of a span of this text.
  Extent extent(Span span) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

/// Collects the messages of one file; after kMaxErrors further errors are dropped (`full()`).
class Reporter {
 public:
  static constexpr size_t kMaxErrors = 20;
  explicit Reporter(const Source& source) : source_(source) {}
  void error(const char* code, Extent where, std::string text, std::vector<std::string> notes = {});
  void warning(const char* code, Extent where, std::string text, std::vector<std::string> notes = {});
  bool full() const { return errors_.size() >= kMaxErrors; }
  size_t error_count() const { return errors_.size(); }
  std::vector<Diagnostic> take_errors() { return std::move(errors_); }
  std::vector<Diagnostic> take_warnings() { return std::move(warnings_); }
  const Source& source() const { return source_; }

 private:
  const Source& source_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
};

}  // namespace polyweft::lang
