#include "targets/registry.h"

#include <llvm/Config/llvm-config.h>

#include <algorithm>

#include "support/cpu_features.h"
#include "targets/cpu/aarch64/aarch64_backend.h"
#include "targets/cpu/hexagon/hexagon_backend.h"
#include "targets/cpu/riscv/riscv_backend.h"
#include "targets/cpu/riscv/riscv_unit_backend.h"
#include "targets/cpu/wasm/wasm_backend.h"
#include "targets/cpu/x86/x86_backend.h"
#include "targets/gpu/amdgpu/amdgpu_backend.h"
#include "targets/gpu/emulator/emulator_backend.h"
#include "targets/gpu/nvptx/nvptx_backend.h"
#include "targets/gpu/spirv/spirv_backend.h"

namespace polyweft::targets {
namespace {

using Backends = std::vector<std::unique_ptr<Backend>>;

Backends& registered() {
  static Backends list = [] {
    Backends out;
    out.push_back(aarch64_backend());
    out.push_back(amdgpu_backend());
    out.push_back(emulator_backend(emulated_amdgcn()));
    out.push_back(emulator_backend(emulated_nvptx()));
    out.push_back(hexagon_backend());
    out.push_back(nvptx_backend());
    out.push_back(riscv_backend());
    out.push_back(riscv_unit_backend());
    out.push_back(spirv_backend());
    out.push_back(wasm_backend());
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
  const auto found = std::find_if(registered().begin(), registered().end(),
                                  [&](const auto& b) { return b->architecture() == architecture; });
  return found == registered().end() ? nullptr : found->get();
}

Result<const Backend*> backend_for(const Target& target) {
  if (const Backend* backend = backend_of(target.architecture)) return backend;
  return no_backend_for(target, architectures());
}

Result<Target> host_of(const std::vector<const Backend*>& backends) {
  std::string known;
  for (const Backend* backend : backends) {
    if (auto host = backend->host()) return *std::move(host);
    known += (known.empty() ? "" : ", ") + backend->architecture();
  }
  return fail("PW0522",
              "target host: no backend knows the machine that this process runs on, whose architecture is " +
                  native_architecture(),
              {"name a target instead; there are backends for " + (known.empty() ? "nothing" : known)});
}

bool is_target_name(const std::string& name) {
  const auto has_it = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return name == "host" || std::any_of(registered().begin(), registered().end(), [&](const auto& backend) {
           return has_it(backend->target_names()) || has_it(backend->attached_names());
         });
}

std::string architectures() {
  std::string out;
  for (const auto& backend : registered()) out += (out.empty() ? "" : ", ") + backend->architecture();
  return out;
}

void add_backend(std::unique_ptr<Backend> backend) {
  const auto at = std::lower_bound(registered().begin(), registered().end(), backend->architecture(),
                                   [](const auto& b, const std::string& name) { return b->architecture() < name; });
  if (at != registered().end() && (*at)->architecture() == backend->architecture())
    *at = std::move(backend);
  else
    registered().insert(at, std::move(backend));
}

std::string llvm_version() {
  return LLVM_VERSION_STRING;
}

}  // namespace polyweft::targets
