#include "ir/instantiate/storage.h"

#include <algorithm>

#include "ir/instantiate/tensor_buffers.h"

namespace polyweft::ir {

Storage::Storage(const SizedTemplate& schedule, NestWriter& nest)
    : schedule_(schedule), nest_(nest), views_(schedule.program().tensors.size()) {}

void Storage::add_arguments_and_constants() {
  const Program& program = schedule_.program();
  std::vector<BufferId>& arguments = nest_.nest().arguments;
  for (TensorId id : program.inputs()) arguments.push_back(add_tensor(id));
  for (TensorId id : program.outputs()) arguments.push_back(add_tensor(id));
  for (TensorId id = 0; id < program.tensors.size(); ++id)
    if (program.tensors[id].kind == TensorKind::constant) add_tensor(id);
}

BufferId Storage::add_tensor(TensorId id) {
  TensorBuffer made = tensor_buffer(schedule_, id);
  made.view.buffer = nest_.add_buffer(std::move(made.buffer));
  push(id, made.view);
  return made.view.buffer;
}

BufferId Storage::make_window(const Window& window, TensorId tensor, Scope scope, const std::string& suffix) {
  Buffer buffer;
  const Tensor& of = schedule_.tensor(tensor);
  buffer.name = of.name + suffix;
  buffer.type = of.type;
  buffer.scope = scope;
  buffer.extents = window.extent;
  buffer.layout = row_major(buffer.extents);
  buffer.tensor = schedule_.original(tensor);
  for (size_t d = 0; d < window.origin.size(); ++d)
    buffer.element.push_back(window.origin[d] + Affine::variable(kCellVar + static_cast<VarId>(d)));
  return nest_.add_buffer(std::move(buffer));
}

BufferId Storage::make_rows(TensorId tensor, const std::vector<Affine>& element, std::vector<int64_t> shape,
                            int64_t lanes) {
  Buffer row;
  row.name = schedule_.tensor(tensor).name + ".r";
  row.type = schedule_.tensor(tensor).type;
  row.scope = (lanes & (lanes - 1)) == 0 ? Scope::reg : Scope::stack;
  row.extents = std::move(shape);
  row.extents.push_back(lanes);
  row.layout = row_major(row.extents);
  row.tensor = tensor;
  row.element = element;
  return nest_.add_buffer(std::move(row));
}

const View& Storage::view_of(TensorId tensor, uint32_t stage) {
  const auto& views = views_[tensor];
  for (size_t k = views.size(); k-- > 0;)
    if (!views[k].only_stage || *views[k].only_stage == stage) return views[k];
  const TensorId original = schedule_.original(tensor);
  if (original != tensor) return view_of(original, stage);
  const Tensor& of = schedule_.tensor(tensor);
  nest_.error("PW0314", of.name + " lives inside another loop, and is needed outside of it",
              {"place its readers there too, or distribute it"});
  nowhere_.origin.assign(of.rank, Affine::of(0));
  return nowhere_;
}

Expr Storage::with_buffers(const Expr& e, uint32_t stage) {
  const LoopVariables& variables = nest_.variables();
  return rewrite(e, [&](const Expr& node) -> Expr {
    if (node->op != Op::read) return nullptr;
    const View& view = view_of(node->access.id, stage);
    Access access;
    access.id = view.buffer;
    if (!view.cell.empty()) {  // no gathers: `store` saw to it
      std::vector<Affine> element;
      for (const Subscript& s : node->access.index) element.push_back(variables.without_lanes(s.affine));
      return make_read(node->type, access_to(view, element));
    }
    for (size_t d = 0; d < node->access.index.size(); ++d) {
      Subscript s = node->access.index[d];
      s.affine = variables.without_lanes(s.affine) - view.origin[d];
      access.index.push_back(std::move(s));
    }
    check_register_index(access);
    return make_read(node->type, std::move(access));
  });
}

void Storage::check_register_index(const Access& access) {
  const Buffer& buffer = nest_.buffer(access.id);
  if (buffer.scope != Scope::reg) return;
  for (const Subscript& s : access.index) {
    std::vector<VarId> used;
    collect_variables(s.affine, used);
    const bool fits =
        !s.data && std::all_of(used.begin(), used.end(), [&](VarId var) { return nest_.variables().is_register(var); });
    if (!fits)
      nest_.error("PW0311", "registers: " + buffer.name + " would be indexed by a serial loop",
                  {"unroll or vectorize the loops inside, or use stack or heap"});
  }
}

}  // namespace polyweft::ir
