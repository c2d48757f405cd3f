#include "random/gathers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "support/rng.h"

namespace polyweft::random_test {
namespace {

/// Two's complement of 256 bits in 32-bit digits, schoolbook: enough for every tree of this generator, and slow without
/// harm.
class Big {
 public:
  static constexpr size_t kDigits = 8;
  Big(int64_t value = 0) {
    digit_.fill(value < 0 ? ~0U : 0U);
    digit_[0] = static_cast<uint32_t>(value);
    digit_[1] = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
  }
  bool negative() const { return digit_[kDigits - 1] >> 31; }
  friend Big operator~(Big a) {
    for (uint32_t& d : a.digit_) d = ~d;
    return a;
  }
  friend Big operator+(Big a, const Big& b) {
    uint64_t carry = 0;
    for (size_t k = 0; k < kDigits; ++k, carry >>= 32)
      a.digit_[k] = static_cast<uint32_t>(carry += uint64_t{a.digit_[k]} + b.digit_[k]);
    return a;
  }
  friend Big operator-(const Big& a) { return ~a + Big(1); }
  friend Big operator-(const Big& a, const Big& b) { return a + -b; }
  friend Big operator*(const Big& a, const Big& b) {
    Big out;
    for (size_t i = 0; i < kDigits; ++i) {
      uint64_t carry = 0;
      for (size_t j = 0; i + j < kDigits; ++j, carry >>= 32)
        out.digit_[i + j] = static_cast<uint32_t>(carry += out.digit_[i + j] + uint64_t{a.digit_[i]} * b.digit_[j]);
    }
    return out;
  }
  friend bool operator<(const Big& a, const Big& b) { return (a - b).negative(); }
  friend bool operator==(const Big& a, const Big& b) { return a.digit_ == b.digit_; }
  template <class F>
  static Big by_digit(const Big& a, const Big& b, const F& f) {
    Big out;
    for (size_t k = 0; k < kDigits; ++k) out.digit_[k] = f(a.digit_[k], b.digit_[k]);
    return out;
  }
  Big magnitude() const { return negative() ? -*this : *this; }
  bool bit(size_t k) const { return digit_[k / 32] >> (k % 32) & 1; }
  void set_bit(size_t k) { digit_[k / 32] |= 1U << (k % 32); }
  int64_t low() const { return static_cast<int64_t>(uint64_t{digit_[1]} << 32 | digit_[0]); }
  bool fits(int bits) const {
    for (size_t k = static_cast<size_t>(bits) - 1; k < 32 * kDigits; ++k)
      if (bit(k) != negative()) return false;
    return true;
  }

 private:
  std::array<uint32_t, kDigits> digit_{};
};

struct Division {
  Big quotient, rest;
};
/// Rounds down; by 0 gives 0 and 0.
Division divided(const Big& a, const Big& b) {
  if (b == Big(0)) return {};
  const Big divisor = b.magnitude(), dividend = a.magnitude();
  Division out;
  for (size_t k = 256; k-- > 0;) {
    out.rest = out.rest + out.rest + Big(dividend.bit(k));
    if (out.rest < divisor) continue;
    out.rest = out.rest - divisor;
    out.quotient.set_bit(k);
  }
  if (a.negative()) out.rest = -out.rest;
  if (a.negative() != b.negative()) out.quotient = -out.quotient;
  if (!(out.rest == Big(0)) && out.rest.negative() != b.negative()) out = {out.quotient - Big(1), out.rest + b};
  return out;
}

enum class Kind {
  data,
  index,
  size,
  number,
  negate,
  complement,
  absolute,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  both,
  either,
  differ,
  left,
  right,
  least,
  greatest,
  choose,
  guard,
  wrap
};

struct Tree {
  Kind kind = Kind::number;
  int64_t number = 0;  ///< number: its value; data: the input; choose: the comparison; guard: the bound
  std::vector<std::unique_ptr<Tree>> of;
};
using Part = std::unique_ptr<Tree>;

struct Input {
  ElementType type = ElementType::i64;
  bool promised = false;
  int64_t lo = 0, hi = 0;  ///< inclusive, what the data may be
  std::vector<int64_t> data;
};

/// The least number of bits of two's complement that hold what a part may be, by types alone; used to know that a
/// refusal was due.
using Bits = int;

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  RandomGather run() {
    extent_ = rng_.between(1, 9);
    count_ = rng_.chance(0.5) ? rng_.between(1, 5) : rng_.between(16, 40);
    for (int64_t k = rng_.between(1, 2); k-- > 0;) inputs_.push_back(input());
    shape_ = rng_.below(3);
    inner_ = part(static_cast<int>(rng_.between(1, 4)));
    if (!has_data(*inner_)) inner_ = made_of(Kind::subtract, 0, std::move(inner_), data_leaf());
    out_.features.over_128 = bits_of(*inner_) > 128 || widest_ > 128;
    out_.text = text();
    fill();
    return std::move(out_);
  }

