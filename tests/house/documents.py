"""What README.md and docs/ name must be there: links, files, presets, and the verbs and options of the command line.
Their prose has lines of 120 columns at most; tables and code blocks may be wider. Scripts must be scripts.

Between `<!-- made by: NAME -->` and `<!-- made end -->` stands what the sources say: the table of layers (layers.py),
the rules and steps of schedules (the program schedule_tables).

    documents.py ROOT POLYWEFT [SCHEDULE_TABLES [--write]]      --write puts it there"""

import functools
import json
import os
import re
import shlex
import subprocess
import sys

import layers

LINK = re.compile(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")
NAMED_FILE = re.compile(r"(?<![\w/.-])((?:scripts|examples|tests|docs|bench|cmake)/[\w./-]*[\w])")
SOURCE = re.compile(r"`((?:src|targets|schedules|cost_models|search|db|include)/[\w./-]*\w)`")
PRESET = re.compile(r"--preset[ =]([\w-]+)")
CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
OPTION = re.compile(r"^--?[A-Za-z][\w-]*")
FENCE = re.compile(r"^\s*```")
MADE = re.compile(r"(<!-- made by: (\w+) -->\n)(.*?)(<!-- made end -->)", re.S)
WIDTH = 120


def documents(root):
    folders = os.walk(os.path.join(root, "docs"))
    found = [os.path.join(folder, name) for folder, _, names in folders for name in names if name.endswith(".md")]
    return ["README.md"] + sorted(os.path.relpath(page, root) for page in found)


def commands(text):
    """The command lines of a page that call polyweft, as lists of words, without comments and what follows a pipe."""
    for language, block in CODE_BLOCK.findall(text):
        for line in block.splitlines():
            line = re.sub(r"^\$ ", "", line.strip())
            if language in ("", "sh", "console") and line.startswith("polyweft "):
                yield shlex.split(re.split(r"\s[|>]", line)[0], comments=True)


def file_problems(root, page, text):
    base = os.path.dirname(page)
    missing = [name for name in LINK.findall(text) if not os.path.exists(os.path.join(root, base, name))]
    missing += [
        name
        for name in NAMED_FILE.findall(text)
        if not os.path.exists(os.path.join(root, name))
        and not name.isupper()
        and "NAME" not in name
        and "FOLDER" not in name
        and not os.path.exists(os.path.join(root, base, name))
    ]
    missing += [name for name in SOURCE.findall(text) if not source_is_there(root, name)]
    return [f"{page}: {name} is not there" for name in missing]


def source_is_there(root, name):
    """A file or folder, or the stem of a source and its header. FOLDER, NAME and file names in capitals stand for
    any."""
    path = os.path.join(root, name)
    return re.search(r"[A-Z]{3}", name) or any(os.path.exists(path + ending) for ending in ("", ".cpp", ".h"))


def width_problems(page, text):
    out, in_code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        in_code = in_code != bool(fence)
        if not (fence or in_code or line.lstrip().startswith("|")) and len(line) > WIDTH:
            out.append(f"{page}:{number}: prose of {len(line)} columns, at most {WIDTH}")
    return out


def preset_problems(root, page, text):
    with open(os.path.join(root, "CMakePresets.json"), encoding="utf-8") as f:
        known = {preset["name"] for preset in json.load(f)["configurePresets"]}
    return [f"{page}: no preset {name}" for name in PRESET.findall(text) if name not in known]


def command_problems(page, text, help_of):
    out = []
    for words in commands(text):
        verb = words[1]
        if verb.startswith("-"):
            continue
        known = help_of(verb)
        if known is None:
            out.append(f"{page}: polyweft has no verb {verb}")
            continue
        subverbs = known.split("\nSubcommands:\n")[1:]
        if subverbs and len(words) > 2:
            if not re.search(rf"^  {re.escape(words[2])} ", subverbs[0], re.M):
                out.append(f"{page}: polyweft {verb} has no verb {words[2]}")
                continue
            verb = f"{verb} {words[2]}"
            known = help_of(verb)
        options = [OPTION.match(word)[0] for word in words[2:] if OPTION.match(word)]
        out += [
            f"{page}: polyweft {verb} has no option {option}"
            for option in options
            if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known)
        ]
    return out


def first_block_problems(text):
    blocks = CODE_BLOCK.findall(text)
    lines = [line.split("#")[0].strip() for line in blocks[0][1].splitlines()] if blocks else []
    return (
        []
        if lines == ["scripts/demo", "scripts/test"]
        else ["README.md: its first block must be the two commands, scripts/demo and scripts/test"]
    )


def script_problems(root):
    out = []
    for name in sorted(os.listdir(os.path.join(root, "scripts"))):
        path = os.path.join(root, "scripts", name)
        with open(path, encoding="utf-8") as f:
            is_bash = f.readline() == "#!/usr/bin/env bash\n"
        parses = (
            is_bash
            and subprocess.run(["bash", "-n", path], capture_output=True, timeout=60, check=False).returncode == 0
        )
        if not (parses and os.access(path, os.X_OK)):
            out.append(f"scripts/{name}: is no executable bash script")
    return out


def made_problems(page, text, table_of):
    """Parts made from the sources that are not what the sources say. table_of: a name -> the text; None: not known."""
    out = []
    for _, name, body, _ in MADE.findall(text):
        table = table_of(name)
        if table is not None and body != table:
            out.append(f"{page}: the table {name} is stale; run tests/house/documents.py with --write")
    return out


def with_tables(text, table_of):
    return MADE.sub(lambda m: m[1] + (m[3] if table_of(m[2]) is None else table_of(m[2])) + m[4], text)


def problems(root, help_of, table_of=lambda name: None):
    out = script_problems(root)
    for page in documents(root):
        with open(os.path.join(root, page), encoding="utf-8") as f:
            text = f.read()
        out += (
            file_problems(root, page, text) + preset_problems(root, page, text) + command_problems(page, text, help_of)
        )
        out += width_problems(page, text) + made_problems(page, text, table_of)
        if page == "README.md":
            out += first_block_problems(text)
    return out


def help_of_program(program):
    @functools.lru_cache(maxsize=None)
    def help_of(verb):
        done = subprocess.run([program, *verb.split(), "--help"], capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else None

    return help_of


def table_of_program(program):
    """Tables of layers.py and, where the program is given, of schedule_tables."""

    @functools.lru_cache(maxsize=None)
    def table_of(name):
        if name == "layers":
            return layers.layer_table()
        if program is None:
            return None
        return subprocess.run([program, name], capture_output=True, text=True, timeout=60, check=False).stdout

    return table_of


def write_tables(root, table_of):
    for page in documents(root):
        path = os.path.join(root, page)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if (new := with_tables(text, table_of)) != text:
            with open(path, "w", encoding="utf-8") as f:
                f.write(new)


if __name__ == "__main__":
    tables = table_of_program(sys.argv[3] if len(sys.argv) > 3 else None)
    if sys.argv[4:] == ["--write"]:
        write_tables(sys.argv[1], tables)
    found = problems(sys.argv[1], help_of_program(sys.argv[2]), tables)
    print("\n".join(found) if found else "documents: no problem")
    sys.exit(1 if found else 0)
