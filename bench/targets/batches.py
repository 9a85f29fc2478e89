"""Batches: P7 (BERT shapes beside ONNX Runtime) and P8 (documents of many lengths beside padded batches)."""

from __future__ import annotations

from measure import Bench, Goal, Row, largest_difference, median_cosine, ratios, seconds

import models

SHAPES = {"BERT-base": ("bert_base", {}), "MiniLM-L6": ("minilm", models.MINILM)}
BERT_VOCABULARY = 30522


def p7(bench: Bench) -> list[Row]:
    """BERT-base and MiniLM shapes, both sides warm, in f32 and int8."""
    return [row for name in SHAPES for count in (1, 16) for tokens in (128, 512)
            for row in beside_onnx(bench, name, count, tokens)]


def beside_onnx(bench: Bench, name: str, count: int, tokens: int) -> list[Row]:
    """f32 beside f32 and int8 beside int8 for one shape and batch."""
    model = models.bert(bench, *SHAPES[name])
    graphs = models.onnx_graphs(bench, model)
    batch = models.batch(bench, count, tokens, BERT_VOCABULARY)
    repeat = max(3, min(31, 16384 // (count * tokens)))
    commands = {}
    for precision, files in graphs.items():
        options = [word for file in files for word in ("--model", file)]
        commands[f"ONNX Runtime {precision}"] = bench.peer("onnx", batch, f"onnx_{precision}", *options, repeat=repeat)
        commands[f"ours {precision}"] = bench.ours(model, batch, f"ours_{precision}", precision, repeat)
    times = bench.rounds(commands)
    exact = bench.folder / "onnx_f32"
    agreement = {"f32": largest_difference(bench.folder / "ours_f32", exact),
                 "int8": median_cosine("ours", bench.folder / "ours_int8", exact) + ", "
                         + median_cosine("ONNX Runtime", bench.folder / "onnx_int8", exact)}
    rows = []
    for precision, goal in (("f32", Goal(1.1, 1.25)), ("int8", Goal(1.4, 1.8))):
        mine, theirs = times[f"ours {precision}"], times[f"ONNX Runtime {precision}"]
        rows.append(Row("P7", f"{name} {precision}, {count} x {tokens} tokens, warm", f"ONNX Runtime {precision}",
                        ratios(theirs, mine), goal,
                        note=f"{seconds('ours', mine)}, {seconds('ONNX Runtime', theirs)}; {agreement[precision]}"))
    return rows


def p8(bench: Bench) -> list[Row]:
    """16 documents of 64 to 4,096 tokens as one ragged batch."""
    model, documents = models.longformer(bench), models.ragged_documents(bench, 16, 64, 4096)
    reference = {"padded batches of 4": ["--batch-size", 4], "one by one": ["--batch-size", 1],
                 "padded batches of 4, sorted by length": ["--batch-size", 4, "--sorted"]}
    goals = {"padded batches of 4": Goal(4, 6), "one by one": Goal(2.3, 3)}
    commands = {"ours": [bench.program("ragged_bench"), model, documents, bench.folder / "ours", bench.threads, 1]}
    for name, options in reference.items():
        commands[name] = bench.peer("batches", documents, name, "--model", model, *options)
    times = bench.rounds(commands)
    return [Row("P8", "forward f32, 16 documents of 64 to 4,096 tokens, one batch", "reference f32, " + name,
                ratios(times[name], times["ours"]), goals.get(name),
                note=f"{seconds('ours', times['ours'])}, {seconds('reference', times[name])}; "
                     + largest_difference(bench.folder / "ours", bench.folder / name))
            for name in reference]
