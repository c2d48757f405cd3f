// Memory for the arguments of kernels: pages shared between the supervisor, which fills and compares, and the
// candidate's process, between two stretches of addresses that may not be touched.
//
//   | guard | slack |  data  | slack | guard |      at_start: data begins at the first page; at_end: data ends with the
//   last page; inside: a page and more on either side,
//                                                 and each region's data apart from the others' modulo what a way of a
//                                                 cache holds
//
// So an access one element outside faults at one side in one placement and at the other side in the other; what falls
// into the slack of the slack is found by its canary. Inputs are sealed: the candidate's process sees them through a
// mapping that cannot be made writable.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "polyweft/result.h"
#include "runner_control.h"

namespace polyweft::runner {

enum class RegionUse : uint8_t { input, output };

class Region {
 public:
  /// `number`: which of a kernel's arguments it is.
  static Result<Region> make(std::string name, size_t bytes, RegionUse use, size_t number = 0);
  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  const std::string& name() const { return name_; }
  RegionUse use() const { return use_; }
  size_t bytes() const { return bytes_; }
  unsigned char* data(Placement placement) const;
  /// Where `inside` is: layouts differ in how far arguments begin from each other.
  void lay_out(size_t layout);
  size_t shift() const { return shift_; }

  /// Fills the slack with the canary.
  void set_canary(Placement placement);
  /// "before" or "behind" where the slack was written to.
  std::optional<const char*> damaged_canary(Placement placement) const;

  enum class Zone : uint8_t { elsewhere, before, pages, behind };
  Zone zone_of(uint64_t address) const;

  /// In the candidate's process: inputs become unwritable.
  bool seal_in_child() const;

 private:
  Region() = default;
  std::string name_;
  RegionUse use_ = RegionUse::input;
  size_t bytes_ = 0, page_bytes_ = 0, reserved_bytes_ = 0, shift_ = 0, number_ = 0;
  unsigned char* reserved_ = nullptr;
  unsigned char* pages_ = nullptr;
  int fd_ = -1;
};

/// Plain memory of the supervisor that its children do not get to see: pristine inputs, reference outputs, bounds.
class PrivateBytes {
 public:
  PrivateBytes() = default;
  static Result<PrivateBytes> make(size_t bytes);
  PrivateBytes(PrivateBytes&& other) noexcept;
  PrivateBytes& operator=(PrivateBytes&& other) noexcept;
  ~PrivateBytes();
  unsigned char* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace polyweft::runner
