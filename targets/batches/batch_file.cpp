#include "targets/batches/batch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ir/values/measured_times.h"
#include "support/files.h"
#include "support/framing.h"
#include "targets/workers/runner_protocol.h"

namespace polyweft::targets {
namespace {

/// Types of frames. Frozen: append only.
enum class BatchFrame : uint16_t { work = 300, candidate = 301, end = 302, results = 310, row = 311 };

constexpr uint32_t kBatchVersion = 1;
constexpr size_t kMostCandidates = 100'000, kMostParameters = 1'000;
constexpr size_t kDigestBytes = 8;
constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;
constexpr double kMostRowSeconds = 2 * 86'400;  // a trial has a deadline of a day

/// CRC-64 of ECMA-182, the most significant bit first. It is against accidents: what a file says is proven or measured
/// by whoever reads it, and runners for other machines have no library of digests.
uint64_t crc64(std::string_view bytes) {
  static const auto table = [] {
    constexpr uint64_t kPolynomial = 0x42F0E1EBA9EA3693;
    std::array<uint64_t, 256> out{};
    for (uint64_t byte = 0; byte < out.size(); ++byte) {
      uint64_t rest = byte << 56;
      for (int bit = 0; bit < 8; ++bit) rest = (rest << 1) ^ (rest >> 63 ? kPolynomial : 0);
      out[byte] = rest;
    }
    return out;
  }();
  uint64_t crc = ~uint64_t{0};
  for (const char c : bytes) crc = (crc << 8) ^ table[(crc >> 56) ^ static_cast<unsigned char>(c)];
  return crc;
}

std::string digest_of(std::string_view bytes) {
  return ByteWriter().u64(crc64(bytes)).bytes();
}

/// Of a file: digest and length.
std::string name_of_bytes(std::string_view bytes) {
  char out[33];
  std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(crc64(bytes)),
                static_cast<unsigned long long>(bytes.size()));
  return out;
}

std::string frame_of(BatchFrame type, std::string_view payload) {
  return encode_frame(static_cast<uint16_t>(type), payload);
}

std::string encode_work(const Batch& batch) {
  const BatchOrigin& origin = batch.origin;
  ByteWriter out;
  out.u32(kBatchVersion).string(batch.build).string(batch.device).string(batch.machine).u8(batch.is_emulated);
  out.string(origin.program_name).string(origin.program_text).u32(static_cast<uint32_t>(origin.parameters.size()));
  for (const auto& [name, value] : origin.parameters) out.string(name).i64(value);
  out.u8(static_cast<uint8_t>(origin.cls)).i64(origin.threads).string(origin.target).string(origin.fingerprint);
  out.u64(origin.seed).string(origin.toolchain).string(encode(batch.task));
  out.u32(static_cast<uint32_t>(batch.candidates.size()));
  return std::move(out).bytes();
}

/// Gives the number of candidates.
Result<uint32_t> decode_work(std::string_view payload, Batch& batch) {
  BatchOrigin& origin = batch.origin;
  ByteReader in(payload);
  if (in.u32() != kBatchVersion) in.mark_failed("is of another version");
  batch.build = in.string();
  batch.device = in.string();
  batch.machine = in.string();
  batch.is_emulated = in.u8() != 0;
  origin.program_name = in.string();
  origin.program_text = in.string();
  const uint32_t parameters = in.count(sizeof(uint32_t) + sizeof(int64_t));
  if (parameters > kMostParameters) in.mark_failed("has too many parameters");
  for (uint32_t p = 0; p < parameters && !in.failed(); ++p) {
    std::string name = in.string();
    origin.parameters.emplace_back(std::move(name), in.i64());
  }
  origin.cls = static_cast<NumericsClass>(in.u8());
  origin.threads = static_cast<int>(in.i64_in(1, kMaxThreads));
  origin.target = in.string();
  origin.fingerprint = in.string();
  origin.seed = in.u64();
  origin.toolchain = in.string();
  auto task = decode_task(in.view());
  const uint32_t candidates = in.u32();
  if (candidates > kMostCandidates) in.mark_failed("has too many candidates");
  if (Status whole = in.finish(); !whole) return whole.error();
  if (origin.cls > NumericsClass::reassoc) return fail("PW0605", "message: has an unknown numerics class");
  if (!task) return task.error();
  batch.task = std::move(*task);
  return candidates;
}

std::string encode_candidate(const BatchCandidate& candidate) {
  ByteWriter out;
  out.string(candidate.nest_hash).string(candidate.nest_text).string(candidate.trace).string(candidate.strategy);
  out.f64(candidate.predicted_ns).u8(static_cast<uint8_t>(candidate.role));
  out.string(encode(candidate.kernel)).string(candidate.problem);
  return std::move(out).bytes();
}

Result<BatchCandidate> decode_candidate(std::string_view payload) {
  ByteReader in(payload);
  BatchCandidate out;
  out.nest_hash = in.string();
  out.nest_text = in.string();
  out.trace = in.string();
  out.strategy = in.string();
  out.predicted_ns = in.f64();
  if (!(out.predicted_ns >= 0)) in.mark_failed("is predicted a time that is none");
  const uint8_t role = in.u8();
  if (role > static_cast<uint8_t>(BatchRole::base)) in.mark_failed("has an unknown role");
  out.role = static_cast<BatchRole>(role);
  auto kernel = decode_kernel(in.view());
  out.problem = in.string();
  if (Status whole = in.finish(); !whole) return whole.error();
  if (!kernel) return kernel.error();
  out.kernel = std::move(*kernel);
  return out;
}

Error no_work(const std::string& path, const std::string& why) {
  return fail("PW0614", "work file " + path + ": " + why, {"polyweft tune FILE --propose N -o WORK makes one"});
}

/// What stands behind the path that a message begins with: "is a folder, not a file".
std::string reason(const Error& error, const std::string& path) {
  return error.message.substr(path.size() + 2);
}

/// Of a file whose first frame is of this type; nothing more is read of another one.
Result<std::string> file_that_begins(const std::string& path, BatchFrame type) {
  auto file = RegularFile::open(path, "PW0614");
  if (!file) return file.error();
  const auto begin = file->next(kFrameHeaderBytes);
  if (!begin) return begin.error();
  const auto header =
      begin->size() == kFrameHeaderBytes ? decode_frame_header(*begin) : Result<FrameHeader>(fail("PW0605", "cut off"));
  if (!header || header->type != static_cast<uint16_t>(type)) return *begin;
  const auto others = file->rest(kMostFileBytes);
  return others ? Result<std::string>(*begin + *others) : others.error();
}

/// The frame that `rest` begins with, which moves behind it. Nothing where it is cut off.
Result<std::optional<Frame>> next_frame(std::string_view& rest) {
  if (rest.size() < kFrameHeaderBytes) return std::optional<Frame>();
  const auto header = decode_frame_header(rest.substr(0, kFrameHeaderBytes));
  if (!header) return header.error();
  if (rest.size() - kFrameHeaderBytes < header->payload_bytes) return std::optional<Frame>();
  Frame out{header->type, std::string(rest.substr(kFrameHeaderBytes, header->payload_bytes))};
  rest.remove_prefix(kFrameHeaderBytes + header->payload_bytes);
  return std::optional(std::move(out));
}

bool is_of(const Frame& frame, BatchFrame type) {
  return frame.type == static_cast<uint16_t>(type);
}

}  // namespace

