#!/usr/bin/env python3
"""polyweft-device-wasm: runs kernels in WebAssembly by Wasmtime, for requests of targets/workers/device_client.h.

Frames come in on standard input and go out on standard output until the former is closed. A kernel lives in an instance
of its own, whose memory holds its arguments with canaries on either side. Whatever a kernel does it does inside that
instance; a trap ends its call and nothing else. Who asks keeps the deadline and ends this process.
"""

import ctypes
import importlib.metadata
import struct
import sys
import time

# What the build found; an installed program needs wasmtime where Python looks.
sys.path.append("@PW_WASMTIME_FOLDER@")

REQUEST, RESPONSE = 1, 2
FIGURES, OPEN, PUT, PACK, CALL, GET, TIME, CLOSE = 1, 2, 3, 4, 5, 6, 7, 8
NONE = 0xFFFFFFFF
CANARY, CANARY_BYTES = 0xC5, 4096
PAGE = 65536


class Refusal(Exception):
    """A code of polyweft's and a message."""


class Reader:
    """Takes a payload apart: integers little-endian, strings behind their length."""

    def __init__(self, payload):
        self.rest = memoryview(payload)

    def take(self, size):
        if size > len(self.rest):
            raise Refusal("PW0605", "message: the payload is too short")
        out, self.rest = self.rest[:size], self.rest[size:]
        return out

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def string(self):
        return self.take(self.u32())


def string(data):
    return struct.pack("<I", len(data)) + bytes(data)


class Argument:
    def __init__(self, line):
        size, self.kind, self.name = line.split(" ")
        self.bytes = int(size)
        self.at = 0


class Kernel:
    def __init__(self, engine, arguments_text, symbol, module):
        import wasmtime

        self.wasmtime = wasmtime
        self.store = wasmtime.Store(engine)
        try:
            instance = wasmtime.Instance(self.store, wasmtime.Module(engine, bytes(module)), [])
        except wasmtime.WasmtimeError as problem:
            raise Refusal("PW0516", f"the engine refuses the module: {problem}")
        self.exports = instance.exports(self.store)
        self.memory = self.exports["memory"]
        self.symbol = bytes(symbol).decode()
        self.kernel, self.repeat = self.exports[self.symbol], self.exports[self.symbol + "_repeat"]
        self.arguments = [Argument(line) for line in bytes(arguments_text).decode().splitlines()]
        self.guarded = []  # address, bytes, name of each block between canaries
        for argument in self.arguments:
            argument.at = self.block(argument.bytes, argument.name)
        self.passed = [argument.at for argument in self.arguments]

    def address(self, at):
        """Of the kernel's memory, which may have moved when it grew."""
        return ctypes.addressof(self.memory.data_ptr(self.store).contents) + at

    def fill(self, at, size):
        ctypes.memset(self.address(at), CANARY, size)

    def block(self, size, name):
        at = self.run(self.exports["polyweft_allocate"], size + 2 * CANARY_BYTES) & 0xFFFFFFFF
        if at == 0:
            raise Refusal("PW0658", f"the engine has no {size} bytes for {name}")
        at += CANARY_BYTES
        self.fill(at - CANARY_BYTES, CANARY_BYTES)
        self.fill(at + size, CANARY_BYTES)
        self.guarded.append((at, size, name))
        return at

    def run(self, function, *values):
        try:
            return function(self.store, *values)
        except self.wasmtime.Trap as trap:
            raise Refusal("PW0658", f"the kernel trapped: {trap.trap_code.name.lower().replace('_', ' ')}")

    def argument(self, reader):
        number = reader.u32()
        if number >= len(self.arguments):
            raise Refusal("PW0605", "message: no such argument")
        return self.arguments[number]

    def part(self, argument, at, size):
        if at > argument.bytes or size > argument.bytes - at:
            raise Refusal("PW0605", "message: no part of the argument")
        return self.address(argument.at + at)

    def put(self, reader):
        argument, at, data = self.argument(reader), reader.u64(), reader.string()
        ctypes.memmove(self.part(argument, at, len(data)), bytes(data), len(data))
        return b""

    def get(self, reader):
        argument, at, size = self.argument(reader), reader.u64(), reader.u64()
        return string(ctypes.string_at(self.part(argument, at, size), size))

    def pack(self):
        begin = time.perf_counter_ns()
        for number, argument in enumerate(self.arguments):
            name = f"{self.symbol}_pack_{argument.name}"
            if argument.kind != "packed":
                continue
            if self.passed[number] == argument.at:
                size = self.run(self.exports[name + "_bytes"])
                self.passed[number] = self.block(size, argument.name + ", packed")
            code = self.run(self.exports[name], argument.at, self.passed[number])
            if code != 0:
                raise Refusal("PW0658", f"packing {argument.name} returned {code}")
        return struct.pack("<d", time.perf_counter_ns() - begin)

    def outside(self):
        """Where a canary has changed."""
        expected = bytes([CANARY]) * CANARY_BYTES
        for at, size, name in self.guarded:
            if ctypes.string_at(self.address(at - CANARY_BYTES), CANARY_BYTES) != expected:
                return "before " + name
            if ctypes.string_at(self.address(at + size), CANARY_BYTES) != expected:
                return "behind " + name
        return ""

    def call(self):
        begin = time.perf_counter_ns()
        try:
            code = self.kernel(self.store, *self.passed)
        except self.wasmtime.Trap as trap:
            if trap.trap_code != self.wasmtime.TrapCode.MEMORY_OUT_OF_BOUNDS:
                raise Refusal("PW0658", f"the kernel trapped: {trap.trap_code.name.lower().replace('_', ' ')}")
            return struct.pack("<Id", 0, 0) + string(b"outside of its memory")
        ns = time.perf_counter_ns() - begin
        return struct.pack("<Id", code & 0xFFFFFFFF, ns) + string(self.outside().encode())

    def time(self, calls):
        """Nanoseconds of one call, of so many in a row."""
        begin = time.perf_counter_ns()
        self.run(self.repeat, calls, *self.passed)
        return (time.perf_counter_ns() - begin) / calls


