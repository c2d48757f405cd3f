// Result<T>: what a user, a machine or a search can cause, as a value. Broken invariants are PW_CHECK.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#define PW_EXPORT __attribute__((visibility("default")))

/// Ends the process with a message when an invariant of Polyweft itself is broken. Never for input, machine or search.
#define PW_CHECK(condition)                                                                             \
  do {                                                                                                  \
    if (!(condition)) {                                                                                 \
      std::fprintf(stderr, "polyweft: broken invariant: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                     \
    }                                                                                                   \
  } while (false)

#pragma GCC visibility push(default)
namespace polyweft {

/// A stretch of source text: 1-based line and column, length in characters. Line 0: nowhere.
struct Span {
  int32_t line = 0;
  int32_t column = 0;
  int32_t length = 0;
  bool operator==(const Span&) const = default;
};

enum class Severity : uint8_t { error, warning };

/// One message. `code` is stable ("PW0203"); `text` has subject, what is wrong, values; `notes` carry witness and
/// remedy.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;
  std::string text;
  Span where;
  std::vector<std::string> notes;
  bool operator==(const Diagnostic&) const = default;
};

/// An error value. `diagnostics` is never empty for errors of a program's text; `source_name` names the file, if any.
struct Error {
  std::string code;
  std::string message;
  std::vector<std::string> notes;
  std::vector<Diagnostic> diagnostics;
  std::string source_name;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by purpose
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    PW_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    PW_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    PW_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    PW_CHECK(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

struct Ok {
  bool operator==(const Ok&) const = default;
};
/// The result of an action without a value.
using Status = Result<Ok>;

/// What kind of trouble a code stands for. Exit codes of the command line and pw_status have the same numbers.
enum class ErrorKind : uint8_t { no = 1, bad_input = 2, environment = 3, internal = 4 };
/// no: the answer is no (not proven, not equal, not there). bad_input: program, trace, argument or limit. environment:
/// file, database, helper process, device. internal: our bug.
PW_EXPORT ErrorKind kind_of(const std::string& code);

/// Makes an error in one line: fail("PW0301", "tile: ...", {"note"}).
inline Error fail(std::string code, std::string message, std::vector<std::string> notes = {}) {
  return Error{std::move(code), std::move(message), std::move(notes), {}, {}};
}

}  // namespace polyweft
#pragma GCC visibility pop
