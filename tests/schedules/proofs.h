// What the checker says, and what it knows of a program's bands.
#pragma once

#include <string>

#include "poly/band.h"
#include "poly/check/checker.h"
#include "schedules/steps.h"

namespace polyweft::test {

inline std::string words(const poly::NestCheck& check) {
  return std::string(name_of(check.verdict)) + " " + check.code + " " + check.message;
}

/// Empty for a nest that is proven.
inline std::string proved(const Program& program, const LoopNest& nest) {
  const poly::NestCheck check = poly::check_nest(program, nest);
  return check.verdict == Verdict::proven ? "" : check.code + " " + check.message;
}

inline schedules::Isl isl_for(const Program& program) {
  schedules::Isl out;
  out.band_facts = [&program](const poly::BandQuestion& question) { return poly::band_facts(program, question); };
  out.propose_bands = [&program] { return poly::propose_bands(program); };
  return out;
}

}  // namespace polyweft::test
