// Text -> LoopNest. The text may come from a file, another process or a database row: every number, depth and count has a
// limit, every name must be known, and whatever does not fit ends in PW0410 (syntax) or PW0813 (limit) with its line.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "ir/loop_nest_lexer.h"
#include "ir/loop_nest_text.h"

namespace polyweft {
namespace {

using namespace ir;

/// Thrown and caught inside this file only.
struct ParseFailure {
  Error error;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  LoopNest whole() {
    header();
    while (accept_name("param")) parameter();
    nest_.symbolic = accept_name("symbolic");
    while (nest_.symbolic && accept_name("assume")) nest_.assumptions.push_back(guard(0));
    if (accept_name("loops")) loops();
    while (accept_name("combine")) combiner();
    while (accept_name("buffer")) buffer();
    for (const auto& [id, host] : hosts_) resolve_host(id, host);
    if (accept_name("arguments")) arguments();
    while (accept_name("pack")) pack();
    expect_name("body");
    nest_.root = block(0);
    if (now().kind != TokenKind::end) refuse("expected the end of the text");
    return std::move(nest_);
  }

 private:
  // --- tokens ---
  const Token& now() const { return tokens_[at_]; }
  const Token& next(size_t ahead = 1) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  [[noreturn]] void refuse(const std::string& what) const {
    throw ParseFailure{fail("PW0410", "nest text, line " + std::to_string(now().line) + ": " + what + ", found '" + now().text.substr(0, 40) + "'")};
  }
  [[noreturn]] void over_limit(const std::string& what) const { throw ParseFailure{fail("PW0813", "nest text, line " + std::to_string(now().line) + ": " + what)}; }
  bool is_symbol(const char* s) const { return now().kind == TokenKind::symbol && now().text == s; }
  bool is_name(const char* s) const { return now().kind == TokenKind::name && now().text == s; }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool accept(const char* s) {
    if (!is_symbol(s)) return false;
    advance();
    return true;
  }
  bool accept_name(const char* s) {
    if (!is_name(s)) return false;
    advance();
    return true;
  }
  void expect(const char* s) {
    if (!accept(s)) refuse(std::string("expected '") + s + "'");
  }
  void expect_name(const char* s) {
    if (!accept_name(s)) refuse(std::string("expected '") + s + "'");
  }
  std::string name() {
    if (now().kind != TokenKind::name) refuse("expected a name");
    std::string text = now().text;
    advance();
    return text;
  }
  void check_depth(size_t depth) const {
    if (depth > kMaxNestDepth) over_limit("nesting is deeper than " + std::to_string(kMaxNestDepth));
  }

  /// A name without its "@ID".
  static std::string plain(const std::string& text) { return text.substr(0, text.find('@')); }

  int64_t natural() { return natural_up_to(kMaxNestNumber, "2^40"); }
  int64_t natural_up_to(int64_t limit, const char* limit_text) {
    if (now().kind != TokenKind::integer) refuse("expected an integer");
    errno = 0;
    unsigned long long value = std::strtoull(now().text.c_str(), nullptr, 10);
    if (errno != 0 || value > static_cast<unsigned long long>(limit)) over_limit(std::string("a number is larger than ") + limit_text);
    advance();
    return static_cast<int64_t>(value);
  }
  int64_t integer() {
    bool negative = accept("-");
    int64_t value = natural();
    return negative ? -value : value;
  }
  uint32_t id() {
    int64_t value = natural();
    if (value >= 0xffffffff) over_limit("an identifier is larger than 2^32");
    return static_cast<uint32_t>(value);
  }

  // --- declarations ---
  void header() {
    expect_name("nest");
    if (natural() != kNestTextVersion) refuse("expected version " + std::to_string(kNestTextVersion));
    nest_.name = name();
    expect_name("class");
    auto cls = numerics_class_named(name());
    if (!cls) refuse("expected strict, contract or reassoc");
    nest_.cls = *cls;
  }