Status write_batch(const std::string& path, const Batch& batch) {
  std::string bytes = frame_of(BatchFrame::work, encode_work(batch));
  for (const BatchCandidate& candidate : batch.candidates) {
    const std::string payload = encode_candidate(candidate);
    if (payload.size() > kMaxFrameBytes)
      return no_work(path, "a candidate's code takes " + std::to_string(payload.size()) + " bytes");
    bytes += frame_of(BatchFrame::candidate, payload);
  }
  bytes += frame_of(BatchFrame::end, digest_of(bytes));
  if (bytes.size() > kMostFileBytes)
    return no_work(path, "it would have " + std::to_string(bytes.size()) + " bytes, the limit is " +
                             std::to_string(kMostFileBytes));
  const std::string draft = path + ".part";
  unlink(draft.c_str());
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return no_work(path, std::string("it cannot be written: ") + std::strerror(errno));
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t wrote = write(fd, bytes.data() + at, bytes.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    at += static_cast<size_t>(wrote);
  }
  const bool is_whole = at == bytes.size() && fsync(fd) == 0;
  const int problem = errno;
  close(fd);
  if (is_whole && std::rename(draft.c_str(), path.c_str()) == 0) return Ok{};
  unlink(draft.c_str());
  return no_work(path, std::string("it cannot be written: ") + std::strerror(is_whole ? errno : problem));
}

Result<Batch> read_batch(const std::string& path) {
  const auto bytes = file_that_begins(path, BatchFrame::work);
  if (!bytes) return no_work(path, "it " + reason(bytes.error(), path));
  std::string_view rest = *bytes;
  const auto damaged = [&](const std::string& what) { return no_work(path, what); };
  const auto first = next_frame(rest);
  if (!first || !*first || !is_of(**first, BatchFrame::work)) return damaged("it is no work for a runner");
  Batch batch;
  const auto candidates = decode_work((*first)->payload, batch);
  if (!candidates) return damaged("it is damaged, or of another version: " + candidates.error().message);
  for (uint32_t k = 0; k < *candidates; ++k) {
    const auto frame = next_frame(rest);
    if (!frame || !*frame || !is_of(**frame, BatchFrame::candidate))
      return damaged("it ends or is damaged at candidate " + std::to_string(k) + " of " + std::to_string(*candidates));
    auto candidate = decode_candidate((*frame)->payload);
    if (!candidate) return damaged("candidate " + std::to_string(k) + " is damaged: " + candidate.error().message);
    batch.candidates.push_back(std::move(*candidate));
  }
  const std::string_view before(bytes->data(), bytes->size() - rest.size());
  const auto end = next_frame(rest);
  if (!end || !*end || !is_of(**end, BatchFrame::end) || !rest.empty()) return damaged("its end is missing or damaged");
  if ((*end)->payload != digest_of(before)) return damaged("it is damaged: its digest is another one");
  batch.id = name_of_bytes(*bytes);
  return batch;
}

