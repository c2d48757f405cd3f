// The shape sweep: every family at every shape, decision vectors of all its sketches through evaluator, interpreter,
// tags and checker, some of them as machine code behind guard pages.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <sstream>

#include "ir/nests/instruction.h"
#include "lang/parser.h"
#include "machines.h"
#include "random/pairs.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "soak/families.h"
#include "soak/part.h"
#include "support/rng.h"

namespace polyweft::soak {
namespace {

using random_test::Expected;
using random_test::Judgement;
using random_test::Outcome;
using random_test::Pair;

/// Caches of the size of these shapes, so that sketches pack and block; narrow vectors; two threads.
const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = [] {
    std::vector<Machine> out = {test::machine_with(64, 32, {48 << 10, 2 << 20, 16 << 20}),
                                test::machine_with(64, 32, {1 << 10, 8 << 10, 64 << 10}, 2),
                                test::machine_with(32, 16, {1 << 10, 4 << 10, 32 << 10})};
    auto host = find_target("host");
    if (host) out[0].units.instructions = out[1].units.instructions = host->machine.units.instructions;
    return out;
  }();
  return all;
}

struct Unit {
  size_t family = 0;
  NumericsClass cls = NumericsClass::reassoc;
  Sizes sizes;
};

/// All that one decision vector of one sketch at one shape needs; its text is the argument of --rerun.
struct Vector {
  Unit unit;
  uint64_t data = 1;
  bool whole = true;
  size_t machine = 0, sketch = 0;
  std::vector<int64_t> decisions;
};

class Shapes : public Part {
 public:
  Shapes(uint64_t seed, int vectors, int compiled)
      : seed_(seed), vectors_(vectors), compiled_(compiled), families_(families()) {
    for (size_t f = 0; f < families_.size(); ++f)
      for (NumericsClass cls : families_[f].classes)
        for (Sizes& sizes : shapes_of(families_[f])) units_.push_back({f, cls, std::move(sizes)});
    Rng rng(seed);
    std::shuffle(units_.begin(), units_.end(), rng);
  }

  std::string name() const override { return "shapes"; }
  int64_t units() const override { return static_cast<int64_t>(units_.size()); }

  void run(int64_t k) override {
    const Unit& unit = units_[static_cast<size_t>(k)];
    Rng rng(seed_ * 1'000'003 + static_cast<uint64_t>(k));
    Vector vector{unit, rng.below(1000) + 1, families_[unit.family].whole && rng.chance(0.5), 0, 0, {}};
    auto expected = expectation(vector);
    if (!expected) return;
    ++shapes_;
    std::set<std::string> seen;
    int compiled = 0, judged = 0;
    std::vector<std::vector<Trace>> traces;
    for (const auto& machine : machines()) traces.push_back(schedules::sketches(expected->program, unit.cls, machine));
    for (int tries = 0; tries < 3 * vectors_ && judged < vectors_; ++tries) {
      vector.machine = rng.below(traces.size());
      vector.sketch = rng.below(traces[vector.machine].size());
      const Trace& trace = traces[vector.machine][vector.sketch];
      vector.decisions = drawn(trace, rng);
      const std::string hash = hash_of(*expected, unit.cls, trace, vector.decisions);
      if (hash.empty() || !seen.insert(hash).second) continue;
      ++judged;
      judge(vector, trace, *expected, compiled++ < compiled_);
    }
  }

  bool rerun(const std::string& text) override {
    auto vector = parsed(text);
    if (!vector) return false;
    auto expected = expectation(*vector);
    if (!expected) return true;
    std::vector<Trace> traces =
        schedules::sketches(expected->program, vector->unit.cls, machines().at(vector->machine));
    judge(*vector, traces.at(vector->sketch), *expected, true);
    return true;
  }

  std::string figures() const override {
    std::ostringstream out;
    out << families_.size() << " families, " << shapes_ << " of " << units_.size() << " shapes, " << no_program_
        << " refused by the language, " << agreed_ << " vectors agree, " << proven_ << " proven, " << undecided_
        << " not decided, " << compiled_total_ << " compiled and run, " << refused_ << " do not fit, " << failures()
        << " mismatches";
    return out.str();
  }
  std::string saved() const override {
    std::ostringstream out;
    out << shapes_ << " " << no_program_ << " " << agreed_ << " " << proven_ << " " << undecided_ << " "
        << compiled_total_ << " " << refused_;
    return out.str();
  }
  void restore(const std::string& line) override {
    std::istringstream in(line);
    in >> shapes_ >> no_program_ >> agreed_ >> proven_ >> undecided_ >> compiled_total_ >> refused_;
  }

 private:
  Pair pair_of(const Vector& vector) const {
    const Family& family = families_[vector.unit.family];
    auto file = lang::parse(soak::text_of(family, vector.unit.sizes), family.name);
    if (!file) throw std::runtime_error(family.name + ": " + file.error().message);
    Pair pair{file->programs.front(), Trace{}};
    pair.cls = vector.unit.cls;
    pair.whole_numbers = vector.whole;
    pair.data_seed = vector.data;
    return pair;
  }

