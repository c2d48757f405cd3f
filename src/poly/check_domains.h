// Private: the checks of single equations and of pairs (LANGUAGE.md section 5, numbers 2 to 5) and of order (6).
#pragma once

#include "poly/check.h"
#include "poly/witness.h"

namespace polyweft::poly {

/// What all checks share: the model, the report, and how a question that isl does not answer is reported.
class Inquiry {
 public:
  Inquiry(const Model& model, const CheckOptions& options, CheckReport& report)
      : model_(model), options_(options), report_(report) {}

  const Model& model() const { return model_; }
  const Program& program() const { return model_.program(); }
  unsigned long quota() const { return options_.quota; }
  CheckReport& report() { return report_; }
  /// f's answer, for so many quotas; where there is none, "WHAT not decided within the quota" at the equation, and
  /// nothing.
  template <class F>
  auto ask(const std::string& what, EquationId q, const F& f, unsigned long times = 1) -> std::optional<decltype(f())> {
    auto result = attempt(model_.context(), quota() * times, f);
    if (!result) undecided(what, q, model_.context().quota_spent());
    return result;
  }
  void undecided(const std::string& what, EquationId q, bool quota_was_spent);
  /// Reports once a place and text.
  void error(std::string code, std::string text, Span where, std::vector<std::string> notes);
  void warning(std::string code, std::string text, Span where, std::vector<std::string> notes);
  /// The witness of a set that is not empty, or one without numbers where isl gives up.
  template <class T>
  std::optional<Witness> point(const T& set) const {
    return witness(model_, set, quota());
  }

 private:
  const Model& model_;
  const CheckOptions& options_;
  CheckReport& report_;
};

void check_empty(Inquiry& inquiry);
void check_overlap(Inquiry& inquiry);
void check_reads(Inquiry& inquiry);
void check_arguments(Inquiry& inquiry);
void check_outputs(Inquiry& inquiry);
void check_combiners(Inquiry& inquiry);
void check_order(Inquiry& inquiry);

}  // namespace polyweft::poly
