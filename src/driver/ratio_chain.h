// Times of nests over that of one of them, from pairs: no two times of different minutes are compared.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/records.h"

namespace polyweft {

/// Each pair says what one nest took over another one in the same turns. A nest that was never timed beside the
/// sentinel is compared with it through those that were between them.
class RatioChain {
 public:
  /// `nest` took `ratio` of what `beside` took. A ratio that is no number above 0 says nothing.
  void add(const std::string& nest, const std::string& beside, double ratio);
  /// From now on ratios are told beside this nest.
  void begin_with(const std::string& sentinel);
  const std::string& sentinel() const { return sentinel_; }
  /// Over the sentinel's time; 0 where no pairs lead to it. Of the ways through others the shortest counts, and of
  /// equally short ones that of the first pairs.
  double ratio_of(const std::string& nest) const;
  /// The nest of the least ratio to the first nest of its group, of the group with the most pairs; empty: no pairs.
  std::string fastest() const;

 private:
  struct Pair {
    std::string other;
    double ratio;  ///< of the nest over `other`
  };
  std::map<std::string, double> reached_from(const std::string& nest) const;

  std::map<std::string, std::vector<Pair>> pairs_;  // by nest, in both directions
  std::vector<std::string> order_;                  // nests as they came
  std::string sentinel_;
  std::map<std::string, double> ratios_;  // over the sentinel's
};

/// All pairs among a task's measurements.
RatioChain ratios_of(const std::vector<std::pair<std::string, Measurement>>& rows);

}  // namespace polyweft
