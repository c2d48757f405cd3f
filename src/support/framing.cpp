#include "support/framing.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace polyweft {
namespace {

constexpr char kMagic[4] = {'P', 'W', 'F', '1'};

template <class T>
void put_integer(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(static_cast<unsigned char>(static_cast<uint64_t>(value) >> (8 * i)));
}

template <class T>
T integer_at(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return static_cast<T>(value);
}

enum class Fill { complete, closed_at_start, failed };

Fill fill(int fd, char* out, size_t bytes) {
  size_t have = 0;
  while (have < bytes) {
    const ssize_t n = ::read(fd, out + have, bytes - have);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 && have == 0) return Fill::closed_at_start;
    if (n <= 0) return Fill::failed;
    have += static_cast<size_t>(n);
  }
  return Fill::complete;
}

}  // namespace

std::string encode_frame(uint16_t type, std::string_view payload) {
  PW_CHECK(payload.size() <= kMaxFrameBytes);
  std::string out;
  out.reserve(kFrameHeaderBytes + payload.size());
  out.append(kMagic, sizeof kMagic);
  put_integer<uint16_t>(out, kFrameVersion);
  put_integer<uint16_t>(out, type);
  put_integer<uint32_t>(out, static_cast<uint32_t>(payload.size()));
  out += payload;
  return out;
}

Result<FrameHeader> decode_frame_header(std::string_view bytes) {
  PW_CHECK(bytes.size() >= kFrameHeaderBytes);
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return fail("PW0605", "message: does not begin with the mark of a frame");
  const auto version = integer_at<uint16_t>(bytes.substr(4));
  if (version != kFrameVersion)
    return fail("PW0605", "message: version " + std::to_string(version) + " is not version " +
                              std::to_string(kFrameVersion) + "; use programs of the same release");
  const FrameHeader header{integer_at<uint16_t>(bytes.substr(6)), integer_at<uint32_t>(bytes.substr(8))};
  if (header.payload_bytes > kMaxFrameBytes)
    return fail("PW0605", "message: " + std::to_string(header.payload_bytes) + " bytes are more than the limit of " +
                              std::to_string(kMaxFrameBytes));
  return header;
}

Result<Frame> read_frame(int fd) {
  char head[kFrameHeaderBytes];
  switch (fill(fd, head, sizeof head)) {
    case Fill::complete:
      break;
    case Fill::closed_at_start:
      return fail("PW0607", "message: the other side closed the stream");
    case Fill::failed:
      return fail("PW0605", "message: the stream ended inside a header");
  }
  auto header = decode_frame_header({head, sizeof head});
  if (!header) return header.error();
  Frame frame{header->type, std::string(header->payload_bytes, '\0')};
  if (header->payload_bytes > 0 && fill(fd, frame.payload.data(), frame.payload.size()) != Fill::complete)
    return fail("PW0605", "message: the stream ended inside a payload");
  return frame;
}

Status write_frame(int fd, uint16_t type, std::string_view payload) {
  if (payload.size() > kMaxFrameBytes)
    return fail("PW0605", "message: " + std::to_string(payload.size()) + " bytes are more than the limit of " +
                              std::to_string(kMaxFrameBytes));
  const std::string bytes = encode_frame(type, payload);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail("PW0605", std::string("message: cannot write: ") + std::strerror(errno));
    done += static_cast<size_t>(n);
  }
  return Ok{};
}

ByteWriter& ByteWriter::u8(uint8_t value) {
  bytes_ += static_cast<char>(value);
  return *this;
}
ByteWriter& ByteWriter::u32(uint32_t value) {
  put_integer(bytes_, value);
  return *this;
}
ByteWriter& ByteWriter::u64(uint64_t value) {
  put_integer(bytes_, value);
  return *this;
}
ByteWriter& ByteWriter::i64(int64_t value) {
  return u64(static_cast<uint64_t>(value));
}
ByteWriter& ByteWriter::f64(double value) {
  return u64(std::bit_cast<uint64_t>(value));
}
ByteWriter& ByteWriter::string(std::string_view value) {
  PW_CHECK(value.size() <= UINT32_MAX);
  u32(static_cast<uint32_t>(value.size()));
  bytes_ += value;
  return *this;
}

void ByteReader::mark_failed(const char* what) {
  if (failed_ == nullptr) failed_ = what;
  rest_ = {};
}

std::string_view ByteReader::take(size_t bytes) {
  static constexpr char kZeros[8] = {};
  if (rest_.size() < bytes) {
    mark_failed("is too short");
    return {kZeros, std::min<size_t>(bytes, sizeof kZeros)};
  }
  const std::string_view out = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return out;
}

uint8_t ByteReader::u8() {
  return integer_at<uint8_t>(take(1));
}
uint32_t ByteReader::u32() {
  return integer_at<uint32_t>(take(4));
}
uint64_t ByteReader::u64() {
  return integer_at<uint64_t>(take(8));
}
int64_t ByteReader::i64() {
  return static_cast<int64_t>(u64());
}
double ByteReader::f64() {
  return std::bit_cast<double>(u64());
}

std::string_view ByteReader::view() {
  const uint32_t length = u32();
  if (length > rest_.size()) {
    mark_failed("has a string longer than itself");
    return {};
  }
  return take(length);
}
std::string ByteReader::string() {
  return std::string(view());
}

uint64_t ByteReader::u64_in(uint64_t lo, uint64_t hi) {
  const uint64_t value = u64();
  if (!failed() && value >= lo && value <= hi) return value;
  mark_failed("has a number out of range");
  return lo;
}

int64_t ByteReader::i64_in(int64_t lo, int64_t hi) {
  const int64_t value = i64();
  if (!failed() && value >= lo && value <= hi) return value;
  mark_failed("has a number out of range");
  return lo;
}

uint32_t ByteReader::count(uint32_t bytes_each) {
  const uint32_t n = u32();
  if (static_cast<uint64_t>(n) * bytes_each <= rest_.size()) return n;
  mark_failed("counts more things than it holds");
  return 0;
}

Status ByteReader::finish() const {
  if (failed_ != nullptr) return fail("PW0605", std::string("message: the payload ") + failed_);
  if (!rest_.empty())
    return fail("PW0605", "message: " + std::to_string(rest_.size()) + " bytes are left over after the payload");
  return Ok{};
}

}  // namespace polyweft
