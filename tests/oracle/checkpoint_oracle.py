#!/usr/bin/env python3
"""The same weights in every container and layout must give the same bits of `longformer forward`.

The reference writes a random model as safetensors, whole and sharded, and with torch.save in both containers: as it
is, sharded, inside what trainers save, with prefixes and old names, as views of one storage and with strides, with one
of two tied tensors only, and a Longformer in the layout of its first release. `forward` on the safetensors file agrees
with the reference; on all others it gives the same bits. `convert --dtype` makes of a .bin what the reference loads.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch

import common
import random_cases
import reference

FAMILIES = ["longformer", "roberta", "bert", "xlm-roberta", "longformer", "bert"]
TYPES = [torch.float32, torch.float32, torch.float16, torch.bfloat16]
State = "OrderedDict[str, torch.Tensor]"


def save_bin(folder: Path, state: object, legacy: bool, name: str = "pytorch_model.bin") -> None:
    """One file in one of the two containers."""
    torch.save(state, folder / name, _use_new_zipfile_serialization=not legacy)


def save_shards(rng: np.random.Generator, folder: Path, state: State, legacy: bool) -> None:
    """Tensors spread over up to four files; each file holds some that the index gives to another one."""
    names, count = list(state), int(rng.integers(1, 5))
    files = [f"pytorch_model-{index + 1:05d}-of-{count:05d}.bin" for index in range(count)]
    owner = {name: files[int(rng.integers(count))] for name in names}
    for file in files:
        extra = set(rng.choice(names, 2))
        part = OrderedDict((name, state[name]) for name in names if owner[name] == file or name in extra)
        save_bin(folder, part, legacy, file)
    (folder / "pytorch_model.bin.index.json").write_text(
        json.dumps({"metadata": {"total_size": 1}, "weight_map": owner}))


def trainer_state(rng: np.random.Generator, state: State) -> dict:
    """What training scripts save: the weights somewhere inside, objects of Python beside them."""
    wrapper = str(rng.choice(["state_dict", "model", "module", "model_state_dict"]))
    prefix = str(rng.choice(["", "module.", "model."]))
    inner = OrderedDict((prefix + name, value) for name, value in state.items())
    saved = {"epoch": 3, "loss": 0.5, "args": argparse.Namespace(rate=1e-3, names=["a", "b"]), "done": {1, 2},
             "optimizer": {"state": {0: {"step": torch.tensor(1.0)}}, "param_groups": [{"lr": 1e-3, "params": [0]}]},
             wrapper: inner}
    return {"state_dict": saved} if wrapper == "model" and rng.random() < 0.5 else saved


def as_views(rng: np.random.Generator, state: State) -> State:
    """The same values as views: parts of one storage, columns of a transposed matrix, every other element."""
    flat = torch.cat([torch.zeros(3, dtype=next(iter(state.values())).dtype)]
                     + [value.reshape(-1) for value in state.values() if value.is_floating_point()])
    result, offset = OrderedDict(), 3
    for name, value in state.items():
        if not value.is_floating_point():
            result[name] = value
            continue
        kind = int(rng.integers(3))
        result[name] = flat[offset:offset + value.numel()].view(value.shape)
        offset += value.numel()
        if kind == 1 and value.ndim == 2:
            result[name] = value.t().contiguous().t()
        if kind == 2:
            wide = torch.full((*value.shape, 2), 7.0, dtype=value.dtype)
            wide[..., 1] = value
            result[name] = wide[..., 1]
    return result


def old_names(state: State) -> State:
    """LayerNorm.gamma and .beta, with a buffer of positions."""
    result = OrderedDict((name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias",
                                                                                     "LayerNorm.beta"), value)
                         for name, value in state.items())
    result["embeddings.position_ids"] = torch.arange(9).expand((1, -1))
    return result


def only_decoder(state: State) -> State | None:
    """Of two tied tensors the head's alone, as some files keep them."""
    decoder = [name for name in state if name.endswith("decoder.weight")]
    if not decoder:
        return None
    return OrderedDict((name, value) for name, value in state.items()
                       if not name.endswith("word_embeddings.weight"))


