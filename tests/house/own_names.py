"""Reads the anonymous namespaces of all sources and lists names that two sources of one target use, and types that hide
one of a header. A clean build compiles the sources of a target together (PW_TOGETHER), where such a name is an error
or, worse, another function than the author saw."""

import os
import re
import sys

TARGETS = [
    "src/support",
    "src/ir",
    "src/lang",
    "src/poly",
    "schedules",
    "search",
    "cost_models",
    "targets",
    "db",
    "src/driver",
    "src/cli",
]
RAW_STRING = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"')
TYPE = re.compile(r"(?:struct|class|enum class|enum|union)\s+(\w+)[^(;]*(?:\{|$)")
ALIAS = re.compile(r"using (\w+) =")
FUNCTION = re.compile(r"(?<![\w:.])(operator\S+|\w+)\s*\(")
VARIABLE = re.compile(r"(?<![\w:.])([A-Za-z_]\w*)(?:\[\w*\])*\s*=(?!=)")
EMPTY_VARIABLE = re.compile(r"(?<![\w:.])([A-Za-z_]\w*)(?:\[\w*\])*\s*(?:;|\{)")
NO_NAME = re.compile(
    r"\s|[/#}]|$|namespace\b|using namespace\b|template\b|extern\b|"
    r"(?:TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\("
)


def type_in(line):
    match = TYPE.match(line) or ALIAS.match(line)
    return match[1] if match else None


def names_in(line):
    """What a line at the left margin declares."""
    if NO_NAME.match(line):
        return []
    if name := type_in(line):
        return [name]
    code = re.sub(r"<[^()]*?>", "", re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.split("//")[0]))
    if match := FUNCTION.search(code.split(" = ")[0]):
        return [match[1]]
    return VARIABLE.findall(code) or EMPTY_VARIABLE.findall(code)


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return RAW_STRING.sub('""', f.read()).split("\n")


def read_source(path):
    """[(line, name, whether it is a type)] of its anonymous namespaces and `static` functions."""
    out, inside = [], False
    for line in lines_of(path):
        if line.startswith("namespace {"):
            inside = True
        elif re.match(r"\}\s*// namespace\s*$", line):
            inside = False
        elif inside or line.startswith("static "):
            out += [(name, type_in(line) is not None) for name in names_in(line)]
    return out


def types_of_headers(root, folders):
    out = {}
    for folder in folders:
        for path in files_below(root, folder, ".h"):
            for line in lines_of(os.path.join(root, path)):
                if not NO_NAME.match(line) and (name := type_in(line)):
                    out.setdefault(name, path)
    return out


def files_below(root, folder, suffix):
    for base, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if name.endswith(suffix) and not name.endswith("_main.cpp"):
                yield os.path.relpath(os.path.join(base, name), root)


def problems_of(root, folder):
    owners, out = {}, []
    headers = types_of_headers(root, ["include/polyweft", folder])
    for path in files_below(root, folder, ".cpp"):
        for name, is_type in read_source(os.path.join(root, path)):
            owner = owners.setdefault(name, path)
            if owner != path:
                out.append(f"{path}: {name} is also a name of {owner}; give one another name, or both the same header")
            if is_type and name in headers:
                out.append(f"{path}: {name} hides the type of {headers[name]}")
    return sorted(set(out))


def test_folders(root):
    tests = os.path.join(root, "tests")
    names = sorted(os.listdir(tests)) if os.path.isdir(tests) else []
    return [os.path.join("tests", name) for name in names if os.path.isdir(os.path.join(tests, name))]


def problems(root):
    return [problem for folder in TARGETS + test_folders(root) for problem in problems_of(root, folder)]


if __name__ == "__main__":
    found = problems(sys.argv[1])
    print("\n".join(found) if found else "own_names: no problem")
    sys.exit(1 if found else 0)
