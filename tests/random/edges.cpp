#include "random/edges.h"

#include <algorithm>
#include <vector>

namespace polyweft::random_test {
namespace {

using Texts = std::vector<std::string>;

/// An index: 0 <= name < size, whatever its own range.
struct Index {
  std::string name, size;
};

class Edges {
 public:
  explicit Edges(Rng& rng) : rng_(rng) {}

  EdgeProgram program() {
    out_.text = head();
    const int tensors = static_cast<int>(rng_.between(1, 3));
    for (int t = 0; t < tensors; ++t) add_tensor(t, t + 1 == tensors);
    return out_;
  }

 private:
  std::string one_of(const Texts& words) { return words[rng_.below(words.size())]; }
  static std::string number(int64_t value) { return std::to_string(value); }

  std::string head() {
    const Texts types = {"f32", "f32", "f64", "i32", "i16"};
    type_ = one_of(types);
    is_float_ = type_[0] == 'f';
    std::string sizes, assumed;
    const bool may_be_zero = rng_.chance(0.35);
    for (const std::string& name : kSizes) {
      int64_t value = rng_.between(1, 9);
      if (may_be_zero && rng_.chance(0.5)) {
        assumed += (assumed.empty() ? " assume " : ", ") + name + " >= 0";
        if (rng_.chance(0.6)) value = 0, out_.zero_extent = true;
      }
      sizes += (sizes.empty() ? "" : ", ") + name + " = " + number(value);
    }
    std::string text = "program e(" + sizes + ")" + assumed + "\n";
    for (const auto& [name, dims] : inputs_) {
      text += "in " + name + ": " + type_;
      for (size_t d = 0; d < dims.size(); ++d) text += (d ? ", " : "[") + dims[d];
      text += dims.empty() ? "\n" : "]\n";
    }
    return text;
  }

  std::string fresh() {
    const std::string letters = "ijklmnpqr";
    const size_t k = used_++;
    return std::string(1, letters[k % letters.size()]) +
           (k < letters.size() ? "" : number(static_cast<int64_t>(k / letters.size())));
  }

  /// Of size `size`, whole or depending on an index before it.
  std::string range(const std::string& size, const std::vector<Index>& before) {
    std::vector<const Index*> same;
    for (const Index& index : before)
      if (index.size == size) same.push_back(&index);
    if (same.empty() || rng_.chance(0.35)) return rng_.chance(0.15) ? "1.." + size : size;
    out_.dependent_range = true;
    const std::string i = same[rng_.below(same.size())]->name;
    return one_of({"0.." + i + "+1", "0.." + i, i + ".." + size, i + "+1.." + size, i + "//2.." + i + "+1",
                   i + ".." + i + "+1", "0.." + i + " // 2 + 1", "1.." + i + "+1"});
  }

  // ---- conditions ----

  std::string atom(const std::vector<Index>& of) {
    if (of.empty() || rng_.chance(0.06)) return kSizes[rng_.below(3)] + one_of({" > 3", " < 5", " % 2 == 0"});
    const Index &a = of[rng_.below(of.size())], &b = of[rng_.below(of.size())];
    const std::string c = number(rng_.between(0, 6)), m = number(rng_.between(2, 3)), i = a.name, j = b.name;
    if (a.name == b.name || rng_.chance(0.4))
      return one_of({i + " < " + c, i + " >= " + c, i + " == " + c, i + " != " + c, i + " % " + m + " == 1",
                     i + " % " + m + " != 0", i + " // 2 < " + c, "2*" + i + " < " + a.size,
                     i + " + " + c + " < " + a.size});
    return one_of({i + " < " + j, i + " <= " + j, i + " != " + j, i + " == " + j,
                   "(" + i + " + " + j + ") % " + m + " == 0", i + " + " + j + " < " + a.size, i + " // 2 == " + j,
                   "2*" + i + " >= 3*" + j, i + " < " + j + " + " + c, i + " == " + j + " + " + c});
  }

  std::string condition(const std::vector<Index>& of) {
    const std::string a = atom(of);
    switch (rng_.below(8)) {
      case 0:
        return a + " and " + atom(of);
      case 1:
        return "(" + a + " or " + atom(of) + ")";
      case 2:
        return "not (" + a + ")";
      case 3:
        return "not (" + a + " and " + atom(of) + ")";
      default:
        return a;
    }
  }

  // ---- values ----

  std::string literal() { return is_float_ ? one_of({"0.5", "1.0", "2.0", "-0.25"}) : one_of({"1", "2", "3", "-1"}); }

