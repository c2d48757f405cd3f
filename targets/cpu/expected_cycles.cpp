#include "targets/cpu/expected_cycles.h"

#include <algorithm>
#include <map>

#include "support/stage_times.h"
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
constexpr double kWindow = 256;  ///< instructions in flight
constexpr double kLeastVisits = 1e-3;

// What simulation may cost: an instruction takes some microseconds. Pieces of code are simulated, those first that are
// expected to take most, while there is something left; the rest is counted by its instructions.
constexpr size_t kSimulated = 6000;  ///< instructions of all iterations of all pieces
constexpr size_t kSimulatedOfPiece = 2500;
constexpr size_t kLongestPiece = 800;  ///< of a longer one the beginning stands for all of it
constexpr size_t kLongestChain = 400;  ///< instructions of a loop that chains through memory are looked for in
constexpr unsigned kFewestIterations = 3, kMostIterations = 100;
constexpr double kShareCounted = 0.01;      ///< of the cycles of a call may be counted without need
constexpr double kInstructionsOfCycle = 2;  ///< of code that is only counted

struct CodeBlock {
  size_t begin = 0, end = 0;  ///< instructions
  double visits = 0, entries = 0;
  std::string loop;
};

class Estimator {
 public:
  Estimator(const AssemblyCode& assembly, const std::vector<BlockFrequency>& frequencies, const Target& target)
      : assembly_(assembly), target_(target), simulator_(assembly.cpu.described()) {
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

  double cycles() {
    std::map<std::string, std::vector<CodeBlock>> loops;
    for (const CodeBlock& b : blocks_) b.loop.empty() ? add_block(b) : loops[b.loop].push_back(b);
    for (const auto& [label, blocks] : loops) add_loop(blocks);
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.counted() > b.counted(); });
    double left = 0, total = mispredicted_;
    for (const Piece& piece : pieces_) left += piece.counted();
    const double least = kShareCounted * left;
    for (const Piece& piece : pieces_) {
      total += left > least && left_ > 0 ? piece.visits * simulated(piece) : piece.counted();
      left -= piece.counted();
    }
    return total;
  }

 private:
  /// Code that runs straight through, `visits` times a call.
  struct Piece {
    std::vector<llvm::MCInst> code;
    double visits = 0;
    double trips = 1;  ///< of the loop that it is, each time
    bool is_loop = false;
    double counted() const { return visits * static_cast<double>(code.size()) / kInstructionsOfCycle; }
  };

  void add_loop(const std::vector<CodeBlock>& blocks) {
    double most = 0, entries = 0;
    for (const CodeBlock& b : blocks) most = std::max(most, b.visits), entries += b.entries;
    if (most < kLeastVisits) return;
    Piece often{{}, most, entries > 0 ? most / entries : 1, true};
    for (const CodeBlock& b : blocks) b.visits >= kOften* most ? append(b, often.code) : add_block(b);
    if (entries > 0 && most > kGuessedTrips * entries) mispredicted_ += entries * kMispredicted;
    add(std::move(often));
  }
  void add_block(const CodeBlock& block) {
    if (block.visits < kLeastVisits) return;
    Piece piece{{}, block.visits};
    append(block, piece.code);
    add(std::move(piece));
  }
  void add(Piece piece) {
    if (!piece.code.empty()) pieces_.push_back(std::move(piece));
  }
  void append(const CodeBlock& block, std::vector<llvm::MCInst>& code) const {
    for (size_t k = block.begin; k < block.end; ++k) code.push_back(assembly_.code[k].inst);
  }
  /// A visit's cycles. A chain through few iterations runs beside what comes before and after the loop, as far as
  /// that fits into the core's window.
  double simulated(const Piece& piece) {
    const double size = static_cast<double>(piece.code.size());
    std::vector<llvm::MCInst> beginning;
    if (piece.code.size() > kLongestPiece)
      beginning.assign(piece.code.begin(), piece.code.begin() + static_cast<std::ptrdiff_t>(kLongestPiece));
    const std::vector<llvm::MCInst>& code = beginning.empty() ? piece.code : beginning;
    const auto most = static_cast<unsigned>(std::min(left_, kSimulatedOfPiece) / code.size());
    const unsigned iterations = std::clamp(most, kFewestIterations, kMostIterations);
    left_ -= std::min(left_, iterations * code.size());
    const IssueCycles cost = simulator_.issue_cycles(code, iterations);
    const double busy =
        std::max(cost.port_bound, cost.front_end) + gather_cycles(code, assembly_.cpu.described(), target_);
    const double exposed = std::min(1.0, piece.trips * size / kWindow);
    const double through_memory = piece.is_loop && code.size() <= kLongestChain
                                      ? memory_chain_cycles(code, assembly_.cpu.described(), *assembly_.cpu.set)
                                      : 0;
    const double chain = std::max(cost.cycles, through_memory);
    return (busy + exposed * std::max(0.0, chain - busy)) * size / static_cast<double>(code.size());
  }

  const AssemblyCode& assembly_;
  const Target& target_;
  std::vector<CodeBlock> blocks_;
  std::vector<Piece> pieces_;
  Simulator simulator_;
  size_t left_ = kSimulated;  ///< instructions that may still be simulated
  double mispredicted_ = 0;
};

}  // namespace

Result<ExpectedCode> expected_code(const std::string& assembly, const std::vector<BlockFrequency>& blocks,
                                   const Target& target) {
  const auto read = [&] {
    const StageTimes::Running part("code: reading assembly");
    return read_assembly(assembly, target);
  }();
  if (!read) return read.error();
  const StageTimes::Running part("code: simulation");
  const InstructionSet& set = *read->cpu.set;
  const bool has_gathers = std::any_of(read->code.begin(), read->code.end(), [&](const PlacedInst& placed) {
    return set.gathered_lanes(read->cpu.instructions->getName(placed.inst.getOpcode()).str()) > 0;
  });
  return ExpectedCode{Estimator(*read, blocks, target).cycles(), count_spills(*read), has_gathers};
}

}  // namespace polyweft::targets
