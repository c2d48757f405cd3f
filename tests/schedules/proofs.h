// What the checker says, and what it knows of a program's bands.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "poly/band.h"
#include "poly/band_json.h"
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

/// A question that was answered before is answered from memory, as by the driver's IslClient.
inline schedules::Isl isl_for(const Program& program) {
  schedules::Isl out;
  const auto kept = std::make_shared<std::map<std::string, Result<poly::BandFacts>>>();
  out.band_facts = [&program, kept](const poly::BandQuestion& question) {
    const std::string key = poly::to_json(question).dump();
    const auto found = kept->find(key);
    return found != kept->end() ? found->second : kept->emplace(key, poly::band_facts(program, question)).first->second;
  };
  out.propose_bands = [&program] { return poly::propose_bands(program); };
  return out;
}

}  // namespace polyweft::test