std::string results_path(const std::string& path) {
  return path + ".results";
}

std::string encode_results(const BatchResults& results) {
  ByteWriter out;
  out.u32(kBatchVersion).string(results.batch).string(results.device).string(results.host).u8(results.is_emulated);
  return frame_of(BatchFrame::results, out.bytes() + digest_of(out.bytes()));
}

std::string encode_row(const BatchRow& row) {
  ByteWriter out;
  out.u8(static_cast<uint8_t>(row.event)).u32(row.candidate).u32(row.beside).f64(row.seconds).i64(row.unix_time);
  out.string(encode(row.outcome));
  return frame_of(BatchFrame::row, out.bytes() + digest_of(out.bytes()));
}

namespace {

/// What the digest behind it is of; nothing where it is of something else.
std::optional<std::string_view> checked(std::string_view payload) {
  if (payload.size() < kDigestBytes) return std::nullopt;
  const std::string_view body = payload.substr(0, payload.size() - kDigestBytes);
  return digest_of(body) == payload.substr(body.size()) ? std::optional(body) : std::nullopt;
}

Result<BatchRow> decode_row(std::string_view payload, const Batch& batch) {
  ByteReader in(payload);
  BatchRow out;
  const uint8_t event = in.u8();
  if (event > static_cast<uint8_t>(BatchEvent::race)) in.mark_failed("has an unknown event");
  out.event = static_cast<BatchEvent>(event);
  out.candidate = in.u32();
  out.beside = in.u32();
  const size_t count = batch.candidates.size();
  if (out.candidate >= count || (out.beside >= count && out.beside != BatchRow::kAlone))
    in.mark_failed("is of no candidate");
  out.seconds = in.f64();
  if (!(out.seconds >= 0 && out.seconds <= kMostRowSeconds)) in.mark_failed("took a time that is none");
  out.unix_time = in.i64();
  auto outcome = decode_outcome(in.view());
  if (Status whole = in.finish(); !whole) return whole.error();
  if (!outcome) return outcome.error();
  out.outcome = std::move(*outcome);
  const bool is_timed = out.event != BatchEvent::started && out.outcome.status == RunStatus::ok;
  if (const std::string found = is_timed ? impossible_median(out.outcome.timing) : ""; !found.empty())
    return fail("PW0615", "it has " + found + ", which no clock tells");
  return out;
}

}  // namespace

Result<BatchResults> decode_results(const std::string& name, std::string_view bytes, const Batch& batch) {
  const auto refused = [&](const std::string& why) {
    return fail("PW0615", "results " + name + ": " + why, {"move the file away, and --batch measures from the start"});
  };
  std::string_view rest = bytes;
  BatchResults out;
  const auto first = next_frame(rest);
  const auto head = first && *first && is_of(**first, BatchFrame::results) ? checked((*first)->payload) : std::nullopt;
  if (!head) return refused("they are none, or damaged at their beginning");
  ByteReader in(*head);
  if (in.u32() != kBatchVersion) in.mark_failed("are of another version");
  out.batch = in.string();
  out.device = in.string();
  out.host = in.string();
  out.is_emulated = in.u8() != 0;
  if (Status whole = in.finish(); !whole) return refused(whole.error().message);
  if (out.batch != batch.id) return refused("they are of other work, " + out.batch + "; this is " + batch.id);
  out.whole_bytes = bytes.size() - rest.size();
  while (!rest.empty()) {
    const auto damaged = [&](const Error& why) {
      return refused("row " + std::to_string(out.rows.size()) + ", at byte " + std::to_string(out.whole_bytes) +
                     ", is damaged: " + why.message);
    };
    const auto frame = next_frame(rest);
    if (!frame) return damaged(frame.error());
    if (!*frame) break;
    const auto body = is_of(**frame, BatchFrame::row) ? checked((*frame)->payload) : std::nullopt;
    auto row = body ? decode_row(*body, batch) : Result<BatchRow>(fail("PW0615", "its digest is another one"));
    if (!row) return damaged(row.error());
    out.rows.push_back(std::move(*row));
    out.whole_bytes = bytes.size() - rest.size();
  }
  return out;
}

Result<std::optional<BatchResults>> read_results(const std::string& name, const Batch& batch) {
  if (!is_there(name)) return std::optional<BatchResults>();
  const auto bytes = file_that_begins(name, BatchFrame::results);
  if (!bytes) return fail("PW0615", "results " + name + ": the file " + reason(bytes.error(), name));
  if (bytes->empty()) return std::optional<BatchResults>();
  auto out = decode_results(name, *bytes, batch);
  if (!out) return out.error();
  return std::optional(std::move(*out));
}

}  // namespace polyweft::targets
