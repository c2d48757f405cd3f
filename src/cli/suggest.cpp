#include "suggest.h"

#include <algorithm>

namespace polyweft::cli {
namespace {

// Levenshtein's distance, one row at a time.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(const std::string& given, const std::vector<std::string>& names) {
  if (given.size() > 64) return "";
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(2, given.size() / 3) + 1;
  for (const auto& name : names)
    if (const size_t d = distance(given, name); d < least) least = d, nearest = &name;
  return nearest ? ", did you mean '" + *nearest + "'?" : "";
}

}  // namespace polyweft::cli
