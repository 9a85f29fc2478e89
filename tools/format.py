#!/usr/bin/env python3
"""Formats the C++ files of the tree with .clang-format, or with --check names those that differ (exit 1)."""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["include", "src", "tests", "bench", "fuzz", "examples"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, name the files that differ")
    parser.add_argument("--clang-format", default="clang-format-14", help="the program; another version formats differently")
    options = parser.parse_args()
    files = sorted(str(path.relative_to(ROOT)) for folder in FOLDERS
                   for pattern in ("*.h", "*.cc") for path in (ROOT / folder).rglob(pattern))
    if not files:
        print("no C++ files found")
        return 1
    mode = ["--dry-run", "--Werror"] if options.check else ["-i"]
    result = subprocess.run([options.clang_format, "--style=file", *mode, *files], cwd=ROOT, text=True,
                            stderr=subprocess.PIPE)
    if options.check and result.returncode != 0:
        differing = sorted({line.split(":", 1)[0] for line in result.stderr.splitlines() if ": error:" in line})
        print("\n".join(differing) or result.stderr)
        print(f"{len(differing)} of {len(files)} files are not formatted; run tools/format.py")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
