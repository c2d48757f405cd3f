// The host's side of polyweft-isl: every isl computation happens in that killable child, under a deadline and a memory
// limit. Text and plain values cross; nothing of isl is linked here.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/call.h"
#include "driver/kept_answers.h"
#include "driver/task.h"
#include "poly/band.h"
#include "polyweft/loop_nest.h"
#include "polyweft/tuner.h"

namespace polyweft {

class IslClient {
 public:
  struct Options {
    std::string helper;  ///< path of polyweft-isl
    std::chrono::milliseconds deadline{10'000};
    uint64_t memory_bytes = uint64_t{4} << 30;
    int64_t workspace_limit_bytes = int64_t{4} << 30;
    KeptAnswers* kept = nullptr;  ///< must outlive the client; null: it keeps its own
    Call* call = nullptr;         ///< whose end stops a question, and whose stages it is; must outlive the client
  };
  explicit IslClient(Options options);
  ~IslClient();

  /// Of each question, in processor time.
  std::chrono::milliseconds deadline() const;
  int64_t workspace_limit_bytes() const;
  /// Questions so far that a clock or the memory limit ended, and not isl: what follows from them is not kept.
  size_t cut_offs() const;

  /// A question that was answered before is answered from memory, whichever function below it is.

  /// Language checks. A stop by deadline or memory is the diagnostic PW0831 or PW0832.
  /// Of the task's program at its sizes alone.
  CheckReport check_at(const Task& task);
  CheckReport check(const Program& program, const std::map<std::string, int64_t>& sizes = {});
  Result<LoopNest> base_nest(const Task& task, bool leanest = false);  ///< leanest: poly::BaseOptions
  /// The symbolic base nest of the task's program, whatever its binding.
  Result<LoopNest> symbolic_nest(const Task& task);
  /// The base nest of ir::bound_program: same inputs, per output the f64 error bound of each element
  /// (RunnerTask::bound).
  Result<LoopNest> bound_nest(const Task& task);
  /// See poly/band.h; about task.program. `most`: instead of the deadline of all questions.
  Result<poly::BandFacts> band_facts(const Task& task, const poly::BandQuestion& question,
                                     std::optional<std::chrono::milliseconds> most = {});
  Result<std::vector<poly::BandProposal>> propose_bands(const Task& task);
  /// Proof of a nest for the task's program, binding and class. What is no nest, or one of another class, is refuted;
  /// an error is none of the nest's: a deadline, a helper that ended. `most` as above.
  Result<Certificate> prove(const Task& task, const std::string& nest_text, std::string* why = nullptr,
                            std::optional<std::chrono::milliseconds> most = {});
  Result<std::vector<Dependence>> dependences(const Task& task);
  /// Text of `show --stage scop|dependences|schedule`.
  Result<std::string> show(const Task& task, const std::string& stage);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polyweft
