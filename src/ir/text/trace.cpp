// Traces as values: printing, decisions, constraints, renaming. The grammar is in docs/schedules.md.
#include "polyweft/trace.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace polyweft {
namespace {

std::string trace_text(const Size& size) {
  return size.decision.empty() ? std::to_string(size.constant) : size.decision;
}

std::string joined_parts(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : separator) + part;
  return out;
}

std::string trace_text(const LayoutDigit& digit) {
  if (digit.part == LayoutDigit::Part::whole) return digit.dim;
  return digit.dim + (digit.part == LayoutDigit::Part::quotient ? " / " : " % ") + trace_text(digit.factor);
}

std::string layout_text(const std::vector<LayoutDigit>& layout) {
  if (layout.empty()) return "";
  std::vector<std::string> digits;
  for (const auto& digit : layout) digits.push_back(trace_text(digit));
  return " layout [" + joined_parts(digits, ", ") + "]";
}

std::string sliding_text(const std::optional<Sliding>& sliding) {
  if (!sliding) return "";
  if (sliding->is_whole) return " slide whole";
  return sliding->multiple == Size{1, ""} ? " slide" : " slide fold " + trace_text(sliding->multiple);
}

std::string trace_text(const LinearText& e) {
  std::string out;
  for (const auto& [coeff, name] : e.terms) {
    out += out.empty() ? (coeff < 0 ? "-" : "") : (coeff < 0 ? " - " : " + ");
    if (coeff != 1 && coeff != -1) out += std::to_string(coeff < 0 ? -coeff : coeff) + "*";
    out += name;
  }
  if (out.empty()) return std::to_string(e.constant);
  if (e.constant != 0)
    out += (e.constant < 0 ? " - " : " + ") + std::to_string(e.constant < 0 ? -e.constant : e.constant);
  return out;
}

