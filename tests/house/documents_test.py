"""The document test itself must catch what it is there for."""

import os
import tempfile
import unittest

import documents

README = "# P\n```sh\nscripts/demo   # one\nscripts/test\n```\n"
SCRIPT = "#!/usr/bin/env bash\ntrue\n"
PRESETS = '{"configurePresets": [{"name": "dev"}]}'


def help_of(verb):
    return {
        "tune": "  --budget TEXT\n  -p,--parameter NAME=VALUE\n",
        "db": "Options:\n  -h\n\nSubcommands:\n  list   Records\n",
        "db list": "  --limit N\n",
    }.get(verb)


class Documents(unittest.TestCase):
    def found(self, files, table_of=lambda name: None):
        with tempfile.TemporaryDirectory() as folder:
            whole = {
                "README.md": README,
                "docs/a.md": "",
                "CMakePresets.json": PRESETS,
                "scripts/demo": SCRIPT,
                "scripts/test": SCRIPT,
                **files,
            }
            for path, text in whole.items():
                os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                    f.write(text)
                if path.startswith("scripts/"):
                    os.chmod(os.path.join(folder, path), 0o755)
            return documents.problems(folder, help_of, table_of)

    def test_sound_pages_have_no_problem(self):
        self.assertEqual(
            [],
            self.found(
                {
                    "README.md": README
                    + "[a](docs/a.md) `--preset dev`\n```sh\npolyweft tune x.weft --budget 1s -p N=3 | cat\n```\n"
                }
            ),
        )

    def test_a_stale_table_is_caught(self):
        def page(table):
            return {"docs/a.md": f"text\n<!-- made by: rules -->\n{table}<!-- made end -->\n"}

        def table_of(name):
            return "| a |\n" if name == "rules" else None

        self.assertEqual([], self.found(page("| a |\n"), table_of))
        self.assertEqual(
            ["docs/a.md: the table rules is stale; run tests/house/documents.py with --write"],
            self.found(page("| b |\n"), table_of),
        )
        self.assertEqual(page("| a |\n")["docs/a.md"], documents.with_tables(page("| b |\n")["docs/a.md"], table_of))

    def test_a_dead_link_is_caught(self):
        self.assertEqual(["docs/a.md: b.md is not there"], self.found({"docs/a.md": "[b](b.md)"}))

    def test_a_file_that_is_not_there_is_caught(self):
        self.assertEqual(
            ["docs/a.md: examples/01_gemm.weft is not there"], self.found({"docs/a.md": "see `examples/01_gemm.weft`"})
        )

    def test_a_source_that_is_not_there_is_caught(self):
        source = {"src/ir/a.h": "", "src/ir/b.cpp": ""}
        there = "`src/ir`, `src/ir/a`, `src/ir/b.cpp`, `schedules/steps/NAME.cpp`"
        self.assertEqual([], self.found({**source, "docs/a.md": there}))
        self.assertEqual(["docs/a.md: src/ir/c is not there"], self.found({**source, "docs/a.md": "`src/ir/c`"}))

    def test_pages_in_folders_are_read(self):
        self.assertEqual(["docs/b/a.md: c.md is not there"], self.found({"docs/b/a.md": "[c](c.md)"}))

    def test_wide_prose_is_caught(self):
        wide = "x " * 61
        self.assertEqual([], self.found({"docs/a.md": f"| {wide} |\n\n```\n{wide}\n```\n{wide[:120]}\n"}))
        self.assertEqual(
            ["docs/a.md:2: prose of 122 columns, at most 120"], self.found({"docs/a.md": f"one\n{wide}\n"})
        )

    def test_a_script_that_is_none_is_caught(self):
        for text in ("#!/ usr / bin / env bash\n", "true\n", SCRIPT + "if true\n"):
            self.assertEqual(["scripts/soak: is no executable bash script"], self.found({"scripts/soak": text}))

    def test_an_unknown_preset_is_caught(self):
        self.assertEqual(["docs/a.md: no preset fast"], self.found({"docs/a.md": "cmake --preset fast"}))

    def test_an_unknown_verb_is_caught(self):
        self.assertEqual(
            ["docs/a.md: polyweft has no verb bake"], self.found({"docs/a.md": "```sh\npolyweft bake x.weft\n```\n"})
        )

    def test_an_unknown_option_is_caught(self):
        self.assertEqual(
            ["docs/a.md: polyweft tune has no option --bud"],
            self.found({"docs/a.md": "```\npolyweft tune x.weft --bud 3s\n```\n"}),
        )

    def test_verbs_of_verbs_have_options_of_their_own(self):
        self.assertEqual([], self.found({"docs/a.md": "```\npolyweft db list --limit 3\n```\n"}))
        self.assertEqual(
            ["docs/a.md: polyweft db list has no option --budget"],
            self.found({"docs/a.md": "```\npolyweft db list --budget 3s\n```\n"}),
        )
        self.assertEqual(
            ["docs/a.md: polyweft db has no verb lst"], self.found({"docs/a.md": "```\npolyweft db lst\n```\n"})
        )

    def test_a_readme_that_does_not_open_with_the_two_commands_is_caught(self):
        self.assertEqual(1, len(self.found({"README.md": "# P\n```sh\nmake\n```\n"})))


if __name__ == "__main__":
    unittest.main()
