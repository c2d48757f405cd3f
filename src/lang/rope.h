// Expressions of the C++ DSL: trees of text whose indices get their names when an equation is written.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "polyweft/dsl.h"

namespace polyweft::dsl::detail {

/// Levels of the grammar, loosest first; a reduction stands between a sum and a product.
enum Level { kGuarded, kOr, kAnd, kNot, kRelation, kBits, kShift, kSum, kReduction, kProduct, kUnary, kPrimary };

struct IndexState {
  std::string name;  ///< empty: chosen when the equation is written
};

/// The index stands alone in a subscript of this extent.
struct Hint {
  std::shared_ptr<IndexState> index;
  std::shared_ptr<const Rope> extent;
};

/// A rope may stand in many others, and be as deep as a program has additions: nothing here follows it by recursion,
/// and nothing visits it twice where its text is not written twice.
struct Rope {
  Rope() = default;
  Rope(const Rope&) = delete;
  Rope& operator=(const Rope&) = delete;
  ~Rope();
  using Piece = std::variant<std::string, std::shared_ptr<IndexState>, std::shared_ptr<const Rope>>;
  Level level = kPrimary;
  std::vector<Piece> pieces;
  std::vector<Hint> hints;
  std::string bit_operator;  ///< of a chain of & | ^
  std::string misuse;
};
using RopePtr = std::shared_ptr<const Rope>;

RopePtr make_rope(Level level, std::vector<Rope::Piece> pieces);
RopePtr rope_text(std::string text, Level level = kPrimary);
/// In parentheses where its level is below `least`.
RopePtr at_level(const RopePtr& rope, Level least);
/// Appends a, b, c.
void append_list(std::vector<Rope::Piece>& pieces, const std::vector<RopePtr>& items);
/// Extent of the first subscript in which the index stands alone; null without one.
RopePtr extent_of(const IndexState* index, const RopePtr& rope);
std::string number_text(double number);
/// letter { letter | digit | '_' }
bool is_name(const std::string& text);

/// A tensor being read or defined.
struct Access {
  std::shared_ptr<BuilderState> builder;
  size_t tensor = 0;
  std::vector<SubscriptArg> subscripts;
  std::vector<RopePtr> guards;

  RopePtr read() const;
  /// T[i: N, 0]; `misuse` tells what is wrong.
  RopePtr slots(std::string& misuse) const;

 private:
  RopePtr range_of(const SubscriptArg& subscript, size_t dimension) const;
};

struct TensorState {
  std::string name;
  const char* keyword = "";  ///< let, out, out partial; empty: not defined by equations
  std::vector<RopePtr> shape;
  std::optional<ElementType> type;
};

struct BuilderState {
  std::string name;
  std::vector<std::string> parameters;  ///< M = 4, const S = 2
  std::vector<std::string> names;       ///< all that are declared
  std::vector<RopePtr> assumptions;
  std::vector<TensorState> tensors;
  std::vector<RopePtr> items;  ///< declarations and equations, a line each
  std::string misuse;          ///< the first one

  void declare(const std::string& new_name);
  void note(const std::string& text);
  std::string write(const RopePtr& item, std::string& first_misuse) const;
};

/// lo..hi or hi.
RopePtr range_text(const RopePtr& lo, const RopePtr& hi);

}  // namespace polyweft::dsl::detail
