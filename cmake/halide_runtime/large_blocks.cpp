// Halide's own malloc and free with one thing more: large blocks are advised to lie in pages of 2 MB, as NumPy's arrays
// are. A stencil that keeps planes there meets a table of addresses 512 times as small, and a call of new pages a first
// touch of 18 of them instead of 9,000. Part of the runtime's object (CMakeLists.txt); weak as all of it.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" {

int halide_malloc_alignment();

[[gnu::visibility("default")]] void* halide_default_malloc(void*, size_t bytes) {
  constexpr size_t kPage = 4096, kWorthHugePages = size_t{4} << 20;  // support/huge_pages.h
  const size_t alignment = static_cast<size_t>(halide_malloc_alignment());
  void* block = bytes > SIZE_MAX - alignment ? nullptr : std::malloc(bytes + alignment);
  if (!block) return nullptr;
  const size_t start = (reinterpret_cast<size_t>(block) + alignment) & ~(alignment - 1);
  if (bytes >= kWorthHugePages) {
    const size_t first = (start + kPage - 1) & ~(kPage - 1), end = (start + bytes) & ~(kPage - 1);
    madvise(reinterpret_cast<void*>(first), end - first,
            MADV_HUGEPAGE);  // advice: where it is not taken the pages are small
  }
  void** aligned = reinterpret_cast<void**>(start);
  aligned[-1] = block;
  return aligned;
}

[[gnu::visibility("default")]] void halide_default_free(void*, void* aligned) {
  if (aligned) std::free(static_cast<void**>(aligned)[-1]);
}

}  // extern "C"
