#include "random/recurrences.h"

#include <vector>

namespace polyweft::random_test {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words, const char* between) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::string shifted(const std::string& index, int64_t by) {
  return by == 0 ? index : index + (by > 0 ? " + " : " - ") + std::to_string(by > 0 ? by : -by);
}

class Recurrence {
 public:
  explicit Recurrence(Rng& rng) : rng_(rng) {}

  std::string text() {
    choose_space();
    choose_order();
    std::string out = "program r(" + joined(sizes_, ", ") + ")\nin X: " + type_ + "[" + joined(extents_, ", ") + "]\n";
    tensors_ = static_cast<int>(rng_.between(1, rank_ == 4 ? 2 : 3));
    for (int t = 0; t < tensors_; ++t) out += equations_of(t);
    return out + results();
  }

 private:
  void choose_space() {
    type_ = rng_.chance(0.5) ? "i32" : "f64";
    rank_ = static_cast<size_t>(rng_.chance(0.15) ? 4 : rng_.between(1, 3));
    is_triangle_ = rank_ >= 2 && rng_.chance(0.3);
    const char* names[] = {"i", "j", "k", "l"};
    const int64_t largest[] = {14, 9, 6, 4};
    for (size_t d = 0; d < rank_; ++d) {
      indices_.push_back(names[d]);
      const bool shares = d > 0 && (rng_.chance(0.3) || (is_triangle_ && d == 1));
      extents_.push_back(shares ? extents_[0] : std::string(1, "NMKL"[d]));
      if (!shares) sizes_.push_back(extents_[d] + " = " + std::to_string(rng_.between(1, largest[rank_ - 1])));
    }
  }

  /// `weights_` . p grows along the order. One dimension alone: then only its step counts, and reads may go anywhere in
  /// the others.
  void choose_order() {
    weights_.assign(rank_, 0);
    lead_ = rng_.below(rank_);
    along_one_ = rank_ == 1 || rng_.chance(0.5);
    if (along_one_) {
      weights_[lead_] = rng_.chance(0.7) ? 1 : -1;
    } else {
      for (auto& w : weights_) w = rng_.between(-1, 3);
      weights_[lead_] = rng_.between(1, 3);
    }
  }

  std::string number() {
    return type_ == "i32" ? std::to_string(rng_.between(-3, 5)) : std::to_string(rng_.between(-8, 8)) + ".0";
  }

  std::string slot(size_t d) const {
    return indices_[d] + ": " + (is_triangle_ && d == 1 ? "0.." + indices_[0] + " + 1" : extents_[d]);
  }

  /// The conditions under which an element at these places exists.
  Words inside(const Words& places) const {
    Words out;
    for (size_t d = 0; d < rank_; ++d) {
      const std::string upper = is_triangle_ && d == 1 ? "<= " + places[0] : "< " + extents_[d];
      out.push_back("0 <= " + places[d] + " and " + places[d] + " " + upper);
    }
    return out;
  }

  std::string guarded(const std::string& tensor, const Words& places, Words guards) {
    for (auto& g : inside(places)) guards.push_back(std::move(g));
    return "(" + tensor + "[" + joined(places, ", ") + "] where " + joined(guards, " and ") + " else " + number() + ")";
  }

  std::string earlier(const std::string& tensor) {
    std::vector<int64_t> steps(rank_);
    int64_t along = 0;
    for (size_t d = 0; d < rank_; ++d) along += weights_[d] * (steps[d] = rng_.between(-3, 3));
    for (; along >= 0; along -= weights_[lead_] * weights_[lead_]) steps[lead_] -= weights_[lead_];
    Words places;
    for (size_t d = 0; d < rank_; ++d) places.push_back(shifted(indices_[d], steps[d]));
    return guarded(tensor, places, {});
  }

  /// Along one dimension, forward: half the way, the beginning, a distance that a remainder makes; the other places are
  /// free.
  std::string non_uniform(const std::string& tensor) {
    if (!along_one_ || weights_[lead_] != 1) return earlier(tensor);
    Words places = indices_;
    for (size_t d = 0; d < rank_; ++d)
      if (d != lead_ && rng_.chance(0.4))
        places[d] = rng_.chance(0.5) ? extents_[d] + " - 1 - " + indices_[d]
                                     : "(" + indices_[d] + " + " + indices_[lead_] + ") % " + extents_bound();
    const std::string& i = indices_[lead_];
    const std::string other = indices_[rng_.below(rank_)];
    const std::string ways[] = {i + " // 2", "0", i + " - 1 - " + other + " % 3",
                                i + " - " + std::to_string(rng_.between(1, 3))};
    places[lead_] = ways[rng_.below(4)];
    return guarded(tensor, places, {i + " >= 1"});
  }
  std::string extents_bound() { return std::to_string(rng_.between(2, 4)); }

