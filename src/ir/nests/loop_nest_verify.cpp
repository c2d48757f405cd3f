// Structural rules of LoopNest: what printer, interpreter, checker and code generation rely on without asking again.
//   PW0411 tree and variables   PW0412 buffers and layouts   PW0413 accesses   PW0414 marks   PW0415 types and writes
//   PW0416, PW0417 tensor marks
#include <algorithm>
#include <set>

#include "ir/nests/axes.h"
#include "ir/nests/instruction.h"
#include "ir/nests/loop_nest_rules.h"
#include "ir/text/loop_nest_text.h"

namespace polyweft {
namespace {

constexpr int64_t kFarthestPrefetch = int64_t{1} << 24;

using namespace ir;

class Verifier {
 public:
  explicit Verifier(const LoopNest& nest) : nest_(nest) {}

  void whole() {
    require(nest_.buffers.size() <= kMaxNestBuffers, "PW0412", "nest: too many buffers");
    require(nest_.params.size() + nest_.loop_names.size() <= kMaxNestVariables, "PW0411", "nest: too many variables");
    in_scope_.assign(nest_.params.size() + nest_.loop_names.size(), false);
    mark_of_.assign(in_scope_.size(), MarkKind::serial);
    bound_.assign(in_scope_.size(), false);
    for (size_t p = 0; p < nest_.params.size(); ++p) in_scope_[p] = true;
    used_.assign(nest_.nodes.size(), false);
    by_thread_.assign(in_scope_.size(), false);
    live_.assign(nest_.buffers.size(), false);
    allocated_.assign(nest_.buffers.size(), false);
    sizes();
    tasks_of_.assign(nest_.buffers.size(), 0);
    for (const Buffer& b : nest_.buffers)
      if (nest_.symbolic) shape(b);
    verify_buffers(nest_);
    for (const Buffer& b : nest_.buffers)
      require(!nest_.auto_vectorized || (b.scope != Scope::reg && b.scope != Scope::tile), "PW0412",
              "buffer " + b.name + ": registers in a nest that is left to the compiler's vectorizers");
    packs();
    open_arguments(kNoNode);
    body(nest_.root, 0);
  }

 private:
  const std::string& name(BufferId id) const { return nest_.buffers[id].name; }

  // --- what only symbolic nests have ---
  void sizes() const {
    require(nest_.symbolic || nest_.assumptions.empty(), "PW0418", "nest: assumptions about sizes that are constants");
    require(nest_.assumptions.size() <= 256, "PW0418", "nest: more than 256 assumptions");
    for (const Guard& g : nest_.assumptions) guard(g, 0);
    for (const Buffer& b : nest_.buffers)
      require(nest_.symbolic || (b.shape.empty() && b.promise.empty()), "PW0418",
              "buffer " + b.name + ": a shape over sizes that are constants");
  }

  /// Checked before any loop variable is in scope.
  void shape(const Buffer& b) const {
    const std::string subject = "buffer " + b.name;
    require(b.shape.size() == b.extents.size(), "PW0418", subject + ": its shape has another rank");
    require(b.promise.empty() || (b.promise.size() == 2 && !b.values && b.scope == Scope::argument && !b.is_output &&
                                  is_integer(b.type)),
            "PW0418", subject + ": values are promised of integer inputs only");
    for (const Affine& e : b.promise) affine(e, 0);
    bool constant = true;
    for (size_t d = 0; d < b.shape.size(); ++d) {
      affine(b.shape[d], 0);
      require(b.extents[d] == (b.shape[d].is_constant() ? b.shape[d].constant : kSymbolicExtent), "PW0418",
              subject + ": extents and shape differ");
      constant = constant && b.extents[d] >= 0;
    }
    if (constant) return;
    require(b.scope == Scope::argument || b.scope == Scope::heap, "PW0418",
            subject + ": only arguments and the heap have sizes that are no constants");
    require(b.layout == row_major(folded_extents(b)), "PW0418",
            subject + ": of sizes that are no constants it must be row-major");
  }

  void packs() {
    for (const Pack& p : nest_.packs) {
      live_.assign(nest_.buffers.size(), false);
      live_[p.source] = live_[p.packed] = true;
      writable_ = {p.packed};
      body(p.root, 0);
    }
  }

