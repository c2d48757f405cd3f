// Stencils that tests of tiles in time share: two fields along a line, one field in a plane. Borders go on in time:
// every element is needed at every size.
#pragma once

namespace polyweft::test {

inline constexpr const char* kLine =
    "program line(T = 5, N = 11)\nin A0: f64[N]\nin B0: f64[N]\nlet A[0, i: N] = A0[i]\n"
    "let B[t: 1..T+1, i: 1..N-1] = 0.25 * (A[t-1, i-1] + A[t-1, i] + A[t-1, i+1])\nlet B[t: 1..T+1, i: N] where i == 0 "
    "or i == N-1 = A[t-1, i] + B0[i]\n"
    "let A[t: 1..T+1, i: 1..N-1] = 0.25 * (B[t, i-1] + B[t, i] + B[t, i+1])\nlet A[t: 1..T+1, i: N] where i == 0 or i "
    "== N-1 = 0.5 * B[t, i]\nout R[i: N] = A[T, i]\n";
inline constexpr const char* kPlane =
    "program plane(T = 4, N = 9)\nin A0: f64[N, N]\nlet A[0, i: N, j: N] = A0[i, j]\n"
    "let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.25 * (A[t-1, i, j] + A[t-1, i, j-1] + A[t-1, i, j+1] + A[t-1, i+1, j] "
    "+ A[t-1, i-1, j])\n"
    "let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A[t-1, i, j]\nout R[i: N, j: N] = "
    "A[T, i, j]\n";

}  // namespace polyweft::test