def first_release(folder: Path, state: State) -> State:
    """The layout of the authors' own files: prefix and config of RoBERTa, windows that count one side."""
    fields = json.loads((folder / "config.json").read_text())
    windows = fields["attention_window"]
    layers = fields.get("num_hidden_layers", 12)
    windows = windows if isinstance(windows, list) else [windows] * layers
    fields |= {"model_type": "roberta", "attention_window": [window // 2 for window in windows],
               "attention_dilation": [1] * layers, "autoregressive": False, "attention_mode": "sliding_chunks",
               # What the two classes take for absent fields differs.
               **{key: fields.get(key, value) for key, value in {
                   "vocab_size": 30522, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
                   "pad_token_id": 1}.items()}}
    (folder / "config.json").write_text(json.dumps(fields))
    return OrderedDict(("roberta." + name.removeprefix("longformer."), value) for name, value in state.items())


def variants(rng: np.random.Generator, base: Path, root: Path, model: torch.nn.Module) -> dict[str, Path]:
    """Every directory that must give the bits of `base`."""
    state = OrderedDict(model.state_dict())
    made = {}

    def start(name: str) -> Path:
        made[name] = root / name
        made[name].mkdir()
        shutil.copy(base / "config.json", made[name])
        return made[name]

    for legacy in (False, True):
        kind = "old container" if legacy else "zip"
        save_bin(start(kind), state, legacy)
        save_bin(start(f"trainer, {kind}"), trainer_state(rng, state), legacy)
        save_bin(start(f"views, {kind}"), as_views(rng, state), legacy)
        save_shards(rng, start(f"shards, {kind}"), state, legacy)
    legacy = bool(rng.random() < 0.5)
    save_bin(start("old names"), old_names(state), legacy)
    if (tied := only_decoder(state)) is not None:
        save_bin(start("decoder only"), tied, legacy)
    if model.config.model_type == "longformer":
        folder = start("first release")
        save_bin(folder, first_release(folder, state), legacy)
    model.save_pretrained(root / "shards", max_shard_size=4096)
    made["shards"] = root / "shards"
    shutil.copy(base / "config.json", made["shards"])
    return made


def converted(options, root: Path, source: Path, model: torch.nn.Module, dtype: torch.dtype) -> tuple[Path, list[str]]:
    """`convert --dtype` of a .bin, in the type that it has: the reference must load the same values."""
    folder = root / "converted"
    name = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
    common.run_command(options.binary, "convert", "--dtype", name, source, folder)
    loaded = type(model).from_pretrained(folder, dtype=dtype, attn_implementation="eager").state_dict()
    return folder, [f"converted: {key} has other values" for key, value in model.state_dict().items()
                    if key not in loaded or not torch.equal(loaded[key], value)]


def same_bits(got: reference.Tensors, want: reference.Tensors) -> list[str]:
    """Names of what differs."""
    if set(got) != set(want):
        return [f"tensors {sorted(got)}, want {sorted(want)}"]
    return [name for name in sorted(want)
            if got[name].dtype != want[name].dtype or got[name].tobytes() != want[name].tobytes()]


def one_case(options, report: common.Report, seed: int) -> None:
    """One model in all its forms."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    length = int(rng.integers(1, 60))
    config = random_cases.random_config(rng, family, length, small=False)
    model = random_cases.random_model(rng, family, config)
    dtype = TYPES[int(rng.integers(len(TYPES)))]
    model.to(dtype)
    with common.Scratch(options, f"checkpoint_{seed}") as scratch:
        base, ratio, wrong = scratch.path / "base", 0.0, []
        model.save_pretrained(base)
        folders = variants(rng, base, scratch.path, model)
        inputs = random_cases.random_inputs(rng, config, length, 2)
        try:
            folders["converted"], wrong = converted(options, scratch.path, folders["zip"], model, dtype)
            single, double = reference.run(reference.bare(model.float()), inputs)
            arguments = {"model_class": random_cases.BARE[family]}
            want = common.forward(options.binary, base, inputs, scratch.path, **arguments)
            ratio, lines = common.compare(want, single, common.tolerance(single, double))
            wrong += lines
            for name, folder in folders.items():
                got = common.forward(options.binary, folder, inputs, scratch.path, **arguments)
                wrong += [f"{name}: other bits in {part}" for part in same_bits(got, want)[:2]]
        except (common.CommandFailed, OSError, ValueError) as failure:
            wrong.append(str(failure))
        scratch.failed = bool(wrong)
        report.add(seed, f"{type(model).__name__} {dtype}, {len(folders)} forms", wrong, ratio)


def main() -> int:
    options = common.parser(__doc__.splitlines()[0], cases=20).parse_args()
    report = common.Report("checkpoint", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
