// For runners that are built where libseccomp is not: Sandbox says so in SandboxReport::weaker.
#include "runner_filters.h"

namespace polyweft::runner {

bool restrict_supervisor_calls() {
  return false;
}

std::vector<sock_filter> candidate_program() {
  return {};
}

std::string system_call_name(int number) {
  return "number " + std::to_string(number);
}

}  // namespace polyweft::runner
