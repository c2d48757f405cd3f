// Schedules that were written or found for programs of one structure with a task's, adapted to it: templates beside
// those of the rules, and where in them a search begins.
#pragma once

#include <string>
#include <vector>

#include "driver/task.h"
#include "driver/trace_library.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"
#include "polyweft/tuner.h"
#include "schedules/steps.h"

namespace polyweft {

struct LibrarySeeds {
  std::vector<NestTemplate> templates;
  std::vector<Candidate> seeds;       ///< the best predicted first; `sketch` counts these templates
  std::vector<std::string> warnings;  ///< files of the user's folder that are of no use
};
struct SeedQuestion {
  const Target& target;
  const schedules::Isl& isl;
  const TuneOptions& options;              ///< which libraries, the budget
  std::vector<LibraryTrace> records = {};  ///< schedules of the database for other sizes of the program
};
inline constexpr size_t kMostSeeds = 8, kMostSeedTemplates = 6;

/// Of the records and a user's folder all traces whose programs have the task's structure, of the library the nearest
/// by extents, types and packing; at most kMostSeeds seeds in kMostSeedTemplates templates, with a trace for one thread
/// made parallel where the task has several. PW0010 where the folder cannot be read. Replays end after a tenth of the
/// budget, at most 2 s.
Result<LibrarySeeds> library_seeds(const Task& task, const SeedQuestion& question);

}  // namespace polyweft
