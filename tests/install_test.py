#!/usr/bin/env python3
"""What `cmake --install` puts down can be used: examples/embed.cc is built against it with CMake and with pkg-config, and
both programs and the installed command give the same vector.

    tests/install_test.py --build BUILD_DIRECTORY [--cmake PROGRAM] [--compiler PROGRAM]

The library must be built already; nothing of it is built again.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "tests" / "data" / "models" / "bert_fill_rule"
TEXT = "the fox sleeps in the barn"
OPTIONS = argparse.Namespace(build=None, cmake="cmake", compiler="c++")


def run(*line: object, **options) -> str:
    """Runs a program; its standard output. A failure shows everything that it said."""
    result = subprocess.run([str(part) for part in line], capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"exit {result.returncode} from {shlex.join(map(str, line))}:\n{result.stdout}{result.stderr}")
    return result.stdout


def rounded(numbers: list[str]) -> list[float]:
    """Decimal numbers as the floats that they were printed from."""
    return [struct.unpack("f", struct.pack("f", float(number)))[0] for number in numbers]


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="longformer_install_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        # Installed in one place, then moved: nothing may remember the first.
        run(OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "prefix"
        (cls.folder / "first").rename(cls.prefix)
        cls.model = cls.folder / "model"
        shutil.copytree(MODEL, cls.model)
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TEXT.split()[1:], "the"]
        (cls.model / "vocab.txt").write_text("".join(f"{word}\n" for word in dict.fromkeys(words)))
        output = run(cls.prefix / "bin" / "longformer", "embed", "--json", "--model", cls.model, "-", input=TEXT)
        cls.expected = rounded([str(value) for value in json.loads(output)["embedding"]])

    def check_program(self, program: Path) -> None:
        self.assertEqual(rounded(run(program, self.model, TEXT).split()), self.expected)
        self.assertEqual(len(self.expected), json.loads((MODEL / "config.json").read_text())["hidden_size"])
        missing = subprocess.run([program, self.folder / "nothing", TEXT], capture_output=True, text=True, check=False)
        self.assertEqual(missing.returncode, 1)
        self.assertIn("nothing", missing.stderr)

    def test_cmake(self) -> None:
        build = self.folder / "cmake"
        run(OPTIONS.cmake, "-S", ROOT / "examples" / "installed", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}", "-DCMAKE_BUILD_TYPE=Release")
        run(OPTIONS.cmake, "--build", build)
        self.check_program(build / "embed")

    def test_pkg_config(self) -> None:
        found = list(self.prefix.rglob("longformer.pc"))
        self.assertEqual(len(found), 1)
        environment = dict(os.environ, PKG_CONFIG_PATH=str(found[0].parent))
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "longformer", env=environment))
        program = self.folder / "embed"
        run(OPTIONS.compiler, "-std=c++20", ROOT / "examples" / "embed.cc", *flags, "-o", program)
        self.check_program(program)

    def test_public_headers_stand_alone(self) -> None:
        headers = sorted((self.prefix / "include").rglob("*.h"))
        self.assertEqual([header.name for header in headers],
                         sorted(header.name for header in (ROOT / "include" / "longformer").glob("*.h")))
        source = "".join(f'#include "{header.relative_to(self.prefix / "include")}"\n' for header in reversed(headers))
        run(OPTIONS.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-",
            "-I", self.prefix / "include", input=source)

    def test_nothing_names_the_source_tree(self) -> None:
        for path in self.prefix.rglob("*"):
            if path.suffix in {".cmake", ".pc"}:
                text = path.read_text(encoding="utf-8")
                self.assertNotIn(str(ROOT), text, path)
                self.assertNotIn(str(self.folder), text, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="a build directory, built")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--compiler", default="c++")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
