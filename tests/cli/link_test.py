"""What a C program links: an object of --abi c with the C library alone, and one object with code for several CPUs."""

import re
import shutil
import subprocess
import unittest

from fixture import CliTest

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
KEEPS = """program keeps(N = 300)
in  A: f32[N, N]
in  B: f32[N, N]
let C[i: N, j: N] = sum[k: N] A[i, k] * B[k, j]
out D[i: N, j: N] = sum[k: N] C[i, k] * C[k, j]
"""
PACKS = """program packs(N = 64)
in  A: f32[N, N]
const in B: f32[N, N]
in  X: u8[N] values 0..N
out C[i: N, j: N] = sum[k: N] A[i, k] * B[k, j] + A[X[i], j]
"""
LEVELS = "x86-64-v2,x86-64-v3,x86-64-v4"
RACE = """
#include "race.h"
#include <pthread.h>
#include <stdatomic.h>
enum { THREADS = 8 };
static atomic_int waiting, wrong;
static void *call(void *unused) {
  float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8];
  atomic_fetch_add(&waiting, 1);
  while (atomic_load(&waiting) < THREADS) {}
  if (race(a, b) != 0 || b[7] != 16 || race_level(0) < 1) atomic_fetch_add(&wrong, 1);
  return unused;
}
int main(void) {
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; ++k) pthread_create(&threads[k], 0, call, 0);
  for (int k = 0; k < THREADS; ++k) pthread_join(threads[k], 0);
  return atomic_load(&wrong);
}
"""
CALLER = """
#include "packs.h"
#include <stdio.h>
#include <stdlib.h>
enum { N = 64 };
static float a[N][N], b[N][N], c[N][N];
static uint8_t x[N];
static int is_right(void) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      float expected = a[x[i]][j];
      for (int k = 0; k < N; ++k) expected += a[i][k] * b[k][j];
      if (c[i][j] != expected) return 0;
      c[i][j] = -1;
    }
  return 1;
}
int main(void) {
  for (int i = 0; i < N * N; ++i) (&a[0][0])[i] = (float)(i % 7 - 3), (&b[0][0])[i] = (float)(i % 5 - 2);
  for (int i = 0; i < N; ++i) x[i] = (uint8_t)(N - 1 - i);
  const int all = packs_level(0);
  for (int most = all; most > 0; --most) {
    const int level = packs_level(most);
    CALL
    if (level != most || packs_level(0) != most || !is_right()) return printf("level %d is wrong\\n", level), 1;
  }
  x[3] = 200;
  if (packs(ARGUMENTS) != 1) return puts("a promise is not checked"), 1;
  printf("%d\\n", all);
  return 0;
}
"""


def level_of_this_cpu():
    with open("/proc/cpuinfo") as info:
        flags = set(re.search(r"^flags\s*: (.*)$", info.read(), re.MULTILINE).group(1).split())
    needed = [
        {"sse4_2", "ssse3", "popcnt"},
        {"avx2", "bmi2", "fma", "f16c", "movbe"},
        {"avx512f", "avx512vl", "avx512bw", "avx512cd", "avx512dq"},
    ]
    return next((k for k, each in enumerate(needed) if not each <= flags), len(needed))


