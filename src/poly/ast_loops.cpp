#include "poly/ast_loops.h"

#include <isl/ast.h>
#include <isl/ast_build.h>

#include "poly/symbolic_boxes.h"

namespace polyweft::poly {

#define PW_ISL_TYPE(type)                                 \
  template <>                                             \
  struct IslOps<type> {                                   \
    static type* copy(type* p) { return type##_copy(p); } \
    static void free(type* p) { type##_free(p); }         \
  };
PW_ISL_TYPE(isl_ast_node)
PW_ISL_TYPE(isl_ast_expr)
PW_ISL_TYPE(isl_ast_build)
PW_ISL_TYPE(isl_ast_node_list)
PW_ISL_TYPE(isl_id_list)
#undef PW_ISL_TYPE

namespace {

using AstNode = Handle<isl_ast_node>;
using AstExpr = Handle<isl_ast_expr>;

struct Unsupported {};

constexpr unsigned kMostLoops = 64;

/// isl's AST -> nodes of a LoopNest.
class Translator {
 public:
  Translator(const std::vector<Timed>& times, NestBuilder& builder) : times_(times), builder_(builder) {
    const auto& parameters = builder.program().parameters;
    for (VarId p = 0; p < parameters.size(); ++p) iterators_[parameters[p].name] = Affine::variable(p);
  }

  NodeId node(const AstNode& n) {
    switch (isl_ast_node_get_type(n.get())) {
      case isl_ast_node_for:
        return loop(n);
      case isl_ast_node_if:
        return condition(n);
      case isl_ast_node_block:
        return block(n);
      case isl_ast_node_user:
        return user(n);
      case isl_ast_node_mark:
        return node(AstNode(isl_ast_node_mark_get_node(n.get())));
      default:
        throw Unsupported();
    }
  }

 private:
  NodeId block(const AstNode& n) {
    Handle<isl_ast_node_list> list(isl_ast_node_block_get_children(n.get()));
    std::vector<NodeId> children;
    for (int k = 0; k < size(isl_ast_node_list_n_ast_node(list.get())); ++k)
      children.push_back(node(AstNode(isl_ast_node_list_get_ast_node(list.get(), k))));
    return builder_.sequence(std::move(children));
  }

  NodeId condition(const AstNode& n) {
    If out;
    out.condition = guard(AstExpr(isl_ast_node_if_get_cond(n.get())));
    out.then = node(AstNode(isl_ast_node_if_get_then_node(n.get())));
    if (yes(isl_ast_node_if_has_else_node(n.get())))
      out.otherwise = node(AstNode(isl_ast_node_if_get_else_node(n.get())));
    return builder_.nest().add(std::move(out));
  }

  NodeId loop(const AstNode& n) {
    std::string name = identifier(AstExpr(isl_ast_node_for_get_iterator(n.get())));
    AstExpr init(isl_ast_node_for_get_init(n.get()));
    if (yes(isl_ast_node_for_is_degenerate(n.get()))) {
      iterators_[name] = affine(init);
      return node(AstNode(isl_ast_node_for_get_body(n.get())));
    }
    VarId var = builder_.fresh(name.substr(1));
    Bound lo = lower(init);
    Bound hi = upper(AstExpr(isl_ast_node_for_get_cond(n.get())));
    int64_t step = affine(AstExpr(isl_ast_node_for_get_inc(n.get()))).constant;
    iterators_[name] = Affine::variable(var);
    NodeId body = node(AstNode(isl_ast_node_for_get_body(n.get())));
    return builder_.loop(var, std::move(lo), std::move(hi), step, body);
  }

  /// The call "s3(i, j)": statement number 3, values of the indices.
  NodeId user(const AstNode& n) {
    AstExpr call(isl_ast_node_user_get_expr(n.get()));
    std::string name = identifier(argument(call, 0));
    const Timed& timed = times_[static_cast<size_t>(std::stoul(name.substr(1)))];
    Indices at;
    const Equation& equation = builder_.program().equations[timed.equation];
    for (uint32_t k = 0; k < equation.index_names.size(); ++k)
      at[builder_.program().index_var(k)] = affine(argument(call, static_cast<int>(k) + 1));
    if (name[0] == 'f') return builder_.accumulate(timed.equation, at);
    return timed.folds ? builder_.init(timed.equation, at) : builder_.store(timed.equation, at);
  }

  static AstExpr argument(const AstExpr& e, int k) { return AstExpr(isl_ast_expr_op_get_arg(e.get(), k)); }
  static int arguments(const AstExpr& e) { return size(isl_ast_expr_op_get_n_arg(e.get())); }
  static bool is_op(const AstExpr& e, isl_ast_expr_op_type op) {
    return isl_ast_expr_get_type(e.get()) == isl_ast_expr_op && isl_ast_expr_op_get_type(e.get()) == op;
  }
  static std::string identifier(const AstExpr& e) {
    Handle<isl_id> id(isl_ast_expr_id_get_id(e.get()));
    return isl_id_get_name(id.get());
  }

  Bound lower(const AstExpr& e) {
    Bound out;
    if (is_op(e, isl_ast_expr_op_max))
      for (int k = 0; k < arguments(e); ++k) out.of.push_back(affine(argument(e, k)));
    else
      out.of.push_back(affine(e));
    return out;
  }

  /// From "i <= e" or "i < e"; exclusive.
  Bound upper(const AstExpr& condition) {
    bool inclusive = is_op(condition, isl_ast_expr_op_le);
    if (!inclusive && !is_op(condition, isl_ast_expr_op_lt)) throw Unsupported();
    AstExpr limit = argument(condition, 1);
    Affine one = Affine::of(inclusive ? 1 : 0);
    Bound out;
    if (is_op(limit, isl_ast_expr_op_min))
      for (int k = 0; k < arguments(limit); ++k) out.of.push_back(affine(argument(limit, k)) + one);
    else
      out.of.push_back(affine(limit) + one);
    return out;
  }

  Guard guard(const AstExpr& e) {
    if (isl_ast_expr_get_type(e.get()) != isl_ast_expr_op) throw Unsupported();
    isl_ast_expr_op_type op = isl_ast_expr_op_get_type(e.get());
    if (op == isl_ast_expr_op_and || op == isl_ast_expr_op_and_then) return guard_all(guards(e));
    if (op == isl_ast_expr_op_or || op == isl_ast_expr_op_or_else) return guard_any(guards(e));
    Affine left = affine(argument(e, 0)), right = affine(argument(e, 1));
    switch (op) {
      case isl_ast_expr_op_eq:
        return guard_eq0(left - right);
      case isl_ast_expr_op_le:
        return guard_ge0(right - left);
      case isl_ast_expr_op_lt:
        return guard_ge0(right - left - Affine::of(1));
      case isl_ast_expr_op_ge:
        return guard_ge0(left - right);
      case isl_ast_expr_op_gt:
        return guard_ge0(left - right - Affine::of(1));
      default:
        throw Unsupported();
    }
  }
  std::vector<Guard> guards(const AstExpr& e) {
    std::vector<Guard> out;
    for (int k = 0; k < arguments(e); ++k) out.push_back(guard(argument(e, k)));
    return out;
  }

  Affine affine(const AstExpr& e) {
    switch (isl_ast_expr_get_type(e.get())) {
      case isl_ast_expr_int:
        return Affine::of(integer(Val(isl_ast_expr_int_get_val(e.get()))));
      case isl_ast_expr_id:
        return iterators_.at(identifier(e));
      case isl_ast_expr_op:
        return operation(e);
      default:
        throw Unsupported();
    }
  }

  Affine operation(const AstExpr& e) {
    Affine a = affine(argument(e, 0));
    isl_ast_expr_op_type op = isl_ast_expr_op_get_type(e.get());
    if (op == isl_ast_expr_op_minus) return -1 * a;
    if (op == isl_ast_expr_op_min || op == isl_ast_expr_op_max) {
      for (int k = 1; k < arguments(e); ++k) {
        Affine next = affine(argument(e, k));
        a = op == isl_ast_expr_op_min ? least_of(a, next) : greatest_of(a, next);
      }
      return a;
    }
    if (arguments(e) != 2) throw Unsupported();
    Affine b = affine(argument(e, 1));
    switch (op) {
      case isl_ast_expr_op_add:
        return a + b;
      case isl_ast_expr_op_sub:
        return a - b;
      case isl_ast_expr_op_mul:
        if (a.is_constant()) return a.constant * b;
        if (b.is_constant()) return b.constant * a;
        throw Unsupported();
      case isl_ast_expr_op_div:
      case isl_ast_expr_op_fdiv_q:
      case isl_ast_expr_op_pdiv_q:
        if (b.is_constant() && b.constant > 0) return floor_div(a, b.constant);
        throw Unsupported();
      case isl_ast_expr_op_pdiv_r:
      case isl_ast_expr_op_zdiv_r:
        if (b.is_constant() && b.constant > 0) return modulo(a, b.constant);
        throw Unsupported();
      default:
        throw Unsupported();
    }
  }

  const std::vector<Timed>& times_;
  NestBuilder& builder_;
  std::map<std::string, Affine> iterators_;
};

UnionMap schedule_of(const Context& context, const std::vector<Timed>& times, uint32_t part) {
  UnionMap out(isl_union_map_empty_ctx(context.get()));
  auto add = [&](const Map& map, const std::string& name) {
    Map named(isl_map_set_tuple_name(map.copy(), isl_dim_in, name.c_str()));
    named = Map(isl_map_project_out(named.take(), isl_dim_out, 0, 1));
    if (!is_empty(named)) out = UnionMap(isl_union_map_add_map(out.take(), named.take()));
  };
  for (size_t k = 0; k < times.size(); ++k) {
    if (times[k].part != part) continue;
    add(times[k].start, "s" + std::to_string(k));
    if (times[k].folds) add(*times[k].folds, "f" + std::to_string(k));
  }
  return out;
}

/// No name of a parameter begins like this.
Handle<isl_id_list> loop_names(const Context& context) {
  isl_id_list* out = isl_id_list_alloc(context.get(), kMostLoops);
  for (unsigned k = 0; k < kMostLoops; ++k)
    out = isl_id_list_add(out, isl_id_alloc(context.get(), ("@c" + std::to_string(k)).c_str(), nullptr));
  return Handle<isl_id_list>(out);
}

}  // namespace

Result<NodeId> scanning_loops(const Model& model, const std::vector<Timed>& times, uint32_t part,
                              NestBuilder& builder) {
  UnionMap schedule = schedule_of(model.context(), times, part);
  if (is_empty(schedule)) return builder.sequence({});
  Handle<isl_ast_build> build(isl_ast_build_from_context(model.assumptions().take()));
  build = Handle<isl_ast_build>(isl_ast_build_set_iterators(build.take(), loop_names(model.context()).take()));
  AstNode root(isl_ast_build_node_from_schedule_map(build.get(), schedule.take()));
  try {
    return Translator(times, builder).node(root);
  } catch (const Unsupported&) {
    return fail("PW0835",
                builder.program().name + ": isl's loops for a recurrence use an operator that LoopNest does not have");
  }
}

}  // namespace polyweft::poly
