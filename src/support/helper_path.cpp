#include "support/helper_path.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace polyweft {
namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string resolved(const char* path) {
  char buffer[PATH_MAX];
  return realpath(path, buffer) ? buffer : "";
}

std::vector<std::string> own_directories() {
  std::vector<std::string> out{directory_of(resolved("/proc/self/exe"))};
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&directory_of), &info) != 0 && info.dli_fname != nullptr)
    out.push_back(directory_of(resolved(info.dli_fname)));
  return out;
}

}  // namespace

std::string helper_program(const std::string& name) {
  for (const auto& directory : own_directories()) {
    if (directory.empty()) continue;
    for (const char* place : {"/", "/../libexec/polyweft/", "/../../libexec/polyweft/", "/../tools/", "/../src/tools/"})
      if (const std::string path = directory + place + name; access(path.c_str(), X_OK) == 0) return path;
  }
  return name;
}

std::string shared_data(const std::string& name) {
  for (const auto& directory : own_directories()) {
    if (directory.empty()) continue;
    for (const char* place : {"/../share/polyweft/", "/../../share/polyweft/"})
      if (const std::string path = directory + place + name; access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

}  // namespace polyweft
