"""What sweeps over programs on devices share: the programs, commands with a limit, launches by a header."""

import os
import re
import signal
import subprocess
import sys
import unittest.mock

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "bench"))
try:
    import numpy  # noqa: F401
except ImportError:
    sys.modules["numpy"] = unittest.mock.MagicMock()  # programs and sizes need none
import floor_cases

SUITES = ["products", "examples", "recurrences", "language", "polybench"]


def suite(name):
    if name == "products":
        return [floor_cases.case(name, path, {}) for path in floor_cases.files("bench/gpu/products")]
    return floor_cases.suite(name)


def cases(suites, only=""):
    return [case for name in suites for case in suite(name) if only in case["name"]]


def run(polyweft, words, seconds):
    """Code, standard output, standard error. What takes longer is ended with all that it started (code 124)."""
    process = subprocess.Popen(
        [polyweft, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        out, problem = process.communicate(timeout=seconds)
        return process.returncode, out, problem.strip()
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, problem = process.communicate()
        return 124, out, f"no answer in {seconds} s"


def sized(case, target):
    out = [case["path"], "--target", target]
    for name, value in case["sizes"].items():
        out += ["-p", f"{name}={value}"]
    return out


def threads_of(header):
    """Of the largest launch."""
    most = 0
    for launch in re.findall(r'^  \{"[^"]*", \{(\d+), (\d+), (\d+)\}, \{(\d+), (\d+), (\d+)\}', header, re.M):
        threads = 1
        for extent in launch:
            threads *= int(extent)
        most = max(most, threads)
    return most
