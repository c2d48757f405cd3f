#include "ir/passes/register_blocks.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ir/nests/row_walk.h"

namespace polyweft::ir {
namespace {

using Renaming = std::map<VarId, Affine>;

bool is_plain_loop(const Loop& loop) {
  return loop.mark.kind == MarkKind::serial && loop.step == 1 && loop.lo.of.size() == 1 && loop.hi.of.size() == 1;
}
Affine lo_of(const Loop& loop) {
  return loop.lo.of[0];
}
Affine hi_of(const Loop& loop) {
  return loop.hi.of[0];
}
Access substituted(Access access, const Renaming& at) {
  for (Subscript& s : access.index) s.affine = substitute(s.affine, at);
  return access;
}

/// The loops that the shape wants.
struct BlockSite {
  Loop rows, columns;
  VarId start_column = kNoVar;  ///< of the loop that starts the sums
  Compute start, add;
  std::vector<NodeId> reduction;  ///< loops and conditions around `add`, outermost first
};

class Blocks {
 public:
  Blocks(LoopNest nest, const BlockShape& shape) : nest_(std::move(nest)), shape_(shape) {}

  LoopNest run() {
    const size_t count = nest_.nodes.size();
    for (NodeId id = 0; id < count; ++id)
      if (auto found = match(id)) {
        const NodeId made = all_rows(*found);
        nest_.nodes[id] = Seq{{made}};
      }
    return std::move(nest_);
  }

 private:
  template <class T>
  const T* at(NodeId id) const {
    return std::get_if<T>(&nest_.nodes[id]);
  }

  std::optional<BlockSite> match(NodeId id) const {
    const Loop* rows = at<Loop>(id);
    const Seq* parts = rows && is_plain_loop(*rows) ? at<Seq>(rows->body) : nullptr;
    if (!parts || parts->children.size() != 2) return std::nullopt;
    const Loop* first = at<Loop>(parts->children[0]);
    const Compute* start = first && is_plain_loop(*first) ? at<Compute>(first->body) : nullptr;
    if (!start || start->how != Write::init || start->dst.size() != 1 || start->reducer == Reducer::combiner)
      return std::nullopt;
    BlockSite out{*rows, *first, first->var, *start, {}, {}};
    NodeId next = parts->children[1];
    while (true) {
      if (const If* branch = at<If>(next)) {
        if (branch->otherwise != kNoNode || mentions(branch->condition, rows->var)) return std::nullopt;
        out.reduction.push_back(next);
        next = branch->then;
        continue;
      }
      const Loop* loop = at<Loop>(next);
      if (!loop || !is_plain_loop(*loop) || mentions(lo_of(*loop), rows->var) || mentions(hi_of(*loop), rows->var))
        return std::nullopt;
      if (const Compute* add = at<Compute>(loop->body)) {
        out.columns = *loop;
        out.add = *add;
        break;
      }
      out.reduction.push_back(next);
      next = loop->body;
    }
    return fits(out, *first) ? std::optional(out) : std::nullopt;
  }

  bool fits(const BlockSite& f, const Loop& first) const {
    if (f.reduction.empty() || !(lo_of(first) == lo_of(f.columns)) || !(hi_of(first) == hi_of(f.columns))) return false;
    if (f.add.how != Write::accumulate || f.add.dst.size() != 1 || f.add.reducer != f.start.reducer ||
        f.add.dst[0].id != f.start.dst[0].id)
      return false;
    for (NodeId id : f.reduction)
      if (const Loop* loop = at<Loop>(id))
        if (mentions(lo_of(f.columns), loop->var) || mentions(hi_of(f.columns), loop->var)) return false;
    if (mentions(lo_of(f.columns), f.rows.var) || mentions(hi_of(f.columns), f.rows.var)) return false;
    const Access& target = f.add.dst[0];
    const Buffer& buffer = nest_.buffers[target.id];
    if (!is_float(buffer.type) || size_bytes(buffer.type) < 4 || !buffer.folds.empty()) return false;
    const Access start = substituted(f.start.dst[0], {{f.start_column, Affine::variable(f.columns.var)}});
    int rows = 0;
    for (size_t d = 0; d < target.index.size(); ++d) {
      const Affine& e = target.index[d].affine;
      const bool is_last = d + 1 == target.index.size();
      if (!(e == start.index[d].affine) || mentions(e, f.columns.var) != is_last) return false;
      if (is_last && (e.coefficient(f.columns.var) != 1 || !e.is_linear() || mentions(e, f.rows.var))) return false;
      if (is_last || !mentions(e, f.rows.var)) continue;
      if (e.coefficient(f.rows.var) != 1 || !e.is_linear()) return false;
      ++rows;
    }
    return rows == 1 && reads_fit(f);
  }

