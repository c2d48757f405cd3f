// Random expressions over all element types in scalar, unrolled and vector loops with full and open bounds: bits of the
// interpreter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "ir/values/scalar.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

constexpr ElementType kTypes[] = {ElementType::f64, ElementType::f32,    ElementType::f16, ElementType::bf16,
                                  ElementType::i64, ElementType::i32,    ElementType::i16, ElementType::i8,
                                  ElementType::u8,  ElementType::boolean};
constexpr int64_t kCells = 160;

class RandomNest {
 public:
  explicit RandomNest(uint64_t seed) : random_(seed) {}

  LoopNest make() {
    nest_.name = "random";
    nest_.cls = NumericsClass::strict;
    const ElementType out = any_type();
    for (int input = 0; input < 3; ++input) add_argument("X" + std::to_string(input), any_type(), false);
    add_argument("Y", out, true);
    Seq seq;
    for (int statement = 0; statement < 3; ++statement) seq.children.push_back(loops(out));
    nest_.root = nest_.add(std::move(seq));
    return nest_;
  }

 private:
  size_t pick(size_t n) { return static_cast<size_t>(random_() % n); }
  ElementType any_type() { return kTypes[pick(std::size(kTypes))]; }

  void add_argument(std::string name, ElementType type, bool is_output) {
    Buffer b;
    b.name = std::move(name);
    b.type = type;
    b.scope = Scope::argument;
    b.extents = {kCells};
    b.layout = row_major(b.extents);
    b.align_bytes = size_bytes(type);
    b.is_output = is_output;
    nest_.arguments.push_back(static_cast<BufferId>(nest_.buffers.size()));
    nest_.buffers.push_back(std::move(b));
  }

  // for i in 0..n { for v in 0..min(w, n*w - i*w) { Y[i*w + v] = e } }
  NodeId loops(ElementType type) {
    const int64_t widths[] = {1, 3, 4, 8, 16};
    const int64_t width = widths[pick(5)];
    const int64_t total = 1 + static_cast<int64_t>(pick(40));
    outer_ = nest_.new_loop_var("i");
    inner_ = nest_.new_loop_var("v");
    width_ = width;
    Compute compute;
    Access dst;
    dst.id = 3;
    dst.index.push_back({at(1), nullptr, {}, {}});
    compute.dst = {dst};
    compute.instance = {at(1)};
    compute.rhs = {expression(type, 2)};
    if (pick(3) == 0 && type != ElementType::boolean) {
      compute.how = Write::accumulate;
      const Reducer reducers[] = {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min};
      compute.reducer = reducers[pick(4)];
    }
    Loop lanes;
    lanes.var = inner_;
    lanes.lo = {{Affine::of(0)}};
    const int64_t kind = static_cast<int64_t>(pick(3));
    const bool open = kind != 1;
    lanes.hi = {{Affine::of(width)}};
    if (open) lanes.hi.of.push_back(Affine::of(total) - width * Affine::variable(outer_));
    lanes.mark.kind = kind == 0 ? MarkKind::vector : kind == 1 ? MarkKind::unroll : MarkKind::serial;
    lanes.mark.width = kind == 0 ? static_cast<int32_t>(width) : 0;
    lanes.body = nest_.add(compute);
    Loop rows;
    rows.var = outer_;
    rows.lo = {{Affine::of(0)}};
    rows.hi = {{Affine::of((total + width - 1) / width)}};
    rows.mark.kind = pick(4) == 0 ? MarkKind::parallel : MarkKind::serial;
    rows.body = nest_.add(lanes);
    return nest_.add(rows);
  }

  // stride * (width * i + v), or its mirror image.
  Affine at(int64_t stride) { return (stride * width_) * Affine::variable(outer_) + Affine::variable(inner_, stride); }
  Affine somewhere() {
    switch (pick(5)) {
      case 0:
        return Affine::of(static_cast<int64_t>(pick(kCells)));
      case 1:
        return at(2);
      case 2:
        return Affine::of(kCells - 1) - at(1);
      case 3:
        return floor_div(at(1), 3) + Affine::of(static_cast<int64_t>(pick(9)));
      default:
        return clamp(at(1) - Affine::of(static_cast<int64_t>(pick(9))), Affine::of(0), Affine::of(30));
    }
  }

  Expr leaf(ElementType type) {
    const auto input = static_cast<BufferId>(pick(3));
    Access access;
    access.id = input;
    access.index.push_back({somewhere(), nullptr, {}, {}});
    Expr value = make_read(nest_.buffers[input].type, access);
    if (pick(8) == 0) value = make_op(Op::convert, ElementType::i64, {make_variable(outer_)});
    if (pick(10) == 0)
      return make_literal(is_float(type) ? ir::float_literal(type, 0.75) : ir::integer_literal(type, 3));
    return converted(value, type);
  }
  Expr converted(Expr value, ElementType type) {
    if (value->type == type) return value;
    if (type == ElementType::boolean) {
      const Literal zero =
          is_float(value->type) ? ir::float_literal(value->type, 0) : ir::integer_literal(value->type, 0);
      return make_op(Op::ne, type, {value, make_literal(zero)});
    }
    const bool saturates = is_integer(type) && value->type != ElementType::boolean && pick(2) == 0;
    return make_op(saturates ? Op::saturate : Op::convert, type, {value});
  }

