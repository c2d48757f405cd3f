// Why the unit of a described machine computes nothing of a program: whoever wrote the description is told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "driver/compile_service.h"
#include "driver/task.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"

namespace polyweft {

/// Does the nest leave anything to an instruction of a unit?
bool uses_unit(const LoopNest& nest);
struct UnitCase {
  const Task& task;
  const CompileService& compiler;
  const std::vector<NestTemplate>& templates;  ///< that the rules made
  const std::vector<Candidate>& candidates;    ///< of them, the best first
};
/// In words, where code of none of the templates that use the unit can be made; empty where there is such code.
/// `templates_for`: of the same program, on another machine.
std::string why_unit_cannot(const UnitCase& of,
                            const std::function<std::vector<NestTemplate>(const Machine&)>& templates_for);
/// "target m3.toml: its unit computes nothing of mm: .."
std::string idle_unit_notice(const Task& task, const Target& target, const std::string& why);

}  // namespace polyweft