  /// The kernel proper: arguments and constants live, pack sources not.
  void open_arguments(NodeId) {
    live_.assign(nest_.buffers.size(), false);
    writable_.clear();
    for (BufferId id : nest_.arguments) {
      live_[id] = true;
      if (nest_.buffers[id].is_output) writable_.insert(id);
    }
    for (BufferId id = 0; id < nest_.buffers.size(); ++id)
      live_[id] = live_[id] || nest_.buffers[id].scope == Scope::constant;
  }

  // --- tree ---
  void body(NodeId id, size_t depth) {
    require(id < nest_.nodes.size(), "PW0411", "nest: a body is missing");
    require(!used_[id], "PW0411", "nest: node " + std::to_string(id) + " is used twice");
    require(depth <= kMaxStatementDepth, "PW0411",
            "nest: nesting is deeper than " + std::to_string(kMaxStatementDepth));
    used_[id] = true;
    std::visit([&](const auto& node) { put(node, depth); }, nest_.nodes[id]);
  }

  void put(const Seq& seq, size_t depth) {
    for (NodeId child : seq.children) body(child, depth + 1);
  }

  void put(const If& branch, size_t depth) {
    guard(branch.condition, 0);
    bool varies = varies_by_thread(branch.condition);
    varying_ += varies;
    body(branch.then, depth + 1);
    if (branch.otherwise != kNoNode) body(branch.otherwise, depth + 1);
    varying_ -= varies;
  }

  void put(const Alloc& alloc, size_t depth) {
    require(alloc.buffer < nest_.buffers.size(), "PW0412", "alloc: unknown buffer");
    const Buffer& b = nest_.buffers[alloc.buffer];
    require(b.scope != Scope::argument && b.scope != Scope::constant, "PW0412",
            "alloc " + b.name + ": arguments and constants live always");
    require(!allocated_[alloc.buffer], "PW0412", "alloc " + b.name + ": allocated twice");
    for (const Affine& e : b.element) affine(e, b.extents.size());
    if (b.within) {
      const bool is_argument = nest_.buffers[b.within->host].scope == Scope::argument;
      require(live_[b.within->host], "PW0413", "alloc " + b.name + ": what it lies within is not live");
      require(tasks_around_ == (is_argument ? 0 : tasks_of_[b.within->host]), "PW0412",
              "alloc " + b.name + ": tasks would share its memory");
    }
    tasks_of_[alloc.buffer] = tasks_around_;
    allocated_[alloc.buffer] = live_[alloc.buffer] = true;
    writable_.insert(alloc.buffer);
    require(b.scope != Scope::shared || !in_threads(), "PW0412",
            "alloc " + b.name + ": what a block shares is allocated outside its loops over threads");
    const ir::Instruction* const of_warp =
        b.scope == Scope::tile ? ir::warp_instruction_of(nest_, alloc.body, alloc.buffer) : nullptr;
    if (of_warp) sums_of_warp(b, of_warp->lanes());
    const int64_t tiles = b.scope == Scope::tile && !of_warp ? tiles_of(b) : 0;
    live_tiles_ += tiles;
    body(alloc.body, depth + 1);
    live_tiles_ -= tiles;
    live_[alloc.buffer] = false;
  }

  /// Sums that the lanes of a warp hold.
  void sums_of_warp(const Buffer& b, int64_t lanes) const {
    const int64_t cells = allocated_elements(b) / lanes;
    require(cells <= ir::kLaneSums, "PW0412",
            "alloc " + b.name + ": " + std::to_string(cells) + " cells in each lane of a warp, which holds at most " +
                std::to_string(ir::kLaneSums));
  }

  /// Sums in tiles: whole ones, and no more than leave room for what an instruction reads.
  int64_t tiles_of(const Buffer& b) const {
    require(b.type == ElementType::f32 || b.type == ElementType::i32, "PW0412",
            "alloc " + b.name + ": a tile holds f32 or i32");
    const int64_t cells = allocated_elements(b), tiles = cells / ir::kTileCells;
    require(cells > 0 && cells % ir::kTileCells == 0, "PW0412",
            "alloc " + b.name + ": " + std::to_string(cells) + " cells are no whole tiles of " +
                std::to_string(ir::kTileCells));
    const int64_t live = live_tiles_ + tiles + ir::kOperandTiles;
    require(live <= ir::kLiveTiles, "PW0412",
            "alloc " + b.name + ": " + std::to_string(live_tiles_ + tiles) + " tiles of sums and " +
                std::to_string(ir::kOperandTiles) + " of operands are " + std::to_string(live) +
                " live tiles, the unit has " + std::to_string(ir::kLiveTiles));
    return tiles;
  }

