#include "emulator/waiting_nests.h"

#include <regex>

namespace polyweft::emulator_test {
namespace {

std::string with(std::string text, const std::vector<std::pair<std::string, int>>& values) {
  for (const auto& [name, value] : values)
    text = std::regex_replace(text, std::regex("%" + name), std::to_string(value));
  return text;
}

std::string relaxation(int threads, int steps) {
  return with(R"(nest 1 relax class reassoc
param N = %all
loops b, i, t
buffer X: f32[%all] argument align 4 tensor 0 element [$0]
buffer Y: f32[%all] argument align 4 output tensor 1 element [$0]
buffer u: f32[%threads] shared align 64 tensor 2 element [b + $0]
buffer v: f32[%threads] shared align 64 tensor 3 element [b + $0]
arguments X, Y
body {
  for b in 0 .. %all step %threads axis "block_x" {
    alloc u {
      alloc v {
        for i in 0 .. %threads axis "thread_x" {
          copy u[i] <- X[b + i] else 0:f32
          for t in 0 .. %steps {
            sync block 0
            compute 1(t, b + i) store: v[i] <- (u[-i + %last] + u[i])
            sync block 1
            compute 2(t, b + i) store: u[i] <- (v[-i + %last] * 0.5:f32)
          }
          compute 0(b + i) store: Y[b + i] <- u[i]
        }
      }
    }
  }
}
)",
              {{"all", 3 * threads}, {"threads", threads}, {"steps", steps}, {"last", threads - 1}});
}

std::string transposition(int side) {
  return with(R"(nest 1 transpose class reassoc
param N = %all
loops b, i, j, c
buffer X: f32[%all, %all] argument align 4 tensor 0 element [$0, $1]
buffer Y: f32[%all, %all] argument align 4 output tensor 1 element [$0, $1]
buffer t: f32[%side, %side] shared align 64 tensor 2 element [b + $0, $1]
arguments X, Y
body {
  for b in 0 .. %all step %side axis "block_x" {
    alloc t {
      for i in 0 .. %side axis "thread_y" {
        for j in 0 .. %side axis "thread_x" {
          for c in 0 .. %all step %side {
            copy t[i, j] <- X[b + i, c + j] else 0:f32
            sync block 0
            compute 0(c + i, b + j) store: Y[c + i, b + j] <- t[j, i]
            sync block 1
          }
        }
      }
    }
  }
}
)",
              {{"all", 3 * side}, {"side", side}});
}

/// Around `body`, in which thread i of the block b has the cell s[i], and t[i] where `with_second`.
std::string of_block(int threads, const std::string& body) {
  return with(R"(nest 1 block class reassoc
param N = %all
loops b, i
buffer X: f32[%all] argument align 4 tensor 0 element [$0]
buffer Y: f32[%all] argument align 4 output tensor 1 element [$0]
buffer s: f32[%threads] shared align 64 tensor 2 element [b + $0]
buffer t: f32[%threads] shared align 64 tensor 3 element [b + $0]
arguments X, Y
body {
  for b in 0 .. %all step %threads axis "block_x" {
    alloc s {
      alloc t {
        for i in 0 .. %threads axis "thread_x" {
          copy s[i] <- X[b + i] else 0:f32
)" + body + R"(          compute 0(b + i) store: Y[b + i] <- (s[i] + s[0])
        }
      }
    }
  }
}
)",
              {{"all", 2 * threads}, {"threads", threads}});
}

std::string scan(int threads) {
  std::string body;
  for (int d = 1; d < threads; d *= 2)
    body += with(R"(          sync block 0
          if i - %d >= 0 {
            compute 1(b + i) store: t[i] <- (s[i] + s[i - %d])
          } else {
            compute 1(b + i) store: t[i] <- s[i]
          }
          sync block 1
          compute 2(b + i) store: s[i] <- t[i]
)",
                 {{"d", d}});
  return of_block(threads, body + "          sync block 2\n");
}

std::string reduction(int threads) {
  std::string body;
  for (int d = threads / 2; d > 0; d /= 2)
    body += with(R"(          sync block 0
          if %last - i >= 0 {
            compute 1(b + i) store: s[i] <- (s[i] + s[i + %d])
          }
)",
                 {{"d", d}, {"last", d - 1}});
  return of_block(threads, body + "          sync block 1\n");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> waiting_nests() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const int threads : {8, 32, 96})
    out.emplace_back("relaxation " + std::to_string(threads), relaxation(threads, 5));
  for (const int side : {4, 8}) out.emplace_back("transposition " + std::to_string(side), transposition(side));
  for (const int threads : {8, 32, 256}) {
    out.emplace_back("scan " + std::to_string(threads), scan(threads));
    out.emplace_back("reduction " + std::to_string(threads), reduction(threads));
  }
  return out;
}

}  // namespace polyweft::emulator_test
