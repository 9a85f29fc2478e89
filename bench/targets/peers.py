#!/usr/bin/env python3
"""The other implementations, each a process: loads, computes `--repeat` times, prints the times, then writes the output.

    peers.py transformers|batches|onnx|sdpa|flex|training --inputs FILE --outputs FILE …

The line on standard output is that of `longformer forward --timing --repeat`. Nothing that a peer does once (loading,
compiling, choosing the faster of two graphs) counts in compute_s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from safetensors.numpy import load_file, save_file


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def report(options: argparse.Namespace, started: float, work: Callable[[], object],
           array: Callable[[object], object] | None, warm: int = 0, also: Callable[[], dict] = dict) -> None:
    """Times the passes, prints them and what `also` gives, and writes the last output as `array` makes it."""
    load = time.perf_counter() - started
    for _ in range(warm):
        work()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak of loading does not count
    except OSError:
        print("note: the peak includes loading (it cannot be reset here)", file=sys.stderr)
    before, passes, output = resident("VmRSS"), [], None
    for _ in range(options.repeat):
        output = None
        start = time.perf_counter()
        output = work()
        passes.append(time.perf_counter() - start)
    print(json.dumps({"load_s": load, "compute_s": statistics.median(passes), "passes_s": passes,
                      "rss_before_compute": before, "peak_rss_bytes": resident("VmHWM")} | also()), flush=True)
    if array is not None:
        save_file({"last_hidden_state": array(output)}, options.outputs)


def start_torch(options: argparse.Namespace) -> None:
    import torch
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)


def load_transformers(options: argparse.Namespace):
    import torch
    import transformers
    model = getattr(transformers, options.model_class)
    return model.from_pretrained(options.model[0], dtype=getattr(torch, options.dtype),
                                 attn_implementation=options.attention).eval()


def transformers_model(options: argparse.Namespace) -> None:
    """A model of Transformers on one batch."""
    started = time.perf_counter()
    start_torch(options)
    import torch
    model = load_transformers(options)
    inputs = {name: torch.from_numpy(value) for name, value in load_file(options.inputs).items()}
    if options.model_class != "LongformerModel":
        inputs = {"input_ids": inputs["input_ids"]}  # nothing is padded: no mask is faster than one of ones
    report(options, started, lambda: model(**inputs).last_hidden_state, lambda states: states.float().numpy())


def batches(options: argparse.Namespace) -> None:
    """Longformer of Transformers on documents of many lengths, in padded batches of --batch-size.

    In the order of the documents, or with --sorted by length, so that a batch pads less.
    """
    started = time.perf_counter()
    start_torch(options)
    import torch
    model = load_transformers(options)
    inputs = load_file(options.inputs)
    documents = torch.from_numpy(inputs["input_ids"]).split(inputs["lengths"].tolist())
    order = sorted(range(len(documents)), key=lambda i: len(documents[i])) if options.sorted else range(len(documents))
    groups = [order[i:i + options.batch_size] for i in range(0, len(order), options.batch_size)]

    def work() -> list:
        states = [None] * len(documents)
        for group in groups:
            ids = torch.nn.utils.rnn.pad_sequence([documents[i] for i in group], batch_first=True,
                                                  padding_value=model.config.pad_token_id)
            real = ids != model.config.pad_token_id
            global_mask = torch.zeros_like(ids)
            global_mask[:, 0] = 1
            output = model(input_ids=ids, attention_mask=real.long(), global_attention_mask=global_mask)
            for row, i in enumerate(group):
                states[i] = output.last_hidden_state[row, :len(documents[i])].clone()
        return states
    report(options, started, work, lambda states: torch.cat(states).numpy())


def onnx(options: argparse.Namespace) -> None:
    """ONNX Runtime, all graph optimisations; of several graphs the one that is faster on this input."""
    started = time.perf_counter()
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    settings.intra_op_num_threads = options.threads
    settings.log_severity_level = 3
    inputs = load_file(options.inputs)

    def seconds_of(session: onnxruntime.InferenceSession) -> float:
        session.run(None, inputs)
        start = time.perf_counter()
        session.run(None, inputs)
        return time.perf_counter() - start
    sessions = [onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
                for path in options.model]
    session = min(sessions, key=seconds_of)
    report(options, started, lambda: session.run(None, inputs)[0], lambda states: states)


def kernel_inputs(options: argparse.Namespace) -> tuple:
    """q, k, v as [1, heads, tokens, head_dim], q not scaled again."""
    import torch
    tensors = load_file(options.inputs)
    return tuple(torch.from_numpy(tensors[name]).to(getattr(torch, options.dtype)).transpose(0, 1).contiguous()[None]
                 for name in ("q", "k", "v"))


def token_major(output) -> object:
    return output[0].float().transpose(0, 1).contiguous().numpy()


def sdpa(options: argparse.Namespace) -> None:
    """scaled_dot_product_attention with a band as its mask, added to the scores (faster than a boolean one)."""
    started = time.perf_counter()
    start_torch(options)
    import torch
    q, k, v = kernel_inputs(options)
    position = torch.arange(q.shape[2])
    outside = (position[:, None] - position[None]).abs() > options.window // 2
    mask = torch.zeros(outside.shape, dtype=q.dtype).masked_fill(outside, float("-inf"))[None, None]
    attention = torch.nn.functional.scaled_dot_product_attention
    report(options, started, lambda: attention(q, k, v, attn_mask=mask, scale=1.0), token_major, warm=1)


def flex(options: argparse.Namespace) -> None:
    """flex_attention, compiled, with the band as its block mask; the block size is the fastest of three."""
    started = time.perf_counter()
    start_torch(options)
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    q, k, v = kernel_inputs(options)
    reach = options.window // 2
    compiled = torch.compile(flex_attention)

    def with_blocks(size: int) -> Callable[[], torch.Tensor]:
        mask = create_block_mask(lambda b, h, i, j: (i - j).abs() <= reach, None, None, q.shape[2], k.shape[2],
                                 device="cpu", BLOCK_SIZE=size)
        return lambda: compiled(q, k, v, block_mask=mask, scale=1.0)

    def seconds_of(work: Callable[[], torch.Tensor]) -> float:
        times = []
        for _ in range(4):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)
    report(options, started, min((with_blocks(size) for size in (64, 128, 256)), key=seconds_of), token_major)


def training(options: argparse.Namespace) -> None:
    """Steps of LongformerForMaskedLM on one sequence with AdamW, fused, in f32 or under autocast; dropout as configured."""
    import torch
    import transformers
    started = time.perf_counter()
    torch.set_num_threads(options.threads)
    model = transformers.LongformerForMaskedLM.from_pretrained(options.model[0]).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01, fused=True)
    random = torch.Generator().manual_seed(1)
    ids = torch.randint(5, model.config.vocab_size, (1, options.tokens), generator=random)
    drawn = torch.rand(ids.shape, generator=random)
    labels = torch.where(drawn < 0.15, ids, -100)
    ids = torch.where(drawn < 0.12, 4, ids)
    losses = []

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.dtype == "bfloat16"):
            loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    report(options, started, step, None, also=lambda: {"loss": losses[0]})


KINDS = {"transformers": transformers_model, "batches": batches, "onnx": onnx, "sdpa": sdpa, "flex": flex,
         "training": training}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--outputs", type=Path, required=True)
    parser.add_argument("--model", type=Path, action="append", default=[])
    parser.add_argument("--model-class", default="LongformerModel")
    parser.add_argument("--attention", default="eager", choices=["eager", "sdpa"])
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--sorted", action="store_true")
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=4096)
    options = parser.parse_args()
    KINDS[options.kind](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
