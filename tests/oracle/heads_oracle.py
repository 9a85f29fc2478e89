#!/usr/bin/env python3
"""The logits of `longformer forward` beside the reference: every head of every family, on random checkpoints, masks
and global tokens; the default global tokens of each task where the reference finds them, and per row where it cannot."""

from __future__ import annotations

import sys

import numpy as np

import common
import random_cases
import reference

# In turn by seed.
CLASSES = [name for family in ("longformer", "bert", "roberta", "longformer", "modernbert")
           for name in random_cases.CLASSES[family]]
CLASSES += ["RobertaForMultipleChoice", "ModernBertForMultipleChoice", "ModernBertForQuestionAnswering",
            "XLMRobertaForSequenceClassification", "CamembertForTokenClassification", "XLMRobertaForMaskedLM"]
FAMILIES = {"Longformer": "longformer", "Bert": "bert", "Roberta": "roberta", "ModernBert": "modernbert",
            "XLMRoberta": "xlm-roberta", "Camembert": "camembert"}
PROBLEMS = [None, "single_label_classification", "multi_label_classification", "regression"]


def _config(rng: np.random.Generator, family: str, task: str, length: int):
    config = random_cases.random_config(rng, family, length, small=False)
    labels = int(rng.integers(1, 9))
    if task in ("SequenceClassification", "TokenClassification"):
        config.num_labels = labels
        if rng.random() < 0.5:
            config.id2label = {i: f"name {i}" for i in range(labels)}
    if task == "SequenceClassification":
        config.problem_type = PROBLEMS[int(rng.integers(4))]
    config.sep_token_id = int((config.pad_token_id + rng.integers(1, config.vocab_size)) % config.vocab_size)
    config.tie_word_embeddings = bool(rng.random() < 0.8)
    if family == "modernbert":
        config.classifier_pooling = str(rng.choice(["cls", "mean"]))
        config.classifier_bias = bool(rng.random() < 0.5)
        config.decoder_bias = bool(rng.random() < 0.7)
        config.classifier_activation = str(rng.choice(random_cases.ACTIVATIONS))
    return config


def _separators(rng: np.random.Generator, ids: np.ndarray, sep: int, other: int, counts: list[int]) -> None:
    """Puts as many separators as asked into each row and removes all others."""
    ids[ids == sep] = other
    for row, count in zip(ids.reshape(-1, ids.shape[-1]), counts):
        row[rng.choice(row.size, count, replace=False)] = sep


def _default_global(task: str, ids: np.ndarray, sep: int) -> np.ndarray:
    """The rule of each task, row by row."""
    mask = np.zeros_like(ids)
    if task == "SequenceClassification":
        mask[..., 0] = 1
    if task in ("QuestionAnswering", "MultipleChoice"):
        for row, marks in zip(ids.reshape(-1, ids.shape[-1]), mask.reshape(-1, ids.shape[-1])):
            places = np.flatnonzero(row == sep)
            if places.size and task == "QuestionAnswering":
                marks[:places[0]] = 1
            elif places.size:
                marks[places[0] + 2:] = 1
    return mask


def _inputs(rng: np.random.Generator, config, task: str, length: int) -> tuple[dict, dict, str]:
    """What the command gets, what the reference gets, and a word about the global tokens."""
    batch, choices = int(rng.integers(1, 4)), int(rng.integers(1, 4)) if task == "MultipleChoice" else 1
    ours = random_cases.random_inputs(rng, config, length, batch * choices)
    if config.model_type == "modernbert" and "mean" == config.classifier_pooling and "attention_mask" not in ours:
        ours["attention_mask"] = np.ones_like(ours["input_ids"])  # the reference's multiple choice wants one
    if "attention_mask" in ours and config.model_type == "modernbert":
        ours["attention_mask"][:, int(rng.integers(ours["attention_mask"].shape[1]))] = 1  # or the mean is of nothing
    note = ""
    theirs = dict(ours)
    # Separators in place of padding: there must be positions for them.
    fits = ours["input_ids"].shape[-1] < config.max_position_embeddings - config.pad_token_id
    if config.model_type == "longformer" and fits and rng.random() < 0.5:
        ours.pop("global_attention_mask", None)
        ids, sep = ours["input_ids"], config.sep_token_id
        other = next(i for i in range(config.vocab_size) if i not in (sep, config.pad_token_id))
        own = ids.shape[-1] >= 3 and rng.random() < 0.5
        most = min(5, ids.shape[-1])
        counts = [3 if own else int(rng.integers(0, most + 1)) for _ in range(len(ids))]
        _separators(rng, ids, sep, other, counts)
        theirs = dict(ours)
        # Where each row has three separators, or the task needs none, the reference finds them itself.
        if not own and task in ("QuestionAnswering", "MultipleChoice"):
            theirs["global_attention_mask"] = _default_global(task, ids, sep)
        note = f"default globals, separators {counts}"
    elif config.model_type == "longformer" and "global_attention_mask" not in ours:
        theirs["global_attention_mask"] = _default_global(task, ours["input_ids"], config.sep_token_id)
    if choices > 1 or task == "MultipleChoice":
        shape = (batch, choices, -1)
        ours = {name: value.reshape(shape) for name, value in ours.items()}
        theirs = {name: value.reshape(shape) for name, value in theirs.items()}
    return ours, theirs, note


def one_case(options, report: common.Report, seed: int) -> None:
    """One head on one random checkpoint."""
    rng = np.random.default_rng(seed)
    name = CLASSES[seed % len(CLASSES)]
    prefix, task = name.split("For", 1)
    family = FAMILIES[prefix]
    length = min(random_cases.random_length(rng), 300)
    config = _config(rng, family, task, length)
    model = reference.model_class(name)(config).eval()
    reference.fill_random(model, rng, float(rng.choice([0.02, 0.05, 0.1])))
    ours, theirs, note = _inputs(rng, config, task, length)
    with common.Scratch(options, f"heads_{seed}") as scratch:
        storage = random_cases.save(rng, model, scratch.path, str(rng.choice(random_cases.STORAGES)))
        single, double = reference.run_task(model, theirs)
        limit, ratio = common.tolerance(single, double), 0.0
        try:
            got = common.forward(options.binary, scratch.path, ours, scratch.path, threads=int(rng.integers(1, 4)),
                                 hidden_states=False)
            ratio, wrong = common.compare(got, single, limit)
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{name} {storage}, shape {list(ours['input_ids'].shape)}, {note}", wrong, ratio)


def main() -> int:
    options = common.parser(__doc__, cases=len(CLASSES)).parse_args()
    report = common.Report("heads", options)
    # Every class once at least, unless a single case is repeated.
    cases = options.cases if options.cases < 20 else max(options.cases, len(CLASSES))
    for seed in range(options.seed, options.seed + cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
