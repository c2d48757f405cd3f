#include "runner_regions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "support/huge_pages.h"

namespace polyweft::runner {
namespace {

constexpr size_t kGuard = size_t{32} << 20;  // addresses only; wide, because kernels step by rows
constexpr int kCollapse = 25;                // MADV_COLLAPSE, since Linux 6.1
constexpr unsigned char kCanary = 0xc7;

size_t rounded_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Where data begins, as the heap of a program that has made and freed some arrays gives them: the same number modulo a
// page, or modulo 64 KB in large pages, would put equal rows of all arguments into one set of the caches, and a
// schedule of eight rows would be judged by that (an IIR filter: 2.1 ms instead of 0.8). Shares of some 0.6 and 0.4 of
// 1024 lines and of the 64 lines of a page, so that few and many arguments are far from each other.
constexpr size_t kLine = 64, kLines = 1024;
constexpr size_t kSteps[] = {9 * 64 + 39, 9 * 64 + 25, 5 * 64 + 41, 6 * 64 + 23};

size_t shift_of(size_t number, size_t layout) {
  return number * kSteps[layout % std::size(kSteps)] % kLines * kLine;
}

// As NumPy's arrays have them. Shared memory gets none by advice alone where the system says `never` for it, as most
// do; put together page by page it does.
void ask_for_huge_pages(unsigned char* pages, size_t bytes) {
  const size_t whole = bytes / kHugePage * kHugePage;
  madvise(pages, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < whole; at += kHugePage)
    *static_cast<volatile unsigned char*>(pages + at) = 0;  // only what is mapped is put together
  madvise(pages, whole, kCollapse);
}

Error memory_error(const std::string& name, size_t bytes) {
  return fail("PW0609",
              "runner: cannot get " + std::to_string(bytes) + " bytes for " + name + ": " + std::strerror(errno));
}

bool all_canary(const unsigned char* from, const unsigned char* to) {
  return std::all_of(from, to, [](unsigned char byte) { return byte == kCanary; });
}

}  // namespace

Result<Region> Region::make(std::string name, size_t bytes, RegionUse use, size_t number) {
  Region region;
  region.name_ = std::move(name);
  region.use_ = use;
  region.bytes_ = bytes;
  region.number_ = number;
  region.shift_ = shift_of(number, 0);
  region.page_bytes_ = rounded_up(std::max<size_t>(bytes, 1), kPage) + (number > 0 ? kLines * kLine : 0) + 2 * kPage;
  region.reserved_bytes_ = 2 * kGuard + rounded_up(region.page_bytes_, kHugePage) + kHugePage;
  void* reserved = mmap(nullptr, region.reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return memory_error(region.name_, bytes);
  region.reserved_ = static_cast<unsigned char*>(reserved);
  region.fd_ = memfd_create("argument", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (region.fd_ < 0 || ftruncate(region.fd_, static_cast<off_t>(region.page_bytes_)) != 0)
    return memory_error(region.name_, bytes);
  auto* wanted = reinterpret_cast<unsigned char*>(rounded_up(reinterpret_cast<size_t>(reserved) + kGuard, kHugePage));
  void* pages = mmap(wanted, region.page_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, region.fd_, 0);
  if (pages == MAP_FAILED) return memory_error(region.name_, bytes);
  region.pages_ = static_cast<unsigned char*>(pages);
  if (bytes >= kWorthHugePages) ask_for_huge_pages(region.pages_, region.page_bytes_);
  if (use == RegionUse::input && fcntl(region.fd_, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return memory_error(region.name_ + " (sealing)", bytes);
  return region;
}

Region::Region(Region&& other) noexcept
    : name_(std::move(other.name_)),
      use_(other.use_),
      bytes_(other.bytes_),
      page_bytes_(other.page_bytes_),
      reserved_bytes_(other.reserved_bytes_),
      shift_(other.shift_),
      number_(other.number_),
      reserved_(std::exchange(other.reserved_, nullptr)),
      pages_(other.pages_),
      fd_(std::exchange(other.fd_, -1)) {}

Region::~Region() {
  if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
  if (fd_ >= 0) close(fd_);
}

void Region::lay_out(size_t layout) {
  shift_ = shift_of(number_, layout);
}

unsigned char* Region::data(Placement placement) const {
  if (placement == Placement::at_start) return pages_;
  return pages_ + (placement == Placement::at_end ? page_bytes_ - bytes_ : kPage + shift_);
}

void Region::set_canary(Placement placement) {
  const unsigned char* begin = data(placement);
  std::memset(pages_, kCanary, static_cast<size_t>(begin - pages_));
  std::memset(data(placement) + bytes_, kCanary, static_cast<size_t>(pages_ + page_bytes_ - (begin + bytes_)));
}

std::optional<const char*> Region::damaged_canary(Placement placement) const {
  const unsigned char* begin = data(placement);
  if (!all_canary(pages_, begin)) return "before";
  if (!all_canary(begin + bytes_, pages_ + page_bytes_)) return "behind";
  return std::nullopt;
}

Region::Zone Region::zone_of(uint64_t address) const {
  const auto pages = reinterpret_cast<uint64_t>(pages_), reserved = reinterpret_cast<uint64_t>(reserved_);
  if (address < reserved || address >= reserved + reserved_bytes_) return Zone::elsewhere;
  if (address < pages) return Zone::before;
  return address < pages + page_bytes_ ? Zone::pages : Zone::behind;
}

bool Region::seal_in_child() const {
  if (use_ == RegionUse::output) return true;
  return mmap(pages_, page_bytes_, PROT_READ, MAP_SHARED | MAP_FIXED, fd_, 0) != MAP_FAILED;
}

Result<PrivateBytes> PrivateBytes::make(size_t bytes) {
  PrivateBytes out;
  out.bytes_ = bytes;
  void* data = mmap(nullptr, std::max<size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return memory_error("reference data", bytes);
  out.data_ = static_cast<unsigned char*>(data);
  madvise(data, std::max<size_t>(bytes, 1), MADV_DONTFORK);
  return out;
}

PrivateBytes::PrivateBytes(PrivateBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
PrivateBytes& PrivateBytes::operator=(PrivateBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
PrivateBytes::~PrivateBytes() {
  if (data_ != nullptr) munmap(data_, std::max<size_t>(bytes_, 1));
}

}  // namespace polyweft::runner
