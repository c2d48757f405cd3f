// Pages of 2 MB: which memory is to lie in them.
#pragma once

#include <cstddef>

namespace polyweft {

inline constexpr size_t kPage = 4096;
inline constexpr size_t kHugePage = size_t{2} << 20;
/// An array of so many bytes and more is advised to, as NumPy's are.
inline constexpr size_t kWorthHugePages = size_t{4} << 20;

}  // namespace polyweft
