"""Installs the build into an empty folder, moves it, and uses it as a stranger would: find_package, pkg-config, C++, C,
command line. Also: what the installed binaries load and let out."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE, CXX, CC, FLAGS = (os.environ[name] for name in ("PW_BUILD", "PW_SOURCE", "PW_CXX", "PW_CC", "PW_FLAGS"))
CONSUMER = os.path.join(SOURCE, "tests/install/consumer")


def output_of(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def needed(path):
    return re.findall(r"NEEDED.*\[(.*?)\]", output_of("readelf", "-d", path))


def exported(path):
    lines = output_of("nm", "-DC", "--defined-only", path).splitlines()
    # A small letter is a local symbol: in the table because another library has one of that name, but nobody can bind
    # to it.
    return [
        fields[2]
        for fields in (line.split(maxsplit=2) for line in lines)
        if len(fields) == 3 and not fields[1].islower()
    ]


class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="polyweft-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        output_of("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)
        cls.library = next(cls.prefix.glob("lib/**/libpolyweft.so"))
        cls.environment = dict(
            os.environ, LD_LIBRARY_PATH=str(cls.library.parent), XDG_DATA_HOME=str(cls.folder / "data")
        )
        cls.environment.pop("POLYWEFT_HELPERS", None)

    def run_consumers(self, cpp, c):
        self.assertIn("consumer: right", output_of(cpp, self.folder / f"{cpp.parent.name}.db", env=self.environment))
        self.assertIn("consumer_c: right", output_of(c, env=self.environment))

    def test_find_package_finds_it(self):
        build = self.folder / "find_package"
        output_of(
            "cmake",
            "-S",
            CONSUMER,
            "-B",
            build,
            "-G",
            "Ninja",
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={CXX}",
            f"-DCMAKE_C_COMPILER={CC}",
            f"-DCMAKE_CXX_FLAGS={FLAGS}",
            f"-DCMAKE_C_FLAGS={FLAGS}",
        )
        output_of("cmake", "--build", build)
        self.run_consumers(build / "consumer", build / "consumer_c")

    def test_pkg_config_finds_it(self):
        build = self.folder / "pkg_config"
        build.mkdir()
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.library.parent / "pkgconfig"))
        flags = output_of("pkg-config", "--cflags", "--libs", "polyweft", env=environment).split() + FLAGS.split()
        output_of(CXX, "-std=c++20", f"{CONSUMER}/consumer.cpp", "-o", build / "consumer", *flags)
        output_of(CC, f"{CONSUMER}/consumer_c.c", "-o", build / "consumer_c", *flags)
        self.run_consumers(build / "consumer", build / "consumer_c")

    def test_the_command_line_works_where_it_was_moved_to(self):
        environment = {key: value for key, value in self.environment.items() if key != "LD_LIBRARY_PATH"}
        program = next(self.prefix.glob("share/**/01_gemm.weft"))
        command = self.prefix / "bin/polyweft"
        self.assertIn("polyweft", output_of(command, "--version", env=environment))
        output_of(command, "check", program, env=environment)
        output_of(command, "run", program, "--verify", "-p", "M=20", "-p", "N=30", "-p", "K=10", env=environment)

    def test_the_lessons_about_accelerators_and_other_machines_run(self):
        """As they stand, from a folder that has the installed `examples` and nothing of the sources."""
        documents = next(self.prefix.glob("share/doc/**/18_unit_product.weft")).parents[1]
        environment = {key: value for key, value in self.environment.items() if key != "LD_LIBRARY_PATH"}
        environment |= {"PW_POLYWEFT": str(self.prefix / "bin/polyweft"), "PW_SOURCE": str(documents)}
        lessons = [f"Lessons.test_{name}" for name in ("18_unit_product", "19_elsewhere")]
        output_of(
            sys.executable, "-B", os.path.join(SOURCE, "tests/examples/lessons_test.py"), *lessons, env=environment
        )

    def test_the_programs_of_the_page_about_the_library_run(self):
        """The page is read from the installed tree; its commands are run as they stand, with this tree's program and
        compilers."""
        folder = self.folder / "page"
        folder.mkdir()
        page = next(self.prefix.glob("share/doc/**/library.md")).read_text(encoding="utf-8")
        blocks = re.findall(r"^```(?:c|cpp|weft)\n(.*?)^```", page, re.M | re.S)
        for name, begins in (
            ("product.c", "/* product.c"),
            ("gemm.weft", "program gemm"),
            ("tuned.cpp", "// tuned.cpp"),
            ("sized.c", "/* sized.c"),
        ):
            own = [text for text in blocks if text.startswith(begins)]
            self.assertEqual(1, len(own), name)
            (folder / name).write_text(own[0], encoding="utf-8")
        (folder / "bin").mkdir()
        for name, real in (("cc", CC), ("c++", CXX)):
            command = f'exec {real} {FLAGS} -Wall -Wextra -Werror "$@"'
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
            (folder / "bin" / name).chmod(0o755)
        environment = dict(
            self.environment,
            PATH=f"{folder / 'bin'}:{self.prefix / 'bin'}:{os.environ['PATH']}",
            PKG_CONFIG_PATH=str(self.library.parent / "pkgconfig"),
        )
        commands = [line for text in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S) for line in text.splitlines()]
        self.assertEqual(5, len(commands))
        for command in commands:
            output_of("sh", "-c", command, cwd=folder, env=environment)
        self.assertEqual("c[2][3] = -2, expected -2\n", output_of(folder / "product", env=environment))
        self.assertEqual("c = 4 5 10 11, expected 4 5 10 11\n", output_of(folder / "sized", env=environment))
        self.assertEqual("y[999] = 7, tuned now\n", output_of(folder / "tuned", folder / "k.db", env=environment))
        self.assertEqual(
            "y[999] = 7, from the database\n", output_of(folder / "tuned", folder / "k.db", env=environment)
        )

    def test_the_kernel_header_serves_programs_without_halide(self):
        folder = self.folder / "kernel_header"
        folder.mkdir()
        program = next(self.prefix.glob("share/**/01_gemm.weft"))
        sizes = ["-p", "M=30", "-p", "N=20", "-p", "K=10"]
        for emit, name in (("static", "libgemm.a"), ("header", "gemm.h")):
            output_of(
                self.prefix / "bin/polyweft",
                "build",
                program,
                *sizes,
                "--emit",
                emit,
                "-o",
                folder / name,
                env=self.environment,
            )
        for compiler, standard, name in ((CC, "-std=c11", "by_buffer.c"), (CXX, "-std=c++11", "by_buffer.cpp")):
            shutil.copy(os.path.join(CONSUMER, "by_buffer.c"), folder / name)
            output_of(
                compiler,
                standard,
                "-Wall",
                "-Wextra",
                "-Werror",
                *FLAGS.split(),
                f"-I{self.prefix / 'include'}",
                f"-I{folder}",
                folder / name,
                "-o",
                folder / "by_buffer",
                folder / "libgemm.a",
                "-lpthread",
                "-ldl",
                "-lm",
            )
            self.assertEqual("by_buffer: right\n", output_of(folder / "by_buffer"))

    def test_the_library_lets_out_only_its_own_names(self):
        strangers = [
            name
            for name in exported(self.library)
            if not re.match(r"(typeinfo (name )?for |vtable for )?polyweft::|pw_", name)
        ]
        self.assertEqual([], strangers)

    def test_every_function_of_the_c_header_is_exported(self):
        header = (self.prefix / "include/polyweft/c_api.h").read_text(encoding="utf-8")
        declared = set(re.findall(r"^PW_C_EXPORT.*?\b(pw_\w+)\(", header, re.M))
        self.assertLess(10, len(declared))
        self.assertEqual(set(), declared - set(exported(self.library)))

    def test_libhalide_is_loaded_by_nothing_and_llvm_not_by_the_isl_helper(self):
        helpers = self.prefix / "libexec/polyweft"
        for path in [self.library, self.prefix / "bin/polyweft", helpers / "polyweft-isl", helpers / "polyweft-runner"]:
            self.assertEqual([], [name for name in needed(path) if "Halide" in name], path)
        self.assertEqual([], [name for name in needed(helpers / "polyweft-isl") if "LLVM" in name])
        self.assertEqual([], [name for name in needed(self.library) if "isl" in name])

    def test_searches_find_the_installed_library(self):
        program, database = next(self.prefix.glob("share/**/01_gemm.weft")), self.folder / "library.db"
        words = [
            "-p",
            "M=64",
            "-p",
            "N=64",
            "-p",
            "K=64",
            "--trials",
            "1",
            "--refresh",
            "--json",
            "--database",
            database,
        ]
        sketches = []
        for option in ([], ["--no-library"]):
            lines = output_of(self.prefix / "bin/polyweft", "tune", program, *words, *option, env=self.environment)
            sketches.append(json.loads(lines.splitlines()[-1])["sketches"])
        self.assertGreater(sketches[0], sketches[1])

    def test_no_more_than_fifteen_headers_and_the_licence_are_there(self):
        self.assertIn(len(list(self.prefix.glob("include/polyweft/*.h"))), range(10, 16))
        self.assertEqual(1, len(list(self.prefix.glob("share/doc/**/LICENSE"))))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
