#include "poly/check/flow.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace polyweft::poly::checker {
namespace {
/// Chains longer than one copy after another of the text: buffers that hand values around in a loop.
constexpr size_t kMaxRounds = 8;

std::vector<int64_t> point_coordinates(isl_point* p, isl_dim_type type, int count) {
  std::vector<int64_t> out;
  for (int d = 0; d < count; ++d) out.push_back(integer(Val(isl_point_get_coordinate_val(p, type, d))));
  return out;
}

Set empty_like(const Set& s) {
  return Set(isl_set_empty(isl_set_get_space(s.get())));
}

std::string bracketed(const std::string& name, const std::vector<int64_t>& point) {
  std::string out = name;
  for (size_t d = 0; d < point.size(); ++d) out += (d ? ", " : "[") + std::to_string(point[d]);
  return point.empty() ? out : out + "]";
}

}  // namespace

std::vector<int64_t> sample(const Set& s) {
  Point p(isl_set_sample_point(s.copy()));
  return point_coordinates(p.get(), isl_dim_set, static_cast<int>(size(isl_set_dim(s.get(), isl_dim_set))));
}

std::pair<std::vector<int64_t>, std::vector<int64_t>> sample(const Map& m) {
  auto in = static_cast<std::ptrdiff_t>(size(isl_map_dim(m.get(), isl_dim_in)));
  std::vector<int64_t> both = sample(Set(isl_map_wrap(m.copy())));
  return {{both.begin(), both.begin() + in}, {both.begin() + in, both.end()}};
}

void Flow::index_writes() {
  for (const Statement& s : statements_.all) {
    if (s.copy) writes_[s.copy->dst.id].push_back({s.number, &s.copy->dst});
    if (!s.compute) continue;
    for (const Access& dst : s.compute->dst) writes_[dst.id].push_back({s.number, &dst});
  }
}

bool Flow::is_input(BufferId id) const {
  const Buffer& b = nest_.buffers[id];
  return b.scope == Scope::constant || (b.scope == Scope::argument && !b.is_output && !b.is_packed);
}

std::string Flow::describe(size_t statement, const std::vector<int64_t>& point) const {
  const Statement& s = statements_.all[statement];
  auto at = [&](const std::vector<Affine>& e) {
    std::vector<int64_t> out;
    for (const Affine& a : e) out.push_back(evaluate(a, point));
    return out;
  };
  if (s.compute) {
    const Equation& equation = program_.equations[s.compute->equation];
    std::vector<int64_t> instance;
    for (const Affine& e : s.compute->instance) instance.push_back(evaluate(s.over_dims(e), point));
    std::string element =
        bracketed(program_.tensors[equation.targets[0]].name, at(element_of(equation, indices_of(program_, s))));
    if (s.compute->how == Write::merge) return element + " (merge)";
    return s.compute->how == Write::accumulate ? element + " (fold " + bracketed("", instance) + ")" : element;
  }
  if (!s.copy) return "the result";
  std::vector<Affine> cell;
  for (const Subscript& sub : s.copy->dst.index) cell.push_back(s.over_dims(sub.affine));
  return "the copy into " + bracketed(nest_.buffers[s.copy->dst.id].name, at(cell));
}

std::string Flow::describe_sample(size_t statement, const Set& some) const {
  return describe(statement, sample(some));
}

/// Only what tells the statements apart: coordinates in which they all are equal constants say nothing.
UnionMap Flow::schedule(const std::vector<size_t>& involved) {
  size_t length = 0;
  for (size_t k : involved) length = std::max(length, statements_.all[k].time.size());
  std::vector<size_t> kept;
  auto entry = [&](size_t k, size_t t) {
    return t < statements_.all[k].time.size() ? statements_.all[k].time[t] : Affine::of(0);
  };
  for (size_t t = 0; t < length; ++t) {
    bool differs = false;
    for (size_t k : involved) differs |= !entry(k, t).is_constant() || !(entry(k, t) == entry(involved[0], t));
    if (differs) kept.push_back(t);
  }
  UnionMap out(isl_union_map_empty(isl_space_params_alloc(context_.get(), 0)));
  for (size_t k : involved) {
    auto& time = times_[{k, kept}];
    if (!time) {
      std::vector<Affine> entries;
      for (size_t t : kept) entries.push_back(entry(k, t));
      time = map_of(statements_.all[k].space, entries, "T");
    }
    out = UnionMap(isl_union_map_add_map(out.take(), time->copy()));
  }
  return out;
}

/// { iteration -> physical cell } of all that writes the buffer.
const UnionMap& Flow::written_cells(BufferId buffer) {
  auto known = written_.find(buffer);
  if (known != written_.end()) return known->second;
  UnionMap cells(isl_union_map_empty(isl_space_params_alloc(context_.get(), 0)));
  for (const auto& [writer, dst] : writes_[buffer]) {
    const Statement& w = statements_.all[writer];
    cells = UnionMap(isl_union_map_add_map(
        cells.take(), restrict_domain(physical_cells(w, nest_, statements_, *dst), w.domain).take()));
  }
  return written_.emplace(buffer, std::move(cells)).first->second;
}

