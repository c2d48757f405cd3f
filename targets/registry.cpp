#include "targets/registry.h"

#include <llvm/Config/llvm-config.h>

#include <algorithm>

#include "targets/cpu/aarch64/aarch64_backend.h"
#include "targets/cpu/x86/x86_backend.h"

namespace polyweft::targets {
namespace {

using Backends = std::vector<std::unique_ptr<Backend>>;

Backends& registered() {
  static Backends list = [] {
    Backends out;
    out.push_back(aarch64_backend());
    out.push_back(x86_backend());
    return out;
  }();
  return list;
}

}  // namespace

std::vector<const Backend*> backends() {
  std::vector<const Backend*> out;
  for (const auto& backend : registered()) out.push_back(backend.get());
  return out;
}

const Backend* backend_of(const std::string& architecture) {
  const auto found = std::find_if(registered().begin(), registered().end(), [&](const auto& b) { return b->architecture() == architecture; });
  return found == registered().end() ? nullptr : found->get();
}

Result<const Backend*> backend_for(const Target& target) {
  if (const Backend* backend = backend_of(target.architecture)) return backend;
  return fail("PW0522", "no backend builds for the architecture '" + target.architecture + "' of target " + target.name, {"it builds for " + architectures()});
}

std::string architectures() {
  std::string out;
  for (const auto& backend : registered()) out += (out.empty() ? "" : ", ") + backend->architecture();
  return out;
}

void add_backend(std::unique_ptr<Backend> backend) {
  const auto at = std::lower_bound(registered().begin(), registered().end(), backend->architecture(), [](const auto& b, const std::string& name) { return b->architecture() < name; });
  if (at != registered().end() && (*at)->architecture() == backend->architecture())
    *at = std::move(backend);
  else
    registered().insert(at, std::move(backend));
}

std::string llvm_version() {
  return LLVM_VERSION_STRING;
}

}  // namespace polyweft::targets
