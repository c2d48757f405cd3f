#!/usr/bin/env python3
"""Checks and times rows.c's kernels, built by build.sh, beside PyTorch's. Needs PyTorch and CuPy.

python3 rows.py FOLDER"""

import os
import statistics
import sys

import cupy
import torch


def kernel(folder, file, name):
    return cupy.RawModule(path=os.path.join(folder, file)).get_function(name)


def milliseconds(call, calls=10):
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        call()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                call()
    graph.replay()
    times = []
    for _ in range(11):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / calls)
    return statistics.median(times)


def launcher(function, grid, threads, *arguments):
    pointers = tuple(a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments)

    def call():
        with cupy.cuda.Stream.from_external(torch.cuda.current_stream()):
            function(grid, (threads,), pointers)

    return call


def report(name, ours, theirs, size, error):
    ms, peer = milliseconds(ours), milliseconds(theirs)
    rate = lambda t: f"{1e-6 * size / t:.0f} GB/s"
    print(
        f"{name}\terror {error:.2g}\t{1000 * ms:.1f} us\t{rate(ms)}\tPyTorch {1000 * peer:.1f} us\t{rate(peer)}",
        flush=True,
    )


def main(folder):
    for rows, columns, threads, file in (
        (32768, 4096, 256, "softmax_4096.ptx"),
        (8192, 32768, 1024, "softmax_32768.ptx"),
    ):
        x = torch.randn(rows, columns, device="cuda")
        y = torch.full_like(x, -1)
        call = launcher(kernel(folder, file, "softmax"), (rows,), threads, x, y)
        call()
        error = float((y - torch.softmax(x, -1)).abs().max() / y.max())
        report(f"softmax {rows}x{columns}", call, lambda: torch.softmax(x, -1), 8 * rows * columns, error)
    n = 8192
    x = torch.randn(n, n, device="cuda")
    y = torch.full_like(x, -1)
    call = launcher(kernel(folder, "transpose.ptx", "transpose"), (n // 64, n // 64), 256, x, y, cupy.uint32(n))
    call()
    report("transpose 8192^2", call, lambda: x.t().contiguous(), 8 * n * n, float((y - x.t()).abs().max()))


main(sys.argv[1])
