// polyweft-isl as a process: what no program, however evil, may do to its host.
#include <chrono>

#include "corpus.h"
#include "poly/check.h"
#include "support/subprocess.h"

namespace polyweft::poly_test {
namespace {

using namespace std::chrono_literals;

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

std::string check_request(const std::string& source) {
  return R"({"op": "check", "file": "p.weft", "program": "p", "source": ")" + escaped(source) + "\"}";
}

WorkerProcess helper(uint64_t address_space_bytes = uint64_t{1} << 30) {
  WorkerOptions options;
  options.argv = {PW_BINARY_DIR "/src/tools/polyweft-isl"};
  options.limits.address_space_bytes = address_space_bytes;
  auto started = WorkerProcess::start(std::move(options));
  EXPECT_TRUE(started.ok()) << started.error().message;
  return std::move(started).value();
}

std::string remainders(int count) {
  std::string guard;
  const int moduli[] = {97, 89, 83, 79, 73, 71, 67, 61};
  for (int k = 0; k < count; ++k)
    guard +=
        (k ? " and " : "") +
        ("((i*" + std::to_string(k + 2) + " + j*" + std::to_string(k + 3) + " + N) % " + std::to_string(moduli[k])) +
        ") != ((j + M*" + std::to_string(k + 1) + ") % " + std::to_string(moduli[k] + 2) + ")";
  return "program p(N = 100, M = 50)\nin X: f32[N]\nlet A[i: N, j: M] where " + guard +
         " = X[i]\nout Y[i: N, j: M] = A[i, j]";
}

std::string deep(int) {
  std::string slots, reduced, zeros;
  for (int k = 0; k < 8; ++k)
    slots += (k ? ", i" : "i") + std::to_string(k) + ": " + (k ? "0..i" + std::to_string(k - 1) + "+1" : "N");
  for (int k = 0; k < 4; ++k)
    reduced += (k ? ", r" : "r") + std::to_string(k) + ": 0.." +
               (k ? "i" + std::to_string(k) + "+r" + std::to_string(k - 1) + "+1" : "i7+1");
  for (int k = 0; k < 8; ++k) zeros += k ? ", 0" : "0";
  return "program p(N = 9)\nin X: f32[N]\nlet A[" + slots + "] = sum[" + reduced + "] X[(i0+r3) % 5]\nout Y = A[" +
         zeros + "]";
}

std::string coefficients(int) {
  return "program p(N = 9)\nin X: f32[N]\nout Y[i: N, j: N] = X[clamp(1099511627775*i - 1099511627773*j + 12345678, 0, "
         "N-1)]\n"
         "  where (1099511627774*i + 999999999989*j) % 1099511627689 == 5 else 0";
}

std::string disjuncts(int count) {
  std::string guard;
  for (int a = 0; a < count; ++a)
    guard += (a ? " or " : "") + ("(" + std::to_string(a % 7 + 1) + "*i + " + std::to_string(a % 5 + 1) + "*j + ") +
             std::to_string(a) + " <= N and " + std::to_string(a % 3 + 1) + "*j - " + std::to_string(a % 11 + 1) +
             "*i >= " + std::to_string(a - 30) + ")";
  return "program p(N = 9)\nin X: f32[N]\nlet A[i: N, j: N] where " + guard + " = X[i]\nout Y[i: N, j: N] = A[i, j]";
}

std::string tangled(int) {
  std::string text = "program p(N = 9)\nin X: f32[N]\n";
  for (int k = 0; k < 6; ++k)
    text += "let A" + std::to_string(k) + "[i: N, j: N]: f32 = A" + std::to_string((k + 1) % 6) +
            "[clamp((i*3+j)//2, 0, N-1), clamp((j+i)//2, 0, N-1)] + A" + std::to_string((k + 2) % 6) +
            "[clamp(j-1, 0, N-1), clamp(i-1, 0, N-1)] where i >= 1 and (i+j) % 3 != 2 else X[i]\n";
  return text + "out Y[i: N, j: N] = A0[i, j]";
}

}  // namespace

