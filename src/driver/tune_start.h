// What a search knows before its first trial.
#pragma once

#include <cstdint>
#include <string>
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
/// The same of the fastest unit that can do any of the program's arithmetic, which a bound is made from: vectors of its
/// narrowest integers (a product of bytes may stay in lanes of bytes), of its narrowest floats, and each tensor
/// instruction of the target whose factors have a type of the program's.
double fastest_factor(const Task& task, const Target& target);
/// What this machine does, which is what counts where the kernels run on it.
enum class Rates : uint8_t { measured_here, unknown };
/// `database` may be null. Measures the machine: some 100 ms.
TuneStart tune_start(const Task& task, const std::vector<ArgumentSpec>& arguments,
                     const std::vector<NestTemplate>& templates, const CompileService& compiler, Database* database,
                     Rates rates = Rates::measured_here);
/// Roofline of one call at a peak rate, GFLOP/s (0: not known).
double roofline_ns(const TuneStart& plan, double peak_gflops);
/// The peak that a bound is made from, where that of the kernel's own unit was measured: "f32 multiply-adds", say.
double fastest_gflops(const TuneStart& plan, double peak_gflops, const std::string& peak_of);
/// A bound that `took_ns` beats is none: within the noise of both measurements it is what was taken, else it is not
/// known (0).
double believable_bound_ns(double bound_ns, double took_ns);
/// Reports the start to the caller's progress function, if there is one.
void announce(const TuneStart& plan, const TuneOptions& options, double elapsed_s);
/// Reports what is being done now.
void announce_doing(const std::string& what, double elapsed_s, const TuneOptions& options);
/// Reports `hit` where it is one, and `done`.
void announce_end(const TuneReport& report, const TuneOptions& options);

}  // namespace polyweft
