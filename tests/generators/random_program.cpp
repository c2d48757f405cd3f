#include "tests/generators/random_program.h"

#include <algorithm>

#include "ir/values/scalar.h"
#include "support/rng.h"

namespace polyweft::ir {
namespace {

/// In Shape::conditions, dimension d of the tensor.
constexpr VarId kDimension = 1u << 20;

/// What reads need to know of a tensor: the conditions e >= 0 under which an element exists.
struct Shape {
  TensorId id = 0;
  std::vector<Affine> conditions;
  std::vector<Affine> extents;  ///< exclusive upper bounds over parameters, to choose positions from
};

/// Indices in scope with their ranges, and what is known of them: e >= 0.
struct ScopeSoFar {
  std::vector<IndexRange> indices;
  std::vector<Affine> facts;
};

Affine one() {
  return Affine::of(1);
}

Expr literal_of(ElementType type, double value) {
  if (is_float(type)) return make_literal(float_literal(type, value));
  return make_literal(integer_literal(type, static_cast<int64_t>(value)));
}

Expr converted(Expr e, ElementType type) {
  return e->type == type ? e : make_op(Op::convert, type, {std::move(e)});
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) { program_.name = "p" + std::to_string(seed); }

  Program run() {
    add_parameters();
    choose_types();
    int inputs = static_cast<int>(rng_.between(1, 3));
    for (int k = 0; k < inputs; ++k) add_input();
    if (rng_.chance(0.25)) add_index_input();
    int tensors = static_cast<int>(rng_.between(1, 4));
    for (int k = 0; k < tensors; ++k) add_tensor(k + 1 == tensors);
    return std::move(program_);
  }

 private:
  void add_parameters() {
    const char* names[] = {"N", "M", "K"};
    int count = static_cast<int>(rng_.between(1, 3));
    for (int k = 0; k < count; ++k) {
      int64_t least = rng_.chance(0.2) ? 2 : 1;
      program_.parameters.push_back({names[k], rng_.between(2, 6)});
      program_.assumptions.push_back(guard_ge0(Affine::variable(static_cast<VarId>(k)) - Affine::of(least)));
      least_.push_back(least);
    }
  }

  void choose_types() {
    using enum ElementType;
    const std::vector<std::vector<ElementType>> families = {{f32},      {f64},         {f32, bf16}, {f32, f16}, {i32},
                                                            {i64, i32}, {i32, i8, u8}, {f32, i32},  {f64, i16}};
    types_ = families[rng_.below(families.size())];
  }
  ElementType any_type() { return types_[rng_.below(types_.size())]; }
  /// Locals compute in the first type of the family more often than not.
  ElementType value_type() { return rng_.chance(0.7) ? types_[0] : any_type(); }

  VarId any_parameter() { return static_cast<VarId>(rng_.below(program_.parameters.size())); }
  Affine any_extent() {
    Affine size = Affine::variable(any_parameter());
    if (rng_.chance(0.15)) return Affine::of(rng_.between(2, 4));
    return rng_.chance(0.2) ? size + one() : size;
  }

  // ---- tensors ----

  TensorId declare(std::string name, TensorKind kind, ElementType type, size_t rank) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.type = type;
    tensor.rank = static_cast<uint32_t>(rank);
    program_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  void add_input() {
    size_t rank = rng_.below(10) == 0 ? 0 : static_cast<size_t>(rng_.between(1, 3));
    TensorId id = declare("X" + std::to_string(program_.tensors.size()), TensorKind::input, any_type(), rank);
    Shape shape{id, {}, {}};
    for (size_t d = 0; d < rank; ++d) add_dimension(shape, any_extent());
    program_.tensors[id].shape = shape.extents;
    shapes_.push_back(std::move(shape));
  }

  static void add_dimension(Shape& shape, const Affine& extent) {
    Affine x = Affine::variable(kDimension + static_cast<VarId>(shape.extents.size()));
    shape.conditions.push_back(x);
    shape.conditions.push_back(extent - one() - x);
    shape.extents.push_back(extent);
  }

