#include "support/large_array.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "support/huge_pages.h"

namespace polyweft {

LargeArray::LargeArray(size_t bytes) {
  const bool is_large = bytes >= kWorthHugePages;
  const size_t reserved_bytes = (bytes / kPage + 1) * kPage + (is_large ? kHugePage : 0);
  void* reserved = mmap(nullptr, reserved_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) throw std::bad_alloc();
  auto* pages = static_cast<unsigned char*>(reserved);
  if (is_large) {
    pages += (kHugePage - reinterpret_cast<uintptr_t>(pages) % kHugePage) % kHugePage;
    madvise(pages, bytes, MADV_HUGEPAGE);  // advice: where it is not taken the pages are small
  }
  pages_ = {pages, Unmap{reserved, reserved_bytes}};
}

void LargeArray::Unmap::operator()(unsigned char*) const {
  munmap(reserved, bytes);
}

}  // namespace polyweft
