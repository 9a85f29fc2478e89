"""One document through longformer-base: P1 to P4, P6, P9, P10 and E2."""

from __future__ import annotations

import numpy as np
from measure import MIB, Bench, Goal, Row, largest_difference, median_cosine, peak_memory, ratios, seconds

import models


def reference(bench: Bench, tokens: int, inputs: object, outputs: str, *options: object, repeat: int = 1):
    """Transformers' Longformer, eager: the only attention that it has."""
    return bench.peer("transformers", inputs, outputs, "--model", models.longformer(bench, max(tokens, 4096)), *options,
                      repeat=repeat)


def ours(bench: Bench, tokens: int, inputs: object, outputs: str, compute: str = "f32", repeat: int = 1):
    return bench.ours(models.longformer(bench, max(tokens, 4096)), inputs, outputs, compute, repeat)


def p1(bench: Bench) -> list[Row]:
    """Forward f32 at 4,096 and 16,384 tokens; beside it a RoBERTa with full attention."""
    rows = []
    for tokens, goal in ((4096, Goal(2.4, 2.8)), (16384, Goal(3.3, 4))):
        document = models.document(bench, tokens)
        times = bench.rounds({
            "reference": reference(bench, tokens, document, "reference"),
            "ours": ours(bench, tokens, document, "ours"),
            "full attention": bench.peer("transformers", document, "full", "--model", models.roberta(bench, 16384),
                                         "--model-class", "RobertaModel", "--attention", "sdpa")})
        note = (f"{seconds('ours', times['ours'])}, {seconds('reference', times['reference'])}; "
                f"{peak_memory('ours', times['ours'])}, {peak_memory('reference', times['reference'])}; "
                + largest_difference(bench.folder / "ours", bench.folder / "reference"))
        work = f"forward f32, {tokens:,} tokens"
        rows.append(Row("P1", work, "reference f32", ratios(times["reference"], times["ours"]), goal, note=note))
        rows.append(Row("P1", work, "RoBERTa f32, full attention (SDPA)", ratios(times["full attention"], times["ours"]),
                        note=seconds("full attention", times["full attention"])))
    return rows


def p2(bench: Bench) -> list[Row]:
    """Forward in bf16 and int8 at 4,096 tokens."""
    document = models.document(bench, 4096)
    times = bench.rounds({
        "reference f32": reference(bench, 4096, document, "reference"),
        "reference bf16": reference(bench, 4096, document, "reference_bf16", "--dtype", "bfloat16"),
        "ours bf16": ours(bench, 4096, document, "bf16", "bf16"),
        "ours int8": ours(bench, 4096, document, "int8", "int8")})
    exact = bench.folder / "reference"
    rows = []
    for precision, against, goal in (("bf16", "f32", Goal(4.6, 5.3)), ("int8", "f32", Goal(7.2, 9)),
                                     ("bf16", "bf16", Goal(3.8, 4.6))):
        mine, theirs = times[f"ours {precision}"], times[f"reference {against}"]
        notes = [seconds("ours", mine), seconds("reference", theirs),
                 median_cosine("ours", bench.folder / precision, exact)]
        if against == "bf16":
            notes.append(median_cosine("reference bf16", bench.folder / "reference_bf16", exact))
        rows.append(Row("P2", f"forward {precision}, 4,096 tokens", f"reference {against}", ratios(theirs, mine), goal,
                        note=", ".join(notes)))
    return rows


def p3(bench: Bench) -> list[Row]:
    """Short inputs, both sides warm; the reference pads them to its window."""
    rows = []
    for tokens, goal in ((32, Goal(22, 30)), (64, Goal(12, 16)), (128, Goal(6.5, 8)), (256, Goal(3.2, 4))):
        document = models.document(bench, tokens)
        times = bench.rounds({"reference": reference(bench, tokens, document, "reference", repeat=5),
                              "ours": ours(bench, tokens, document, "ours", repeat=31)})
        note = (f"{seconds('ours', times['ours'])}, {seconds('reference', times['reference'])}; "
                + largest_difference(bench.folder / "ours", bench.folder / "reference"))
        rows.append(Row("P3", f"forward f32, {tokens} tokens, warm", "reference f32",
                        ratios(times["reference"], times["ours"]), goal, note=note))
    return rows


def p4(bench: Bench) -> list[Row]:
    """Growth exponent of time over length, warm: the slope of log time over log length, least squares."""
    lengths = [1024, 2048, 4096, 8192, 16384]
    times = bench.rounds({str(n): ours(bench, 16384, models.document(bench, n), "ours", repeat=3) for n in lengths})
    exponents = [float(np.polyfit(np.log(lengths), np.log([times[str(n)][i]["compute_s"] for n in lengths]), 1)[0])
                 for i in range(bench.pairs)]
    note = ", ".join(seconds(f"{n:,}:", times[str(n)]) for n in lengths)
    return [Row("P4", "growth exponent of time, 1,024 to 16,384 tokens, f32", "-", exponents,
                Goal(1.03, 1.01, ceiling=True), unit="1", note=note)]