  /// `in I: i32[N] values 0..M`: subscripts for a dimension of extent M.
  void add_index_input() {
    Affine size = Affine::variable(any_parameter());
    index_limit_ = Affine::variable(any_parameter());
    TensorId id = declare("I", TensorKind::input, rng_.chance(0.5) ? ElementType::i32 : ElementType::i64, 1);
    program_.tensors[id].values_lo = Affine::of(0);
    program_.tensors[id].values_hi = index_limit_;
    index_input_ = Shape{id, {}, {}};
    add_dimension(*index_input_, size);
    program_.tensors[id].shape = index_input_->extents;
  }

  void add_tensor(bool last) {
    bool output = last || rng_.chance(0.3);
    uint64_t kind = rng_.below(10);
    if (kind == 0) return add_stencil(output);
    if (kind == 1) return add_wavefront(output);
    if (kind == 2 && output) return add_argument();
    add_plain(output);
  }

  std::string next_name() { return "T" + std::to_string(program_.tensors.size()); }

  void begin_equation() {
    equation_ = Equation{};
    scope_ = ScopeSoFar{};
  }

  VarId new_index() {
    size_t k = equation_.index_names.size();
    std::string name(1, static_cast<char>('i' + k % 8));
    if (k >= 8) name += std::to_string(k / 8);
    equation_.index_names.push_back(name);
    return program_.index_var(static_cast<uint32_t>(k));
  }

  void bring_into_scope(const IndexRange& range) {
    Affine v = Affine::variable(range.var);
    scope_.indices.push_back(range);
    scope_.facts.push_back(v - range.lo);
    scope_.facts.push_back(range.hi - one() - v);
  }

  Affine add_slot(const Affine& lo, const Affine& hi) {
    VarId var = new_index();
    equation_.slots.push_back({var, lo, hi, {}});
    bring_into_scope({var, lo, hi});
    return Affine::variable(var);
  }

  void end_equation(std::vector<TensorId> targets, Expr rhs) {
    equation_.targets = std::move(targets);
    equation_.rhs = std::move(rhs);
    program_.equations.push_back(std::move(equation_));
  }

  void add_plain(bool output) {
    size_t rank = static_cast<size_t>(rng_.between(0, 3));
    bool triangular = rank >= 2 && rng_.chance(0.3);
    ElementType type = value_type();
    TensorId id = declare(next_name(), output ? TensorKind::output : TensorKind::local, type, rank);
    program_.tensors[id].partial = output && triangular;
    Shape shape{id, {}, {}};
    begin_equation();
    for (size_t d = 0; d < rank; ++d) add_plain_slot(shape, triangular && d == 1);
    Expr rhs = rng_.chance(0.5) ? reduction(type, 2) : expression(type, 3);
    end_equation({id}, rhs);
    shapes_.push_back(std::move(shape));
  }

  void add_plain_slot(Shape& shape, bool triangular) {
    if (!triangular) {
      Affine extent = any_extent();
      add_slot(Affine::of(0), extent);
      return add_dimension(shape, extent);
    }
    Affine before = Affine::variable(kDimension), first = Affine::variable(scope_.indices[0].var);
    add_slot(Affine::of(0), first + one());
    Affine x = Affine::variable(kDimension + 1);
    shape.conditions.push_back(x);
    shape.conditions.push_back(before - x);
    shape.extents.push_back(shape.extents[0]);
  }

  /// let A[0, i: N] = ..; let A[t: 1..S+1, i: N] = f(A[t-1, i-1], A[t-1, i], A[t-1, i+1])
  void add_stencil(bool output) {
    Affine steps = Affine::variable(any_parameter()), extent = any_extent();
    ElementType type = types_[0];
    TensorId id = declare(next_name(), output ? TensorKind::output : TensorKind::local, type, 2);
    Shape shape{id, {}, {}};
    add_dimension(shape, steps + one());
    add_dimension(shape, extent);
    begin_equation();
    equation_.slots.push_back({kNoVar, {}, {}, Affine::of(0)});
    add_slot(Affine::of(0), extent);
    end_equation({id}, expression(type, 1));
    begin_equation();
    Affine t = add_slot(one(), steps + one()), i = add_slot(Affine::of(0), extent);
    std::vector<Expr> terms;
    for (int64_t offset : {-1, 0, 1})
      if (offset == 0 || rng_.chance(0.7))
        terms.push_back(guarded_read(shape, {t - one(), i + Affine::of(offset)}, type));
    Expr sum = terms[0];
    for (size_t k = 1; k < terms.size(); ++k)
      sum = make_op(rng_.chance(0.5) ? Op::add : Op::max, type, {sum, terms[k]});
    if (is_float(type)) sum = make_op(Op::mul, type, {literal_of(type, 0.375), sum});
    Expr rest = expression(type, 1);
    end_equation({id}, make_op(Op::add, type, {sum, rest}));
    shapes_.push_back(std::move(shape));
  }

