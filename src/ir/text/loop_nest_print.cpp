// LoopNest -> text; the inverse of loop_nest_parse.cpp.
#include <charconv>
#include <cmath>
#include <map>

#include "ir/text/loop_nest_text.h"

namespace polyweft {
namespace {

using ir::kMaxExpressionDepth;
using ir::kMaxStatementDepth;

/// Names by id, made unique by "@ID" where two things share one.
std::vector<std::string> unique_names(const std::vector<std::string>& wanted) {
  std::map<std::string, int> count;
  for (const std::string& name : wanted) ++count[name];
  std::vector<std::string> names;
  for (size_t id = 0; id < wanted.size(); ++id) {
    bool plain = ir::is_nest_name(wanted[id]) && count[wanted[id]] == 1;
    names.push_back(plain ? wanted[id] : (ir::is_nest_name(wanted[id]) ? wanted[id] : "v") + "@" + std::to_string(id));
  }
  return names;
}

std::vector<std::string> variable_names_of(const LoopNest& nest) {
  std::vector<std::string> wanted;
  for (const Parameter& p : nest.params) wanted.push_back(p.name);
  wanted.insert(wanted.end(), nest.loop_names.begin(), nest.loop_names.end());
  return unique_names(wanted);
}

std::vector<std::string> buffer_names_of(const LoopNest& nest) {
  std::vector<std::string> wanted;
  for (const Buffer& b : nest.buffers) wanted.push_back(b.name);
  return unique_names(wanted);
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[40];
  auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string literal_text(const Literal& literal) {
  std::string value = is_float(literal.type) ? float_text(literal.f) : std::to_string(literal.i);
  return value + ":" + name_of(literal.type);
}

class Printer {
 public:
  explicit Printer(const LoopNest& nest)
      : nest_(nest), variables_(variable_names_of(nest)), buffers_(buffer_names_of(nest)) {}

  std::string whole() {
    header();
    for (const Combiner& c : nest_.combiners) combiner(c);
    for (BufferId b = 0; b < nest_.buffers.size(); ++b) buffer(b);
    arguments();
    for (const Pack& p : nest_.packs) pack(p);
    out_ += "body";
    block(nest_.root, 0);
    out_ += "\n";
    return std::move(out_);
  }

 private:
  void header() {
    out_ +=
        "nest " + std::to_string(ir::kNestTextVersion) + " " + (ir::is_nest_name(nest_.name) ? nest_.name : "unnamed");
    out_ += std::string(" class ") + name_of(nest_.cls) + "\n";
    for (size_t p = 0; p < nest_.params.size(); ++p)
      out_ += "param " + variables_[p] + " = " + std::to_string(nest_.params[p].value) + "\n";
    if (nest_.symbolic) out_ += "symbolic\n";
    for (const Guard& g : nest_.assumptions) out_ += "assume " + guard(g) + "\n";
    if (nest_.auto_vectorized) out_ += nest_.avoids_gathers ? "autovectorize without gathers\n" : "autovectorize\n";
    for (const OnlineMaximum& each : nest_.online)
      out_ += "online " + std::to_string(each.maximum) + " by " + std::to_string(each.block) + "\n";
    if (nest_.loop_names.empty()) return;
    out_ += "loops";
    for (size_t k = nest_.params.size(); k < variables_.size(); ++k)
      out_ += (k == nest_.params.size() ? " " : ", ") + variables_[k];
    out_ += "\n";
  }

  void combiner(const Combiner& c) {
    out_ += "combine " + (ir::is_nest_name(c.name) ? c.name : "unnamed") + " types (";
    for (size_t k = 0; k < c.types.size(); ++k) out_ += (k ? ", " : "") + std::string(name_of(c.types[k]));
    out_ += ") from (";
    for (size_t k = 0; k < c.identity.size(); ++k) out_ += (k ? ", " : "") + literal_text(c.identity[k]);
    out_ += std::string(")") + (c.associative ? " associative" : "") + (c.commutative ? " commutative" : "") + " = (";
    in_combiner_ = true;
    for (size_t k = 0; k < c.result.size(); ++k) out_ += (k ? ", " : "") + expression(c.result[k], 0);
    in_combiner_ = false;
    out_ += ")\n";
  }

  void buffer(BufferId id) {
    const Buffer& b = nest_.buffers[id];
    out_ += "buffer " + buffers_[id] + ": " + name_of(b.type) +
            (nest_.symbolic ? "[" + list(b.shape) + "]" : numbers(b.extents)) + " " + name_of(b.scope);
    if (!(b.layout.pieces == row_major(folded_extents(b)).pieces)) layout(b.layout);
    if (!b.layout.pad.empty()) out_ += " pad " + numbers(b.layout.pad);
    if (b.layout.by_xor) out_ += " xor";
    for (const Fold& f : b.folds) out_ += " fold " + std::to_string(f.dim) + " mod " + std::to_string(f.window);
    out_ += " align " + std::to_string(b.align_bytes);
    if (b.is_output) out_ += " output";
    if (b.is_packed) out_ += " packed";
    if (b.values) out_ += " values " + std::to_string(b.values->lo) + " .. " + std::to_string(b.values->hi);
    if (b.promise.size() == 2) out_ += " promise " + affine(b.promise[0]) + " .. " + affine(b.promise[1]);
    if (b.within) out_ += " within " + buffer_name(b.within->host) + " at " + std::to_string(b.within->at_bytes);
    if (b.tensor != kNoTensor) out_ += " tensor " + std::to_string(b.tensor);
    if (!b.element.empty()) out_ += " element [" + list(b.element) + "]";
    if (!b.data.empty()) {
      out_ += " data [";
      for (size_t k = 0; k < b.data.size(); ++k) out_ += (k ? ", " : "") + literal_text(b.data[k]);
      out_ += "]";
    }
    out_ += "\n";
  }

  void layout(const Layout& l) {
    out_ += " layout [";
    for (size_t p = 0; p < l.pieces.size(); ++p)
      out_ += (p ? ", " : "") + std::to_string(l.pieces[p].dim) + ":" + std::to_string(l.pieces[p].factor);
    out_ += "]";
  }

  void arguments() {
    if (nest_.arguments.empty()) return;
    out_ += "arguments";
    for (size_t k = 0; k < nest_.arguments.size(); ++k) out_ += (k ? ", " : " ") + buffer_name(nest_.arguments[k]);
    out_ += "\n";
  }

  void pack(const Pack& p) {
    out_ += "pack " + buffer_name(p.source) + " to " + buffer_name(p.packed);
    block(p.root, 0);
    out_ += "\n";
  }

  static std::string numbers(const std::vector<int64_t>& values) {
    std::string text = "[";
    for (size_t k = 0; k < values.size(); ++k) text += (k ? ", " : "") + std::to_string(values[k]);
    return text + "]";
  }

  std::string buffer_name(BufferId id) const {
    return id < buffers_.size() ? buffers_[id] : "bad_buffer@" + std::to_string(id);
  }

  std::string variable(VarId var) const {
    if (var >= kCellVar) return "$" + std::to_string(var - kCellVar);
    if (in_combiner_) return "$" + std::to_string(var);
    return var < variables_.size() ? variables_[var] : "bad_variable@" + std::to_string(var);
  }

  std::string term(const Term& t) const {
    if (!t.quasi) return variable(t.var);
    const Quasi& q = *t.quasi;
    if (q.kind == Quasi::Kind::floor_div) return "floor(" + affine(q.e) + " / " + std::to_string(q.den) + ")";
    return "clamp(" + affine(q.e) + ", " + affine(q.lo) + ", " + affine(q.hi) + ")";
  }

  std::string affine(const Affine& e) const {
    std::string text;
    for (const Term& t : e.terms) {
      text += t.coeff < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
      std::string magnitude = std::to_string(t.coeff);
      if (t.coeff < 0) magnitude.erase(0, 1);
      text += (magnitude == "1" ? "" : magnitude + "*") + term(t);
    }
    if (text.empty()) return std::to_string(e.constant);
    if (e.constant > 0) text += " + " + std::to_string(e.constant);
    if (e.constant < 0) text += " - " + std::to_string(e.constant).substr(1);
    return text;
  }

  std::string list(const std::vector<Affine>& values) const {
    std::string text;
    for (const Affine& e : values) text += (text.empty() ? "" : ", ") + affine(e);
    return text;
  }

  std::string guard(const Guard& g) const {
    switch (g.kind) {
      case Guard::Kind::ge0:
        return affine(g.e) + " >= 0";
      case Guard::Kind::eq0:
        return affine(g.e) + " == 0";
      case Guard::Kind::negation:
        return "not(" + guards(g) + ")";
      case Guard::Kind::any:
        return "any(" + guards(g) + ")";
      case Guard::Kind::all:
        return g.of.empty() ? "true" : "all(" + guards(g) + ")";
    }
    return "true";
  }

  std::string guards(const Guard& g) const {
    std::string text;
    for (const Guard& part : g.of) text += (text.empty() ? "" : ", ") + guard(part);
    return text;
  }

  std::string subscript(const Subscript& s, size_t depth) const {
    if (!s.data) return affine(s.affine);
    std::string gathered = "{" + expression(s.data, depth + 1) + " in " + affine(s.lo) + " .. " + affine(s.hi) + "}";
    return s.affine == Affine{} ? gathered : affine(s.affine) + " + " + gathered;
  }

  std::string access(const Access& a, size_t depth) const {
    std::string text = buffer_name(a.id) + "[";
    for (size_t d = 0; d < a.index.size(); ++d) text += (d ? ", " : "") + subscript(a.index[d], depth);
    return text + "]";
  }

  ElementType read_type(const ExprNode& e) const {
    return e.access.id < nest_.buffers.size() ? nest_.buffers[e.access.id].type : e.type;
  }

  std::string expression(const Expr& e, size_t depth) const {
    if (!e || depth > kMaxExpressionDepth) return "bad_expression@0";
    switch (e->op) {
      case Op::literal:
        return literal_text(e->literal);
      case Op::variable:
        return variable(e->var) +
               (e->type == ElementType::i64 || in_combiner_ ? "" : ":" + std::string(name_of(e->type)));
      case Op::affine:
        return "affine(" + affine(e->affine) + ")";
      case Op::read:
        return access(e->access, depth) + (e->type == read_type(*e) ? "" : ":" + std::string(name_of(e->type)));
      default:
        return operation(*e, depth);
    }
  }

  std::string operation(const ExprNode& e, size_t depth) const {
    bool missing = false;
    for (const Expr& arg : e.args) missing |= !arg;
    const char* infix = ir::infix_name(e.op);
    bool implied = !missing && !e.args.empty() && e.type == ir::implied_type(e.op, e.args);
    if (infix && implied && e.args.size() == 2)
      return "(" + expression(e.args[0], depth + 1) + " " + infix + " " + expression(e.args[1], depth + 1) + ")";
    bool is_guarded = e.op == Op::guarded;
    const char* call = is_guarded ? "guarded" : ir::call_name(e.op);
    std::string text = call ? call : "bad_operator";
    if (!implied) text += ":" + std::string(name_of(e.type));
    text += "(" + (is_guarded ? guard(e.guard) + "; " : std::string());
    for (size_t k = 0; k < e.args.size(); ++k) text += (k ? ", " : "") + expression(e.args[k], depth + 1);
    return text + ")";
  }

  /// Deeper than some levels nobody reads indentation, and thousands of them would be most of the text.
  void line(size_t depth) {
    constexpr size_t kMostLevels = 100;
    out_ += "\n" + std::string(2 * std::min(depth, kMostLevels), ' ');
  }

  /// A body in braces: the children of a Seq, or one statement. A Seq of one child is written out as `seq`.
  void block(NodeId id, size_t depth) {
    out_ += " {";
    const Seq* seq = id < nest_.nodes.size() ? std::get_if<Seq>(&nest_.nodes[id]) : nullptr;
    if (seq && seq->children.size() != 1) {
      for (NodeId child : seq->children) statement(child, depth + 1);
    } else {
      statement(id, depth + 1);
    }
    line(depth);
    out_ += "}";
  }

  void statement(NodeId id, size_t depth) {
    line(depth);
    if (id >= nest_.nodes.size() || depth > kMaxStatementDepth) {
      out_ += "bad_node@" + std::to_string(id);
      return;
    }
    std::visit([&](const auto& node) { put(node, depth); }, nest_.nodes[id]);
  }

  void put(const Seq& seq, size_t depth) {
    out_ += "seq {";
    for (NodeId child : seq.children) statement(child, depth + 1);
    line(depth);
    out_ += "}";
  }

  void put(const Loop& loop, size_t depth) {
    out_ += "for " + variable(loop.var) + " in " + bound(loop.lo, "max") + " .. " + bound(loop.hi, "min");
    if (loop.step != 1) out_ += " step " + std::to_string(loop.step);
    out_ += mark(loop.mark);
    block(loop.body, depth);
  }

  std::string bound(const Bound& b, const char* combine) const {
    return b.of.size() == 1 ? affine(b.of[0]) : combine + ("(" + list(b.of)) + ")";
  }

  std::string mark(const Mark& m) const {
    static constexpr const char* kKinds[] = {"serial", "parallel", "vector", "unroll", "axis", "pipeline", "tensor"};
    if (m == Mark{}) return "";
    std::string text = std::string(" ") + kKinds[static_cast<size_t>(m.kind)];
    if (m.width != 0) text += " " + std::to_string(m.width);
    if (!m.detail.empty()) text += " \"" + m.detail + "\"";
    if (m.non_temporal) text += " non_temporal";
    for (const Prefetch& ahead : m.prefetch) {
      text += " prefetch " + buffer_name(ahead.buffer) + "[";
      for (size_t d = 0; d < ahead.by.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(ahead.by[d]);
      text += "]";
    }
    return text;
  }

  void put(const If& branch, size_t depth) {
    out_ += "if " + guard(branch.condition);
    block(branch.then, depth);
    if (branch.otherwise == kNoNode) return;
    out_ += " else";
    block(branch.otherwise, depth);
  }

  void put(const Alloc& alloc, size_t depth) {
    out_ += "alloc " + buffer_name(alloc.buffer);
    block(alloc.body, depth);
  }

  void put(const Compute& c, size_t) {
    static constexpr const char* kWrites[] = {"store", "init", "accumulate", "merge"};
    out_ +=
        "compute " + std::to_string(c.equation) + "(" + list(c.instance) + ") " + kWrites[static_cast<size_t>(c.how)];
    if (c.how != Write::store || c.reducer != Reducer::sum || c.combiner != 0)
      out_ += std::string(" ") + ir::reducer_name(c.reducer);
    if (c.combiner != 0 || c.reducer == Reducer::combiner) out_ += " " + std::to_string(c.combiner);
    out_ += c.fused ? " fused: " : ": ";
    for (size_t k = 0; k < c.dst.size(); ++k) out_ += (k ? ", " : "") + access(c.dst[k], 0);
    for (size_t k = 0; k < c.rhs.size(); ++k) out_ += (k ? ", " : " <- ") + expression(c.rhs[k], 0);
  }

  void put(const Copy& c, size_t) {
    out_ += (c.is_async ? "copy async " : "copy ") + access(c.dst, 0);
    if (c.has_src) out_ += " <- " + access(c.src, 0);
    if (!c.valid.is_true()) out_ += " valid " + guard(c.valid);
    bool plain_fill = c.fill == Literal{};
    if (!plain_fill) out_ += " else " + literal_text(c.fill);
  }

  void put(const Sync& s, size_t) {
    static constexpr const char* kKinds[] = {"block", "warp", "grid", "async_wait", "wavefront", "async_commit"};
    out_ += std::string("sync ") + kKinds[static_cast<size_t>(s.kind)] + " " + std::to_string(s.arg);
  }

  const LoopNest& nest_;
  std::vector<std::string> variables_, buffers_;
  std::string out_;
  bool in_combiner_ = false;
};

}  // namespace

std::string print(const LoopNest& nest) {
  return Printer(nest).whole();
}

}  // namespace polyweft
