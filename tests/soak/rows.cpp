// Rows with recomputed digests (tests/driver/row_attack.h), thousands of them.
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "driver/row_attack.h"
#include "soak/part.h"
#include "support/rng.h"

namespace polyweft::soak {
namespace {

class Rows : public Part {
 public:
  explicit Rows(uint64_t seed) : seed_(seed) {}
  ~Rows() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string name() const override { return "rows"; }
  int64_t units() const override { return 5000; }

  void run(int64_t k) override { attack(seed_ * 100'000 + static_cast<uint64_t>(k)); }
  bool rerun(const std::string& what) override {
    attack(std::strtoull(what.c_str(), nullptr, 10));
    return true;
  }
  std::string figures() const override {
    std::ostringstream out;
    out << rows_ << " rows changed, " << failures() << " findings";
    if (attack_)
      for (const auto& [outcome, count] : attack_->outcomes()) out << "; " << outcome << " " << count;
    return out.str();
  }
  std::string saved() const override { return std::to_string(rows_); }
  void restore(const std::string& line) override { rows_ = std::atoll(line.c_str()); }

 private:
  // Half of the changes are of nests: there the wrong values are.
  void attack(uint64_t seed) {
    if (!attack_) {
      std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-rows-XXXXXX").string();
      if (!mkdtemp(pattern.data())) return failed("no folder for a database", std::to_string(seed));
      folder_ = pattern;
      attack_ = std::make_unique<test::RowAttack>(folder_);
    }
    const auto& columns = test::RowAttack::columns();
    Rng rng(seed);
    const std::string& column = rng.chance(0.5) ? columns.front() : columns[rng.below(columns.size())];
    ++rows_;
    if (const std::string wrong = attack_->run(column, seed); !wrong.empty()) failed(wrong, std::to_string(seed));
  }

  uint64_t seed_;
  int64_t rows_ = 0;
  std::string folder_;
  std::unique_ptr<test::RowAttack> attack_;
};

}  // namespace

std::unique_ptr<Part> rows_part(uint64_t seed) {
  return std::make_unique<Rows>(seed);
}

}  // namespace polyweft::soak
