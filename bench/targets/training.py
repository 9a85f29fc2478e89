"""P11: a step of masked-language-model training in the shape of longformer-base, 4,096 tokens, AdamW."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from measure import Bench, Goal, Row, Timing, peak_memory, ratios, run, seconds

import models

TOKENS, HEAD_DIM = 4096, 64
STEPS = 2  # the first one of a process also pays for the pages of its memory and for making kernels: the last one counts


def masked_model(bench: Bench) -> Path:
    """Longformer with a masked-language-model head, random weights, and a word for every id."""
    def write(folder: Path) -> None:
        import torch
        import transformers
        config = transformers.LongformerConfig(
            vocab_size=models.VOCABULARY, attention_window=models.WINDOW, max_position_embeddings=TOKENS + 2,
            type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1)
        torch.manual_seed(1)
        transformers.LongformerForMaskedLM(config).save_pretrained(folder)
        special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
        words = special + [f"w{index}" for index in range(models.VOCABULARY - len(special))]
        (folder / "vocab.txt").write_text("\n".join(words) + "\n")
        (folder / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "model_max_length": TOKENS}))
    return bench.make("masked_longformer", write)


def text(bench: Bench) -> Path:
    """Words of the vocabulary, evenly: one whole sequence of them."""
    def write(path: Path) -> None:
        chosen = random.Random(1)
        path.write_text(" ".join(f"w{chosen.randrange(models.VOCABULARY - 5)}" for _ in range(TOKENS - 2)))
    return bench.make("one_sequence.txt", write)


def train_once(bench: Bench, *options: object) -> Callable[[], Timing]:
    """`longformer train mlm` in a new process: seconds of the second step, loss of the first, the peak of the process."""
    model, words, output = masked_model(bench), text(bench), bench.folder / "run"
    command = [bench.binary, "train", "mlm", "--model", model, "--output", output, "--max-length", TOKENS, "--max-steps", STEPS,
               "--per-device-train-batch-size", 1, "--logging-steps", 1, "--save-steps", 0, "--threads", bench.threads,
               *options, words]

    def once() -> Timing:
        shutil.rmtree(output, ignore_errors=True)
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            said = process.stderr.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command}\nended with {process.returncode}: {said[-1500:]}")
        lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()[:STEPS]]
        shutil.rmtree(output)
        if [line["tokens"] for line in lines] != [TOKENS * (index + 1) for index in range(STEPS)]:
            raise SystemExit(f"{command}\ntrained on other batches than one sequence of {TOKENS} tokens: {lines}")
        return {"compute_s": lines[-1]["seconds"] - lines[-2]["seconds"], "loss": lines[0]["loss"],
                "peak_rss_bytes": usage.ru_maxrss * 1024}
    return once


def p11(bench: Bench) -> list[Row]:
    """Training step in f32 and bf16, its memory with and without checkpointing; what dilation and causal windows cost."""
    def reference(*options: object) -> Callable[[], Timing]:
        command = bench.peer("training", bench.folder, "unused", "--model", masked_model(bench), "--tokens", TOKENS,
                             "--repeat", STEPS, *options)

        def once() -> Timing:
            timing = run(command)
            return timing | {"compute_s": timing["passes_s"][-1]}
        return once
    sides = {"reference f32": reference(), "ours f32": train_once(bench),
             "reference bf16": reference("--dtype", "bfloat16"), "ours bf16": train_once(bench, "--bf16", "true"),
             "ours checkpointed": train_once(bench, "--gradient-checkpointing", "true")}
    times = bench.turns(sides)
    agree(times)
    rows = []
    for precision, goal in (("f32", Goal(3.0, 3.7)), ("bf16", Goal(3.5, 4.4))):
        mine, theirs = times[f"ours {precision}"], times[f"reference {precision}"]
        against = "reference f32" if precision == "f32" else "reference bf16 (autocast)"
        rows.append(Row("P11", f"training step {precision}, 4,096 tokens", against, ratios(theirs, mine), goal,
                        note=f"{seconds('ours', mine)}, {seconds('reference', theirs)}; "
                             f"{losses('ours', mine)}, {losses('reference', theirs)}"))
    theirs = times["reference f32"]
    for name, mine, goal in (("", times["ours f32"], Goal(0.35, 0.28, ceiling=True)),
                             (", checkpointed", times["ours checkpointed"], Goal(0.25, 0.20, ceiling=True))):
        rows.append(Row("P11", f"peak memory of training f32{name}", "reference f32, not checkpointed",
                        ratios(mine, theirs, "peak_rss_bytes"), goal,
                        note=f"{peak_memory('ours', mine)}, {peak_memory('reference', theirs)}"))
    mine = times["ours checkpointed"]
    rows.append(Row("P11", "training step f32, checkpointed", "reference f32, not checkpointed", ratios(theirs, mine),
                    note=seconds("ours", mine)))
    return rows + backward_rows(bench)


def losses(name: str, timings: list[Timing]) -> str:
    return f"{name} loss {statistics.median(one['loss'] for one in timings):.3f}"


def agree(times: Mapping[str, list[Timing]]) -> None:
    """Both sides hide other tokens and drop other activations: their losses are close, no more."""
    for side, timings in times.items():
        exact = times["reference f32"][0]["loss"]
        if any(abs(one["loss"] - exact) > 0.03 * exact for one in timings):
            raise SystemExit(f"the losses of {side} and of the reference differ: {timings}, {exact}")


def backward_rows(bench: Bench) -> list[Row]:
    """The way back of the attention kernel, time a counted pair."""
    command = [bench.program("backward_bench"), TOKENS, models.HEADS, HEAD_DIM, models.WINDOW, bench.threads, 11]
    results = bench.rounds({"backward": command})["backward"]
    rows = []
    for dtype in ("f32", "bf16"):
        cost = {}
        for one in results:
            for found in one["runs"]:
                if found["dtype"] == dtype:
                    cost.setdefault(found["pattern"], []).append(statistics.median(found["passes_s"]) / found["pairs"])
        for pattern in ("dilation 2", "causal"):
            if pattern in cost:
                rows.append(Row("P11", f"attention kernel backward {dtype}, window 512, {pattern}", "plain, a pair",
                                [a / b for a, b in zip(cost[pattern], cost["plain"])], Goal(1.05, 1.01, ceiling=True)))
    return rows