  void declare_variable(const std::string& text) {
    if (variables_.size() >= kMaxNestVariables) over_limit("too many variables");
    auto var = static_cast<uint32_t>(variables_.size());
    if (!variables_.emplace(text, var).second) refuse("variable '" + text + "' is declared twice");
  }

  void parameter() {
    std::string text = name();
    declare_variable(text);
    expect("=");
    nest_.params.push_back({plain(text), integer()});
  }

  void loops() {
    do {
      std::string text = name();
      declare_variable(text);
      nest_.loop_names.push_back(plain(text));
    } while (accept(","));
  }

  ElementType type() {
    auto t = element_type_named(name());
    if (!t) refuse("expected an element type");
    return *t;
  }

  void combiner() {
    Combiner c;
    c.name = name();
    expect_name("types");
    expect("(");
    do c.types.push_back(type());
    while (accept(","));
    expect(")");
    expect_name("from");
    expect("(");
    do c.identity.push_back(literal());
    while (accept(","));
    expect(")");
    c.associative = accept_name("associative");
    c.commutative = accept_name("commutative");
    expect("=");
    expect("(");
    combiner_types_ = c.types;
    do c.result.push_back(expression(0));
    while (accept(","));
    combiner_types_.clear();
    expect(")");
    bool fits = c.identity.size() == c.types.size() && c.result.size() == c.types.size();
    if (!fits) refuse("combiner '" + c.name + "' has components missing");
    for (size_t k = 0; k < c.types.size(); ++k) {
      c.left.push_back("l" + std::to_string(k));
      c.right.push_back("r" + std::to_string(k));
    }
    nest_.combiners.push_back(std::move(c));
  }

  void buffer() {
    if (nest_.buffers.size() >= kMaxNestBuffers) over_limit("too many buffers");
    Buffer b;
    std::string text = name();
    b.name = plain(text);
    if (!buffers_.emplace(text, static_cast<uint32_t>(nest_.buffers.size())).second) refuse("buffer '" + text + "' is declared twice");
    expect(":");
    b.type = type();
    b.extents = nest_.symbolic ? shape(b) : numbers();
    b.scope = scope();
    bool has_layout = accept_name("layout");
    if (has_layout) b.layout.pieces = pieces();
    if (accept_name("pad")) b.layout.pad = numbers();
    while (accept_name("fold")) b.folds.push_back(fold(b.extents.size()));
    if (!has_layout) b.layout.pieces = row_major(folded_extents(b)).pieces;
    expect_name("align");
    b.align_bytes = natural();
    b.is_output = accept_name("output");
    b.is_packed = accept_name("packed");
    if (accept_name("values")) b.values = value_range();
    if (nest_.symbolic && accept_name("promise")) {
      b.promise.push_back(affine(0));
      expect("..");
      b.promise.push_back(affine(0));
    }
    if (accept_name("within")) {
      hosts_.emplace_back(static_cast<BufferId>(nest_.buffers.size()), name());
      expect_name("at");
      b.within = Within{0, natural_up_to(INT64_MAX, "2^63 - 1")};
    }
    if (accept_name("tensor")) b.tensor = id();
    if (accept_name("element")) b.element = bracketed();
    if (accept_name("data")) b.data = literals();
    nest_.buffers.push_back(std::move(b));
  }

  std::vector<int64_t> shape(Buffer& b) {
    b.shape = bracketed();
    if (b.shape.size() > kMaxNestRank) over_limit("rank is larger than " + std::to_string(kMaxNestRank));
    std::vector<int64_t> extents;
    for (const Affine& e : b.shape) extents.push_back(e.is_constant() ? e.constant : kSymbolicExtent);
    return extents;
  }

  /// The host may stand further down.
  void resolve_host(BufferId id, const std::string& host) {
    const auto found = buffers_.find(host);
    if (found == buffers_.end()) refuse("buffer '" + nest_.buffers[id].name + "' lies within '" + host + "', which is not declared");
    nest_.buffers[id].within->host = found->second;
  }