@unittest.skipIf(CC is None, "no C compiler")
class Linking(CliTest):
    def compiled(self, *words):
        done = subprocess.run([CC, "-O1", "-I.", *words, "-o", "caller"], capture_output=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return subprocess.run(["./caller"], capture_output=True, cwd=self.folder)

    def undefined(self, name):
        done = subprocess.run(["nm", "-u", name], capture_output=True, cwd=self.folder, check=True)
        return set(re.findall(r"U (\w+)", done.stdout.decode()))

    def build(self, file, emit, name, *words):
        done = self.polyweft("build", file, "--emit", emit, "-o", name, "--abi", "c", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_an_object_of_plain_c_needs_the_c_library_alone(self):
        keeps = self.file("keeps.weft", KEEPS)
        said = self.build(keeps, "object", "keeps.o", "--schedule", self.file("keeps.trace", "trace 1\n"))
        self.assertIn("to link it: the C library alone\n", said)
        self.assertLessEqual({"malloc", "free"}, self.undefined("keeps.o"))
        self.assertLessEqual(self.undefined("keeps.o"), {"malloc", "free", "memset", "memcpy", "memmove"})
        self.build(keeps, "header", "keeps.h")
        self.assertIn("To link an object: the C library alone.", (self.folder / "keeps.h").read_text())
        self.file(
            "keeps.c",
            '#include "keeps.h"\nstatic float a[300][300], b[300][300], d[300][300];\nint main(void) {\n'
            "  for (int i = 0; i < 300; ++i) a[i][i] = 2, b[i][i] = 3;\n"
            "  return keeps(&a[0][0], &b[0][0], &d[0][0]) != 0 || d[7][7] != 36 || d[7][8] != 0;\n}\n",
        )
        self.assertEqual(self.compiled("keeps.c", "keeps.o").returncode, 0)

    def test_what_needs_the_runtime_says_so(self):
        keeps = self.file("keeps.weft", KEEPS)
        plain = self.file("plain.trace", "trace 1\n")
        said = self.polyweft("build", keeps, "--emit", "object", "-o", "k.o", "--schedule", plain).stderr
        self.assertIn(
            "to link it: halide_malloc, halide_free of Halide's runtime, which the archive of --emit static brings "
            "(-lpthread -ldl -lm)\n",
            said,
        )
        self.assertLessEqual({"halide_malloc", "halide_free"}, self.undefined("k.o"))
        threads = self.file("p.trace", "trace 1\n  parallel C i\n  parallel D i\n")
        said = self.build(keeps, "object", "p.o", "--schedule", threads, "--threads", "2")
        self.assertIn("to link it: halide_do_par_for of Halide's runtime", said)
        self.assertIn("halide_do_par_for", self.undefined("p.o"))
        self.assertNotIn("halide_malloc", self.undefined("p.o"))

    def test_several_levels_in_one_object(self):
        packs = self.file("packs.weft", PACKS)
        self.build(packs, "header", "packs.h", "--target", LEVELS)
        header = (self.folder / "packs.h").read_text()
        self.assertIn("1 x86-64-v2, 2 x86-64-v3, 3 x86-64-v4", header)
        is_packed = "packs_pack_B(" in header
        arguments = "&a[0][0], packed, x, &c[0][0]" if is_packed else "&a[0][0], &b[0][0], x, &c[0][0]"
        call = f"if (packs({arguments}) != 0) return 2;"
        if is_packed:
            call = (
                "void *packed = aligned_alloc(64, (packs_pack_B_bytes() + 63) / 64 * 64);\n"
                "if (packs_pack_B(&b[0][0], packed) != 0) return 3;\n" + call
            )
        refusal = "0" if is_packed else f"packs({arguments}) != 1"
        self.file("caller.c", CALLER.replace("CALL", call).replace("packs(ARGUMENTS) != 1", refusal))
        for emit, name in (("object", "packs.o"), ("static", "packs.a"), ("shared", "packs.so")):
            with self.subTest(emit=emit):
                self.build(packs, emit, name, "--target", LEVELS)
                done = self.compiled("caller.c", f"./{name}", "-lpthread", "-ldl", "-lm")
                self.assertEqual((done.returncode, done.stdout), (0, b"%d\n" % level_of_this_cpu()))

    def test_several_threads_may_call_first(self):
        race = self.file("race.weft", "program race(N = 8)\nin A: f32[N]\nout B[i: N] = A[i] * 2\n")
        self.build(race, "header", "race.h", "--target", "x86-64,x86-64-v3")
        self.build(race, "object", "race.o", "--target", "x86-64,x86-64-v3")
        self.file("race.c", RACE)
        self.assertEqual(self.compiled("race.c", "race.o", "-lpthread").returncode, 0)

    def test_either_abi_and_open_sizes(self):
        small = self.small()
        for words in (("--symbolic",), ("--symbolic", "--abi", "c"), ("--abi", "halide")):
            with self.subTest(words=words):
                self.succeeds("build", small, "--target", LEVELS, "--emit", "shared", "-o", "s.so", *words)
                done = subprocess.run(["nm", "-D", "--defined-only", "s.so"], capture_output=True, cwd=self.folder)
                names = set(re.findall(r" T (\w+)", done.stdout.decode()))
                messages = {"small_message"} if "--symbolic" in words else set()
                self.assertEqual(names, {"small", "small_level"} | messages)

    def test_what_several_targets_do_not_make(self):
        packs = self.file("packs.weft", PACKS)
        self.refused(
            2,
            "error: several targets go into an object, an archive, a shared object or a header [PW0523]\n"
            "  note: --emit object, static, shared or header; for other forms name one target",
            *("build", packs, "--target", LEVELS, "--emit", "assembly", "-o", "-"),
        )
        self.refused(
            2,
            "error: products for several targets: target x86-64-v2 is there twice [PW0523]",
            *("build", packs, "--target", "x86-64-v2,x86-64-v2", "-o", "x.o"),
        )
        done = self.polyweft("build", packs, "--target", "x86-64-v2,nope", "-o", "x.o")
        self.assertIn("target 'nope' is unknown", done.stderr)
        done = self.polyweft("build", packs, "--target", "aarch64,aarch64-v8.2", "-o", "x.o")
        self.assertIn("the backend for aarch64 has no products for several targets [PW0523]", done.stderr)


if __name__ == "__main__":
    unittest.main()
