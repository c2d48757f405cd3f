#include "trace_diff.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "polyweft/polyweft.h"

namespace polyweft::cli {
namespace {

void join(std::string& out, const std::string& part) {
  out += (out.empty() ? "" : ", ") + part;
}

const Decision* named(const Trace& trace, const std::string& name) {
  const auto found =
      std::find_if(trace.decisions.begin(), trace.decisions.end(), [&](const Decision& d) { return d.name == name; });
  return found == trace.decisions.end() ? nullptr : &*found;
}

std::string changed_decisions(const Trace& before, const Trace& after) {
  std::string out;
  for (const auto& decision : after.decisions) {
    const Decision* old = named(before, decision.name);
    if (!old)
      join(out, decision.name + " " + std::to_string(decision.value));
    else if (old->value != decision.value)
      join(out, decision.name + " " + std::to_string(old->value) + " -> " + std::to_string(decision.value));
  }
  return out;
}

// The lines of the text that hold steps: parse_trace has accepted it, so they are the indented ones.
std::vector<std::string> steps_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("  ", 0) == 0) out.push_back(line.substr(2));
  return out;
}

void missing_in(const std::vector<std::string>& other, const std::vector<std::string>& steps, const char* sign,
                std::string& out) {
  for (const auto& step : steps)
    if (std::find(other.begin(), other.end(), step) == other.end()) join(out, sign + step);
}

}  // namespace

std::string what_changed(const std::string& before, const std::string& after) {
  if (before.empty()) return "first";
  const auto old_trace = parse_trace(before), new_trace = parse_trace(after);
  if (!old_trace || !new_trace) return "a trace that cannot be read";
  std::string out = changed_decisions(*old_trace, *new_trace);
  const auto old_steps = steps_of(before), new_steps = steps_of(after);
  missing_in(old_steps, new_steps, "+ ", out);
  missing_in(new_steps, old_steps, "- ", out);
  return out.empty() ? "the same" : out;
}

}  // namespace polyweft::cli