  ValueRange value_range() {
    const auto any_integer = [this] {
      const bool negative = accept("-");
      const int64_t value = natural_up_to(INT64_MAX, "2^63 - 1");
      return negative ? -value : value;
    };
    ValueRange range;
    range.lo = any_integer();
    expect("..");
    range.hi = any_integer();
    return range;
  }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> values;
    expect("[");
    if (accept("]")) return values;
    do {
      if (values.size() >= kMaxNestRank) over_limit("rank is larger than " + std::to_string(kMaxNestRank));
      values.push_back(natural());
    } while (accept(","));
    expect("]");
    return values;
  }

  Scope scope() {
    std::string text = name();
    for (int s = 0; s <= static_cast<int>(Scope::tile); ++s)
      if (text == name_of(static_cast<Scope>(s))) return static_cast<Scope>(s);
    refuse("expected a scope before this");
  }

  std::vector<Piece> pieces() {
    std::vector<Piece> result;
    expect("[");
    if (accept("]")) return result;
    do {
      if (result.size() >= 4 * kMaxNestRank) over_limit("too many layout pieces");
      uint32_t dim = id();
      expect(":");
      result.push_back({dim, natural()});
    } while (accept(","));
    expect("]");
    return result;
  }

  Fold fold(size_t rank) {
    Fold f;
    f.dim = id();
    expect_name("mod");
    f.window = natural();
    if (f.dim >= rank || f.window < 1) refuse("a fold needs a dimension of the buffer and a window >= 1");
    return f;
  }

  std::vector<Affine> bracketed() {
    expect("[");
    std::vector<Affine> values;
    if (accept("]")) return values;
    values = affines();
    expect("]");
    return values;
  }

  std::vector<Affine> affines() {
    std::vector<Affine> values;
    do values.push_back(affine(0));
    while (accept(","));
    return values;
  }

  std::vector<Literal> literals() {
    expect("[");
    std::vector<Literal> values;
    if (accept("]")) return values;
    do values.push_back(literal());
    while (accept(","));
    expect("]");
    return values;
  }

  void arguments() {
    do nest_.arguments.push_back(buffer_id());
    while (accept(","));
  }

  void pack() {
    Pack p;
    p.source = buffer_id();
    expect_name("to");
    p.packed = buffer_id();
    p.root = block(0);
    nest_.packs.push_back(p);
  }

  BufferId buffer_id() {
    auto found = buffers_.find(now().text);
    if (now().kind != TokenKind::name || found == buffers_.end()) refuse("expected a declared buffer");
    advance();
    return found->second;
  }

  // --- affine ---
  VarId variable_id() {
    if (accept("$")) return kCellVar + static_cast<uint32_t>(std::min<int64_t>(natural(), kMaxNestRank));
    auto found = variables_.find(now().text);
    if (now().kind != TokenKind::name || found == variables_.end()) refuse("expected a declared variable");
    advance();
    return found->second;
  }

  Affine affine(size_t depth) {
    check_depth(depth);
    Affine sum = affine_term(accept("-") ? -1 : 1, depth);
    while (is_symbol("+") || is_symbol("-")) {
      if (is_symbol("+") && next().kind == TokenKind::symbol && next().text == "{") break;
      int64_t sign = is_symbol("-") ? -1 : 1;
      advance();
      sum = sum + affine_term(sign, depth);
      bounded(sum);
    }
    return sum;
  }

  void bounded(const Affine& e) const {
    bool fits = std::llabs(e.constant) <= kMaxNestNumber;
    for (const Term& t : e.terms) fits &= std::llabs(t.coeff) <= kMaxNestNumber;
    if (!fits) over_limit("a coefficient is larger than 2^40");
    if (e.terms.size() > 256) over_limit("a sum has more than 256 terms");
  }

  Affine affine_term(int64_t sign, size_t depth) {
    if (now().kind != TokenKind::integer) return sign * affine_atom(depth);
    int64_t value = sign * natural();
    return accept("*") ? value * affine_atom(depth) : Affine::of(value);
  }

