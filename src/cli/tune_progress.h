// The events of a search in three views: JSON Lines, a table with a status line that a person watches, plain lines in a
// pipe.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "options.h"

namespace polyweft::cli {

/// What the views need besides the events.
struct TuneView {
  std::string program;
  std::string key;      ///< of the program
  std::string binding;  ///< "M=512 N=512"
  double budget_s = 0;  ///< of all searches together; 0: no limit
  int trials = 0;       ///< 0: no limit
  uint64_t seed = 1;
};

class TuneDisplay {
 public:
  /// `target` and `database` are described in the header.
  TuneDisplay(const CommonOptions& options, TuneView view, const Target& target);

  void operator()(const TuneProgress& event);
  /// The result of the search, on standard output.
  void finish(const TuneReport& report);
  /// Ends the status line; also before an error message.
  void clear();

 private:
  /// Of the table of gains.
  struct TableRow {
    std::string trial;
    double ns = 0, predicted_ns = 0, peak_gflops = 0, elapsed_s = 0;
    std::string changed;
  };
  /// What is searched for, before anything is analysed; nothing where a record answers or the command is refused.
  void begin();
  void start(const TuneProgress& event);
  void header(const TuneStart& plan);
  void best(const TuneProgress& event);
  void final_row(const TuneReport& report);
  void row(const TableRow& row);
  void status(const TuneProgress& event);
  void doing(const TuneProgress& event);
  void json(const TuneProgress& event);
  void json_result(const TuneReport& report);
  void human_result(const TuneReport& report);
  void plain_result(const TuneReport& report);
  void line(const std::string& text);
  void header_of_before(const TuneStart& plan);
  std::string rate(double ns) const;
  std::string share(double ns, double peak_gflops) const;
  void human_head(const TuneReport& report);
  std::string bar(double elapsed_s) const;
  std::string failures() const;

  const CommonOptions& options_;
  TuneView view_;
  const Target& target_;
  Terminal terminal_;
  double flops_ = 0, peak_gflops_ = 0, last_gain_s_ = 0, before_s_ = 0, best_ns_ = 0;
  std::string best_trace_;
  bool has_begun_ = false, has_table_ = false;
  std::map<std::string, int> failed_by_status_;
  std::chrono::steady_clock::time_point last_status_;
};

}  // namespace polyweft::cli
