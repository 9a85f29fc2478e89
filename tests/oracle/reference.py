"""The reference implementation (PyTorch, Transformers) run on the tensors of `longformer forward`."""

from __future__ import annotations

import contextlib
import copy
import logging
import math
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import torch
import transformers

logging.getLogger("transformers").setLevel(logging.ERROR)
torch.set_grad_enabled(False)

Tensors = dict[str, np.ndarray]


def fill_random(model: torch.nn.Module, rng: np.random.Generator, scale: float) -> None:
    """Random values for ALL parameters: biases, norms and padding rows too, which the class leaves at 0 or 1."""
    for name, parameter in sorted(model.named_parameters()):
        values = rng.standard_normal(tuple(parameter.shape)) * scale
        if "norm" in name.lower() and name.endswith(".weight"):
            values += 1.0
        parameter.copy_(torch.from_numpy(values.astype(np.float32)))


def bare(model: torch.nn.Module) -> torch.nn.Module:
    """The encoder inside a task model; a bare model is its own."""
    return getattr(model, model.base_model_prefix, model)


def run(model: torch.nn.Module, inputs: Tensors) -> tuple[Tensors, Tensors]:
    """All outputs of a bare encoder in float32 and in float64, with hidden states, under the names of `forward`."""
    function = {"longformer": _longformer, "bert": _bert}[model.config.model_type]
    model = model.eval()
    with _softmax_in_the_type_of_its_input():
        double = function(copy.deepcopy(model).double(), inputs)
    return function(model, inputs), double


@contextlib.contextmanager
def _softmax_in_the_type_of_its_input():
    """The Longformer classes force their softmax to float32, which would hide what float32 costs there."""
    original = torch.nn.functional.softmax

    def softmax(values, dim=None, _stacklevel=3, dtype=None):
        return original(values, dim=dim, dtype=values.dtype if values.dtype == torch.float64 else dtype)

    torch.nn.functional.softmax = softmax
    try:
        yield
    finally:
        torch.nn.functional.softmax = original


def _named(output, rows: int) -> Tensors:
    result = {"last_hidden_state": output.last_hidden_state[:, :rows]}
    if output.pooler_output is not None:
        result["pooler_output"] = output.pooler_output
    for index, state in enumerate(output.hidden_states):
        result[f"hidden_states.{index}"] = state[:, :rows]
    return {name: value.numpy() for name, value in result.items()}


def _longformer(model: torch.nn.Module, inputs: Tensors) -> Tensors:
    """Pads to a multiple of every window first: the class pads to the largest only and fails where others differ."""
    rows = inputs["input_ids"].shape[1]
    windows = [layer.attention.self.one_sided_attn_window_size * 2 for layer in model.encoder.layer]
    extra = -rows % math.lcm(*windows)
    pad = model.config.pad_token_id
    fillers = {"input_ids": pad, "position_ids": pad, "attention_mask": 0, "global_attention_mask": 0,
               "token_type_ids": 0}
    arguments = {"attention_mask": np.ones_like(inputs["input_ids"]), **inputs}
    arguments = {name: torch.from_numpy(np.pad(value, ((0, 0), (0, extra)), constant_values=fillers[name]))
                 for name, value in arguments.items()}
    return _named(model(**arguments, output_hidden_states=True), rows)


def _bert(model: torch.nn.Module, inputs: Tensors) -> Tensors:
    """A sample without any real token is a documented difference: its attention gives zeros here, not the mean."""
    arguments = {name: torch.from_numpy(value) for name, value in inputs.items()}
    rows = inputs["input_ids"].shape[1]
    result = _named(model(**arguments, output_hidden_states=True), rows)
    empty = np.flatnonzero(~inputs.get("attention_mask", np.ones((1, 1))).astype(bool).any(axis=1))
    if empty.size:
        silent = copy.deepcopy(model)
        for layer in silent.encoder.layer:
            layer.attention.self.value.weight.zero_()
            layer.attention.self.value.bias.zero_()
        special = _named(silent(**arguments, output_hidden_states=True), rows)
        for name, value in result.items():
            value = value.copy()
            value[empty] = special[name][empty]
            result[name] = value
    return result


def model_class(name: str):
    """A class of the reference by its name."""
    return getattr(transformers, name)
