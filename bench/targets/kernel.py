"""P5: the attention kernel alone, window 512, 4,096 tokens, 12 heads of 64."""

from __future__ import annotations

import statistics

from measure import Bench, Goal, Row, Timing, largest_difference, seconds

import models

TOKENS, HEAD_DIM = 4096, 64


def pick(results: list[Timing], dtype: str, dilation: int) -> list[dict]:
    """Of each round, the run of attention_bench with these settings."""
    return [run | {"compute_s": statistics.median(run["passes_s"])} for one in results for run in one["runs"]
            if (run["dtype"], run["dilation"]) == (dtype, dilation)]


def p5(bench: Bench) -> list[Row]:
    """Share of peak, what dilation costs, and PyTorch's two ways to the same numbers."""
    inputs = models.projections(bench, TOKENS, models.HEADS, HEAD_DIM)
    commands = {"peak": [bench.program("peak_bench"), bench.threads],
                "ours": [bench.program("attention_bench"), inputs, bench.folder / "kernel", models.WINDOW, bench.threads,
                         21]}
    for kind in ("sdpa", "flex"):
        for dtype in ("float32", "bfloat16"):
            commands[f"{kind} {dtype}"] = bench.peer(kind, inputs, f"{kind}_{dtype}", "--dtype", dtype, "--window",
                                                     models.WINDOW, repeat=7)
    times = bench.rounds(commands)
    rows = []
    for dtype, torch_dtype, goal in (("f32", "float32", Goal(0.64, 0.75)), ("bf16", "bfloat16", Goal(0.52, 0.65))):
        plain, dilated = pick(times["ours"], dtype, 1), pick(times["ours"], dtype, 2)
        peak = bench.peak(times["peak"], dtype)
        if not plain or peak is None:
            print(f"P5: no {dtype} attention on this processor", flush=True)
            continue
        rows += own_rows(bench, dtype, plain, dilated, peak, goal)
        rows += [beside(bench, dtype, plain, name, times[f"{kind} {torch_dtype}"], f"{kind}_{torch_dtype}")
                 for kind, name in (("sdpa", "PyTorch masked SDPA"), ("flex", "PyTorch compiled flex_attention"))]
    return rows


def own_rows(bench: Bench, dtype: str, plain: list[dict], dilated: list[dict], peak: float, goal: Goal) -> list[Row]:
    flop = 4.0 * HEAD_DIM * models.HEADS * plain[0]["pairs"]
    share = [flop / (run["compute_s"] * peak * 1e9 * bench.threads) for run in plain]
    # A dilated window counts fewer pairs at the ends: time a counted pair.
    cost = [d["compute_s"] / d["pairs"] / (p["compute_s"] / p["pairs"]) for d, p in zip(dilated, plain)]
    note = f"{seconds('ours', plain)}; peak {peak:.0f} GFLOP/s a core"
    return [Row("P5", f"attention kernel {dtype}, window 512", f"peak {dtype}", share, goal, unit="1", note=note),
            Row("P5", f"attention kernel {dtype}, window 512, dilation 2", "dilation 1", cost,
                Goal(1.05, 1.01, ceiling=True))]


def beside(bench: Bench, dtype: str, plain: list[dict], name: str, theirs: list[Timing], outputs: str) -> Row:
    exact = dtype == "f32"
    difference = largest_difference(bench.folder / "kernel", bench.folder / outputs, f"out_{dtype}_1", 1e-4 if exact else 0.1)
    return Row("P5", f"attention kernel {dtype}, window 512", name,
               [peer["compute_s"] / mine["compute_s"] for peer, mine in zip(theirs, plain)],
               note=f"{seconds(name, theirs)}; {difference}")
