#include "driver/task.h"

#include <algorithm>

#include "ir/nests/sample_points.h"
#include "ir/normalize/normalize.h"
#include "ir/values/output_extents.h"
#include "lang/canonical.h"

namespace polyweft {

namespace {

Status extents_fit(const Tensor& tensor, const std::vector<int64_t>& extents) {
  for (int64_t extent : extents)
    if (extent > kLargestSize)
      return fail("PW0809",
                  tensor.name + " has an extent of " + std::to_string(extent) + " at these sizes: at most 2^31 - 1",
                  {"choose smaller sizes"});
  return Ok{};
}

// The kernel's interface has 32 bits for each.
Status arguments_have_extents(const Program& bound) {
  for (TensorId id : bound.inputs()) {
    std::vector<int64_t> extents;
    for (const Affine& extent : bound.tensors[id].shape) extents.push_back(extent.constant);
    if (auto fit = extents_fit(bound.tensors[id], extents); !fit) return fit;
  }
  for (TensorId id : bound.outputs()) {
    auto extents = ir::output_extents(bound, id);
    if (!extents) return extents.error();
    if (auto fit = extents_fit(bound.tensors[id], *extents); !fit) return fit;
  }
  return Ok{};
}

}  // namespace

Result<Task> make_task(const Program& program, const TaskOptions& options, const Target& target) {
  auto binding = make_binding(program, options.parameters);
  if (!binding) return binding.error();
  Task task;
  task.source = program;
  task.binding = *binding;
  task.program = normalize(polyweft::bind(program, *binding), options.cls);
  if (auto fit = arguments_have_extents(task.program); !fit) return fit.error();
  task.canonical_text = lang::canonical_text(program);
  task.source_text = program.source_text.empty() ? print(program) : program.source_text;
  task.key.program = lang::key_of_canonical(task.canonical_text);
  task.key.binding = *binding;
  task.key.cls = options.cls;
  task.key.target = fingerprint(target);
  task.key.threads = options.threads;
  return task;
}

namespace {

// Numbers, not addresses: subscripts and conditions do not count.
double operations_of(const Expr& e) {
  if (!e) return 0;
  double count = 0;
  for (const auto& arg : e->args) count += operations_of(arg);
  switch (e->op) {
    case Op::literal:
    case Op::variable:
    case Op::read:
    case Op::affine:
    case Op::convert:
    case Op::tuple:
    case Op::guarded:
    case Op::component:
    case Op::select:
      return count;
    case Op::fma:
      return count + 2;
    default:
      return count + 1;
  }
}

class FlopCounter {
 public:
  explicit FlopCounter(const LoopNest& nest)
      : nest_(nest), values_(nest.params.size() + nest.loop_names.size(), 0), depends_(nest.nodes.size()) {
    for (size_t p = 0; p < nest.params.size(); ++p) values_[p] = nest.params[p].value;
  }
  double count(NodeId id) {
    return id == kNoNode ? 0 : std::visit([&](const auto& node) { return on(node); }, nest_.nodes[id]);
  }

 private:
  double on(const Seq& seq) {
    double total = 0;
    for (NodeId child : seq.children) total += count(child);
    return total;
  }
  double on(const If& node) { return count(evaluate(node.condition, values_) ? node.then : node.otherwise); }
  double on(const Alloc& node) { return count(node.body); }
  double on(const Sync&) { return 0; }
  double on(const Copy&) { return 0; }
  double on(const Compute& compute) {
    double total = compute.how == Write::accumulate || compute.how == Write::merge ? 1 : 0;
    for (const auto& rhs : compute.rhs) total += operations_of(rhs);
    return total;
  }
  // The body is counted once where nothing inside is bounded by this loop's variable.
  double on(const Loop& loop) {
    const int64_t lo = ir::value_of(loop.lo, true, values_), hi = ir::value_of(loop.hi, false, values_);
    if (hi <= lo) return 0;
    const int64_t trips = (hi - lo + loop.step - 1) / loop.step;
    if (!decides(loop.body, loop.var)) {
      values_[loop.var] = lo;
      return static_cast<double>(trips) * count(loop.body);
    }
    double total = 0;
    for (int64_t v = lo; v < hi; v += loop.step) {
      values_[loop.var] = v;
      total += count(loop.body);
    }
    return total;
  }
  // Variables that bounds and conditions below a node use, found once a node.
  bool decides(NodeId id, VarId var) {
    const auto& used = deciding(id);
    return std::find(used.begin(), used.end(), var) != used.end();
  }
  const std::vector<VarId>& deciding(NodeId id) {
    static const std::vector<VarId> kNone;
    if (id == kNoNode) return kNone;
    auto& known = depends_[id];
    if (!known) {
      std::vector<VarId> out;
      collect(id, out);
      std::sort(out.begin(), out.end());
      out.erase(std::unique(out.begin(), out.end()), out.end());
      known = std::move(out);
    }
    return *known;
  }
  void collect(NodeId id, std::vector<VarId>& out) {
    const auto below = [&](NodeId child) {
      const auto& used = deciding(child);
      out.insert(out.end(), used.begin(), used.end());
    };
    const Node& node = nest_.nodes[id];
    if (const auto* seq = std::get_if<Seq>(&node)) {
      for (NodeId child : seq->children) below(child);
    } else if (const auto* branch = std::get_if<If>(&node)) {
      collect(branch->condition, out);
      below(branch->then);
      below(branch->otherwise);
    } else if (const auto* alloc = std::get_if<Alloc>(&node)) {
      below(alloc->body);
    } else if (const auto* loop = std::get_if<Loop>(&node)) {
      for (const auto* b : {&loop->lo, &loop->hi})
        for (const auto& e : b->of) collect_variables(e, out);
      below(loop->body);
    }
  }
  void collect(const Guard& guard, std::vector<VarId>& out) {
    collect_variables(guard.e, out);
    for (const auto& g : guard.of) collect(g, out);
  }

  const LoopNest& nest_;
  std::vector<int64_t> values_;
  std::vector<std::optional<std::vector<VarId>>> depends_;
};

}  // namespace

double count_flops(const LoopNest& nest) {
  return FlopCounter(nest).count(nest.root);
}

std::vector<ArgumentSpec> argument_specs(const LoopNest& nest, const Program& program) {
  std::vector<ArgumentSpec> specs;
  for (BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[id];
    const Tensor& tensor = program.tensors[buffer.tensor];
    ArgumentSpec spec;
    spec.name = tensor.name;
    spec.type = tensor.type;
    spec.extents = buffer.extents;
    spec.is_output = buffer.is_output;
    spec.partial = tensor.partial;
    spec.is_packed = buffer.is_packed;
    spec.has_values = buffer.values.has_value() || tensor.values_lo.has_value();
    if (spec.has_values) {
      spec.values_lo = buffer.values ? buffer.values->lo : tensor.values_lo->constant;
      spec.values_hi = buffer.values ? buffer.values->hi : tensor.values_hi->constant;
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace polyweft
