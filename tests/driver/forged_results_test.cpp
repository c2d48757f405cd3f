// Results that somebody made up: 200 files, each with one lie about times, races, nests, sizes or the machine, with
// digests that fit. Each is refused, or does no harm: what is served afterwards computes what plain loops do, is none
// of the slow or wrong nests, and has a time that a later search can beat.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>

#include "polyweft/tuner.h"
#include "support/rng.h"
#include "targets/batches/batch_race.h"

namespace polyweft {
namespace {

using targets::Batch;
using targets::BatchEvent;
using targets::BatchRace;
using targets::BatchResults;
using targets::BatchRole;
using targets::BatchRow;

constexpr const char* kProduct =
    "program product(M = 48, N = 64, K = 40)\nin A: f32[M, K]\nin B: f32[K, N]\n"
    "out C[i: M, j: N] = sum[k: K](A[i, k] * B[k, j])\n";

const double kNoTimes[] = {0, 5e-324, 1e-4, -1, 1e19, 1e308, std::numeric_limits<double>::infinity(), NAN};

/// A file of results and the work that they are of, before the lie.
struct Forgery {
  Batch batch;
  std::vector<BatchRow> rows;
  bool is_emulated = false;
};

/// What a lie is allowed to come to.
enum class Must : uint8_t { be_refused, do_no_harm };

struct Lie {
  const char* what;
  Must must;
  std::function<void(Forgery&, Rng&)> tell;
};

BatchRow& some_row(Forgery& f, Rng& rng) {
  std::vector<size_t> timed;
  for (size_t r = 0; r < f.rows.size(); ++r)
    if (f.rows[r].event != BatchEvent::started) timed.push_back(r);
  return f.rows[timed[rng.below(timed.size())]];
}

/// The candidate beats all that it meets, by so much.
void make_winner(Forgery& f, uint32_t winner, double ns) {
  for (BatchRow& row : f.rows) {
    Timing& timing = row.outcome.timing;
    const double factor = row.candidate == winner ? 0.1 : 10;
    if (row.candidate == winner) timing.median_ns = timing.min_ns = ns;
    if (timing.ratio > 0) timing.ratio = factor, timing.ratio_lo = 0.99 * factor, timing.ratio_hi = 1.01 * factor;
  }
}

uint32_t number_of(const Batch& batch, BatchRole role) {
  for (uint32_t k = 0; k < batch.candidates.size(); ++k)
    if (batch.candidates[k].role == role) return k;
  return 0;
}

/// Text of a nest that leaves the last step of its first loop over k out.
std::string without_a_step(const std::string& nest) {
  std::smatch at;
  if (!std::regex_search(nest, at, std::regex(R"((for k\S* in 0 \.\. )(\d+))"))) return "nest 1";
  return at.prefix().str() + at[1].str() + std::to_string(std::stoi(at[2].str()) - 1) + at.suffix().str();
}

void replace_nest(Forgery& f, uint32_t k, const std::string& text) {
  f.batch.candidates[k].nest_text = text;
  if (const auto nest = parse_loop_nest(text)) f.batch.candidates[k].nest_hash = hash(*nest);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

double no_time(Rng& rng) {
  return kNoTimes[rng.below(std::size(kNoTimes))];
}

const std::vector<Lie>& lies() {
  static const std::vector<Lie> kLies = {
      {"a median that is no time", Must::be_refused,
       [](Forgery& f, Rng& rng) { some_row(f, rng).outcome.timing.median_ns = no_time(rng); }},
      {"a minimum that is no time", Must::do_no_harm,
       [](Forgery& f, Rng& rng) { some_row(f, rng).outcome.timing.min_ns = no_time(rng); }},
      {"a sample that is no time", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         some_row(f, rng).outcome.timing.samples_ns.push_back(static_cast<float>(no_time(rng)));
       }},
      {"a ratio that is none", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         Timing& timing = some_row(f, rng).outcome.timing;
         double* const figures[] = {&timing.ratio, &timing.ratio_lo, &timing.ratio_hi};
         *figures[rng.below(3)] = no_time(rng);
       }},
      {"an effort of no time", Must::do_no_harm,
       [](Forgery& f, Rng& rng) { some_row(f, rng).seconds = 1e15 * no_time(rng); }},
      {"a prediction that is no time", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         f.batch.candidates[rng.below(f.batch.candidates.size())].predicted_ns = no_time(rng);
       }},
      {"the base nest as the winner", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         make_winner(f, number_of(f.batch, BatchRole::base), std::pow(10, -2 + static_cast<double>(rng.below(8))));
       }},
      {"a nest that leaves a step out", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         const auto k = static_cast<uint32_t>(rng.below(f.batch.candidates.size()));
         replace_nest(f, k, without_a_step(f.batch.candidates[k].nest_text));
         make_winner(f, k, 1);
       }},
      {"a nest of another class", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         const auto k = static_cast<uint32_t>(rng.below(f.batch.candidates.size()));
         replace_nest(f, k, replaced(f.batch.candidates[k].nest_text, "contract", "reassoc"));
         make_winner(f, k, 1);
       }},
      {"a text that is no nest", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         const auto k = static_cast<uint32_t>(rng.below(f.batch.candidates.size()));
         std::string text = f.batch.candidates[k].nest_text;
         text[rng.below(text.size())] = static_cast<char>(rng.below(256));
         replace_nest(f, k, text);
         make_winner(f, k, 1);
       }},
      {"a trace of nothing", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         f.batch.candidates[rng.below(f.batch.candidates.size())].trace = "trace 1\n  what\n";
       }},
      {"other sizes", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         f.batch.origin.parameters[rng.below(3)].second = static_cast<int64_t>(rng.below(100));
         make_winner(f, 0, 1);
       }},
      {"another program", Must::do_no_harm,
       [](Forgery& f, Rng&) {
         f.batch.origin.program_text = replaced(f.batch.origin.program_text, "A[i, k] * B", "A[i, k] + B");
         make_winner(f, 0, 1);
       }},
      {"a program that is refused", Must::be_refused,
       [](Forgery& f, Rng&) {
         f.batch.origin.program_text = replaced(f.batch.origin.program_text, "A[i, k]", "A[i, k + 1]");
       }},
      {"another class", Must::do_no_harm,
       [](Forgery& f, Rng&) {
         f.batch.origin.cls = NumericsClass::strict;
         make_winner(f, 0, 1);
       }},
      {"another machine", Must::be_refused, [](Forgery& f, Rng&) { f.batch.origin.fingerprint += "2"; }},
      {"an emulator's clock", Must::do_no_harm,
       [](Forgery& f, Rng&) {
         f.is_emulated = true;
         make_winner(f, number_of(f.batch, BatchRole::base), 0.01);
       }},
      {"another order of candidates", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         some_row(f, rng).candidate = static_cast<uint32_t>(rng.below(f.batch.candidates.size()));
       }},
      {"a candidate that failed", Must::do_no_harm,
       [](Forgery& f, Rng& rng) { some_row(f, rng).outcome.status = static_cast<RunStatus>(rng.below(17)); }},
      {"a row that is missing", Must::do_no_harm,
       [](Forgery& f, Rng& rng) {
         f.rows.erase(f.rows.begin() + static_cast<std::ptrdiff_t>(rng.below(f.rows.size())));
       }},
  };
  return kLies;
}

