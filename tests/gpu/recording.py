"""Reads what a GPU did: the files of tests/gpu/recorded, whose format its README.md states."""

import numpy as np

MAGIC = b"polyweft gpu record 1\n"


class Record:
    """One instruction: its name, the words `key=value` behind it, and arrays by name."""

    def __init__(self, name, options, arrays):
        self.name, self.options, self.arrays = name, options, arrays

    def __getitem__(self, name):
        return self.arrays[name]

    def __contains__(self, name):
        return name in self.arrays

    def text(self, key, default=""):
        return self.options.get(key, default)

    def integer(self, key, default=0):
        return int(self.options.get(key, default))

    def integers(self, key):
        text = self.options.get(key, "none")
        return [] if text == "none" else [int(word) for word in text.split(",")]

    def __repr__(self):
        return " ".join([self.name] + [f"{key}={value}" for key, value in self.options.items()])


def read(path):
    """All records of a file, in its order."""
    with open(path, "rb") as file:
        content = file.read()
    if not content.startswith(MAGIC):
        raise ValueError(f"{path}: does not begin with {MAGIC!r}")
    records, at = [], len(MAGIC)
    while at < len(content):
        end = content.index(b"\n", at)
        record, at = parse(content[at:end].decode(), content, end + 1)
        records.append(record)
    return records


def parse(line, content, at):
    words = line.split(" ")
    if words[0] != "record":
        raise ValueError(f"a record begins with 'record', not with {words[0]!r}")
    options = dict(word.split("=", 1) for word in words[2:] if not word.startswith("@"))
    arrays = {}
    for word in words[2:]:
        if word.startswith("@"):
            name, kind, shape = word[1:].rsplit(":", 2)
            dtype = np.dtype(f"<u{int(kind[1:]) // 8}")
            extents = [int(extent) for extent in shape.split("x")]
            arrays[name] = np.frombuffer(content, dtype, int(np.prod(extents)), at).reshape(extents)
            at += arrays[name].nbytes
    return Record(words[1], options, arrays), at


def mix(seed, index):
    """The generator of all recorders: 32 bits of a seed and an index."""
    h = (np.uint64(seed) * np.uint64(0x9E3779B1) + np.asarray(index, np.uint64)) & np.uint64(0xFFFFFFFF)
    h = (h ^ (h >> np.uint64(16))) * np.uint64(0x85EBCA6B) & np.uint64(0xFFFFFFFF)
    h = (h ^ (h >> np.uint64(13))) * np.uint64(0xC2B2AE35) & np.uint64(0xFFFFFFFF)
    return (h ^ (h >> np.uint64(16))).astype(np.uint32)
