"""Checks what the lanes of a warp gave each other: shuffles, votes, matches, reductions; and integer instructions of
one lane."""

import unittest

import numpy as np

from recorded_scalars_test import Case, record_named


def shuffled(mode, lane, b, c):
    """(source lane, whether it is within the segment)."""
    b, clamp, mask = b & 31, c & 31, c >> 8 & 31
    least, most = lane & mask, (lane & mask) | (clamp & ~mask & 31)
    source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | (b & ~mask & 31)}[mode]
    inside = source >= most if mode == "up" else source <= most
    return np.where(inside, source, lane), inside


class Warps(Case):
    def test_shuffles(self):
        for mode in ("up", "down", "bfly", "idx"):
            record = record_named("warp.rec", f"shfl.sync.{mode}.b32")
            lane = np.arange(32)
            for case, out in zip(record["in"].astype(np.int64), record["out"]):
                source, inside = shuffled(mode, lane, case[:, 1], case[:, 2])
                self.same(mode, inside, out[:, 1], case)
                self.same(mode, case[source, 0], out[:, 0], case)

    def masked(self, name):
        record = record_named("warp.rec", name)
        for case, out in zip(record["in"], record["out"]):
            mask = int(case[0, 1])
            members = [lane for lane in range(32) if mask >> lane & 1]
            yield case[:, 0], mask, members, out

    def test_reductions(self):
        for name, reduce in (
            ("add.u32", lambda v: v.sum(dtype=np.uint32)),
            ("add.s32", lambda v: v.sum(dtype=np.uint32)),
            ("min.u32", np.min),
            ("max.u32", np.max),
            ("min.s32", lambda v: v.view(np.int32).min().astype(np.uint32)),
            ("max.s32", lambda v: v.view(np.int32).max().astype(np.uint32)),
            ("and.b32", np.bitwise_and.reduce),
            ("or.b32", np.bitwise_or.reduce),
            ("xor.b32", np.bitwise_xor.reduce),
        ):
            for values, _, members, out in self.masked("redux.sync." + name):
                self.assertTrue((out[members, 0] == reduce(values[members])).all(), name)

    def test_votes(self):
        votes = {
            "all.pred": lambda v, members: bool((v[members] != 0).all()),
            "any.pred": lambda v, members: bool((v[members] != 0).any()),
            "uni.pred": lambda v, members: len(set(v[members] != 0)) == 1,
            "ballot.b32": lambda v, members: sum(1 << lane for lane in members if v[lane]),
        }
        for name, vote in votes.items():
            for values, _, members, out in self.masked("vote.sync." + name):
                self.assertTrue((out[members, 0] == vote(values, members)).all(), name)

    def test_matches(self):
        for values, _, members, out in self.masked("match.any.sync.b32"):
            for lane in members:
                self.assertEqual(out[lane, 0], sum(1 << other for other in members if values[other] == values[lane]))
        for values, mask, members, out in self.masked("match.all.sync.b32"):
            agree = len(set(values[members])) == 1
            self.assertTrue((out[members, 0] == (mask if agree else 0)).all())
            self.assertTrue((out[members, 1] == agree).all())

    def test_elect_takes_the_first_member(self):
        for _, _, members, out in self.masked("elect.sync"):
            self.assertTrue((out[members, 0] == members[0]).all())
            self.assertEqual([lane for lane in members if out[lane, 1]], members[:1])

    def lanes(self, name):
        record = record_named("warp.rec", name)
        return record["in"].astype(np.int64).reshape(-1, record["in"].shape[2]), record["out"].reshape(-1)

    def test_integers_of_one_lane(self):
        byte = lambda v, i, signed: np.where(
            signed & (v >> (8 * i + 7) & 1), (v >> 8 * i & 255) - 256, v >> 8 * i & 255
        )
        half = lambda v, i: np.where(v >> (16 * i + 15) & 1, (v >> 16 * i & 65535) - 65536, v >> 16 * i & 65535)
        for name, first, second in (("dp4a.s32.s32", 1, 1), ("dp4a.u32.s32", 0, 1), ("dp4a.u32.u32", 0, 0)):
            v, out = self.lanes(name)
            total = v[:, 2] + sum(byte(v[:, 0], i, first) * byte(v[:, 1], i, second) for i in range(4))
            self.same(name, total & 0xFFFFFFFF, out, v)
        for name, begin in (("dp2a.lo.s32.s32", 0), ("dp2a.hi.s32.s32", 2)):
            v, out = self.lanes(name)
            total = v[:, 2] + sum(half(v[:, 0], i) * byte(v[:, 1], begin + i, 1) for i in range(2))
            self.same(name, total & 0xFFFFFFFF, out, v)
        v, out = self.lanes("lop3.b32.0xCA")
        self.same("lop3", v[:, 0] & v[:, 1] | ~v[:, 0] & v[:, 2], out, v)
        v, out = self.lanes("shf.l.wrap.b32")
        self.same("shf.l.wrap", (v[:, 1] << (v[:, 2] & 31) | v[:, 0] >> 32 - (v[:, 2] & 31)) & 0xFFFFFFFF, out, v)
        v, out = self.lanes("shf.r.clamp.b32")
        by = np.minimum(v[:, 2], 32)
        self.same("shf.r.clamp", (v[:, 1] << 32 - by | v[:, 0] >> by) & 0xFFFFFFFF, out, v)
        v, out = self.lanes("bfind.u32")
        self.same("bfind", [int(x).bit_length() - 1 & 0xFFFFFFFF for x in v[:, 0]], out, v)
        v, out = self.lanes("bfe.s32")
        self.same("bfe", [bit_field(*(int(x) for x in row)) for row in v], out, v)

    def test_permutations_of_bytes(self):
        for mode in ("", ".f4e", ".rc16"):
            v, out = self.lanes("prmt.b32" + mode)
            self.same("prmt" + mode, [permuted(mode, *(int(x) for x in row)) for row in v], out, v)


def bit_field(value, position, length):
    """Signed; beyond bit 31 the sign repeats."""
    position, length = position & 255, length & 255
    if length == 0:
        return 0
    signed = value - 2**32 if value >> 31 else value
    last = min(position + length - 1, 31)
    sign = value >> last & 1
    field = (signed >> min(position, 63)) & ((1 << length) - 1) if position < 32 else -sign
    length = min(length, 32)
    field &= (1 << length) - 1
    return (field | (-sign << length if length < 32 else 0)) & 0xFFFFFFFF


def permuted(mode, a, b, selector):
    data = b << 32 | a
    byte = lambda i: data >> 8 * (i & 7) & 255
    if mode == ".f4e":
        return sum(byte((selector & 3) + i) << 8 * i for i in range(4))
    if mode == ".rc16":
        return sum(byte((selector & 1) * 2 + i % 2) << 8 * i for i in range(4))
    out = 0
    for i in range(4):
        choice = selector >> 4 * i & 15
        value = byte(choice)
        out |= (255 * (value >> 7) if choice & 8 else value) << 8 * i
    return out


if __name__ == "__main__":
    unittest.main()
