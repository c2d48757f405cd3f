#include "backend/python_text.h"

#include <algorithm>

#include "backend/python_values.h"
#include "ir/normalize/collapse_reductions.h"
#include "ir/values/float_places.h"
#include "ir/values/kernel_codes.h"
#include "ir/values/scalar.h"

namespace polyweft::backend_test {
namespace {

constexpr int kMostLoops = 20, kMostBlocks = 90, kMostParentheses = 180;  // CPython takes 20, 100 and 200

/// Written at subscripts that are read from elements.
bool depends_on_data(const Access& access) {
  return std::any_of(access.index.begin(), access.index.end(), [](const Subscript& s) { return s.data != nullptr; });
}

/// The statements of one function.
class PythonFunction {
 public:
  PythonFunction(const LoopNest& nest, PythonValues& values) : nest_(nest), values_(values) {}

  std::string text(const std::string& name, const std::vector<BufferId>& arguments, NodeId root) {
    node(root);
    const std::string body = std::move(out_);
    out_.clear();
    Texts names;
    for (BufferId id : arguments) names.push_back(values_.buffer(id));
    for (BufferId id : arguments) open_view(id, values_.buffer(id));
    for (BufferId id : arguments) check_promise(id);
    return "\n\ndef " + name + in_parentheses(joined(names, ", ")) + ":\n" + out_ + body + "    return 0\n";
  }

 private:
  void line(const std::string& text) {
    int open = 0, most = 0;
    for (const char c : text) {
      open += static_cast<int>(c == '(' || c == '[') - static_cast<int>(c == ')' || c == ']');
      most = std::max(most, open);
    }
    if (most > kMostParentheses)
      refuse("expressions of more than " + std::to_string(kMostParentheses) + " parentheses inside one another");
    out_ += std::string(static_cast<size_t>(4 * depth_), ' ') + text + "\n";
  }
  void block(NodeId id) {
    if (++depth_ > kMostBlocks) refuse("more than " + std::to_string(kMostBlocks) + " blocks inside one another");
    const size_t before = out_.size();
    node(id);
    if (out_.size() == before) line("pass");
    --depth_;
  }
  void node(NodeId id) {
    if (id != kNoNode) std::visit([this](const auto& n) { put(n); }, nest_.nodes[id]);
  }

  void open_view(BufferId id, const std::string& bytes) {
    line(values_.buffer(id) + " = " + values_.operators().call("view", {bytes, format_of(nest_.buffers[id].type)}));
  }
  void check_float_promise(BufferId id) {
    const Buffer& b = nest_.buffers[id];
    const ir::FloatRange range = ir::floats_within(b.type, *b.values);
    char text[100];
    std::snprintf(text, sizeof text, "if not all(%.17g <= value <= %.17g for value in ", range.lo, range.hi);
    line(text + values_.buffer(id) + "):");
    line("    return " + std::to_string(ir::kValueOutOfRange));
  }
  /// Packed cells were checked where they came from.
  void check_promise(BufferId id) {
    const Buffer& b = nest_.buffers[id];
    if (!b.values || b.is_packed || !values_.is_read(id)) return;
    if (is_float(b.type)) return check_float_promise(id);
    line("if not all(" + std::to_string(b.values->lo) + " <= value < " + std::to_string(b.values->hi) +
         " for value in " + values_.buffer(id) + "):");
    line("    return " + std::to_string(ir::kValueOutOfRange));
  }

  void put(const Seq& seq) {
    for (NodeId child : seq.children) node(child);
  }
  void put(const Sync&) { refuse("barriers"); }
  void put(const Loop& loop) {
    const std::string& var = values_.variable(loop.var);
    if (loop.mark.kind == MarkKind::tensor) refuse("tensor instructions: loop " + var + " wants " + loop.mark.detail);
    if (++loops_ > kMostLoops) refuse("more than " + std::to_string(kMostLoops) + " loops inside one another");
    const std::string step = loop.step == 1 ? "" : ", " + std::to_string(loop.step);
    line("for " + var + " in range(" + values_.bound(loop.lo, "max") + ", " + values_.bound(loop.hi, "min") + step +
         "):");
    block(loop.body);
    --loops_;
  }
  void put(const If& branch) {
    line("if " + values_.guard(branch.condition) + ":");
    block(branch.then);
    if (branch.otherwise == kNoNode) return;
    line("else:");
    block(branch.otherwise);
  }
  void put(const Alloc& alloc) {
    const Buffer& b = nest_.buffers[alloc.buffer];
    const int64_t bytes = allocated_elements(b) * size_bytes(b.type);
    std::string memory = "bytearray(" + std::to_string(bytes) + ")";
    if (b.within && bytes > 0)
      memory = "memoryview(" + values_.buffer(b.within->host) + ").cast('B')[" + std::to_string(b.within->at_bytes) +
               ":" + std::to_string(b.within->at_bytes + bytes) + "]";
    open_view(alloc.buffer, memory);
    node(alloc.body);
  }
  void put(const Copy& copy) {
    const std::string fill = literal_text(copy.fill);
    if (!copy.has_src) return line(values_.element(copy.dst) + " = " + fill);
    const std::string source = values_.read(copy.src);
    line(values_.element(copy.dst) + " = " + source +
         (copy.valid.is_true() ? "" : " if " + values_.guard(copy.valid) + " else " + fill));
  }
  void put(const Compute& compute) {
    if (compute.how == Write::init) return put_init(compute);
    if (compute.how == Write::store) return assign(compute, values_of(compute));
    if (compute.reducer == Reducer::combiner) return put_combined(compute);
    if (ir::is_argument(compute.reducer)) return put_best(compute);
    const ExprNode& term = *compute.rhs[0];
    const std::string state = values_.read(compute.dst[0]);
    if (compute.fused) return assign(compute, {values_.fused_sum(term, state)});
    assign(compute,
           {values_.operators().apply(*ir::combining_op(compute.reducer), term.type, {state, values_.value(term)})});
  }