  /// let H[i: N, j: M] = f(H[i-1, j], H[i, j-1]) with guards at the border.
  void add_wavefront(bool output) {
    ElementType type = types_[0];
    TensorId id = declare(next_name(), output ? TensorKind::output : TensorKind::local, type, 2);
    Shape shape{id, {}, {}};
    add_dimension(shape, any_extent());
    add_dimension(shape, any_extent());
    begin_equation();
    Affine i = add_slot(Affine::of(0), shape.extents[0]), j = add_slot(Affine::of(0), shape.extents[1]);
    Expr up = guarded_read(shape, {i - one(), j}, type), left = guarded_read(shape, {i, j - one()}, type);
    Expr before = make_op(rng_.chance(0.5) ? Op::max : Op::add, type, {up, left});
    if (is_float(type)) before = make_op(Op::mul, type, {literal_of(type, 0.5), before});
    Expr rest = expression(type, 1);
    end_equation({id}, make_op(Op::add, type, {before, rest}));
    shapes_.push_back(std::move(shape));
  }

  /// out p[i: N] = argmax[k: M] ..
  void add_argument() {
    TensorId id = declare(next_name(), TensorKind::output, ElementType::i64, 1);
    begin_equation();
    add_slot(Affine::of(0), any_extent());
    auto node = std::make_shared<ExprNode>();
    node->op = Op::reduce;
    node->type = ElementType::i64;
    node->reduction.reducer = rng_.chance(0.5) ? Reducer::argmax : Reducer::argmin;
    node->reduction.ranges = {new_range(false)};
    bring_into_scope(node->reduction.ranges[0]);
    node->args = {typed_read(types_[0])};
    end_equation({id}, node);
  }

  // ---- expressions ----

  bool is_implied(const Affine& e) const {
    auto holds = [&](const Affine& rest) { return rest.is_linear() && least_value(rest) >= 0; };
    if (holds(e)) return true;
    return std::any_of(scope_.facts.begin(), scope_.facts.end(), [&](const Affine& fact) { return holds(e - fact); });
  }
  /// Of an affine form over parameters with non-negative coefficients; else very small.
  int64_t least_value(const Affine& e) const {
    int64_t value = e.constant;
    for (const Term& term : e.terms) {
      if (term.var >= least_.size() || term.coeff < 0) return INT64_MIN;
      value += term.coeff * least_[term.var];
    }
    return value;
  }

  /// What must be guarded so that the element exists.
  std::vector<Guard> missing_conditions(const Shape& shape, const std::vector<Affine>& index) const {
    std::map<VarId, Affine> map;
    for (size_t d = 0; d < index.size(); ++d) map[kDimension + static_cast<VarId>(d)] = index[d];
    std::vector<Guard> out;
    for (const Affine& condition : shape.conditions) {
      Affine e = substitute(condition, map);
      if (!is_implied(e)) out.push_back(guard_ge0(e));
    }
    return out;
  }

  Expr plain_read(const Shape& shape, const std::vector<Affine>& index) const {
    Access access;
    access.id = shape.id;
    for (const Affine& e : index) access.index.push_back({e, nullptr, {}, {}});
    return make_read(program_.tensors[shape.id].type, std::move(access));
  }

  Expr guarded_read(const Shape& shape, const std::vector<Affine>& index, ElementType type) {
    Expr value = converted(plain_read(shape, index), type);
    std::vector<Guard> missing = missing_conditions(shape, index);
    if (missing.empty()) return value;
    auto node = std::make_shared<ExprNode>();
    node->op = Op::guarded;
    node->type = type;
    node->guard = guard_all(std::move(missing));
    node->args = {value, literal_of(type, static_cast<double>(rng_.between(0, 2)))};
    return node;
  }

