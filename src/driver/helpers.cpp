#include "driver/helpers.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

namespace polyweft {
namespace {

namespace fs = std::filesystem;

// The build tree keeps the helpers in src/tools beside src/cli; an installed tree in libexec.
std::vector<fs::path> places_near(const fs::path& binary) {
  const fs::path folder = binary.parent_path();
  return {folder, folder / "../libexec/polyweft", folder / "../../libexec/polyweft", folder / "../tools", folder / "../src/tools", folder / "../../src/tools"};
}

fs::path this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&places_near), &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  return fs::weakly_canonical(info.dli_fname, ignored);
}

fs::path this_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

}  // namespace

std::string helper_path(const std::string& directory, const std::string& name) {
  if (!directory.empty()) return (fs::path(directory) / name).string();
  for (const auto& binary : {this_library(), this_program()}) {
    if (binary.empty()) continue;
    for (const auto& place : places_near(binary))
      if (access((place / name).c_str(), X_OK) == 0) return (place / name).lexically_normal().string();
  }
  return name;
}

}  // namespace polyweft
