// Messages between processes: a fixed header, then the payload. Bytes from the other side are never believed: every
// length and every integer is range-checked, and a reader that failed once only yields zeros.
//
//   offset  size  field (little-endian)
//        0     4  magic "PWF1"
//        4     2  version of the protocol, kFrameVersion
//        6     2  type: meaning defined by the protocol
//        8     4  payload length, <= kMaxFrameBytes
//       12     .  payload
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "polyweft/result.h"

namespace polyweft {

inline constexpr uint32_t kMaxFrameBytes = 64u << 20;
inline constexpr uint16_t kFrameVersion = 1;
inline constexpr size_t kFrameHeaderBytes = 12;

/// Frozen: append only. Types from 100 on belong to the protocols.
enum class FrameType : uint16_t {
  request = 1,
  response = 2,
  forbidden_call = 3,  ///< last words of a sandboxed child: i64 system call number
};

struct Frame {
  uint16_t type = 0;
  std::string payload;
  bool operator==(const Frame&) const = default;
};
struct FrameHeader {
  uint16_t type = 0;
  uint32_t payload_bytes = 0;
};

/// Header and payload in one string. The payload must be <= kMaxFrameBytes.
std::string encode_frame(uint16_t type, std::string_view payload);
/// Checks magic, version and length; `bytes` must hold kFrameHeaderBytes. PW0605.
Result<FrameHeader> decode_frame_header(std::string_view bytes);

/// Blocking read and write on a file descriptor, for the child's side. Restart after interruptions and partial
/// transfers. A clean end of the stream before the first byte is the error PW0607 "closed"; anything else malformed is
/// PW0605.
Result<Frame> read_frame(int fd);
Status write_frame(int fd, uint16_t type, std::string_view payload);

/// Builds a payload. Integers little-endian, strings with a u32 length in front.
class ByteWriter {
 public:
  ByteWriter& u8(uint8_t value);
  ByteWriter& u32(uint32_t value);
  ByteWriter& u64(uint64_t value);
  ByteWriter& i64(int64_t value);
  ByteWriter& f64(double value);
  ByteWriter& string(std::string_view value);
  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Takes a payload apart. After the first failure every read yields zero or empty; ask finish() once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  uint8_t u8();
  uint32_t u32();
  uint64_t u64();
  int64_t i64();
  double f64();
  std::string string();
  std::string_view view();  ///< as string(), but looks into the payload
  /// An integer that must lie in [lo, hi]; else the reader fails and yields lo.
  uint64_t u64_in(uint64_t lo, uint64_t hi);
  int64_t i64_in(int64_t lo, int64_t hi);
  /// A count of things of at least `bytes_each` bytes: cannot exceed what is left, so no allocation follows a lie.
  uint32_t count(uint32_t bytes_each);

  void mark_failed(const char* what);
  bool failed() const { return failed_ != nullptr; }
  /// Ok if nothing failed and nothing is left; PW0605 otherwise.
  Status finish() const;

 private:
  std::string_view take(size_t bytes);
  std::string_view rest_;
  const char* failed_ = nullptr;
};

}  // namespace polyweft
