// The one way to read a file that somebody names, and to write one: what it is and how long it is are known before a
// byte is read, so that no pipe makes us wait and no device fills the memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "polyweft/result.h"

namespace polyweft {

/// Settings and descriptions of machines.
inline constexpr uint64_t kMostSettingsBytes = uint64_t{64} << 10;
/// Programs and traces. Above the language's own limit, whose message is the better one.
inline constexpr uint64_t kMostTextBytes = uint64_t{16} << 20;

/// A file that is open for reading, from its beginning to its end.
class RegularFile {
 public:
  /// Follows links. Refused with `code` at once: what is no regular file, is not there or may not be read. The message
  /// begins with the path.
  static Result<RegularFile> open(const std::string& path, const std::string& code);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  /// As the system had it at open: those of /proc hide theirs.
  uint64_t bytes() const { return bytes_; }
  /// The next `most` bytes, fewer at the end.
  Result<std::string> next(uint64_t most);
  /// What is left where the whole file has at most `most_bytes`, else a refusal, before anything is read where the
  /// system knows the length.
  Result<std::string> rest(uint64_t most_bytes);

 private:
  RegularFile(int file, std::string path, std::string code, uint64_t bytes);

  int file_;
  std::string path_, code_;
  uint64_t bytes_, taken_ = 0;
};

/// All of a regular file: open() and rest().
Result<std::string> read_regular_file(const std::string& path, uint64_t most_bytes, const std::string& code);

/// Is there something under this name? A link that leads nowhere counts.
bool is_there(const std::string& path);
/// Why what lies under this name is no regular file: "is a folder, not a file"; empty where it is one, or nothing.
std::string why_no_file(const std::string& path);

/// The same for a file that something is kept in: what the kernel makes up under /proc and /sys is none, and its reads
/// may wait for ever.
std::string why_no_kept_file(const std::string& path);

/// Replaces what the file holds. A pipe is written where somebody reads it. False with errno set.
bool write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace polyweft
