#include "hexagon/emulated.h"

#include "emulated/emulated.h"
#include "targets/registry.h"

namespace polyweft {

std::string emulated_test::missing_emulator() {
  return why_not_here(find_target("hexagon").value(), {"hexagon", "qemu"});
}

std::vector<emulated_test::EmulatedLevel> emulated_test::emulated_levels() {
  return {{"hvx", "hexagon", EmulatedLevel::Programs::all, 40}};
}

namespace hexagon_test {

void Hexagon::SetUp() {
  if (const std::string why = emulated_test::missing_emulator(); !why.empty()) GTEST_SKIP() << why;
}

const targets::Backend* Hexagon::targets_backend() {
  return targets::backend_of("hexagon");
}

std::unique_ptr<targets::LoadedKernel> Hexagon::loaded(const LoopNest& nest) const {
  const auto made = backend_.build(nest, target_, {"kernel_of_test", targets::Caller::lab, targets::Loader::process});
  EXPECT_TRUE(made) << (made ? "" : made.error().message) << print(nest);
  if (!made) return nullptr;
  auto kernel = backend_.load(*made, nest, target_);
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << print(nest);
  return kernel ? std::move(*kernel) : nullptr;
}

}  // namespace hexagon_test
}  // namespace polyweft