 private:
  // ---- the program ----

  Input input() {
    static constexpr std::array kTypes = {ElementType::i64, ElementType::i64, ElementType::i64, ElementType::i64,
                                          ElementType::i64, ElementType::i64, ElementType::i32, ElementType::i16,
                                          ElementType::i8,  ElementType::u8};
    Input in;
    in.type = kTypes[rng_.below(kTypes.size())];
    const int width = static_cast<int>(8 * size_bytes(in.type));
    in.lo = in.type == ElementType::u8 ? 0 : std::numeric_limits<int64_t>::min() >> (64 - width);
    in.hi = in.type == ElementType::u8 ? 255 : std::numeric_limits<int64_t>::max() >> (64 - width);
    in.promised = rng_.chance(0.25);
    if (in.promised) {
      in.lo = std::max<int64_t>(in.lo, -rng_.between(0, 100));
      in.hi = std::min<int64_t>(in.hi, rng_.between(0, rng_.chance(0.5) ? 100 : 1'000'000));
      ++out_.features.promises;
    }
    for (int64_t k = 0; k < count_; ++k) in.data.push_back(value(in));
    return in;
  }

  int64_t value(const Input& in) {
    const int64_t near = rng_.between(0, 3);
    switch (rng_.below(5)) {
      case 0:
        return std::min(in.lo + near, in.hi);
      case 1:
        return std::max(in.hi - near, in.lo);
      case 2:
        return std::clamp<int64_t>(rng_.between(-12, 12), in.lo, in.hi);
      case 3:
        return std::clamp<int64_t>(int64_t{1} << rng_.between(0, 62), in.lo, in.hi);
      default:
        return rng_.between(in.lo, in.hi);
    }
  }

  Part made(Kind kind, int64_t number = 0) {
    auto out = std::make_unique<Tree>();
    out->kind = kind;
    out->number = number;
    return out;
  }
  template <class... Parts>
  Part made_of(Kind kind, int64_t number, Parts... parts) {
    Part out = made(kind, number);
    (out->of.push_back(std::move(parts)), ...);
    return out;
  }

  Part leaf() {
    const auto which = rng_.below(12);
    if (which < 7) return made(Kind::data, static_cast<int64_t>(rng_.below(inputs_.size())));
    if (which == 7) return made(Kind::index);
    if (which == 8) return made(Kind::size);
    if (which < 11) return made(Kind::number, rng_.between(0, 20));
    return made(Kind::number, (int64_t{1} << rng_.between(20, 62)) + rng_.between(-1, 1));
  }