  void put(const Loop& loop, size_t depth) {
    require(live_tiles_ == 0 || (loop.mark.kind != MarkKind::parallel && loop.mark.kind != MarkKind::axis), "PW0412",
            "for: tasks share no tiles, and sums in tiles are live around this loop");
    require(loop.var >= nest_.params.size() && loop.var < in_scope_.size(), "PW0411", "for: unknown variable");
    const std::string& var = nest_.loop_names[loop.var - nest_.params.size()];
    require(!bound_[loop.var], "PW0411", "for " + var + ": the variable is bound twice");
    require(!loop.lo.of.empty() && !loop.hi.of.empty(), "PW0411", "for " + var + ": a bound is missing");
    require(loop.step >= 1 && loop.step <= kMaxNestNumber, "PW0411", "for " + var + ": step below 1");
    for (const Affine& e : loop.lo.of) affine(e, 0);
    for (const Affine& e : loop.hi.of) affine(e, 0);
    mark(loop, var);
    bound_[loop.var] = in_scope_[loop.var] = true;
    mark_of_[loop.var] = loop.mark.kind;
    vectors_ += loop.mark.kind == MarkKind::vector;
    parallels_ += loop.mark.kind == MarkKind::parallel;
    const bool makes_tasks =
        loop.mark.kind == MarkKind::parallel || loop.mark.kind == MarkKind::axis || loop.mark.kind == MarkKind::vector;
    tasks_around_ += makes_tasks;
    bool varies = false;
    for (const Bound& b : {loop.lo, loop.hi})
      for (const Affine& e : b.of) varies |= varies_by_thread(e);
    varying_ += varies;
    if (loop.mark.kind == MarkKind::axis) axes_.push_back(loop.mark.detail);
    by_thread_[loop.var] = is_thread_axis(loop);
    body(loop.body, depth + 1);
    tasks_around_ -= makes_tasks;
    by_thread_[loop.var] = false;
    if (loop.mark.kind == MarkKind::axis) axes_.pop_back();
    varying_ -= varies;
    vectors_ -= loop.mark.kind == MarkKind::vector;
    parallels_ -= loop.mark.kind == MarkKind::parallel;
    in_scope_[loop.var] = false;
    if (loop.mark.kind != MarkKind::tensor) return;
    auto matched = match_tensor_loop(nest_, loop);
    if (!matched) violate(matched.error().code.c_str(), "for " + var + " tensor: " + matched.error().message);
  }

  void mark(const Loop& loop, const std::string& var) const {
    for (const Prefetch& ahead : loop.mark.prefetch)
      require(ahead.buffer < nest_.buffers.size() && ahead.by.size() == nest_.buffers[ahead.buffer].extents.size() &&
                  std::all_of(ahead.by.begin(), ahead.by.end(),
                              [](int64_t by) { return std::abs(by) <= kFarthestPrefetch; }),
              "PW0414", "for " + var + ": a prefetch needs a buffer and one distance a dimension");
    if (loop.mark.kind == MarkKind::unroll) {
      const bool constant =
          loop.lo.of.size() == 1 && loop.hi.of.size() == 1 && is_unrollable(loop.hi.of[0] - loop.lo.of[0]);
      require(constant, "PW0414", "for " + var + " unroll: the number of iterations is not constant");
    }
    const bool is_of_unit = loop.mark.kind == MarkKind::tensor || loop.mark.kind == MarkKind::axis;
    require(!nest_.auto_vectorized || !is_of_unit, "PW0414",
            "for " + var + ": instructions or axes in a nest that is left to the compiler's vectorizers");
    if (loop.mark.kind == MarkKind::axis) axis(loop, var);
    require(loop.mark.kind != MarkKind::pipeline, "PW0414",
            "for " + var + " pipeline: the mark is for templates; a nest has the copies that are made ahead");
    if (loop.mark.kind != MarkKind::vector) return;
    require(vectors_ == 0, "PW0414", "for " + var + " vector: inside another vector loop");
    require(loop.step == 1 && loop.mark.width >= 1, "PW0414", "for " + var + " vector: needs step 1 and a width");
    const bool fits = first_lane(loop) != nullptr;
    require(fits, "PW0414",
            "for " + var + " vector: no upper bound lower + c with c <= width " + std::to_string(loop.mark.width));
  }

