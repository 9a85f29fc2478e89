#!/usr/bin/env python3
"""Writes tests/data/io/torch_*.bin: what PyTorch saves, for the reader of such files. Needs torch."""

from __future__ import annotations

import argparse
from collections import OrderedDict
from pathlib import Path

import torch


def state_dict() -> "OrderedDict[str, torch.Tensor]":
    """Every element type that is read, whole tensors, views of one storage, a scalar, no element, a parameter."""
    base = torch.arange(24, dtype=torch.float32)
    return OrderedDict(
        rows=base.view(4, 6), columns=base.view(4, 6).t(), part=base[5:11],
        grid=base.view(2, 3, 4).permute(2, 0, 1)[1:3], every_other=base[::2], scalar=torch.tensor(7.0),
        empty=torch.zeros(0, 4), half=torch.tensor([1.5, -2.0]).half(), bfloat=torch.tensor([1.5, -2.0]).bfloat16(),
        double=torch.tensor([0.1], dtype=torch.float64), truth=torch.tensor([True, False]),
        longs=torch.tensor([1, -2]), ints=torch.tensor([3], dtype=torch.int32),
        shorts=torch.tensor([-4], dtype=torch.int16), chars=torch.tensor([-5], dtype=torch.int8),
        bytes=torch.tensor([250], dtype=torch.uint8), parameter=torch.nn.Parameter(torch.tensor([9.0, 8.0])),
        spread=torch.tensor([1.0, 2.0]).expand(3, 2))


def trainer() -> dict:
    """Weights among other things, as training scripts save them."""
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
        layer.bias.fill_(3.0)
    return {"epoch": 3, "lr": 1e-3, "seen": {1, 2}, "arguments": argparse.Namespace(name="x"),
            "optimizer": torch.optim.AdamW(layer.parameters()).state_dict(), "state_dict": layer.state_dict()}


def main() -> None:
    folder = Path(__file__).resolve().parent.parent / "tests" / "data" / "io"
    torch.save(state_dict(), folder / "torch_zip.bin")
    torch.save(state_dict(), folder / "torch_legacy.bin", _use_new_zipfile_serialization=False)
    for protocol in (1, 4):
        torch.save(state_dict(), folder / f"torch_legacy_{protocol}.bin", _use_new_zipfile_serialization=False,
                   pickle_protocol=protocol)
    torch.save(trainer(), folder / "torch_trainer.bin")


if __name__ == "__main__":
    main()
