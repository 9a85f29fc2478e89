#!/usr/bin/env python3
"""Published sums and first elements of tiny deterministic models. Needs numpy and safetensors, not PyTorch.

The cases are fixed: --cases and --seed are there because every script of this folder takes them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

import common
import fill_rule

ELEMENT, SUM = 2e-5, 1e-4


def write_model(folder: Path, config: dict, weights: fill_rule.Tensors) -> None:
    """A checkpoint directory."""
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def logits(options, scratch: common.Scratch, inputs: fill_rule.Tensors) -> np.ndarray:
    """What the class that config.json names gives."""
    return common.forward(options.binary, scratch.path, inputs, scratch.path, hidden_states=False)["logits"]


def check(values: np.ndarray, total: float | None, absolute: float | None = None, first: tuple[float, ...] = (),
          last: tuple[float, ...] = ()) -> list[str]:
    """Compares sums and end elements of `values`, flattened; one line for each difference."""
    flat, wrong = values.astype(np.float64).ravel(), []
    pairs = [] if total is None else [("sum", flat.sum(), total, SUM)]
    if absolute is not None:
        pairs.append(("sum of absolutes", np.abs(flat).sum(), absolute, SUM))
    pairs += [(f"element {i}", flat[i], want, ELEMENT) for i, want in enumerate(first)]
    pairs += [(f"element {i - len(last)} from the end", flat[i - len(last)], want, ELEMENT)
              for i, want in enumerate(last)]
    for what, got, want, limit in pairs:
        if not abs(got - want) <= limit:
            wrong.append(f"{what}: got {got:.6f}, want {want:.6f}")
    return wrong


def longformer_answers(options, report: common.Report) -> None:
    """Two layers with windows 4 and 8, with three global tokens and without."""
    config, weights, inputs = fill_rule.longformer()
    with common.Scratch(options, "known_longformer") as scratch:
        write_model(scratch.path, config, weights)
        run = lambda tensors: common.forward(options.binary, scratch.path, tensors, scratch.path,
                                             model_class="LongformerModel")["last_hidden_state"]
        hidden = run(inputs)
        report.add(0, "longformer hidden[0]", check(
            hidden[0], 2.214176, 186.150471, (-2.543428, -1.347632, -0.444943, -0.139723),
            (0.192206, 0.801867, 0.258492, 0.683683)))
        report.add(0, "longformer hidden[1][0:9]", check(hidden[1, :9], -0.461783, 125.036320))
        report.add(0, "longformer hidden[1][9:13], padding", check(
            hidden[1, 9:], 3.189919, None, (-2.380467, 0.721268)))
        report.add(0, "longformer logits[0]", check(
            logits(options, scratch, inputs)[0], -4.983020, None, (0.50465, 0.899902, 1.518176, 0.889691)))
        del inputs["global_attention_mask"]
        report.add(0, "longformer hidden[0] without globals", check(
            run(inputs)[0], 1.428359, None, (-2.876257, -0.827768)))


def bert_answers(options, report: common.Report) -> None:
    """Two layers, full attention, two token types, right padding."""
    config, weights, inputs = fill_rule.bert()
    with common.Scratch(options, "known_bert") as scratch:
        write_model(scratch.path, config, weights)
        report.add(0, "bert logits[0]", check(
            logits(options, scratch, inputs)[0], -32.043043, 182.698757,
            (-0.666383, -0.851677, 0.084928, -0.628895), (0.47195, -0.516722, 0.478109, -0.130968)))


def roberta_answers(options, report: common.Report) -> None:
    """Two layers, full attention, positions after padding, right padding."""
    config, weights, inputs = fill_rule.roberta()
    with common.Scratch(options, "known_roberta") as scratch:
        write_model(scratch.path, config, weights)
        values = logits(options, scratch, inputs)
        report.add(0, "roberta logits[0]", check(
            values[0], -21.983873, 197.423549, (0.065979, 0.701874, -0.072888, -0.949201),
            (-1.09455, -1.882874, 0.755998, -0.127498)))
        report.add(0, "roberta logits[1][0:6]", check(
            values[1, :6], -9.228404, None, (0.349914, -0.117344, 0.17762, 0.529853)))


def modernbert_answers(options, report: common.Report) -> None:
    """Four layers, two of them local with a window of 5; without biases and with all of them."""
    runs = {}
    for biases in (False, True):
        config, weights, inputs = fill_rule.modernbert(biases)
        with common.Scratch(options, f"known_modernbert_{biases}") as scratch:
            write_model(scratch.path, config, weights)
            outputs = common.forward(options.binary, scratch.path, inputs, scratch.path, model_class="ModernBertModel")
            runs[biases] = outputs, logits(options, scratch, inputs)
    outputs, plain = runs[False]
    report.add(0, "modernbert logits[0]", check(
        plain[0], -18.304526, 196.544531, (0.365743, -0.561261, 0.226026, 0.714684),
        (1.147062, 0.302826, -0.331061, -0.974796)))
    report.add(0, "modernbert logits[1][0:6]", check(
        plain[1, :6], -9.046487, 128.480078, (0.103815, 0.06492, 0.252127, 1.153423)))
    for index, first in enumerate(((-1.182905, -0.083579), (-1.220542, 0.001502), (-1.40926, -0.739289),
                                   (-1.849824, -1.095282), (-1.852773, -1.518834))):
        report.add(0, f"modernbert hidden state {index}", check(
            outputs[f"hidden_states.{index}"][0], None, None, first))
    report.add(0, "modernbert last hidden state", check(
        outputs["last_hidden_state"][0], -1.083616, 122.488398, (-0.872925, -0.966907)))
    biased = runs[True][1]
    report.add(0, "modernbert with biases, logits[0]", check(
        biased[0], 32.07195, 193.159303, (0.083607, -0.005283, 0.812781, 1.715686)))
    report.add(0, "modernbert with biases, logits[1][0:6]", check(
        biased[1, :6], 21.751728, None, (0.014359, 0.101675, 0.842704, 1.692087)))


def main() -> int:
    options = common.parser(__doc__, cases=6).parse_args()
    report = common.Report("known answers", options)
    own = fill_rule.values("a", (4,), 1.0) - [-0.39647378, -0.33434915, 0.21533071, -0.45572041]
    report.add(0, "the fill rule itself", [] if np.abs(own).max() < 1e-7 else [f"off by {own}"])
    for answers in (longformer_answers, bert_answers, roberta_answers, modernbert_answers):
        try:
            answers(options, report)
        except common.CommandFailed as failure:
            report.add(0, answers.__name__, [str(failure)])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
