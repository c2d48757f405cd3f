#!/usr/bin/env python3
"""Times bf16_wgmma.c's persistent kernel beside PyTorch's product, interleaved, on the same random data, in graphs of
ten launches. Needs PyTorch, CuPy and cuda-bindings.

    python3 products.py FOLDER      the folder that build.sh wrote"""

import os
import statistics
import sys

import cupy
import torch
from cuda.bindings import driver

SHARED = 4 * 49152


def tensor_map(matrix, rows):
    """A map of boxes of `rows` x 64 elements with the 128-byte swizzle, in global memory."""
    u64, u32 = driver.cuuint64_t, driver.cuuint32_t
    extents = [u64(matrix.shape[1]), u64(matrix.shape[0])]
    result, encoded = driver.cuTensorMapEncodeTiled(
        driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        2,
        matrix.data_ptr(),
        extents,
        [u64(2 * matrix.shape[1])],
        [u32(64), u32(rows)],
        [u32(1), u32(1)],
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    assert result == driver.CUresult.CUDA_SUCCESS, result
    words = [int(word) for word in encoded.opaque]
    return torch.tensor([w - (1 << 64) if w >> 63 else w for w in words], dtype=torch.int64, device="cuda")


def graph_of(call, calls):
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        call()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                call()
    return graph


def milliseconds(graph, calls):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def compare(folder, name, n, calls=10):
    a, b = (torch.randn(n, n, device="cuda").to(torch.bfloat16) for _ in range(2))
    c = torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
    maps = tensor_map(a, 128), tensor_map(b, 256)
    function = cupy.RawModule(path=os.path.join(folder, name + ".ptx")).get_function("bf16_wgmma")
    function.max_dynamic_shared_size_bytes = SHARED
    arguments = (maps[0].data_ptr(), maps[1].data_ptr(), c.data_ptr(), cupy.uint32(n), cupy.uint32(n))

    def ours():
        with cupy.cuda.Stream.from_external(torch.cuda.current_stream()):
            function((132,), (384,), arguments, shared_mem=SHARED)

    theirs = lambda: torch.matmul(a, b.t())
    ours()
    exact = a[:256].double() @ b.double().t()
    error = float((c[:256].double() - exact).norm() / exact.norm())
    graphs = [graph_of(call, calls) for call in (ours, theirs)]
    times = [[milliseconds(graph, calls) for graph in graphs] for _ in range(13)][2:]
    medians = [statistics.median(column) for column in zip(*times)]
    rates = [2e-9 * n**3 / ms for ms in medians]
    print(f"{name} {n}^3\terror {error:.2g}\t{rates[0]:.0f} TFLOP/s\tPyTorch {rates[1]:.0f} TFLOP/s", flush=True)


for size in (4096, 8192):
    for variant in ("wgmma_persistent_wide", "wgmma_persistent"):
        compare(sys.argv[1], variant, size)