  Affine any_position(const Affine& extent) {
    if (scope_.indices.empty() || rng_.chance(0.1)) return rng_.chance(0.5) ? Affine::of(0) : extent - one();
    const IndexRange& range = scope_.indices[rng_.below(scope_.indices.size())];
    Affine v = Affine::variable(range.var);
    switch (rng_.below(12)) {
      case 0:
        return v - one();
      case 1:
        return v + one();
      case 2:
        return extent - one() - v;
      case 3:
        return floor_div(v, 2);
      case 4:
        return 2 * v;
      case 5:
        return modulo(v, 2);
      case 6:
        return clamp(v - one(), Affine::of(0), extent - one());
      default:
        return v;
    }
  }

  Expr typed_read(ElementType type) {
    const Shape& shape = shapes_[rng_.below(shapes_.size())];
    if (index_input_ && rng_.chance(0.3))
      if (Expr gathered = gather(shape, type)) return gathered;
    std::vector<Affine> index;
    for (const Affine& extent : shape.extents) index.push_back(any_position(extent));
    return guarded_read(shape, index, type);
  }

  /// X[I[i], j] where the first extent of X is the promised limit of I.
  Expr gather(const Shape& shape, ElementType type) {
    bool fits = !shape.extents.empty() && shape.extents[0] == index_limit_ &&
                program_.tensors[shape.id].kind == TensorKind::input;
    if (!fits || scope_.indices.empty()) return nullptr;
    Affine at = Affine::variable(scope_.indices[rng_.below(scope_.indices.size())].var);
    std::vector<Affine> index(1, Affine::of(0));
    for (size_t d = 1; d < shape.extents.size(); ++d) index.push_back(any_position(shape.extents[d]));
    std::vector<Guard> missing = missing_conditions(shape, index);
    for (Guard& g : missing_conditions(*index_input_, {at})) missing.push_back(std::move(g));
    auto read = std::make_shared<ExprNode>(*plain_read(shape, index));
    read->access.index[0] = {Affine::of(0), converted(plain_read(*index_input_, {at}), ElementType::i64), Affine::of(0),
                             index_limit_ - one()};
    Expr value = converted(read, type);
    if (missing.empty()) return value;
    auto node = std::make_shared<ExprNode>();
    node->op = Op::guarded;
    node->type = type;
    node->guard = guard_all(std::move(missing));
    node->args = {value, literal_of(type, 1)};
    return node;
  }

  Expr leaf(ElementType type) {
    if (rng_.chance(0.75)) return typed_read(type);
    bool index = !scope_.indices.empty() && rng_.chance(0.4) && type != ElementType::u8;
    if (index) return converted(make_variable(scope_.indices[rng_.below(scope_.indices.size())].var), type);
    return literal_of(
        type, is_float(type) ? static_cast<double>(rng_.between(0, 8)) / 4 : static_cast<double>(rng_.between(0, 5)));
  }

  Expr expression(ElementType type, int depth) {
    if (depth <= 0 || rng_.chance(0.2)) return leaf(type);
    if (rng_.chance(0.15) && equation_.index_names.size() < 6) return reduction(type, depth - 1);
    return is_float(type) ? float_operation(type, depth) : integer_operation(type, depth);
  }

  Expr binary(Op op, ElementType type, int depth) {
    Expr a = typed_operand(type, depth), b = expression(type, depth - 1);
    return make_op(op, type, {a, b});
  }
  /// An operand that is not a bare literal, so that the printed text has types everywhere.
  Expr typed_operand(ElementType type, int depth) {
    Expr e = expression(type, depth - 1);
    return e->op == Op::literal ? typed_read(type) : e;
  }

  Expr float_operation(ElementType type, int depth) {
    const Op binaries[] = {Op::add, Op::sub, Op::mul, Op::max, Op::min};
    const Op bounded[] = {Op::tanh, Op::sigmoid, Op::erf, Op::sin, Op::cos};
    switch (rng_.below(10)) {
      case 0:
        return make_op(bounded[rng_.below(5)], type, {typed_operand(type, depth)});
      case 1:
        return selection(type, depth);
      case 2: {
        Expr above = typed_operand(type, depth), below = typed_operand(type, depth);
        Expr positive = make_op(Op::add, type, {make_op(Op::abs, type, {below}), literal_of(type, 1)});
        return make_op(Op::div, type, {above, positive});
      }
      case 3:
        return make_op(Op::neg, type, {typed_operand(type, depth)});
      case 4: {
        Expr size = make_op(Op::abs, type, {typed_operand(type, depth)});
        return make_op(rng_.chance(0.5) ? Op::sqrt : Op::exp, type,
                       {make_op(Op::min, type, {size, literal_of(type, 3)})});
      }
      default:
        return binary(binaries[rng_.below(5)], type, depth);
    }
  }