struct StepPrinter {
  static std::string levels(const std::vector<TileStep::Level>& of) {
    std::vector<std::string> out;
    for (const auto& level : of) out.push_back(level.index + ": " + trace_text(level.size));
    return joined_parts(out, ", ");
  }
  std::string operator()(const TileStep& s) const { return "tile " + s.statement + " [" + levels(s.levels) + "]"; }
  std::string operator()(const PermuteStep& s) const {
    return "permute " + s.statement + " [" + joined_parts(s.loops, ", ") + "]";
  }
  std::string operator()(const ParallelStep& s) const {
    return "parallel " + s.statement + " " + s.loop + (s.parts == 0 ? "" : " in " + std::to_string(s.parts));
  }
  std::string operator()(const BindStep& s) const { return "bind " + s.statement + " " + s.loop + " to " + s.axis; }
  std::string operator()(const VectorizeStep& s) const {
    return "vectorize " + s.statement + " " + s.loop + " " + trace_text(s.lanes);
  }
  std::string operator()(const UnrollStep& s) const {
    return "unroll " + s.statement + " " + joined_parts(s.loops, ", ");
  }
  std::string operator()(const PromoteStep& s) const {
    std::string out = "promote " + s.tensor + (s.read == 0 ? "" : " read " + std::to_string(s.read)) +
                      (s.statement.empty() ? "" : " in " + s.statement) + " at " + s.at + " " + name_of(s.scope);
    return out + layout_text(s.layout) + (s.vectors == 1 ? "" : " vectors " + std::to_string(s.vectors));
  }
  std::string operator()(const AccumulateStep& s) const {
    return "accumulate " + s.statement + " at " + s.at + " " + name_of(s.scope);
  }
  std::string operator()(const InlineStep& s) const { return "inline " + s.statement; }
  std::string operator()(const ComputeAtStep& s) const {
    return "compute_at " + s.producer + " in " + s.consumer + " at " + s.at + " " + name_of(s.scope) +
           layout_text(s.layout) + sliding_text(s.sliding);
  }
  std::string operator()(const RfactorStep& s) const {
    return "rfactor " + s.statement + " " + s.index + " in " + std::to_string(s.parts);
  }
  std::string operator()(const FuseStep& s) const { return "fuse " + s.statement + " into " + s.into + " at " + s.at; }
  std::string operator()(const DistributeStep& s) const {
    return "distribute " + s.statement + (s.at.empty() ? "" : " at " + s.at);
  }
  std::string operator()(const BandStep& s) const {
    std::vector<std::string> statements;
    for (const auto& statement : s.statements) {
      std::vector<std::string> members;
      for (const auto& member : statement.members) members.push_back(trace_text(member));
      statements.push_back(statement.name + ": [" + joined_parts(members, ", ") + "]");
    }
    return "band " + s.name + " [" + joined_parts(s.members, ", ") + "] of " + joined_parts(statements, ", ");
  }
  std::string operator()(const IsolateStep& s) const {
    std::vector<std::string> conditions;
    for (const auto& condition : s.where) conditions.push_back(trace_text(condition));
    return "isolate " + joined_parts(s.statements, ", ") + " in " + s.band + " at " + s.at + " where " +
           joined_parts(conditions, ", ");
  }
  std::string operator()(const StoreStep& s) const {
    if (!s.output.empty()) return "store " + s.tensor + " in " + s.output;
    std::vector<std::string> cell;
    for (const auto& coordinate : s.cell) cell.push_back(trace_text(coordinate));
    return "store " + s.tensor + " [" + joined_parts(cell, ", ") + "]" + layout_text(s.layout);
  }
  std::string operator()(const CutStep& s) const { return "cut " + s.of + " where " + trace_text(s.where); }
  std::string operator()(const SnapshotStep& s) const {
    return "snapshot " + s.name + " of " + s.tensor + " read " + std::to_string(s.read) + " in " + s.statement;
  }
  std::string operator()(const OnlineStep& s) const {
    return "online " + s.statement + " by " + std::to_string(s.block);
  }
  std::string operator()(const PipelineStep& s) const {
    return "pipeline " + s.statement + " " + s.loop + " by " + trace_text(s.by);
  }
  std::string operator()(const OverlapStep& s) const {
    return "overlap " + s.band + " [" + levels(s.levels) + "] " + name_of(s.scope);
  }
  std::string operator()(const WavefrontStep& s) const {
    return "wavefront " + s.band + " [" + joined_parts(s.loops, ", ") + "]";
  }
  std::string operator()(const SkewStep& s) const {
    return "skew " + s.band + " " + s.member + " by " + trace_text(s.by);
  }
  std::string operator()(const ShiftStep& s) const {
    return "shift " + s.statement + " " + s.member + " by " + std::to_string(s.by);
  }
  std::string operator()(const ReverseStep& s) const { return "reverse " + s.band + " " + s.member; }
  std::string operator()(const FoldStep& s) const {
    return "fold " + s.tensor + " " + s.dim + " mod " + std::to_string(s.window) + (s.forward ? "" : " down");
  }
  std::string operator()(const TensorizeStep& s) const {
    return "tensorize " + s.statement + " " + joined_parts(s.loops, ", ") + " by " + s.instruction;
  }
  std::string operator()(const StreamStep& s) const { return "stream " + s.statement; }
  std::string operator()(const AutovectorizeStep& s) const {
    return s.avoids_gathers ? "autovectorize without gathers" : "autovectorize";
  }
  std::string operator()(const BatchStep& s) const {
    return "batch " + std::to_string(s.lanes) + (s.parts > 1 ? " in " + std::to_string(s.parts) : "");
  }
  std::string operator()(const PrefetchStep& s) const {
    return "prefetch " + s.tensor + " in " + s.statement + " along " + s.index + " by " + trace_text(s.by);
  }
  std::string operator()(const SplitStep& s) const {
    return "split " + s.statement + " " + s.loop + " at " + values(s.at);
  }
  std::string operator()(const IndexSetSplitStep& s) const {
    return "index_set_split " + s.statement + " " + joined_parts(s.indices, ", ") +
           (s.modulus ? " mod " + std::to_string(s.modulus) : " at " + values(s.at));
  }
  static std::string values(const std::vector<int64_t>& at) {
    std::vector<std::string> out;
    for (int64_t value : at) out.push_back(std::to_string(value));
    return joined_parts(out, ", ");
  }
};

/// Shortest decimal that reads back as the same double.
std::string trace_text(double value) {
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  return std::string(buffer, end);
}

std::string trace_text(const Decision& decision) {
  std::string out = decision.name + " = " + std::to_string(decision.value);
  if (decision.candidates.empty()) return out;
  out += " of";
  for (int64_t candidate : decision.candidates) out += " " + std::to_string(candidate);
  return out;
}

std::string trace_text(const Constraint& constraint) {
  std::vector<std::string> terms;
  for (const auto& term : constraint.terms) {
    std::string text = trace_text(term.coeff);
    for (const auto& name : term.decisions) text += " * " + name;
    terms.push_back(text);
  }
  return "require " + constraint.name + ": " + joined_parts(terms, " + ") + " <= " + trace_text(constraint.at_most);
}

}  // namespace

std::string print(const Step& step) {
  return std::visit(StepPrinter{}, step);
}