class ForgedResults : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-forged-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    program_ = *parse_program(kProduct);
    Tuner honest = tuner("honest.db");
    TuneOptions few;
    few.trials = 4;
    few.budget = TuneOptions::kNoLimit;
    auto found = honest.tune(program_, few);
    ASSERT_TRUE(found) << found.error().message;
    key_ = found->record.key;
    canonical_ = found->record.canonical_text;
    ASSERT_TRUE(honest.propose(program_, few, {.candidates = 4, .path = folder_ / "work"}));
    auto batch = targets::read_batch(folder_ / "work");
    ASSERT_TRUE(batch) << batch.error().message;
    batch_ = std::move(*batch);
    inputs_ = *honest.make_inputs(program_, {}, InputSet::integer_valued, 3);
    expect();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Tuner tuner(const std::string& database) const {
    TunerOptions options;
    options.database = folder_ / database;
    options.secret = folder_ / "secret";
    options.cache = folder_ / "answers.db";
    return Tuner(find_target("host").value(), options);
  }

  /// The product of small integers by plain loops: exact in any order.
  void expect() {
    const auto* a = reinterpret_cast<const float*>(inputs_[0].bytes.data());
    const auto* b = reinterpret_cast<const float*>(inputs_[1].bytes.data());
    expected_.assign(48 * 64, 0);
    for (size_t i = 0; i < 48; ++i)
      for (size_t k = 0; k < 40; ++k)
        for (size_t j = 0; j < 64; ++j) expected_[i * 64 + j] += a[i * 40 + k] * b[k * 64 + j];
  }

  /// What an honest runner would have written, in the order in which it measures.
  Forgery honest_results() const {
    Forgery out{batch_, {}};
    BatchRace race(batch_, false);
    while (const auto step = race.next()) {
      const auto ns = [&](uint32_t k) { return batch_.candidates[k].role == BatchRole::base ? 9e4 : 5e3 + 100 * k; };
      BatchRow row{step->event, step->candidate, step->beside, 0.1, 1'790'000'000, {}};
      row.outcome.status = RunStatus::ok;
      Timing& timing = row.outcome.timing;
      timing.median_ns = timing.min_ns = ns(step->candidate);
      timing.samples = 5;
      if (step->beside != BatchRow::kAlone) {
        timing.ratio = ns(step->candidate) / ns(step->beside);
        timing.ratio_lo = 0.99 * timing.ratio, timing.ratio_hi = 1.01 * timing.ratio;
      }
      race.tell(row);
      out.rows.push_back(std::move(row));
    }
    return out;
  }

  void write(const Forgery& f, const std::string& name) const {
    ASSERT_TRUE(targets::write_batch(folder_ / name, f.batch));
    BatchResults results{.batch = "", .device = "", .host = "elsewhere", .is_emulated = f.is_emulated, .rows = {}};
    const auto read = targets::read_batch(folder_ / name);
    results.batch = read ? read->id : "";
    std::ofstream out(targets::results_path(folder_ / name), std::ios::binary);
    out << targets::encode_results(results);
    for (const BatchRow& row : f.rows) out << targets::encode_row(row);
  }

  /// Empty: what is served now is right, and none of the slow ones.
  std::string harm(Tuner& tuner) const {
    auto database = tuner.database();
    auto best = (*database)->best(key_, canonical_);
    if (!best) return best.error().message;
    if (!*best) return "the record is gone";
    const Timing& timing = (*best)->measurement.timing;
    if (!(timing.median_ns >= 1e-3 && timing.median_ns <= 1e18)) return "a time that no clock tells is served";
    const auto& base = batch_.candidates[number_of(batch_, BatchRole::base)];
    if ((*best)->measurement.nest_hash == base.nest_hash) return "the slow base nest is served";
    const auto effort = (*database)->effort(key_);
    if (!effort || effort->wall_s > 1e6) return "no search goes on: the effort is for ever";
    auto kernel = tuner.compile(program_, {});
    if (!kernel) return kernel.error().message;
    auto outputs = kernel->run(inputs_);
    if (!outputs) return outputs.error().message;
    const auto* c = reinterpret_cast<const float*>(outputs->front().bytes.data());
    return std::equal(expected_.begin(), expected_.end(), c) ? "" : "a wrong product is served";
  }

  std::filesystem::path folder_;
  Program program_;
  TaskKey key_;
  std::string canonical_;
  Batch batch_;
  std::vector<TensorData> inputs_;
  std::vector<float> expected_;
};

