// The figures of a Machine by the keys that descriptions have for them: one table for reading, printing and listing
// them.
#pragma once

#include <variant>
#include <vector>

#include "polyweft/target.h"

namespace polyweft::ir {

using AnyFigure = std::variant<Figure<int64_t>*, Figure<double>*>;
double value_of(const AnyFigure& figure);
FigureOrigin origin_of(const AnyFigure& figure);
void set_figure(const AnyFigure& figure, double value, FigureOrigin origin);

struct FigureKey {
  const char* name;
  const char* unit;
  double least, most;  ///< of what a description may say
  bool is_list;
  std::vector<AnyFigure> (*figures)(Machine& machine);  ///< one, where it is no list
};
/// In the order of a description: cache_bytes, which says how many caches there are, and tlb_pages before the lists
/// that follow them.
const std::vector<FigureKey>& figure_keys();
/// "cache_bytes[2]" of a list, else the key's name.
std::string name_of_entry(const FigureKey& key, size_t entry);

}  // namespace polyweft::ir
