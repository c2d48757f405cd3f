"""Reads the #include lines of a source tree and lists what breaks the house rules: an edge between layers that must not be, a cycle,
a public header that names a third party, too many public headers, a file that is too long."""

import os
import re
import sys

L0, L1, L2, L3, L4, L5, L6, TOOLS = range(8)
FOLDERS = {  # longest prefix wins
    "src/support": L0, "include/polyweft": L1, "src/ir": L1, "src/lang": L2, "src/poly": L2, "schedules": L3,
    "search": L4, "cost_models": L4, "targets": L4, "db": L4, "src/driver": L5, "src/capi": L6, "src/cli": L6, "src/tools": TOOLS,
}
ALLOWED = {  # folder -> layers it may see besides itself
    L0: {L0}, L1: {L0, L1}, L2: {L0, L1}, L3: {L0, L1, L2}, L4: {L0, L1}, L5: {L0, L1, L2, L3, L4}, TOOLS: set(range(8)),
}
THIRD_PARTY = re.compile(r"isl/|llvm|LLVM|sqlite|SQLite|Halide")
MAX_LINES, MAX_PUBLIC = 800, 15
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
SUFFIXES = (".h", ".cpp", ".hpp", ".c")


def folder_of(path):
    if path == "include/polyweft/result.h":
        return "src/support"  # counts as L0: everybody returns Result
    best = max((f for f in FOLDERS if path.startswith(f + "/")), key=len, default=None)
    return best


def sources(root):
    for top in ["include", "src", "schedules", "search", "cost_models", "targets", "db"]:
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
                found.append(stack[stack.index(nxt):] + [nxt])
            elif nxt not in state:
                visit(nxt)
        stack.pop()
        state[node] = 2

    for node in sorted(graph):
        if node not in state:
            visit(node)
    return found


def problems(root):
    out, graph = [], {}
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as f:
            lines = f.readlines()
        if len(lines) > MAX_LINES:
            out.append(f"{path}: {len(lines)} lines, at most {MAX_LINES}; split it along its ideas")
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            if path.startswith("include/") and THIRD_PARTY.search(match[2]):
                out.append(f"{path}:{number}: a public header names {match[2]}")
            target = resolve(root, path, match[2])
            if target is None:
                continue
            graph.setdefault(path, set()).add(target)
            if not may_see(path, target):
                out.append(f"{path}:{number}: {folder_of(path)} may not see {folder_of(target)} ({match[2]})")
    out += ["include cycle: " + " -> ".join(cycle) for cycle in cycles(graph)]
    public = [p for p in sources(root) if p.startswith("include/")]
    if len(public) > MAX_PUBLIC:
        out.append(f"include/polyweft: {len(public)} public headers, at most {MAX_PUBLIC}")
    return out


if __name__ == "__main__":
    found = problems(sys.argv[1])
    print("\n".join(found) if found else "layers: no problem")
    sys.exit(1 if found else 0)
