// A soak is made of parts, a part of units that run in any order and many or few of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace polyweft::soak {

class Part {
 public:
  virtual ~Part() = default;
  virtual std::string name() const = 0;
  virtual int64_t units() const = 0;
  /// Unit `k` of this seed's order; counts and prints failures, each with a line that runs it again.
  virtual void run(int64_t k) = 0;
  /// Figures so far, one line.
  virtual std::string figures() const = 0;
  /// What a later process needs to go on after these units; one line.
  virtual std::string saved() const { return ""; }
  virtual void restore(const std::string& line) { (void)line; }
  /// Runs one unit that a failure named; false: not a name of this part.
  virtual bool rerun(const std::string& what) = 0;
  int64_t failures() const { return failures_; }

 protected:
  /// Prints what went wrong and the line that shows it again.
  void failed(const std::string& what, const std::string& rerun_argument);

 private:
  int64_t failures_ = 0;
};

std::unique_ptr<Part> shapes_part(uint64_t seed, int vectors, int compiled);
std::unique_ptr<Part> mutants_part(uint64_t seed);
std::unique_ptr<Part> pairs_part(uint64_t seed);
std::unique_ptr<Part> math_part(uint64_t seed);
std::unique_ptr<Part> rows_part(uint64_t seed);

}  // namespace polyweft::soak
