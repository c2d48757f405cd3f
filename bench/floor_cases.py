"""What bench/floor.py runs: programs with their sizes, and inputs that they can take."""

import glob
import os
import re

import numpy as np

import examples
import polybench

ROOT = examples.ROOT
# Of the language page's programs: 10^6 to 10^8 operations. Constant parameters are not bound.
LANGUAGE = {
    "argmax_rows": "M=1000 N=2000",
    "attention": "H=4 G=2 S=128 D=64",
    "batched_bf16": "B=8 M=64 N=64 K=128",
    "cholesky": "N=250",
    "conv": "N=1 H=56 W=56",
    "conv_padded": "H=64 W=64 C=16 F=16",
    "conv_transposed": "H=512 C=32 F=32",
    "depthwise": "H=112 W=112 C=32",
    "deriche_rows": "W=512 H=512",
    "embedding_bag": "B=512 L=16 V=2000 D=64",
    "fdtd1d": "T=100 N=20000",
    "fft_stage": "B=8192",
    "flash_attention": "H=2 S=128 D=32",
    "floyd_warshall": "N=160",
    "gemm": "M=256 N=256 K=256",
    "harris": "H=256 W=256",
    "heat1d": "T=200 N=10000",
    "histogram": "N=100000 B=32",
    "int4_gemv": "N=4096",
    "layernorm": "M=256 N=1024",
    "logsumexp": "M=256 N=1024",
    "lstm": "L=2 T=16 H=64",
    "lu": "N=200",
    "nussinov": "N=160",
    "pool": "H=112 W=112 C=32",
    "prefix_sum": "N=3000",
    "pyramid": "H=512 W=512",
    "qgemm": "M=128 N=128 K=128",
    "seidel2d": "T=10 N=300",
    "smith_waterman": "M=1000 N=1200 V=4",
    "softmax": "M=256 N=1024",
    "trmm": "M=160 N=200",
}
RECURRENCES = {
    "biquads": "K=8 R=16 N=8000",
    "camera": "H=256 W=384",
    "gru": "T=16 B=4 I=64 H=128",
    "harris_rgb": "H=384 W=640",
    "multigrid": "S=2 M=200",
    "needleman_wunsch": "M=2000 N=2000 V=4",
    "prefix_sum": "R=64 N=20000",
    "pyramid": "H=384 W=640",
    "red_black": "T=20 N=500",
    "stacked_lstm": "L=2 T=16 H=128",
    "stencil_chain": "H=192 W=320",
    "unsharp_rgb": "H=384 W=640",
    "viterbi": "T=128 S=128 O=32",
    "wave_2d": "T=50 N=400",
}


def sizes(words):
    return {k: int(v) for k, v in (word.split("=") for word in words.split())}


def name_of(path):
    with open(path, encoding="utf-8") as f:
        return re.search(r"^program (\w+)", f.read(), re.M).group(1)


def case(suite, path, bound):
    return {"suite": suite, "path": os.path.relpath(path, ROOT), "name": name_of(path), "sizes": bound}


def files(folder):
    return sorted(glob.glob(os.path.join(ROOT, folder, "*.weft")))


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def library(folder):
    """The traces of schedules/library, each on its program in the folder that `bench_library --programs` has written."""
    out = []
    for path in files(os.path.abspath(folder)):
        trace = os.path.join(ROOT, "schedules", "library", stem(path) + ".trace")
        if os.path.exists(trace):
            out.append(
                {
                    "suite": "library",
                    "path": os.path.relpath(path, ROOT),
                    "name": stem(path),
                    "sizes": {},
                    "trace": trace,
                }
            )
    return out


def suite(name, random_folder=None, library_folder=None):
    if name == "floor":
        return [case(name, p, {}) for p in files("bench/floor")]
    if name == "examples":
        return [case(name, p, {}) for p in files("examples")]
    if name == "recurrences":
        return [case(name, p, sizes(RECURRENCES[stem(p)])) for p in files("examples/recurrences")]
    if name == "polybench":
        return [case(name, p, examples.sizes_of(text_of(p), "medium")) for p in files("examples/polybench")]
    if name == "language":
        return [case(name, p, sizes(LANGUAGE[stem(p)])) for p in files("tests/lang/programs")]
    if name == "library":
        return library(library_folder)
    return [case(name, p, {}) for p in sorted(glob.glob(os.path.join(random_folder, "*.weft")))]


SUITES = ("floor", "examples", "recurrences", "polybench", "language", "random", "library")
WITHOUT_A_FOLDER = SUITES[:-2]


def dominant(array):
    """Square matrices at the end with a heavy, symmetric diagonal: factorizations neither divide by nearly nothing nor
    take roots of what is negative."""
    n = array.shape[-1]
    return (array + np.swapaxes(array, -1, -2)) / 2 + (n + 1) * np.eye(n)


def prepared(job, tensor, array, text):
    """`# dominant: A B` and `# positive: C` in a program say what its inputs must be like."""
    said = {kind: names.split() for kind, names in re.findall(r"^# (dominant|positive|small): ([\w ]+)$", text, re.M)}
    if tensor in said.get("dominant", []) or (job["suite"] == "language" and job["name"] in ("cholesky", "lu")):
        return dominant(array)
    if tensor in said.get("positive", []):
        return np.abs(array) + 0.5
    if tensor in said.get("small", []):
        return array / 8
    if job["suite"] == "polybench":
        return polybench.prepared(stem(job["path"]), tensor, array)
    if job["suite"] in ("examples", "recurrences"):
        return examples.prepared(job["name"], tensor, array)
    return array