  /// A reduction over what is done along the leading dimension.
  std::string reduction(const std::string& tensor) {
    if (!along_one_) return earlier(tensor);
    Words places = indices_;
    const std::string& i = indices_[lead_];
    places[lead_] = "q";
    const char* reducers[] = {"sum", "max", "min", "sum"};
    const std::string range = weights_[lead_] == 1 ? "0.." + i : i + " + 1.." + extents_[lead_];
    Words where = inside(places);
    if (rng_.chance(0.3)) where.push_back("(q + " + i + ") % 2 == 0");
    const std::string reducer = reducers[rng_.below(4)];
    const std::string sum = "(" + reducer + "[q: " + range + " where " + joined(where, " and ") + "] " + tensor + "[" +
                            joined(places, ", ") + "])";
    return reducer == "sum"
               ? sum
               : "clamp(" + sum + ", -9" + dot() + ", 9" + dot() + ")";  // an empty one is the least number
  }
  std::string dot() const { return type_ == "i32" ? "" : ".0"; }

  std::string condition() {
    const std::string &a = indices_[rng_.below(rank_)], &b = indices_[rng_.below(rank_)];
    const std::string ways[] = {"(" + a + " + " + b + ") % 3 == 1",
                                a + " // 2 < " + b + " + 1",
                                a + " != " + std::to_string(rng_.between(0, 4)),
                                a + " < 2 or " + b + " >= 3",
                                "not (" + a + " == " + b + ")",
                                "2 * " + a + " - " + b + " >= 1"};
    return ways[rng_.below(6)];
  }

  std::string term(int self) {
    const int other = static_cast<int>(rng_.below(static_cast<uint64_t>(tensors_)));
    const std::string tensor = "A" + std::to_string(other);
    if (other < self && rng_.chance(0.4))
      return tensor + "[" + joined(indices_, ", ") + "]";  // of the same point, defined before
    std::string read = rng_.chance(0.2) ? reduction(tensor) : rng_.chance(0.3) ? non_uniform(tensor) : earlier(tensor);
    if (rng_.chance(0.25)) read = "(" + read + " where " + condition() + " else " + number() + ")";
    return read;
  }

  std::string value(int self) {
    std::string out = "X[" + joined(indices_, ", ") + "]";
    for (int64_t k = rng_.between(1, 3); k > 0; --k) {
      const std::string next = term(self);
      const bool is_max = rng_.chance(0.25);
      out = is_max           ? "max(" + out + ", " + next + ")"
            : type_ == "f64" ? "(" + out + " + 0.25 * " + next + ")"
                             : "(" + out + (rng_.chance(0.5) ? " + " : " - ") + next + ")";
    }
    return out;
  }

  /// One equation, or two that share the space: even and odd, below and above a plane.
  std::string equations_of(int t) {
    Words slots;
    for (size_t d = 0; d < rank_; ++d) slots.push_back(slot(d));
    const std::string head = "let A" + std::to_string(t) + "[" + joined(slots, ", ") + "]: " + type_;
    const std::string& i = indices_[rng_.below(rank_)];
    const std::string halves[][2] = {{i + " % 2 == 0", i + " % 2 == 1"},
                                     {i + " < 2", i + " >= 2"},
                                     {indices_[0] + " + " + i + " <= 4", indices_[0] + " + " + i + " > 4"}};
    if (!rng_.chance(0.35)) return head + " = " + value(t) + "\n";
    const auto& half = halves[rng_.below(3)];
    return head + " where " + half[0] + " = " + value(t) + "\n" + head + " where " + half[1] + " = " + value(t) + "\n";
  }

  /// The whole of the last tensor, or of the first one what is last along a dimension: its storage may be folded.
  std::string results() {
    const std::string last = "A" + std::to_string(tensors_ - 1);
    Words slots, places = indices_;
    for (size_t d = 0; d < rank_; ++d) slots.push_back(indices_[d] + ": " + extents_[d]);
    if (!is_triangle_ && rng_.chance(0.5)) {
      slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(lead_));
      places[lead_] = weights_[lead_] > 0 ? extents_[lead_] + " - 1" : "0";
    }
    const std::string read = last + "[" + joined(places, ", ") + "]";
    return "out Y" + (slots.empty() ? "" : "[" + joined(slots, ", ") + "]") + " = " + read +
           (is_triangle_ ? " where j <= i else 0" : "") + "\n";
  }

  Rng& rng_;
  std::string type_;
  size_t rank_ = 1, lead_ = 0;
  bool is_triangle_ = false, along_one_ = true;
  int tensors_ = 1;
  Words indices_, extents_, sizes_;
  std::vector<int64_t> weights_;
};

}  // namespace

std::string random_recurrence(Rng& rng) {
  return Recurrence(rng).text();
}

}  // namespace polyweft::random_test
