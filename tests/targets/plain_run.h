// A plain interpreter of LoopNests, the oracle of compiled kernels: no tags, no speed, one Literal a cell.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ir/values/scalar.h"
#include "polyweft/loop_nest.h"

namespace polyweft::targets_test {

class PlainRun {
 public:
  explicit PlainRun(const LoopNest& nest) : nest_(nest), cells_(nest.buffers.size()) {
    for (const Parameter& p : nest.params) env_.push_back(p.value);
    env_.resize(nest.params.size() + nest.loop_names.size());
    for (BufferId b = 0; b < nest.buffers.size(); ++b) {
      const Buffer& buffer = nest.buffers[b];
      Literal zero;
      zero.type = buffer.type;
      cells_[b].assign(static_cast<size_t>(allocated_elements(buffer)), zero);
      for (size_t k = 0; k < buffer.data.size(); ++k)
        cells_[b][static_cast<size_t>(physical_offset(buffer, index_of(buffer, static_cast<int64_t>(k))))] =
            buffer.data[k];
    }
  }
  /// One tensor an argument, as memory holds it; outputs are updated.
  void run(std::vector<TensorData>& arguments) {
    for (size_t a = 0; a < arguments.size(); ++a)
      for (int64_t k = 0; k < arguments[a].elements(); ++k)
        cells_[nest_.arguments[a]][static_cast<size_t>(k)] = arguments[a].at(k);
    node(nest_.root);
    for (size_t a = 0; a < arguments.size(); ++a)
      if (nest_.buffers[nest_.arguments[a]].is_output)
        for (int64_t k = 0; k < arguments[a].elements(); ++k)
          arguments[a].set(k, cells_[nest_.arguments[a]][static_cast<size_t>(k)]);
  }
  /// The cells of a packed buffer after its pack has run over `source`.
  std::vector<Literal> packed(const Pack& pack, const TensorData& source) {
    for (int64_t k = 0; k < source.elements(); ++k) cells_[pack.source][static_cast<size_t>(k)] = source.at(k);
    node(pack.root);
    return cells_[pack.packed];
  }

 private:
  static std::vector<int64_t> index_of(const Buffer& buffer, int64_t flat) {
    std::vector<int64_t> index(buffer.extents.size());
    for (size_t d = index.size(); d-- > 0; flat /= buffer.extents[d]) index[d] = flat % buffer.extents[d];
    return index;
  }
  void node(NodeId id) {
    if (id == kNoNode) return;
    std::visit([this](const auto& n) { on(n); }, nest_.nodes[id]);
  }
  void on(const Seq& seq) {
    for (NodeId child : seq.children) node(child);
  }
  void on(const Sync&) {}
  void on(const Alloc& alloc) { node(alloc.body); }
  void on(const If& branch) { node(evaluate(branch.condition, env_) ? branch.then : branch.otherwise); }
  void on(const Loop& loop) {
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    for (const Affine& e : loop.lo.of) lo = std::max(lo, evaluate(e, env_));
    for (const Affine& e : loop.hi.of) hi = std::min(hi, evaluate(e, env_));
    for (int64_t i = lo; i < hi; i += loop.step) {
      env_[loop.var] = i;
      node(loop.body);
    }
  }
  void on(const Copy& copy) {
    cell(copy.dst) = copy.has_src && evaluate(copy.valid, env_) ? cell(copy.src) : copy.fill;
  }
  Literal& cell(const Access& access) {
    const Buffer& buffer = nest_.buffers[access.id];
    std::vector<int64_t> index;
    for (size_t d = 0; d < access.index.size(); ++d) {
      int64_t at = evaluate(access.index[d].affine, env_);
      if (access.index[d].data) at += value(access.index[d].data).i;
      EXPECT_TRUE(0 <= at && at < buffer.extents[d]) << buffer.name << " dimension " << d << " at " << at;
      index.push_back(std::clamp<int64_t>(at, 0, buffer.extents[d] - 1));
    }
    return cells_[access.id][static_cast<size_t>(physical_offset(buffer, index))];
  }
  Literal value(const Expr& e) {
    switch (e->op) {
      case Op::literal:
        return e->literal;
      case Op::variable:
        return state_.empty() ? ir::integer_literal(ElementType::i64, env_[e->var]) : state_[e->var];
      case Op::affine:
        return ir::integer_literal(ElementType::i64, evaluate(e->affine, env_));
      case Op::read:
        return cell(e->access);
      case Op::guarded:
        return value(e->args[evaluate(e->guard, env_) ? 0 : 1]);
      default:
        break;
    }
    std::vector<Literal> args;
    for (const Expr& arg : e->args) args.push_back(value(arg));
    return ir::apply(e->op, e->type, args, ir::MathLibrary::own);
  }
  Literal fused(const Expr& e, const Literal& state) {
    if (e->op == Op::add) return fused(e->args[1], fused(e->args[0], state));
    const Literal args[] = {value(e->args[0]), value(e->args[1]), state};
    return ir::apply(Op::fma, e->type, args);
  }
  void on(const Compute& c) {
    if (c.how == Write::init) return init(c);
    std::vector<Literal> terms;
    if (c.fused) {
      cell(c.dst[0]) = fused(c.rhs[0], cell(c.dst[0]));
      return;
    }
    for (const Expr& e : c.rhs) terms.push_back(value(e));
    if (c.how != Write::store) fold(c, terms);
    for (size_t k = 0; k < terms.size(); ++k) cell(c.dst[k]) = terms[k];
  }
  void fold(const Compute& c, std::vector<Literal>& terms) {
    std::vector<Literal> before;
    for (const Access& d : c.dst) before.push_back(cell(d));
    if (c.reducer == Reducer::combiner) {
      std::vector<Literal> both = before;
      both.insert(both.end(), terms.begin(), terms.end());
      std::vector<Literal> out;
      state_ = both;
      for (const Expr& result : nest_.combiners[c.combiner].result) out.push_back(value(result));
      state_.clear();
      terms = out;
    } else if (c.reducer == Reducer::argmax || c.reducer == Reducer::argmin) {
      std::vector<int64_t> mine, best;
      for (size_t k = 1; k < terms.size(); ++k) {
        mine.push_back(terms[k].i);
        best.push_back(before[k].i);
      }
      if (!ir::beats(c.reducer, terms[0], mine, before[0], best)) terms = before;
    } else {
      terms[0] = ir::combine(c.reducer, before[0], terms[0]);
    }
  }
  /// argmax starts from the worst value at an index behind all others.
  void init(const Compute& c) {
    const bool indices = c.reducer == Reducer::argmax || c.reducer == Reducer::argmin;
    for (size_t k = 0; k < c.dst.size(); ++k) {
      const ElementType type = nest_.buffers[c.dst[k].id].type;
      if (c.reducer == Reducer::combiner)
        cell(c.dst[k]) = nest_.combiners[c.combiner].identity[k];
      else if (indices && k > 0)
        cell(c.dst[k]) = ir::integer_literal(ElementType::i64, INT64_MAX);
      else
        cell(c.dst[k]) = ir::identity(c.reducer == Reducer::argmax   ? Reducer::max
                                      : c.reducer == Reducer::argmin ? Reducer::min
                                                                     : c.reducer,
                                      type);
    }
  }

  const LoopNest& nest_;
  std::vector<std::vector<Literal>> cells_;
  std::vector<int64_t> env_;
  std::vector<Literal> state_;
};

}  // namespace polyweft::targets_test