  /// Of one type; not of the sums; standing still or in rows along the columns.
  bool reads_fit(const BlockSite& f) const {
    const Access& target = f.add.dst[0];
    bool fits = true, along = false;
    visit(f.add.rhs[0], [&](const ExprNode& node) {
      fits = fits && node.type == nest_.buffers[target.id].type;
      if (node.op == Op::guarded) fits = false;
      if (node.op != Op::read) return;
      fits = fits && node.access.id != target.id;
      for (size_t d = 0; d < node.access.index.size() && fits; ++d) {
        const Subscript& s = node.access.index[d];
        fits = !s.data;
        if (!fits || !mentions(s.affine, f.columns.var)) continue;
        fits = d + 1 == node.access.index.size() && s.affine.is_linear() && s.affine.coefficient(f.columns.var) == 1 &&
               nest_.buffers[node.access.id].folds.empty();
        along = true;
      }
    });
    return fits && along;
  }

  int64_t lanes(const BlockSite& f) const {
    return shape_.vector_bytes / size_bytes(nest_.buffers[f.add.dst[0].id].type);
  }
  VarId fresh(VarId like) { return nest_.new_loop_var(std::string(nest_.loop_names[like - nest_.params.size()])); }
  NodeId loop(VarId var, Affine lo, std::vector<Affine> hi, int64_t step, NodeId body, Mark mark = {}) {
    Loop out;
    out.var = var;
    out.lo = {{std::move(lo)}};
    out.hi = {std::move(hi)};
    out.step = step;
    out.mark = std::move(mark);
    out.body = body;
    return nest_.add(std::move(out));
  }
  NodeId where_some(const Affine& count, NodeId then) {
    If out;
    out.condition = guard_ge0(count - Affine::of(1));
    out.then = then;
    return nest_.add(std::move(out));
  }

  NodeId all_rows(const BlockSite& f) {
    const Affine lo = lo_of(f.rows), hi = hi_of(f.rows), count = hi - lo;
    const VarId block = fresh(f.rows.var), single = fresh(f.rows.var);
    const NodeId whole = loop(block, lo, {hi - Affine::of(shape_.rows - 1)}, shape_.rows,
                              all_columns(f, Affine::variable(block), shape_.rows));
    const NodeId rest = loop(single, lo + shape_.rows * floor_div(count, shape_.rows), {hi}, 1,
                             all_columns(f, Affine::variable(single), 1));
    return nest_.add(Seq{{whole, where_some(count, rest)}});
  }

  NodeId all_columns(const BlockSite& f, const Affine& row, int64_t rows) {
    const Affine lo = lo_of(f.columns), hi = hi_of(f.columns), count = hi - lo;
    const int64_t width = shape_.vectors * lanes(f);
    const VarId block = fresh(f.columns.var), single = fresh(f.columns.var);
    const NodeId whole = loop(block, lo, {hi - Affine::of(width - 1)}, width,
                              sums(f, {row, rows, Affine::variable(block), shape_.vectors, false}));
    const NodeId rest = loop(single, lo + width * floor_div(count, width), {hi}, lanes(f),
                             sums(f, {row, rows, Affine::variable(single), 1, true}));
    return nest_.add(Seq{{whole, where_some(count, rest)}});
  }

  struct Block {
    Affine row;
    int64_t rows;
    Affine column;
    int64_t vectors;
    bool masked;
  };

