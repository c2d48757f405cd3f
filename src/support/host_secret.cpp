#include "support/host_secret.h"

#include <fcntl.h>
#include <sodium/core.h>
#include <sodium/randombytes.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

namespace polyweft {
namespace {

constexpr size_t kBytes = 32;

Error unusable(const std::string& path, const std::string& why) {
  return fail("PW0722", "secret of this host, " + path + ": " + why,
              {"every process proves the records that it serves again"});
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int operator*() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Nothing where there is no file. A link is not followed: it may lead to a file that somebody else knows.
Result<std::optional<std::string>> read_secret(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    return errno == ENOENT ? Result<std::optional<std::string>>(std::optional<std::string>())
                           : unusable(path, std::strerror(errno));
  struct stat info {};
  if (fstat(*file, &info) != 0) return unusable(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid()) return unusable(path, "no regular file of this user");
  if ((info.st_mode & 077) != 0) return unusable(path, "others may read or write it; its mode must be 0600");
  std::string bytes(kBytes + 1, '\0');
  const ssize_t count = ::read(*file, bytes.data(), bytes.size());
  if (count != static_cast<ssize_t>(kBytes))
    return unusable(path, "it does not hold " + std::to_string(kBytes) + " bytes");
  bytes.resize(kBytes);
  return std::optional(std::move(bytes));
}

void make_folders(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (folder.empty() || std::filesystem::exists(folder, ignored)) return;
  make_folders(folder.parent_path());
  ::mkdir(folder.c_str(), 0700);
}

// Written in whole under a name of its own, then linked: nobody ever reads half a secret, and the first of several
// makers wins.
Status make_secret(const std::string& path) {
  make_folders(std::filesystem::path(path).parent_path());
  std::string draft = path + ".XXXXXX";
  const OpenFile file(mkostemp(draft.data(), O_CLOEXEC));  // mode 0600
  if (!file) return unusable(path, std::strerror(errno));
  if (sodium_init() < 0) return unusable(path, "the system gives no random bytes");
  std::string bytes(kBytes, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  const bool is_written =
      ::write(*file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && ::fsync(*file) == 0;
  const bool is_there = is_written && (::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const std::string why = is_there ? "" : std::strerror(errno);
  ::unlink(draft.c_str());
  return is_there ? Status(Ok{}) : unusable(path, why);
}

}  // namespace

Result<std::string> host_secret(const std::string& path) {
  if (path.empty())
    return fail("PW0722", "no file for a secret of this host is known",
                {"every process proves the records that it serves again"});
  auto known = read_secret(path);
  if (!known) return known.error();
  if (*known) return std::move(**known);
  if (auto made = make_secret(path); !made) return made.error();
  auto read = read_secret(path);
  if (!read) return read.error();
  return *read ? Result<std::string>(std::move(**read)) : unusable(path, "it vanished");
}

}  // namespace polyweft
