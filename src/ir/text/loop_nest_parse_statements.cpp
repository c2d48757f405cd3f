// Loops, branches, computations and copies of a nest text.
#include "ir/text/loop_nest_parser.h"

namespace polyweft::ir {

NodeId NestParser::add(Node node) {
  if (nest_.nodes.size() >= kMaxNestNodes) over_limit("too many nodes");
  return nest_.add(std::move(node));
}

NodeId NestParser::block(size_t depth) {
  check_depth(depth, kMaxStatementDepth);
  expect("{");
  Seq seq;
  while (!accept("}")) seq.children.push_back(statement(depth));
  return seq.children.size() == 1 ? seq.children[0] : add(std::move(seq));
}

NodeId NestParser::statement(size_t depth) {
  if (accept_name("for")) return loop(depth);
  if (accept_name("if")) return branch(depth);
  if (accept_name("alloc")) return alloc(depth);
  if (accept_name("compute")) return compute();
  if (accept_name("copy")) return copy();
  if (accept_name("sync")) return sync();
  if (accept_name("seq")) return explicit_seq(depth);
  refuse("expected a statement");
}

NodeId NestParser::explicit_seq(size_t depth) {
  check_depth(depth, kMaxStatementDepth);
  expect("{");
  Seq seq;
  while (!accept("}")) seq.children.push_back(statement(depth + 1));
  return add(std::move(seq));
}

NodeId NestParser::loop(size_t depth) {
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

Bound NestParser::bound(const char* combine) {
  if (!(is_name(combine) && next().text == "(")) return {{affine(0)}};
  advance();
  expect("(");
  Bound b{affines()};
  expect(")");
  return b;
}

Mark NestParser::mark() {
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

NodeId NestParser::branch(size_t depth) {
  If b;
  b.condition = guard(0);
  b.then = block(depth + 1);
  if (accept_name("else")) b.otherwise = block(depth + 1);
  return add(std::move(b));
}

NodeId NestParser::alloc(size_t depth) {
  Alloc a;
  a.buffer = buffer_id();
  a.body = block(depth + 1);
  return add(a);
}

NodeId NestParser::compute() {
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

Write NestParser::write() {
  std::string text = name();
  static constexpr const char* kWrites[] = {"store", "init", "accumulate", "merge"};
  for (int w = 0; w < 4; ++w)
    if (text == kWrites[w]) return static_cast<Write>(w);
  refuse("expected store, init, accumulate or merge before this");
}

void NestParser::reduction(Compute& c) {
  auto reducer = reducer_called(name());
  if (!reducer) refuse("expected a reducer before this");
  c.reducer = *reducer;
  if (now().kind == TokenKind::integer) c.combiner = id();
}

NodeId NestParser::copy() {
  Copy c;
  c.is_async = accept_name("async");
  c.dst = access(0);
  c.has_src = accept("<-");
  if (c.has_src) c.src = access(0);
  if (accept_name("valid")) c.valid = guard(0);
  if (accept_name("else")) c.fill = literal();
  return add(std::move(c));
}

NodeId NestParser::sync() {
  static constexpr const char* kKinds[] = {"block", "warp", "grid", "async_wait", "wavefront", "async_commit"};
  Sync s;
  std::string text = name();
  bool known = false;
  for (int k = 0; k < 6; ++k)
    if (text == kKinds[k]) {
      s.kind = static_cast<Sync::Kind>(k);
      known = true;
    }
  if (!known) refuse("expected a kind of sync before this");
  s.arg = static_cast<int32_t>(std::min<int64_t>(natural(), 1 << 30));
  return add(s);
}

}  // namespace polyweft::ir
