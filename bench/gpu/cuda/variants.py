#!/usr/bin/env python3
"""Times kernels of one program by several schedules on this GPU, beside PyTorch, each compared with its result first.

bench/gpu/cuda/variants.py KIND_NAME.ptx ..

Beside each PTX lies its header (build --target sm_90a --emit header). KIND says what the program computes: bf, bt, h,
ht, i8, f32 (products of bf16, f16, bytes, floats; B[K, N], or B[N, K] for bt, ht and i8), softmax, layernorm, add,
transpose, sumrows, sumcols, dot. Medians of 15 single launches by events after 3. Needs PyTorch and libcuda.so.1.
"""

import ctypes
import os
import re
import sys

import torch

DYNAMIC_SHARED_BYTES, REGISTERS = 8, 4  # of a CUfunction's attributes
CALLS, UNTIMED = 15, 3

KINDS = {
    "softmax": lambda X: torch.softmax(X, 1),
    "layernorm": lambda X, g, b: torch.nn.functional.layer_norm(X, (X.shape[1],), g, b),
    "add": lambda A, B: A + B,
    "transpose": lambda A: A.t().contiguous(),
    "sumrows": lambda A: A.sum(1),
    "sumcols": lambda A: A.sum(0),
    "dot": torch.dot,
    "bf": torch.matmul,
    "h": torch.matmul,
    "f32": torch.matmul,
    "bt": lambda A, B: A @ B.t(),
    "ht": lambda A, B: A @ B.t(),
    "i8": lambda A, B: torch._int_mm(A, B.t()),
}
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i8": torch.int8, "i32": torch.int32}

cuda = ctypes.CDLL("libcuda.so.1")
inputs, results = {}, {}


def checked(code, what):
    if code != 0:
        raise RuntimeError(f"{what}: error {code}")


def median_us(call):
    for _ in range(UNTIMED):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(CALLS):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return sorted(times)[CALLS // 2]


def random_tensor(kind, name, type_name, shape):
    key = (kind, name, type_name, tuple(shape))
    if key not in inputs:
        if type_name == "i8":
            inputs[key] = torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)
        else:
            inputs[key] = torch.randn(shape, device="cuda").to(TYPES[type_name])
    return inputs[key]


class Program:
    """The kernels of a PTX file in their order, with memory of its own for results and workspaces."""

    def __init__(self, path):
        self.kind = os.path.basename(path).split("_")[0]
        with open(path[: -len("ptx")] + "h", encoding="utf-8") as header:
            text = header.read()
        with open(path, "rb") as module:
            self.module = ctypes.c_void_p()
            checked(cuda.cuModuleLoadData(ctypes.byref(self.module), module.read() + b"\0"), "loading")
        three = r"\{(\d+), (\d+), (\d+)\}"
        launches = re.findall(r'\{"(\w+)", ' + three + ", " + three + r", (\d+), (\d+), (\d+)\}", text)
        self.launches = [(self.function(name, int(sizes[-1])), [int(s) for s in sizes]) for name, *sizes in launches]
        memory = r'\{"([\w.]+)", (\d+), (-?\d+), (\d), \d+\},(?:  /\* (\w+)((?:\[\d+\])*), row-major \*/)?'
        self.operands, self.tensors, self.result = [], [], None
        for name, size, argument, is_output, type_name, extents in re.findall(memory, text):
            shape = [int(e) for e in re.findall(r"\d+", extents)]
            if is_output == "1":
                fill = -7 if type_name in ("i8", "i32") else float("nan")
                self.result = torch.full(shape, fill, device="cuda", dtype=TYPES[type_name])
                self.tensors.append(self.result)
            elif argument == "-1":
                self.tensors.append(torch.empty(int(size), device="cuda", dtype=torch.int8))
            else:
                self.tensors.append(random_tensor(self.kind, name, type_name, shape))
                self.operands.append(self.tensors[-1])
        self.addresses = [ctypes.c_uint64(tensor.data_ptr()) for tensor in self.tensors]
        self.arguments = (ctypes.c_void_p * len(self.addresses))(*[ctypes.addressof(a) for a in self.addresses])

    def function(self, name, shared_bytes):
        out = ctypes.c_void_p()
        checked(cuda.cuModuleGetFunction(ctypes.byref(out), self.module, name.encode()), "kernel " + name)
        if shared_bytes:
            checked(cuda.cuFuncSetAttribute(out, DYNAMIC_SHARED_BYTES, shared_bytes), "shared memory")
        return out

    def registers(self):
        out = ctypes.c_int()
        cuda.cuFuncGetAttribute(ctypes.byref(out), REGISTERS, self.launches[0][0])
        return out.value

    def run(self):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        for function, sizes in self.launches:
            checked(cuda.cuLaunchKernel(function, *sizes[:6], sizes[8], stream, self.arguments, None), "launch")

    def peer(self):
        """PyTorch's result, for products of floats in f32, and its time."""
        key = (self.kind, tuple(tuple(tensor.shape) for tensor in self.operands))
        if key not in results:
            call = KINDS[self.kind]
            exact = [t.float() if t.is_floating_point() else t for t in self.operands]
            results[key] = (call(*exact), median_us(lambda: call(*self.operands)))
            print(f"PyTorch {self.kind} {key[1]}: {results[key][1]:.1f} us", flush=True)
        return results[key]

    def difference(self, wanted):
        """Of the result: cells that differ where it has integers, else the norm of the difference over the norm."""
        if not wanted.is_floating_point():
            return (self.result != wanted).sum().item()
        return ((self.result.float() - wanted).norm() / wanted.norm()).item()


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    for path in sys.argv[1:]:
        try:
            program = Program(path)
            wanted, peer_us = program.peer()
            program.run()
            torch.cuda.synchronize()
            us = median_us(program.run)
            print(
                f"{os.path.basename(path)[:-4]:32} registers {program.registers():3} difference "
                f"{program.difference(wanted):.2g} {us:9.1f} us, {peer_us / us:.2f} of PyTorch",
                flush=True,
            )
        except (OSError, RuntimeError, KeyError) as failed:
            print(f"{path}: {failed}", flush=True)


if __name__ == "__main__":
    main()