std::string Trace::text() const {
  std::string out = "trace 1\n";
  for (const auto& step : steps) out += "  " + print(step) + "\n";
  for (const auto& decision : decisions) out += "decide " + trace_text(decision) + "\n";
  for (const auto& constraint : constraints) out += trace_text(constraint) + "\n";
  return out;
}

Trace with_values(const Trace& trace, const std::vector<int64_t>& values) {
  PW_CHECK(values.size() == trace.decisions.size());
  Trace out = trace;
  for (size_t k = 0; k < values.size(); ++k) out.decisions[k].value = values[k];
  return out;
}

std::vector<int64_t> values_of(const Trace& trace) {
  std::vector<int64_t> out;
  for (const auto& decision : trace.decisions) out.push_back(decision.value);
  return out;
}

namespace {

double monomial_value(const Monomial& term, const Trace& trace, const std::vector<int64_t>& values) {
  double product = term.coeff;
  for (const auto& name : term.decisions)
    for (size_t k = 0; k < trace.decisions.size(); ++k)
      if (trace.decisions[k].name == name) product *= static_cast<double>(values[k]);
  return product;
}

}  // namespace

const Constraint* violated(const Trace& trace, const std::vector<int64_t>& values) {
  PW_CHECK(values.size() == trace.decisions.size());
  for (const auto& constraint : trace.constraints) {
    double sum = 0;
    for (const auto& term : constraint.terms) sum += monomial_value(term, trace, values);
    if (sum > constraint.at_most * (1 + 1e-12)) return &constraint;
  }
  return nullptr;
}

namespace {

struct Renamer {
  const std::map<std::string, std::string>& names;
  /// Statements keep what follows the tensor's name: `.1` of hidden tensors, `@2` of later equations.
  void apply(std::string& name) const {
    auto whole = names.find(name);
    if (whole != names.end()) {
      name = whole->second;
      return;
    }
    size_t cut = std::min(name.find('@'), name.find('.'));
    if (cut == std::string::npos) return;
    auto found = names.find(name.substr(0, cut));
    if (found != names.end()) name = found->second + name.substr(cut);
  }
  void operator()(TileStep& s) const { apply(s.statement); }
  void operator()(PermuteStep& s) const { apply(s.statement); }
  void operator()(ParallelStep& s) const { apply(s.statement); }
  void operator()(BindStep& s) const { apply(s.statement); }
  void operator()(VectorizeStep& s) const { apply(s.statement); }
  void operator()(UnrollStep& s) const { apply(s.statement); }
  void operator()(PromoteStep& s) const { apply(s.tensor), apply(s.statement); }
  void operator()(AccumulateStep& s) const { apply(s.statement); }
  void operator()(InlineStep& s) const { apply(s.statement); }
  void operator()(ComputeAtStep& s) const { apply(s.producer), apply(s.consumer); }
  void operator()(FuseStep& s) const { apply(s.statement), apply(s.into); }
  void operator()(DistributeStep& s) const { apply(s.statement); }
  void operator()(BandStep& s) const {
    for (auto& statement : s.statements) apply(statement.name);
  }
  void operator()(IsolateStep& s) const {
    for (auto& statement : s.statements) apply(statement);
  }
  void operator()(CutStep& s) const { apply(s.of); }
  void operator()(SnapshotStep& s) const { apply(s.tensor), apply(s.statement); }
  void operator()(WavefrontStep&) const {}
  void operator()(OnlineStep& s) const { apply(s.statement); }
  void operator()(PipelineStep& s) const { apply(s.statement); }
  void operator()(OverlapStep&) const {}
  void operator()(StoreStep& s) const {
    apply(s.tensor);
    if (!s.output.empty()) apply(s.output);
  }
  void operator()(SkewStep&) const {}
  void operator()(ReverseStep&) const {}
  void operator()(ShiftStep& s) const { apply(s.statement); }
  void operator()(FoldStep& s) const { apply(s.tensor); }
  void operator()(SplitStep& s) const { apply(s.statement); }
  void operator()(IndexSetSplitStep& s) const { apply(s.statement); }
  void operator()(TensorizeStep& s) const { apply(s.statement); }
  void operator()(RfactorStep& s) const { apply(s.statement); }
  void operator()(StreamStep& s) const { apply(s.statement); }
  void operator()(AutovectorizeStep&) const {}
  void operator()(BatchStep&) const {}
  void operator()(PrefetchStep& s) const { apply(s.tensor), apply(s.statement); }
};

}  // namespace

Trace renamed(const Trace& trace, const std::map<std::string, std::string>& names) {
  Trace out = trace;
  for (auto& step : out.steps) std::visit(Renamer{names}, step);
  return out;
}

}  // namespace polyweft