TEST_F(ForgedResults, are_refused_or_do_no_harm) {
  constexpr uint64_t kFiles = 200;
  int refused = 0;
  for (uint64_t seed = 1; seed <= kFiles; ++seed) {
    Rng rng(seed);
    const Lie& lie = lies()[seed % lies().size()];
    SCOPED_TRACE(std::string(lie.what) + ", seed " + std::to_string(seed));
    Forgery forged = honest_results();
    lie.tell(forged, rng);
    write(forged, "forged");
    std::filesystem::copy_file(folder_ / "honest.db", folder_ / "a.db",
                               std::filesystem::copy_options::overwrite_existing);
    {
      Tuner keeper = tuner("a.db");
      const auto observed = keeper.observe(folder_ / "forged");
      refused += !observed;
      if (lie.must == Must::be_refused) EXPECT_FALSE(observed);
      if (!observed) EXPECT_FALSE(observed.error().code.empty());
      EXPECT_EQ(harm(keeper), "") << (observed ? "taken" : observed.error().message);
    }
    for (const char* rest : {"a.db", "a.db-wal", "a.db-shm"}) std::filesystem::remove(folder_ / rest);
  }
  EXPECT_GT(refused, static_cast<int>(kFiles) / 4);
}

TEST_F(ForgedResults, honest_ones_are_taken) {
  write(honest_results(), "work");
  Tuner fresh = tuner("fresh.db");
  const auto observed = fresh.observe(folder_ / "work");
  ASSERT_TRUE(observed) << observed.error().message;
  EXPECT_EQ(observed->measured, observed->candidates);
  EXPECT_EQ(observed->refuted, 0);
  ASSERT_TRUE(observed->record);
  EXPECT_EQ(observed->record->certificate.verdict, Verdict::proven);
}

TEST_F(ForgedResults, a_record_of_no_time_is_said_and_can_be_deleted) {
  Tuner keeper = tuner("honest.db");
  auto database = keeper.database();
  auto best = (*database)->best(key_, canonical_);
  ASSERT_TRUE(best && *best);
  TuningRecord record = **best;
  for (const double ns : kNoTimes) {
    record.measurement.timing.median_ns = ns;
    const auto stored = (*database)->insert(record);
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().code, "PW0728");
    Measurement row = record.measurement;
    if (ns != 0) EXPECT_FALSE((*database)->add_measurements(key_, canonical_, kProduct, {{"trace 1\n", row}}, {}));
  }
  for (const double seconds : {-1.0, 1e308, static_cast<double>(NAN)})
    EXPECT_FALSE((*database)->add_measurements(key_, canonical_, kProduct, {}, {.wall_s = seconds}));
  EXPECT_EQ(harm(keeper), "");
}

}  // namespace
}  // namespace polyweft