  Expr expression(ElementType type, int depth) {
    if (depth == 0) return leaf(type);
    const auto sub = [&] { return expression(type, depth - 1); };
    if (pick(6) == 0) return converted(expression(any_type(), depth - 1), type);
    if (pick(8) == 0) return make_op(Op::select, type, {condition(depth - 1), sub(), sub()});
    if (pick(8) == 0) return guarded(type, depth);
    if (type == ElementType::boolean) return condition(depth);
    if (is_float(type)) {
      const Op binary[] = {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max};
      const Op unary[] = {Op::neg, Op::abs,  Op::sqrt, Op::floor,   Op::ceil, Op::round, Op::exp,
                          Op::log, Op::tanh, Op::erf,  Op::sigmoid, Op::sin,  Op::cos,   Op::rsqrt};
      if (pick(8) == 0) return make_op(Op::fma, type, {sub(), sub(), sub()});
      if (pick(3) == 0) return make_op(unary[pick(std::size(unary))], type, {sub()});
      return make_op(binary[pick(std::size(binary))], type, {sub(), sub()});
    }
    const Op binary[] = {Op::add,    Op::sub,     Op::mul, Op::floor_div, Op::floor_mod, Op::bit_and,
                         Op::bit_or, Op::bit_xor, Op::shl, Op::shr,       Op::min,       Op::max};
    if (pick(5) == 0) return make_op(pick(2) ? Op::abs : pick(2) ? Op::neg : Op::bit_not, type, {sub()});
    return make_op(binary[pick(std::size(binary))], type, {sub(), sub()});
  }
  Expr condition(int depth) {
    const ElementType types[] = {ElementType::f32, ElementType::i32, ElementType::u8, ElementType::f64,
                                 ElementType::f16};
    const ElementType type = types[pick(5)];
    const Op relations[] = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
    const int below = std::max(0, depth - 1);
    return make_op(relations[pick(6)], ElementType::boolean, {expression(type, below), expression(type, below)});
  }
  Expr guarded(ElementType type, int depth) {
    ExprNode node;
    node.op = Op::guarded;
    node.type = type;
    const Guard choices[] = {
        guard_ge0(at(1) - Affine::of(7)), guard_eq0(modulo(at(1), 3)),
        guard_ge0(Affine::of(1) - Affine::variable(outer_)),
        guard_any({guard_ge0(Affine::of(3) - at(1)), guard_not(guard_ge0(Affine::of(20) - at(1)))})};
    node.guard = choices[pick(4)];
    node.args = {expression(type, depth - 1), expression(type, depth - 1)};
    return std::make_shared<const ExprNode>(std::move(node));
  }

  std::mt19937_64 random_;
  LoopNest nest_;
  VarId outer_ = 0, inner_ = 0;
  int64_t width_ = 1;
};

/// Nests with one statement less, or with an expression replaced by a part of it.
std::vector<LoopNest> smaller(const LoopNest& nest) {
  std::vector<LoopNest> out;
  const size_t statements = std::get<Seq>(nest.nodes[nest.root]).children.size();
  for (size_t k = 0; statements > 1 && k < statements; ++k) {
    LoopNest less = nest;
    auto& children = std::get<Seq>(less.nodes[less.root]).children;
    children.erase(children.begin() + static_cast<std::ptrdiff_t>(k));
    out.push_back(std::move(less));
  }
  for (size_t node = 0; node < nest.nodes.size(); ++node) {
    const auto* compute = std::get_if<Compute>(&nest.nodes[node]);
    if (!compute) continue;
    visit(compute->rhs[0], [&](const ExprNode& part) {
      if (&part == compute->rhs[0].get() || part.type != compute->rhs[0]->type) return;
      LoopNest less = nest;
      std::get<Compute>(less.nodes[node]).rhs[0] = std::make_shared<const ExprNode>(part);
      out.push_back(std::move(less));
    });
  }
  return out;
}

LoopNest shrunk(LoopNest nest, const Target& target, uint64_t seed) {
  for (bool again = true; again;) {
    again = false;
    for (LoopNest& less : smaller(nest)) {
      if (compiled_difference(less, target, seed).empty()) continue;
      nest = std::move(less);
      again = true;
      break;
    }
  }
  return nest;
}

TEST(RandomNests, compiled_code_gives_the_bits_of_the_interpreter) {
  const char* wanted = std::getenv("PW_RANDOM_NESTS");
  const uint64_t seeds = wanted ? std::strtoull(wanted, nullptr, 10) : 120;
  const std::vector<Target> targets = runnable_targets();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const LoopNest nest = RandomNest(seed).make();
    const Status status = verify(nest);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().message << "\n" << print(nest);
    const Target& target = targets[seed % targets.size()];
    if (compiled_difference(nest, target, seed).empty()) continue;
    const LoopNest least = shrunk(nest, target, seed);
    FAIL() << "seed " << seed << "\n" << print(least) << compiled_difference(least, target, seed);
  }
}

}  // namespace
}  // namespace polyweft::targets_test
