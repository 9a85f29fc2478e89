#!/usr/bin/env python3
"""The same bits for any number of threads, any batch, any order, in each precision: `forward` and `embed`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import common
import random_cases
import random_text
import tokenizer_oracle

DOCUMENTS = 16
COMPUTES = ["f32", "bf16", "int8"]
FAMILIES = ["longformer", "bert", "modernbert", "roberta"]


def differing(one: np.ndarray, other: np.ndarray) -> int:
    """Elements whose bits differ; all of them where the shapes do."""
    if one.shape != other.shape:
        return max(one.size, other.size)
    return int((one.view(np.uint32) != other.view(np.uint32)).sum())


def first_difference(what: str, one: dict, other: dict) -> list[str]:
    """At most one line: the first tensor of two outputs that is not bit-equal."""
    if set(one) != set(other):
        return [f"{what}: other tensors"]
    for name in sorted(one):
        count = differing(one[name], other[name])
        if count:
            return [f"{what}: {name} differs in {count} of {one[name].size} elements"]
    return []


def row_of(outputs: dict, row: int, tokens: int) -> dict:
    """One document of a batch, cut to its tokens."""
    return {name: np.ascontiguousarray(value[row:row + 1, :tokens] if value.ndim == 3 else value[row:row + 1])
            for name, value in outputs.items()}


def forward_bits(options, rng: np.random.Generator, folder: Path, scratch: Path, config, lengths) -> list[str]:
    """Each precision: threads 1, 2, 3, 8; documents in padded batches of 16, 7 and 2, reversed, alone, without padding."""
    longest, pad = int(max(lengths)), config.pad_token_id
    ids = np.full((DOCUMENTS, longest), pad, np.int64)
    mask = (np.arange(longest)[None] < np.array(lengths)[:, None]).astype(np.int64)
    ids[mask == 1] = (pad + rng.integers(1, config.vocab_size, int(mask.sum()))) % config.vocab_size
    batch = {"input_ids": ids, "attention_mask": mask}
    if config.model_type == "longformer":
        batch["global_attention_mask"] = ((rng.random(ids.shape) < 0.05) & (mask == 1)).astype(np.int64)
        batch["global_attention_mask"][0] = 0
    wrong = []
    for compute in COMPUTES:
        run = lambda inputs, threads, compute=compute: common.forward(
            options.binary, folder, inputs, scratch, threads=threads, arguments=["--compute", compute])
        base = run(batch, 1)
        for threads in (2, 3, 8):
            wrong += first_difference(f"{compute}, threads {threads}", base, run(batch, threads))
        turned = run({name: value[::-1] for name, value in batch.items()}, 2)
        wrong += first_difference(f"{compute}, batch reversed", base,
                                  {name: value[::-1].copy() for name, value in turned.items()})
        for size in (2, 7):
            first = int(rng.integers(DOCUMENTS - size + 1))
            some = run({name: value[first:first + size] for name, value in batch.items()}, 2)
            for row in range(size):
                wrong += first_difference(f"{compute}, document {first + row} in a batch of {size}",
                                          row_of(base, first + row, longest), row_of(some, row, longest))
        for row in rng.choice(DOCUMENTS, 3, replace=False).tolist():
            alone = {name: value[row:row + 1] for name, value in batch.items()}
            wrong += first_difference(f"{compute}, document {row} of {longest} tokens alone",
                                      row_of(base, row, longest), run(alone, 2))
            tokens = int(lengths[row])
            alone = {name: value[row:row + 1, :tokens] for name, value in batch.items()}
            wrong += first_difference(f"{compute}, document {row} of {tokens} tokens without its padding to {longest}",
                                      row_of(base, row, tokens), run(alone, 1))
    return wrong


def embed_bits(options, rng: np.random.Generator, folder: Path, scratch: Path, tokens: int) -> list[str]:
    """`embed`: texts of different lengths together, alone and with other threads."""
    vocabulary = random_text.SPECIALS + [chr(c) for c in range(97, 111)]
    fields = json.loads((folder / "config.json").read_text())
    tokenizer_oracle.make_tokenizer(folder, "uncased", vocabulary)
    (folder / "config.json").write_text(json.dumps(fields, indent=2))
    (scratch / "texts").mkdir()
    files = []
    for index in range(DOCUMENTS):
        files.append(scratch / "texts" / f"{index}.txt")
        words = rng.choice(vocabulary[5:], int(rng.integers(1, max(2, tokens - 2))))
        files[-1].write_text(f"{' '.join(words)}\n")

    def run(names: list[Path], threads: int) -> dict[str, list[float]]:
        output = common.run_command(options.binary, "embed", "--model", folder, *names, "--json",
                                    "--threads", threads).stdout
        return {line["file"]: line["embedding"] for line in common.json_lines(output)}

    base, wrong = run(files, 1), []
    if len(base) != len({file.read_text() for file in files}):
        wrong.append(f"embed: {len(base)} vectors for {DOCUMENTS} files")
    for what, other in (("threads 3", run(files, 3)), ("reversed", run(files[::-1], 2))):
        wrong += [f"embed, {what}: another vector for {name}" for name in base
                  if other.get(name, base[name]) != base[name]]
    for name, vector in list(base.items())[:5]:
        if run([Path(name)], 2)[name] != vector:
            wrong.append(f"embed: another vector for {Path(name).name} alone")
    return wrong


def one_case(options, report: common.Report, seed: int) -> None:
    """The families in turn; one case in six has texts over several blocks of keys."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    longest = [20, 150, 150, 400, 400, 2400][int(rng.integers(6))]
    lengths = rng.integers(1, longest, DOCUMENTS)
    config = random_cases.random_config(rng, family, int(max(*lengths, 16)), small=longest > 400)
    model = random_cases.random_model(rng, family, config)
    with common.Scratch(options, f"bits_{seed}") as scratch:
        folder = scratch.path / "model"
        folder.mkdir()
        random_cases.save_weights(model, folder, "plain")
        fields = json.loads((folder / "config.json").read_text())
        fields["architectures"] = [random_cases.BARE[family]]
        (folder / "config.json").write_text(json.dumps(fields))
        try:
            wrong = forward_bits(options, rng, folder, scratch.path, config, lengths)
            wrong += embed_bits(options, rng, folder, scratch.path, int(max(*lengths, 16)))
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{type(model).__name__}, {config.num_attention_heads} heads of "
                   f"{config.hidden_size // config.num_attention_heads}, lengths {lengths.tolist()}", wrong)


def main() -> int:
    options = common.parser(__doc__, cases=6).parse_args()
    report = common.Report("bits", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
