// Program: a system of affine recurrence equations over tensors, as a value.
//
// Memory model. Expressions are immutable trees shared by pointer; everything else is plain data. Nothing here knows
// order, storage or hardware. One kind of expression tree serves Program and LoopNest: in a Program an Access names a
// tensor and its variables are parameters and indices; in a LoopNest an Access names a buffer and its variables are
// parameters and loops.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/result.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// Frozen on disk: append only.
enum class ElementType : uint8_t {
  f64 = 0,
  f32 = 1,
  f16 = 2,
  bf16 = 3,
  i64 = 4,
  i32 = 5,
  i16 = 6,
  i8 = 7,
  u8 = 8,
  boolean = 9
};
bool is_float(ElementType type);
bool is_integer(ElementType type);      ///< i64 i32 i16 i8 u8; not bool
int64_t size_bytes(ElementType type);   ///< 8 4 2 2 8 4 2 1 1 1
const char* name_of(ElementType type);  ///< "f64" .. "u8", "bool"
std::optional<ElementType> element_type_named(const std::string& name);

/// How far arithmetic may be changed; LANGUAGE.md section 4. Frozen on disk.
enum class NumericsClass : uint8_t { strict = 0, contract = 1, reassoc = 2 };
const char* name_of(NumericsClass cls);
std::optional<NumericsClass> numerics_class_named(const std::string& name);

/// A variable. In a Program: parameter p is VarId p, index k of an equation is VarId (parameters.size() + k).
/// In a LoopNest: parameters first, then loop variables in order of binding.
using VarId = uint32_t;
inline constexpr VarId kNoVar = UINT32_MAX;

struct Quasi;
/// coeff * var, or coeff * quasi where `quasi` is set (var is kNoVar then).
struct Term {
  VarId var = kNoVar;
  int64_t coeff = 0;
  std::shared_ptr<const Quasi> quasi;
};
/// A quasi-affine integer expression: sum of terms + constant. Linear terms sorted by var, no zero coefficients; quasi
/// terms after them.
struct Affine {
  std::vector<Term> terms;
  int64_t constant = 0;

  static Affine of(int64_t constant);
  static Affine variable(VarId var, int64_t coeff = 1);
  bool is_constant() const { return terms.empty(); }
  bool is_linear() const;                ///< no quasi term
  int64_t coefficient(VarId var) const;  ///< of the linear term of var, else 0
};
/// floor_div: floor(e / den), den > 0.  clamp: min(max(e, lo), hi).
struct Quasi {
  enum class Kind : uint8_t { floor_div, clamp } kind = Kind::floor_div;
  Affine e;
  int64_t den = 1;
  Affine lo, hi;
};
bool operator==(const Term& a, const Term& b);  ///< structural
bool operator==(const Affine& a, const Affine& b);
Affine operator+(const Affine& a, const Affine& b);
Affine operator-(const Affine& a, const Affine& b);
Affine operator*(int64_t factor, const Affine& a);
Affine floor_div(const Affine& e, int64_t den);  ///< folded when constant or den == 1
Affine modulo(const Affine& e, int64_t den);     ///< e - den * floor_div(e, den)
Affine clamp(const Affine& e, const Affine& lo, const Affine& hi);
/// Replaces variables: map[v] where present. Exact (no overflow check: coefficients are limited to 2^40 by the
/// language).
Affine substitute(const Affine& e, const std::map<VarId, Affine>& map);
/// Value with values[v] for variable v; every variable used must be < values.size().
int64_t evaluate(const Affine& e, const std::vector<int64_t>& values);
/// All variables used, also inside quasi terms, appended to `out` (may repeat).
void collect_variables(const Affine& e, std::vector<VarId>& out);

/// An affine condition. ge0: e >= 0; eq0: e == 0; all/any of `of`; negation of of[0]. `all` of nothing is true.
struct Guard {
  enum class Kind : uint8_t { all, any, negation, ge0, eq0 } kind = Kind::all;
  Affine e;
  std::vector<Guard> of;
  bool is_true() const { return kind == Kind::all && of.empty(); }
  bool operator==(const Guard&) const = default;
};
Guard guard_ge0(Affine e);
Guard guard_eq0(Affine e);
Guard guard_all(std::vector<Guard> of);
Guard guard_any(std::vector<Guard> of);
Guard guard_not(Guard g);
Guard substitute(const Guard& g, const std::map<VarId, Affine>& map);
bool evaluate(const Guard& g, const std::vector<int64_t>& values);
void collect_variables(const Guard& g, std::vector<VarId>& out);

/// A scalar value with its type's own rounding already done: floats in `f` (exact in double for every float type),
/// integers and bool in `i`.
struct Literal {
  ElementType type = ElementType::i64;
  double f = 0;
  int64_t i = 0;
};
bool operator==(const Literal& a, const Literal& b);  ///< bitwise: NaN equals NaN, -0 differs from 0

