// Answers that cost processor time, kept in a file of the user's for later processes: by question and build, each with
// a MAC of this host's secret. What is not there, was altered or cannot be read is made anew: the file may be deleted
// at any time, and nothing here ever fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace polyweft {

class AnswerCache {
 public:
  struct Options {
    std::string path;                        ///< made with its folders at the first answer; empty: nothing is kept
    std::string secret;                      ///< of this host, 16 to 64 bytes; empty: nothing is kept
    std::string build;                       ///< answers of other builds are not found
    int64_t most_bytes = int64_t{64} << 20;  ///< beyond it the answers that were asked for longest ago go
  };
  explicit AnswerCache(Options options);
  ~AnswerCache();
  AnswerCache(AnswerCache&&) noexcept;
  AnswerCache& operator=(AnswerCache&&) noexcept;

  /// Tens of microseconds.
  std::optional<std::string> find(const std::string& question);
  void keep(const std::string& question, const std::string& answer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polyweft
