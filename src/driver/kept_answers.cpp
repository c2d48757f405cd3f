#include "driver/kept_answers.h"

namespace polyweft {

std::optional<std::string> KeptAnswers::find(const std::string& question) {
  if (const auto known = known_.find(question); known != known_.end()) return known->second;
  auto kept = file_.find(question);
  if (kept) remember(question, *kept);
  return kept;
}

void KeptAnswers::keep(const std::string& question, const std::string& answer) {
  remember(question, answer);
  file_.keep(question, answer);
}

void KeptAnswers::remember(const std::string& question, const std::string& answer) {
  constexpr size_t kMostBytes = size_t{64} << 20;
  const size_t bytes = question.size() + answer.size();
  if (bytes > kMostBytes) return;
  if (bytes_ + bytes > kMostBytes) known_.clear(), bytes_ = 0;
  if (known_.insert_or_assign(question, answer).second) bytes_ += bytes;
}

}  // namespace polyweft