/// Operators of expressions. Frozen: append only.
enum class Op : uint8_t {
  // leaves
  literal = 0,   ///< payload Literal
  variable = 1,  ///< payload VarId; type i64: parameter, index or loop variable as data
  read = 2,      ///< payload Access
  affine = 3,    ///< payload Affine as data, type i64 (made by lowering)
  // unary
  neg = 10,
  bit_not = 11,
  logical_not = 12,
  convert = 13 /* to node.type */,
  saturate = 14 /* sat_T: to node.type */,
  exp = 15,
  log = 16,
  tanh = 17,
  sqrt = 18,
  rsqrt = 19,
  erf = 20,
  sigmoid = 21,
  sin = 22,
  cos = 23,
  floor = 24,
  ceil = 25,
  round = 26,
  abs = 27,
  // binary
  add = 40,
  sub = 41,
  mul = 42,
  div = 43 /* float */,
  floor_div = 44,
  floor_mod = 45,
  bit_and = 46,
  bit_or = 47,
  bit_xor = 48,
  shl = 49,
  shr = 50,
  min = 51,
  max = 52,
  pow = 53,
  eq = 54,
  ne = 55,
  lt = 56,
  le = 57,
  gt = 58,
  ge = 59,
  logical_and = 60,
  logical_or = 61,
  // ternary
  select = 70,  ///< args c, a, b: both sides evaluated
  clamp = 71,   ///< args x, lo, hi = min(max(x, lo), hi)
  fma = 72,     ///< a*b + c in one rounding; LoopNest only
  // structured
  guarded = 80,    ///< payload Guard; args then, else: lazy
  reduce = 81,     ///< payload Reduction; args = the body (several for a combiner with tuple state)
  tuple = 82,      ///< args; only as the whole right-hand side or combiner result
  component = 83,  ///< payload VarId as component number; args[0] a tuple-valued reduce (made by normalize)
};
const char* name_of(Op op);

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

/// One subscript: affine + data, where data (may be null) is an i64-typed integer expression whose value provably lies
/// in [lo, hi].
struct Subscript {
  Affine affine;
  Expr data;
  Affine lo, hi;  ///< inclusive, meaningful when data is set
};
/// Reads or writes one element. id: TensorId in a Program, BufferId in a LoopNest. Subscripts are logical (one a
/// dimension).
struct Access {
  uint32_t id = 0;
  std::vector<Subscript> index;
};
/// Frozen: append only. argmax/argmin keep (best value, index...) as state.
enum class Reducer : uint8_t {
  sum = 0,
  prod = 1,
  max = 2,
  min = 3,
  any = 4,
  all = 5,
  argmax = 6,
  argmin = 7,
  combiner = 8
};
const char* name_of(Reducer reducer);
/// lo <= var < hi.
struct IndexRange {
  VarId var = kNoVar;
  Affine lo, hi;
};
struct Reduction {
  Reducer reducer = Reducer::sum;
  uint32_t combiner = 0;  ///< index into Program.combiners when reducer == combiner
  std::vector<IndexRange> ranges;
  Guard where;
};
struct ExprNode {
  Op op = Op::literal;
  ElementType type = ElementType::f32;  ///< of the (first) result
  std::vector<Expr> args;
  Literal literal;      ///< op literal
  VarId var = kNoVar;   ///< op variable, component
  Access access;        ///< op read
  Affine affine;        ///< op affine
  Guard guard;          ///< op guarded
  Reduction reduction;  ///< op reduce
  Span where;           ///< not part of equality
};
/// Structural equality, spans ignored.
bool equal(const Expr& a, const Expr& b);
Expr make_literal(Literal literal, Span where = {});
Expr make_variable(VarId var, Span where = {});
Expr make_read(ElementType type, Access access, Span where = {});
Expr make_op(Op op, ElementType type, std::vector<Expr> args, Span where = {});
/// Rebuilds bottom-up; `f` gets each node (children already rewritten) and returns its replacement, or null to keep it.
template <class F>
Expr rewrite(const Expr& e, const F& f) {
  if (!e) return e;
  bool changed = false;
  auto copy = std::make_shared<ExprNode>(*e);
  for (auto& arg : copy->args) {
    Expr next = rewrite(arg, f);
    changed |= next != arg;
    arg = std::move(next);
  }
  for (auto& s : copy->access.index) {
    Expr next = rewrite(s.data, f);
    changed |= next != s.data;
    s.data = std::move(next);
  }
  Expr base = changed ? Expr(copy) : e;
  Expr out = f(base);
  return out ? out : base;
}
/// Visits every node, parents first, subscripts' data included.
template <class F>
void visit(const Expr& e, const F& f) {
  if (!e) return;
  f(*e);
  for (const auto& arg : e->args) visit(arg, f);
  for (const auto& s : e->access.index) visit(s.data, f);
}

/// Replaces variables everywhere: in reads, guards, ranges and as data (a constant becomes an i64 literal, a sum an
/// affine node). A reduction's own index is renamed where map holds a single variable for it.
Expr substitute(const Expr& e, const std::map<VarId, Affine>& map);
/// The variables that occur in e and are not bound by a reduction inside it, sorted, each once.
std::vector<VarId> free_variables(const Expr& e);

