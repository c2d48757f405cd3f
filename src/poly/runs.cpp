#include "poly/runs.h"

#include <algorithm>
#include <map>

namespace polyweft::poly {
namespace {

constexpr size_t kLongestPeriod = 8;
constexpr int kDeepest = 6;

/// Numbers for shapes: equal texts, equal numbers.
class Shapes {
 public:
  uint32_t of_point(uint32_t statement) { return number("p" + std::to_string(statement)); }
  uint32_t of_loop(const Run& loop) {
    std::string text = "l";
    for (size_t c = 0; c < loop.children.size(); ++c) {
      text += ";" + std::to_string(loop.children[c].shape);
      for (int64_t step : loop.steps[c]) text += "," + std::to_string(step);
    }
    return number(text);
  }

 private:
  uint32_t number(const std::string& text) {
    return numbers_.emplace(text, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  std::map<std::string, uint32_t> numbers_;
};

bool advances(const Run& a, const Run& b, const std::vector<int64_t>& step) {
  if (a.shape != b.shape) return false;
  for (size_t d = 0; d < step.size(); ++d)
    if (b.numbers[d] - a.numbers[d] != step[d]) return false;
  return true;
}

std::vector<int64_t> step_between(const Run& a, const Run& b) {
  std::vector<int64_t> out(a.numbers.size());
  for (size_t d = 0; d < out.size(); ++d) out[d] = b.numbers[d] - a.numbers[d];
  return out;
}

/// How many runs from `at` on repeat with this period.
size_t reach(const std::vector<Run>& runs, size_t at, size_t period) {
  if (at + 2 * period > runs.size()) return 0;
  std::vector<std::vector<int64_t>> steps;
  for (size_t c = 0; c < period; ++c) {
    if (runs[at + c].shape != runs[at + period + c].shape) return 0;
    steps.push_back(step_between(runs[at + c], runs[at + period + c]));
  }
  size_t end = at + 2 * period;
  while (end < runs.size() && advances(runs[end - period], runs[end], steps[(end - at) % period])) ++end;
  size_t whole = (end - at) / period;
  return whole >= 3 ? whole * period : 0;
}

Run loop_of(const std::vector<Run>& runs, size_t at, size_t period, size_t length, Shapes& shapes) {
  Run out;
  out.numbers.push_back(static_cast<int64_t>(length / period));
  for (size_t c = 0; c < period; ++c) {
    out.children.push_back(runs[at + c]);
    out.steps.push_back(step_between(runs[at + c], runs[at + period + c]));
    out.numbers.insert(out.numbers.end(), runs[at + c].numbers.begin(), runs[at + c].numbers.end());
  }
  out.shape = shapes.of_loop(out);
  return out;
}

std::vector<Run> folded_once(const std::vector<Run>& runs, Shapes& shapes) {
  std::vector<Run> out;
  for (size_t at = 0; at < runs.size();) {
    size_t best = 0, period = 1;
    for (size_t p = 1; p <= kLongestPeriod; ++p) {
      size_t length = reach(runs, at, p);
      if (length > best) {
        best = length;
        period = p;
      }
    }
    if (best == 0)
      out.push_back(runs[at++]);
    else
      out.push_back(loop_of(runs, at, period, best, shapes));
    at += best;
  }
  return out;
}

void unfold(const Run& run, const std::vector<int64_t>& numbers, std::vector<Run>& out) {
  if (run.children.empty()) {
    Run point;
    point.statement = run.statement;
    point.numbers = numbers;
    out.push_back(std::move(point));
    return;
  }
  for (int64_t k = 0; k < numbers[0]; ++k) {
    size_t from = 1;
    for (size_t c = 0; c < run.children.size(); ++c) {
      std::vector<int64_t> child(numbers.begin() + static_cast<std::ptrdiff_t>(from),
                                 numbers.begin() + static_cast<std::ptrdiff_t>(from + run.steps[c].size()));
      for (size_t d = 0; d < child.size(); ++d) child[d] += k * run.steps[c][d];
      unfold(run.children[c], child, out);
      from += child.size();
    }
  }
}

}  // namespace

size_t points_in(const std::vector<Run>& runs) {
  size_t count = 0;
  for (const Run& run : runs) count += run.children.empty() ? 1 : points_in(run.children);
  return count;
}

std::vector<Run> folded(std::vector<Run> points) {
  Shapes shapes;
  for (Run& point : points) point.shape = shapes.of_point(point.statement);
  for (int depth = 0; depth < kDeepest; ++depth) {
    size_t before = points.size();
    points = folded_once(points, shapes);
    if (points.size() == before) break;
  }
  return points;
}

std::vector<Run> unfolded(const std::vector<Run>& runs) {
  std::vector<Run> out;
  for (const Run& run : runs) unfold(run, run.numbers, out);
  return out;
}

}  // namespace polyweft::poly
