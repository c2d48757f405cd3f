// What the printer and the parser of LoopNest text share: spellings and limits. Spellings are frozen with the version.
//
//   nest 1 gemm class reassoc
//   param M = 512
//   loops kc, jc, k@7                          # variables in order of VarId; @ID where a name is not unique
//   buffer Bp: f32[35, 300, 32] heap layout [1:35, 0:300, 1:32] align 64 tensor 1 [kc + $1, 32*$0 + $2]
//   arguments A, B, C
//   body {
//     for kc in 0 .. 1200 step 300 {
//       alloc Bp {
//         copy Bp[jp, k, v] <- B[kc + k, 32*jp + v] valid (-32*jp - v + 1099 >= 0) else 0:f32
//         compute 0(i, j, kc + k) accumulate sum fused: acc[i, u, v] <- (Ap[ir, k, i] * Bp[jr, k, v])
//
// `$d` is the cell coordinate d in a buffer's element map, and component d in a combiner. Every binary operator stands
// in its own parentheses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

inline constexpr int64_t kNestTextVersion = 1;
inline constexpr size_t kMaxNestText = 16u << 20;
inline constexpr size_t kMaxNestNodes = 200000;
/// Every program that the language takes has a text. Statements: an `alloc` for each local of 256 equations, of whose
/// 12 indices each may be a sum with a local of its own, around loops. Expressions: trees as high as the language has
/// them (2,000), and what steps put around them. Affine forms and guards: 512 divisions.
inline constexpr size_t kMaxStatementDepth = 4096;
inline constexpr size_t kMaxExpressionDepth = 2600;
inline constexpr size_t kMaxAffineDepth = 600;
inline constexpr size_t kMaxNestBuffers = 4096;
inline constexpr size_t kMaxNestVariables = 65536;
inline constexpr size_t kMaxNestRank = 16;
inline constexpr int64_t kMaxNestNumber = int64_t{1} << 40;

/// The function-call spelling of an operator, null where it has none (leaves, guarded).
const char* call_name(Op op);
std::optional<Op> op_called(const std::string& name);
/// The infix spelling, null where it has none.
const char* infix_name(Op op);
std::optional<Op> op_infix(const std::string& symbol);
bool is_comparison(Op op);
const char* reducer_name(Reducer reducer);
std::optional<Reducer> reducer_called(const std::string& name);
/// The type that the text implies for an operator over these arguments (none of them null, at least one).
ElementType implied_type(Op op, const std::vector<Expr>& args);
/// A spelling that the lexer reads as one name.
bool is_nest_name(const std::string& name);

}  // namespace polyweft::ir
