// What the verbs share: options, exit codes, output in two forms made from the same facts.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "polyweft/polyweft.h"

namespace polyweft::cli {

/// 0 done; 1 the answer is no; 2 usage or bad input; 3 environment; 4 our bug; 130 interrupted.
enum ExitCode { kDone = 0, kNo = 1, kBadInput = 2, kEnvironment = 3, kInternal = 4, kInterrupted = 130 };

/// Options that every verb takes.
struct CommonOptions {
  std::vector<std::string> parameters;  ///< NAME=VALUE
  int threads = 1;
  std::string numerics = "reassoc";
  std::string database;  ///< empty: the XDG data folder
  std::string target = "host";
  std::string schedule;  ///< path of a trace; run, build, bench and show
  bool json = false;

  void add_to(CLI::App& app);
  void add_schedule_to(CLI::App& app);
};

/// The default database: $XDG_DATA_HOME/polyweft/schedules.db, else ~/.local/share/polyweft/schedules.db.
std::string default_database();

/// Fills `task` from the options; reads the trace file. PW0003 for a malformed NAME=VALUE, PW0001 for an unreadable file.
Status fill_task(const CommonOptions& options, TaskOptions& task);
Result<Tuner> make_tuner(const CommonOptions& options);
Result<std::string> read_file(const std::string& path);
Status write_file(const std::string& path, const std::string& bytes);

/// Prints the error (human text or a JSON line) to standard error and gives the exit code that fits its code.
int report(const Error& error, const CommonOptions& options);
void report_warnings(const std::vector<Diagnostic>& warnings, const Program& program, const CommonOptions& options);
int exit_code_of(const std::string& code);
/// One JSON line on standard output; `verb` names the schema "polyweft.VERB/1".
void print_json(const char* verb, nlohmann::json line);
nlohmann::json to_json(const Diagnostic& diagnostic, const std::string& file);
/// Terminal text with control characters shown escaped: names come from others.
std::string printable(const std::string& text);
/// "2.08 ms".
std::string human_time(double ns);
std::string human_bytes(double bytes);

}  // namespace polyweft::cli
