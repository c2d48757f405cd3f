// Names of the emitted C: unique where they are visible, never a keyword of C or a name of the library.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace polyweft::targets::c {

/// A C identifier made of a name of the nest: what C does not allow becomes '_'.
std::string identifier(const std::string& name);

class Names {
 public:
  Names();
  /// Nobody else gets this name.
  void reserve(const std::string& name) { taken_.insert(name); }
  /// The wanted name, or one with a number behind it while somebody has that; taken until it is closed.
  std::string open(const std::string& wanted);
  void close(const std::string& name) { taken_.erase(name); }

 private:
  std::set<std::string> taken_;
};

}  // namespace polyweft::targets::c
