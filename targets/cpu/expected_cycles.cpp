#include "targets/cpu/expected_cycles.h"

#include <algorithm>
#include <map>

#include "targets/cpu/assembly_reader.h"
#include "targets/cpu/gather_cycles.h"
#include "targets/cpu/memory_chains.h"
#include "targets/cpu/spills.h"

namespace polyweft::targets {
namespace {

constexpr double kMispredicted = 12;  ///< cycles of a branch that is guessed wrongly
constexpr double kGuessedTrips = 24;  ///< loops of fewer iterations are left as guessed
constexpr double kOften =
    0.5;  ///< of the visits of a loop's busiest block: such blocks are on the way that an iteration takes
constexpr size_t kSimulated = 3000;  ///< instructions of all iterations that are simulated
constexpr double kWindow = 256;      ///< instructions in flight
constexpr double kLeastVisits = 1e-3;

struct CodeBlock {
  size_t begin = 0, end = 0;  ///< instructions
  double visits = 0, entries = 0;
  std::string loop;
};

class Estimator {
 public:
  Estimator(const AssemblyCode& assembly, const std::vector<BlockFrequency>& frequencies, const Target& target)
      : assembly_(assembly), target_(target) {
    for (const BlockFrequency& f : frequencies)
      if (auto at = assembly.labels.find(f.label); at != assembly.labels.end())
        blocks_.push_back({at->second, assembly.code.size(), f.visits, f.entries, f.loop});
    std::sort(blocks_.begin(), blocks_.end(), [](const CodeBlock& a, const CodeBlock& b) { return a.begin < b.begin; });
    for (size_t k = 0; k < blocks_.size(); ++k) {
      size_t end = k + 1 < blocks_.size() ? blocks_[k + 1].begin : assembly.code.size();
      for (const auto& [first, name] : assembly.functions)
        if (first > blocks_[k].begin) end = std::min(end, first);
      blocks_[k].end = end;
    }
  }

  double cycles() const {
    std::map<std::string, std::vector<CodeBlock>> loops;
    double total = 0;
    for (const CodeBlock& b : blocks_) b.loop.empty() ? void(total += block_cycles(b)) : loops[b.loop].push_back(b);
    for (const auto& [label, blocks] : loops) total += loop_cycles(blocks);
    return total;
  }

 private:
  double loop_cycles(const std::vector<CodeBlock>& blocks) const {
    double most = 0, entries = 0, total = 0;
    for (const CodeBlock& b : blocks) most = std::max(most, b.visits), entries += b.entries;
    if (most < kLeastVisits) return 0;
    std::vector<llvm::MCInst> often;
    for (const CodeBlock& b : blocks) b.visits >= kOften* most ? add(b, often) : void(total += block_cycles(b));
    if (entries > 0 && most > kGuessedTrips * entries) total += entries * kMispredicted;
    return total + most * simulated(often, entries > 0 ? most / entries : 1);
  }
  double block_cycles(const CodeBlock& block) const {
    if (block.visits < kLeastVisits) return 0;
    std::vector<llvm::MCInst> code;
    add(block, code);
    return block.visits * simulated(code, 1);
  }
  void add(const CodeBlock& block, std::vector<llvm::MCInst>& code) const {
    for (size_t k = block.begin; k < block.end; ++k) code.push_back(assembly_.code[k].inst);
  }
  /// An iteration's cycles. A chain through few iterations runs beside what comes before and after the loop, as far as
  /// that fits into the core's window.
  double simulated(const std::vector<llvm::MCInst>& code, double trips) const {
    if (code.empty()) return 0;
    LoopCost cost;
    simulate(code, assembly_.cpu.described(), cost,
             static_cast<unsigned>(std::clamp<size_t>(kSimulated / code.size(), 10, 100)));
    const double busy =
        std::max(cost.port_bound, cost.front_end) + gather_cycles(code, assembly_.cpu.described(), target_);
    const double exposed = std::min(1.0, trips * static_cast<double>(code.size()) / kWindow);
    const double chain =
        std::max(cost.cycles, memory_chain_cycles(code, assembly_.cpu.described(), *assembly_.cpu.set));
    return busy + exposed * std::max(0.0, chain - busy);
  }

  const AssemblyCode& assembly_;
  const Target& target_;
  std::vector<CodeBlock> blocks_;
};

}  // namespace

Result<ExpectedCode> expected_code(const std::string& assembly, const std::vector<BlockFrequency>& blocks,
                                   const Target& target) {
  auto read = read_assembly(assembly, target);
  if (!read) return read.error();
  return ExpectedCode{Estimator(*read, blocks, target).cycles(), count_spills(*read)};
}

}  // namespace polyweft::targets
