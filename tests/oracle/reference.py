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


# What a layer sees: (steps to the left, steps to the right, tokens of a step); None: everything.
Reach = tuple[int, int, int] | None


def run(model: torch.nn.Module, inputs: Tensors, reaches: list[Reach] | None = None) -> tuple[Tensors, Tensors]:
    """All outputs of a bare encoder in float32 and in float64, with hidden states, under the names of `forward`.

    `reaches` gives each layer of a model other than Longformer a window that its class does not know.
    """
    function = {"longformer": _longformer, "modernbert": _modernbert}.get(model.config.model_type, _bert)
    model = model.eval()
    with _softmax_in_the_type_of_its_input():
        double = function(copy.deepcopy(model).double(), inputs, reaches)
    return function(model, inputs, reaches), double


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
    if getattr(output, "pooler_output", None) is not None:
        result["pooler_output"] = output.pooler_output
    for index, state in enumerate(output.hidden_states):
        result[f"hidden_states.{index}"] = state[:, :rows]
    return {name: value.numpy() for name, value in result.items()}


def _pad_to_windows(model: torch.nn.Module, inputs: Tensors) -> Tensors:
    """The inputs of a Longformer up to a multiple of every window, with a mask."""
    windows = [layer.attention.self.one_sided_attn_window_size * 2 for layer in model.encoder.layer]
    extra = -inputs["input_ids"].shape[-1] % math.lcm(*windows)
    fillers = {"input_ids": model.config.pad_token_id, "position_ids": model.config.pad_token_id}
    arguments = {"attention_mask": np.ones_like(inputs["input_ids"]), **inputs}
    return {name: np.pad(value, [(0, 0)] * (value.ndim - 1) + [(0, extra)], constant_values=fillers.get(name, 0))
            for name, value in arguments.items()}


def _longformer(model: torch.nn.Module, inputs: Tensors, reaches: list[Reach] | None) -> Tensors:
    """Pads to a multiple of every window first: the class pads to the largest only and fails where others differ."""
    assert reaches is None
    rows = inputs["input_ids"].shape[1]
    arguments = {name: torch.from_numpy(value) for name, value in _pad_to_windows(model, inputs).items()}
    return _named(model(**arguments, output_hidden_states=True), rows)


def run_task(model: torch.nn.Module, inputs: Tensors, padded: bool = True) -> tuple[Tensors, Tensors]:
    """The logits of a task model in float32 and in float64, under the names of `forward`.

    `padded`: a Longformer gets its input as a multiple of every window, which changes nothing but lets windows differ.
    """
    model = model.eval()
    with _softmax_in_the_type_of_its_input():
        double = _task(copy.deepcopy(model).double(), inputs, padded)
    return _task(model, inputs, padded), double


def _task(model: torch.nn.Module, inputs: Tensors, padded: bool) -> Tensors:
    rows, family = inputs["input_ids"].shape[-1], model.config.model_type
    if family == "longformer" and padded:
        inputs = _pad_to_windows(model.longformer, inputs)
    arguments = {name: torch.from_numpy(value) for name, value in inputs.items()}
    attention = {"longformer": contextlib.nullcontext, "modernbert": lambda: _modernbert_attention(None)}.get(
        family, lambda: _bert_attention(bare(model), None))
    with attention():
        output = model(**arguments)
    result = {name: output[name] for name in ("logits", "start_logits", "end_logits", "prediction_logits")
              if name in output}
    by_token = "start_logits" in result or result[next(iter(result))].dim() == 3
    return {name.removeprefix("prediction_"): (value[:, :rows] if by_token else value).numpy()
            for name, value in result.items()}


def _limited(mask: torch.Tensor, reach: Reach) -> torch.Tensor:
    """An additive mask [B, 1, 1 or n, n] with everything outside the window hidden too."""
    if reach is None:
        return mask
    left, right, step = reach
    places = torch.arange(mask.shape[-1])
    distance = places[None] - places[:, None]
    seen = (distance % step == 0) & (distance >= -left * step) & (distance <= right * step)
    return mask.masked_fill(~seen, torch.finfo(mask.dtype).min)


def _silent(context: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """A query that sees no key is a documented difference: it gives zeros here, in the reference the mean over all
    keys, hidden ones too. Rows of real tokens always see themselves."""
    dead = (mask == torch.finfo(mask.dtype).min).all(-1)[:, 0]
    return context.masked_fill(dead[..., None], 0.0)


@contextlib.contextmanager
def _bert_attention(model: torch.nn.Module, reaches: list[Reach] | None):
    """Windows for the layers, and silence for queries that see nothing."""
    handles = []
    for index, layer in enumerate(model.encoder.layer):
        reach = reaches[index] if reaches else None

        def before(module, args, kwargs, reach=reach):
            mask = kwargs.pop("attention_mask", args[1] if len(args) > 1 else None)
            return (args[0], _limited(mask, reach), *args[2:]), kwargs

        def after(module, args, kwargs, output):
            return (_silent(output[0], args[1]), *output[1:])

        own = layer.attention.self
        handles.append(own.register_forward_pre_hook(before, with_kwargs=True))
        handles.append(own.register_forward_hook(after, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _bert(model: torch.nn.Module, inputs: Tensors, reaches: list[Reach] | None) -> Tensors:
    arguments = {name: torch.from_numpy(value) for name, value in inputs.items()}
    with _bert_attention(model, reaches):
        return _named(model(**arguments, output_hidden_states=True), inputs["input_ids"].shape[1])


@contextlib.contextmanager
def _modernbert_attention(reaches: list[Reach] | None):
    functions = transformers.models.modernbert.modeling_modernbert.MODERNBERT_ATTENTION_FUNCTION
    original = functions["eager"]

    def attention(module, *, attention_mask, sliding_window_mask, local_attention, **others):
        mask = attention_mask if local_attention == (-1, -1) else sliding_window_mask
        if reaches:
            mask = _limited(attention_mask, reaches[module.layer_id])
        output = original(module, attention_mask=mask, sliding_window_mask=mask,
                          local_attention=local_attention, **others)
        return (_silent(output[0], mask), *output[1:])

    functions["eager"] = attention
    try:
        yield
    finally:
        functions["eager"] = original


def _modernbert(model: torch.nn.Module, inputs: Tensors, reaches: list[Reach] | None) -> Tensors:
    arguments = {name: torch.from_numpy(value) for name, value in inputs.items()}
    with _modernbert_attention(reaches):
        return _named(model(**arguments, output_hidden_states=True), inputs["input_ids"].shape[1])


def model_class(name: str):
    """A class of the reference by its name."""
    return getattr(transformers, name)