  /// A number wherever the loops around that are unrolled are written out.
  bool is_unrollable(const Affine& e) const {
    std::vector<VarId> used;
    collect_variables(e, used);
    return std::all_of(used.begin(), used.end(), [&](VarId v) {
      return v >= nest_.params.size() && v < mark_of_.size() && mark_of_[v] == MarkKind::unroll;
    });
  }

  /// A launch has a fixed number of blocks and threads, blocks outside threads.
  void axis(const Loop& loop, const std::string& var) const {
    const std::string subject = "for " + var + " axis \"" + loop.mark.detail + "\": ";
    require(is_axis_name(loop.mark.detail), "PW0414",
            subject + "unknown; known are block_x block_y block_z thread_x thread_y thread_z");
    require(std::count(axes_.begin(), axes_.end(), loop.mark.detail) == 0, "PW0414",
            subject + "inside another loop over it");
    require(is_thread_axis(loop) || !in_threads(), "PW0414", subject + "inside a loop over threads");
    require(vectors_ == 0 && parallels_ == 0, "PW0414", subject + "inside a vector or parallel loop");
    bool is_fixed = false;
    for (const Affine& lo : loop.lo.of)
      for (const Affine& hi : loop.hi.of) is_fixed |= is_known(hi - lo);
    require(is_fixed, "PW0414", subject + "no pair of its bounds differs by a constant, so the launch has no size");
  }

  bool in_threads() const {
    return std::any_of(axes_.begin(), axes_.end(), [](const std::string& axis) { return is_thread_axis(axis); });
  }

  /// Parameters have values.
  bool is_known(const Affine& e) const {
    std::vector<VarId> used;
    collect_variables(e, used);
    return std::all_of(used.begin(), used.end(), [&](VarId v) { return v < nest_.params.size(); });
  }

  template <class Controlling>
  bool varies_by_thread(const Controlling& control) const {
    std::vector<VarId> used;
    collect_variables(control, used);
    return std::any_of(used.begin(), used.end(), [&](VarId v) { return v < by_thread_.size() && by_thread_[v]; });
  }

  void put(const Sync& sync, size_t) const {
    require(sync.kind == Sync::Kind::block || sync.is_of_copies(), "PW0414",
            "sync: only block, async_commit and async_wait have a meaning yet");
    require(sync.arg >= 0, "PW0414", "sync: a negative number");
    require(!sync.is_of_copies() || (vectors_ == 0 && varying_ == 0), "PW0414",
            "sync of copies: inside a vector loop, or under a condition or bound that differs from thread to thread");
    if (sync.is_of_copies()) return;
    require(in_threads(), "PW0414", "sync block: no loop over threads around it");
    require(vectors_ == 0, "PW0414", "sync block: inside a vector loop");
    require(varying_ == 0, "PW0414",
            "sync block: under a condition or bound that differs from thread to thread, so some would never reach it");
  }

  void put(const Copy& c, size_t) {
    write(c.dst);
    const Buffer& dst = nest_.buffers[c.dst.id];
    guard(c.valid, 0);
    if (c.has_src) {
      access(c.src, 0);
      require(nest_.buffers[c.src.id].type == dst.type, "PW0415", "copy to " + dst.name + ": types differ");
    }
    bool fills = !c.has_src || !c.valid.is_true();
    require(!fills || c.fill.type == dst.type, "PW0415", "copy to " + dst.name + ": fill of another type");
  }

