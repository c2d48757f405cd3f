#include "ir/oracles/tag.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "ir/values/commutative.h"
#include "support/rng.h"

namespace polyweft::ir {
namespace {

/// Odd, for the polynomial of FoldOrder::tree.
constexpr uint64_t kBase = 0x9e3779b97f4a7c15u;

/// Words into 128 bits, order-sensitive: two splitmix64 chains with different seeds.
class Hasher {
 public:
  explicit Hasher(uint64_t kind) { add(kind); }
  void add(uint64_t word) {
    a_ ^= word;
    a_ = splitmix64(a_) ^ std::rotl(b_, 23);
    b_ += word * 0xd6e8feb86659fd93u;
    b_ = splitmix64(b_) ^ std::rotl(a_, 41);
  }
  void add(Tag tag) {
    add(tag.a);
    add(tag.b);
  }
  Tag tag() const { return {a_, b_}; }

 private:
  uint64_t a_ = 0x243f6a8885a308d3u, b_ = 0x13198a2e03707344u;
};

enum Kind : uint64_t { kLiteral = 1, kElement, kOperation, kTerm, kFold, kMerge };

bool less(const Tag& x, const Tag& y) {
  return x.a != y.a ? x.a < y.a : x.b < y.b;
}

/// In FoldOrder::tree a state is (value, power - 1) of a polynomial in kBase.
Tag concatenated(Tag left, Tag right) {
  uint64_t power = right.b + 1;
  return {left.a * power + right.a, (left.b + 1) * power - 1};
}

}  // namespace

Tag tag_of_literal(const Literal& value) {
  Hasher hasher(kLiteral);
  hasher.add(static_cast<uint64_t>(value.type));
  bool nan = is_float(value.type) && value.f != value.f;
  hasher.add(nan                    ? 0x7ff8000000000000u
             : is_float(value.type) ? std::bit_cast<uint64_t>(value.f)
                                    : static_cast<uint64_t>(value.i));
  return hasher.tag();
}

Tag tag_of_element(TensorId tensor, std::span<const int64_t> point) {
  Hasher hasher(kElement);
  hasher.add(tensor);
  for (int64_t x : point) hasher.add(static_cast<uint64_t>(x));
  return hasher.tag();
}

static Tag plain_operation(Op op, ElementType type, std::span<const Tag> args);

/// The sign of a float's tag is its topmost bit: what negation flips, and a product's factors share.
constexpr uint64_t kSign = uint64_t{1} << 63;

static Tag negated_tag(Tag tag) {
  return {tag.a ^ kSign, tag.b};
}

static Tag tag_product(ElementType type, Tag x, Tag y) {
  const uint64_t sign = (x.a ^ y.a) & kSign;
  Tag sizes[2] = {{x.a & ~kSign, x.b}, {y.a & ~kSign, y.b}};
  Tag out = plain_operation(Op::mul, type, sizes);
  return {(out.a & ~kSign) | sign, out.b};
}

Tag tag_of_operation(Op op, ElementType type, std::span<const Tag> args) {
  if (op == Op::fma) {
    Tag sum[2] = {tag_of_operation(Op::mul, type, args.first(2)), args[2]};
    return tag_of_operation(Op::add, type, sum);
  }
  if (is_float(type)) {
    if (op == Op::neg) return negated_tag(args[0]);
    if (op == Op::sub) {
      Tag sum[2] = {args[0], negated_tag(args[1])};
      return tag_of_operation(Op::add, type, sum);
    }
    if (op == Op::mul) return tag_product(type, args[0], args[1]);
  }
  return plain_operation(op, type, args);
}

Tag plain_operation(Op op, ElementType type, std::span<const Tag> args) {
  Hasher hasher(kOperation);
  hasher.add(static_cast<uint64_t>(op) << 8 | static_cast<uint64_t>(type));
  bool swap = is_commutative(op) && less(args[1], args[0]);
  for (size_t k = 0; k < args.size(); ++k) hasher.add(args[swap ? 1 - k : k]);
  return hasher.tag();
}

FoldOrder fold_order(NumericsClass cls, Reducer reducer, ElementType type, const Combiner* combiner) {
  bool rounds = (reducer == Reducer::sum || reducer == Reducer::prod) && is_float(type);
  if (reducer != Reducer::combiner) return rounds && cls != NumericsClass::reassoc ? FoldOrder::fixed : FoldOrder::any;
  if (cls != NumericsClass::reassoc || !combiner->associative) return FoldOrder::fixed;
  return combiner->commutative ? FoldOrder::any : FoldOrder::tree;
}

/// +0 * +0 of one type, as zero padding makes it: the tag of no term, since a sum stays as it is.
static bool is_padding(Tag term) {
  static const std::vector<Tag> products = [] {
    std::vector<Tag> out;
    for (auto type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i64,
                      ElementType::i32, ElementType::i16, ElementType::i8, ElementType::u8}) {
      Literal zero;
      zero.type = type;
      Tag factors[2] = {tag_of_literal(zero), tag_of_literal(zero)};
      out.push_back(tag_of_operation(Op::mul, type, factors));
    }
    return out;
  }();
  return std::find(products.begin(), products.end(), term) != products.end();
}

Tag tag_of_term(Reducer reducer, uint32_t combiner, uint32_t component, std::span<const Tag> values) {
  if (reducer == Reducer::sum && values.size() == 1 && is_padding(values[0])) return Tag{};
  Hasher hasher(kTerm);
  hasher.add(static_cast<uint64_t>(reducer) << 32 | (reducer == Reducer::combiner ? combiner : 0));
  hasher.add(component);
  for (Tag value : values) hasher.add(value);
  return hasher.tag();
}

Tag fold_tags(FoldOrder order, Tag state, Tag term) {
  if (term == Tag{}) return state;
  if (order == FoldOrder::tree) return concatenated(state, {term.a ^ std::rotl(term.b, 32), kBase - 1});
  if (order == FoldOrder::any) return merge_tags(order, state, term);
  Hasher hasher(kFold);
  hasher.add(state);
  hasher.add(term);
  return hasher.tag();
}

Tag merge_tags(FoldOrder order, Tag left, Tag right) {
  if (order == FoldOrder::tree) return concatenated(left, right);
  if (order == FoldOrder::any) {
    uint64_t a = left.a + right.a;
    return {a, left.b + right.b + (a < left.a ? 1 : 0)};
  }
  Hasher hasher(kMerge);
  hasher.add(left);
  hasher.add(right);
  return hasher.tag();
}

}  // namespace polyweft::ir
