// "did you mean": the nearest of some names.
#pragma once

#include <string>
#include <vector>

namespace polyweft::cli {

/// ", did you mean 'tune'?" for the nearest name where it is near enough, else nothing.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& names);

}  // namespace polyweft::cli
