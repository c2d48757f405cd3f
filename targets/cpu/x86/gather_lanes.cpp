#include "targets/cpu/x86/gather_lanes.h"

#include <algorithm>

namespace polyweft::targets {
namespace {

bool is_scatter(const std::string& name) {
  return name.find("SCATTER") != std::string::npos;
}

int bits_of(char letter) {
  return letter == 'Q' ? 64 : 32;
}

}  // namespace

// V[P]GATHER or V[P]SCATTER, D or Q for the index, PS PD D Q for the element, then Y, Z128, Z256 or Z for the wider of
// both vectors.
int gathered_lanes(const std::string& name) {
  const size_t at = std::min(name.find("GATHER"), name.find("SCATTER"));
  if (at == std::string::npos || name.rfind("V", 0) != 0) return 0;
  const size_t index = at + (is_scatter(name) ? 7 : 6);
  if (index + 1 >= name.size() || name.compare(index, 2, "PF") == 0) return 0;
  const bool is_float = name[index + 1] == 'P';
  if (is_float && index + 2 >= name.size()) return 0;
  const int element = is_float ? (name[index + 2] == 'D' ? 64 : 32) : bits_of(name[index + 1]);
  const std::string rest = name.substr(index + (is_float ? 3 : 2));
  const bool is_half = rest.rfind("Z256", 0) == 0 || rest.rfind("Y", 0) == 0;
  const int width = rest.rfind("Z128", 0) == 0 ? 128 : is_half ? 256 : rest.rfind("Z", 0) == 0 ? 512 : 128;
  return width / std::max(element, bits_of(name[index]));
}

}  // namespace polyweft::targets
