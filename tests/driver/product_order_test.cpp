// Theorem T12 seen by the checker: a nest of the sum proves the recurrence that adds, in class reassoc; a nest of the
// product proves no recurrence that multiplies.
#include <gtest/gtest.h>

#include "driver/isl_client.h"
#include "ir/normalize/normalize.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

Task scalar_task(const std::string& equations, const std::string& type, NumericsClass cls) {
  const std::string head = "program p(N = 6)\nin A: " + type + "[N]\nin b: " + type + "\n";
  auto parsed = lang::parse(head + equations + "\n", "test.weft");
  EXPECT_TRUE(parsed.ok()) << equations;
  Task task;
  task.source = parsed->programs.front();
  task.binding = {6};
  task.program = normalize(polyweft::bind(task.source, task.binding), cls);
  task.key.cls = cls;
  return task;
}

TEST(ProductOrder, a_tree_proves_what_the_class_lets_be_one) {
  IslClient::Options options;
  options.helper = PW_BINARY_DIR "/src/tools/polyweft-isl";
  IslClient isl(std::move(options));
  struct Case {
    const char *op, *reducer, *type;
    NumericsClass cls;
    Verdict verdict;
  };
  constexpr Verdict kYes = Verdict::proven, kNo = Verdict::refuted;
  for (const Case& c :
       {Case{"+", "sum", "f32", NumericsClass::reassoc, kYes}, Case{"+", "sum", "f32", NumericsClass::contract, kNo},
        Case{"*", "prod", "f32", NumericsClass::reassoc, kNo}, Case{"*", "prod", "f64", NumericsClass::reassoc, kNo},
        Case{"*", "prod", "f32", NumericsClass::strict, kNo}, Case{"*", "prod", "i32", NumericsClass::strict, kYes}}) {
    SCOPED_TRACE(std::string(c.reducer) + " of " + c.type + ", " + name_of(c.cls));
    const std::string op = std::string(" ") + c.op + " ";
    const Task steps =
        scalar_task("let r[0] = b\nlet r[k: 1..N+1] = r[k-1]" + op + "A[k-1]\nout y = r[N]", c.type, c.cls);
    const Task tree = scalar_task("let r = b" + op + "(" + c.reducer + "[k: N] A[k])\nout y = r", c.type, c.cls);
    const auto nest_of_steps = isl.base_nest(steps, false), nest_of_tree = isl.base_nest(tree, false);
    ASSERT_TRUE(nest_of_steps && nest_of_tree);
    const auto own = isl.prove(steps, print(*nest_of_steps)), other = isl.prove(steps, print(*nest_of_tree));
    ASSERT_TRUE(own && other);
    EXPECT_EQ(own->verdict, kYes);
    EXPECT_EQ(other->verdict, c.verdict);
  }
}

// What is no nest, or another class's, is refuted, and says why: no file with such a nest leaves a record.
TEST(ProductOrder, what_is_no_nest_of_the_task_is_refuted) {
  IslClient::Options options;
  options.helper = PW_BINARY_DIR "/src/tools/polyweft-isl";
  IslClient isl(std::move(options));
  const Task strict = scalar_task("out y = b * A[0]", "f32", NumericsClass::strict);
  const Task reassoc = scalar_task("out y = b * A[0]", "f32", NumericsClass::reassoc);
  const auto nest = isl.base_nest(reassoc, false);
  ASSERT_TRUE(nest);
  for (const auto& [text, code] : std::vector<std::pair<std::string, std::string>>{
           {print(*nest), "PW0406"}, {"nest 1", "PW0410"}, {"", "PW0410"}}) {
    std::string why;
    const auto certificate = isl.prove(strict, text, &why);
    ASSERT_TRUE(certificate) << certificate.error().message;
    EXPECT_EQ(certificate->verdict, Verdict::refuted);
    EXPECT_EQ(why.substr(0, 6), code) << why;
  }
}

}  // namespace
}  // namespace polyweft
