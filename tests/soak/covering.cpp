// Which shapes: each size alone, then all pairs of sizes.
#include <algorithm>
#include <set>

#include "soak/families.h"
#include "support/rng.h"

namespace polyweft::soak {
namespace {

constexpr int64_t kLargest = 12'000;  ///< product of the sizes

int64_t product(const Sizes& sizes) {
  int64_t out = 1;
  for (int64_t size : sizes) out *= std::max<int64_t>(size, 1);
  return out;
}

const std::vector<int64_t>& paired_sizes() {
  static const std::vector<int64_t> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 101};
  return sizes;
}

void sweep_each_alone(size_t dims, std::vector<Sizes>& out) {
  static const Sizes others = {5, 7, 3, 6};
  for (size_t d = 0; d < dims; ++d)
    for (int64_t size : swept_sizes()) {
      Sizes sizes(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(dims));
      sizes[d] = size;
      out.push_back(sizes);
    }
}

/// Greedy: a row begins with a pair that is still missing; the rest of it takes, out of some random fillings below the
/// limit, the one that covers most missing pairs.
class CoveringArray {
 public:
  CoveringArray(size_t dims, uint64_t seed) : dims_(dims), rng_(seed) {
    const size_t count = paired_sizes().size();
    for (size_t a = 0; a < dims; ++a)
      for (size_t b = a + 1; b < dims; ++b)
        for (size_t x = 0; x < count; ++x)
          for (size_t y = 0; y < count; ++y) missing_.insert({a, b, paired_sizes()[x], paired_sizes()[y]});
  }
  void fill(std::vector<Sizes>& out) {
    while (!missing_.empty()) {
      auto it = missing_.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(std::min<size_t>(missing_.size(), 64))));
      const Sizes row = best_row(*it);
      cover(row);
      out.push_back(row);
    }
  }

 private:
  struct Pair {
    size_t a = 0, b = 0;
    int64_t x = 0, y = 0;
    auto operator<=>(const Pair&) const = default;
  };

  Sizes best_row(const Pair& pair) {
    Sizes best;
    size_t most = 0;
    for (int tries = 0; tries < 12; ++tries) {
      Sizes row(dims_, 1);
      row[pair.a] = pair.x;
      row[pair.b] = pair.y;
      for (size_t d = 0; d < dims_; ++d) {
        if (d == pair.a || d == pair.b) continue;
        for (int again = 0; again < 8; ++again) {
          row[d] = paired_sizes()[rng_.below(paired_sizes().size())];
          if (product(row) <= kLargest) break;
          row[d] = 1;
        }
      }
      const size_t covered = newly_covered(row);
      if (covered <= most && !best.empty()) continue;
      most = covered;
      best = row;
    }
    return best;
  }
  template <class Visit>
  void each_pair(const Sizes& row, const Visit& visit) const {
    for (size_t a = 0; a < dims_; ++a)
      for (size_t b = a + 1; b < dims_; ++b) visit(Pair{a, b, row[a], row[b]});
  }
  size_t newly_covered(const Sizes& row) const {
    size_t count = 0;
    each_pair(row, [&](const Pair& pair) { count += missing_.contains(pair); });
    return count;
  }
  void cover(const Sizes& row) {
    each_pair(row, [&](const Pair& pair) { missing_.erase(pair); });
  }

  size_t dims_;
  Rng rng_;
  std::set<Pair> missing_;
};

}  // namespace

const std::vector<int64_t>& swept_sizes() {
  static const std::vector<int64_t> sizes = [] {
    std::vector<int64_t> out;
    for (int64_t size = 0; size <= 33; ++size) out.push_back(size);
    for (int64_t prime : {37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101}) out.push_back(prime);
    return out;
  }();
  return sizes;
}

std::vector<Sizes> shapes_of(const Family& family) {
  std::vector<Sizes> out;
  sweep_each_alone(family.sizes.size(), out);
  CoveringArray(family.sizes.size(), 1).fill(out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace polyweft::soak
