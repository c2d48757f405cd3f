// Runs a LoopNest element by element, straight from the meaning of its nodes, for the property tests of schedules:
// written apart from the library's interpreter, so that a shared misreading would show.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "ir/values/scalar.h"
#include "polyweft/loop_nest.h"

namespace polyweft::test {

class PlainRun {
 public:
  PlainRun(const LoopNest& nest, const std::vector<TensorData>& inputs)
      : nest_(nest), cells_(nest.buffers.size()), env_(nest.params.size() + nest.loop_names.size(), 0) {
    for (size_t p = 0; p < nest.params.size(); ++p) env_[p] = nest.params[p].value;
    for (BufferId id = 0; id < nest.buffers.size(); ++id) {
      const Buffer& buffer = nest.buffers[id];
      if (buffer.scope == Scope::constant || buffer.scope == Scope::argument)
        cells_[id].resize(static_cast<size_t>(allocated_elements(buffer)));
      if (buffer.scope == Scope::constant)
        for (size_t k = 0; k < buffer.data.size(); ++k) cells_[id][k] = {buffer.data[k], true};
    }
    size_t next = 0;
    for (BufferId id : nest.arguments) {
      if (nest.buffers[id].is_output) continue;
      BufferId target = id;
      for (const Pack& pack : nest.packs)
        if (pack.packed == id) target = pack.source;
      const TensorData& data = inputs.at(next++);
      for (int64_t k = 0; k < data.elements(); ++k) cells_[target].at(static_cast<size_t>(k)) = {data.at(k), true};
    }
    for (const Pack& pack : nest.packs) run(pack.root);
    run(nest.root);
  }

  std::vector<TensorData> outputs() const {
    std::vector<TensorData> out;
    for (BufferId id : nest_.arguments) {
      if (!nest_.buffers[id].is_output) continue;
      out.push_back(make_tensor(nest_.buffers[id].type, nest_.buffers[id].extents));
      for (int64_t k = 0; k < out.back().elements(); ++k)
        if (cells_[id][static_cast<size_t>(k)].known) out.back().set(k, cells_[id][static_cast<size_t>(k)].value);
    }
    return out;
  }
  int64_t computes() const { return computes_; }