  std::string read(const std::vector<Index>& scope) {
    for (int tries = 0; tries < 8; ++tries) {
      const auto& [name, dims] = inputs_[rng_.below(inputs_.size())];
      if (dims.empty()) return name;
      std::string out = name;
      bool fits = true;
      for (size_t d = 0; d < dims.size() && fits; ++d) {
        Texts here;
        for (const Index& index : scope)
          if (index.size == dims[d]) here.push_back(index.name);
        fits = !here.empty();
        if (fits) out += (d ? ", " : "[") + one_of(here);
      }
      if (fits) return out + "]";
    }
    return "s";
  }

  std::string reduction(std::vector<Index> scope, int depth) {
    const std::vector<Index> outer = scope;
    const std::string reducer = one_of({"sum", "sum", "sum", "max", "min", "prod"});
    std::string ranges;
    std::vector<Index> own;
    for (int count = rng_.chance(0.25) ? 2 : 1; count > 0; --count) {
      const std::string size = kSizes[rng_.below(3)], name = fresh();
      ranges += (ranges.empty() ? "" : ", ") + name + ": " + range(size, scope);
      scope.push_back({name, size});
      own.push_back(scope.back());
    }
    Texts parts;
    if (!outer.empty() && rng_.chance(0.6)) parts.push_back(condition(outer)), out_.outer_guard = true;
    if (!outer.empty() && rng_.chance(0.25)) {
      parts.push_back(condition({outer[rng_.below(outer.size())], own[0]}));
      out_.mixed_guard = true;
    }
    if (rng_.chance(0.2)) parts.push_back(condition(own));
    std::string where;
    for (const std::string& part : parts) where += (where.empty() ? " where " : " and ") + part;
    std::string body = read(scope);
    if (rng_.chance(0.6)) body += " * " + read(scope);
    if (depth > 0 && rng_.chance(0.25)) body += " * (" + reduction(scope, depth - 1) + ")";
    if (reducer == "prod" && is_float_) body = "tanh(" + body + ")";
    return reducer + "[" + ranges + where + "] " + body;
  }

  std::string value(const std::vector<Index>& scope) {
    const std::string sum = reduction(scope, 1);
    switch (rng_.below(7)) {
      case 0:
        return literal() + " + (" + sum + ")";
      case 1:
        return literal() + " * (" + sum + ")";
      case 2:
        return read(scope) + " - (" + sum + ")";
      case 3:
        return "(" + sum + ") - (" + reduction(scope, 0) + ")";
      case 4:
        return scope.empty() ? sum : "(" + sum + ") where " + condition(scope) + " else " + literal();
      default:
        return sum;
    }
  }

  // ---- equations ----

  void add_tensor(int number_of, bool is_last) {
    const std::string name = "T" + number(number_of);
    used_ = 0;
    switch (rng_.below(8)) {
      case 0:
      case 1:
      case 2:
        return add_partial(name);
      case 3:
        return add_recurrence(name);
      case 4:
        return add_tuple(name);
      case 5:
        return add_table(name);
      default:
        return add_total(name, is_last || rng_.chance(0.6));
    }
  }

  void add_total(const std::string& name, bool is_output) {
    std::vector<Index> scope;
    std::string slots;
    for (int64_t rank = rng_.between(0, 3); rank > 0; --rank) {
      scope.push_back({fresh(), kSizes[rng_.below(3)]});
      slots += (slots.empty() ? "" : ", ") + scope.back().name + ": " + scope.back().size;
    }
    std::string head = name + (slots.empty() ? "" : "[" + slots + "]") + ": " + type_ + " = ";
    const std::string result = value(scope);
    if (is_output) {
      out_.text += "out " + head + result + "\n";
      return;
    }
    out_.text += "let " + head + result + "\n";
    std::string element;
    for (const Index& index : scope) element += (element.empty() ? "[" : ", ") + index.name;
    if (!element.empty()) element += "]";
    out_.text += "out R" + head.substr(0, head.size() - 3) + " = " + name + element + " + " + literal() + "\n";
  }

  void add_partial(const std::string& name) {
    std::vector<Index> scope;
    std::string slots;
    for (int64_t rank = rng_.between(1, 3); rank > 0; --rank) {
      const std::string size = kSizes[scope.empty()      ? rng_.below(3)
                                      : rng_.chance(0.7) ? index_of(scope[0].size)
                                                         : rng_.below(3)];
      const std::string own = fresh();
      slots += (slots.empty() ? "" : ", ") + own + ": " + range(size, scope);
      scope.push_back({own, size});
    }
    std::string where;
    if (rng_.chance(0.75)) {
      const std::string i = scope[rng_.below(scope.size())].name, j = scope[rng_.below(scope.size())].name,
                        m = number(rng_.between(2, 4));
      where = " where " + one_of({i + " % " + m + " == 1", "(" + i + " + " + j + ") % " + m + " == 0",
                                  i + " % 2 == 1 and " + j + " % " + m + " != 0", "(" + i + " + 2*" + j + ") % 3 == 1",
                                  i + " % " + m + " == 0 or " + j + " > 5", "not (" + i + " % " + m + " == 0)"});
      out_.partial_modulo = true;
      if (rng_.chance(0.3)) where += " and " + condition(scope);
    }
    out_.text += "out partial " + name + "[" + slots + "]: " + type_ + where + " = " +
                 (rng_.chance(0.5) ? value(scope) : read(scope)) + "\n";
  }

