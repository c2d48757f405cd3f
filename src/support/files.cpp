#include "support/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace polyweft {
namespace {

/// Empty for a regular file.
std::string kind_against(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "is a folder, not a file";
  if (S_ISFIFO(mode)) return "is a pipe, not a file";
  if (S_ISSOCK(mode)) return "is a socket, not a file";
  return "is a device, not a file";
}

Error cannot_be_read(const std::string& path, const std::string& code) {
  return fail(code, path + ": cannot be read", {"is the path right, and may you read it?"});
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

}  // namespace

// A device may act when it is opened, so that it is asked for its kind first; a link may lead elsewhere by then.
Result<RegularFile> RegularFile::open(const std::string& path, const std::string& code) {
  if (const std::string kind = why_no_file(path); !kind.empty()) return fail(code, path + ": " + kind);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info {};
  if (file < 0) return cannot_be_read(path, code);
  const bool is_known = ::fstat(file, &info) == 0;
  RegularFile out(file, path, code, static_cast<uint64_t>(std::max<off_t>(0, info.st_size)));
  if (!is_known) return cannot_be_read(path, code);
  if (const std::string kind = kind_against(info.st_mode); !kind.empty()) return fail(code, path + ": " + kind);
  return out;
}

RegularFile::RegularFile(int file, std::string path, std::string code, uint64_t bytes)
    : file_(file), path_(std::move(path)), code_(std::move(code)), bytes_(bytes) {}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      code_(std::move(other.code_)),
      bytes_(other.bytes_),
      taken_(other.taken_) {}

RegularFile::~RegularFile() {
  if (file_ >= 0) ::close(file_);
}

// Memory grows with what is there, never with what is asked for.
Result<std::string> RegularFile::next(uint64_t most) {
  constexpr uint64_t kLeast = 4096;
  const uint64_t expected = bytes_ > taken_ ? bytes_ - taken_ : 0;
  std::string out;
  out.resize(std::min(most, std::max(expected + 1, kLeast)));  // the end is seen behind the last byte
  size_t have = 0;
  while (have < most) {
    if (have == out.size()) out.resize(std::min<uint64_t>(most, 2 * have));
    const ssize_t got = ::read(file_, out.data() + have, out.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_be_read(path_, code_);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  out.resize(have);
  taken_ += have;
  return out;
}

Result<std::string> RegularFile::rest(uint64_t most_bytes) {
  const auto too_long = [&](const std::string& has) {
    return fail(code_, path_ + ": has " + has + ", the limit is " + std::to_string(most_bytes));
  };
  if (bytes_ > most_bytes) return too_long(std::to_string(bytes_) + " bytes");
  auto out = next(most_bytes - std::min(most_bytes, taken_) + 1);
  if (out && taken_ > most_bytes) return too_long("more bytes than it seemed");
  return out;
}

Result<std::string> read_regular_file(const std::string& path, uint64_t most_bytes, const std::string& code) {
  auto file = RegularFile::open(path, code);
  return file ? file->rest(most_bytes) : file.error();
}

bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

std::string why_no_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? kind_against(info.st_mode) : std::string();
}

std::string why_no_kept_file(const std::string& path) {
  std::string kind = why_no_file(path);
  struct statfs system {};
  if (!kind.empty() || ::statfs(path.c_str(), &system) != 0) return kind;
  for (const auto made_up : {PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, CGROUP2_SUPER_MAGIC})
    if (static_cast<uint64_t>(system.f_type) == static_cast<uint64_t>(made_up))
      return "is made up by the kernel and keeps nothing";
  return kind;
}

bool write_whole_file(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (file < 0) return false;
  // Behind open there is nothing to wait for but a reader that is slow.
  const bool is_written = ::fcntl(file, F_SETFL, 0) == 0 && write_all(file, bytes);
  const int problem = errno;
  const bool is_closed = ::close(file) == 0;
  if (!is_written) errno = problem;
  return is_written && is_closed;
}

}  // namespace polyweft
