#!/usr/bin/env python3
"""`bench --against reference` on random shapes and models: the reference runs, and computes what the command computes.

The command itself compares the mean size of both outputs and fails where they differ by more than 1e-4, so a
case that ends with one record an implementation and length has agreed.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

import common
import random_cases


def attention_arguments(rng: np.random.Generator) -> tuple[list[object], set[str]]:
    """A random shape; lengths below, at and above the window, multiples of it or not."""
    window = 2 * int(rng.integers(1, 40))
    lengths = sorted({int(rng.integers(1, 4 * window)), window * int(rng.integers(1, 4))})
    arguments = ["--window", window, "--lengths", ",".join(map(str, lengths)), "--heads", int(rng.integers(1, 5)),
                 "--head-dim", int(rng.choice([8, 32, 64, 96])), "--implementations", "longformer,loop,chunks"]
    return arguments, {f"{name} {n}" for name in ("longformer", "loop", "chunks", "reference") for n in lengths}


def model_arguments(rng: np.random.Generator, folder) -> tuple[list[object], set[str]]:
    """A random Longformer or BERT."""
    length = 16 + random_cases.random_length(rng)
    family = str(rng.choice(["longformer", "bert"]))
    config = random_cases.random_config(rng, family, length, True)
    with torch.no_grad():
        random_cases.random_model(rng, family, config).save_pretrained(folder)
    arguments = ["--model", folder, "--lengths", length, "--implementations", "longformer"]
    return arguments, {f"{name} {length}" for name in ("longformer", "reference")}


def run_case(options, seed: int, report: common.Report) -> None:
    """One call of the command."""
    rng = np.random.default_rng(seed)
    with common.Scratch(options, f"bench_{seed}") as scratch:
        arguments, expected = (model_arguments(rng, scratch.path) if seed % 3 == 0 else attention_arguments(rng))
        what = " ".join(map(str, arguments))
        try:
            result = common.run_command(options.binary, "bench", *arguments, "--repeats", 1, "--json", "--against",
                                        "reference", "--python", sys.executable)
        except common.CommandFailed as failure:
            scratch.failed = True
            report.add(seed, what, [str(failure)])
            return
        records = common.json_lines(result.stdout)
        got = {f"{record['implementation']} {record['length']}" for record in records}
        wrong = [] if got == expected else [f"got {sorted(got)}, want {sorted(expected)}"]
        wrong += [f"{record}: nothing measured" for record in records if not record["seconds_median"] > 0]
        report.add(seed, what, wrong)


def main() -> int:
    options = common.parser(__doc__.splitlines()[0], 12).parse_args()
    report = common.Report("bench", options)
    for seed in range(options.seed, options.seed + options.cases):
        run_case(options, seed, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
