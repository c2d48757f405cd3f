// Text as JSON has it. The runner is without libraries, since it is built for machines that have none.
#pragma once

#include <cstdio>
#include <string>

namespace polyweft::runner {

/// With its quotes, in ASCII: bytes of others, which a terminal may show.
inline std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      out += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
    out += escaped;
  }
  return out + "\"";
}

}  // namespace polyweft::runner
