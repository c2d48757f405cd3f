// The plain parts of Program: names of types and operators, construction and structural equality of expressions.
#include "polyweft/program.h"

#include <array>
#include <bit>
#include <utility>

namespace polyweft {
namespace {

struct TypeInfo {
  const char* name;
  int64_t bytes;
};
constexpr std::array<TypeInfo, 10> kTypes = {{{"f64", 8},
                                              {"f32", 4},
                                              {"f16", 2},
                                              {"bf16", 2},
                                              {"i64", 8},
                                              {"i32", 4},
                                              {"i16", 2},
                                              {"i8", 1},
                                              {"u8", 1},
                                              {"bool", 1}}};
constexpr std::array<const char*, 3> kClasses = {"strict", "contract", "reassoc"};
constexpr std::array<const char*, 9> kReducers = {"sum", "prod",   "max",    "min",   "any",
                                                  "all", "argmax", "argmin", "reduce"};

struct OpName {
  Op op;
  const char* name;
};
constexpr OpName kOps[] = {{Op::literal, "literal"},
                           {Op::variable, "variable"},
                           {Op::read, "read"},
                           {Op::affine, "affine"},
                           {Op::neg, "neg"},
                           {Op::bit_not, "bit_not"},
                           {Op::logical_not, "not"},
                           {Op::convert, "convert"},
                           {Op::saturate, "saturate"},
                           {Op::exp, "exp"},
                           {Op::log, "log"},
                           {Op::tanh, "tanh"},
                           {Op::sqrt, "sqrt"},
                           {Op::rsqrt, "rsqrt"},
                           {Op::erf, "erf"},
                           {Op::sigmoid, "sigmoid"},
                           {Op::sin, "sin"},
                           {Op::cos, "cos"},
                           {Op::floor, "floor"},
                           {Op::ceil, "ceil"},
                           {Op::round, "round"},
                           {Op::abs, "abs"},
                           {Op::add, "add"},
                           {Op::sub, "sub"},
                           {Op::mul, "mul"},
                           {Op::div, "div"},
                           {Op::floor_div, "floor_div"},
                           {Op::floor_mod, "floor_mod"},
                           {Op::bit_and, "bit_and"},
                           {Op::bit_or, "bit_or"},
                           {Op::bit_xor, "bit_xor"},
                           {Op::shl, "shl"},
                           {Op::shr, "shr"},
                           {Op::min, "min"},
                           {Op::max, "max"},
                           {Op::pow, "pow"},
                           {Op::eq, "eq"},
                           {Op::ne, "ne"},
                           {Op::lt, "lt"},
                           {Op::le, "le"},
                           {Op::gt, "gt"},
                           {Op::ge, "ge"},
                           {Op::logical_and, "and"},
                           {Op::logical_or, "or"},
                           {Op::select, "select"},
                           {Op::clamp, "clamp"},
                           {Op::fma, "fma"},
                           {Op::guarded, "guarded"},
                           {Op::reduce, "reduce"},
                           {Op::tuple, "tuple"},
                           {Op::component, "component"}};

bool equal(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k)
    if (!polyweft::equal(a[k], b[k])) return false;
  return true;
}

bool equal(const Access& a, const Access& b) {
  if (a.id != b.id || a.index.size() != b.index.size()) return false;
  for (size_t k = 0; k < a.index.size(); ++k) {
    const Subscript &s = a.index[k], &t = b.index[k];
    if (!(s.affine == t.affine) || !polyweft::equal(s.data, t.data)) return false;
    if (s.data && (!(s.lo == t.lo) || !(s.hi == t.hi))) return false;
  }
  return true;
}

bool equal(const Reduction& a, const Reduction& b) {
  if (a.reducer != b.reducer || a.combiner != b.combiner || a.ranges.size() != b.ranges.size()) return false;
  for (size_t k = 0; k < a.ranges.size(); ++k) {
    const IndexRange &r = a.ranges[k], &s = b.ranges[k];
    if (r.var != s.var || !(r.lo == s.lo) || !(r.hi == s.hi)) return false;
  }
  return a.where == b.where;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.kind == b.kind && a.type == b.type && a.rank == b.rank && a.shape == b.shape &&
         a.is_const_input == b.is_const_input && a.partial == b.partial && a.hidden == b.hidden &&
         a.values_lo == b.values_lo && a.values_hi == b.values_hi && a.data == b.data;
}

bool equal(const Slot& a, const Slot& b) {
  if (a.var != b.var) return false;
  return a.var == kNoVar ? a.position == b.position : a.lo == b.lo && a.hi == b.hi;
}

bool equal(const Equation& a, const Equation& b) {
  if (a.targets != b.targets || a.slots.size() != b.slots.size()) return false;
  for (size_t k = 0; k < a.slots.size(); ++k)
    if (!equal(a.slots[k], b.slots[k])) return false;
  return a.where == b.where && polyweft::equal(a.rhs, b.rhs) && a.index_names == b.index_names;
}

bool equal(const Combiner& a, const Combiner& b) {
  return a.name == b.name && a.left == b.left && a.right == b.right && a.types == b.types && a.identity == b.identity &&
         a.associative == b.associative && a.commutative == b.commutative && equal(a.result, b.result);
}

template <class T>
bool equal_all(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k)
    if (!equal(a[k], b[k])) return false;
  return true;
}

