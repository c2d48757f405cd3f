// Loads of the current straight-line stretch, by place. A load is known by its offset, its shape and its mask, until a
// store may have met it and until control flow parts or joins.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "targets/common/memory/place.h"
#include "targets/common/values/value_part.h"

namespace polyweft::targets {

class KnownLoads : ValuePart {
 public:
  struct Span {
    BufferId buffer = 0;
    Affine offset;  ///< elements, over the lane
    unsigned width = 1;
  };
  /// A value that memory held when it was loaded.
  struct Known {
    llvm::Value* value = nullptr;
    std::optional<Span> at = std::nullopt;  ///< none: any store may change it
  };
  using All = std::map<std::string, Known>;

  explicit KnownLoads(const Values& values) : ValuePart(values) {}

  llvm::Value* value(const std::string& key) const;  ///< null: not known
  bool contains(const std::string& key) const { return loads_.contains(key); }
  void note(const std::string& key, Known known) { loads_[key] = std::move(known); }
  void erase(const std::string& key) { loads_.erase(key); }
  void clear() { loads_.clear(); }
  const All& all() const { return loads_; }
  void restore(All loads) { loads_ = std::move(loads); }
  /// After a store. Different buffers share no memory, but for those within others.
  void forget_loads(BufferId stored, const Place& place);

 private:
  bool are_apart(const Span& a, const Span& b) const;

  All loads_;
};

}  // namespace polyweft::targets