  void put(const Compute& c, size_t) {
    require(!c.dst.empty() && c.instance.size() <= 64, "PW0415", "compute: no destination");
    for (const Affine& e : c.instance) affine(e, 0);
    for (const Access& dst : c.dst) write(dst);
    for (const Expr& e : c.rhs) expression(e, 0);
    const std::string subject = "compute of " + name(c.dst[0].id);
    size_t wanted = c.how == Write::init ? 0 : c.dst.size();
    require(c.rhs.size() == wanted, "PW0415", subject + ": " + std::to_string(wanted) + " right-hand sides are needed");
    for (size_t k = 0; k < c.rhs.size(); ++k)
      require(c.rhs[k]->type == nest_.buffers[c.dst[k].id].type, "PW0415", subject + ": value and cell differ in type");
    if (c.how != Write::store) reduction(c, subject);
    require(!c.fused || is_fusable(c), "PW0415", subject + ": fused needs a float sum of a product");
  }

  void reduction(const Compute& c, const std::string& subject) const {
    if (c.reducer == Reducer::combiner) {
      require(c.combiner < nest_.combiners.size(), "PW0415", subject + ": unknown combiner");
      const Combiner& combiner = nest_.combiners[c.combiner];
      require(combiner.types.size() == c.dst.size(), "PW0415", subject + ": the combiner has other components");
      for (size_t k = 0; k < c.dst.size(); ++k)
        require(nest_.buffers[c.dst[k].id].type == combiner.types[k], "PW0415",
                subject + ": the combiner has other types");
      return;
    }
    bool ranked = c.reducer == Reducer::argmax || c.reducer == Reducer::argmin;
    require(ranked ? c.dst.size() >= 2 : c.dst.size() == 1, "PW0415", subject + ": wrong number of destinations");
    for (size_t k = 1; k < c.dst.size(); ++k)
      require(nest_.buffers[c.dst[k].id].type == ElementType::i64, "PW0415", subject + ": an index needs i64");
    bool wants_bool = c.reducer == Reducer::any || c.reducer == Reducer::all;
    bool is_bool = nest_.buffers[c.dst[0].id].type == ElementType::boolean;
    require(wants_bool == is_bool, "PW0415", subject + ": the reducer does not take this type");
  }

  bool is_fusable(const Compute& c) const {
    return c.how == Write::accumulate && c.reducer == Reducer::sum && c.rhs.size() == 1 && is_float(c.rhs[0]->type) &&
           is_sum_of_products(*c.rhs[0]);
  }
  bool is_sum_of_products(const ExprNode& e) const {
    if (e.op == Op::add && nest_.cls == NumericsClass::reassoc)
      return is_sum_of_products(*e.args[0]) && is_sum_of_products(*e.args[1]);
    return e.op == Op::mul;
  }

  // --- accesses and expressions ---
  void write(const Access& a) {
    access(a, 0);
    require(writable_.count(a.id) == 1, "PW0413", "buffer " + name(a.id) + ": is read only here");
  }

  void access(const Access& a, size_t depth) {
    require(a.id < nest_.buffers.size(), "PW0413", "access: unknown buffer");
    const Buffer& b = nest_.buffers[a.id];
    require(live_[a.id], "PW0413", "buffer " + b.name + ": used outside its lifetime");
    require(a.index.size() == b.extents.size(), "PW0413",
            "buffer " + b.name + ": " + std::to_string(a.index.size()) + " subscripts, rank " +
                std::to_string(b.extents.size()));
    for (const Subscript& s : a.index) subscript(s, b, depth);
  }

  void subscript(const Subscript& s, const Buffer& b, size_t depth) {
    affine(s.affine, 0);
    if (b.scope == Scope::reg) register_index(s, b);
    if (!s.data) return;
    affine(s.lo, 0);
    affine(s.hi, 0);
    expression(s.data, depth + 1);
    require(s.data->type == ElementType::i64, "PW0415", "buffer " + b.name + ": a gathered subscript is not i64");
  }

  void register_index(const Subscript& s, const Buffer& b) const {
    require(!s.data, "PW0414", "buffer " + b.name + ": a register cannot be gathered from");
    std::vector<VarId> used;
    collect_variables(s.affine, used);
    for (VarId v : used) {
      bool constant = v < nest_.params.size() || mark_of_[v] == MarkKind::unroll || mark_of_[v] == MarkKind::vector;
      require(constant, "PW0414", "buffer " + b.name + ": a register is indexed by unroll and vector variables only");
    }
  }

