#include "polyweft/target.h"

#include <algorithm>

namespace polyweft {

bool Target::has(const std::string& feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

}  // namespace polyweft