  Affine affine_atom(size_t depth) {
    bool is_call = next().kind == TokenKind::symbol && next().text == "(";
    if (is_name("floor") && is_call) return floor_atom(depth + 1);
    if (is_name("clamp") && is_call) return clamp_atom(depth + 1);
    return Affine::variable(variable_id());
  }

  Affine floor_atom(size_t depth) {
    advance();
    expect("(");
    Affine e = affine(depth);
    expect("/");
    int64_t den = natural();
    if (den < 1) refuse("a divisor must be >= 1 before this");
    expect(")");
    return polyweft::floor_div(e, den);
  }

  Affine clamp_atom(size_t depth) {
    advance();
    expect("(");
    Affine e = affine(depth);
    expect(",");
    Affine lo = affine(depth);
    expect(",");
    Affine hi = affine(depth);
    expect(")");
    return polyweft::clamp(e, lo, hi);
  }

  Guard guard(size_t depth) {
    check_depth(depth);
    bool is_call = next().kind == TokenKind::symbol && next().text == "(";
    if (accept_name("true")) return Guard{};
    if (is_call && is_name("not")) return group(Guard::Kind::negation, depth);
    if (is_call && is_name("all")) return group(Guard::Kind::all, depth);
    if (is_call && is_name("any")) return group(Guard::Kind::any, depth);
    Guard g;
    g.e = affine(depth);
    g.kind = is_symbol("==") ? Guard::Kind::eq0 : Guard::Kind::ge0;
    if (!accept("==")) expect(">=");
    if (natural() != 0) refuse("a condition compares with 0, before this");
    return g;
  }

  Guard group(Guard::Kind kind, size_t depth) {
    Guard g;
    g.kind = kind;
    advance();
    expect("(");
    if (!is_symbol(")")) do
        g.of.push_back(guard(depth + 1));
      while (accept(","));
    expect(")");
    if (kind == Guard::Kind::negation && g.of.size() != 1) refuse("'not' takes one condition, before this");
    return g;
  }

  // --- expressions ---
  Literal literal() {
    bool negative = accept("-");
    std::string text = now().text;
    bool is_word = is_name("inf") || is_name("nan");
    if (!is_word && now().kind != TokenKind::integer && now().kind != TokenKind::real) refuse("expected a literal");
    advance();
    expect(":");
    Literal l;
    l.type = type();
    if (is_float(l.type)) {
      double magnitude = text == "inf" ? std::numeric_limits<double>::infinity() : text == "nan" ? std::nan("") : std::strtod(text.c_str(), nullptr);
      l.f = negative ? -magnitude : magnitude;
      return l;
    }
    errno = 0;
    l.i = static_cast<int64_t>(std::strtoull(text.c_str(), nullptr, 10) * (negative ? ~0ull : 1ull));
    if (is_word || errno != 0 || text.find_first_not_of("0123456789") != std::string::npos) refuse("expected an integer literal before this");
    return l;
  }

  bool at_literal() const {
    if (now().kind == TokenKind::integer || now().kind == TokenKind::real || is_symbol("-")) return true;
    return (is_name("inf") || is_name("nan")) && next().text == ":";
  }

  Expr expression(size_t depth) {
    check_depth(depth);
    if (at_literal()) return make_literal(literal());
    if (accept("(")) return infix(depth);
    if (is_symbol("$")) return component();
    if (now().kind != TokenKind::name) refuse("expected an expression");
    const std::string& after = next().text;
    bool typed_call = after == ":" && next(3).text == "(";
    if (after == "(" || typed_call) return call(depth);
    return after == "[" ? read(depth) : data_variable();
  }

  Expr infix(size_t depth) {
    Expr left = expression(depth + 1);
    auto op = now().kind == TokenKind::symbol ? op_infix(now().text) : std::nullopt;
    if (!op) refuse("expected an operator");
    advance();
    Expr right = expression(depth + 1);
    expect(")");
    std::vector<Expr> args{left, right};
    ElementType t = implied_type(*op, args);
    return make_op(*op, t, std::move(args));
  }

  Expr typed_variable(VarId var, ElementType t) {
    auto node = std::make_shared<ExprNode>();
    node->op = Op::variable;
    node->var = var;
    node->type = t;
    return node;
  }

