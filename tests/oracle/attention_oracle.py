#!/usr/bin/env python3
"""`longformer forward --attentions` beside the reference: the probabilities of all layers, heads and tokens."""

from __future__ import annotations

import sys

import numpy as np

import common
import random_cases
import random_overrides
import reference

FAMILIES = ["longformer", "bert", "longformer", "modernbert", "longformer", "roberta"]


def _globals(inputs: dict[str, np.ndarray]) -> np.ndarray:
    """How many tokens of each row are global; a masked one is not."""
    shape = inputs["input_ids"].shape
    mask = inputs.get("attention_mask", np.ones(shape, np.int64))
    return (mask * inputs.get("global_attention_mask", np.zeros(shape, np.int64))).sum(axis=1)


def _as_written(tensors: dict[str, np.ndarray], model, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The reference's global attentions with its own padding (`reference.run` pads more where windows differ), and
    zeros in slots that a row has no global token for: the class leaves there what no token looks at."""
    counts, length = _globals(inputs), inputs["input_ids"].shape[1]
    for name in [name for name in tensors if name.startswith("global_attentions.")]:
        widest = max(model.config.attention_window)
        padded = -(-length // widest) * widest
        values = tensors[name].copy()
        for row, count in enumerate(counts):
            values[row, :, :, count:] = 0.0
        assert not values[:, :, length:].any()
        full = np.zeros((*values.shape[:2], padded, values.shape[3]), values.dtype)
        full[:, :, :length] = values[:, :, :length]
        tensors[name] = full
    return tensors


def one_case(options, report: common.Report, seed: int) -> None:
    """A fifth of the cases reads BERT, RoBERTa or ModernBERT with other windows and dilation, or other windows of a
    Longformer."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    length = min(random_cases.random_length(rng), 280)
    config = random_cases.random_config(rng, family, length, small=False)
    model = random_cases.random_model(rng, family, config)
    threads = int(rng.integers(1, 4))
    with common.Scratch(options, f"attention_{seed}") as scratch:
        random_cases.save_weights(model, scratch.path, "plain")
        model = reference.bare(model)
        arguments, reaches = [], None
        if rng.random() < 0.2:
            arguments, reaches = random_overrides.windows(rng, model, length)
        inputs = random_cases.random_inputs(rng, config, length, int(rng.integers(1, 5)))
        single, double = reference.run(model, inputs, reaches, attentions=True)
        single, double = _as_written(single, model, inputs), _as_written(double, model, inputs)
        limit, ratio = common.tolerance(single, double), 0.0
        try:
            got = common.forward(options.binary, scratch.path, inputs, scratch.path, threads=threads,
                                 model_class=random_cases.BARE[family], arguments=[*arguments, "--attentions"])
            ratio, wrong = common.compare(got, single, limit)
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{family}, {config.num_hidden_layers} layers, {config.num_attention_heads} heads, "
                   f"{' '.join(str(argument) for argument in arguments)} {random_cases.describe(inputs)}, "
                   f"globals {_globals(inputs).tolist()}, threads {threads}", wrong, ratio)


def main() -> int:
    options = common.parser(__doc__, cases=20).parse_args()
    report = common.Report("attention", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
