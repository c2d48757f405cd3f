// The one table from codes to kinds of trouble.
#include <algorithm>
#include <array>
#include <string_view>

#include "polyweft/result.h"

namespace polyweft {
namespace {

struct Exception {
  std::string_view code;
  ErrorKind kind;
};
// Codes whose kind is not that of their group, one a line.
// clang-format off
constexpr auto kExceptions = std::to_array<Exception>({
    {"PW0004", ErrorKind::environment},
    {"PW0024", ErrorKind::internal},
    {"PW0172", ErrorKind::environment},
    {"PW0501", ErrorKind::internal},
    {"PW0515", ErrorKind::environment},
    {"PW0599", ErrorKind::internal},
    {"PW0651", ErrorKind::no},
    {"PW0652", ErrorKind::bad_input},
    {"PW0653", ErrorKind::bad_input},
    {"PW0654", ErrorKind::bad_input},
    {"PW0655", ErrorKind::no},
    {"PW0656", ErrorKind::bad_input},
    {"PW0657", ErrorKind::bad_input},
    {"PW0670", ErrorKind::bad_input},
    {"PW0709", ErrorKind::bad_input},
    {"PW0710", ErrorKind::no},
    {"PW0712", ErrorKind::bad_input},
    {"PW0713", ErrorKind::no},
    {"PW0721", ErrorKind::no},
    {"PW0724", ErrorKind::bad_input},
    {"PW0725", ErrorKind::no},
    {"PW0726", ErrorKind::bad_input},
    {"PW0833", ErrorKind::internal},
});
// clang-format on

ErrorKind kind_of_group(std::string_view group) {
  if (group == "04") return ErrorKind::no;
  if (group == "06" || group == "07") return ErrorKind::environment;
  if (group == "09") return ErrorKind::internal;
  return ErrorKind::bad_input;
}

}  // namespace

ErrorKind kind_of(const std::string& code) {
  const auto* found =
      std::find_if(kExceptions.begin(), kExceptions.end(), [&](const Exception& e) { return e.code == code; });
  if (found != kExceptions.end()) return found->kind;
  return kind_of_group(code.size() == 6 ? std::string_view(code).substr(2, 2) : std::string_view());
}

}  // namespace polyweft