  Expr component() {
    VarId var = variable_id() - kCellVar;
    if (combiner_types_.empty() || var >= 2 * combiner_types_.size()) refuse("'$' names a component of a combiner only, before this");
    ElementType t = accept(":") ? type() : combiner_types_[var % combiner_types_.size()];
    return typed_variable(var, t);
  }

  Expr data_variable() {
    VarId var = variable_id();
    return typed_variable(var, accept(":") ? type() : ElementType::i64);
  }

  Expr read(size_t depth) {
    Access a = access(depth);
    ElementType t = nest_.buffers[a.id].type;
    if (accept(":")) t = type();
    return make_read(t, std::move(a));
  }

  Expr call(size_t depth) {
    std::string text = name();
    std::optional<ElementType> given;
    if (accept(":")) given = type();
    expect("(");
    if (text == "affine") return affine_data();
    auto node = std::make_shared<ExprNode>();
    bool is_guarded = text == "guarded";
    auto op = is_guarded ? std::optional<Op>(Op::guarded) : op_called(text);
    if (!op) refuse("'" + text + "' is not an operator, before this");
    node->op = *op;
    if (is_guarded) {
      node->guard = guard(depth + 1);
      expect(";");
    }
    do node->args.push_back(expression(depth + 1));
    while (accept(","));
    expect(")");
    node->type = given ? *given : implied_type(*op, node->args);
    return node;
  }

  Expr affine_data() {
    auto node = std::make_shared<ExprNode>();
    node->op = Op::affine;
    node->type = ElementType::i64;
    node->affine = affine(0);
    expect(")");
    return node;
  }

  Access access(size_t depth) {
    Access a;
    a.id = buffer_id();
    expect("[");
    if (accept("]")) return a;
    do {
      if (a.index.size() >= kMaxNestRank) over_limit("too many subscripts");
      a.index.push_back(subscript(depth + 1));
    } while (accept(","));
    expect("]");
    return a;
  }

  Subscript subscript(size_t depth) {
    Subscript s;
    if (!is_symbol("{")) s.affine = affine(depth);
    if (is_symbol("+")) advance();
    if (!accept("{")) return s;
    s.data = expression(depth + 1);
    expect_name("in");
    s.lo = affine(depth);
    expect("..");
    s.hi = affine(depth);
    expect("}");
    return s;
  }

  // --- statements ---
  NodeId add(Node node) {
    if (nest_.nodes.size() >= kMaxNestNodes) over_limit("too many nodes");
    return nest_.add(std::move(node));
  }

  NodeId block(size_t depth) {
    check_depth(depth);
    expect("{");
    Seq seq;
    while (!accept("}")) seq.children.push_back(statement(depth));
    return seq.children.size() == 1 ? seq.children[0] : add(std::move(seq));
  }

  NodeId statement(size_t depth) {
    if (accept_name("for")) return loop(depth);
    if (accept_name("if")) return branch(depth);
    if (accept_name("alloc")) return alloc(depth);
    if (accept_name("compute")) return compute();
    if (accept_name("copy")) return copy();
    if (accept_name("sync")) return sync();
    if (accept_name("seq")) return explicit_seq(depth);
    refuse("expected a statement");
  }

  NodeId explicit_seq(size_t depth) {
    check_depth(depth);
    expect("{");
    Seq seq;
    while (!accept("}")) seq.children.push_back(statement(depth + 1));
    return add(std::move(seq));
  }

  NodeId loop(size_t depth) {
    Loop l;
    l.var = variable_id();
    expect_name("in");
    l.lo = bound("max");
    expect("..");
    l.hi = bound("min");
    if (accept_name("step")) l.step = natural();
    l.mark = mark();
    l.body = block(depth + 1);
    return add(std::move(l));
  }

  Bound bound(const char* combine) {
    if (!(is_name(combine) && next().text == "(")) return {{affine(0)}};
    advance();
    expect("(");
    Bound b{affines()};
    expect(")");
    return b;
  }

