// What the verbs share: options, and the way from them to a program, a task and a tuner.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "files.h"
#include "output.h"

namespace polyweft::cli {

/// Options that every verb takes.
struct CommonOptions : OutputOptions {
  std::vector<std::string> parameters;  ///< NAME=VALUE
  int threads = 1;
  std::string numerics = "reassoc";
  std::string database;  ///< empty: the XDG data folder
  std::string target = "host";
  std::string instructions;  ///< a folder of instruction files; empty: none (main.cpp adds it)
  std::string deadline;      ///< empty: none but the one of each polyhedral analysis
  std::optional<int64_t> max_workspace;
  std::string schedule;  ///< path of a trace; run, build, bench and show
  bool no_cache = false;
  bool timings = false;  ///< a table of stages on standard error at the end
  bool makes_database =
      false;  ///< the verb stores: where there is no database it makes one, and the default one's folders

  void add_to(CLI::App& app);
  void add_schedule_to(CLI::App& app);
  void add_workspace_to(CLI::App& app);
};

/// A program, what is asked of it, and who does it.
struct Job {
  Program program;
  TaskOptions task;
  Tuner tuner;
};
/// FILE or FILE:PROGRAM with these options. PW0001 to PW0003 and what the program's text and the database say.
/// `runner`: TunerOptions::runner.
Result<Job> make_job(const CommonOptions& options, const std::string& file, std::vector<std::string> runner = {});

/// The default database: $XDG_DATA_HOME/polyweft/schedules.db, else ~/.local/share/polyweft/schedules.db.
std::string default_database();
std::string database_of(const CommonOptions& options);
/// Fills `task` from the options; reads the trace file. PW0003 for a malformed NAME=VALUE, PW0001 for an unreadable
/// file.
Status fill_task(const CommonOptions& options, TaskOptions& task);
/// The option --runner COMMAND.
void add_runner_to(CLI::App& app, std::string& command);
/// Words as a shell has them, without its variables: quotes hold blanks together. PW0003 for an open quote.
Result<std::vector<std::string>> words_of(const std::string& option, const std::string& text);
/// `runner`: TunerOptions::runner.
Result<Tuner> make_tuner(const CommonOptions& options, std::vector<std::string> runner = {});
/// What --timings asks for, when the verb is done. Takes the tuner, whose helpers end with it.
class TimingsAtEnd {
 public:
  /// Both must outlive it.
  TimingsAtEnd(Tuner& tuner, const CommonOptions& options) : tuner_(tuner), options_(options) {}
  ~TimingsAtEnd();
  TimingsAtEnd(const TimingsAtEnd&) = delete;
  TimingsAtEnd& operator=(const TimingsAtEnd&) = delete;

 private:
  Tuner& tuner_;
  const CommonOptions& options_;
};
/// FILE or FILE:PROGRAM, as the library loads it; a folder is refused by name.
Result<Program> load(const std::string& file_and_program);

/// The text of a trace that parses; errors name file, line and column.
Result<std::string> read_trace(const std::string& path);

/// Is this the number of a record?
bool is_record_number(const std::string& text);
/// PW0710 where the database does not have it.
Result<TuningRecord> find_record(Tuner& tuner, const std::string& number);
/// What is asked of a record is asked of its target: the tuner where it is of that one, else one for the target that
/// has a name and the record's fingerprint. Where there is none the tuner stays, which says so (PW0540).
Result<Tuner> tuner_of(const TuningRecord& record, Tuner tuner, const CommonOptions& options);

}  // namespace polyweft::cli
