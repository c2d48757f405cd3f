// A second, deliberately plain interpreter of LoopNests for the tests of src/poly: no tags, no speed.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "ir/values/scalar.h"
#include "polyweft/loop_nest.h"

namespace polyweft::poly_test {

class PlainRun {
 public:
  explicit PlainRun(const LoopNest& nest) : nest_(nest), cells_(nest.buffers.size()), written_(nest.buffers.size()) {
    for (const Parameter& p : nest.params) env_.push_back(p.value);
    env_.resize(nest.params.size() + nest.loop_names.size());
    for (BufferId b = 0; b < nest.buffers.size(); ++b) {
      size_t count = static_cast<size_t>(allocated_elements(nest.buffers[b]));
      Literal zero;
      zero.type = nest.buffers[b].type;
      cells_[b].assign(count, zero);
      written_[b].assign(count, nest.buffers[b].scope == Scope::constant);
      for (size_t k = 0; k < nest.buffers[b].data.size(); ++k) cells_[b][k] = nest.buffers[b].data[k];
    }
  }
  void fill(BufferId b, const TensorData& data) {
    for (int64_t k = 0; k < data.elements(); ++k) cells_[b][static_cast<size_t>(k)] = data.at(k);
    written_[b].assign(cells_[b].size(), true);
  }
  /// Inputs in the order of the arguments; const inputs go through their pack.
  void run(const std::vector<TensorData>& inputs) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      const Pack* pack = nullptr;
      for (const Pack& each : nest_.packs)
        if (each.packed == nest_.arguments[k]) pack = &each;
      fill(pack ? pack->source : nest_.arguments[k], inputs[k]);
      if (pack) node(pack->root);
    }
    node(nest_.root);
  }
  const Literal& cell(BufferId b, int64_t k) const { return cells_[b][static_cast<size_t>(k)]; }
  bool is_written(BufferId b, int64_t k) const { return written_[b][static_cast<size_t>(k)]; }

 private:
  void node(NodeId id) {
    const Node& n = nest_.nodes[id];
    if (auto* seq = std::get_if<Seq>(&n)) {
      for (NodeId child : seq->children) node(child);
    } else if (auto* loop = std::get_if<Loop>(&n)) {
      int64_t lo = INT64_MIN, hi = INT64_MAX;
      for (const Affine& e : loop->lo.of) lo = std::max(lo, evaluate(e, env_));
      for (const Affine& e : loop->hi.of) hi = std::min(hi, evaluate(e, env_));
      for (int64_t i = lo; i < hi; i += loop->step) {
        env_[loop->var] = i;
        node(loop->body);
      }
    } else if (auto* branch = std::get_if<If>(&n)) {
      NodeId next = evaluate(branch->condition, env_) ? branch->then : branch->otherwise;
      if (next != kNoNode) node(next);
    } else if (auto* alloc = std::get_if<Alloc>(&n)) {
      written_[alloc->buffer].assign(written_[alloc->buffer].size(), false);
      node(alloc->body);
    } else if (auto* compute = std::get_if<Compute>(&n)) {
      this->compute(*compute);
    } else if (auto* copy = std::get_if<Copy>(&n)) {
      set(copy->dst, get(copy->src));
    }
  }
  int64_t offset(const Access& access) {
    const Buffer& buffer = nest_.buffers[access.id];
    std::vector<int64_t> index;
    for (size_t d = 0; d < access.index.size(); ++d) {
      int64_t at = evaluate(access.index[d].affine, env_);
      if (access.index[d].data) at += value(access.index[d].data).i;
      EXPECT_TRUE(0 <= at && at < buffer.extents[d]) << buffer.name << " dimension " << d << " at " << at;
      index.push_back(std::min(std::max<int64_t>(at, 0), buffer.extents[d] - 1));
    }
    return physical_offset(buffer, index);
  }
  Literal get(const Access& access) {
    size_t at = static_cast<size_t>(offset(access));
    EXPECT_TRUE(written_[access.id][at]) << nest_.buffers[access.id].name << " is read before it is written";
    return cells_[access.id][at];
  }
  void set(const Access& access, const Literal& value) {
    size_t at = static_cast<size_t>(offset(access));
    cells_[access.id][at] = value;
    written_[access.id][at] = true;
  }
  Literal value(const Expr& e) {
    switch (e->op) {
      case Op::literal:
        return e->literal;
      case Op::variable:
        return ir::integer_literal(ElementType::i64, env_[e->var]);
      case Op::affine:
        return ir::integer_literal(ElementType::i64, evaluate(e->affine, env_));
      case Op::read:
        return get(e->access);
      case Op::guarded:
        return value(e->args[evaluate(e->guard, env_) ? 0 : 1]);
      default:
        break;
    }
    std::vector<Literal> args;
    for (const Expr& arg : e->args) args.push_back(value(arg));
    return ir::apply(e->op, e->type, args);
  }
  Literal of_combiner(const Expr& e, const std::vector<Literal>& state) {
    if (e->op == Op::variable) return state[e->var];
    if (e->op == Op::literal) return e->literal;
    std::vector<Literal> args;
    for (const Expr& arg : e->args) args.push_back(of_combiner(arg, state));
    return ir::apply(e->op, e->type, args);
  }
  void compute(const Compute& c) {
    if (c.how == Write::init) return init(c);
    std::vector<Literal> terms;
    if (c.fused) {
      Literal a = value(c.rhs[0]->args[0]), b = value(c.rhs[0]->args[1]), s = get(c.dst[0]);
      bool is_f32 = c.rhs[0]->type == ElementType::f32;
      double sum = is_f32 ? std::fma(static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(s.f))
                          : std::fma(a.f, b.f, s.f);
      return set(c.dst[0], ir::float_literal(s.type, sum));
    }
    for (const Expr& e : c.rhs) terms.push_back(value(e));
    if (c.how == Write::store) {
      for (size_t k = 0; k < terms.size(); ++k) set(c.dst[k], terms[k]);
      return;
    }
    std::vector<Literal> state;
    for (const Access& d : c.dst) state.push_back(get(d));
    if (c.reducer == Reducer::combiner) {
      state.insert(state.end(), terms.begin(), terms.end());
      for (size_t k = 0; k < c.dst.size(); ++k)
        set(c.dst[k], of_combiner(nest_.combiners[c.combiner].result[k], state));
    } else if (c.reducer == Reducer::argmax || c.reducer == Reducer::argmin) {
      std::vector<int64_t> mine, best;
      for (size_t k = 1; k < terms.size(); ++k) {
        mine.push_back(terms[k].i);
        best.push_back(state[k].i);
      }
      if (best[0] < 0 || ir::beats(c.reducer, terms[0], mine, state[0], best))
        for (size_t k = 0; k < terms.size(); ++k) set(c.dst[k], terms[k]);
    } else {
      set(c.dst[0], ir::combine(c.reducer, state[0], terms[0]));
    }
  }
  /// argmax starts from index -1, which everything beats.
  void init(const Compute& c) {
    for (size_t k = 0; k < c.dst.size(); ++k) {
      ElementType type = nest_.buffers[c.dst[k].id].type;
      if (c.reducer == Reducer::combiner)
        set(c.dst[k], nest_.combiners[c.combiner].identity[k]);
      else if (c.reducer == Reducer::argmax || c.reducer == Reducer::argmin) {
        Literal none = is_float(type) ? ir::float_literal(type, 0) : ir::integer_literal(type, -1);
        set(c.dst[k], none);
      } else
        set(c.dst[k], ir::identity(c.reducer, type));
    }
  }

  const LoopNest& nest_;
  std::vector<std::vector<Literal>> cells_;
  std::vector<std::vector<bool>> written_;
  std::vector<int64_t> env_;
};

}  // namespace polyweft::poly_test
