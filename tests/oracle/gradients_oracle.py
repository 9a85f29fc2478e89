#!/usr/bin/env python3
"""`longformer gradients` beside autograd: loss and the derivative by every parameter, for every head of every family on
random checkpoints, masks, global tokens and labels; and, where no class of the reference knows the pattern (dilation,
causal windows, other windows), beside dense autograd of the same pattern."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

import common
import heads_oracle
import random_cases
import random_overrides
import reference

# A parameter's derivative may be off by this share of its own norm and that share of all of them.
OWN_SHARE, ALL_SHARE = 1e-4, 1e-6
IGNORED = -100


def random_labels(rng: np.random.Generator, config, task: str, ids: np.ndarray) -> dict[str, np.ndarray]:
    """Targets as the tensors that the command and the reference's classes call them."""
    batch, length = ids.shape[0], ids.shape[-1]
    outputs = config.vocab_size if task == "MaskedLM" else config.num_labels
    if task in ("MaskedLM", "PreTraining", "TokenClassification"):
        outputs = config.vocab_size if task == "PreTraining" else outputs
        labels = rng.integers(outputs, size=ids.shape)
        labels[rng.random(ids.shape) < rng.choice([0.0, 0.3, 0.85])] = IGNORED
        if (labels == IGNORED).all():
            labels[0, 0] = 0
        return {"labels": labels}
    if task == "QuestionAnswering":
        first = rng.integers(length, size=batch)
        return {"start_positions": first, "end_positions": np.array([rng.integers(one, length) for one in first])}
    if task == "MultipleChoice":
        return {"labels": rng.integers(ids.shape[1], size=batch)}
    kind = config.problem_type or ("regression" if outputs == 1 else "single_label_classification")
    if kind == "regression":
        return {"labels": rng.standard_normal((batch, outputs)).astype(np.float32)}
    if kind == "multi_label_classification":
        return {"labels": rng.integers(2, size=(batch, outputs)).astype(np.float32)}
    return {"labels": rng.integers(outputs, size=batch)}


def loss_of(output, labels: dict[str, torch.Tensor], config, task: str, rows: int, smoothing: float) -> torch.Tensor:
    """The loss that the class itself computes (without smoothing), of the rows that the caller gave."""
    functional = torch.nn.functional
    if task == "QuestionAnswering":
        parts = [functional.cross_entropy(output[f"{side}_logits"][:, :rows], labels[f"{side}_positions"])
                 for side in ("start", "end")]
        return sum(parts) / 2
    logits = output["prediction_logits"] if "prediction_logits" in output else output["logits"]
    if task in ("MaskedLM", "PreTraining", "TokenClassification"):
        logits = logits[:, :rows]
    target = labels["labels"]
    if target.is_floating_point():
        target = target.to(logits.dtype)
        kind = config.problem_type or "regression"
        return (functional.mse_loss(logits, target) if kind == "regression"
                else functional.binary_cross_entropy_with_logits(logits, target))
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), target.reshape(-1),
                                    ignore_index=IGNORED, label_smoothing=smoothing)


def autograd(model: torch.nn.Module, inputs: reference.Tensors, labels: reference.Tensors, task: str,
             reaches: list | None, smoothing: float) -> dict[str, np.ndarray]:
    """Loss and derivatives in float64, by the names of named_parameters()."""
    model = copy.deepcopy(model).double().eval()
    config, rows = model.config, inputs["input_ids"].shape[-1]
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    if config.model_type == "longformer":
        inputs = reference._pad_to_windows(model.longformer, inputs)
    arguments = {name: torch.from_numpy(value) for name, value in inputs.items()}
    if config.model_type == "longformer":
        attention = contextlib.nullcontext()
    elif config.model_type == "modernbert":
        attention = reference._modernbert_attention(reaches)
    else:
        attention = reference._bert_attention(reference.bare(model), reaches)
    targets = {name: torch.from_numpy(value) for name, value in labels.items()}
    with torch.enable_grad(), reference._softmax_in_the_type_of_its_input(), attention:
        loss = loss_of(model(**arguments), targets, config, task, rows, smoothing)
        loss.backward()
    result = {"loss": loss.detach().numpy()}
    for name, parameter in model.named_parameters():
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        result[name] = gradient.detach().numpy()
    return result