struct Parameter {
  std::string name;
  int64_t value = 1;  ///< default, or the bound value after bind()
  bool operator==(const Parameter&) const = default;
};

using TensorId = uint32_t;
using EquationId = uint32_t;
enum class TensorKind : uint8_t { input = 0, constant = 1, local = 2, output = 3 };
struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::local;
  ElementType type = ElementType::f32;
  uint32_t rank = 0;
  std::vector<Affine> shape;                   ///< inputs and constants: extents over parameters
  bool is_const_input = false;                 ///< `const in`: packed ahead of time
  bool partial = false;                        ///< `out partial`
  bool hidden = false;                         ///< made by normalize (an accumulator), has no name in the source
  std::optional<Affine> values_lo, values_hi;  ///< `values lo..hi`, half open; of floats their places (float_places.h)
  std::vector<Literal> data;                   ///< constants, row-major
  Span where;
};
/// One position of an equation's left-hand side: a new index with its range, or an affine position (var == kNoVar).
struct Slot {
  VarId var = kNoVar;
  Affine lo, hi;    ///< half open, when var is set
  Affine position;  ///< when var == kNoVar
};
struct Equation {
  std::vector<TensorId> targets;  ///< several for tuples
  std::vector<Slot> slots;
  Guard where;
  Expr rhs;
  std::vector<std::string>
      index_names;  ///< index k has VarId parameters.size() + k; reductions included, in order of binding
  Span where_defined;
};
struct Combiner {
  std::string name;
  std::vector<std::string> left, right;  ///< names of the components
  std::vector<ElementType> types;
  std::vector<Literal> identity;
  bool associative = false, commutative = false;
  /// variable(k): left component k; variable(n + k): right component k (n = types.size()). Node type = component type.
  std::vector<Expr> result;
  Span where;
};
/// Outputs and inputs keep the order of the text: it is the ABI (inputs first, then outputs).
struct Program {
  std::string name;
  std::vector<Parameter> parameters;        ///< const parameters are already replaced by their values
  std::vector<Parameter> const_parameters;  ///< for printing and the key
  std::vector<Guard> assumptions;           ///< over parameters, the defaults >= 1 included
  std::vector<Tensor> tensors;
  std::vector<Combiner> combiners;
  std::vector<Equation> equations;
  std::string source_name;
  std::string source_text;  ///< for carets in messages of later checks; may be empty

  std::vector<TensorId> inputs() const;  ///< program order, constants not included
  std::vector<TensorId> outputs() const;
  VarId index_var(uint32_t k) const { return static_cast<VarId>(parameters.size() + k); }
};

/// Source text of the language that parses back to an equal Program (src/ir/print_program.cpp). Const parameters are
/// printed as numbers.
PW_EXPORT std::string print(const Program& program);
std::string print(const Affine& e, const std::vector<std::string>& names);  ///< names[v] for variable v
std::string print(const Guard& g, const std::vector<std::string>& names);
/// Structural equality; spans and source text ignored.
bool equal(const Program& a, const Program& b);
/// Names of parameters and of the equation's indices, by VarId.
std::vector<std::string> variable_names(const Program& program, const Equation& equation);

/// The binding of a task: a value for each parameter, in program order.
using Binding = std::vector<int64_t>;
/// Defaults, changed by name=value; PW0120 for an unknown name, a const parameter, or a value outside the assumptions.
PW_EXPORT Result<Binding> make_binding(const Program& program, const std::map<std::string, int64_t>& values);
/// The program with all parameters replaced by numbers; parameters keep name and value (their VarIds stay reserved, so
/// index VarIds do not move).
PW_EXPORT Program bind(const Program& program, const Binding& binding);

/// Rewrites the program so that every reduction is the whole right-hand side of an equation of its own: nested
/// reductions become hidden tensors named T.1, T.2 over the indices they depend on, restricted by the guards around
/// them. argmax/argmin become a tuple (value, index...) with a hidden value tensor. Locals that need themselves leave
/// dimensions along which all elements are equal. Deterministic; the checker and the code generator both work on it.
Program normalize(const Program& program);

/// lo..hi (half open) of every dimension of every tensor of a bound program: inputs [0, extent), outputs [0, extent) by
/// LANGUAGE.md section 2, locals the hull of their definitions. Empty tensors have hi == lo.
struct Box {
  std::vector<int64_t> lo, hi;
  int64_t extent(uint32_t d) const { return hi[d] - lo[d]; }
  bool operator==(const Box&) const = default;
};

/// A dense row-major tensor value. bf16 and f16 as their 16 bits; bool one byte. Rank 0 has no extents and one element.
struct TensorData {
  ElementType type = ElementType::f32;
  std::vector<int64_t> extents;
  std::vector<unsigned char> bytes;
  int64_t elements() const;        ///< product of extents
  Literal at(int64_t flat) const;  ///< row-major element number
  void set(int64_t flat, const Literal& value);
};
TensorData make_tensor(ElementType type, std::vector<int64_t> extents);

}  // namespace polyweft
#pragma GCC visibility pop