  Expr integer_operation(ElementType type, int depth) {
    const Op binaries[] = {Op::add,       Op::sub,     Op::mul,    Op::max,     Op::min, Op::floor_div,
                           Op::floor_mod, Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr};
    switch (rng_.below(8)) {
      case 0:
        return selection(type, depth);
      case 1:
        return make_op(rng_.chance(0.5) ? Op::neg : Op::abs, type, {typed_operand(type, depth)});
      case 2:
        return make_op(Op::bit_not, type, {typed_operand(type, depth)});
      default:
        return binary(binaries[rng_.below(12)], type, depth);
    }
  }

  Expr selection(ElementType type, int depth) {
    const Op relations[] = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
    Expr a = typed_operand(type, depth), b = expression(type, depth - 1);
    Expr condition = make_op(relations[rng_.below(6)], ElementType::boolean, {a, b});
    Expr then = typed_operand(type, depth), otherwise = expression(type, depth - 1);
    return make_op(Op::select, type, {condition, then, otherwise});
  }

  IndexRange new_range(bool may_be_empty) {
    Affine lo = Affine::of(0), hi = any_extent();
    bool inner = !scope_.indices.empty() && rng_.chance(0.3);
    if (inner) {
      const IndexRange& outer = scope_.indices[rng_.below(scope_.indices.size())];
      Affine v = Affine::variable(outer.var);
      bool from_zero = outer.lo.is_constant() && outer.lo.constant == 0;
      if (from_zero) hi = may_be_empty && rng_.chance(0.5) ? v : v + one();
    }
    VarId var = new_index();
    return {var, lo, hi};
  }

  Expr reduction(ElementType type, int depth) {
    const Reducer reducers[] = {Reducer::sum, Reducer::sum, Reducer::sum, Reducer::max, Reducer::min, Reducer::prod};
    Reducer reducer = reducers[rng_.below(6)];
    size_t outer = scope_.indices.size(), known = scope_.facts.size();
    auto node = std::make_shared<ExprNode>();
    node->op = Op::reduce;
    node->type = type;
    node->reduction.reducer = reducer;
    int count = rng_.chance(0.25) ? 2 : 1;
    for (int k = 0; k < count; ++k) {
      node->reduction.ranges.push_back(new_range(true));
      bring_into_scope(node->reduction.ranges.back());
    }
    if (rng_.chance(0.2)) node->reduction.where = any_condition();
    Expr body = rng_.chance(0.6) && reducer != Reducer::prod ? make_product(type) : typed_operand(type, depth);
    if (reducer == Reducer::prod && is_float(type)) body = make_op(Op::tanh, type, {body});
    node->args = {body};
    scope_.indices.resize(outer);
    scope_.facts.resize(known);
    return node;
  }

  Expr make_product(ElementType type) {
    Expr a = typed_read(type), b = typed_read(type);
    return make_op(Op::mul, type, {a, b});
  }

  Guard any_condition() {
    Affine v = Affine::variable(scope_.indices.back().var);
    switch (rng_.below(3)) {
      case 0:
        return guard_eq0(modulo(v, 2));
      case 1:
        return guard_not(guard_eq0(v - one()));
      default:
        return guard_any({guard_ge0(one() - v), guard_ge0(v - Affine::of(3))});
    }
  }

  Rng rng_;
  Program program_;
  std::vector<int64_t> least_;
  std::vector<ElementType> types_;
  std::vector<Shape> shapes_;
  std::optional<Shape> index_input_;
  Affine index_limit_;
  Equation equation_;
  ScopeSoFar scope_;
};

}  // namespace

Program random_program(uint64_t seed) {
  return Generator(seed).run();
}

}  // namespace polyweft::ir
