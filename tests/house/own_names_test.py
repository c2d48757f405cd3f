"""The rule of own names must catch what it is there for, and let pass what is sound."""

import os
import tempfile
import unittest

import own_names


class OwnNames(unittest.TestCase):
    def problems(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                    f.write(text)
            return own_names.problems(root)

    def sources(self, first, second):
        text = "namespace polyweft {{\nnamespace {{\n{}\n}}  // namespace\n}}  // namespace polyweft\n"
        return {"src/ir/a.cpp": text.format(first), "src/ir/b.cpp": text.format(second)}

    def test_two_sources_with_names_of_their_own_are_sound(self):
        first = "int f(int x) {\n  return x;\n}\nint f(char x);\nconstexpr int kA = 1;"
        self.assertEqual([], self.problems(self.sources(first, "int g();\nconstexpr int kB = 1;")))

    def test_one_name_in_two_folders_is_sound(self):
        other = {"src/lang/c.cpp": "namespace {\nint f();\n}  // namespace\n"}
        self.assertEqual([], self.problems({**self.sources("int f();", ""), **other}))

    def test_shared_functions_types_and_constants_are_caught(self):
        for line in [
            "int f(int x) {",
            "struct F {",
            "using F = int;",
            "constexpr int kF = 1, kG = 2;",
            "const int kF[] = {1, 2};",
            "class F {",
            "enum class F {",
            "std::map<int, F> f;",
        ]:
            self.assertNotEqual([], self.problems(self.sources(line, line)), line)

    def test_static_functions_are_caught(self):
        text = "static int f() {\n}\n"
        self.assertEqual(1, len(self.problems({"db/a.cpp": text, "db/b.cpp": text})))

    def test_what_is_no_declaration_is_let_pass(self):
        for line in [
            "// int f();",
            "#define F 1",
            "  int x = 1;",
            "char Pass::ID = 0;",
            "using namespace ir;",
            'const char* text_{} = R"(\nint f(\n)";',
        ]:
            self.assertEqual([], self.problems(self.sources(line.format("a"), line.format("b"))), line)

    def test_tests_have_the_same_rule_and_may_have_one_suite(self):
        text = "namespace {\nTEST(Suite, case) {\n}\nint f();\n}  // namespace\n"
        self.assertEqual(
            [
                "tests/ir/b_test.cpp: f is also a name of tests/ir/a_test.cpp; give one another name, or both the same header"
            ],
            self.problems({"tests/ir/a_test.cpp": text, "tests/ir/b_test.cpp": text}),
        )

    def test_a_type_that_hides_one_of_a_header_is_caught(self):
        files = {
            "include/polyweft/a.h": "namespace polyweft {\nenum class Scope { a };\n}\n",
            **self.sources("struct Scope {", ""),
        }
        self.assertEqual(["src/ir/a.cpp: Scope hides the type of include/polyweft/a.h"], self.problems(files))


if __name__ == "__main__":
    unittest.main()