Writers Flow::last_writers(size_t statement, const Access& access, const Set& when, bool* misses, Set* missing,
                           bool* is_same_cell) {
  if (by_arithmetic_) {
    const ReadQuestion question{statement, &access, &when, &writes_[access.id]};
    std::optional<FoundWriters> found;
    if (statements_.barriers.empty()) {  // else dimensions are in no order of time
      found = once_.find(question);
      if (!found) found = find_last_writers(nest_, statements_, question, windows_);
    }
    if (!found) {
      if (!by_time_) by_time_.emplace(context_, nest_, statements_);
      if (by_time_->differs()) found = by_time_->find(question);
    }
    if (found) {
      if (is_same_cell) *is_same_cell = found->is_same_cell;
      *misses = !is_empty(found->missing);
      if (*misses) *missing = std::move(found->missing);
      return std::move(found->writers);
    }
  }
  std::vector<size_t> involved{statement};
  for (const auto& [writer, dst] : writes_[access.id])
    if (std::find(involved.begin(), involved.end(), writer) == involved.end()) involved.push_back(writer);
  Map sink = restrict_domain(physical_cells(statements_.all[statement], nest_, statements_, access), when);
  isl_union_access_info* info = isl_union_access_info_from_sink(isl_union_map_from_map(sink.take()));
  info = isl_union_access_info_set_must_source(info, written_cells(access.id).copy());
  info = isl_union_access_info_set_schedule_map(info, schedule(involved).take());
  Handle<isl_union_flow> flow(isl_union_access_info_compute_flow(info));
  Writers out;
  UnionMap dependence(isl_union_flow_get_must_dependence(flow.get()));
  for (size_t writer : involved) {
    isl_space* space = isl_space_map_from_domain_and_range(statements_.all[writer].space.copy(),
                                                           statements_.all[statement].space.copy());
    Map one(isl_union_map_extract_map(dependence.get(), space));
    if (!is_empty(one)) out.emplace(writer, std::move(one));
  }
  UnionMap lost(isl_union_flow_get_must_no_source(flow.get()));
  *misses = !is_empty(lost);
  if (*misses) {
    UnionSet readers(isl_union_map_domain(lost.take()));
    *missing = Set(isl_union_set_extract_set(readers.get(), statements_.all[statement].space.copy()));
  }
  return out;
}

const Flow::CopyFacts& Flow::copy_facts(size_t number) {
  if (copy_writers_[number]) return *copy_writers_[number];
  const Statement& s = statements_.all[number];
  const Copy& copy = *s.copy;
  const Buffer &dst = nest_.buffers[copy.dst.id], &src = nest_.buffers[copy.has_src ? copy.src.id : copy.dst.id];
  Set valid = copy.has_src ? intersect(s.domain, holds(s.over_dims(copy.valid), s.space)) : empty_like(s.domain);
  Set worthless = subtract(s.domain, valid);
  for (const Subscript& sub : copy.src.index)
    if (sub.data) throw Undecided{"a gathered copy into " + dst.name};
  Writers writers;
  bool is_same_cell = false;
  if (copy.has_src) {
    bool tagged = dst.tensor != kNoTensor && src.tensor == dst.tensor && src.element.size() == dst.element.size();
    if (!tagged) worthless = s.domain;
    std::vector<Affine> from = element_of_cell(s, src, copy.src), to = element_of_cell(s, dst, copy.dst);
    for (size_t d = 0; tagged && d < from.size(); ++d)
      if (!agree(from[d], to[d], valid))
        worthless = unite(worthless, intersect(valid, differs(from[d] - to[d], s.space)));
    if (!is_input(copy.src.id)) {
      bool misses = false;
      Set missing = worthless;
      writers = last_writers(number, copy.src, valid, &misses, &missing, &is_same_cell);
      if (misses) worthless = unite(std::move(worthless), std::move(missing));
    }
  }
  copy_writers_[number] = CopyFacts{std::move(writers), std::move(worthless), is_same_cell};
  return *copy_writers_[number];
}

Set Flow::filled_with_zero(size_t statement, const Access& access, const Set& when, int copies) {
  Set out = empty_like(when);
  for (const Subscript& sub : access.index)
    if (sub.data) return out;
  if (is_input(access.id) || is_empty(when)) return out;
  bool misses = false;
  Set missing = when;
  for (auto& [writer, pairs] : last_writers(statement, access, when, &misses, &missing)) {
    const Statement& w = statements_.all[writer];
    if (!w.copy) continue;
    Set valid =
        w.copy->has_src ? intersect(w.domain, holds(w.over_dims(w.copy->valid), w.space)) : empty_like(w.domain);
    const Literal& fill = w.copy->fill;
    bool is_zero = is_float(fill.type) ? fill.f == 0 && !std::signbit(fill.f) : fill.i == 0;
    Set zeros = is_zero ? subtract(w.domain, valid) : empty_like(w.domain);
    if (w.copy->has_src && copies > 0)
      zeros = unite(std::move(zeros),
                    filled_with_zero(writer, w.copy->src, intersect(std::move(valid), domain_of(pairs)), copies - 1));
    out = unite(std::move(out), range_of(restrict_domain(pairs, std::move(zeros))));
  }
  return out;
}

