"""Reads the #include lines of a source tree and lists what breaks the house rules: an edge between layers that must not
be, a cycle, a third party outside its home, a public header that names one, too many public headers, an architecture's
name in code or comments that serve all of them, an architecture's or an ABI's name anywhere in what backends share, an
architecture or its features in what backends for CPUs share, a file that is too long, a line of more than 120
columns."""

import os
import re
import sys

L0, L1, L2, L3, L4, L5, L6, TOOLS = range(8)
FOLDERS = {  # longest prefix wins
    "src/support": L0,
    "include/polyweft": L1,
    "src/ir": L1,
    "src/lang": L2,
    "src/poly": L2,
    "schedules": L3,
    "search": L4,
    "cost_models": L4,
    "targets": L4,
    "db": L4,
    "src/driver": L5,
    "src/capi": L6,
    "src/cli": L6,
    "src/tools": TOOLS,
}
ALLOWED = {  # folder -> layers it may see besides itself
    L0: {L0},
    L1: {L0, L1},
    L2: {L0, L1},
    L3: {L0, L1, L2},
    L4: {L0, L1},
    L5: {L0, L1, L2, L3, L4},
    TOOLS: set(range(8)),
}
THIRD_PARTY = re.compile(r"isl/|llvm|LLVM|sqlite|SQLite|Halide")
ISL_TYPES = (
    r"isl_(?:(?:basic_|union_)?(?:set|map)|ctx|id|val|space|point|schedule\w*|ast_\w+|(?:multi_|union_|pw_)*aff)"
)
THIRD_PARTY_CODE = re.compile(rf"\b({ISL_TYPES}\b|isl::\w+|llvm::\w+|LLVM\w+Ref|sqlite3\w*|SQLite::\w+|halide_\w+)")
TARGETS = {  # folder -> CMake targets, for the table in docs/architecture.md
    "src/support": "polyweft_support",
    "include/polyweft": "polyweft_ir",
    "src/ir": "polyweft_ir",
    "src/lang": "polyweft_lang",
    "src/poly": "polyweft_poly",
    "schedules": "polyweft_schedules",
    "search": "polyweft_search",
    "cost_models": "polyweft_cost_models",
    "targets": "polyweft_targets",
    "db": "polyweft_db",
    "src/driver": "polyweft_driver",
    "src/capi": "polyweft_capi, libpolyweft",
    "src/cli": "polyweft",
    "src/tools": "polyweft-isl, polyweft-runner, polyweft-device",
}
HOMES = [  # third party (by its headers), the folders that may include it
    ("isl", re.compile(r"^isl/"), ("src/poly", "schedules", "src/tools")),
    ("LLVM", re.compile(r"^(llvm|llvm-c|lld|clang)/"), ("targets", "src/tools")),
    ("SQLite", re.compile(r"^(sqlite3|SQLiteCpp/)"), ("db",)),
    ("OpenCL", re.compile(r"^CL/"), ("targets",)),
    ("Halide", re.compile(r"^Halide"), ("targets", "src/tools")),
    ("CLI11", re.compile(r"^CLI/"), ("src/cli",)),
    ("fmt", re.compile(r"^fmt/"), ("src/cli",)),
    ("nlohmann/json", re.compile(r"^nlohmann/"), ("src/cli", "src/driver", "src/poly", "src/tools")),
    ("libsodium", re.compile(r"^sodium"), ("src/support",)),
    ("libseccomp", re.compile(r"^seccomp\.h"), ("src/tools",)),
]
SOURCE_TOPS = ["include", "src", "schedules", "search", "cost_models", "targets", "db"]
OTHER_TOPS = ["tests", "bench", "examples", "cmake", "scripts"]  # length alone
ARCHITECTURE = re.compile(r"x86|aarch64|hexagon|riscv|wasm|(?<![a-z])sve2?(?![a-z])|(?<![a-z])(?:avx|amx|sse\d|neon|hvx|znver|skylake|[xyz]mm\d)", re.IGNORECASE)
ONE_KIND = re.compile(
    r"halide|targets/(?!common/|instructions|backend)\w+/|(?<![a-z])(?:vnni|f16c|fma3|arch_prctl|ldtilecfg|v?pdpb|v?pmadd|vscalef|vperm|valign)|IntrinsicsX|\b(?:intel|amd|arm)\b",
    re.IGNORECASE,
)
FEATURE = re.compile(
    r"(?<![a-z])(?:vnni|vbmi\d?|f16c|bmi\d|dotprod|fullfp16|i8mm|v?pdpb|v?pmadd|vscalef|vperm[a-z]|valign[dq])",
    re.IGNORECASE,
)
CPUS = "targets/cpu/"  # its own files name no architecture: each has a folder there
LIST_OF_CPUS = "targets/cpu/instruction_set.cpp"
SHARED = "targets/common/"  # names no architecture and no ABI of one kind of backend, in comments neither
NAMELESS = (
    "include/",
    "src/ir/",
    "src/driver/",
    "schedules/",
    "search/",
    "cost_models/",
)  # their code knows capabilities and figures of a target
CODE_ALONE = ("schedules/",)  # of these: comments say on what a figure was measured
MAX_LINES, MAX_PUBLIC, MAX_COLUMNS = 800, 15, 120
RAW_STRING = re.compile(r'R"(\w*)\(|\)(\w*)"')
STRING = re.compile(r"""[rf]*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
SUFFIXES = (".h", ".cpp", ".hpp", ".c", ".py", ".sh", ".cmake")


def seen_from(layer):
    """In words, what a folder of this layer may see besides itself."""
    if layer == L6:
        return "`include/polyweft`"
    if layer == TOOLS:
        return "all"
    return ", ".join(f"L{other}" for other in sorted(ALLOWED[layer] - {layer}, reverse=True))


def layer_table():
    """The table of docs/architecture.md: folders from the top down, tools last."""
    out = "| layer | folder | CMake target | may see | third party |\n|---|---|---|---|---|\n"
    for layer in (L6, L5, L4, L3, L2, L1, L0, TOOLS):
        for folder in sorted(folder for folder, own in FOLDERS.items() if own == layer):
            name = "" if layer == TOOLS else f"L{layer}"
            targets = ", ".join(f"`{target}`" for target in TARGETS[folder].split(", "))
            parties = ", ".join(party for party, _, homes in HOMES if folder in homes)
            also = ", `polyweft/result.h`" if layer == L0 else ""
            out += f"| {name} | `{folder}`{also} | {targets} | {seen_from(layer)} | {parties} |\n"
    return out


def folder_of(path):
    if path == "include/polyweft/result.h":
        return "src/support"  # counts as L0: everybody returns Result
    best = max((f for f in FOLDERS if path.startswith(f + "/")), key=len, default=None)
    return best


def sources(root, tops):
    for top in tops:
        for base, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(base, name), root)


def resolve(root, path, name):
    for prefix in (os.path.dirname(path), "include", "src", ""):
        candidate = os.path.normpath(os.path.join(prefix, name))
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return None


def may_see(path, target):
    source_folder, target_folder = folder_of(path), folder_of(target)
    if source_folder is None or target_folder is None or source_folder == target_folder:
        return True
    source_layer, target_layer = FOLDERS[source_folder], FOLDERS[target_folder]
    if source_layer == L6:
        return target_folder == "include/polyweft" or target == "include/polyweft/result.h"
    if path.startswith("src/poly/check/") and target_folder == "schedules":
        return False
    return target_layer in ALLOWED[source_layer]


def cycles(graph):
    state, stack, found = {}, [], []

    def visit(node):
        state[node] = 1
        stack.append(node)
        for nxt in sorted(graph.get(node, ())):
            if state.get(nxt) == 1:
                found.append(stack[stack.index(nxt) :] + [nxt])
            elif nxt not in state:
                visit(nxt)
        stack.pop()
        state[node] = 2

    for node in sorted(graph):
        if node not in state:
            visit(node)
    return found


def read_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.readlines()


def length_problem(path, lines):
    return (
        [f"{path}: {len(lines)} lines, at most {MAX_LINES}; split it along its ideas"] if len(lines) > MAX_LINES else []
    )


def width_problems(path, lines):
    """Lines of C, C++ and Python that are too long; of tests, raw strings may be. A string of Python stays in one piece."""
    out, in_raw = [], False
    for number, line in enumerate(lines, 1):
        for _ in RAW_STRING.finditer(line) if path.endswith((".cpp", ".h")) else ():
            in_raw = not in_raw
        text = line.rstrip("\n")
        allowed = path.startswith("tests/") and (in_raw or ')"' in text)
        allowed = allowed or (path.endswith(".py") and len(STRING.sub("", text)) < MAX_COLUMNS / 2)
        if len(text) > MAX_COLUMNS and not allowed and path.endswith((".cpp", ".h", ".c", ".py")):
            out.append(f"{path}:{number}: {len(text)} columns, at most {MAX_COLUMNS}")
    return out


def home_problems(path, number, name):
    return [
        f"{path}:{number}: {party} is at home in {', '.join(homes)} ({name})"
        for party, pattern, homes in HOMES
        if pattern.search(name) and folder_of(path) not in homes
    ]


def public_problems(path, number, line, included):
    code = line.split("//")[0]
    name = included if included and THIRD_PARTY.search(included) else None
    if not included and (match := THIRD_PARTY_CODE.search(code)):
        name = match[1]
    return [f"{path}:{number}: a public header names {name}"] if name else []


def architecture_problems(path, lines):
    if not path.startswith(NAMELESS) or path.startswith("schedules/library"):
        return []
    if path.startswith(CODE_ALONE):
        code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), "".join(lines), flags=re.DOTALL)
        lines = [line.split("//")[0] for line in code.split("\n")]
    return [
        f"{path}:{number}: names an architecture ({match[0]}); ask the target for a capability or a figure"
        for number, line in enumerate(lines, 1)
        if (match := ARCHITECTURE.search(line))
    ]


def cpu_problems(path, lines):
    """What all CPUs share asks InstructionSet and InstructionHooks; the list of them names the architectures."""
    if not path.startswith(CPUS) or path.count("/") != CPUS.count("/") or path == LIST_OF_CPUS:
        return []
    return [
        f"{path}:{number}: names {match[0]}, which one architecture has; make it a capability that each completes"
        for number, line in enumerate(lines, 1)
        if (match := ARCHITECTURE.search(line) or FEATURE.search(line))
    ]


def shared_problems(path, lines):
    if not path.startswith(SHARED):
        return []
    return [
        f"{path}:{number}: names {match[0]}, which one kind of machine has; make it a hook that a backend completes"
        for number, line in enumerate(lines, 1)
        if (match := ARCHITECTURE.search(line) or ONE_KIND.search(line))
    ]


def file_problems(root, path, graph):
    lines = read_lines(root, path)
    out = length_problem(path, lines) + width_problems(path, lines)
    out += architecture_problems(path, lines) + cpu_problems(path, lines) + shared_problems(path, lines)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if path.startswith("include/"):
            out += public_problems(path, number, line, match and match[2])
        elif match:
            out += home_problems(path, number, match[2])
        target = match and resolve(root, path, match[2])
        if not target:
            continue
        graph.setdefault(path, set()).add(target)
        if not may_see(path, target):
            out.append(f"{path}:{number}: {folder_of(path)} may not see {folder_of(target)} ({match[2]})")
    return out


def problems(root):
    out, graph = [], {}
    for path in sources(root, SOURCE_TOPS):
        out += file_problems(root, path, graph)
    for path in sources(root, OTHER_TOPS):
        out += length_problem(path, read_lines(root, path)) + width_problems(path, read_lines(root, path))
    out += ["include cycle: " + " -> ".join(cycle) for cycle in cycles(graph)]
    public = [p for p in sources(root, ["include"]) if p.endswith(".h")]
    if len(public) > MAX_PUBLIC:
        out.append(f"include/polyweft: {len(public)} public headers, at most {MAX_PUBLIC}")
    return out


if __name__ == "__main__":
    found = problems(sys.argv[1])
    print("\n".join(found) if found else "layers: no problem")
    sys.exit(1 if found else 0)
