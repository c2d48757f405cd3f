"""The layer test itself must catch what it is there for: each rule is broken once in a small tree."""

import os
import tempfile
import unittest

import layers


class Layers(unittest.TestCase):
    def tree(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, text in files.items():
            full = os.path.join(folder.name, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        return layers.problems(folder.name)

    def test_a_sound_tree_has_no_problem(self):
        self.assertEqual(
            [],
            self.tree(
                {
                    "include/polyweft/result.h": "#include <string>\n",
                    "include/polyweft/program.h": '#include "polyweft/result.h"\n',
                    "src/support/hash.h": "",
                    "db/store.cpp": '#include "polyweft/program.h"\n#include "support/hash.h"\n#include <sqlite3.h>\n',
                    "src/driver/tuner.cpp": '#include "db/store.h"\n',
                    "db/store.h": "",
                }
            ),
        )

    def test_an_edge_upwards_is_caught(self):
        found = self.tree({"src/ir/a.cpp": '#include "poly/b.h"\n', "src/poly/b.h": ""})
        self.assertEqual(["src/ir/a.cpp:1: src/ir may not see src/poly (poly/b.h)"], found)

    def test_siblings_may_not_see_each_other(self):
        found = self.tree(
            {
                "db/a.cpp": '#include "search/b.h"\n',
                "search/b.h": "",
                "src/lang/c.cpp": '#include "poly/d.h"\n',
                "src/poly/d.h": "",
            }
        )
        self.assertEqual(2, len(found))

    def test_the_command_line_sees_public_headers_only(self):
        found = self.tree(
            {
                "src/cli/a.cpp": '#include "driver/b.h"\n#include "polyweft/tuner.h"\n',
                "src/driver/b.h": "",
                "include/polyweft/tuner.h": "",
            }
        )
        self.assertEqual(["src/cli/a.cpp:1: src/cli may not see src/driver (driver/b.h)"], found)

    def test_the_checker_may_not_see_schedules(self):
        self.assertEqual(1, len(self.tree({"src/poly/check/a.cpp": '#include "schedules/b.h"\n', "schedules/b.h": ""})))

    def test_a_cycle_is_caught(self):
        found = self.tree({"src/ir/a.h": '#include "ir/b.h"\n', "src/ir/b.h": '#include "ir/a.h"\n'})
        self.assertEqual(["include cycle: src/ir/a.h -> src/ir/b.h -> src/ir/a.h"], found)

    def test_a_public_header_that_names_a_third_party_is_caught(self):
        for name in ["isl/ctx.h", "llvm/IR/Module.h", "sqlite3.h"]:
            self.assertEqual(
                [f"include/polyweft/a.h:1: a public header names {name}"],
                self.tree({"include/polyweft/a.h": f"#include <{name}>\n"}),
            )

    def test_a_public_header_that_names_a_third_party_in_its_code_is_caught(self):
        self.assertEqual(
            ["include/polyweft/a.h:1: a public header names isl_ctx"],
            self.tree({"include/polyweft/a.h": "struct isl_ctx;\n"}),
        )
        self.assertEqual(
            ["include/polyweft/a.h:1: a public header names llvm::Module"],
            self.tree({"include/polyweft/a.h": "llvm::Module* m;\n"}),
        )
        self.assertEqual([], self.tree({"include/polyweft/a.h": "int isl_version;  // no isl_ctx in here\n"}))

    def test_a_line_that_is_too_long_is_caught(self):
        wide = "x" * 121
        for path in ("src/ir/a.cpp", "tests/ir/a.cpp", "bench/a.c", "bench/a.py"):
            self.assertEqual([f"{path}:2: 123 columns, at most 120"], self.tree({path: f"\n# {wide}\n"}))
        self.assertEqual([], self.tree({"tests/ir/a.cpp": f'const char* kText = R"(\n{wide}\n)";\n'}))
        self.assertEqual([], self.tree({"tests/ir/a.py": f'say("{wide}")\n'}))

    def test_a_name_of_a_machine_in_what_backends_share_is_caught_in_comments_too(self):
        found = self.tree(
            {
                "targets/common/a.cpp": "// AVX-512 has it\nint sum;\ncall(\"halide_malloc\");\n// the farm\n",
                "targets/cpu/a.cpp": "// halide_free\n",
                "targets/common/b.h": "#include <llvm/IR/IntrinsicsX86.h>\n// an ARM core\n#include \"targets/cpu/b.h\"\n",
            }
        )
        self.assertEqual(
            [
                f"targets/common/{where}: names {what}, which one kind of machine has; make it a hook that a backend completes"
                for where, what in (
                    ("a.cpp:1", "AVX"),
                    ("a.cpp:3", "halide"),
                    ("b.h:1", "X86"),
                    ("b.h:2", "ARM"),
                    ("b.h:3", "targets/cpu/"),
                )
            ],
            sorted(found),
        )

    def test_a_name_of_an_architecture_in_code_for_all_is_caught(self):
        found = self.tree(
            {
                "src/driver/a.cpp": 'int f() { return g("avx512f"); }\n',
                "cost_models/a.cpp": "/* x86\n */ int neon_lanes;\n",
            }
        )
        self.assertEqual(
            [
                "cost_models/a.cpp:1: names an architecture (x86); ask the target for a capability or a figure",
                "cost_models/a.cpp:2: names an architecture (neon); ask the target for a capability or a figure",
                "src/driver/a.cpp:1: names an architecture (avx); ask the target for a capability or a figure",
            ],
            sorted(found),
        )
        self.assertEqual(
            [],
            self.tree(
                {
                    "schedules/a.cpp": "int f();  // AVX-512 has 32\n/* so has\n NEON */\n",
                    "targets/cpu/x86/a.cpp": 'bool b = has("avx2");\n',
                }
            ),
        )

    def test_a_feature_of_an_architecture_in_what_cpus_share_is_caught(self):
        found = self.tree(
            {
                "targets/cpu/a.cpp": 'bool a = has("avx2");\nbool b = has("i8mm");\nint passes;  // for VBMI2\n',
                "targets/cpu/a.h": '#include "targets/cpu/x86/b.h"\n',
                "targets/cpu/instruction_set.cpp": '#include "targets/cpu/x86/b.h"\n',
                "targets/cpu/aarch64/a.cpp": 'bool c = has("dotprod");\n',
                "targets/cpu/x86/b.h": "// AVX-512\n",
            }
        )
        self.assertEqual(
            [
                f"targets/cpu/{where}: names {what}, which one architecture has; make it a capability that each completes"
                for where, what in (("a.cpp:1", "avx"), ("a.cpp:2", "i8mm"), ("a.cpp:3", "VBMI2"), ("a.h:1", "x86"))
            ],
            sorted(found),
        )

    def test_a_third_party_outside_its_home_is_caught(self):
        cases = {
            "search/a.cpp": "isl/set.h",
            "src/driver/a.cpp": "llvm/IR/Module.h",
            "src/cli/a.cpp": "sqlite3.h",
            "src/ir/a.cpp": "CLI/CLI.hpp",
        }
        for path, name in cases.items():
            self.assertEqual(1, len(self.tree({path: f"#include <{name}>\n"})), path)
        for path, name in {
            "src/poly/a.cpp": "isl/set.h",
            "targets/cpu/a.cpp": "llvm/IR/Module.h",
            "db/a.cpp": "SQLiteCpp/Database.h",
        }.items():
            self.assertEqual([], self.tree({path: f"#include <{name}>\n"}))

    def test_a_cycle_of_three_across_folders_is_caught(self):
        found = self.tree(
            {"src/ir/a.h": '#include "ir/b.h"\n', "src/ir/b.h": '#include "ir/c.h"\n', "src/ir/c.h": '#include "a.h"\n'}
        )
        self.assertEqual(["include cycle: src/ir/a.h -> src/ir/b.h -> src/ir/c.h -> src/ir/a.h"], found)

    def test_a_long_file_is_caught(self):
        for path in ["src/ir/a.cpp", "tests/ir/a_test.cpp", "bench/a.cpp", "tests/house/a.py"]:
            self.assertEqual(1, len(self.tree({path: "\n" * 801})), path)
        self.assertEqual([], self.tree({"src/ir/a.cpp": "\n" * 800}))

    def test_a_sixteenth_public_header_is_caught(self):
        self.assertEqual(1, len(self.tree({f"include/polyweft/h{n}.h": "" for n in range(16)})))


if __name__ == "__main__":
    unittest.main()