Set Flow::never_written(size_t statement, const Access& access, const Set& when, int copies) {
  if (is_input(access.id) || is_empty(when)) return empty_like(when);
  if (copies == 0) return when;
  bool misses = false;
  Set missing = empty_like(when), out = empty_like(when);
  for (auto& [writer, pairs] : last_writers(statement, access, when, &misses, &missing)) {
    const Statement& w = statements_.all[writer];
    if (!w.copy || !w.copy->has_src) continue;
    Set valid = intersect(domain_of(pairs), holds(w.over_dims(w.copy->valid), w.space));
    out =
        unite(std::move(out), range_of(restrict_domain(pairs, never_written(writer, w.copy->src, valid, copies - 1))));
  }
  return misses ? unite(std::move(out), std::move(missing)) : out;
}

void Flow::require_written(size_t statement, const Access& access, const Set& when) {
  constexpr int kMostCopies = 4;
  Set missing = never_written(statement, access, when, kMostCopies);
  if (!is_empty(missing)) refuse_unwritten(statement, missing, access.id);
}

void Flow::refuse_unwritten(size_t statement, const Set& missing, BufferId buffer) const {
  throw Refuted{"PW0403", describe_sample(statement, missing) + " reads a cell of " + nest_.buffers[buffer].name +
                              " that nothing has written"};
}

/// In a folded buffer the last writer of the physical cell must have meant the same logical cell.
void Flow::require_same_cell(const Read& read, const Writers& writers) {
  const Buffer& b = nest_.buffers[read.access->id];
  if (b.folds.empty()) return;
  const Statement& reader = statements_.all[read.statement];
  Map wanted = logical_cells(reader, statements_, *read.access);
  for (const auto& [writer, pairs] : writers) {
    std::optional<Map> meant;
    for (const auto& [number, dst] : writes_[read.access->id]) {
      if (number != writer) continue;
      Map same = compose(logical_cells(statements_.all[writer], statements_, *dst), reverse(wanted));
      meant = meant ? unite(*meant, std::move(same)) : std::move(same);
    }
    Map wrong(isl_map_subtract(pairs.copy(), meant->take()));
    if (is_empty(wrong)) continue;
    auto [w, r] = sample(wrong);
    throw Refuted{"PW0403", "a cell of " + b.name + " is overwritten by " + describe(writer, w) + " before " +
                                describe(read.statement, r) + " reads it"};
  }
}

bool Flow::is_wholly_good(size_t statement) {
  auto& known = wholly_good_[statement];
  if (!known) known = is_subset(statements_.all[statement].domain, good_[statement]);
  return *known;
}

Writers Flow::origins(const Read& read) {
  Writers ends;
  if (is_input(read.access->id) || is_empty(read.when)) return ends;
  bool misses = false;
  Set missing = read.when;
  bool is_same_cell = false;
  Writers open = last_writers(read.statement, *read.access, read.when, &misses, &missing, &is_same_cell);
  if (misses) refuse_unwritten(read.statement, missing, read.access->id);
  const std::string& buffer = nest_.buffers[read.access->id].name;
  if (!is_same_cell) require_same_cell(read, open);
  size_t longest = kMaxRounds;
  for (const Statement& s : statements_.all) longest += s.copy != nullptr;
  for (size_t hop = 0; !open.empty(); ++hop) {
    if (hop > longest) throw Undecided{"a chain of more than " + std::to_string(longest) + " copies"};
    Writers next;
    for (auto& [writer, pairs] : open) {
      const Statement& w = statements_.all[writer];
      if (w.compute) {
        if (!is_wholly_good(writer)) {
          Map worthless(isl_map_subtract_domain(pairs.copy(), good_[writer].copy()));
          if (!is_empty(worthless)) {
            auto [at, r] = sample(worthless);
            throw Refuted{"PW0403", describe(read.statement, r) + " reads " + describe(writer, at) +
                                        ", which is outside the domain of its equation"};
          }
        }
        auto known = ends.find(writer);
        if (known == ends.end())
          ends.emplace(writer, pairs);
        else
          known->second = unite(known->second, pairs);
        continue;
      }
      const CopyFacts& facts = copy_facts(writer);
      Map worthless = restrict_domain(pairs, facts.worthless);
      if (!is_empty(worthless)) {
        auto [at, r] = sample(worthless);
        throw Refuted{"PW0403", describe(read.statement, r) + " reads a cell of " + buffer + " that " +
                                    describe(writer, at) + " left without the element it wants"};
      }
      Read through{writer, &w.copy->src, read.tensor, w.domain};
      if (!facts.is_same_cell) require_same_cell(through, facts.writers);
      for (const auto& [source, copied] : facts.writers) {
        Map longer = compose(copied, pairs);
        if (is_empty(longer)) continue;
        auto known = next.find(source);
        if (known == next.end())
          next.emplace(source, std::move(longer));
        else
          known->second = unite(known->second, std::move(longer));
      }
    }
    open = std::move(next);
  }
  return ends;
}

}  // namespace polyweft::poly::checker