class Device:
    def __init__(self):
        self.kernels = {}
        self.engine = None

    def start(self):
        try:
            import wasmtime
        except ImportError:
            raise Refusal(
                "PW0517", "kernels in WebAssembly need Python's package wasmtime: scripts/setup.sh installs it"
            )
        config = wasmtime.Config()
        config.cranelift_opt_level = "speed"
        config.parallel_compilation = False
        self.engine = wasmtime.Engine(config)
        return importlib.metadata.version("wasmtime")

    def open(self, reader):
        number, payload = reader.u32(), Reader(reader.string())
        if self.engine is None:
            self.start()
        kernel = Kernel(self.engine, payload.string(), payload.string(), payload.string())
        self.kernels[number] = kernel
        sizes = [struct.pack("<Q", argument.bytes) for argument in kernel.arguments]
        return struct.pack("<I", len(sizes)) + b"".join(sizes)

    def kernel(self, number):
        if number not in self.kernels:
            raise Refusal("PW0605", "message: no such kernel")
        return self.kernels[number]

    def time(self, reader):
        turns = [self.kernel(reader.u32())]
        second, samples, repeat, untimed = reader.u32(), reader.u32(), reader.u32(), reader.u32()
        repeats = [repeat, reader.u32()]
        if second != NONE:
            turns.append(self.kernel(second))
        taken = [[] for _ in turns]
        for _ in range(samples):
            for kernel, times, calls in zip(turns, taken, repeats):
                if untimed > 0:
                    kernel.time(untimed)
                times.append(kernel.time(max(calls, 1)))
        return b"".join(struct.pack("<d", ns) for times in taken for ns in times)

    def answer(self, payload):
        reader = Reader(payload)
        kind = reader.u8()
        if kind == FIGURES:
            version = self.start()
            return string(b"Wasmtime") + string(version.encode()) + string(b"") + struct.pack("<6q", 1, 1, 0, 0, 0, 0)
        if kind == OPEN:
            return self.open(reader)
        if kind == TIME:
            return self.time(reader)
        if kind == CLOSE:
            self.kernels.pop(reader.u32(), None)
            return b""
        asked = {PUT: Kernel.put, GET: Kernel.get}
        if kind in asked:
            return asked[kind](self.kernel(reader.u32()), reader)
        asked = {PACK: Kernel.pack, CALL: Kernel.call}
        if kind in asked:
            return asked[kind](self.kernel(reader.u32()))
        raise Refusal("PW0605", "a request of no known kind")


def main():
    device = Device()
    frames, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        head = frames.read(12)
        if len(head) < 12:
            return 0
        magic, version, kind, size = struct.unpack("<4sHHI", head)
        payload = frames.read(size)
        if magic != b"PWF1" or version != 1 or kind != REQUEST or len(payload) < size:
            return 1
        try:
            answer = string(b"") + string(b"") + device.answer(payload)
        except Refusal as refusal:
            answer = b"".join(string(part.encode()) for part in refusal.args)
        answers.write(struct.pack("<4sHHI", b"PWF1", 1, RESPONSE, len(answer)) + answer)
        answers.flush()


if __name__ == "__main__":
    sys.exit(main())