def useful_flop(tokens: int, global_tokens: int = 1) -> tuple[float, float]:
    """Of a forward pass: in products with weights; in attention. A multiply-add is 2; nothing that is padding counts.

    The rows of global tokens are counted re-associated (their keys and values are never projected for all tokens).
    """
    n, d, g = tokens, models.HIDDEN, global_tokens
    reach = models.WINDOW // 2
    pairs = n * (2 * reach + 1) - reach * (reach + 1)
    linear = 4 * n * d * d + 2 * n * d * models.FEED_FORWARD
    attention = 2 * d * pairs + 2 * n * g * d + 2 * models.HEADS * g * n * d + 3 * g * d * d
    return 2.0 * models.LAYERS * linear, 2.0 * models.LAYERS * attention


def p6(bench: Bench) -> list[Row]:
    """Share of the processor's peak in a whole forward pass at 4,096 tokens.

    int8: its linear layers at the int8 peak, its attention, which is bf16, at the bf16 peak.
    """
    document = models.document(bench, 4096)
    precisions = {"f32": Goal(0.82, 0.90), "bf16": Goal(0.76, 0.85), "int8": Goal(0.60, 0.70)}
    times = bench.rounds({"peak": [bench.program("peak_bench"), bench.threads]} | {
        name: ours(bench, 4096, document, name, name, repeat=3) for name in precisions})
    linear, attention = useful_flop(4096)
    rows = []
    for name, goal in precisions.items():
        peaks = [bench.peak(times["peak"], name), bench.peak(times["peak"], "bf16" if name == "int8" else name)]
        if None in peaks:
            print(f"P6: this processor has no {name} arithmetic; no share of its peak", flush=True)
            continue
        at_peak = (linear / peaks[0] + attention / peaks[1]) / 1e9 / bench.threads
        rows.append(Row("P6", f"forward {name}, 4,096 tokens, warm", f"peak {name}",
                        [at_peak / one["compute_s"] for one in times[name]], goal, unit="1",
                        note=f"{seconds('ours', times[name])}; peak {peaks[0]:.0f} GFLOP/s a core"))
    return rows


def p9(bench: Bench) -> list[Row]:
    """What global tokens cost."""
    times = bench.rounds({str(count): ours(bench, 4096, models.document(bench, 4096, count), "ours", repeat=5)
                          for count in (0, 1, 32)})
    return [Row("P9", f"forward f32, 4,096 tokens, {count} global, warm", "no global token",
                ratios(times[str(count)], times["0"]), goal,
                note=f"{seconds('with', times[str(count)])}, {seconds('without', times['0'])}")
            for count, goal in ((1, Goal(1.02, 1.005, ceiling=True)), (32, Goal(1.12, 1.09, ceiling=True)))]


def p10(bench: Bench) -> list[Row]:
    """Peak of resident memory, loading included on our side and not on the reference's."""
    rows = []
    for tokens, goal in ((4096, Goal(64, 45, ceiling=True)), (16384, Goal(200, 165, ceiling=True))):
        weights = (models.longformer(bench, tokens) / "model.safetensors").stat().st_size
        times = bench.rounds({"ours": ours(bench, tokens, models.document(bench, tokens), "ours")})["ours"]
        rows.append(Row("P10", f"peak memory f32, {tokens:,} tokens", "one copy of the weights",
                        [(one["peak_rss_bytes"] - weights) / MIB for one in times], goal, unit="MiB",
                        note=f"weights {weights / MIB:.0f} MiB"))
    document = models.document(bench, 4096)
    times = bench.rounds({"reference": reference(bench, 4096, document, "reference"),
                          "ours": ours(bench, 4096, document, "ours", "int8")})
    rows.append(Row("P10", "peak memory int8, 4,096 tokens, whole process", "reference f32, whole process",
                    ratios(times["ours"], times["reference"], "peak_rss_bytes"), Goal(0.20, 0.13, ceiling=True),
                    note=f"{peak_memory('ours', times['ours'])}, {peak_memory('reference', times['reference'])}"))
    return rows


def e2(bench: Bench) -> list[Row]:
    """From the start of the process to the first output of 64 tokens; files are in the page cache on both sides."""
    document = models.document(bench, 64)
    times = bench.rounds({"reference": reference(bench, 64, document, "reference"),
                          "ours": ours(bench, 64, document, "ours")})
    field = "first_output_s"
    return [Row("E2", "start to first output, 64 tokens, f32", "reference f32",
                ratios(times["ours"], times["reference"], field), Goal(0.10, 0.03, ceiling=True),
                note=f"{seconds('ours', times['ours'], field)}, {seconds('reference', times['reference'], field)}")]
