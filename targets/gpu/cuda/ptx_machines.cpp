#include "targets/gpu/cuda/ptx_machines.h"

#include <cstdlib>
#include <string_view>

namespace polyweft::targets {
namespace {

/// 90 of "sm_90a"; 0: no such name.
int sm_number(const std::string& machine) {
  constexpr std::string_view kPrefix = "sm_";
  return machine.starts_with(kPrefix) ? std::atoi(machine.c_str() + kPrefix.size()) : 0;
}

}  // namespace

bool takes_ptx_for(const std::string& gpu, const std::string& machine) {
  const int has = sm_number(gpu), wanted = sm_number(machine);
  return machine.ends_with('a') ? has == wanted : has >= wanted;
}

}  // namespace polyweft::targets
