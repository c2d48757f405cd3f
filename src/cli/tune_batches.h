// tune --propose and --observe: search here, measure elsewhere.
#pragma once

#include <string>

#include "options.h"

namespace polyweft::cli {

/// What `tune` was told of files of candidates.
struct BatchOptions {
  int propose = 0;
  std::string output, references, observe;

  void add_to(CLI::App& app);
  bool is_asked_for() const { return propose > 0 || !observe.empty(); }
};

/// Writes the candidates of the program's search; the exit code.
int propose_candidates(Tuner& tuner, const Program& program, const TuneOptions& tune, const BatchOptions& options,
                       const OutputOptions& output);
/// Of the file that the options name. Its target counts where `common` has none.
int observe_results(CommonOptions common, const BatchOptions& options);

}  // namespace polyweft::cli
