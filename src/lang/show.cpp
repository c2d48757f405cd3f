#include "lang/syntax.h"

namespace polyweft::lang {
namespace {

constexpr size_t kMaxShown = 80;

/// Prints with the usual spacing. Stops soon after the limit, so that its cost does not depend on the size of the tree.
class Shower {
 public:
  std::string text;

  void node(const Node& n) {
    if (text.size() > kMaxShown) return;
    switch (n.kind) {
      case NodeKind::infinity:
        text += "inf";
        return;
      case NodeKind::not_a_number:
        text += "nan";
        return;
      case NodeKind::element:
        text += n.text;
        return list(n, "[", "]");
      case NodeKind::call:
        text += n.text;
        return list(n, "(", ")");
      case NodeKind::convert:
        text += name_of(n.type);
        return list(n, "(", ")");
      case NodeKind::tuple:
        return list(n, "(", ")");
      case NodeKind::negate:
        text += "-";
        return child(n, *n.args[0]);
      case NodeKind::complement:
        text += "~";
        return child(n, *n.args[0]);
      case NodeKind::logical_not:
        text += "not ";
        return child(n, *n.args[0]);
      case NodeKind::chain:
      case NodeKind::compare:
        return operators(n);
      case NodeKind::conjunction:
        return words(n, " and ");
      case NodeKind::disjunction:
        return words(n, " or ");
      case NodeKind::guarded:
        return guarded(n);
      case NodeKind::reduction:
        return reduction(n);
      default:
        text += n.text;
    }
  }

  void header(const ReductionSyntax& r) {
    text += name_of(r.reducer);
    if (r.reducer == Reducer::combiner) text = "reduce " + r.combiner;
    text += "[";
    for (size_t i = 0; i < r.indices.size(); ++i) {
      text += (i == 0 ? "" : ", ") + r.indices[i].name + ": ";
      if (r.indices[i].range.lo != nullptr) {
        node(*r.indices[i].range.lo);
        text += "..";
      }
      node(*r.indices[i].range.hi);
    }
    if (r.where != nullptr) {
      text += " where ";
      node(*r.where);
    }
    text += "]";
  }

 private:
  static int level(const Node& n) {
    switch (n.kind) {
      case NodeKind::guarded:
        return 0;
      case NodeKind::disjunction:
        return 1;
      case NodeKind::conjunction:
        return 2;
      case NodeKind::logical_not:
        return 3;
      case NodeKind::compare:
        return 4;
      case NodeKind::chain:
        return chain_level(n.op_text[0]);
      case NodeKind::reduction:
        return 8;
      case NodeKind::negate:
      case NodeKind::complement:
        return 9;
      default:
        return 10;
    }
  }
  static int chain_level(const std::string& op) {
    if (op == "&" || op == "|" || op == "^") return 5;
    if (op == "<<" || op == ">>") return 6;
    if (op == "+" || op == "-") return 7;
    return 8;
  }

  void child(const Node& parent, const Node& c) {
    bool brackets = level(c) <= level(parent) && level(c) < 9;
    if (brackets) text += "(";
    node(c);
    if (brackets) text += ")";
  }

  void list(const Node& n, const char* open, const char* close) {
    text += open;
    for (size_t i = 0; i < n.args.size() && text.size() <= kMaxShown; ++i) {
      if (i != 0) text += ", ";
      node(*n.args[i]);
    }
    text += close;
  }

  void operators(const Node& n) {
    for (size_t i = 0; i < n.args.size() && text.size() <= kMaxShown; ++i) {
      if (i != 0) text += " " + n.op_text[i - 1] + " ";
      child(n, *n.args[i]);
    }
  }

  void words(const Node& n, const char* word) {
    for (size_t i = 0; i < n.args.size() && text.size() <= kMaxShown; ++i) {
      if (i != 0) text += word;
      child(n, *n.args[i]);
    }
  }

  void guarded(const Node& n) {
    child(n, *n.args[0]);
    for (size_t i = 0; i < n.conditions.size() && text.size() <= kMaxShown; ++i) {
      text += " where ";
      child(n, *n.conditions[i]);
      text += " else ";
      child(n, *n.args[i + 1]);
    }
  }

  void reduction(const Node& n) {
    header(*n.reduction);
    text += " ";
    bool brackets = level(*n.args[0]) < 8;
    if (brackets) text += "(";
    node(*n.args[0]);
    if (brackets) text += ")";
  }
};

std::string cut_text(std::string text) {
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "..";
  return text;
}

}  // namespace

std::string show(const Node& node) {
  Shower shower;
  shower.node(node);
  return cut_text(std::move(shower.text));
}

bool is_cut(const Node& node) {
  Shower shower;
  shower.node(node);
  return shower.text.size() > kMaxShown;
}

std::string show_again(const Node& node) {
  return is_cut(node) ? ".." : show(node);
}

std::string show_header(const ReductionSyntax& reduction) {
  Shower shower;
  shower.header(reduction);
  return cut_text(std::move(shower.text));
}

}  // namespace polyweft::lang
