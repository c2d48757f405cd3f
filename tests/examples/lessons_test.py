"""Every command that stands in a lesson runs, in the lesson's order, from a folder with `examples` in it, and says what
the lesson says. Lessons whose emulator is missing are skipped by name."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

POLYWEFT, SOURCE = (os.environ[name] for name in ("PW_POLYWEFT", "PW_SOURCE"))
COMMAND = re.compile(r"^#   (polyweft.*)$", re.M)
SHORT = {"tune": ["--trials", "2"], "bench": ["--milliseconds", "20"]}  # what is added where it is not said

# What a command must print: the beginning of it, from the verb on, without folders.
VERIFIED = r"^verified: \d+ elements of trace equal the base nest's"
CHOSEN = r"^verified: \d+ elements of analytic model equal the base nest's"
LAUNCH = r"^  launch k"
SAYS = {
    "01_gemm": {
        "check 01_gemm.weft": [r"gemm"],
        "run 01_gemm.weft --verify": [r"^verified: "],
        "tune 01_gemm.weft": [r"^done program=gemm .*proof=proven"],
    },
    "16_gpu_product": {
        "run 16_gpu_product.weft --target emulated:sm_80 --schedule 16_1": [VERIFIED],
        "run 16_gpu_product.weft --target emulated:sm_80 --schedule 16_2": [VERIFIED],
        "run 16_gpu_product.weft --target emulated:sm_80 --schedule 16_3": [VERIFIED],
        "run 16_gpu_product.weft --target emulated:sm_80 --schedule 16_4": [VERIFIED],
        "show 16_gpu_product.weft --target sm_80 --schedule 16_1": [
            r"^  launch k0: grid 16 x 64 x 1, block 32 x 8 x 1, 262144 threads, 0 shared bytes a block$"
        ],
        "show 16_gpu_product.weft --target sm_80 --schedule 16_4_ahead.trace --stage levels": [
            r"^  A\.p: .* shared by a block$",
            r"^  launch k0: grid 8 x 8 x 1, block 32 x 2 x 2, 8192 threads, 27136 shared bytes a block$",
        ],
        "show 16_gpu_product.weft --target sm_80 --schedule 16_4_ahead.trace --stage loops": [
            r"axis \"thread_z\"",
            r"copy async A\.p",
            r"sync async_wait 1",
            r"tensor \"mma_m16n8k16_bf16\"",
        ],
        "run 16_gpu_product.weft --target emulated:sm_80 --schedule 16_5": [
            r"^error: .*a block of 2048 threads: the machine runs at most 1024 \[PW0525\]"
        ],
        "show 16_gpu_product.weft --target sm_80 --stage trace": [r"^  tensorize C i, j, k by mma_"],
        "tune 16_gpu_product.weft": [r"^done program=gpu_product .*times=expected.*proof=proven"],
        "build 16_gpu_product.weft --target sm_80 --schedule 16_4_ahead.trace --emit artifact": [
            r"product\.ptx: artifact"
        ],
        "build 16_gpu_product.weft --target sm_80 --schedule 16_4_ahead.trace --emit header": [r"product\.h: header"],
    },
    "17_gpu_rows": {
        "show 17_gpu_rows.weft --target sm_90a --schedule 17_1": [r"^  m: .* device, for the call$", LAUNCH + "3: "],
        "run 17_gpu_rows.weft --target emulated:sm_90a --schedule 17_1": [VERIFIED],
        "show 17_gpu_rows.weft --target sm_90a --schedule 17_2": [
            r"^  m\.r: .* shared by a block$",
            LAUNCH + r"0: [^\n]*\n?\Z",
        ],
        "run 17_gpu_rows.weft --target emulated:sm_90a --schedule 17_2": [VERIFIED],
        "show 17_gpu_rows.weft --target sm_90a --stage trace": [r"^  compute_at m in Y at i stack$"],
        "run 17_gpu_rows.weft --target emulated:sm_90a --verify": [CHOSEN],
        "show 17_gpu_rows.weft --target gfx942": [LAUNCH + r"0: [^\n]*\n?\Z"],
    },
    "18_unit_product": {
        "run 18_unit_product.weft --target hexagon": [CHOSEN],
        "show 18_unit_product.weft --target hexagon": [r"^  tensorize C k by vrmpy"],
        "run 18_unit_product.weft --target gemmini --schedule 18_1": [VERIFIED],
        "run 18_unit_product.weft --target gemmini --schedule 18_2": [VERIFIED],
        "bench 18_unit_product.weft": [r"^trace:\S+ +\S+ us +0\.7\d\d "],
        "run 18_unit_product.weft --target gemmini --schedule 18_3": [r"^error: buffer C\.a: .* \[PW0527\]"],
        "show 18_unit_product.weft --target gemmini": [
            r"^  tensorize C i, j, k by unit_",
            r"^  pipeline C k\.1 by 2$",
        ],
        "tune 18_unit_product.weft": [r"^done program=unit_product .*proof=proven"],
    },
    "19_elsewhere": {
        "tune 19_elsewhere.weft --propose 6 -o work": [r"^work: \d+ candidates of elsewhere$"],
        "measure work": [r"candidates measured on .*; the winner is number \d+$"],
        "tune --observe work": [r"0 failed", r"^record #\d+: .*, proven$"],
        "bench 19_elsewhere.weft": [r"^record #\d+ "],
        "tune 19_elsewhere.weft --propose 4 -o again": [r"^again: \d+ candidates of elsewhere$"],
        "measure again": [r"candidates measured on "],
        "tune --observe again": [r"rows are new$", r"^record #"],
        "db list": [r"^#\d+ +elsewhere .*proof proven$"],
        "tune 19_elsewhere.weft --target sm_90a --propose 4": [r"^work\.gpu: \d+ candidates of elsewhere$"],
        "tune 19_elsewhere.weft --target emulated:sm_90a --propose 4": [r"^work\.emulated: \d+ candidates"],
        "measure work.emulated": [r"candidates measured on "],
        "tune --observe work.emulated": [r"^record #\d+: expected .*, proven$"],
    },
}


def lessons():
    return sorted((pathlib.Path(SOURCE) / "examples").glob("*.weft"))


def commands(lesson):
    return [shlex.split(line, comments=True) for line in COMMAND.findall(lesson.read_text(encoding="utf-8"))]


def beginning(words):
    """Of a command, as the keys of SAYS have it."""
    return " ".join(os.path.basename(word) for word in words[1:])


class Lessons(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="polyweft-lessons-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "examples").symlink_to(os.path.join(SOURCE, "examples"))
        self.environment = dict(os.environ, HOME=str(self.folder), XDG_DATA_HOME=str(self.folder / "data"))

    def said_by(self, words):
        more = SHORT.get(words[1], [])
        if any(word.split("=")[0] in ("--trials", "--propose", "--observe", "--schedule") for word in words[2:]):
            more = more if words[1] == "bench" else []
        done = subprocess.run(
            [POLYWEFT, *words[1:], *more],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout + done.stderr

    def whole_lesson(self, lesson):
        left = dict(SAYS[lesson.stem])
        for words in commands(lesson):
            begins = max((key for key in left if beginning(words).startswith(key)), key=len, default=None)
            self.assertIsNotNone(begins, f"nothing is known of {' '.join(words)}")
            code, said = self.said_by(words)
            if "PW0517" in said and "POLYWEFT_REQUIRED" not in os.environ:
                print(f"skipped: {lesson.stem}: {' '.join(words)}: {said.strip()}")
                del left[begins]
                continue
            wanted = left.pop(begins)
            is_refusal = any(pattern.startswith("^error") for pattern in wanted)
            self.assertEqual(is_refusal, code != 0, f"{' '.join(words)}\n{said}")
            self.assertNotRegex(said, r"(?m)^warning: (?!an emulator|a call takes)", " ".join(words))
            for pattern in wanted:
                self.assertRegex(said, re.compile(pattern, re.M), f"{' '.join(words)}\n{said}")
        self.assertEqual({}, left, "commands that the lesson does not have")


class Completeness(unittest.TestCase):
    def test_every_lesson_with_commands_is_run(self):
        self.assertEqual([lesson.stem for lesson in lessons() if commands(lesson)], sorted(SAYS))

    def test_every_schedule_is_used_by_a_lesson(self):
        text = "".join(lesson.read_text(encoding="utf-8") for lesson in lessons())
        for trace in sorted((pathlib.Path(SOURCE) / "examples" / "schedules").iterdir()):
            self.assertIn(f"examples/schedules/{trace.name}", text)


def add_tests():
    for lesson in lessons():
        if lesson.stem in SAYS:
            setattr(Lessons, f"test_{lesson.stem}", lambda self, lesson=lesson: self.whole_lesson(lesson))


add_tests()
if __name__ == "__main__":
    unittest.main()
