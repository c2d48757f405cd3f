// Nests that were changed by hand: what the checker must not prove.
#pragma once

#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "ir/oracles/interpreter.h"
#include "polyweft/loop_nest.h"
#include "references.h"

namespace polyweft::test {

/// One small change of a nest's text: a number, a leaf dropped or doubled, loops swapped, a mark, a variable, a merge.
class Mutator {
 public:
  Mutator(std::string text, uint64_t seed) : text_(std::move(text)), state_(seed * 2654435761u + 1) {}

  std::string mutated() {
    std::string out = text_;
    switch (next() % (has_merges() ? 10 : 6)) {
      case 0:
        return nudge_number(out);
      case 1:
        return nudge_number(out);
      case 2:
        return drop_leaf(out);
      case 3:
        return swap_loops(out);
      case 4:
        return mark_parallel(out);
      case 5:
        return replace_variable(out);
      case 6:
        return without(out, " init ");
      case 7:
        return without(out, " merge ");
      case 8:
        return twice(out, " merge ");
      default:
        return next() % 8 ? overlapping(out) : out.replace(out.find("class reassoc"), 13, "class strict");
    }
  }

 private:
  size_t next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<size_t>(state_ >> 33);
  }
  size_t body(const std::string& t) const { return t.find("\nbody"); }
  std::vector<size_t> lines_with(const std::string& t, const std::string& word) const {
    std::vector<size_t> out;
    for (size_t at = t.find(word, body(t)); at != std::string::npos; at = t.find(word, at + 1)) out.push_back(at);
    return out;
  }
  std::string nudge_number(std::string t) {
    std::vector<size_t> at;
    for (size_t k = body(t); k + 1 < t.size(); ++k) {
      bool starts = std::isdigit(static_cast<unsigned char>(t[k])) &&
                    !std::isalnum(static_cast<unsigned char>(t[k - 1])) && t[k - 1] != '@' && t[k - 1] != '_' &&
                    t[k - 1] != '.';
      if (starts) at.push_back(k);
    }
    if (at.empty()) return t;
    size_t k = at[next() % at.size()], end = k;
    while (std::isdigit(static_cast<unsigned char>(t[end]))) ++end;
    if (end - k > 17) return t;
    long value = std::stol(t.substr(k, end - k)) + (next() % 2 ? 1 : -1);
    return value < 0 ? t : t.replace(k, end - k, std::to_string(value));
  }
  std::string drop_leaf(std::string t) {
    std::vector<size_t> at = lines_with(t, " copy "), more = lines_with(t, " compute ");
    at.insert(at.end(), more.begin(), more.end());
    if (at.empty()) return t;
    size_t k = at[next() % at.size()];
    if (next() % 3) return t.erase(k, t.find('\n', k) - k);
    std::string line = t.substr(k, t.find('\n', k) - k);
    return t.insert(t.find('\n', k), "\n" + line);
  }
  bool has_merges() const {
    return text_.find(" merge ") != std::string::npos && text_.find("class reassoc") != std::string::npos;
  }
  /// From and to the borders of the line with one of the leaves of this kind.
  std::pair<size_t, size_t> line_of(const std::string& t, const std::string& kind) {
    std::vector<size_t> at = lines_with(t, kind);
    if (at.empty()) return {0, 0};
    size_t k = at[next() % at.size()];
    return {t.rfind('\n', k) + 1, t.find('\n', k)};
  }
  std::string without(std::string t, const std::string& kind) {
    auto [from, to] = line_of(t, kind);
    return t.erase(from, to - from);
  }
  std::string twice(std::string t, const std::string& kind) {
    auto [from, to] = line_of(t, kind);
    return t.insert(to, "\n" + t.substr(from, to - from));
  }
  /// Lanes that share points, or a tree that takes the wrong partner: a number of a fold or a merge changes.
  std::string overlapping(std::string t) {
    auto [from, to] = line_of(t, next() % 2 ? " merge " : " accumulate ");
    std::vector<size_t> at;
    for (size_t k = from; k < to; ++k)
      if (std::isdigit(static_cast<unsigned char>(t[k])) && (t[k - 1] == ' ' || t[k - 1] == '[')) at.push_back(k);
    if (at.empty()) return t;
    size_t k = at[next() % at.size()], end = k;
    while (std::isdigit(static_cast<unsigned char>(t[end]))) ++end;
    return t.replace(k, end - k, std::to_string(next() % 9));
  }
  std::string swap_loops(std::string t) {
    std::vector<size_t> at = lines_with(t, " for ");
    if (at.empty()) return t;
    size_t k = next() % at.size();
    if (k + 1 >= at.size()) return t;
    auto line = [&](size_t from) { return t.substr(from, t.find('\n', from) - from); };
    std::string a = line(at[k]), b = line(at[k + 1]);
    t.replace(at[k + 1], b.size(), a);
    return t.replace(at[k], a.size(), b);
  }
  std::string mark_parallel(std::string t) {
    std::vector<size_t> at = lines_with(t, " for ");
    if (at.empty()) return t;
    size_t end = t.find(" {\n", at[next() % at.size()]);
    return t.insert(end, " parallel");
  }
  std::string replace_variable(std::string t) {
    std::vector<size_t> at = lines_with(t, " for ");
    if (at.empty()) return t;
    auto name = [&](size_t from) { return t.substr(from + 5, t.find(' ', from + 5) - from - 5); };
    std::string a = name(at[next() % at.size()]), b = name(at[next() % at.size()]);
    std::vector<size_t> uses = lines_with(t, a);
    if (uses.empty()) return t;
    return t.replace(uses[next() % uses.size()], a.size(), b);
  }
  std::string text_;
  uint64_t state_;
};

inline bool tag_mode_rejects(const Program& program, const LoopNest& nest) {
  const auto expected = tag_reference(program, nest.cls);
  const auto& [inputs, wanted] = *expected;
  ir::InterpreterOptions options;
  options.with_tags = true;
  auto got = ir::interpret(nest, inputs, options);
  return !got.ok() || got->tags != wanted->tags || got->written != wanted->written;
}

}  // namespace polyweft::test
