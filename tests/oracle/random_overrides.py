"""The same weights read otherwise: options of the command beside a reference that is configured alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

import random_cases
import reference

Reaches = list[reference.Reach] | None


def _reach(window: int, step: int = 1, causal: bool = False) -> reference.Reach:
    """A two-sided width as the command takes it."""
    return None if window == 0 else (window // 2, 0 if causal else window // 2, step)


def _own_windows(model: torch.nn.Module) -> list[int]:
    """Two-sided width of each layer, 0 for full attention."""
    config = model.config
    if config.model_type != "modernbert":
        return [0] * config.num_hidden_layers
    return [max(config.local_attention, 1) if layer % config.global_attn_every_n_layers else 0
            for layer in range(config.num_hidden_layers)]


def _listed(values: list[int]) -> str:
    return ",".join(str(value) for value in values)


def _longformer_windows(rng: np.random.Generator, model: torch.nn.Module, length: int) -> list[str]:
    layers = list(model.encoder.layer)
    new = random_cases.windows(rng, len(layers), length)
    if rng.random() < 0.3:
        new = new[:1] * len(layers)
    model.config.attention_window = new
    for layer, window in zip(layers, new):
        layer.attention.self.one_sided_attn_window_size = window // 2
    return ["--attention-window", _listed(new[:1] if len(set(new)) == 1 else new)]


def windows(rng: np.random.Generator, model: torch.nn.Module, length: int) -> tuple[list[str], Reaches]:
    """Another window, for all layers that have one or layer by layer, and sometimes a dilation."""
    if model.config.model_type == "longformer":
        return _longformer_windows(rng, model, length), None
    own = _own_windows(model)
    local = [not any(own) or window != 0 for window in own]
    top = int(rng.choice([4, 20, 2 * length + 2]))
    if rng.random() < 0.5:
        width = int(rng.integers(0, top))
        new = [width if is_local else window for window, is_local in zip(own, local)]
        arguments = ["--attention-window", width]
    else:
        new = [int(rng.integers(0, top)) for _ in own]
        arguments = ["--attention-window", _listed(new)]
    steps = [1] * len(new)
    if any(new) and rng.random() < 0.4:
        steps = [int(rng.integers(1, 5)) if window else 1 for window in new]
        arguments += ["--attention-dilation", _listed(steps)]
    return arguments, [_reach(window, step) for window, step in zip(new, steps)]


def longer(rng: np.random.Generator, model: torch.nn.Module, length: int) -> list[str]:
    """More tokens than the position table serves; the reference gets the table that the formula describes."""
    config = model.config
    reserved = 0 if config.model_type in ("bert", "modernbert") else config.pad_token_id + 1
    total = max(length, config.max_position_embeddings - reserved + 1) + int(rng.integers(0, 10))
    if config.model_type == "modernbert":
        return ["--max-tokens", total, "--positions", "extend"]
    embeddings = model.embeddings
    old = embeddings.position_embeddings.weight.double()
    body, k = old[reserved:], torch.arange(total)
    scheme = str(rng.choice(["extend", "repeat"]))
    if scheme == "repeat":
        new = body[k % len(body)]
    else:
        place = k.double() * (len(body) - 1) / max(total - 1, 1)
        low = place.floor().long().clamp(max=len(body) - 1)
        share = (place - low)[:, None]
        new = body[low] * (1 - share) + body[(low + 1).clamp(max=len(body) - 1)] * share
    table = torch.cat([old[:reserved], new]).float()
    embeddings.position_embeddings = torch.nn.Embedding.from_pretrained(
        table, padding_idx=embeddings.position_embeddings.padding_idx)
    config.max_position_embeddings = len(table)
    embeddings.position_ids = torch.arange(len(table))[None]
    embeddings.token_type_ids = torch.zeros((1, len(table)), dtype=torch.long)
    return ["--max-tokens", total, "--positions", scheme]


def save_original(rng: np.random.Generator, model: torch.nn.Module, folder: Path) -> Reaches:
    """The layout of Longformer's first release, from a bare Longformer or, with windows of its own, a bare RoBERTa."""
    model.save_pretrained(folder)
    names = load_file(folder / "model.safetensors")
    save_file({f"roberta.{name}": value for name, value in names.items()}, folder / "model.safetensors",
              metadata={"format": "pt"})
    fields = json.loads((folder / "config.json").read_text())
    layers = fields["num_hidden_layers"]
    fields |= {"attention_mode": str(rng.choice(["sliding_chunks", "tvm"])), "autoregressive": False,
               "attention_dilation": [1] * layers, "architectures": ["RobertaForMaskedLM"]}
    reaches = None
    if fields["model_type"] == "longformer":
        windows_ = fields["attention_window"]
        fields["attention_window"] = [window // 2 for window in windows_]
    else:
        fields["attention_window"] = [int(rng.integers(1, 30)) for _ in range(layers)]
        fields["attention_dilation"] = [int(rng.integers(1, 5)) for _ in range(layers)]
        fields["autoregressive"] = bool(rng.random() < 0.5)
        reaches = [_reach(2 * side, step, fields["autoregressive"])
                   for side, step in zip(fields["attention_window"], fields["attention_dilation"])]
    fields["model_type"] = "roberta"
    if rng.random() < 0.5:
        del fields["model_type"]
    (folder / "config.json").write_text(json.dumps(fields, indent=2))
    return reaches
