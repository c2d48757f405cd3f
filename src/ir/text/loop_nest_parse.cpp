// Text -> LoopNest. The text may come from a file, another process or a database row: every number, depth and count has
// a limit, every name must be known, and whatever does not fit ends in PW0410 (syntax) or PW0813 (limit) with its line.
#include "ir/text/loop_nest_parser.h"

namespace polyweft {
namespace ir {

LoopNest NestParser::whole() {
  header();
  while (accept_name("param")) parameter();
  nest_.symbolic = accept_name("symbolic");
  while (nest_.symbolic && accept_name("assume")) nest_.assumptions.push_back(guard(0));
  nest_.auto_vectorized = accept_name("autovectorize");
  nest_.avoids_gathers = nest_.auto_vectorized && accept_name("without");
  if (nest_.avoids_gathers) expect_name("gathers");
  while (accept_name("online")) online_maximum();
  if (accept_name("loops")) loops();
  while (accept_name("combine")) combiner();
  while (accept_name("buffer")) buffer();
  for (const auto& [id, host] : hosts_) resolve_host(id, host);
  if (accept_name("arguments")) arguments();
  while (accept_name("pack")) pack();
  expect_name("body");
  nest_.root = block(0);
  if (now().kind != TokenKind::end) refuse("expected the end of the text");
  return std::move(nest_);
}

void NestParser::refuse(const std::string& what) const {
  throw ParseFailure{fail("PW0410", "nest text, line " + std::to_string(now().line) + ": " + what + ", found '" +
                                        now().text.substr(0, 40) + "'")};
}

void NestParser::advance() {
  if (at_ + 1 < tokens_.size()) ++at_;
}

bool NestParser::accept(const char* s) {
  if (!is_symbol(s)) return false;
  advance();
  return true;
}

bool NestParser::accept_name(const char* s) {
  if (!is_name(s)) return false;
  advance();
  return true;
}

void NestParser::expect(const char* s) {
  if (!accept(s)) refuse(std::string("expected '") + s + "'");
}

void NestParser::expect_name(const char* s) {
  if (!accept_name(s)) refuse(std::string("expected '") + s + "'");
}

std::string NestParser::name() {
  if (now().kind != TokenKind::name) refuse("expected a name");
  std::string text = now().text;
  advance();
  return text;
}

void NestParser::check_depth(size_t depth, size_t limit) const {
  if (depth > limit) over_limit("nesting is deeper than " + std::to_string(limit));
}

int64_t NestParser::natural_up_to(int64_t limit, const char* limit_text) {
  if (now().kind != TokenKind::integer) refuse("expected an integer");
  errno = 0;
  unsigned long long value = std::strtoull(now().text.c_str(), nullptr, 10);
  if (errno != 0 || value > static_cast<unsigned long long>(limit))
    over_limit(std::string("a number is larger than ") + limit_text);
  advance();
  return static_cast<int64_t>(value);
}

int64_t NestParser::integer() {
  bool negative = accept("-");
  int64_t value = natural();
  return negative ? -value : value;
}

uint32_t NestParser::id() {
  int64_t value = natural();
  if (value >= 0xffffffff) over_limit("an identifier is larger than 2^32");
  return static_cast<uint32_t>(value);
}

}  // namespace ir

using namespace ir;

Result<LoopNest> parse_loop_nest(const std::string& text) {
  if (text.size() > kMaxNestText)
    return fail("PW0813",
                "nest text: " + std::to_string(text.size()) + " bytes, at most " + std::to_string(kMaxNestText));
  auto tokens = lex_nest(text);
  if (!tokens) return tokens.error();
  try {
    return NestParser(std::move(tokens).value()).whole();
  } catch (const ParseFailure& failure) {
    return failure.error;
  }
}

}  // namespace polyweft
