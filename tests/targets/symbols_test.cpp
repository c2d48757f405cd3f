// Names of kernels: whatever is not refused makes a header that C and C++ compile; what is refused is named with its
// reason.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

LoopNest plain(const std::string& tensor = "X", const std::string& other = "Y") {
  return parsed("nest 1 plain class strict\nloops i\nbuffer " + tensor + ": f32[8] argument align 4\nbuffer " + other +
                ": f32[8] argument align 4 output\narguments " + tensor + ", " + other +
                "\nbody {\n  for i in 0 .. 8 {\n    compute 0(i) store: " + other + "[i] <- " + tensor +
                "[i]\n  }\n}\n");
}

TEST(Symbols, reasons) {
  const std::pair<const char*, const char*> kRefused[] = {{"int", "a word of C or C++"},
                                                          {"class", "a word of C or C++"},
                                                          {"restrict", "a word of C or C++"},
                                                          {"co_await", "a word of C or C++"},
                                                          {"typeof_unqual", "a word of C or C++"},
                                                          {"xor_eq", "a word of C or C++"},
                                                          {"main", "a word of C or C++"},
                                                          {"linux", "a word of C or C++"},
                                                          {"9 b;ad", "no C identifier"},
                                                          {"", "no C identifier"},
                                                          {"9a", "no C identifier"},
                                                          {"a-b", "no C identifier"},
                                                          {"a.b", "no C identifier"},
                                                          {"a\nb", "no C identifier"},
                                                          {"caf\xc3\xa9", "no C identifier"},
                                                          {"a$", "no C identifier"},
                                                          {"*/ int x; /*", "no C identifier"},
                                                          {"__kernel", "reserved for the compiler and its libraries"},
                                                          {"_Kernel", "reserved for the compiler and its libraries"},
                                                          {"halide_malloc", "a symbol of the runtime"},
                                                          {"halide_mine", "a symbol of the runtime"},
                                                          {"memcpy", "a name of the C library"},
                                                          {"write", "a name of the C library"},
                                                          {"socket", "a name of the C library"},
                                                          {"expm1f", "a name of the C library"},
                                                          {"environ", "a name of the C library"},
                                                          {"int32_t", "a name of the C library"},
                                                          {"INT8_MAX", "a name of the C library"},
                                                          {"NULL", "a name of the C library"},
                                                          {"errno", "a name of the C library"},
                                                          {"size_t", "a name of the C library"}};
  for (const auto& [name, reason] : kRefused) {
    const Status free = targets::symbol_is_free(name);
    ASSERT_FALSE(free.ok()) << name;
    EXPECT_EQ(free.error().code, "PW0513");
    EXPECT_EQ(free.error().message, "the kernel's name '" + std::string(name) + "' is " + reason);
    EXPECT_EQ(free.error().notes, std::vector<std::string>{"give the kernel another name with --name"});
  }
  for (const char* name :
       {"gemm", "_gemm", "Int", "interior", "kernel_9", "class_", "step", "matmul_t", "INTERIOR_MAX_", "x"})
    EXPECT_TRUE(targets::symbol_is_free(name).ok()) << name;
}

class Compiled : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("polyweft-symbols-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  /// "" where the text compiles as C11 and as C++17, with gcc's extensions too.
  std::string problems(const std::string& text) {
    std::ofstream(folder_ / "kernel.h") << text;
    for (const char* how :
         {"cc -x c -std=c11", "cc -x c -std=gnu11", "c++ -x c++ -std=c++17", "c++ -x c++ -std=gnu++20"}) {
      const std::string log = (folder_ / "log").string();
      if (std::system(
              (std::string(how) + " -Werror -fsyntax-only " + (folder_ / "kernel.h").string() + " >" + log + " 2>&1")
                  .c_str()) == 0)
        continue;
      std::ifstream in(log);
      return std::string(how) + ": " + std::string(std::istreambuf_iterator<char>(in), {}).substr(0, 2000);
    }
    return "";
  }
  /// All words of C that the preprocessor knows or the headers declare.
  std::vector<std::string> words_of_headers() {
    std::ofstream(folder_ / "all.c") << "#include <stdint.h>\n#include <math.h>\n#include <stdio.h>\n#include "
                                        "<stdlib.h>\n#include <string.h>\n#include <time.h>\n"
                                        "#include <unistd.h>\n#include <signal.h>\n";
    const std::string source = (folder_ / "all.c").string(), list = (folder_ / "words").string();
    EXPECT_EQ(std::system(("(cc -E -P " + source + "; cc -E -dM " + source +
                           ") | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >" + list)
                              .c_str()),
              0);
    std::vector<std::string> out;
    std::ifstream in(list);
    for (std::string word; in >> word;) out.push_back(word);
    return out;
  }
  std::filesystem::path folder_;
};

// The compilers are the oracle, which know neither our tables nor nm.
TEST_F(Compiled, headers_of_all_names_that_are_not_refused_compile) {
  std::string all;
  int accepted = 0, refused = 0;
  for (const std::string& word : words_of_headers()) {
    const bool is_free = targets::symbol_is_free(word).ok();
    if (is_free) all += targets::c_header(plain(), word);
    (is_free ? accepted : refused) += 1;
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 300);
  EXPECT_EQ(problems(all), "");
}

TEST_F(Compiled, tensors_may_have_any_name) {
  std::string all;
  int number = 0;
  for (const auto& [tensor, other] : std::vector<std::pair<std::string, std::string>>{{"int", "class"},
                                                                                      {"register", "linux"},
                                                                                      {"int_", "int"},
                                                                                      {"int", "int_"},
                                                                                      {"NAN", "int32_t"},
                                                                                      {"memcpy", "kernel"},
                                                                                      {"__x", "_Y"},
                                                                                      {"packed", "INT8_MAX"}})
    all += targets::c_header(plain(tensor, other), "kernel_" + std::to_string(number++));
  LoopNest packs = parsed(R"(nest 1 packs class strict
loops i, a
buffer X: f32[8] argument align 4
buffer W: f32[8] argument align 64 packed
buffer Y: f32[8] argument align 4 output
buffer packed: f32[8] argument align 4
arguments X, W, Y
pack packed to W {
  for a in 0 .. 8 {
    copy W[a] <- packed[a]
  }
}
body {
  for i in 0 .. 8 {
    compute 0(i) store: Y[i] <- (X[i] * W[i])
  }
}
)");
  EXPECT_EQ(problems(all + targets::c_header(packs, "packs")), "");
}

}  // namespace
}  // namespace polyweft::targets_test
