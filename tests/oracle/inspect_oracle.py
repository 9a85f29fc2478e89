#!/usr/bin/env python3
"""`inspect` beside the reference on random configurations: parameters of every class that it names, and FLOP.

Parameters are those of the class, for all families, heads too. FLOP: the `torch` convention against
torch.utils.flop_counter on BERT and RoBERTa with eager attention, to the unit. The reference's Longformer multiplies
chunks, which that convention does not: there the linear layers are compared. ModernBERT's angles are a product in the
reference, which is no part of our counts: there only parameters are.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

import common
import random_cases
import reference  # noqa: F401  (sets up the reference quietly)

FAMILIES = ["longformer", "bert", "roberta", "xlm-roberta", "camembert", "modernbert"]
NOT_LINEAR = {"scores", "context"}
# A class with a second head, which is none of ours.
SKIPPED = {"BertForPreTraining"}


def random_class(rng: np.random.Generator, family: str) -> str:
    """The bare model or one with a head."""
    names = [random_cases.BARE[family]] + [name for name in random_cases.CLASSES[family] if name not in SKIPPED]
    return str(rng.choice(names))


def counted_flop(model: torch.nn.Module, inputs: dict, linear_only: bool) -> int:
    """What the reference's counter sees of one pass; with linear_only without batched products."""
    with FlopCounterMode(display=False) as counter:
        model(**inputs)
    products = counter.get_flop_counts()["Global"]
    return sum(int(flop) for operator, flop in products.items()
               if not linear_only or "bmm" not in str(operator))


def check_flop(rng: np.random.Generator, model: torch.nn.Module, record: dict, length: int, globals_: int) -> list[str]:
    """One document through the model, beside the sum of our modules."""
    is_longformer = model.config.model_type == "longformer"
    ids = rng.integers(3, model.config.vocab_size, (1, length))
    ids[ids == model.config.pad_token_id] = (model.config.pad_token_id + 1) % model.config.vocab_size
    inputs = {"input_ids": torch.from_numpy(ids)}
    if is_longformer:
        mask = torch.zeros((1, length), dtype=torch.long)
        mask[0, :globals_] = 1
        inputs["global_attention_mask"] = mask
    if "MultipleChoice" in type(model).__name__:
        inputs = {name: value[:, None] for name, value in inputs.items()}
    ours = sum(module["torch"] for module in record["modules"]
               if not is_longformer or module["name"] not in NOT_LINEAR)
    theirs = counted_flop(model, inputs, linear_only=is_longformer)
    what = "FLOP of linear layers" if is_longformer else "FLOP"
    return [] if ours == theirs else [f"{what}: {ours}, the reference's counter says {theirs}"]


def one_case(options, report: common.Report, seed: int) -> None:
    """The families in turn."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    length = random_cases.random_length(rng)
    config = random_cases.random_config(rng, family, length, small=length > 200)
    config._attn_implementation = "eager"
    window = 1
    if family == "longformer":
        # The reference pads to a multiple of the window, and counts the padding.
        config.attention_window = [int(rng.choice([4, 8, 16]))] * config.num_hidden_layers
        window = config.attention_window[0]
        length = -(-length // window) * window
        config.max_position_embeddings += window
    name = random_class(rng, family)
    if "QuestionAnswering" in name:
        config.num_labels = 2
    elif "Sequence" in name or "Token" in name:
        config.num_labels = int(rng.integers(1, 9))
    globals_ = int(rng.integers(0, min(length, 5) + 1)) if family == "longformer" else 0
    wrong = []
    with common.Scratch(options, f"inspect_{seed}") as scratch:
        try:
            model = getattr(transformers, name)(config).eval()
            config.architectures = [name]
            path = scratch.path / "config.json"
            path.write_text(json.dumps(config.to_dict()))
            output = common.run_command(options.binary, "inspect", "--model", path, "--length", length, "--global",
                                        globals_, "--json").stdout
            record = common.json_lines(output)[0]
            parameters = sum(parameter.numel() for parameter in model.parameters())
            if record["model_class"] != name:
                wrong.append(f"class {record['model_class']}")
            if record["parameters"] != parameters:
                wrong.append(f"{record['parameters']} parameters, the reference has {parameters}")
            if family != "modernbert":
                wrong += check_flop(rng, model, record, length, globals_)
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{name}, {length} tokens, {globals_} global, window {window}", wrong)


def main() -> int:
    options = common.parser(__doc__, cases=20).parse_args()
    report = common.Report("inspect", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
