#include "targets/cpu/port_model.h"

#include <llvm/MCA/Context.h>
#include <llvm/MCA/CustomBehaviour.h>
#include <llvm/MCA/HWEventListener.h>
#include <llvm/MCA/InstrBuilder.h>
#include <llvm/MCA/Pipeline.h>
#include <llvm/MCA/SourceMgr.h>
#include <llvm/MCA/Support.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace polyweft::targets {
namespace {

namespace mca = llvm::mca;
using Ports = std::set<unsigned>;

constexpr unsigned kWarmUpShare = 5;  ///< of the iterations, until the simulated queues are in their steady state

/// A port: a unit that instructions are issued to, not a group of them.
bool is_port(const llvm::MCProcResourceDesc& resource) {
  return resource.SubUnitsIdxBegin == nullptr;
}

/// Counts what the simulated pipeline issues, and why it waits.
class Listener : public mca::HWEventListener {
 public:
  std::map<unsigned, double> busy;  ///< port -> cycles, all iterations
  int64_t micro_operations = 0;
  int64_t waits_for_registers = 0, waits_for_ports = 0;
  uint64_t cycle = 0;
  std::vector<uint64_t> retired_at;  ///< cycle at which an iteration's last instruction retired

  explicit Listener(size_t instructions) : instructions_(instructions) {}
  void onCycleEnd() override { ++cycle; }
  void onEvent(const mca::HWInstructionEvent& event) override {
    if (event.Type == mca::HWInstructionEvent::Issued)
      for (const auto& use : static_cast<const mca::HWInstructionIssuedEvent&>(event).UsedResources)
        busy[static_cast<unsigned>(use.first.first)] += static_cast<double>(use.second);
    if (event.Type == mca::HWInstructionEvent::Dispatched)
      micro_operations += static_cast<const mca::HWInstructionDispatchedEvent&>(event).MicroOpcodes;
    if (event.Type == mca::HWInstructionEvent::Retired &&
        event.IR.getSourceIndex() % instructions_ == instructions_ - 1)
      retired_at.push_back(cycle);
  }
  void onEvent(const mca::HWPressureEvent& event) override {
    (event.Reason == mca::HWPressureEvent::RESOURCES ? waits_for_ports : waits_for_registers) +=
        static_cast<int64_t>(event.AffectedInstructions.size());
  }

