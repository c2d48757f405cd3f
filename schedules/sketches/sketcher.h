// A sketch under construction: a template, to which steps are applied and whose trace they join where they are legal.
#pragma once

#include <string>
#include <vector>

#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

class Sketcher {
 public:
  Sketcher(const Program& program, NumericsClass cls, const Machine& machine, const Isl& isl);

  /// Appends the step where it is legal.
  bool take(const Step& step);
  /// All of them, or none.
  bool take_all(const std::vector<Step>& steps);
  void decide(const std::string& name, int64_t value, std::vector<int64_t> candidates);
  /// A free name for the next band.
  std::string band_name() const;
  /// Of the stage's element type in a vector.
  int64_t lanes_of(const Stage& stage) const;
  /// Vectors for the stages that are in no band, as elsewhere.
  void plan_others();

  const Machine* machine_;
  const Isl* isl_;
  NestTemplate t_;  ///< with its trace
};

}  // namespace polyweft::schedules
