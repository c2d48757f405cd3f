#include "cost_models/unit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/nests/axes.h"
#include "ir/nests/instruction.h"
#include "ir/nests/sample_points.h"

namespace polyweft::cost {
namespace {

constexpr double kCyclesOfPoint = 6;  ///< of the CPU's scalar code, for a statement at a point
constexpr double kCyclesOfLoop = 3;   ///< for an iteration

bool is_local(Scope scope) {
  return scope == Scope::scratchpad || scope == Scope::accumulator;
}

/// Cycles of the engines, and those in which others wait.
struct UnitCycles {
  double in = 0, out = 0, products = 0, cpu = 0, waited = 0;
  UnitCycles& operator+=(const UnitCycles& other) {
    in += other.in, out += other.out, products += other.products, cpu += other.cpu, waited += other.waited;
    return *this;
  }
  UnitCycles times(double factor) const {
    return {in * factor, out * factor, products * factor, cpu * factor, waited * factor};
  }
};

class UnitWalk {
 public:
  UnitWalk(const LoopNest& nest, const Machine& machine) : nest_(nest), unit_(machine.unit) {
    for (const Parameter& parameter : nest.params) values_.push_back(parameter.value);
    values_.resize(nest.params.size() + nest.loop_names.size());
  }

  double cycles() {
    const UnitCycles all = of(nest_.root);
    return all.waited + std::max({all.in, all.products, all.cpu}) + kShareOut * all.out;
  }

 private:
  static constexpr double kShareOut = 0.5;  ///< of copies out, beside which no product runs

  UnitCycles of(NodeId id) {
    if (id == kNoNode) return {};
    return std::visit([&](const auto& node) { return on(node); }, nest_.nodes[id]);
  }
  UnitCycles on(const Seq& seq) {
    UnitCycles out;
    for (NodeId child : seq.children) out += of(child);
    return out;
  }
  UnitCycles on(const Alloc& alloc) { return of(alloc.body); }
  UnitCycles on(const Sync& sync) { return {0, 0, 0, sync.is_of_copies() ? command() : 0, 0}; }
  UnitCycles on(const If& choice) { return of(evaluate(choice.condition, values_) ? choice.then : choice.otherwise); }
  UnitCycles on(const Compute& compute) {
    return compute.how == Write::init && is_local(nest_.buffers[compute.dst[0].id].scope)
               ? first_values(1, size_bytes(nest_.buffers[compute.dst[0].id].type))
               : UnitCycles{0, 0, 0, kCyclesOfPoint, 0};
  }
  UnitCycles on(const Copy& copy) { return box(copy, 1, 1); }

  double trips_of(const Loop& loop) {
    const int64_t lo = ir::value_of(loop.lo, true, values_), hi = ir::value_of(loop.hi, false, values_);
    values_[loop.var] = lo;
    return static_cast<double>(std::max<int64_t>(0, (hi - lo + loop.step - 1) / loop.step));
  }
  double command() const { return unit_.command_cycles.value + kCyclesOfLoop; }

  UnitCycles on(const Loop& loop) {
    const double trips = trips_of(loop);
    if (trips <= 0) return {};
    if (loop.mark.kind == MarkKind::tensor) return product(loop);
    const Node* body = &nest_.nodes[loop.body];
    const auto* inner = std::get_if<Loop>(body);
    const double lines = inner ? trips : 1, columns = inner ? trips_of(*inner) : trips;
    const Node& leaf = inner ? nest_.nodes[inner->body] : *body;
    if (const auto* copy = std::get_if<Copy>(&leaf); copy && touches_unit(*copy)) return box(*copy, lines, columns);
    const auto* compute = std::get_if<Compute>(&leaf);
    if (compute && compute->how == Write::init && is_local(nest_.buffers[compute->dst[0].id].scope))
      return first_values(lines, columns * static_cast<double>(size_bytes(nest_.buffers[compute->dst[0].id].type)));
    UnitCycles out = of(loop.body);
    out.cpu += kCyclesOfLoop;
    return out.times(trips);
  }

  bool touches_unit(const Copy& copy) const {
    return is_local(nest_.buffers[copy.dst.id].scope) || (copy.has_src && is_local(nest_.buffers[copy.src.id].scope));
  }

  UnitCycles box(const Copy& copy, double lines, double columns) const {
    if (!touches_unit(copy)) return {0, 0, 0, kCyclesOfPoint * lines * columns, 0};
    const bool is_in = is_local(nest_.buffers[copy.dst.id].scope);
    const double bytes = columns * static_cast<double>(size_bytes(nest_.buffers[copy.dst.id].type));
    const double commands = std::ceil(lines / static_cast<double>(unit_.copy_rows.value));
    const double bus = lines * std::ceil(bytes / unit_.copy_bytes_per_cycle.value),
                 latency = unit_.copy_latency_cycles.value;
    const double cycles = std::max(bus, (bus + commands * latency) / static_cast<double>(unit_.copies_in_flight.value));
    UnitCycles out;
    out.cpu = 2 * commands * command();
    (is_in ? copy.is_async ? out.in : out.waited : out.out) = cycles;
    if (is_in && !copy.is_async) out.waited += latency;
    return out;
  }
  UnitCycles first_values(double lines, double) const {
    return {0, 0, lines * unit_.zero_row_cycles.value, command(), 0};
  }
  UnitCycles product(const Loop& outermost) {
    const auto match = ir::match_tensor_loop(nest_, outermost);
    if (!match || !match->instruction->is_of_unit()) return {0, 0, 0, kCyclesOfPoint, 0};
    const double rows = trips_of(*match->loops[match->instruction->operands[0].loops[0]]);
    return {0, 0, rows * unit_.product_row_cycles.value + unit_.product_cycles.value, command() + 2 * kCyclesOfLoop, 0};
  }

  const LoopNest& nest_;
  const UnitFigures& unit_;
  std::vector<int64_t> values_;
};

class UnitModel final : public CostModel {
 public:
  UnitModel(Machine machine, std::unique_ptr<CostModel> of_cpu)
      : machine_(std::move(machine)), of_cpu_(std::move(of_cpu)) {}
  std::string name() const override { return of_cpu_->name(); }
  double predict_ns(const LoopNest& nest) const override {
    const bool uses_unit =
        std::any_of(nest.buffers.begin(), nest.buffers.end(), [](const Buffer& b) { return is_local(b.scope); });
    return uses_unit ? UnitWalk(nest, machine_).cycles() / machine_.clock_ghz.value : of_cpu_->predict_ns(nest);
  }
  double predict_ns(const LoopNest& nest, double) const override { return predict_ns(nest); }

 private:
  Machine machine_;
  std::unique_ptr<CostModel> of_cpu_;
};

}  // namespace

std::unique_ptr<CostModel> unit_model(const Machine& machine, std::unique_ptr<CostModel> of_cpu) {
  return std::make_unique<UnitModel>(machine, std::move(of_cpu));
}

}  // namespace polyweft::cost
