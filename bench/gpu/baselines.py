#!/usr/bin/env python3
"""Times what PyTorch and its libraries do on this GPU: matrix products, attention, norms, convolutions, copies.

    python3 baselines.py [--only TEXT]      prints name, median us, rate, unit, spread

Data are random. A call is captured in a graph `calls` times, over as many input sets as the L2 cannot hold, so that
small operators read memory; the figure is the median over 11 replays."""

import argparse
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

REPLAYS = 11
RESNET50 = [  # channels in, out, size of the image, kernel, stride, how often
    (3, 64, 224, 7, 2, 1),
    (64, 64, 56, 1, 1, 1),
    (64, 64, 56, 3, 1, 3),
    (64, 256, 56, 1, 1, 4),
    (256, 64, 56, 1, 1, 2),
    (256, 128, 56, 1, 1, 1),
    (128, 128, 56, 3, 2, 1),
    (128, 512, 28, 1, 1, 4),
    (256, 512, 56, 1, 2, 1),
    (512, 128, 28, 1, 1, 3),
    (128, 128, 28, 3, 1, 3),
    (512, 256, 28, 1, 1, 1),
    (256, 256, 28, 3, 2, 1),
    (256, 1024, 14, 1, 1, 6),
    (512, 1024, 28, 1, 2, 1),
    (1024, 256, 14, 1, 1, 5),
    (256, 256, 14, 3, 1, 5),
    (1024, 512, 14, 1, 1, 1),
    (512, 512, 14, 3, 2, 1),
    (512, 2048, 7, 1, 1, 3),
    (1024, 2048, 14, 1, 2, 1),
    (2048, 512, 7, 1, 1, 2),
    (512, 512, 7, 3, 1, 2),
]


def events(call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return 1000 * begin.elapsed_time(end)


def graph_of(function, sets, calls):
    for inputs in sets[:2]:
        function(*inputs)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        function(*sets[0])
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for call in range(calls):
                function(*sets[call % len(sets)])
    return graph


def microseconds(function, make_inputs, calls=10):
    first = make_inputs()
    size = sum(t.numel() * t.element_size() for t in first if isinstance(t, torch.Tensor))
    count = max(1, min(8, (300 << 20) // max(size, 1)))
    sets = [first] + [make_inputs() for _ in range(count - 1)]
    graph = graph_of(function, sets, calls)
    for _ in range(2):
        graph.replay()
    times = [events(graph.replay) / calls for _ in range(REPLAYS)]
    quartiles = statistics.quantiles(times, n=4)
    median = statistics.median(times)
    return median, (quartiles[2] - quartiles[0]) / median


class Bench:
    def __init__(self, only):
        self.only = only

    def __call__(self, name, work, unit, function, make_inputs, calls=10):
        """`work` in flop or bytes; the rate is in TFLOP/s or GB/s."""
        if self.only and self.only not in name:
            return
        try:
            us, spread = microseconds(function, make_inputs, calls)
        except Exception as error:
            print(f"{name}\tfailed: {str(error).splitlines()[0][:120]}", flush=True)
            return
        finally:
            torch.cuda.empty_cache()
        scale = 1e-6 if unit == "TFLOP/s" else 1e-3
        print(f"{name}\t{us:.2f}\tus\t{scale * work / us:.1f}\t{unit}\t{spread:.3f}", flush=True)


def random(*shape, dtype=torch.bfloat16):
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, dtype=dtype, device="cuda")
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def products(bench):
    for n in (4096, 8192):
        flops = 2 * n**3
        for dtype in (torch.bfloat16, torch.float16):
            both = lambda dtype=dtype: (random(n, n, dtype=dtype), random(n, n, dtype=dtype))
            bench(f"product {n}^3 {dtype}", flops, "TFLOP/s", torch.matmul, both)
            bench(f"product {n}^3 {dtype}, B transposed", flops, "TFLOP/s", lambda a, b: a @ b.t(), both)
        both = lambda: (random(n, n, dtype=torch.int8), random(n, n, dtype=torch.int8))
        bench(f"product {n}^3 int8, B transposed", flops, "TFLOP/s", lambda a, b: torch._int_mm(a, b.t()), both)
        fp8 = lambda: tuple(random(n, n).to(torch.float8_e4m3fn) for _ in range(2)) + (torch.ones((), device="cuda"),)
        scaled = lambda a, b, one: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)
        bench(f"product {n}^3 e4m3, B transposed, to bf16", flops, "TFLOP/s", scaled, fp8)
    both = lambda: (random(4096, 4096, dtype=torch.float32), random(4096, 4096, dtype=torch.float32))
    for allowed in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        bench(f"product 4096^3 f32, tf32 {'on' if allowed else 'off'}", 2 * 4096**3, "TFLOP/s", torch.matmul, both)
    for m, n, k in ((16, 4096, 4096), (128, 4096, 4096), (4096, 4096, 64)):
        skinny = lambda: (random(m, k), random(k, n))
        bench(f"product {m}x{n}x{k} bf16", 2 * m * n * k, "TFLOP/s", torch.matmul, skinny)
    linear = lambda: (random(4096, 4096), random(4096, 4096), random(4096))
    bench("linear, gelu 4096^3 bf16", 2 * 4096**3, "TFLOP/s", lambda x, w, b: F.gelu(F.linear(x, w, b)), linear)


def attention(bench):
    for d in (64, 128):
        for causal in (False, True):
            make = lambda: tuple(random(4, 16, 4096, d) for _ in range(3))
            flops = 4 * 4 * 16 * 4096 * 4096 * d * (0.5 if causal else 1)
            for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):

                def call(q, k, v, backend=backend):
                    with sdpa_kernel(backend):
                        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

                title = f"attention bf16, batch 4, heads 16, 4096 keys, d {d}{', causal' if causal else ''}: {name}"
                bench(title, flops, "TFLOP/s", call, make, 4)