  void affine(const Affine& e, size_t cells) const {
    std::vector<VarId> used;
    check_quasi(e, 0);
    collect_variables(e, used);
    for (VarId v : used) {
      bool is_cell = v >= kCellVar && v - kCellVar < cells;
      require(is_cell || (v < in_scope_.size() && in_scope_[v]), "PW0411",
              "nest: variable " + std::to_string(v) + " is used outside its loop");
    }
  }

  static void check_quasi(const Affine& e, size_t depth) {
    require(depth <= kMaxAffineDepth, "PW0411", "nest: an affine expression is nested too deep");
    for (const Term& t : e.terms) {
      if (!t.quasi) continue;
      require(t.quasi->den >= 1, "PW0411", "nest: division by less than 1");
      check_quasi(t.quasi->e, depth + 1);
      check_quasi(t.quasi->lo, depth + 1);
      check_quasi(t.quasi->hi, depth + 1);
    }
  }

  void guard(const Guard& g, size_t depth) const {
    require(depth <= kMaxAffineDepth, "PW0411", "nest: a guard is nested too deep");
    affine(g.e, 0);
    require(g.kind != Guard::Kind::negation || g.of.size() == 1, "PW0411", "nest: 'not' takes one condition");
    for (const Guard& part : g.of) guard(part, depth + 1);
  }

  void expression(const Expr& e, size_t depth) {
    require(e != nullptr && depth <= kMaxExpressionDepth, "PW0411", "nest: an expression is missing or too deep");
    for (const Expr& arg : e->args) expression(arg, depth + 1);
    leaf(*e, depth);
    arity(*e);
    types(*e);
  }

  void leaf(const ExprNode& e, size_t depth) {
    if (e.op == Op::variable) affine(Affine::variable(e.var), 0);
    if (e.op == Op::affine) affine(e.affine, 0);
    if (e.op == Op::variable || e.op == Op::affine)
      require(e.type == ElementType::i64, "PW0415", "nest: an index is i64");
    if (e.op == Op::literal) require(e.type == e.literal.type, "PW0415", "nest: a literal of another type");
    if (e.op == Op::guarded) guard(e.guard, 0);
    if (e.op != Op::read) return;
    access(e.access, depth);
    require(e.type == nest_.buffers[e.access.id].type, "PW0415",
            "buffer " + name(e.access.id) + ": read as another type");
  }

  static void arity(const ExprNode& e) {
    size_t wanted = e.op < Op::neg ? 0 : e.op < Op::add ? 1 : e.op < Op::select ? 2 : e.op < Op::guarded ? 3 : 2;
    require(e.op <= Op::guarded, "PW0415", "nest: reductions and tuples are statements, not expressions");
    require(e.args.size() == wanted, "PW0415",
            std::string("nest: operator with ") + std::to_string(e.args.size()) + " operands");
  }

  static void types(const ExprNode& e) {
    if (e.args.empty() || e.op == Op::convert || e.op == Op::saturate) return;
    bool skips_first = e.op == Op::select;
    require(!skips_first || e.args[0]->type == ElementType::boolean, "PW0415", "nest: select needs a bool");
    ElementType operand = e.args[skips_first ? 1 : 0]->type;
    for (size_t k = skips_first; k < e.args.size(); ++k)
      require(e.args[k]->type == operand, "PW0415", "nest: operands differ in type");
    require(e.type == implied_type(e.op, e.args), "PW0415", "nest: operator of another type than its operands");
  }

  const LoopNest& nest_;
  std::vector<int> tasks_of_;  ///< of a buffer: loops of tasks or lanes around its Alloc
  int tasks_around_ = 0;
  std::vector<bool> in_scope_, bound_, used_, live_, allocated_;
  std::vector<MarkKind> mark_of_;
  std::set<BufferId> writable_;
  int vectors_ = 0, parallels_ = 0;
  int64_t live_tiles_ = 0;         ///< of the tile buffers around
  std::vector<bool> by_thread_;    ///< variables of the loops over threads around
  int varying_ = 0;                ///< conditions and bounds around that differ from thread to thread
  std::vector<std::string> axes_;  ///< of the axis loops around
};

}  // namespace

Status verify(const LoopNest& nest) {
  try {
    Verifier(nest).whole();
    return Ok{};
  } catch (const Violation& violation) {
    return violation.error;
  }
}

}  // namespace polyweft
