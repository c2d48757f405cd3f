// Traces of the library that cover all that its traces do; all of them in the soak.
#pragma once

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "samples.h"

namespace polyweft::library_test {

/// What a trace does: its steps with the words that say how (scopes, instructions, `slide`, ..).
inline std::set<std::string> features_of(const std::string& trace) {
  static const std::set<std::string> kWords = {"heap", "stack",  "reg",  "tile", "slide", "whole",   "fold", "down",
                                               "mod",  "layout", "read", "root", "in",    "isolate", "ahead"};
  std::set<std::string> out;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string step, word;
    if (!(words >> step) || step == "decide" || step == "require" || step == "trace") continue;
    out.insert(step);
    while (words >> word) {
      if (word == ";") words >> step, out.insert(step);
      if (kWords.count(word)) out.insert(step + " " + word);
      if (step == "tensorize" && word == "by" && words >> word) out.insert(step + " " + word);
    }
  }
  return out;
}

/// In the order of their names, those that have a feature which the ones before have not.
template <typename Case>
std::vector<Case> covering_sample(const std::vector<Case>& all, std::set<std::string> (*features)(const Case&)) {
  if (test::takes_all_cases()) return all;
  std::vector<Case> out;
  std::set<std::string> seen;
  for (const Case& each : all) {
    const auto own = features(each);
    const size_t before = seen.size();
    seen.insert(own.begin(), own.end());
    if (seen.size() > before) out.push_back(each);
  }
  return out;
}

}  // namespace polyweft::library_test
