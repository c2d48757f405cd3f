// Which nest a task gets: of its record, of a trace, the model's first choice that the checker proves, or the base
// order.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/kept_answers.h"
#include "driver/stored.h"
#include "driver/task.h"
#include "driver/trust.h"
#include "driver/workspace_limit.h"
#include "polyweft/search.h"
#include "polyweft/tuner.h"
#include "schedules/steps.h"

namespace polyweft {

/// A nest and where it came from.
struct Plan {
  LoopNest nest;
  std::string trace;
  std::string origin;
};

class Planner {
 public:
  /// All must outlive it. `kept`: first choices of earlier calls and processes; null: each is made anew.
  Planner(const CompileService& compiler, IslClient& isl, Stored& stored, Trust& trust, KeptAnswers* kept = nullptr)
      : compiler_(compiler), isl_(isl), stored_(stored), trust_(trust), kept_(kept) {}

  Result<Task> task(const Program& program, const TaskOptions& options) const {
    auto made = make_task(program, options, compiler_.target());
    if (made) made->device = compiler_.device_here();
    return made;
  }
  /// The same for whoever measures, stores or looks up: PW0521 where the options leave the sizes open.
  Result<Task> sized_task(const Program& program, const TaskOptions& options) const;
  /// A program that fails a check has no meaning: nothing is scheduled for it.
  Status checked(const Program& program);
  /// The same for the sizes of a task where it is not decided for all sizes.
  Status checked(const Task& task);
  Result<LoopNest> base_nest(const Task& task);
  Result<LoopNest> base_nest(const Task& task, WorkspaceLimit& limit);
  /// The template of a trace, in this target's arithmetic.
  Result<NestTemplate> replay(const Task& task, const std::string& text);
  /// What steps ask of isl about the task, which must outlive the result. `most`: instead of the deadline, where an
  /// answer is not worth more.
  schedules::Isl answers(const Task& task, std::optional<std::chrono::milliseconds> most = {}) const;
  /// What the rules propose, in this target's arithmetic.
  Result<std::vector<NestTemplate>> sketches(const Task& task);
  Result<std::vector<NestTemplate>> sketches(const Task& task, Machine machine);
  /// What a search tries beside the sketches (schedules::search_templates).
  std::vector<NestTemplate> sketches_for_search(const Task& task, const std::vector<NestTemplate>& known) const;
  /// What plan() considers where there is neither trace nor record, in its order: for each way to make code the model's
  /// best, ordered by their code, and `others` that the model ranks first. Costs what compiling some four nests costs
  /// twice.
  static constexpr size_t kFirstChoices = 6;
  std::vector<Candidate> choices(const Task& task, const std::vector<NestTemplate>& templates,
                                 size_t others = kFirstChoices) const;
  /// Where no code of them uses the unit that the machine has beside its CPU, the user hears why.
  void tell_of_unit(const Task& task, const std::vector<NestTemplate>& templates,
                    const std::vector<Candidate>& candidates);
  /// The first of the candidates of which code is made, that is proven and within the limit; of several the one that
  /// spills least.
  std::optional<Plan> first_that_fits(const Task& task, const std::vector<NestTemplate>& templates,
                                      const std::vector<Candidate>& candidates, WorkspaceLimit& limit);
  /// The options' trace, else the record, else the model's choice. Bounded by the options' workspace.
  Result<Plan> plan(const Task& task, const TaskOptions& options);
  /// The base nest with its sizes left open.
  Result<Plan> symbolic_plan(const Task& task, const TaskOptions& options);
  /// PW0409 where the nest is not proven.
  Result<Plan> plan_by_trace(const Task& task, const std::string& trace,
                             WorkspaceLimit limit = WorkspaceLimit(std::nullopt));
  /// PW0712 where the record is of another task, PW0720 and PW0721 where its nest is not proven.
  Result<Plan> plan_of_record(const Task& task, int64_t id);

 private:
  Result<std::shared_ptr<const LoopNest>> recurrence_nest(const Task& task);
  Result<schedules::Isl> isl_for(const Task& task, bool needs_nest);
  Result<Certificate> proven(const Task& task, const LoopNest& nest,
                             std::optional<std::chrono::milliseconds> most = {});
  /// Empty: there is no such unit, or code that uses it.
  std::string why_unit_is_idle(const Task& task, const std::vector<NestTemplate>& templates,
                               const std::vector<Candidate>& candidates);
  void notice_of_unit(const Task& task, const std::string& why) const;
  Result<Plan> plan_by_model(const Task& task, WorkspaceLimit& limit);
  Result<Plan> new_plan_by_model(const Task& task, WorkspaceLimit& limit);
  std::vector<Candidate> new_choices(const Task& task, const std::vector<NestTemplate>& templates, size_t others) const;
  /// CompileService::expected_code; the last ones are remembered.
  Result<targets::ExpectedCode> code_of(const LoopNest& nest, int threads) const;
  /// PW05xx where there is no code.
  Result<int> spills_of(const LoopNest& nest, int threads) const;
  bool is_cut_off() const { return is_due(compiler_.call()); }
  /// What is being done now, for who waits.
  void say(const char* what) const;

  const CompileService& compiler_;
  IslClient& isl_;
  Stored& stored_;
  Trust& trust_;
  KeptAnswers* kept_;
  mutable std::map<std::string, Result<targets::ExpectedCode>> codes_;  ///< by hash of the nest, and threads
};

}  // namespace polyweft