std::vector<TensorId> tensors_of_kind(const Program& program, TensorKind kind) {
  std::vector<TensorId> out;
  for (TensorId id = 0; id < program.tensors.size(); ++id)
    if (program.tensors[id].kind == kind) out.push_back(id);
  return out;
}

}  // namespace

bool is_float(ElementType type) {
  return type <= ElementType::bf16;
}

bool is_integer(ElementType type) {
  return type >= ElementType::i64 && type <= ElementType::u8;
}

int64_t size_bytes(ElementType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

const char* name_of(ElementType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

std::optional<ElementType> element_type_named(const std::string& name) {
  for (size_t k = 0; k < kTypes.size(); ++k)
    if (name == kTypes[k].name) return static_cast<ElementType>(k);
  return std::nullopt;
}

const char* name_of(NumericsClass cls) {
  return kClasses[static_cast<size_t>(cls)];
}

std::optional<NumericsClass> numerics_class_named(const std::string& name) {
  for (size_t k = 0; k < kClasses.size(); ++k)
    if (name == kClasses[k]) return static_cast<NumericsClass>(k);
  return std::nullopt;
}

const char* name_of(Op op) {
  for (const OpName& known : kOps)
    if (known.op == op) return known.name;
  return "?";
}

const char* name_of(Reducer reducer) {
  return kReducers[static_cast<size_t>(reducer)];
}

bool operator==(const Literal& a, const Literal& b) {
  if (a.type != b.type) return false;
  if (!is_float(a.type)) return a.i == b.i;
  bool both_nan = a.f != a.f && b.f != b.f;
  return both_nan || std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f);
}

bool equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (!a || !b || a->op != b->op || a->type != b->type || !equal(a->args, b->args)) return false;
  switch (a->op) {
    case Op::literal:
      return a->literal == b->literal;
    case Op::variable:
    case Op::component:
      return a->var == b->var;
    case Op::read:
      return equal(a->access, b->access);
    case Op::affine:
      return a->affine == b->affine;
    case Op::guarded:
      return a->guard == b->guard;
    case Op::reduce:
      return equal(a->reduction, b->reduction);
    default:
      return true;
  }
}

Expr make_literal(Literal literal, Span where) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::literal;
  node->type = literal.type;
  node->literal = literal;
  node->where = where;
  return node;
}

Expr make_variable(VarId var, Span where) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::variable;
  node->type = ElementType::i64;
  node->var = var;
  node->where = where;
  return node;
}

Expr make_read(ElementType type, Access access, Span where) {
  auto node = std::make_shared<ExprNode>();
  node->op = Op::read;
  node->type = type;
  node->access = std::move(access);
  node->where = where;
  return node;
}

Expr make_op(Op op, ElementType type, std::vector<Expr> args, Span where) {
  auto node = std::make_shared<ExprNode>();
  node->op = op;
  node->type = type;
  node->args = std::move(args);
  node->where = where;
  return node;
}

std::vector<TensorId> Program::inputs() const {
  return tensors_of_kind(*this, TensorKind::input);
}

std::vector<TensorId> Program::outputs() const {
  return tensors_of_kind(*this, TensorKind::output);
}

bool equal(const Program& a, const Program& b) {
  return a.name == b.name && a.parameters == b.parameters && a.const_parameters == b.const_parameters &&
         a.assumptions == b.assumptions && equal_all(a.tensors, b.tensors) && equal_all(a.combiners, b.combiners) &&
         equal_all(a.equations, b.equations);
}

std::vector<std::string> variable_names(const Program& program, const Equation& equation) {
  std::vector<std::string> names;
  for (const Parameter& parameter : program.parameters) names.push_back(parameter.name);
  names.insert(names.end(), equation.index_names.begin(), equation.index_names.end());
  return names;
}

}  // namespace polyweft