  Part part(int depth) {
    if (depth == 0) return leaf();
    GatherFeatures& f = out_.features;
    Part a = part(depth - 1), b = part(rng_.chance(0.5) ? depth - 1 : 0);
    switch (rng_.below(17)) {
      case 0:
      case 1:
        return ++f.negations, made_of(Kind::negate, 0, std::move(a));
      case 2:
      case 3:
        return ++f.sums, made_of(Kind::add, 0, std::move(a), std::move(b));
      case 4:
      case 5:
        return ++f.sums, made_of(Kind::subtract, 0, std::move(a), std::move(b));
      case 6:
      case 7:
        return ++f.products, made_of(Kind::multiply, 0, std::move(a), std::move(b));
      case 8:
        return ++f.quotients, made_of(Kind::divide, 0, std::move(a), std::move(b));
      case 9:
        return ++f.remainders, made_of(Kind::remainder, 0, std::move(a), std::move(b));
      case 10:
        return ++f.bits, made_of(std::array{Kind::both, Kind::either, Kind::differ}[rng_.below(3)], 0, std::move(a),
                                 std::move(b));
      case 11:
        return ++f.shifts, made_of(rng_.chance(0.5) ? Kind::left : Kind::right, 0, std::move(a),
                                   rng_.chance(0.7) ? made(Kind::number, rng_.between(0, 9)) : std::move(b));
      case 12:
        return made_of(rng_.chance(0.5) ? Kind::absolute : Kind::complement, 0, std::move(a));
      case 13:
        return made_of(rng_.chance(0.5) ? Kind::least : Kind::greatest, 0, std::move(a), std::move(b));
      case 14:
        return ++f.selects, made_of(Kind::choose, static_cast<int64_t>(rng_.below(6)), leaf(), data_leaf(),
                                    std::move(a), std::move(b));
      case 15:
        return ++f.guards, made_of(Kind::guard, rng_.between(0, count_), std::move(a), std::move(b));
      default:
        return ++f.wrapped_parts, made_of(Kind::wrap, 0, product_of_one_type());
    }
  }

  static bool has_data(const Tree& t) {
    return t.kind == Kind::data ||
           std::any_of(t.of.begin(), t.of.end(), [](const Part& part) { return has_data(*part); });
  }

  Part data_leaf() { return made(Kind::data, static_cast<int64_t>(rng_.below(inputs_.size()))); }

  /// Inside a conversion values have types: one input by itself.
  Part product_of_one_type() {
    const auto which = static_cast<int64_t>(rng_.below(inputs_.size()));
    const Kind kind = std::array{Kind::add, Kind::subtract, Kind::multiply}[rng_.below(3)];
    return made_of(kind, 0, made(Kind::data, which), made(Kind::data, which));
  }

  // ---- text ----

  static std::string name(int64_t input) { return std::string(1, static_cast<char>('A' + input)); }

  std::string joined(const Tree& t, const char* between) const {
    return "(" + text(*t.of[0]) + between + text(*t.of[1]) + ")";
  }

  std::string text(const Tree& t) const {
    static constexpr std::array kCompare = {" == ", " != ", " < ", " <= ", " > ", " >= "};
    switch (t.kind) {
      case Kind::data:
        return name(t.number) + "[i]";
      case Kind::index:
        return "i";
      case Kind::size:
        return "N";
      case Kind::number:
        return std::to_string(t.number);
      case Kind::negate:
        return "(-" + text(*t.of[0]) + ")";
      case Kind::complement:
        return "(~(i64(0) + " + text(*t.of[0]) + "))";
      case Kind::absolute:
        return "abs(" + text(*t.of[0]) + ")";
      case Kind::least:
        return "min(" + text(*t.of[0]) + ", " + text(*t.of[1]) + ")";
      case Kind::greatest:
        return "max(" + text(*t.of[0]) + ", " + text(*t.of[1]) + ")";
      case Kind::choose:
        return "select(" + text(*t.of[0]) + kCompare[static_cast<size_t>(t.number)] + text(*t.of[1]) + ", " +
               text(*t.of[2]) + ", " + text(*t.of[3]) + ")";
      case Kind::guard:
        return "(" + text(*t.of[0]) + " where i < " + std::to_string(t.number) + " else " + text(*t.of[1]) + ")";
      case Kind::wrap:
        return "i64" + text(*t.of[0]);
      default:
        break;
    }
    static constexpr std::array kInfix = {" + ", " - ", " * ", " // ", " % ", " & ", " | ", " ^ ", " << ", " >> "};
    return joined(t, kInfix[static_cast<size_t>(t.kind) - static_cast<size_t>(Kind::add)]);
  }

