"""Builds an index and kills the build at random moments; the index must open after each, lose nothing that was there
before, and in the end answer like one that was built in one go.

    python3 bench/index/kill_loop.py FOLDER --rounds 20
"""

import argparse
import contextlib
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
QUERIES = ["how do I undo the last change", "\"file name\" of the log", "what does it cost", "MAX_PATH"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/longformer")
    parser.add_argument("--model", type=pathlib.Path, help="default: the default model")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--longest", type=float, default=3.0, help="seconds until a kill, at most")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def search(options, index, query, top):
    result = subprocess.run([str(options.binary), "search", "--index", str(index), "--json", "--top", str(top), query],
                            capture_output=True, text=True, check=False)
    records = [json.loads(line) for line in result.stdout.splitlines()]
    return result.returncode, records, result.stderr.strip()


def committed(index):
    with contextlib.closing(sqlite3.connect(index / "index.sqlite")) as database:
        return database.execute("SELECT count(*) FROM files").fetchone()[0]


def main():
    options = arguments()
    moments = random.Random(options.seed)
    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        index, whole = pathlib.Path(temporary, "killed"), pathlib.Path(temporary, "whole")
        model = ["--model", str(options.model)] if options.model else []

        def build(place):
            return [str(options.binary), "index", str(options.folder), "--output", str(place), *model]

        files = 0
        for number in range(options.rounds):
            process = subprocess.Popen(build(index), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moments.uniform(0.05, options.longest))
            process.send_signal(signal.SIGKILL)
            killed = process.wait() != 0
            code, _, message = search(options, index, "the", 1)
            absent = files == 0 and ("holds no index" in message or "no such index" in message)
            if code not in (0, 4) and not absent:
                failures.append(f"round {number}: exit {code}: {message}")
            before, files = files, 0 if absent else committed(index)
            if files < before:
                failures.append(f"round {number}: {before} files before, {files} after")
            print(f"round {number}: {'killed' if killed else 'done before the kill'}; "
                  f"{files} files in the index", flush=True)
            if not killed:
                break
        for place in (index, whole):
            result = subprocess.run(build(place), capture_output=True, text=True, check=False)
            print(result.stderr.strip().splitlines()[-1])
            if result.returncode not in (0, 3):
                failures.append(f"{place.name}: exit {result.returncode}")
        for query in QUERIES:
            if search(options, index, query, 50)[1] != search(options, whole, query, 50)[1]:
                failures.append(f"{query!r}: other results than an index built in one go")
    for failure in failures:
        print(failure, file=sys.stderr)
    print("failed" if failures else f"all {options.rounds} rounds and {len(QUERIES)} queries are right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
