// Programs as traces name them.
#pragma once

#include <string>
#include <vector>

#include "polyweft/nest_template.h"

namespace polyweft::ir {

/// "A", or "A@1", "A@2" where several equations define A. A tuple goes by the first of its names that people wrote.
std::string name_in_traces(const Program& program, EquationId equation);
/// ".first", ".folds": what follows the name of a statement of which a band has a part; empty for all of it.
std::string suffix_of(SumPart part);
/// These statements as a step of a trace: one entry an equation and part, whose pieces share its map.
BandStep band_step(const Program& program, const std::vector<BandPlace>& statements,
                   const std::vector<std::string>& members, const std::string& name);

}  // namespace polyweft::ir
