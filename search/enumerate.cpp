// Enumeration by model: ten analytically chosen candidates beat thousands of evolved ones on most operators (Roller,
// OSDI 2022), so this comes first.
#include <limits>

#include "search/pool.h"

namespace polyweft {
namespace search {
namespace {

constexpr int64_t kFew = 100;  ///< points that are scored whatever they cost

class EnumerateByModel final : public Strategy {
 public:
  EnumerateByModel(std::vector<SketchSpace> sketches, const SearchOptions& options)
      : options_(options), rng_(options.seed), pool_(std::move(sketches)) {
    const bool is_bounded = options_.work_limit > 0 && !options_.descends;
    if (pool_.size_of_space() <= (is_bounded ? kFew : options_.enumeration_limit))
      pool_.enumerate();
    else if (options_.descends)
      pool_.descend(options_.enumeration_limit, rng_);
    else if (is_bounded)
      pool_.sample_within(options_.work_limit, options_.enumeration_limit, rng_);
    else
      pool_.sample_some(std::numeric_limits<int64_t>::max(), options_.enumeration_limit, rng_);
    if (!pool_.has_open()) pool_.descend(options_.enumeration_limit, rng_);  // no random point keeps the constraints
  }
  std::vector<Candidate> ask(size_t n) override { return pool_.propose({n, 0, options_.epsilon}, rng_); }
  void tell(const std::vector<Observation>& observations) override {
    for (const auto& o : observations) pool_.observe(o);
  }
  int64_t scored() const override { return pool_.scored(); }
  std::string name() const override { return "enumerate"; }

 private:
  SearchOptions options_;
  Rng rng_;
  Pool pool_;
};

}  // namespace
}  // namespace search

std::unique_ptr<Strategy> enumerate_by_model(std::vector<SketchSpace> sketches, const SearchOptions& options) {
  return std::make_unique<search::EnumerateByModel>(std::move(sketches), options);
}

}  // namespace polyweft