 private:
  size_t instructions_;
};

Ports units_of(unsigned resource, const llvm::MCSchedModel& model) {
  const llvm::MCProcResourceDesc& desc = *model.getProcResource(resource);
  if (is_port(desc)) return {resource};
  return {desc.SubUnitsIdxBegin, desc.SubUnitsIdxBegin + desc.NumUnits};
}

/// Ports that the first known one of these instructions may be issued to. The tables also name every group around a
/// group: only the least ones count.
Ports ports_of(const std::vector<std::string>& names, const MachineDescription& machine) {
  const llvm::MCSchedModel& model = machine.subtarget.getSchedModel();
  for (const std::string& name : names)
    for (unsigned opcode = 0; opcode < machine.instructions.getNumOpcodes(); ++opcode) {
      if (machine.instructions.getName(opcode) != name) continue;
      const llvm::MCSchedClassDesc* cls = model.getSchedClassDesc(machine.instructions.get(opcode).getSchedClass());
      if (!cls->isValid() || cls->isVariant()) break;
      std::vector<Ports> groups;
      for (const auto* entry = machine.subtarget.getWriteProcResBegin(cls);
           entry != machine.subtarget.getWriteProcResEnd(cls); ++entry)
        groups.push_back(units_of(entry->ProcResourceIdx, model));
      Ports out;
      for (const Ports& group : groups) {
        const bool has_less = std::any_of(groups.begin(), groups.end(), [&](const Ports& other) {
          return other.size() < group.size() && std::includes(group.begin(), group.end(), other.begin(), other.end());
        });
        if (!has_less) out.insert(group.begin(), group.end());
      }
      if (!out.empty()) return out;
    }
  return {};
}

std::string register_name(const llvm::MCOperand& operand, const MachineDescription& machine) {
  return operand.isReg() && operand.getReg().isValid() ? machine.registers.getName(operand.getReg()) : "";
}
int widest_vector_bits(const std::vector<llvm::MCInst>& code, const MachineDescription& machine) {
  int out = 0;
  for (const llvm::MCInst& inst : code)
    for (const llvm::MCOperand& operand : inst)
      out = std::max(out, machine.set.vector_register_bits(register_name(operand, machine)));
  return out;
}

double most_of(const Ports& ports, const std::map<unsigned, double>& busy) {
  double most = 0;
  for (unsigned port : ports)
    if (auto it = busy.find(port); it != busy.end()) most = std::max(most, it->second);
  return most;
}

struct PortClasses {
  Ports fma, load, store;
};
PortClasses classes_for(const std::vector<llvm::MCInst>& code, const MachineDescription& machine) {
  const PortInstructions known = machine.set.port_instructions(widest_vector_bits(code, machine));
  PortClasses out;
  out.fma = ports_of(known.multiply_adds, machine);
  out.load = ports_of(known.loads, machine);
  for (unsigned port : ports_of(known.stores, machine))
    if (!out.load.contains(port)) out.store.insert(port);  // the others also take a store's address
  return out;
}

std::string name_of_bound(unsigned port, const PortClasses& classes, const LoopCost& loop) {
  if (classes.fma.contains(port) && loop.fmas > 0) return "fma ports";
  if (classes.fma.contains(port) && loop.vector > 0) return "vector ports";
  if (classes.load.contains(port) && loop.loads > 0) return "load ports";
  if (classes.store.contains(port)) return "store ports";
  if (loop.busiest_port.find("Div") != std::string::npos) return "divider";
  return "port " + loop.busiest_port;
}

/// What an iteration keeps busy, a port's cycles over all of its units.
struct Busy {
  std::map<unsigned, double> ports;
  unsigned busiest = 0;
  IssueCycles cycles;
};
Busy sum_up(const Listener& seen, const llvm::MCSchedModel& model, unsigned iterations) {
  Busy out;
  for (const auto& [resource, cycles] : seen.busy)
    if (resource < model.getNumProcResourceKinds() && is_port(*model.getProcResource(resource)))
      out.ports[resource] = cycles / iterations / model.getProcResource(resource)->NumUnits;
  out.cycles.front_end = static_cast<double>(seen.micro_operations) / iterations / model.IssueWidth;
  for (const auto& [port, cycles] : out.ports)
    if (cycles > out.cycles.port_bound + 1e-9) out.cycles.port_bound = cycles, out.busiest = port;
  const size_t warm = iterations / kWarmUpShare;
  if (seen.retired_at.size() > warm + 1)
    out.cycles.cycles = static_cast<double>(seen.retired_at.back() - seen.retired_at[warm]) /
                        static_cast<double>(seen.retired_at.size() - 1 - warm);
  return out;
}

void describe(const Busy& busy, const Listener& seen, const std::vector<llvm::MCInst>& code,
              const MachineDescription& machine, LoopCost& loop) {
  const PortClasses classes = classes_for(code, machine);
  loop.fma_ports = most_of(classes.fma, busy.ports);
  loop.load_ports = most_of(classes.load, busy.ports);
  loop.store_ports = most_of(classes.store, busy.ports);
  loop.front_end = busy.cycles.front_end;
  loop.port_bound = busy.cycles.port_bound;
  loop.cycles = busy.cycles.cycles;
  if (busy.busiest != 0) loop.busiest_port = machine.subtarget.getSchedModel().getProcResource(busy.busiest)->Name;
  const double throughput = std::max(loop.port_bound, loop.front_end);
  if (loop.cycles > 1.1 * throughput + 0.2 && seen.waits_for_registers > seen.waits_for_ports)
    loop.bound = "latency";
  else if (loop.front_end > loop.port_bound || busy.busiest == 0)
    loop.bound = "front end";
  else
    loop.bound = name_of_bound(busy.busiest, classes, loop);
}

/// A call or a return. Not every architecture has instructions for these alone.
bool leaves(const llvm::MCInst& inst, const MachineDescription& machine) {
  const llvm::MCInstrDesc& what = machine.instructions.get(inst.getOpcode());
  return what.isCall() || what.isReturn() ||
         (machine.analysis && (machine.analysis->isCall(inst) || machine.analysis->isReturn(inst)));
}

/// What costs of the next instruction depend on beside itself.
class Settings {
 public:
  explicit Settings(const MachineDescription& machine)
      : manager_(machine.set.instruments(machine.subtarget, machine.instructions)) {
    if (!manager_) manager_ = std::make_unique<mca::InstrumentManager>(machine.subtarget, machine.instructions, false);
    begin(machine);
  }
  /// As they are before the first instruction.
  void begin(const MachineDescription& machine) {
    last_.clear();
    for (const CodeSetting& first : machine.set.first_settings())
      if (auto made = manager_->createInstrument(first.what, first.value)) take(std::move(made));
  }
  const mca::InstrumentManager& manager() const { return *manager_; }
  void follow(const llvm::MCInst& inst) {
    for (mca::UniqueInstrument& made : manager_->createInstruments(inst)) take(std::move(made));
  }
  llvm::SmallVector<mca::Instrument*> now() const {
    llvm::SmallVector<mca::Instrument*> out;
    for (const auto& [what, setting] : last_) out.push_back(setting.get());
    return out;
  }

