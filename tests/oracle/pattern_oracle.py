#!/usr/bin/env python3
"""`pattern` beside the reference: BigBird's masks in training and at inference, Swin's shifted windows and
SAM's padded ones. Each pair of a drawing is one of the reference's, and the totals count repeats alike."""

from __future__ import annotations

import sys

import numpy as np
import torch
from transformers import BigBirdConfig
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention
from transformers.models.sam.modeling_sam import SamVisionConfig, SamVisionLayer
from transformers.models.swin.modeling_swin import SwinConfig, SwinLayer
from transformers.models.swin.modeling_swin import window_partition as swin_partition

import common

KINDS = ["bigbird", "swin", "sam"]


def drawn(options, tokens: int, arguments: list) -> tuple[np.ndarray, dict]:
    """Which pairs the drawing marks, and the record."""
    lines = common.run_command(options.binary, "pattern", *arguments, "--columns", 4000).stdout.decode().split("\n")
    rows = [line[line.index("|") + 1:-1] for line in lines if "|" in line]
    wide = len(rows[0]) // tokens
    marks = np.array([[row[wide * key] != " " for key in range(tokens)] for row in rows])
    return marks, common.json_lines(common.run_command(options.binary, "pattern", *arguments, "--json").stdout)[0]


def bigbird(rng: np.random.Generator) -> tuple[str, list, int, np.ndarray, int, int]:
    """Equal scores everywhere: a key that is listed once has one over the length of the list. (Keys listed more often
    are not added up in the probabilities that the reference returns, only in what it computes.)"""
    size, random, heads = int(rng.integers(2, 9)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    tokens = size * int(rng.integers(6 + 2 * random, 40))
    if rng.integers(6) == 0:
        size, tokens = 32, 1024
    seed, head, training = int(rng.integers(50)), int(rng.integers(heads)), bool(rng.integers(2))
    config = BigBirdConfig(hidden_size=8 * heads, num_attention_heads=heads, block_size=size,
                           num_random_blocks=random, max_position_embeddings=4096)
    layer = BigBirdBlockSparseAttention(config, seed=seed).train(training)
    for parameter in layer.parameters():
        torch.nn.init.zeros_(parameter)
    ones = torch.ones(1, tokens)
    blocked = ones.view(1, tokens // size, size)
    band = torch.einsum("blq,blk->blqk", blocked[:, 2:-2],
                        torch.cat([blocked[:, 1:-3], blocked[:, 2:-2], blocked[:, 3:-1]], dim=2)).unsqueeze(1)
    np_state = np.random.get_state()
    probabilities = layer(torch.zeros(1, tokens, config.hidden_size), band, ones.view(1, 1, tokens, 1),
                          ones.view(1, 1, 1, tokens), blocked, blocked, output_attentions=True)[1][0, head]
    np.random.set_state(np_state)
    probabilities = probabilities.detach().numpy().astype(np.float64)
    smallest = np.where(probabilities > 0, probabilities, 1).min(axis=1)
    scores = int(np.rint(1 / smallest).sum())
    what = f"bigbird {tokens} tokens, blocks of {size}, {random} random, head {head} of {heads}, seed {seed}, " + \
        ("training" if training else "inference")
    return what, ["--length", tokens, "--block-size", size, "--random-blocks", random, "--heads", heads, "--head", head,
                  "--seed", seed, "--random-plan", "drawn" if training else "first"], tokens, probabilities > 0, scores, 0


def seen_in_windows(windows: np.ndarray, masks: np.ndarray, tokens: int) -> tuple[np.ndarray, int, int]:
    """Pairs of windows that hold token numbers, padding being -1, where the masks allow them."""
    pairs, padding = np.zeros((tokens, tokens), bool), 0
    for window, mask in zip(windows, masks):
        for row, query in enumerate(window):
            if query < 0:
                continue
            seen = window[mask[row]]
            padding += int((seen < 0).sum())
            pairs[query, seen[seen >= 0]] = True
    return pairs, int(pairs.sum()), padding


def swin(rng: np.random.Generator) -> tuple[str, list, int, np.ndarray, int, int]:
    """The reference's own padding, rolling, partition and mask, on a map of token numbers."""
    window, height, width = int(rng.integers(2, 7)), int(rng.integers(3, 20)), int(rng.integers(3, 20))
    shift = int(rng.integers(2)) * (window // 2)
    layer = SwinLayer(SwinConfig(window_size=window), dim=8, input_resolution=(height, width), num_heads=1,
                      shift_size=shift)
    layer.set_shift_and_window_size((height, width))
    numbers = torch.arange(1, height * width + 1).view(1, height, width, 1).float()
    numbers, _ = layer.maybe_pad(numbers, height, width)
    _, padded_height, padded_width, _ = numbers.shape
    if layer.shift_size > 0:
        numbers = torch.roll(numbers, shifts=(-layer.shift_size, -layer.shift_size), dims=(1, 2))
    side = int(layer.window_size)
    windows = swin_partition(numbers, side).view(-1, side * side).long().numpy() - 1
    mask = layer.get_attn_mask(padded_height, padded_width, torch.float32, "cpu")
    allowed = np.ones((len(windows), side * side, side * side), bool) if mask is None else mask.numpy() == 0
    pairs = seen_in_windows(windows, allowed, height * width)
    return f"swin {height}x{width}, windows of {window}, shift {shift}", \
        ["--grid", f"{height}x{width}", "--box", f"{window}x{window}", "--shift", shift], height * width, *pairs


def sam(rng: np.random.Generator) -> tuple[str, list, int, np.ndarray, int, int]:
    """The reference's padded windows on a map of token numbers."""
    window, height, width = int(rng.integers(2, 9)), int(rng.integers(2, 20)), int(rng.integers(2, 20))
    config = SamVisionConfig(hidden_size=8, num_attention_heads=1, image_size=64, patch_size=16)
    config._attn_implementation = "eager"
    layer = SamVisionLayer(config, window_size=window)
    numbers = torch.arange(1, height * width + 1).view(1, height, width, 1).float()
    windows = layer.window_partition(numbers, window)[0].reshape(-1, window * window).long().numpy() - 1
    pairs = seen_in_windows(windows, np.ones((len(windows), window ** 2, window ** 2), bool), height * width)
    return f"sam {height}x{width}, windows of {window}", \
        ["--grid", f"{height}x{width}", "--box", f"{window}x{window}"], height * width, *pairs


def one_case(options, report: common.Report, seed: int) -> None:
    """The kinds in turn."""
    rng = np.random.default_rng(seed)
    what, arguments, tokens, pairs, scores, padding = {"bigbird": bigbird, "swin": swin, "sam": sam}[KINDS[seed % 3]](rng)
    wrong = []
    try:
        marks, record = drawn(options, tokens, arguments)
        different = int((marks != pairs).sum())
        if different:
            wrong.append(f"{different} of {tokens}x{tokens} pairs differ")
        if record["scores"] != scores:
            wrong.append(f"scores: got {record['scores']}, want {scores}")
        if record["padding_scores"] != padding:
            wrong.append(f"padding_scores: got {record['padding_scores']}, want {padding}")
    except common.CommandFailed as failure:
        wrong.append(str(failure))
    report.add(seed, what, wrong)


def main() -> int:
    options = common.parser(__doc__, cases=30).parse_args()
    report = common.Report("pattern", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
