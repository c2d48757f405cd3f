// Output in two forms made from the same facts: text for a person, JSON Lines for a program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "polyweft/polyweft.h"

namespace polyweft::cli {

/// 0 done; 1 the answer is no; 2 usage or bad input; 3 environment; 4 our bug; 130, 143 ended by a signal.
enum ExitCode {
  kDone = 0,
  kNo = 1,
  kBadInput = 2,
  kEnvironment = 3,
  kInternal = 4,
  kInterrupted = 130,
  kTerminated = 143
};

/// What standard output and standard error are connected to.
struct Terminal {
  bool watched = false;  ///< a person watches both streams: status lines and tables instead of plain lines
  bool color_out = false, color_err = false;
  int width = 80;
};
/// `color` is auto, always or never; NO_COLOR, CLICOLOR_FORCE, TERM=dumb and COLUMNS count as everywhere.
Terminal terminal_of(const std::string& color);

enum class Paint { red, green, yellow, bold, dim };
/// `text` in this paint where `enabled`.
std::string painted(const std::string& text, Paint paint, bool enabled);

/// How a verb speaks.
struct OutputOptions {
  bool json = false;
  std::string color = "auto";
  Terminal terminal() const { return terminal_of(color); }
};

/// Prints the error (text on standard error, or a JSON line on standard output) and gives the exit code that fits its
/// code.
int report(const Error& error, const OutputOptions& options);
void report_warnings(const std::vector<Diagnostic>& warnings, const Program& program, const OutputOptions& options);
/// One JSON line on standard output, in ASCII (a terminal may be behind it, and texts of rows in it); `verb` names the
/// schema "polyweft.VERB/1".
void print_json(const char* verb, nlohmann::json line);
nlohmann::json to_json(const Diagnostic& diagnostic, const std::string& file);
/// What every line about a record says of it.
nlohmann::json to_json(const TuningRecord& record);
/// Rendered messages with their severity painted.
std::string painted_messages(const std::string& rendered, bool enabled);

/// Text of others for a terminal: control characters, broken UTF-8 and characters that turn or hide text are shown as
/// \xNN.
std::string printable(const std::string& text);
/// The same in one line: a name may not begin another.
std::string printable_line(const std::string& text);
/// "2.08 ms".
std::string human_time(double ns);
/// " +-1.2 %" behind a time; nothing of one sample, which has no interval.
std::string spread_text(const Timing& timing);
/// "2026-11-23", of the UTC day.
std::string day(int64_t unix_time);
std::string human_bytes(double bytes);
/// "3.1e7" from a million on, with commas below: "8,112".
std::string human_count(double count);
/// flops / ns: GFLOP/s; 0 where there is no time.
/// "93 %"; beyond what can be "> 100 %", for which kWhyBeyondPeak is the reason.
std::string share_of_peak(double rate, double peak, int digits);
bool is_beyond_peak(double rate, double peak);
inline constexpr const char* kWhyBeyondPeak =
    "> 100 %: the peak was measured while the machine was busy, or the code needs fewer operations than the program "
    "says";
double gflops(double flops, double ns);
/// "512,512": a binding in the order of the program's parameters.
std::string binding_text(const std::vector<int64_t>& binding);
/// The first line of `text`, without its end.
std::string first_line(const std::string& text);

}  // namespace polyweft::cli
