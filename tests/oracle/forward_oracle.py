#!/usr/bin/env python3
"""`longformer forward` beside the reference on random checkpoints of all families, all rows, all hidden states."""

from __future__ import annotations

import sys

import numpy as np

import common
import random_cases
import random_overrides
import reference

# In turn by seed. "original": the first release's layout of a Longformer; "dilated": the same layout with what
# only it can say, dilation and causal windows, from RoBERTa's weights.
KINDS = ["longformer", "bert", "modernbert", "roberta", "original", "modernbert", "longformer", "xlm-roberta",
         "dilated", "camembert"]


def _change(rng: np.random.Generator, model, length: int, table: int) -> tuple[list, random_overrides.Reaches]:
    """Options of the command; the reference is changed alike."""
    arguments, reaches = [], None
    if table < length:
        arguments += random_overrides.longer(rng, model, length)
    if rng.random() < 0.3:
        more, reaches = random_overrides.windows(rng, model, length)
        arguments += more
    return arguments, reaches


def one_case(options, report: common.Report, seed: int) -> None:
    """One case in 16 is longer than a strip of keys (2,048); a third reads its files otherwise than they say."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    family = {"original": "longformer", "dilated": "roberta"}.get(kind, kind)
    long = rng.random() < 1 / 16
    length = int(rng.integers(1000, 2400)) if long else random_cases.random_length(rng)
    # The length that the checkpoint's positions serve.
    table = int(rng.integers(1, length + 1)) if kind == family and rng.random() < 0.15 else length
    config = random_cases.random_config(rng, family, table, small=long)
    model = random_cases.random_model(rng, family, config)
    threads = int(rng.integers(1, 4))
    with common.Scratch(options, f"forward_{seed}") as scratch:
        if kind == family:
            storage = random_cases.save(rng, model, scratch.path, str(rng.choice(random_cases.STORAGES)))
            model_class = random_cases.BARE[family]
            model = reference.bare(model)
            arguments, reaches = _change(rng, model, length, table)
        else:
            model = reference.bare(model)
            reaches = random_overrides.save_original(rng, model, scratch.path)
            storage, model_class, arguments = kind, "LongformerModel", []
        inputs = random_cases.random_inputs(rng, config, length, 1 if long else int(rng.integers(1, 5)))
        if kind == "dilated":  # hidden queries are silent in Longformer and not in RoBERTa
            inputs.pop("attention_mask", None)
        single, double = reference.run(model, inputs, reaches)
        limit, ratio = common.tolerance(single, double), 0.0
        try:
            got = common.forward(options.binary, scratch.path, inputs, scratch.path, threads=threads,
                                 model_class=model_class, arguments=arguments)
            ratio, wrong = common.compare(got, single, limit)
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{type(model).__name__} {storage}, {config.num_hidden_layers} layers, "
                   f"{config.num_attention_heads} heads of {config.hidden_size // config.num_attention_heads}, "
                   f"pad {config.pad_token_id}, positions {config.max_position_embeddings}, "
                   f"{' '.join(str(argument) for argument in arguments)} {random_cases.describe(inputs)}, "
                   f"threads {threads}", wrong, ratio)


def main() -> int:
    options = common.parser(__doc__, cases=20).parse_args()
    report = common.Report("forward", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