  std::shared_ptr<const Expected> expectation(const Vector& vector) {
    Judgement why;
    auto expected = random_test::expected_of(pair_of(vector), why);
    no_program_ += why.outcome == Outcome::no_program;
    const bool has_no_elements =
        std::find(vector.unit.sizes.begin(), vector.unit.sizes.end(), 0) != vector.unit.sizes.end();
    if (!expected && why.outcome == Outcome::disagreement && !has_no_elements)
      failed(why.kind + ": " + why.message, text_of(vector));
    if (!expected && why.outcome == Outcome::disagreement && has_no_elements)
      ++no_program_;  // a division by an extent, an arg-reduction of nothing
    return expected;
  }

  /// A value out of each decision's candidates; now and then any small number, since every size must be right.
  static std::vector<int64_t> drawn(const Trace& trace, Rng& rng) {
    std::vector<int64_t> out;
    for (const Decision& decision : trace.decisions) {
      const bool any = rng.chance(0.15);
      out.push_back(any                           ? static_cast<int64_t>(rng.below(40)) + 1
                    : decision.candidates.empty() ? decision.value
                                                  : decision.candidates[rng.below(decision.candidates.size())]);
    }
    return out;
  }

  static std::string hash_of(const Expected& expected, NumericsClass cls, const Trace& trace,
                             const std::vector<int64_t>& decisions) {
    auto made = schedules::replay(expected.program, cls, trace);
    if (!made) return "?";  // the judge says why
    auto nest = instantiate(*made, decisions);
    return nest ? hash(*nest) : "";
  }

  void judge(const Vector& vector, const Trace& trace, const Expected& expected, bool run_code) {
    Pair pair = pair_of(vector);
    pair.trace = with_values(trace, vector.decisions);
    pair.threads = machines()[vector.machine].cores();
    pair.ask_checker = true;
    pair.run_code = run_code;
    const Judgement judgement = random_test::judge(pair, expected);
    agreed_ += judgement.outcome == Outcome::agreed;
    refused_ += judgement.outcome == Outcome::refused;
    undecided_ += judgement.not_decided;
    proven_ += judgement.asked_checker && !judgement.not_decided && judgement.outcome == Outcome::agreed;
    compiled_total_ += run_code && judgement.outcome == Outcome::agreed;
    if (judgement.not_decided)
      std::printf("not decided: %s: %s\n", text_of(vector).c_str(), judgement.undecided_why.c_str());
    if (judgement.outcome == Outcome::disagreement)
      failed(judgement.kind + ": " + judgement.message + "\n" + pair.trace.text(), text_of(vector));
  }

  std::string text_of(const Vector& vector) const {
    std::string out = soak::name_of(families_[vector.unit.family], vector.unit.sizes) + ":" + name_of(vector.unit.cls) +
                      ":" + std::to_string(vector.data) + ":" + (vector.whole ? "whole" : "random") + ":" +
                      std::to_string(vector.machine) + ":" + std::to_string(vector.sketch) + ":";
    for (int64_t decision : vector.decisions) out += std::to_string(decision) + ",";
    return out;
  }

  std::optional<Vector> parsed(const std::string& text) const {
    std::vector<std::string> fields;
    std::istringstream in(text);
    for (std::string field; std::getline(in, field, ':');) fields.push_back(field);
    if (fields.size() < 7) return std::nullopt;
    Vector out;
    auto family =
        std::find_if(families_.begin(), families_.end(), [&](const Family& f) { return f.name == fields[0]; });
    auto cls = numerics_class_named(fields[2]);
    if (family == families_.end() || !cls) return std::nullopt;
    out.unit.family = static_cast<size_t>(family - families_.begin());
    out.unit.cls = *cls;
    std::istringstream sizes(fields[1]);
    for (std::string size; std::getline(sizes, size, ',');)
      out.unit.sizes.push_back(std::stoll(size.substr(size.find('=') + 1)));
    out.data = std::stoull(fields[3]);
    out.whole = fields[4] == "whole";
    out.machine = std::stoul(fields[5]);
    out.sketch = std::stoul(fields[6]);
    std::istringstream decisions(fields.size() > 7 ? fields[7] : "");
    for (std::string value; std::getline(decisions, value, ',');) out.decisions.push_back(std::stoll(value));
    return out;
  }

  uint64_t seed_;
  int vectors_, compiled_;
  std::vector<Family> families_;
  std::vector<Unit> units_;
  int64_t shapes_ = 0, no_program_ = 0, agreed_ = 0, proven_ = 0, undecided_ = 0, compiled_total_ = 0, refused_ = 0;
};

}  // namespace

std::unique_ptr<Part> shapes_part(uint64_t seed, int vectors, int compiled) {
  return std::make_unique<Shapes>(seed, vectors, compiled);
}

}  // namespace polyweft::soak
