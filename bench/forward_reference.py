#!/usr/bin/env python3
"""Time and memory of one forward pass beside the reference implementation (PyTorch, Transformers), interleaved.

longformer-base shape with random weights: 12 layers, hidden size 768, 12 heads, window 512, vocabulary 50,265; one
document, token 0 global, float32. Every measurement is a fresh process; the time is that of the pass alone, inside
the process, without start and loading. Memory is the peak of resident memory during the pass, and what of it was
not there before the pass.

    python bench/forward_reference.py --binary build/release/bin/longformer
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

MB = 1024 * 1024


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def make_model(folder: Path, tokens: int, layers: int) -> None:
    """Writes the checkpoint: the shape of longformer-base-4096, weights as the class initialises them."""
    import torch
    import transformers
    config = transformers.LongformerConfig(
        vocab_size=50265, num_hidden_layers=layers, attention_window=512, max_position_embeddings=max(tokens, 4096) + 2,
        type_vocab_size=1, layer_norm_eps=1e-5)
    torch.manual_seed(1)
    transformers.LongformerModel(config).save_pretrained(folder)


def reference_process(folder: Path, threads: int) -> int:
    """The child: one pass of the reference; prints what `longformer forward --timing` prints."""
    import torch
    import transformers
    torch.set_num_threads(threads)
    start = time.perf_counter()
    model = transformers.LongformerModel.from_pretrained(folder).eval()
    inputs = {name: torch.from_numpy(value) for name, value in load_file(folder / "inputs.safetensors").items()}
    load = time.perf_counter() - start
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak of loading does not count
    except OSError:
        print("note: the reference's peak includes loading (cannot reset it here)", file=sys.stderr)
    before, start = resident("VmRSS"), time.perf_counter()
    with torch.inference_mode():
        output = model(**inputs)
    compute = time.perf_counter() - start
    print(json.dumps({"load_s": load, "compute_s": compute, "rss_before_compute": before,
                      "peak_rss_bytes": resident("VmHWM")}))
    save_file({"last_hidden_state": output.last_hidden_state.numpy()}, folder / "reference.safetensors")
    return 0


def run(command: list[object]) -> dict[str, float]:
    """Runs a process and returns the last JSON object that it prints on either stream."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{command[0]} failed with {result.returncode}: {result.stderr[-800:]}")
    lines = (result.stdout + "\n" + result.stderr).splitlines()
    objects = [json.loads(line) for line in lines if line.startswith("{") and "compute_s" in line]
    if not objects:
        raise SystemExit(f"{command[0]} printed no timing line")
    return objects[-1]


def summary(name: str, runs: list[dict[str, float]]) -> None:
    """One row of the table."""
    times = [one["compute_s"] for one in runs]
    peak = max(one["peak_rss_bytes"] for one in runs) / MB
    added = max(one["peak_rss_bytes"] - one["rss_before_compute"] for one in runs) / MB
    load = statistics.median(one["load_s"] for one in runs)
    print(f"{name:<12} {statistics.median(times):9.2f} {min(times):9.2f} {max(times):9.2f} {load:9.2f} "
          f"{peak:10.0f} {added:10.0f}")


def measure(options: argparse.Namespace, folder: Path) -> int:
    """Pairs of runs, then the table and the ratio of each pair."""
    ids = np.random.default_rng(1).integers(3, 50265, (1, options.tokens))
    globals_ = np.zeros_like(ids)
    globals_[0, 0] = 1
    save_file({"input_ids": ids, "attention_mask": np.ones_like(ids), "global_attention_mask": globals_},
              folder / "inputs.safetensors")
    ours_command = [options.binary, "forward", "--model", folder, "--inputs", folder / "inputs.safetensors",
                    "--outputs", folder / "ours.safetensors", "--threads", options.threads, "--timing"]
    reference_command = [sys.executable, Path(__file__).resolve(), "--reference-process", folder, "--threads",
                         options.threads]
    reference, ours = [], []
    for pair in range(options.pairs):
        order = [(reference, reference_command), (ours, ours_command)]
        for runs, command in order if pair % 2 == 0 else order[::-1]:
            runs.append(run(command))
        print(f"pair {pair + 1}: reference {reference[-1]['compute_s']:.2f} s, longformer "
              f"{ours[-1]['compute_s']:.2f} s", file=sys.stderr, flush=True)
    want = load_file(folder / "reference.safetensors")["last_hidden_state"]
    error = float(np.abs(load_file(folder / "ours.safetensors")["last_hidden_state"] - want).max())
    ratios = [r["compute_s"] / o["compute_s"] for r, o in zip(reference, ours)]
    print(f"longformer-base shape, {options.layers} layers, {options.tokens} tokens, 1 global, float32, "
          f"{options.threads} threads, {options.pairs} interleaved pairs")
    print(f"{'':<12} {'median s':>9} {'min s':>9} {'max s':>9} {'load s':>9} {'peak MB':>10} {'added MB':>10}")
    summary("reference", reference)
    summary("longformer", ours)
    print(f"times faster: median of the pairs {statistics.median(ratios):.2f}, from {min(ratios):.2f} to "
          f"{max(ratios):.2f}; largest difference of an output {error:.2g} (largest element {np.abs(want).max():.2f})")
    return 0 if error <= 1e-3 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=Path("build/release/bin/longformer"))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--reference-process", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference_process:
        return reference_process(options.reference_process, options.threads)
    if not options.binary.is_file():
        parser.error(f"{options.binary} does not exist: build the command or give --binary")
    folder = Path(tempfile.mkdtemp(prefix="longformer_bench_"))
    try:
        make_model(folder, options.tokens, options.layers)
        return measure(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
