#!/usr/bin/env python3
"""Writes tests/data/train: ten steps of each optimizer and the learning rates of each schedule, from PyTorch and
Transformers. Needs torch, transformers and safetensors."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import get_scheduler
from transformers.optimization import Adafactor

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "train"
SHAPES = {"matrix": (5, 7), "stack": (2, 3, 4), "vector": (6,)}  # the vector does not decay
STEPS = 10
SCHEDULES = ["linear", "cosine", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"]


def learning_rate(step: int) -> float:
    return 0.02 / (1 + step)


def optimizers() -> dict:
    return {
        "adamw": lambda groups: torch.optim.AdamW(groups, betas=(0.8, 0.95), eps=1e-6, foreach=False),
        "adafactor": lambda groups: Adafactor(groups, lr=1.0, scale_parameter=False, relative_step=False),
        "sgd": lambda groups: torch.optim.SGD(groups, lr=1.0, momentum=0.9, foreach=False),
    }


def run(make, start: dict, gradients: dict) -> dict:
    """The values after each step."""
    parameters = {name: torch.nn.Parameter(value.clone()) for name, value in start.items()}
    decaying = [value for name, value in parameters.items() if name != "vector"]
    optimizer = make([{"params": decaying, "weight_decay": 0.1},
                      {"params": [parameters["vector"]], "weight_decay": 0.0}])
    seen = {name: [] for name in start}
    for step in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = gradients[name][step].clone()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        optimizer.step()
        for name, parameter in parameters.items():
            seen[name].append(parameter.detach().clone())
    return {name: torch.stack(values) for name, values in seen.items()}


def write_optimizers() -> None:
    random = torch.Generator().manual_seed(7)
    start = {name: torch.randn(shape, generator=random) for name, shape in SHAPES.items()}
    gradients = {name: torch.randn((STEPS, *shape), generator=random) for name, shape in SHAPES.items()}
    tensors = {f"start/{name}": value for name, value in start.items()}
    tensors |= {f"gradients/{name}": value for name, value in gradients.items()}
    for kind, make in optimizers().items():
        tensors |= {f"{kind}/{name}": value for name, value in run(make, start, gradients).items()}
    save_file(tensors, FOLDER / "optimizers.safetensors")


def rates(kind: str, warmup: int, total: int, beyond: int = 3) -> list:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=5e-5)
    schedule = get_scheduler(kind, optimizer, num_warmup_steps=warmup, num_training_steps=total)
    values = []
    for _ in range(total + beyond):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return values


def write_schedules() -> None:
    cases = [{"kind": kind, "warmup": warmup, "total": 15, "rates": rates(kind, warmup, 15)}
             for kind in SCHEDULES for warmup in (0, 4)]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (FOLDER / "schedules.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_optimizers()
    write_schedules()