  std::string text() {
    std::string out = "program gather(N = " + std::to_string(extent_) + ", M = " + std::to_string(count_) + ")\n";
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Input& in = inputs_[k];
      out += "in " + name(static_cast<int64_t>(k)) + ": " + name_of(in.type) + "[M]";
      if (in.promised) out += " values " + std::to_string(in.lo) + ".." + std::to_string(in.hi + 1);
      out += "\n";
    }
    out += "in T: i32[N]\nout Y[i: M] = T[";
    const std::string inner = text(*inner_);
    if (shape_ == 0) return ++out_.features.remainders, out + inner + " % N]\n";
    ++out_.features.clamps;
    if (shape_ == 1) return out + "clamp(" + inner + ", 0, N - 1)]\n";
    return out + "clamp(" + inner + ", 1, N) - 1]\n";
  }

  // ---- meaning ----

  Big value(const Tree& t, int64_t i) {
    const Big out = plain_value(t, i);
    out_.features.leaves_64 |= !out.fits(64);
    return out;
  }

  Big plain_value(const Tree& t, int64_t i) {
    const auto arg = [&](size_t k) { return value(*t.of[k], i); };
    switch (t.kind) {
      case Kind::data:
        return inputs_[static_cast<size_t>(t.number)].data[static_cast<size_t>(i)];
      case Kind::index:
        return i;
      case Kind::size:
        return extent_;
      case Kind::number:
        return t.number;
      case Kind::negate:
        return -arg(0);
      case Kind::complement:
        return ~arg(0);
      case Kind::absolute:
        return arg(0).magnitude();
      case Kind::add:
        return arg(0) + arg(1);
      case Kind::subtract:
        return arg(0) - arg(1);
      case Kind::multiply:
        return arg(0) * arg(1);
      case Kind::divide:
        return divided(arg(0), arg(1)).quotient;
      case Kind::remainder:
        return divided(arg(0), arg(1)).rest;
      case Kind::both:
        return Big::by_digit(arg(0), arg(1), [](uint32_t a, uint32_t b) { return a & b; });
      case Kind::either:
        return Big::by_digit(arg(0), arg(1), [](uint32_t a, uint32_t b) { return a | b; });
      case Kind::differ:
        return Big::by_digit(arg(0), arg(1), [](uint32_t a, uint32_t b) { return a ^ b; });
      case Kind::left:
        return arg(0) * power(arg(1));
      case Kind::right:
        return divided(arg(0), power(arg(1))).quotient;
      case Kind::least:
        return arg(0) < arg(1) ? arg(0) : arg(1);
      case Kind::greatest:
        return arg(0) < arg(1) ? arg(1) : arg(0);
      case Kind::choose:
        return arg(compares(t.number, arg(0), arg(1)) ? 2 : 3);
      case Kind::guard:
        return arg(i < t.number ? 0 : 1);
      case Kind::wrap:
        return wrapped(plain_value(*t.of[0], i), inputs_[static_cast<size_t>(t.of[0]->of[0]->number)].type);
    }
    return {};
  }

  /// 2 to the count modulo 64.
  static Big power(const Big& count) {
    Big out;
    out.set_bit(static_cast<size_t>(count.low() & 63));
    return out;
  }

  static bool compares(int64_t how, const Big& a, const Big& b) {
    switch (how) {
      case 0:
        return a == b;
      case 1:
        return !(a == b);
      case 2:
        return a < b;
      case 3:
        return !(b < a);
      case 4:
        return b < a;
      default:
        return !(a < b);
    }
  }

