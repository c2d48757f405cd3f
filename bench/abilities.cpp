// Prints what bench/ablation.py can leave out, one a line: name, tab, what it is.
#include "support/abilities.h"

#include <cstdio>

int main() {
  for (const polyweft::Ability& ability : polyweft::abilities())
    std::printf("%.*s\t%.*s\n", static_cast<int>(ability.name.size()), ability.name.data(),
                static_cast<int>(ability.what.size()), ability.what.data());
  return 0;
}