 private:
  void take(mca::UniqueInstrument setting) {
    const std::string what = setting->getDesc().str();
    last_[what] = std::move(setting);
  }

  std::unique_ptr<mca::InstrumentManager> manager_;
  std::map<std::string, mca::UniqueInstrument> last_;
};

}  // namespace

bool is_multiply_add(const llvm::MCInst& inst, const MachineDescription& machine) {
  return machine.set.is_multiply_add(machine.instructions.getName(inst.getOpcode()).str());
}

bool is_vector_arithmetic(const llvm::MCInst& inst, const MachineDescription& machine) {
  if (inst.getNumOperands() == 0 || machine.set.vector_register_bits(register_name(inst.getOperand(0), machine)) == 0)
    return false;
  return !machine.set.only_moves_vectors(machine.instructions.getName(inst.getOpcode()).str());
}

struct Simulator::State {
  explicit State(const MachineDescription& of)
      : machine(of),
        settings(of),
        builder(of.subtarget, of.instructions, of.registers, of.analysis, settings.manager(), 100) {}

  /// The instructions that the model knows, without calls.
  std::vector<std::unique_ptr<mca::Instruction>> sequence_of(const std::vector<llvm::MCInst>& code) {
    builder.clear();
    settings.begin(machine);
    std::vector<std::unique_ptr<mca::Instruction>> out;
    for (const llvm::MCInst& inst : code) {
      if (leaves(inst, machine)) continue;
      settings.follow(inst);
      auto made = builder.createInstruction(inst, settings.now());
      if (made)
        out.push_back(std::move(*made));
      else
        llvm::consumeError(made.takeError());  // the model lacks it
    }
    return out;
  }
  /// Nothing where there is nothing to simulate.
  std::unique_ptr<Listener> run(const std::vector<llvm::MCInst>& code, unsigned iterations, bool asks_why) {
    const auto sequence = sequence_of(code);
    if (sequence.empty()) return nullptr;
    mca::CircularSourceMgr source(sequence, iterations);
    mca::Context context(machine.registers, machine.subtarget);
    mca::CustomBehaviour behaviour(machine.subtarget, source, machine.instructions);
    // Sizes of 0: as the model has them.
    const mca::PipelineOptions options(0, 0, 0, 0, 0, 0, /*NoAlias=*/true, /*ShouldEnableBottleneckAnalysis=*/asks_why);
    auto pipeline = context.createDefaultPipeline(options, source, behaviour);
    auto seen = std::make_unique<Listener>(sequence.size());
    pipeline->addEventListener(seen.get());
    auto cycles = pipeline->run();
    if (cycles) return seen;
    llvm::consumeError(cycles.takeError());
    return nullptr;
  }

  const MachineDescription machine;
  Settings settings;
  mca::InstrBuilder builder;
};

Simulator::Simulator(const MachineDescription& machine) : state_(std::make_unique<State>(machine)) {}
Simulator::~Simulator() = default;

IssueCycles Simulator::issue_cycles(const std::vector<llvm::MCInst>& code, unsigned iterations) {
  const auto seen = state_->run(code, iterations, false);
  return seen ? sum_up(*seen, state_->machine.subtarget.getSchedModel(), iterations).cycles : IssueCycles{};
}

void simulate(const std::vector<llvm::MCInst>& code, const MachineDescription& machine, LoopCost& loop,
              unsigned iterations) {
  Simulator::State state(machine);
  const auto seen = state.run(code, iterations, true);
  if (seen) describe(sum_up(*seen, machine.subtarget.getSchedModel(), iterations), *seen, code, machine, loop);
}

}  // namespace polyweft::targets