  Texts values_of(const Compute& compute) {
    Texts out;
    for (const Expr& e : compute.rhs) out.push_back(values_.value(*e));
    return out;
  }
  /// All values are there before any is written; of several places, a later one is found after earlier writes.
  void assign(const Compute& compute, const Texts& values) {
    Texts places;
    for (const Access& dst : compute.dst) {
      if (depends_on_data(dst) && compute.dst.size() > 1)
        refuse("tuples at places that data decides: buffer " + nest_.buffers[dst.id].name);
      places.push_back(values_.element(dst));
    }
    line(joined(places, ", ") + " = " + joined(values, ", "));
  }

  void put_init(const Compute& compute) {
    Texts first;
    for (size_t k = 0; k < compute.dst.size(); ++k) {
      const ElementType type = nest_.buffers[compute.dst[k].id].type;
      Literal value = compute.reducer == Reducer::combiner ? nest_.combiners[compute.combiner].identity[k]
                                                           : ir::identity(compute.reducer, type);
      if (ir::is_argument(compute.reducer) && k > 0) value = {type, 0, INT64_MAX};
      first.push_back(literal_text(value));
    }
    assign(compute, first);
  }
  void put_best(const Compute& compute) {
    line("found = " + joined(values_of(compute), ", "));
    Texts best;
    for (const Access& dst : compute.dst) best.push_back(values_.read(dst));
    const char* is_greatest = compute.reducer == Reducer::argmax ? "True" : "False";
    line("if " + values_.operators().call("beats", {is_greatest, "found", in_parentheses(joined(best, ", "))}) + ":");
    ++depth_;
    assign(compute, {"found"});
    --depth_;
  }
  void put_combined(const Compute& compute) {
    Texts state, next;
    for (const Access& dst : compute.dst) state.push_back(values_.read(dst));
    for (std::string& term : values_of(compute)) state.push_back(std::move(term));
    line("state = " + joined(state, ", "));
    for (const Expr& e : nest_.combiners[compute.combiner].result) next.push_back(values_.component(*e));
    assign(compute, next);
  }

  const LoopNest& nest_;
  PythonValues& values_;
  std::string out_;
  int depth_ = 1, loops_ = 0;
};

/// Cells in physical order.
std::string constant_text(const Buffer& b) {
  Texts cells(static_cast<size_t>(allocated_elements(b)), "0");
  std::vector<int64_t> index(b.extents.size());
  for (size_t flat = 0; flat < b.data.size(); ++flat) {
    auto rest = static_cast<int64_t>(flat);
    for (size_t d = index.size(); d-- > 0; rest /= b.extents[d]) index[d] = rest % b.extents[d];
    cells[static_cast<size_t>(physical_offset(b, index))] = literal_text(b.data[flat]);
  }
  return "[" + joined(cells, ", ") + "]";
}

void refuse_nests_without_python(const LoopNest& nest) {
  if (nest.symbolic) refuse("symbolic kernels");
  for (const Buffer& b : nest.buffers)
    if (b.type == ElementType::f16 || b.type == ElementType::bf16)
      refuse(std::string("type ") + name_of(b.type) + ": buffer " + b.name);
}

PythonModule printed(const LoopNest& nest, const std::string& symbol) {
  refuse_nests_without_python(nest);
  PythonModule out;
  ModuleNames names;
  out.functions.push_back(names.open(symbol));
  for (const Pack& pack : nest.packs)
    out.functions.push_back(names.open(symbol + "_pack_" + nest.buffers[pack.source].name));
  PythonValues values(nest, names);
  std::string functions;
  for (size_t k = 0; k < nest.packs.size(); ++k)
    functions += PythonFunction(nest, values)
                     .text(out.functions[k + 1], {nest.packs[k].source, nest.packs[k].packed}, nest.packs[k].root);
  functions += PythonFunction(nest, values).text(out.functions[0], nest.arguments, nest.root);
  std::string constants;
  for (BufferId id = 0; id < nest.buffers.size(); ++id)
    if (nest.buffers[id].scope == Scope::constant)
      constants += values.buffer(id) + " = " + constant_text(nest.buffers[id]) + "\n";
  out.text =
      "# " + out.functions[0] +
      ", printed by Polyweft. Arguments are the bytes of inputs and outputs, row-major.\nimport math\nimport struct\n" +
      (constants.empty() ? "" : "\n" + constants) + values.operators().definitions() + functions;
  return out;
}

}  // namespace

Result<PythonModule> python_module(const LoopNest& nest, const std::string& symbol) {
  try {
    return printed(nest, symbol);
  } catch (const NoPython& no) {
    return no.error;
  }
}

bool is_free_in_python(const std::string& symbol) {
  const bool is_identifier = !symbol.empty() && is_word(symbol) && !(symbol[0] >= '0' && symbol[0] <= '9');
  return is_identifier && !taken_names().contains(symbol);
}

}  // namespace polyweft::backend_test
