// Work for a runner that nobody asks: candidates of a task with all that it takes to compare and time them, in a file.
// polyweft-runner --batch measures them on a machine without compilers, and what it found goes into a file beside it,
// row by row. Free of LLVM: runners have it too.
//
// A file is a row of frames (support/framing.h). Work ends with a digest of all before it; each row of results has its
// own, so that a file whose last row was cut off by a crash is whole up to there.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "polyweft/records.h"
#include "polyweft/runner.h"

namespace polyweft::targets {

/// Why a candidate is there. Frozen on disk: append only.
enum class BatchRole : uint8_t {
  candidate = 0,
  first_choice = 1,  ///< what is served untuned: a winner must beat it wherever their arguments lie
  served = 2,        ///< of the record that is served now: the same
  base = 3           ///< the untuned base nest
};
struct BatchCandidate {
  std::string nest_hash, nest_text, trace, strategy;
  double predicted_ns = 0;  ///< by the cost model; for machines that an emulator plays what is expected of the code
  BatchRole role = BatchRole::candidate;
  LoadableKernel kernel = {};  ///< without bytes where no code is made of it
  std::string problem = {};    ///< why
};

/// The task as whoever proposed knows it.
struct BatchOrigin {
  std::string program_name, program_text;  ///< text that parses to the program alone
  std::vector<std::pair<std::string, int64_t>> parameters;
  NumericsClass cls = NumericsClass::reassoc;
  int threads = 1;
  std::string target, fingerprint;  ///< name and Target's fingerprint()
  uint64_t seed = 1;
  std::string toolchain;
};
struct Batch {
  BatchOrigin origin;
  std::string build;            ///< support/build_identity.h of whoever made it
  std::string device, machine;  ///< RunnerOptions::device, and what its modules are made for; empty: the CPU
  bool is_emulated = false;     ///< the target's machine is one that is played
  RunnerTask task;
  std::vector<BatchCandidate> candidates;
  std::string id = {};  ///< 32 hex digits over the file; set by read_batch()
};
/// PW0614 where the file cannot be written.
Status write_batch(const std::string& path, const Batch& batch);
/// PW0614 where it cannot be read, is none, or is damaged.
Result<Batch> read_batch(const std::string& path);

/// What happened. Frozen on disk: append only.
enum class BatchEvent : uint8_t {
  started = 0,  ///< nothing yet: two of these in a row without an outcome are a candidate that ends the machine
  trial = 1,    ///< compared and timed, beside the best so far where there is one
  again = 2,    ///< who won meets the best again, in another layout
  race = 3      ///< the winner beside what it is to replace
};
struct BatchRow {
  static constexpr uint32_t kAlone = std::numeric_limits<uint32_t>::max();
  BatchEvent event = BatchEvent::started;
  uint32_t candidate = 0, beside = kAlone;
  double seconds = 0;  ///< it took
  int64_t unix_time = 0;
  RunOutcome outcome = {};
};
struct BatchResults {
  std::string batch;   ///< Batch::id
  std::string device;  ///< what it calls itself, with its driver; empty: the CPU
  std::string host;
  bool is_emulated = false;  ///< times are an emulator's and do not count
  std::vector<BatchRow> rows;
  size_t whole_bytes = 0;  ///< of the file, up to its last whole row
};
/// Of the results of work at `path`.
std::string results_path(const std::string& path);
/// Before the first row.
std::string encode_results(const BatchResults& results);
std::string encode_row(const BatchRow& row);
/// Of the file's bytes. PW0615 where they are none of this batch's or damaged before their last row.
Result<BatchResults> decode_results(const std::string& name, std::string_view bytes, const Batch& batch);
/// Nothing where there is no such file.
Result<std::optional<BatchResults>> read_results(const std::string& name, const Batch& batch);

}  // namespace polyweft::targets
