// Memory for arguments as a caller's arrays have them: on cache lines, in pages of 2 MB where it is 4 MB and more (as
// NumPy's), zeros.
#pragma once

#include <cstddef>
#include <memory>

namespace polyweft {

/// `bytes` of zeros that begin on a page of 4 KB; of 4 MB and more on one of 2 MB, and in such pages where the system
/// gives them by advice.
class LargeArray {
 public:
  LargeArray() = default;
  explicit LargeArray(size_t bytes);
  unsigned char* data() const { return pages_.get(); }

 private:
  struct Unmap {
    void* reserved;
    size_t bytes;
    void operator()(unsigned char*) const;
  };
  std::unique_ptr<unsigned char, Unmap> pages_;
};

}  // namespace polyweft
