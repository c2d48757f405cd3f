// The exact checks of a Program (LANGUAGE.md section 5, numbers 2 to 6) for all sizes that its assumptions allow.
#pragma once

#include "polyweft/program.h"

namespace polyweft::poly {

struct CheckReport {
  std::vector<Diagnostic> errors, warnings;
};
struct CheckOptions {
  unsigned long quota = 100'000;  ///< operations of isl for one question
};
/// Empty equations (a warning), overlaps, bounds and gaps, empty argmax, outputs, order, each with a witness: the
/// lexicographically smallest where that is found within the quota, else a sample marked `for example`. The order is
/// asked only where everything else is right. Combiners are tested against their promises. Codes PW0201 to PW0213;
/// PW0830 where the quota ran out. Typically 1-60 ms; wrap in a process with a deadline for programs of strangers.
/// Unused inputs and lets (number 7) are warnings of the parser.
CheckReport check(const Program& program, const CheckOptions& options = {});

}  // namespace polyweft::poly