def norms(bench):
    for rows, columns in ((4096, 4096), (8192, 8192), (8192, 32768)):
        for dtype in (torch.float32, torch.bfloat16):
            make = lambda: (random(rows, columns, dtype=dtype),)
            size = 2 * rows * columns * dtype.itemsize
            name = f"{rows}x{columns} {dtype}"
            bench(f"softmax {name}", size, "GB/s", lambda x: F.softmax(x, -1), make)
            bench(f"layer norm {name}", size, "GB/s", lambda x: F.layer_norm(x, (columns,)), make)
            bench(f"rms norm {name}", size, "GB/s", lambda x: F.rms_norm(x, (columns,)), make)
            bench(f"sum of rows {name}", size / 2, "GB/s", lambda x: x.sum(-1), make)
            bench(f"gelu {name}", size, "GB/s", F.gelu, make)


def copies(bench):
    for dtype in (torch.float32, torch.bfloat16):
        size = 2 * 8192 * 8192 * dtype.itemsize
        make = lambda: (random(8192, 8192, dtype=dtype),)
        bench(f"transpose 8192^2 {dtype}", size, "GB/s", lambda x: x.t().contiguous(), make)
        bench(f"copy 8192^2 {dtype}", size, "GB/s", torch.clone, make)
        two = lambda: (random(8192, 8192, dtype=dtype), random(8192, 8192, dtype=dtype))
        bench(f"add 8192^2 {dtype}", 1.5 * size, "GB/s", torch.add, two)
    big = lambda: (random(1 << 29, dtype=torch.float32), torch.empty(1 << 29, device="cuda"))
    bench("copy 2 GiB", 2 << 31, "GB/s", lambda x, y: y.copy_(x), big, 3)
    bench("sum of 2 GiB f32", 1 << 31, "GB/s", lambda x, y: x.sum(), big, 3)


def convolutions(bench):
    torch.backends.cudnn.benchmark = True
    batch = 32
    for c, k, size, r, stride, often in RESNET50:
        make = lambda: (
            random(batch, c, size, size).to(memory_format=torch.channels_last),
            random(k, c, r, r).to(memory_format=torch.channels_last),
        )
        out = (size + 2 * (r // 2) - r) // stride + 1
        flops = 2 * batch * out * out * k * c * r * r
        name = f"convolution bf16 NHWC batch {batch}: {c} to {k}, {size}^2, {r}x{r} / {stride} ({often}x)"
        bench(name, flops, "TFLOP/s", lambda x, w: F.conv2d(x, w, stride=stride, padding=r // 2), make)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    bench = Bench(parser.parse_args().only)
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    with torch.no_grad():
        products(bench)
        attention(bench)
        norms(bench)
        copies(bench)
        convolutions(bench)


if __name__ == "__main__":
    sys.exit(main())