  /// Values of a triangle, and what is summed of its rows where the row counts.
  void add_table(const std::string& name) {
    const std::string size = kSizes[rng_.below(3)], i = fresh(), j = fresh(), k = fresh();
    out_.dependent_range = out_.outer_guard = true;
    out_.text += "let " + name + "[" + i + ": " + size + ", " + j + ": 0.." + i + "+1]: " + type_ + " = " +
                 value({{i, size}, {j, size}}) + "\n";
    out_.text += "out R" + name + "[" + i + ": " + size + "]: " + type_ + " = " + one_of({"sum", "max", "min"}) + "[" +
                 k + ": 0.." + i + "+1 where " + condition({{i, size}}) + "] " + name + "[" + i + ", " + k + "]\n";
  }

  void add_recurrence(const std::string& name) {
    out_.recurrence = true;
    const std::string size = kSizes[rng_.below(3)], i = fresh(), j = fresh();
    const bool is_plane = rng_.chance(0.5);
    std::vector<Index> scope = {{i, size}};
    if (is_plane) scope.push_back({j, kSizes[rng_.below(3)]});
    const std::string slots = i + ": " + size + (is_plane ? ", " + j + ": " + scope.back().size : ""),
                      column = is_plane ? ", " + j : "";
    const std::string before = "(" + name + "[" + i + "-1" + column + "] where " + i + " >= 1 else 0)";
    out_.text += "let " + name + "[" + slots + "]: " + type_ + " = " + (is_float_ ? "0.5 * " : "") + before + " + (" +
                 reduction(scope, 0) + ")\n";
    out_.text += "out R" + name + "[" + slots + "]: " + type_ + " = " + name + "[" + i + column + "]\n";
  }

  size_t index_of(const std::string& size) const {
    return static_cast<size_t>(std::find(kSizes.begin(), kSizes.end(), size) - kSizes.begin());
  }

  /// A combiner of two components whose state is not all zeros.
  void add_tuple(const std::string& name) {
    if (has_tuple_) return add_partial(name);
    has_tuple_ = true;
    const std::string least = is_float_        ? "-inf"
                              : type_ == "i32" ? "-2147483648"
                                               : "-32768",
                      size = kSizes[rng_.below(3)], i = fresh(), k = fresh();
    out_.outer_guard = true;
    out_.text +=
        "combine more((m, c), (n, d)): (" + type_ + ", " + type_ + ") from (" + least +
        ", 0) associative commutative = (max(m, n), select(m == max(m, n), c, 0) + select(n == max(m, n), d, 0))\n";
    const std::string other = kSizes[rng_.below(3)];
    const std::string sum = "reduce more[" + k + ": " + range(other, {{i, size}}) + " where " + condition({{i, size}}) +
                            (rng_.chance(0.3) ? " and " + k + " != 1" : "") + "] (" + read({{i, size}, {k, other}}) +
                            ", 1)";
    const std::string a = "a" + name, b = "b" + name;
    out_.text += "let (" + a + ", " + b + ")[" + i + ": " + size +
                 "] = " + (rng_.chance(0.3) ? sum + " where " + condition({{i, size}}) + " else (0, 7)" : sum) + "\n";
    out_.text += "out R" + a + "[" + i + ": " + size + "] = " + a + "[" + i + "]\nout R" + b + "[" + i + ": " + size +
                 "] = " + b + "[" + i + "]\n";
  }

  const Texts kSizes = {"M", "N", "K"};
  const std::vector<std::pair<std::string, Texts>> inputs_ = {
      {"s", {}},         {"X", {"M"}},      {"Y", {"N"}},      {"Z", {"K"}},      {"A", {"M", "N"}},
      {"B", {"N", "K"}}, {"C", {"M", "K"}}, {"D", {"M", "M"}}, {"E", {"K", "K"}}, {"F", {"N", "N"}}};
  Rng& rng_;
  EdgeProgram out_;
  std::string type_;
  bool is_float_ = false, has_tuple_ = false;
  size_t used_ = 0;
};

}  // namespace

EdgeProgram random_edge_program(Rng& rng) {
  return Edges(rng).program();
}

}  // namespace polyweft::random_test
