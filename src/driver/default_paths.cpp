// The one place of the library that reads the environment, for who fills in TunerOptions.
#include <cstdlib>

#include "polyweft/tuner.h"

namespace polyweft {

// State, not configuration: settings are copied from host to host, this must not be.
std::string default_secret_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/') return std::string(state) + "/polyweft/secret";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.local/state/polyweft/secret" : "";
}

std::string default_cache_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return std::string(cache) + "/polyweft/answers.db";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/polyweft/answers.db" : "";
}

}  // namespace polyweft
