#include "schedules/seeds/counterparts.h"

#include <algorithm>

#include "ir/text/trace_names.h"
#include "schedules/hulls.h"

namespace polyweft::schedules {
namespace {

int64_t values_of_index(const Domain& domain, VarId var) {
  return std::max<int64_t>(0, domain.values[var].hi - domain.values[var].lo + 1);
}

}  // namespace

std::optional<Structured> structured(Program normalized) {
  auto structure = structure_of(normalized);
  if (!structure) return std::nullopt;
  return Structured{std::move(normalized), std::move(*structure)};
}

Counterparts::Counterparts(const Structured& from, const Structured& to) : from_(from), to_(to) {
  PW_CHECK(from.structure.text == to.structure.text);
  for (size_t t = 0; t < from.structure.tensors.size(); ++t)
    tensors_[from.program.tensors[from.structure.tensors[t]].name] = to.program.tensors[to.structure.tensors[t]].name;
  const size_t count = from.program.equations.size();
  statements_.resize(count);
  index_names_.resize(count);
  extents_.resize(count);
  for (size_t s = 0; s < from.structure.statements.size(); ++s) {
    const Structure::Statement &a = from.structure.statements[s], &b = to.structure.statements[s];
    const Equation &x = from.program.equations[a.equation], &y = to.program.equations[b.equation];
    statements_[a.equation] = {ir::name_in_traces(from.program, a.equation), ir::name_in_traces(to.program, b.equation),
                               b.equation, s};
    const Domain here = domain_of(from.program, x), there = domain_of(to.program, y);
    for (size_t k = 0; k < a.indices.size(); ++k) {
      const std::string& name = x.index_names[a.indices[k]];
      index_names_[a.equation][name] = y.index_names[b.indices[k]];
      extents_[a.equation][name] = {values_of_index(here, from.program.index_var(a.indices[k])),
                                    values_of_index(there, to.program.index_var(b.indices[k]))};
    }
  }
  for (const Tensor& tensor : to.program.tensors) taken_.insert(tensor.name);
  for (const Parameter& parameter : to.program.parameters) taken_.insert(parameter.name);
  for (const Equation& equation : to.program.equations)
    taken_.insert(equation.index_names.begin(), equation.index_names.end());
}

std::optional<NamedStatement> Counterparts::statement(const std::string& name) const {
  for (size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1)) {
    const std::string head = name.substr(0, end), suffix = name.substr(end);
    for (EquationId q = 0; q < statements_.size(); ++q)
      if (statements_[q].from == head) return NamedStatement{q, statements_[q].other, suffix};
    for (EquationId q = 0; q < statements_.size(); ++q)
      for (const TensorId target : from_.program.equations[q].targets)
        if (from_.program.tensors[target].name == head) return NamedStatement{q, statements_[q].other, suffix};
  }
  return std::nullopt;
}

std::vector<EquationId> Counterparts::equations(const std::string& name) const {
  const auto found = statement(name);
  if (!found) return {};
  const std::string head = name.substr(0, name.size() - found->suffix.size());
  if (statements_[found->from].from == head) return {found->from};
  std::vector<EquationId> out;
  for (EquationId q = 0; q < statements_.size(); ++q)
    for (const TensorId target : from_.program.equations[q].targets)
      if (from_.program.tensors[target].name == head) out.push_back(q);
  return out;
}

std::string Counterparts::statement_name(const std::string& name) const {
  const auto found = statement(name);
  if (!found) return name;
  const std::string head = name.substr(0, name.size() - found->suffix.size());
  const std::string& own = statements_[found->from].from;
  return (head == own ? statements_[found->from].to : tensor_name(head)) + found->suffix;
}

std::string Counterparts::tensor_name(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? name : found->second;
}

Counterparts::Extents Counterparts::extents(EquationId from, const std::string& index) const {
  const auto found = extents_[from].find(index);
  return found == extents_[from].end() ? Extents{} : found->second;
}

uint32_t Counterparts::read_number(const NamedStatement& statement, const std::string& tensor, uint32_t number) const {
  const size_t place = statements_[statement.from].place;
  const auto &ours = from_.structure.statements[place].reads, &theirs = to_.structure.statements[place].reads;
  for (size_t k = 0; k < ours.size(); ++k)
    if (from_.program.tensors[ours[k].first].name == tensor && ours[k].second == number) return theirs[k].second;
  return number;
}

