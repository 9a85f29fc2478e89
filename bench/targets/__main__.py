"""The targets of the engine beside its peers: python bench/targets P1 (or several, or all).

Each prints the measured figure as the median of rounds, its spread, and the value that must and the one that should be
reached. A round runs every side once, each a fresh process, in an order that turns around from round to round; a ratio
is that of one round. Needs a built command and the environment of tools/oracle_venv.sh, up to 14 GB of memory and
3 GB in the temporary folder, and a machine that does nothing else.

    $(tools/oracle_venv.sh) bench/targets all --binary build/release/bin/longformer --markdown
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import batches
import forward
import kernel
import training
from measure import HEADINGS, Bench, Row, machine

TARGETS = {"P1": forward.p1, "P2": forward.p2, "P3": forward.p3, "P4": forward.p4, "P5": kernel.p5, "P6": forward.p6,
           "P7": batches.p7, "P8": batches.p8, "P9": forward.p9, "P10": forward.p10, "P11": training.p11,
           "E2": forward.e2}


def markdown(rows: list[Row]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in
            [HEADINGS, ["---"] * len(HEADINGS), *(row.cells() for row in rows)]]


def aligned(rows: list[Row]) -> list[str]:
    """Columns for a terminal; what stands beside a figure on a line of its own."""
    table = [HEADINGS[:-1], *(row.cells()[:-1] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in table]
    notes = [""] + [f"\n      {row.note}" if row.note else "" for row in rows]
    return [line + note for line, note in zip(lines, notes)]


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="targets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", metavar="TARGET", choices=[*TARGETS, "all"], help=f"{', '.join(TARGETS)} or all")
    parser.add_argument("--binary", type=Path, default=Path("build/release/bin/longformer"))
    parser.add_argument("--pairs", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of all sides (default: all cores)")
    layout = parser.add_mutually_exclusive_group()
    layout.add_argument("--json", action="store_true", help="print all values instead of the table")
    layout.add_argument("--markdown", action="store_true", help="print the table of bench/README.md")
    options = parser.parse_args(arguments)
    if not options.binary.is_file():
        parser.error(f"{options.binary} does not exist: build the command or give --binary")
    if options.pairs < 1 or options.threads < 1:
        parser.error("--pairs and --threads are at least 1")
    return options


def main() -> int:
    options = options_of()
    names = list(TARGETS) if "all" in options.targets else options.targets
    told = machine(options.threads)
    folder = Path(tempfile.mkdtemp(prefix="longformer_targets_"))
    try:
        bench = Bench(options.binary.resolve(), folder, options.pairs, options.threads)
        rows = []
        for name in names:
            print(f"{name}: {TARGETS[name].__doc__.splitlines()[0]}", file=sys.stderr, flush=True)
            rows += TARGETS[name](bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps({"machine": told, "rounds": options.pairs, "rows": [row.as_json() for row in rows]}, indent=1))
    else:
        print(f"{told}; {options.pairs} rounds\n")
        print("\n".join(markdown(rows) if options.markdown else aligned(rows)))
    return 1 if any(row.verdict == "short of must" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
