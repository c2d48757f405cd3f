// What a search knows before its first trial.
#pragma once

#include <cstdint>
#include <vector>

#include "driver/compile_service.h"
#include "driver/task.h"
#include "polyweft/database.h"
#include "polyweft/nest_template.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// Multiply-adds of the widest float type that the program computes in, for one of f32: 1/2 for f64, 2 for f16 where
/// the target computes in halves.
double peak_factor(const Program& program, const Target& target);
/// What this machine does, which is what counts where the kernels run on it.
enum class Rates : uint8_t { measured_here, unknown };
/// `database` may be null. Measures the machine: some 100 ms.
TuneStart tune_start(const Task& task, const std::vector<ArgumentSpec>& arguments,
                     const std::vector<NestTemplate>& templates, const CompileService& compiler, Database* database,
                     Rates rates = Rates::measured_here);
/// Roofline of one call at a peak rate, GFLOP/s (0: not known).
double roofline_ns(const TuneStart& plan, double peak_gflops);
/// Reports the start to the caller's progress function, if there is one.
void announce(const TuneStart& plan, const TuneOptions& options, double elapsed_s);
/// Reports what is being done now.
void announce_doing(const std::string& what, double elapsed_s, const TuneOptions& options);
/// Reports `hit` where it is one, and `done`.
void announce_end(const TuneReport& report, const TuneOptions& options);

}  // namespace polyweft
