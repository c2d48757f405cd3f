#include "driver/trust.h"

#include <bit>
#include <cmath>

#include "support/hash.h"
#include "support/host_secret.h"

namespace polyweft {
namespace {

/// Fields one after the other, each with its length, so that no two records give one text.
class Statement {
 public:
  Statement& text(const std::string& field) {
    integer(static_cast<int64_t>(field.size()));
    out_ += field;
    return *this;
  }
  Statement& integer(int64_t field) {
    for (int shift = 0; shift < 64; shift += 8)
      out_ += static_cast<char>((static_cast<uint64_t>(field) >> shift) & 0xff);
    return *this;
  }
  Statement& real(double field) { return integer(std::bit_cast<int64_t>(field)); }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// All that a record serves, its number and its key: two rows cannot change places either.
std::string statement_of(const TuningRecord& r) {
  Statement out;
  out.text("polyweft record 1").integer(r.id).text(r.key.program).integer(static_cast<int64_t>(r.key.binding.size()));
  for (int64_t value : r.key.binding) out.integer(value);
  out.integer(static_cast<int>(r.key.cls)).text(r.key.target).integer(r.key.abi).integer(r.key.threads);
  out.text(r.canonical_text)
      .text(r.program_text)
      .text(r.program_name)
      .text(r.trace_text)
      .text(r.nest_text)
      .text(r.origin);
  out.integer(static_cast<int>(r.certificate.verdict))
      .integer(r.certificate.checker_version)
      .text(r.certificate.isl_version)
      .real(r.certificate.check_ms);
  const Measurement& m = r.measurement;
  out.text(m.nest_hash)
      .integer(static_cast<int>(m.status))
      .text(m.detail)
      .real(m.timing.median_ns)
      .real(m.timing.min_ns)
      .real(m.timing.ci_rel);
  out.integer(m.timing.samples)
      .real(m.timing.ratio)
      .real(m.predicted_ns)
      .text(m.strategy)
      .integer(static_cast<int64_t>(m.seed))
      .text(m.toolchain)
      .integer(m.unix_time);
  return out.bytes();
}

std::string digest_of(const TuningRecord& record) {
  return hex(blake2b_256(statement_of(record)));
}

std::string digest_bytes(const Digest256& digest, size_t count) {
  return std::string(reinterpret_cast<const char*>(digest.bytes.data()), count);
}

std::string name_of_record(const TuningRecord& record) {
  return "record #" + std::to_string(record.id);
}

Error refuted(const TuningRecord& record, const std::string& why) {
  return fail("PW0720", name_of_record(record) + " is not served, its nest is not proven but refuted: " + why,
              {"it was changed, or comes from elsewhere; remove it: polyweft db delete " + std::to_string(record.id)});
}

Error unprovable(const TuningRecord& record, const std::string& why) {
  return fail("PW0721", name_of_record(record) + " is not served, its nest could not be proven on this host: " + why,
              {"search again: polyweft tune --refresh, or remove it: polyweft db delete " + std::to_string(record.id)});
}

// A limit of isl, or its end, says nothing about the nest; a helper that cannot be started is no fault of the record's.
Error as_refusal(const TuningRecord& record, const Error& error) {
  if (error.code == "PW0606") return error;
  const std::string why = error.code + ": " + error.message;
  return error.code.rfind("PW04", 0) == 0 ? refuted(record, why) : unprovable(record, why);
}

}  // namespace

const char* name_of(Standing standing) {
  switch (standing) {
    case Standing::unknown:
      return "unknown";
    case Standing::attested:
      return "attested";
    case Standing::altered:
      return "altered";
  }
  return "unknown";
}

Result<std::string> Trust::secret() {
  if (!secret_) secret_ = host_secret(options_.secret);
  return *secret_;
}

// The host's name is its secret's, not the machine's: what a shared file tells of hosts is that they differ.
Result<Attestation> Trust::attestation_of(const TuningRecord& record, int checker_version) {
  auto key = secret();
  if (!key) return key.error();
  const std::string statement =
      Statement().text("polyweft attestation 1").integer(checker_version).text(statement_of(record)).bytes();
  return Attestation{digest_bytes(blake2b_256_keyed(*key, "polyweft host 1"), 16), checker_version,
                     digest_bytes(blake2b_256_keyed(*key, statement), 32)};
}

Standing Trust::standing(const TuningRecord& record) {
  auto database = stored_.existing();
  if (!database || !*database || record.id <= 0) return Standing::unknown;
  auto wanted = attestation_of(record, options_.checker_version);
  if (!wanted) return Standing::unknown;
  auto found = (*database)->attestation(record.id, wanted->host);
  if (!found || !*found) return Standing::unknown;
  if (**found == *wanted) return Standing::attested;
  const auto older = attestation_of(record, (*found)->checker_version);
  return older && *older == **found ? Standing::unknown : Standing::altered;
}

std::string Trust::attest(const TuningRecord& record) {
  auto database = stored_.existing();
  if (!database) return database.error().message;
  if (!*database || record.id <= 0) return "it is not stored";
  auto made = attestation_of(record, options_.checker_version);
  if (!made) return made.error().message;
  auto done = (*database)->attest(record.id, *made);
  return done ? "" : done.error().message;
}

// The stored row may repeat another text of the same program, which was there first: what is attested is what will be
// read.
void Trust::vouch(const TuningRecord& proven) {
  proven_.insert(digest_of(proven));
  auto database = stored_.existing();
  if (proven.id <= 0 || !database || !*database) return;
  auto stored = (*database)->record(proven.id);
  if (!stored || !*stored) return;
  const TuningRecord& record = **stored;
  if (record.key != proven.key || record.canonical_text != proven.canonical_text ||
      record.nest_text != proven.nest_text)
    return;
  proven_.insert(digest_of(record));
  if (const std::string why = attest(record); !why.empty())
    say(name_of_record(record) + " is proven, and will be again by every process: " + why);
}

Result<Certificate> Trust::prove(const Task& task, const TuningRecord& record) {
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return as_refusal(record, nest.error());
  std::string why;
  auto certificate = isl_.prove(task, print(*nest), &why);
  if (!certificate) return as_refusal(record, certificate.error());
  if (certificate->verdict == Verdict::refuted) return refuted(record, why);
  if (certificate->verdict != Verdict::proven) return unprovable(record, why);
  return certificate;
}

Result<LoopNest> Trust::nest_of(const Task& task, const TuningRecord& record) {
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return as_refusal(record, nest.error());
  const Standing found = standing(record);
  if (found == Standing::attested || proven_.contains(digest_of(record))) return nest;
  auto certificate = prove(task, record);
  if (!certificate) return certificate.error();
  proven_.insert(digest_of(record));
  // An attestation that does not fit is kept: `db verify` reports it, which it could not if the row were signed as it
  // stands now.
  const std::string why_not = found == Standing::altered
                                  ? "the row was changed after this host had proven it; see: polyweft db verify"
                                  : attest(record);
  const std::string proven =
      name_of_record(record) + " was proven again in " + std::to_string(std::lround(certificate->check_ms)) + " ms";
  say(why_not.empty() ? proven + " and attested: this host had not proven it"
                      : proven + ", and will be by every process: " + why_not);
  return nest;
}

Result<std::optional<Served>> Trust::served(const Task& task, std::optional<TuningRecord> record) {
  if (!record) return std::optional<Served>();
  auto nest = nest_of(task, *record);
  if (nest) return std::optional(Served{std::move(*record), std::move(nest).value()});
  if (nest.error().code != "PW0721") return nest.error();
  say(nest.error().message);
  return std::optional<Served>();
}

Result<std::optional<Served>> Trust::best(const Task& task) {
  auto record = stored_.best(task);
  if (!record) return record.error();
  return served(task, std::move(*record));
}

Result<std::optional<Served>> Trust::best_or_expected(const Task& task) {
  auto found = stored_.best_of_devices(task);
  if (!found) return found.error();
  auto measured = served(task, std::move(*found));
  if (!measured || *measured) return measured;
  auto record = stored_.expected(task);
  if (!record) return record.error();
  return served(task, std::move(*record));
}

}  // namespace polyweft
