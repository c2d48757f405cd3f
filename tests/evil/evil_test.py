"""Programs made to hurt: every command on each of them ends by its deadline, within its memory, with a result or a
message that has a code, and says the same when it is asked again. evil_test.py [--sample] [--programs N] [--seed S]
[--minutes M] [--state FILE] [--only NAME] [--deadline S] [--verbose]: the files of this folder, then N generated
programs; with a state file it goes on where it stopped. --sample: a command for each file. Exit 1 with a line that
shows the failure again.
"""

import argparse
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

from programs import evil_program

HERE = pathlib.Path(__file__).parent
POLYWEFT = os.environ["PW_POLYWEFT"]
LATE_S = 0.5
HANGS_S = 120  # on a machine that others use, too
MEMORY = 8 << 30
BY_CLOCK = {"PW0831", "PW0836", "PW0832"}  # answers that may differ from run to run
CODE = re.compile(r"PW\d{4}")
COMMANDS = {
    "check": ["check", "FILE"],
    "build": ["build", "FILE", "--emit", "object", "-o", "FOLDER/kernel.o"],
    "run": ["run", "FILE"],
    "tune": ["tune", "FILE", "--budget", "1s", "--trials", "2", "--seed", "1"],
    "show": ["show", "FILE", "--stage", "schedule"],
}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Answer:
    def __init__(self, words, folder):
        began = time.monotonic()
        try:
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                timeout=HANGS_S,
                preexec_fn=limit_memory,
                cwd=folder,
                errors="replace",
                env={**os.environ, "XDG_DATA_HOME": str(folder)},
            )
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            self.status, self.out, self.err = None, "", "hangs"
        self.seconds = time.monotonic() - began
        self.codes = CODE.findall(self.err)

    def by_clock(self):
        return bool(BY_CLOCK & set(self.codes))

    def problem(self):
        if self.status is None:
            return "hangs"
        if self.status < 0:
            return f"is ended by signal {-self.status}"
        if self.status not in (0, 1, 2, 3):
            return f"exits with {self.status}"
        if self.status != 0 and not self.codes:
            return "fails without a code"
        return None

    def same_as(self, other):
        return (
            self.by_clock()
            or other.by_clock()
            or (self.status, self.codes, self.out) == (other.status, other.codes, other.out)
        )


class Evil:
    def __init__(self, options):
        self.options, self.failures, self.runs, self.clocked, self.slowest = options, 0, 0, 0, 0.0
        self.codes = {}

    def ask(self, verb, path, folder):
        words = [word.replace("FILE", str(path)).replace("FOLDER", str(folder)) for word in COMMANDS[verb]]
        database = pathlib.Path(folder) / "evil.db"
        for left in pathlib.Path(folder).glob("evil.db*"):
            left.unlink()
        if verb == "tune":  # the others refuse a database that is named and is not there, whatever the program
            words += ["--database", str(database)]
        return Answer([POLYWEFT, *words, "--deadline", f"{self.options.deadline}s"], folder)

    def in_time(self, answer, verb, path, folder):
        """Late on a busy machine says nothing: it counts where a command that does next to nothing is quick right
        before and after, three times."""
        late_and_quiet = 0
        for _ in range(6):
            if answer.seconds <= self.options.deadline + LATE_S:
                return True
            before = self.is_quiet(folder)
            answer = self.ask(verb, path, folder)
            late_and_quiet += before and self.is_quiet(folder) and answer.seconds > self.options.deadline + LATE_S
        return late_and_quiet < 3

    def is_quiet(self, folder):
        return Answer([POLYWEFT, "explain", "PW0836"], folder).seconds < 0.1

    def judge(self, name, verb, path, folder):
        answer = self.ask(verb, path, folder)
        problem = answer.problem()
        if not problem and not self.in_time(answer, verb, path, folder):
            problem = f"ends after {answer.seconds:.1f} s"
        if not problem and verb != "tune":  # what a tune measures differs
            again = self.ask(verb, path, folder)
            if not answer.same_as(again):
                problem = (
                    f"answers {answer.status} {answer.codes}, then {again.status} {again.codes}\n{again.err}{again.out}"
                )
        self.runs += 1
        self.clocked += answer.by_clock()
        self.slowest = max(self.slowest, answer.seconds)
        for code in answer.codes[:1] or ["result"]:
            self.codes[code] = self.codes.get(code, 0) + 1
        if self.options.verbose:
            print(f"{answer.seconds:5.2f} s  {verb:5} {name}: {answer.status} {' '.join(answer.codes[:1])}", flush=True)
        if problem:
            self.failures += 1
            print(
                f"FAILED {verb} {name}: {problem}\n{answer.err[-600:]}\nrerun: {sys.argv[0]} --seed {self.options.seed} --only {name}",
                flush=True,
            )

    def program(self, name, text, verbs):
        with tempfile.TemporaryDirectory(prefix="polyweft-evil-") as folder:
            path = pathlib.Path(folder) / "evil.weft"
            path.write_text(text, encoding="utf-8")
            for verb in verbs:
                self.judge(name, verb, path, folder)

    def files(self):
        return [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.weft"))]

    def sample(self):
        """One command for each file, another with each seed."""
        verbs = list(COMMANDS)
        end = time.monotonic() + 60 * self.options.minutes
        for k, (name, text) in enumerate(self.files()):
            if time.monotonic() > end:
                break
            self.program(name, text, [verbs[(k + self.options.seed) % len(verbs)]])

    def units(self):
        for name, text in self.files():
            yield name, text
        for k in range(self.options.programs):
            yield f"g{k}", evil_program(f"{self.options.seed}/{k}")

    def all(self):
        state = pathlib.Path(self.options.state) if self.options.state else None
        done = int(state.read_text(encoding="ascii")) if state and state.exists() else 0
        end = time.monotonic() + 60 * self.options.minutes
        for k, (name, text) in enumerate(self.units()):
            if k < done and not self.options.only or self.options.only not in (None, name):
                continue
            if time.monotonic() > end:
                break
            self.program(name, text, COMMANDS)
            if state and not self.options.only:
                state.write_text(str(k + 1), encoding="ascii")

    def report(self):
        print(
            f"evil: {self.runs} runs, {self.failures} failures, {self.clocked} ended by the clock, slowest {self.slowest:.2f} s; {dict(sorted(self.codes.items()))}"
        )
        return 1 if self.failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--state")
    parser.add_argument("--only")
    parser.add_argument("--deadline", type=float, default=3.0, help="seconds a command")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    evil = Evil(options)
    evil.sample() if options.sample else evil.all()
    return evil.report()


if __name__ == "__main__":
    sys.exit(main())