std::optional<int64_t> Counterparts::parameter(const std::string& name) const {
  const auto& parameters = from_.program.parameters;
  const auto named = std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == name; });
  if (named == parameters.end()) return std::nullopt;
  const auto& theirs = to_.program.parameters;
  const auto same = std::find_if(theirs.begin(), theirs.end(), [&](const auto& p) { return p.name == name; });
  for (size_t t = 0; t < from_.structure.tensors.size(); ++t) {
    const Tensor &x = from_.program.tensors[from_.structure.tensors[t]],
                 &y = to_.program.tensors[to_.structure.tensors[t]];
    for (size_t d = 0; d < std::min(x.shape.size(), y.shape.size()); ++d) {
      const bool is_parameter = x.shape[d].is_constant() && x.shape[d].constant == named->value;
      const bool is_same = same == theirs.end() || y.shape[d].constant == same->value;
      if (is_parameter && is_same) return y.shape[d].constant;
    }
  }
  return same == theirs.end() ? std::nullopt : std::optional(same->value);
}

namespace {

class Renaming {
 public:
  Renaming(const Trace& trace, const Counterparts& names) : names_(names) {
    for (const Decision& d : trace.decisions) own_[d.name] = free_name(d.name);
    for (const Step& step : trace.steps) {
      if (const auto* band = std::get_if<BandStep>(&step)) own_[band->name] = free_name(band->name);
      if (const auto* snapshot = std::get_if<SnapshotStep>(&step)) own_[snapshot->name] = free_name(snapshot->name);
    }
  }
  bool failed() const { return failed_; }

  void operator()(TileStep& s) {
    for (auto& level : s.levels) level.index = loop(s.statement, level.index), size(level.size);
    statement(s.statement);
  }
  void operator()(PermuteStep& s) { loops(s.statement, s.loops), statement(s.statement); }
  void operator()(ParallelStep& s) { s.loop = loop(s.statement, s.loop), statement(s.statement); }
  void operator()(BindStep& s) { s.loop = loop(s.statement, s.loop), statement(s.statement); }
  void operator()(VectorizeStep& s) {
    s.loop = loop(s.statement, s.loop), size(s.lanes);
    statement(s.statement);
  }
  void operator()(UnrollStep& s) { loops(s.statement, s.loops), statement(s.statement); }
  void operator()(SplitStep& s) { s.loop = loop(s.statement, s.loop), statement(s.statement); }
  void operator()(IndexSetSplitStep& s) { loops(s.statement, s.indices), statement(s.statement); }
  void operator()(PromoteStep& s) {
    if (s.read > 0) s.read = read(s.statement, s.tensor, s.read);
    s.at = loop(s.statement, s.at);
    layout(s.statement, s.layout);
    tensor(s.tensor), statement(s.statement);
  }
  void operator()(AccumulateStep& s) { s.at = loop(s.statement, s.at), statement(s.statement); }
  void operator()(InlineStep& s) { statement(s.statement); }
  void operator()(ComputeAtStep& s) {
    s.at = loop(s.consumer, s.at);
    layout(s.producer, s.layout);
    if (s.sliding) size(s.sliding->multiple);
    statement(s.producer), statement(s.consumer);
  }
  void operator()(FuseStep& s) {
    s.at = loop(s.into, s.at);
    statement(s.statement), statement(s.into);
  }
  void operator()(DistributeStep& s) { statement(s.statement); }
  void operator()(BandStep& s) {
    for (auto& each : s.statements) {
      const auto found = found_statement(each.name);
      for (LinearText& value : each.members) linear(value, found);
      for (const EquationId q : names_.equations(each.name)) in_bands_.insert(q);
      statement(each.name);
    }
    s.name = own_.at(s.name);
  }
  void operator()(IsolateStep& s) {
    for (auto& each : s.statements) statement(each);
    for (LinearText& value : s.where) linear(value, std::nullopt);
    s.band = own_name(s.band);
  }
  void operator()(CutStep& s) { linear(s.where, found_statement(s.of)), statement(s.of); }
  void operator()(SnapshotStep& s) {
    if (const auto reader = found_statement(s.statement)) made_[s.name] = *reader;
    s.read = read(s.statement, s.tensor, s.read);
    s.name = own_.at(s.name);
    tensor(s.tensor), statement(s.statement);
  }
  void operator()(OnlineStep& s) { statement(s.statement); }
  void operator()(PipelineStep& s) {
    s.loop = loop(s.statement, s.loop), size(s.by);
    statement(s.statement);
  }
  void operator()(WavefrontStep& s) { s.band = own_name(s.band); }
  void operator()(OverlapStep& s) {
    for (auto& level : s.levels) size(level.size);
    s.band = own_name(s.band);
  }
  void operator()(StoreStep& s) {
    for (auto& digit : s.layout) size(digit.factor);
    for (LinearText& value : s.cell) linear(value, std::nullopt);
    tensor(s.tensor);
    if (!s.output.empty()) tensor(s.output);
  }
  void operator()(SkewStep& s) { linear(s.by, std::nullopt), s.band = own_name(s.band); }
  void operator()(ReverseStep& s) { s.band = own_name(s.band); }
  void operator()(ShiftStep& s) { statement(s.statement); }
  void operator()(FoldStep& s) { s.dim = loop(s.tensor, s.dim), tensor(s.tensor); }
  void operator()(TensorizeStep& s) { loops(s.statement, s.loops), statement(s.statement); }
  void operator()(RfactorStep& s) { s.index = loop(s.statement, s.index), statement(s.statement); }
  void operator()(StreamStep& s) { statement(s.statement); }
  void operator()(AutovectorizeStep&) {}
  void operator()(BatchStep&) {}
  void operator()(PrefetchStep& s) {
    s.index = loop(s.statement, s.index), size(s.by);
    tensor(s.tensor), statement(s.statement);
  }
  std::string own_name(const std::string& name) const {
    const auto found = own_.find(name);
    return found == own_.end() ? name : found->second;
  }