TEST(Helper, ends_evil_programs_by_answer_or_deadline_and_answers_the_same_again) {
  const auto deadline = 10'000ms;
  for (const std::string& source : {remainders(2), remainders(3), deep(0), coefficients(0), disjuncts(60)}) {
    std::string first;
    for (int round = 0; round < 2; ++round) {
      WorkerProcess worker = helper();
      auto begin = std::chrono::steady_clock::now();
      auto answer = worker.call(check_request(source), deadline);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, deadline + 500ms);
      EXPECT_TRUE(answer.ok() || answer.error().code == "PW0602")
          << answer.error().code << " " << answer.error().message << "\n"
          << source;
      if (!answer) continue;
      if (first.empty()) first = *answer;
      EXPECT_EQ(*answer, first);
    }
  }
}

TEST(Helper, ends_a_tangle_of_recurrences_by_quota_or_deadline) {
  const auto deadline = 4'000ms;
  WorkerProcess worker = helper();
  auto begin = std::chrono::steady_clock::now();
  auto answer = worker.call(check_request(tangled(0)), deadline);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, deadline + 500ms);
  EXPECT_TRUE(answer.ok() || answer.error().code == "PW0602");
}

TEST(Helper, says_which_equation_was_too_hard) {
  WorkerProcess worker = helper();
  auto answer = worker.call(check_request(remainders(6)), 120'000ms);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_NE(answer->find("not decided within the quota (100000 isl operations, equation at line 3)"), std::string::npos)
      << *answer;
  EXPECT_NE(answer->find("PW0830"), std::string::npos);
}

TEST(Helper, is_ended_at_its_deadline_and_starts_again) {
  WorkerProcess worker = helper();
  auto begin = std::chrono::steady_clock::now();
  auto stopped = worker.call(check_request(remainders(6)), 20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 520ms);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, "PW0602");
  auto next = worker.call(check_request("program p(N = 3)\nin X: f32[N]\nout Y[i: N] = X[i]"), 10'000ms);
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(*next, R"({"ok":{"errors":[],"warnings":[]}})");
}

TEST(Helper, survives_requests_that_are_no_requests) {
  WorkerProcess worker = helper();
  for (
      const char* request :
      {"", "{", "[]", "{}", R"({"op": 1})", R"({"op": "fly"})", R"x({"op": "check", "source": "program p()"})x",
       R"({"op": "base", "source": "program p(N = 2)\nin X: f32[N]\nout Y[i: N] = X[i]", "file": "", "program": "p", "binding": [1, 2], "class": "strict", "workspace": 1})",
       R"({"op": "base", "source": "program p(N = 2)\nin X: f32[N]\nout Y[i: N] = X[i]", "file": "", "program": "q", "binding": [], "class": "x", "workspace": 1})"}) {
    auto answer = worker.call(request, 10'000ms);
    ASSERT_TRUE(answer.ok()) << request << ": " << answer.error().message;
    EXPECT_EQ(answer->rfind(R"({"error":)", 0), 0u) << request << ": " << *answer;
  }
  EXPECT_EQ(worker.starts(), 1u);
}

TEST(Helper, under_a_memory_limit_answers_or_ends_but_takes_nobody_along) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "address space limits are off under AddressSanitizer";
#endif
  for (uint64_t mebibytes : {24, 40, 64}) {
    WorkerProcess worker = helper(mebibytes << 20);
    auto answer = worker.call(check_request(remainders(3)), 10'000ms);
    EXPECT_TRUE(answer.ok() || answer.error().code == "PW0603" || answer.error().code == "PW0601" ||
                answer.error().code == "PW0602")
        << answer.error().code;
  }
}

TEST(CheckQuota, names_the_question_the_quota_and_the_line) {
  Program program = parsed(
      "program plough(N = 9)\nin X: f32[N, N]\nlet S[i: N, j: N]: f32 = S[i, j-1+2*(i%2)] where 0 <= j-1+2*(i%2) < N "
      "else X[i, j]\n"
      "out Y[i: N, j: N] = S[i, j]");
  poly::CheckOptions options;
  options.quota = 4'000;
  poly::CheckReport report = poly::check(program, options);
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].code, "PW0830");
  EXPECT_EQ(report.errors[0].text, "order of S not decided within the quota (4000 isl operations, equation at line 3)");
}

}  // namespace polyweft::poly_test
