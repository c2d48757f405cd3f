// Mutations of source text: bytes, words and pieces of other programs.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace polyweft::lang_test {

class Mutator {
 public:
  Mutator(uint64_t seed, std::vector<std::string> corpus) : random_(seed), corpus_(std::move(corpus)) {}

  /// One to eight mutations of one program of the corpus, more often few.
  std::string next() {
    std::string text = corpus_[below(corpus_.size())];
    for (size_t count = 1 + below(1 + below(8)); count > 0; --count) mutate(text);
    return text;
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  void mutate(std::string& text) {
    switch (below(8)) {
      case 0:
        return flip(text);
      case 1:
        return erase(text);
      case 2:
        return duplicate(text);
      case 3:
        return insert_word(text);
      case 4:
        return replace_word(text);
      case 5:
        return splice(text);
      case 6:
        return swap_words(text);
      default:
        return nest(text);
    }
  }

  void flip(std::string& text) {
    if (!text.empty()) text[below(text.size())] = static_cast<char>(below(4) == 0 ? below(256) : 32 + below(95));
  }
  void erase(std::string& text) {
    size_t at = below(text.size());
    text.erase(at, 1 + below(below(4) == 0 ? 40 : 4));
  }
  void duplicate(std::string& text) {
    size_t at = below(text.size());
    text.insert(below(text.size()), text.substr(at, 1 + below(60)));
  }
  void insert_word(std::string& text) { text.insert(below(text.size() + 1), " " + word() + " "); }
  void splice(std::string& text) {
    const std::string& other = corpus_[below(corpus_.size())];
    text.insert(below(text.size()), other.substr(below(other.size()), below(200)));
  }
  void nest(std::string& text) {
    static constexpr std::string_view kOpen[] = {"(", "[", "-", "not ", "sum[k: 2] ", "f32(", "A[", "~"};
    std::string open(kOpen[below(8)]);
    std::string piece;
    for (size_t depth = below(below(8) == 0 ? 400 : 6); depth > 0; --depth) piece += open;
    text.insert(below(text.size() + 1), piece);
  }

  /// Start and length of a word or symbol near a random place.
  std::pair<size_t, size_t> word_at(const std::string& text) {
    size_t begin = below(text.size());
    size_t end = begin;
    auto is_word = [&](size_t i) {
      return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
    };
    while (begin > 0 && is_word(begin) && is_word(begin - 1)) --begin;
    while (is_word(end)) ++end;
    return {begin, std::max<size_t>(1, end - begin)};
  }
  void replace_word(std::string& text) {
    if (text.empty()) return;
    auto [begin, length] = word_at(text);
    auto [from, from_length] = word_at(text);
    text.replace(begin, length, below(2) == 0 ? word() : text.substr(from, from_length));
  }
  void swap_words(std::string& text) {
    if (text.empty()) return;
    auto [a, a_length] = word_at(text);
    auto [b, b_length] = word_at(text);
    if (a + a_length > b) return;
    std::string first = text.substr(a, a_length);
    text.replace(a, a_length, text.substr(b, b_length));
    text.insert(std::min(text.size(), b), first);
  }

  std::string word() {
    static constexpr std::string_view kWords[] = {"program",
                                                  "const",
                                                  "in",
                                                  "let",
                                                  "out",
                                                  "partial",
                                                  "assume",
                                                  "where",
                                                  "else",
                                                  "and",
                                                  "or",
                                                  "not",
                                                  "combine",
                                                  "from",
                                                  "associative",
                                                  "commutative",
                                                  "values",
                                                  "sum",
                                                  "prod",
                                                  "max",
                                                  "min",
                                                  "any",
                                                  "all",
                                                  "argmax",
                                                  "argmin",
                                                  "reduce",
                                                  "inf",
                                                  "nan",
                                                  "true",
                                                  "false",
                                                  "f64",
                                                  "f32",
                                                  "f16",
                                                  "bf16",
                                                  "i64",
                                                  "i32",
                                                  "i16",
                                                  "i8",
                                                  "u8",
                                                  "bool",
                                                  "exp",
                                                  "select",
                                                  "clamp",
                                                  "sat_u8",
                                                  "abs",
                                                  "i",
                                                  "j",
                                                  "k",
                                                  "N",
                                                  "M",
                                                  "X",
                                                  "A",
                                                  "0",
                                                  "1",
                                                  "2",
                                                  "-1",
                                                  "0.5",
                                                  "1e-5",
                                                  "1e400",
                                                  "0x7f",
                                                  "99999999999",
                                                  "1099511627776",
                                                  "9223372036854775808",
                                                  "18446744073709551616",
                                                  "(",
                                                  ")",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "=",
                                                  "==",
                                                  "!=",
                                                  "<",
                                                  "<=",
                                                  ">",
                                                  ">=",
                                                  "<<",
                                                  ">>",
                                                  "+",
                                                  "-",
                                                  "*",
                                                  "/",
                                                  "//",
                                                  "%",
                                                  "&",
                                                  "|",
                                                  "^",
                                                  "~",
                                                  "..",
                                                  "#",
                                                  "\n",
                                                  "\t",
                                                  "$",
                                                  "\xc3\xa4",
                                                  "\xff"};
    return std::string(kWords[below(std::size(kWords))]);
  }

  std::mt19937_64 random_;
  std::vector<std::string> corpus_;
};

}  // namespace polyweft::lang_test