 private:
  std::string free_name(std::string name) const {
    while (names_.taken_names().count(name)) name += "_s";
    return name;
  }
  /// Cells of a snapshot go by the indices of the statement that reads them.
  std::optional<NamedStatement> found_statement(const std::string& name) const {
    const auto made = made_.find(name.substr(0, name.find('.')));
    return made == made_.end() ? names_.statement(name) : std::optional(made->second);
  }
  void statement(std::string& name) const {
    const size_t dot = std::min(name.find('.'), name.size());
    const auto own = own_.find(name.substr(0, dot));
    name = own == own_.end() ? names_.statement_name(name) : own->second + name.substr(dot);
  }
  void tensor(std::string& name) const {
    const auto own = own_.find(name);
    name = own == own_.end() ? names_.tensor_name(name) : own->second;
  }
  void size(Size& s) const {
    if (!s.decision.empty()) s.decision = own_name(s.decision);
  }
  /// Loops of a band, and of statements in it, are over its members, whose names stay.
  std::string loop(const std::string& statement, const std::string& name) const {
    if (const auto own = own_.find(name); own != own_.end()) return own->second;
    const auto found = found_statement(statement);
    if (!found || in_bands_.count(found->from)) return name;
    const size_t dot = std::min(name.find('.'), name.size());
    const auto& map = names_.index_names(found->from);
    const auto index = map.find(name.substr(0, dot));
    return index == map.end() ? name : index->second + name.substr(dot);
  }
  void loops(const std::string& statement, std::vector<std::string>& list) const {
    for (auto& each : list) each = loop(statement, each);
  }
  void layout(const std::string& statement, std::vector<LayoutDigit>& digits) const {
    for (auto& digit : digits) digit.dim = loop(statement, digit.dim), size(digit.factor);
  }
  uint32_t read(const std::string& statement, const std::string& tensor, uint32_t number) const {
    const auto found = found_statement(statement);
    return found ? names_.read_number(*found, tensor, number) : number;
  }
  /// Terms are indices of a statement, members of a band, or parameters, which have no other value here.
  void linear(LinearText& value, const std::optional<NamedStatement>& of) {
    LinearText out{{}, value.constant};
    for (auto& [coeff, name] : value.terms) {
      const auto& parameters = names_.from().parameters;
      const bool is_parameter =
          std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
      const auto* map = of ? &names_.index_names(of->from) : nullptr;
      if (map && map->count(name)) {
        out.terms.emplace_back(coeff, map->at(name));
      } else if (!is_parameter) {
        out.terms.emplace_back(coeff, name);
      } else if (const auto number = names_.parameter(name)) {
        out.constant += coeff * *number;
      } else {
        failed_ = true;
      }
    }
    value = std::move(out);
  }

  const Counterparts& names_;
  std::map<std::string, std::string> own_;  ///< decisions, bands, snapshots
  std::map<std::string, NamedStatement> made_;
  std::set<EquationId> in_bands_;
  bool failed_ = false;
};

}  // namespace

std::optional<Trace> renamed(const Trace& trace, const Counterparts& counterparts) {
  Renaming renaming(trace, counterparts);
  Trace out = trace;
  for (Step& step : out.steps) std::visit(renaming, step);
  for (Decision& decision : out.decisions) decision.name = renaming.own_name(decision.name);
  for (Constraint& constraint : out.constraints)
    for (Monomial& term : constraint.terms)
      for (std::string& name : term.decisions) name = renaming.own_name(name);
  return renaming.failed() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace polyweft::schedules