 private:
  struct Cell {
    Literal value;
    bool known = false;
  };
  [[noreturn]] static void stop(const std::string& what) { throw std::runtime_error(what); }
  Cell& cell(const Access& access) {
    const Buffer& buffer = nest_.buffers[access.id];
    std::vector<int64_t> index;
    index.reserve(access.index.size());
    for (size_t d = 0; d < access.index.size(); ++d) {
      int64_t at = evaluate(access.index[d].affine, env_);
      if (access.index[d].data) at += value(access.index[d].data).i;
      if (at < 0 || at >= buffer.extents[d])
        stop(buffer.name + ": index " + std::to_string(at) + " outside extent " + std::to_string(buffer.extents[d]) +
             " of dimension " + std::to_string(d));
      index.push_back(at);
    }
    return cells_[access.id].at(static_cast<size_t>(physical_offset(buffer, index)));
  }
  Literal value(const Expr& e) {
    switch (e->op) {
      case Op::literal:
        return e->literal;
      case Op::variable:
        return ir::integer_literal(ElementType::i64, env_[e->var]);
      case Op::affine:
        return ir::integer_literal(ElementType::i64, evaluate(e->affine, env_));
      case Op::guarded:
        return value(e->args[evaluate(e->guard, env_) ? 0 : 1]);
      case Op::read: {
        Cell& c = cell(e->access);
        if (!c.known) stop(nest_.buffers[e->access.id].name + ": a cell is read before it is written");
        return c.value;
      }
      default: {
        std::vector<Literal> args;
        for (const Expr& arg : e->args) args.push_back(value(arg));
        return ir::apply(e->op, e->type, args);
      }
    }
  }
  void run(NodeId id) {
    std::visit([&](const auto& node) { step(node); }, nest_.nodes.at(id));
  }
  void step(const Seq& seq) {
    for (NodeId child : seq.children) run(child);
  }
  void step(const If& branch) {
    if (evaluate(branch.condition, env_))
      run(branch.then);
    else if (branch.otherwise != kNoNode)
      run(branch.otherwise);
  }
  void step(const Alloc& alloc) {
    cells_[alloc.buffer].assign(static_cast<size_t>(allocated_elements(nest_.buffers[alloc.buffer])), Cell{});
    run(alloc.body);
    cells_[alloc.buffer].clear();
  }
  void step(const Loop& loop) {
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    for (const Affine& e : loop.lo.of) lo = std::max(lo, evaluate(e, env_));
    for (const Affine& e : loop.hi.of) hi = std::min(hi, evaluate(e, env_));
    if (loop.mark.kind == MarkKind::vector && hi - lo > loop.mark.width) stop("vector loop is wider than its lanes");
    for (int64_t v = lo; v < hi; v += loop.step) {
      env_[loop.var] = v;
      run(loop.body);
    }
  }
  void step(const Copy& copy) {
    Cell& dst = cell(copy.dst);
    if (!copy.has_src || !evaluate(copy.valid, env_)) {
      dst = {copy.fill, true};
      return;
    }
    dst = Cell(cell(copy.src));  // what nobody has written stays so, and may be copied, not read
  }
  void step(const Sync&) {}
  void step(const Compute& c) {
    ++computes_;
    if (c.how == Write::init) {
      for (size_t k = 0; k < c.dst.size(); ++k) cell(c.dst[k]) = {identity(c, k), true};
      return;
    }
    std::vector<Literal> values;
    if (!c.fused)
      for (const Expr& e : c.rhs) values.push_back(value(e));
    if (c.how == Write::store) {
      for (size_t k = 0; k < c.dst.size(); ++k) cell(c.dst[k]) = {values[k], true};
      return;
    }
    std::vector<Literal> state;
    for (const Access& dst : c.dst) {
      const Cell& first = cell(dst);
      if (!first.known) stop(nest_.buffers[dst.id].name + ": accumulates into a cell without a first value");
      state.push_back(first.value);
    }
    std::vector<Literal> next = folded(c, state, values);
    for (size_t k = 0; k < c.dst.size(); ++k) cell(c.dst[k]) = {next[k], true};
  }
  Literal identity(const Compute& c, size_t k) const {
    ElementType type = nest_.buffers[c.dst[k].id].type;
    if (c.reducer == Reducer::combiner) return nest_.combiners[c.combiner].identity[k];
    if (c.reducer != Reducer::argmax && c.reducer != Reducer::argmin) return ir::identity(c.reducer, type);
    if (k > 0) return ir::integer_literal(type, -1);
    return ir::identity(c.reducer == Reducer::argmax ? Reducer::max : Reducer::min, type);
  }
  Literal fused(const Expr& e, const Literal& state) {
    if (e->op == Op::add) return fused(e->args[1], fused(e->args[0], state));
    return ir::apply(Op::fma, e->type, std::vector<Literal>{value(e->args[0]), value(e->args[1]), state});
  }
  std::vector<Literal> folded(const Compute& c, const std::vector<Literal>& state, const std::vector<Literal>& values) {
    if (c.fused) return {fused(c.rhs[0], state[0])};
    if (c.reducer == Reducer::combiner) return combined(nest_.combiners[c.combiner], state, values);
    if (c.reducer != Reducer::argmax && c.reducer != Reducer::argmin)
      return {ir::combine(c.reducer, state[0], values[0])};
    std::vector<int64_t> best, index;
    for (size_t k = 1; k < values.size(); ++k) best.push_back(state[k].i), index.push_back(values[k].i);
    bool is_first = state[1].i == -1;
    return is_first || ir::beats(c.reducer, values[0], index, state[0], best) ? values : state;
  }
  std::vector<Literal> combined(const Combiner& combiner, const std::vector<Literal>& a,
                                const std::vector<Literal>& b) {
    std::vector<Literal> operands = a;
    operands.insert(operands.end(), b.begin(), b.end());
    std::vector<Literal> out;
    for (const Expr& e : combiner.result) out.push_back(combiner_value(e, operands));
    return out;
  }
  Literal combiner_value(const Expr& e, const std::vector<Literal>& operands) {
    if (e->op == Op::variable) return operands.at(e->var);
    if (e->op == Op::literal) return e->literal;
    std::vector<Literal> args;
    for (const Expr& arg : e->args) args.push_back(combiner_value(arg, operands));
    return ir::apply(e->op, e->type, args);
  }

  const LoopNest& nest_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<int64_t> env_;
  int64_t computes_ = 0;
};

}  // namespace polyweft::test
