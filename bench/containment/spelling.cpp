#include "bench/containment/spelling.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "schedules/mutations/draws.h"
#include "schedules/queries.h"
#include "schedules/trace_decisions.h"

namespace polyweft::containment {
namespace {

/// The stage, or the first part of a statement that is split.
const Stage* some_stage(const NestTemplate& t, const std::string& name) {
  const auto parts = schedules::parts_named(t, name);
  return parts.empty() ? nullptr : &t.stages[parts.front()];
}

void spell_loop(const NestTemplate& t, const std::string& statement, std::string& loop) {
  const Stage* stage = some_stage(t, statement);
  if (stage == nullptr || loop == "root") return;
  for (const TemplateLoop& own : stage->loops)
    if (own.name == loop) return;
  if (const auto at = schedules::loop_named(*stage, loop)) loop = stage->loops[*at].name;
}

/// Loops by index and level, as the template has them before the step.
void spell_loops(const NestTemplate& t, Step& step) {
  const std::string owner = schedules::owner_of(step);
  std::visit(
      [&](auto& s) {
        using S = std::decay_t<decltype(s)>;
        if constexpr (requires { s.loops; })
          for (std::string& loop : s.loops) spell_loop(t, owner, loop);
        if constexpr (requires { s.loop; }) spell_loop(t, owner, s.loop);
        if constexpr (std::is_same_v<S, ComputeAtStep>)
          spell_loop(t, s.consumer, s.at);
        else if constexpr (std::is_same_v<S, FuseStep>)
          spell_loop(t, s.into, s.at);
        else if constexpr (std::is_same_v<S, IsolateStep>)
          spell_loop(t, s.band, s.at);
        else if constexpr (requires { s.at.substr(0); })
          spell_loop(t, owner, s.at);
      },
      step);
}

/// Numbers instead of decisions.
void put_numbers(Step& step, const std::map<std::string, int64_t>& values) {
  schedules::for_each_size(step, [&](Size& size) {
    if (const auto found = values.find(size.decision); found != values.end()) size = Size{found->second, ""};
  });
}

std::map<std::string, int64_t> by_name(const Trace& trace, const std::vector<int64_t>& values) {
  std::map<std::string, int64_t> out;
  for (size_t d = 0; d < trace.decisions.size(); ++d) out[trace.decisions[d].name] = values[d];
  return out;
}

/// The first word, the kind of step; further ones are what it says.
bool are_one_kind(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return a.front() == b.front();
}

double share_of_words_that_differ(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const size_t most = std::max(a.size(), b.size());
  size_t same = 0;
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) same += a[k] == b[k];
  return 1 - static_cast<double>(same) / static_cast<double>(most);
}

using PartList = std::vector<std::vector<std::string>>;

/// The least weight to turn one list into the other, and how many changes that takes.
Difference difference_of_lists(const PartList& a, const PartList& b) {
  constexpr double kChanged = 0.1, kByWords = 1.2;
  std::vector<std::vector<Difference>> table(a.size() + 1, std::vector<Difference>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i + j == 0) continue;
      Difference best;
      best.weight = -1;
      const auto offer = [&](const Difference& from, double weight) {
        if (best.weight < 0 || from.weight + weight < best.weight)
          best = {from.weight + weight, from.changes + (weight > 0), {}};
      };
      if (i > 0 && j > 0) {
        const double share = share_of_words_that_differ(a[i - 1], b[j - 1]);
        if (are_one_kind(a[i - 1], b[j - 1])) offer(table[i - 1][j - 1], share > 0 ? kChanged + kByWords * share : 0);
      }
      if (i > 0) offer(table[i - 1][j], 1);
      if (j > 0) offer(table[i][j - 1], 1);
      table[i][j] = best;
    }
  return table.back().back();
}

}  // namespace

Trace with_numbered_bands(Trace trace) {
  std::map<std::string, std::string> names;
  for (const Step& step : trace.steps)
    if (const auto* band = std::get_if<BandStep>(&step)) names[band->name] = "band" + std::to_string(names.size() + 1);
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (Step& step : trace.steps)
    std::visit(
        [&](auto& s) {
          if constexpr (std::is_same_v<std::decay_t<decltype(s)>, BandStep>) rename(s.name);
          if constexpr (requires { s.statement; }) rename(s.statement);
          if constexpr (requires { s.band; }) rename(s.band);
          if constexpr (requires { s.consumer; }) rename(s.consumer);
          if constexpr (requires { s.into; }) rename(s.into);
        },
        step);
  return trace;
}

Trace in_numbers(Trace trace, const std::vector<int64_t>& values) {
  const auto named = by_name(trace, values);
  for (Step& step : trace.steps) put_numbers(step, named);
  trace.decisions.clear();
  trace.constraints.clear();
  return trace;
}

Result<Trace> spelled(const Case& c, const Trace& trace, const std::vector<int64_t>& values) {
  Trace out;
  const auto named = by_name(trace, values);
  NestTemplate t = schedules::unscheduled_template(c.program, c.cls);
  t.trace = trace;
  for (const Step& step : trace.steps) {
    out.steps.push_back(step);
    spell_loops(t, out.steps.back());
    put_numbers(out.steps.back(), named);
    auto next = schedules::apply(std::move(t), step, c.isl);
    if (!next) return next.error();
    t = std::move(*next);
  }
  return out;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) out.push_back(word);
    word.clear();
  };
  for (const char ch : text) {
    if (std::isalnum(static_cast<unsigned char>(ch)) || ch == '_' || ch == '.' || ch == '@') {
      word += ch;
      continue;
    }
    end_word();
    if (!std::isspace(static_cast<unsigned char>(ch))) out.push_back(std::string(1, ch));
  }
  end_word();
  return out;
}

Parts parts_of(const Trace& trace) {
  Parts out;
  for (const Step& step : trace.steps) {
    auto& own = out[schedules::owner_of(step)];
    if (const auto* tile = std::get_if<TileStep>(&step)) {
      for (const auto& level : tile->levels) own.push_back(words_of(print(TileStep{tile->statement, {level}})));
    } else if (const auto* unroll = std::get_if<UnrollStep>(&step)) {
      for (const auto& loop : unroll->loops) own.push_back(words_of(print(UnrollStep{unroll->statement, {loop}})));
    } else {
      own.push_back(words_of(print(step)));
    }
  }
  return out;
}

Difference difference(const Parts& a, const Parts& b) {
  Difference out;
  std::set<std::string> owners;
  for (const auto& [owner, parts] : a) owners.insert(owner);
  for (const auto& [owner, parts] : b) owners.insert(owner);
  static const PartList kNone;
  for (const std::string& owner : owners) {
    const auto first = a.find(owner), second = b.find(owner);
    const Difference own =
        difference_of_lists(first == a.end() ? kNone : first->second, second == b.end() ? kNone : second->second);
    out.weight += own.weight;
    out.changes += own.changes;
    if (own.changes > 0) out.of[owner] = own.changes;
  }
  return out;
}

}  // namespace polyweft::containment
