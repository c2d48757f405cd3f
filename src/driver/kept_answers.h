// What was worked out once, by the text of its question: in this process, and in the user's cache for later ones.
// Answers depend on nothing but their question; what was cut off by a clock is none.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "db/answer_cache.h"

namespace polyweft {

class KeptAnswers {
 public:
  explicit KeptAnswers(AnswerCache file = AnswerCache(AnswerCache::Options{})) : file_(std::move(file)) {}

  std::optional<std::string> find(const std::string& question);
  void keep(const std::string& question, const std::string& answer);

 private:
  void remember(const std::string& question, const std::string& answer);

  AnswerCache file_;
  std::unordered_map<std::string, std::string> known_;
  size_t bytes_ = 0;
};

}  // namespace polyweft
