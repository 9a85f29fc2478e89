#!/usr/bin/env python3
"""`longformer forward` beside the reference on random Longformer and BERT checkpoints, all rows, all hidden states."""

from __future__ import annotations

import sys

import numpy as np

import common
import random_cases
import reference


def one_case(options, report: common.Report, seed: int) -> None:
    """Even seeds are Longformer, odd ones BERT; one case in 16 is longer than a strip of keys (2,048)."""
    rng = np.random.default_rng(seed)
    family = "bert" if seed % 2 else "longformer"
    long = rng.random() < 1 / 16
    length = int(rng.integers(1000, 2400)) if long else random_cases.random_length(rng)
    config = random_cases.random_config(rng, family, length, small=long)
    model = random_cases.random_model(rng, family, config)
    threads = int(rng.integers(1, 4))
    with common.Scratch(options, f"forward_{seed}") as scratch:
        storage = random_cases.save(rng, model, scratch.path, str(rng.choice(random_cases.STORAGES)))
        inputs = random_cases.random_inputs(rng, config, length, 1 if long else int(rng.integers(1, 5)))
        single, double = reference.run(reference.bare(model), inputs)
        limit, ratio = common.tolerance(single, double), 0.0
        try:
            got = common.forward(options.binary, scratch.path, inputs, scratch.path, threads=threads,
                                 model_class=random_cases.BARE[family])
            ratio, wrong = common.compare(got, single, limit)
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        windows = f" windows {config.attention_window}" if family == "longformer" else ""
        report.add(seed, f"{type(model).__name__} {storage}, {config.num_hidden_layers} layers, "
                   f"{config.num_attention_heads} heads of {config.hidden_size // config.num_attention_heads}, "
                   f"{config.hidden_act}, pad {config.pad_token_id}, positions "
                   f"{config.max_position_embeddings},{windows} {random_cases.describe(inputs)}, "
                   f"threads {threads}", wrong, ratio)


def main() -> int:
    options = common.parser(__doc__, cases=20).parse_args()
    report = common.Report("forward", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
