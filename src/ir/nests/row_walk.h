// How an access moves with one loop variable: what turns a loop into rows of vectors asks for.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Does the variable stand anywhere in it, inside divisions too?
bool mentions(const Affine& e, VarId var);
bool mentions(const Guard& g, VarId var);

/// stays: all iterations have one element; along_rows: neighbours in the last subscript, and nothing else moves.
enum class Walk { stays, along_rows, other };
Walk walk_of(const Access& access, VarId var);

}  // namespace polyweft::ir
