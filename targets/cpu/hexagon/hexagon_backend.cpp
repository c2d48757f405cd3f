// Hexagon with HVX. Addresses have 32 bits and there is no C library: kernels take plain pointers, and run in a program
// of their own, a static executable that an emulator runs (docs/accelerators.md).
#include "targets/cpu/hexagon/hexagon_backend.h"

#include <algorithm>

#include "ir/nests/instruction.h"
#include "targets/cpu/hexagon/hexagon_hooks.h"
#include "targets/cpu/hexagon/lanes.h"
#include "targets/cpu/hexagon/runtime_bytes.h"
#include "targets/cpu/program_backend.h"

namespace polyweft::targets {
namespace {

constexpr int kHvxBits = 1024, kHvxRegisters = 32;

class HexagonBackend final : public ProgramBackend {
 public:
  std::string architecture() const override { return "hexagon"; }
  std::vector<std::string> target_names() const override { return {"hexagon"}; }
  std::string derive(Target& target) const override {
    for (const auto& feature : target.features)
      if (feature != "hvx-length128b" && feature != "hvxv67")
        return "'" + feature + "' is not a feature this version knows";
    if (!target.has("hvx-length128b") || !target.has("hvxv67"))
      return "code for this architecture needs 'hvxv67' and 'hvx-length128b'";
    target.machine.units.vector_bits = kHvxBits;
    target.machine.units.vector_registers = kHvxRegisters;
    target.machine.units.has_compiler_vectors = false;
    target.machine.units.instructions = ir::instructions_of(target);
    target.is_host = runs_here(target).ok();
    return {};
  }

  bool is_emulated() const override { return true; }
  RunnerDevice runner_device(const Target&) const override { return {kDevice, "", false}; }

 protected:
  std::vector<std::string> features_of(const std::string&) const override { return {"hvx-length128b", "hvxv67"}; }
  std::string command(const Target&) const override { return "qemu-hexagon -cpu v67"; }
  std::span<const unsigned char> runtime_object() const override { return hexagon_runtime_object(); }
  int64_t argument_alignment() const override { return kArgumentAlignment; }
  LoopNest prepared(const LoopNest& nest) const override { return with_lanes_of_the_machine(nest); }

  /// Of the arguments and of heap blocks, as if all were there at the same time.
  Status fits(const LoopNest& nest, const Target&) const override {
    constexpr int64_t kMostBytes = int64_t{1} << 31;
    int64_t bytes = 0;
    for (const Buffer& buffer : nest.buffers) {
      if (buffer.within) continue;
      bytes += std::min(allocated_elements(buffer), kMostBytes) * size_bytes(buffer.type);
      if (bytes < kMostBytes) continue;
      return fail("PW0526",
                  "the buffers of " + nest.name + " take 2 GiB and more up to " + buffer.name +
                      ": addresses of hexagon have 32 bits",
                  {"bind smaller sizes with -p"});
    }
    return Ok{};
  }
};

}  // namespace

std::unique_ptr<Backend> hexagon_backend() {
  return std::make_unique<HexagonBackend>();
}

}  // namespace polyweft::targets
