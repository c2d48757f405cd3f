#include "targets/cpu/memory_chains.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace polyweft::targets {
namespace {

constexpr double kLoadLatency = 5;  ///< of an operand in memory, in the latency of the instruction that reads it
constexpr int64_t kFarthest = 64;   ///< iterations: what was stored longer ago waits for nothing

bool have_same_registers(const CodeAddress& a, const CodeAddress& b) {
  return a.base == b.base && a.index == b.index && a.scale == b.scale;
}

class Chains {
 public:
  Chains(const std::vector<llvm::MCInst>& code, const MachineDescription& machine, const InstructionSet& set)
      : code_(code), machine_(machine), set_(set) {
    find_steps();
  }

  double longest() const {
    double most = 0;
    for (size_t s = 0; s < code_.size(); ++s)
      if (desc(s).mayStore() && !desc(s).isCall())
        if (const auto stored = address(s))
          for (size_t l = 0; l < code_.size(); ++l)
            if (desc(l).mayLoad() && !desc(l).mayStore() && !desc(l).isCall())
              most = std::max(most, chain(l, s, *stored));
    return most;
  }

 private:
  const llvm::MCInstrDesc& desc(size_t k) const { return machine_.instructions.get(code_[k].getOpcode()); }

  /// Registers that the loop moves on by a constant; of others written in it nothing is known.
  void find_steps() {
    std::map<unsigned, int> writes;
    for (size_t k = 0; k < code_.size(); ++k) {
      for (unsigned i = 0; i < desc(k).getNumDefs() && i < code_[k].getNumOperands(); ++i)
        if (code_[k].getOperand(i).isReg()) ++writes[code_[k].getOperand(i).getReg()];
      if (const auto step = set_.step_of(code_[k], machine_.instructions)) steps_[step->reg] = {step->by, k};
    }
    for (const auto& [reg, count] : writes)
      if (!steps_.count(reg) || count > 1) steps_.erase(reg), unknown_.insert(reg);
  }
  /// At the start of an iteration, as far as registers that it moves on go.
  std::optional<CodeAddress> address(size_t k) const {
    auto out = set_.address_of(code_[k], machine_.instructions);
    if (!out || unknown_.count(out->base) || unknown_.count(out->index)) return std::nullopt;
    for (const auto& [reg, scale] : {std::pair{out->base, int64_t{1}}, {out->index, out->scale}})
      if (auto step = steps_.find(reg); step != steps_.end() && step->second.second < k)
        out->at += scale * step->second.first;
    return out;
  }
  int64_t step(const CodeAddress& a) const {
    const auto of = [&](unsigned reg) { return steps_.count(reg) ? steps_.at(reg).first : 0; };
    return of(a.base) + a.scale * of(a.index);
  }

  double chain(size_t load, size_t store, const CodeAddress& stored) const {
    const auto loaded = address(load);
    if (!loaded || !have_same_registers(*loaded, stored)) return 0;
    const int64_t by = step(stored), apart = stored.at - loaded->at;
    if (by == 0 ? apart != 0 : apart % by != 0) return 0;
    const int64_t iterations = by == 0 ? (load < store ? 1 : 0) : apart / by;
    if (iterations < 1 || iterations > kFarthest) return 0;
    return path(load, store) / static_cast<double>(iterations);
  }
  /// From the load's start to when the store has its value, all in one iteration; 0 where the value does not get there.
  double path(size_t load, size_t store) const {
    if (store < load) return 0;
    std::map<unsigned, double> ready;  // register unit -> cycle
    define(load, latency(load), ready);
    for (size_t k = load + 1; k <= store; ++k) {
      double from = -1;
      const auto m = set_.address_of(code_[k], machine_.instructions);
      for (unsigned i = desc(k).getNumDefs(); i < code_[k].getNumOperands(); ++i) {
        const bool is_address = m && i >= m->first_operand && i < m->first_operand + m->operands;
        if (!code_[k].getOperand(i).isReg() || is_address) continue;
        for (const auto unit : units(code_[k].getOperand(i).getReg()))
          if (auto it = ready.find(unit); it != ready.end()) from = std::max(from, it->second);
      }
      if (k == store) return std::max(0.0, from);
      const double own = std::max(1.0, latency(k) - (desc(k).mayLoad() ? kLoadLatency : 0));
      from < 0 ? forget(k, ready) : define(k, from + own, ready);
    }
    return 0;
  }
  double latency(size_t k) const {
    const auto& cls = *machine_.subtarget.getSchedModel().getSchedClassDesc(desc(k).getSchedClass());
    const int cycles =
        cls.isValid() && !cls.isVariant() ? llvm::MCSchedModel::computeInstrLatency(machine_.subtarget, cls) : 1;
    return cycles > 0 && cycles < 200 ? cycles : 1;
  }
  std::vector<unsigned> units(unsigned reg) const {
    std::vector<unsigned> out;
    if (reg != 0)
      for (const auto unit : machine_.registers.regunits(reg)) out.push_back(static_cast<unsigned>(unit));
    return out;
  }
  template <class Each>
  void each_defined(size_t k, const Each& each) const {
    const auto moved = desc(k).mayLoad() ? set_.step_of(code_[k], machine_.instructions)
                                         : std::nullopt;  // an address, not what was loaded
    for (unsigned i = 0; i < desc(k).getNumDefs() && i < code_[k].getNumOperands(); ++i)
      if (code_[k].getOperand(i).isReg() && !(moved && code_[k].getOperand(i).getReg() == moved->reg))
        for (const unsigned unit : units(code_[k].getOperand(i).getReg())) each(unit);
  }
  void define(size_t k, double at, std::map<unsigned, double>& ready) const {
    each_defined(k, [&](unsigned unit) { ready[unit] = at; });
  }
  void forget(size_t k, std::map<unsigned, double>& ready) const {
    each_defined(k, [&](unsigned unit) { ready.erase(unit); });
  }

  const std::vector<llvm::MCInst>& code_;
  const MachineDescription& machine_;
  const InstructionSet& set_;
  std::map<unsigned, std::pair<int64_t, size_t>> steps_;  ///< register -> what an iteration adds, and where
  std::set<unsigned> unknown_;
};

}  // namespace

double memory_chain_cycles(const std::vector<llvm::MCInst>& code, const MachineDescription& machine,
                           const InstructionSet& set) {
  return Chains(code, machine, set).longest();
}

}  // namespace polyweft::targets