  NodeId sums(const BlockSite& f, const Block& block) {
    const Access& target = f.add.dst[0];
    const Buffer& whole = nest_.buffers[target.id];
    Buffer held;
    held.name = whole.name + "_block";
    held.type = whole.type;
    held.scope = Scope::reg;
    held.extents = {block.rows, block.vectors * lanes(f)};
    if (nest_.symbolic)
      for (int64_t extent : held.extents) held.shape.push_back(Affine::of(extent));
    held.layout = row_major(held.extents);
    held.tensor = whole.tensor;
    Renaming cells, place{{f.rows.var, block.row + Affine::variable(kCellVar)},
                          {f.columns.var, block.column + Affine::variable(kCellVar + 1)}};
    for (size_t d = 0; d < target.index.size(); ++d)
      cells[kCellVar + static_cast<VarId>(d)] = substitute(target.index[d].affine, place);
    for (const Affine& e : whole.element) held.element.push_back(substitute(e, cells));
    nest_.buffers.push_back(std::move(held));
    const auto id = static_cast<BufferId>(nest_.buffers.size() - 1);
    const NodeId start = over(f, block, {}, [&](const Renaming& at, const Access& cell) {
      Compute out = f.start;
      Renaming here = at;
      here[f.start_column] = at.at(f.columns.var);
      for (Affine& e : out.instance) e = substitute(e, here);
      out.dst = {named(cell, id)};
      return nest_.add(std::move(out));
    });
    const NodeId add = reduction(f, block, id, 0, {});
    const NodeId end = over(f, block, {}, [&](const Renaming& at, const Access& cell) {
      Copy out;
      out.dst = substituted(target, at);
      out.src = named(cell, id);
      out.fill.type = nest_.buffers[id].type;
      return nest_.add(std::move(out));
    });
    const NodeId body = nest_.add(Seq{{start, add, end}});
    return nest_.add(Alloc{id, body});
  }
  static Access named(Access cell, BufferId id) {
    cell.id = id;
    return cell;
  }

  NodeId reduction(const BlockSite& f, const Block& block, BufferId id, size_t depth, const Renaming& outer) {
    if (depth == f.reduction.size())
      return over(f, block, outer, [&](const Renaming& at, const Access& cell) {
        Compute out = f.add;
        for (Affine& e : out.instance) e = substitute(e, at);
        for (Expr& e : out.rhs) e = substitute(e, at);
        out.dst = {named(cell, id)};
        return nest_.add(std::move(out));
      });
    if (const If* branch = at<If>(f.reduction[depth])) {
      If out;
      out.condition = substitute(branch->condition, outer);
      out.then = reduction(f, block, id, depth + 1, outer);
      return nest_.add(std::move(out));
    }
    const Loop around = *at<Loop>(f.reduction[depth]);
    Renaming inner = outer;
    const VarId var = fresh(around.var);
    inner[around.var] = Affine::variable(var);
    const NodeId body = reduction(f, block, id, depth + 1, inner);
    return loop(var, substitute(lo_of(around), outer), {substitute(hi_of(around), outer)}, 1, body);
  }

  /// Rows and vectors written out, the lanes of a vector inside.
  NodeId over(const BlockSite& f, const Block& block, Renaming at,
              const std::function<NodeId(const Renaming&, const Access&)>& leaf) {
    const int64_t width = lanes(f);
    const VarId r = fresh(f.rows.var), u = fresh(f.columns.var), v = fresh(f.columns.var);
    const Affine column = width * Affine::variable(u) + Affine::variable(v);
    at[f.rows.var] = block.row + Affine::variable(r);
    at[f.columns.var] = block.column + column;
    Access cell;
    cell.index = {{Affine::variable(r), nullptr, {}, {}}, {column, nullptr, {}, {}}};
    std::vector<Affine> ends{Affine::of(width)};
    if (block.masked) ends.push_back(hi_of(f.columns) - block.column);
    Mark unroll, vector;
    unroll.kind = MarkKind::unroll;
    vector.kind = MarkKind::vector;
    vector.width = static_cast<int32_t>(width);
    const NodeId body = leaf(at, cell);
    const NodeId lanes = loop(v, Affine::of(0), std::move(ends), 1, body, vector);
    const NodeId vectors = loop(u, Affine::of(0), {Affine::of(block.vectors)}, 1, lanes, unroll);
    return loop(r, Affine::of(0), {Affine::of(block.rows)}, 1, vectors, unroll);
  }

  LoopNest nest_;
  BlockShape shape_;
};

}  // namespace

BlockShape block_shape(const Target& target) {
  BlockShape out;
  out.vector_bytes = target.machine.vector_bytes();
  out.vectors = std::max<int64_t>(1, target.machine.units.vector_registers / 2 / out.rows);
  return out;
}

LoopNest block_rows(LoopNest nest, const BlockShape& shape) {
  return Blocks(std::move(nest), shape).run();
}

}  // namespace polyweft::ir