  /// The last bits of x, read as the type reads them.
  static Big wrapped(const Big& x, ElementType type) {
    const int width = static_cast<int>(8 * size_bytes(type));
    Big out;
    for (int k = 0; k < width; ++k)
      if (x.bit(static_cast<size_t>(k))) out.set_bit(static_cast<size_t>(k));
    Big modulus;
    modulus.set_bit(static_cast<size_t>(width));
    return type != ElementType::u8 && out.bit(static_cast<size_t>(width - 1)) ? out - modulus : out;
  }

  // ---- how many bits may a part need? generous: more than this is never needed ----

  Bits bits_of(const Tree& t) {
    const Bits out = plain_bits(t);
    widest_ = std::max(widest_, out);
    return out;
  }

  Bits plain_bits(const Tree& t) {
    const auto arg = [&](size_t k) { return bits_of(*t.of[k]); };
    switch (t.kind) {
      case Kind::data: {
        const ElementType type = inputs_[static_cast<size_t>(t.number)].type;
        return static_cast<int>(8 * size_bytes(type)) + (type == ElementType::u8 ? 1 : 0);
      }
      case Kind::index:
      case Kind::size:
        return 33;
      case Kind::number: {
        Bits bits = 1;
        while (t.number >> (bits - 1) != 0) ++bits;
        return bits;
      }
      case Kind::negate:
      case Kind::absolute:
      case Kind::divide:
        for (size_t k = 1; k < t.of.size(); ++k) arg(k);
        return arg(0) + 1;
      case Kind::complement:
        return arg(0);
      case Kind::add:
      case Kind::subtract:
        return std::max(arg(0), arg(1)) + 1;
      case Kind::multiply:
        return arg(0) + arg(1);
      case Kind::left:
        return arg(0) + (t.of[1]->kind == Kind::number && t.of[1]->number < 64 ? static_cast<int>(t.of[1]->number) + 1
                                                                               : (arg(1), 64));
      case Kind::right:
        return arg(1), arg(0);
      case Kind::choose:
        return arg(0), arg(1), std::max(arg(2), arg(3));
      case Kind::wrap:
        return 64;
      default:
        return std::max(arg(0), arg(1));
    }
  }

  // ---- data ----

  void fill() {
    for (const Input& in : inputs_) {
      TensorData data = make_tensor(in.type, {count_});
      for (int64_t k = 0; k < count_; ++k) {
        data.set(k, {in.type, 0, in.data[static_cast<size_t>(k)]});
        const int64_t it = in.data[static_cast<size_t>(k)];
        out_.features.extremes += it == INT64_MIN || it == INT64_MAX;
      }
      out_.inputs.push_back(std::move(data));
    }
    TensorData table = make_tensor(ElementType::i32, {extent_});
    for (int64_t k = 0; k < extent_; ++k) table.set(k, {ElementType::i32, 0, 100 + 7 * k});
    out_.inputs.push_back(std::move(table));
    for (int64_t i = 0; i < count_; ++i) {
      const Big inner = value(*inner_, i);
      const Big at = shape_ == 0 ? divided(inner, extent_).rest : inner;
      const Big low = shape_ == 2 ? 1 : 0, high = shape_ == 2 ? extent_ : extent_ - 1;
      const Big inside = at < low ? low : (high < at ? high : at);
      out_.wanted.push_back(static_cast<int32_t>(100 + 7 * (inside - low).low()));
    }
  }

  Rng rng_;
  RandomGather out_;
  int64_t extent_ = 1, count_ = 1;
  uint64_t shape_ = 0;
  std::vector<Input> inputs_;
  Part inner_;
  Bits widest_ = 0;
};

}  // namespace

RandomGather random_gather(uint64_t seed) {
  return Generator(seed).run();
}

}  // namespace polyweft::random_test