  Mark mark() {
    static constexpr const char* kKinds[] = {"serial", "parallel", "vector", "unroll", "axis", "pipeline", "tensor"};
    Mark m;
    for (int k = 0; k < 7; ++k)
      if (is_name(kKinds[k])) m.kind = static_cast<MarkKind>(k);
    if (now().kind == TokenKind::name) advance();
    if (now().kind == TokenKind::integer) m.width = static_cast<int32_t>(std::min<int64_t>(natural(), 1 << 30));
    if (now().kind == TokenKind::string) {
      m.detail = now().text.substr(1, now().text.size() - 2);
      advance();
    }
    m.non_temporal = accept_name("non_temporal");
    while (accept_name("prefetch")) {
      Prefetch ahead{buffer_id(), {}};
      expect("[");
      while (!accept("]")) {
        if (!ahead.by.empty()) expect(",");
        ahead.by.push_back(integer());
      }
      m.prefetch.push_back(std::move(ahead));
    }
    return m;
  }

  NodeId branch(size_t depth) {
    If b;
    b.condition = guard(0);
    b.then = block(depth + 1);
    if (accept_name("else")) b.otherwise = block(depth + 1);
    return add(std::move(b));
  }

  NodeId alloc(size_t depth) {
    Alloc a;
    a.buffer = buffer_id();
    a.body = block(depth + 1);
    return add(a);
  }

  NodeId compute() {
    Compute c;
    c.equation = id();
    expect("(");
    if (!is_symbol(")")) c.instance = affines();
    expect(")");
    c.how = write();
    if (now().kind == TokenKind::name && !is_name("fused")) reduction(c);
    c.fused = accept_name("fused");
    expect(":");
    do c.dst.push_back(access(0));
    while (accept(","));
    if (accept("<-")) do
        c.rhs.push_back(expression(0));
      while (accept(","));
    return add(std::move(c));
  }

  Write write() {
    std::string text = name();
    static constexpr const char* kWrites[] = {"store", "init", "accumulate", "merge"};
    for (int w = 0; w < 4; ++w)
      if (text == kWrites[w]) return static_cast<Write>(w);
    refuse("expected store, init, accumulate or merge before this");
  }

  void reduction(Compute& c) {
    auto reducer = reducer_called(name());
    if (!reducer) refuse("expected a reducer before this");
    c.reducer = *reducer;
    if (now().kind == TokenKind::integer) c.combiner = id();
  }

  NodeId copy() {
    Copy c;
    c.dst = access(0);
    c.has_src = accept("<-");
    if (c.has_src) c.src = access(0);
    if (accept_name("valid")) c.valid = guard(0);
    if (accept_name("else")) c.fill = literal();
    return add(std::move(c));
  }

  NodeId sync() {
    static constexpr const char* kKinds[] = {"block", "warp", "grid", "async_wait", "wavefront"};
    Sync s;
    std::string text = name();
    bool known = false;
    for (int k = 0; k < 5; ++k)
      if (text == kKinds[k]) {
        s.kind = static_cast<Sync::Kind>(k);
        known = true;
      }
    if (!known) refuse("expected a kind of sync before this");
    s.arg = static_cast<int32_t>(std::min<int64_t>(natural(), 1 << 30));
    return add(s);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  LoopNest nest_;
  std::vector<std::pair<BufferId, std::string>> hosts_;  ///< of buffers within others
  std::map<std::string, uint32_t> variables_, buffers_;
  std::vector<ElementType> combiner_types_;
};

}  // namespace

Result<LoopNest> parse_loop_nest(const std::string& text) {
  if (text.size() > kMaxNestText) return fail("PW0813", "nest text: " + std::to_string(text.size()) + " bytes, at most " + std::to_string(kMaxNestText));
  auto tokens = lex_nest(text);
  if (!tokens) return tokens.error();
  try {
    return Parser(std::move(tokens).value()).whole();
  } catch (const ParseFailure& failure) {
    return failure.error;
  }
}

}  // namespace polyweft