def compare(got: reference.Tensors, want: reference.Tensors) -> tuple[list[str], float]:
    """What is wrong, and the largest error by what is allowed."""
    wrong, worst = [], 0.0
    if sorted(got) != sorted(want):
        return [f"missing {sorted(set(want) - set(got))}, too many {sorted(set(got) - set(want))}"], float("inf")
    everything = np.sqrt(sum(float((value ** 2).sum()) for name, value in want.items() if name != "loss"))
    for name, value in want.items():
        if got[name].shape != value.shape:
            wrong.append(f"{name}: shape {got[name].shape}, not {value.shape}")
            continue
        error = np.linalg.norm(got[name].astype(np.float64) - value)
        allowed = OWN_SHARE * np.linalg.norm(value) + ALL_SHARE * everything
        if name == "loss":
            allowed = 2e-5 * max(1.0, abs(float(value)))
        ratio = 0.0 if error == 0 else float(error / allowed) if np.isfinite(error) and allowed else float("inf")
        worst = max(worst, ratio)
        if not ratio <= 1.0:
            wrong.append(f"{name}: error {error:.3g}, allowed {allowed:.3g} (norm {np.linalg.norm(value):.3g})")
    return wrong, worst


def command(options, model: Path, tensors: reference.Tensors, scratch: Path, arguments: list) -> reference.Tensors:
    """`longformer gradients` on tensors."""
    source, target = scratch / "in.safetensors", scratch / "gradients.safetensors"
    target.unlink(missing_ok=True)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, source)
    common.run_command(options.binary, "gradients", "--model", model, "--inputs", source, "--outputs", target,
                       *arguments)
    return load_file(target)


def original_layout(rng: np.random.Generator, folder: Path) -> list:
    """Turns a saved RoBERTa into the first release's layout, with windows, dilation and, mostly, a causal mask."""
    fields = json.loads((folder / "config.json").read_text())
    layers = fields["num_hidden_layers"]
    sides = [int(rng.integers(1, 40)) for _ in range(layers)]
    steps = [int(rng.integers(1, 5)) for _ in range(layers)]
    causal = bool(rng.random() < 0.7)
    fields |= {"attention_mode": "tvm", "autoregressive": causal, "attention_window": sides,
               "attention_dilation": steps}
    (folder / "config.json").write_text(json.dumps(fields))
    return [(side, 0 if causal else side, step) for side, step in zip(sides, steps)]


def one_case(options, report: common.Report, seed: int) -> None:
    """One head on one random checkpoint; every fourth case has a pattern that only this engine knows."""
    rng = np.random.default_rng(seed)
    dense = seed % 4 == 3
    name = ("RobertaForMaskedLM", "BertForTokenClassification", "RobertaForQuestionAnswering",
            "BertForMaskedLM")[seed // 4 % 4] if dense else heads_oracle.CLASSES[seed * 7 % len(heads_oracle.CLASSES)]
    prefix, task = name.split("For", 1)
    family = heads_oracle.FAMILIES[prefix]
    length = min(random_cases.random_length(rng), 300)
    config = heads_oracle._config(rng, family, task, length)
    model = reference.model_class(name)(config).eval()
    reference.fill_random(model, rng, float(rng.choice([0.02, 0.05, 0.1])))
    ours, theirs, note = heads_oracle._inputs(rng, config, task, length)
    labels = random_labels(rng, config, task, ours["input_ids"])
    by_class = any(value.dtype != np.float32 for value in labels.values()) and task != "QuestionAnswering"
    smoothing = 0.1 if by_class and rng.random() < 0.3 else 0.0
    arguments, reaches = ["--threads", int(rng.integers(1, 4)), "--label-smoothing-factor", smoothing], None
    arguments += ["--gradient-checkpointing", str(rng.random() < 0.3).lower()]
    with common.Scratch(options, f"gradients_{seed}") as scratch:
        model.save_pretrained(scratch.path)
        renamed = False
        if dense and family == "roberta":
            reaches, renamed = original_layout(rng, scratch.path), True
            # A padded query of that layout attends to nothing, a RoBERTa's to everything: only real ones here.
            for tensors in (ours, theirs):
                tensors.pop("attention_mask", None)
            ours["global_attention_mask"] = np.zeros_like(ours["input_ids"])
            arguments += ["--class", name.replace("Roberta", "Longformer")]
        elif dense:
            more, reaches = random_overrides.windows(rng, reference.bare(model), length)
            arguments += more
        want = autograd(model, theirs, labels, task, reaches, smoothing)
        ratio = 0.0
        try:
            got = command(options, scratch.path, ours | labels, scratch.path, arguments)
            if renamed:
                got = {key.replace("longformer.", "roberta.", 1): value for key, value in got.items()
                       if "_global." not in key}
            want = {key: value for key, value in want.items() if "seq_relationship" not in key
                    and not (task == "PreTraining" and ".pooler." in key)}
            wrong, ratio = compare(got, want)
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{name}, shape {list(ours['input_ids'].shape)}, {note} {arguments} {reaches}", wrong, ratio)


def main() -> int:
    options = common.parser(__doc__, cases=100).parse_args()
    report = common.Report("gradients", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
