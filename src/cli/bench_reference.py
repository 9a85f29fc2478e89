"""One point of `longformer bench --against reference`: the Python reference on the same inputs.

Needs torch and transformers, uses Transformers' LongformerSelfAttention, or AutoModel over a checkpoint. The command
runs it with the point as JSON in the first argument; it prints one JSON object. With "check" as the argument it
prints the versions. Exit code 3: something that it needs cannot be imported.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import sys
import time
from pathlib import Path

try:
    import torch
    import transformers
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

MEASURED_SECONDS = 0.2  # as in bench_point.cc
LONG_CALL = 1.0
MASK = 0xFFFFFFFF


def resident(field: str) -> int:
    """VmRSS or VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def reset_peak() -> bool:
    """Lets VmHWM begin again at VmRSS, where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def trim() -> None:
    """Gives free memory back, so that the call takes its own."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:  # another C library
        pass


def input_values(count: int, seed: int) -> torch.Tensor:
    """[-1, 1), the same values as bench_point.cc makes."""
    hashed = (torch.arange(count) * 2654435761 + seed * 974711) & MASK
    hashed = ((hashed ^ (hashed >> 15)) * 2246822519) & MASK
    hashed = hashed ^ (hashed >> 13)
    return (hashed >> 8).float() * 2.0 ** -23 - 1.0


class Given(torch.nn.Module):
    """Stands where a projection stood: attention alone is measured. The reference scales its queries in place."""

    def __init__(self, values: torch.Tensor) -> None:
        super().__init__()
        self.values = values
        self.original = values.clone()

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        return self.values


class Attention:
    """LongformerSelfAttention behind its projections, padded to the window as LongformerModel pads."""

    def __init__(self, point: dict, tokens: int) -> None:
        heads, head_dim, window = point["heads"], point["head_dim"], point["window"]
        config = transformers.LongformerConfig(
            hidden_size=heads * head_dim, num_attention_heads=heads, num_hidden_layers=1, attention_window=[window])
        self.module = LongformerSelfAttention(config, 0).eval()
        self.tokens = tokens
        padded = math.ceil(tokens / window) * window
        count = tokens * heads * head_dim

        def given(seed: int, scale: float) -> Given:
            values = torch.zeros(padded, 1, heads * head_dim)
            values.view(-1)[:count] = input_values(count, seed) * scale
            return Given(values)

        self.module.query, self.module.key, self.module.value = given(1, 4.0), given(2, 1.0), given(3, 1.0)
        self.hidden = torch.empty(1, padded, heads * head_dim)
        self.mask = torch.zeros(1, padded)
        self.mask[:, tokens:] = torch.finfo(torch.float32).min

    def before(self) -> None:
        """Undoes the scaling of the last call, outside of the measured time."""
        self.module.query.values.copy_(self.module.query.original)

    def call(self) -> torch.Tensor:
        none = torch.zeros_like(self.mask, dtype=torch.bool)
        output = self.module(self.hidden, attention_mask=self.mask, is_index_masked=self.mask < 0,
                             is_index_global_attn=none, is_global_attn=False)
        return output[0][0, :self.tokens]


class Model:
    """The model of a checkpoint, token 0 global where it knows global tokens."""

    def __init__(self, module: torch.nn.Module, tokens: int) -> None:
        self.module = module
        vocabulary = module.config.vocab_size
        reserved = 5 if vocabulary > 5 else 0
        ids = ((torch.arange(tokens) * 2654435761) & MASK) >> 8
        ids = reserved + ids % (vocabulary - reserved)
        pad = module.config.pad_token_id
        if pad is not None:
            ids[ids == pad] = (pad + 1) % vocabulary
        self.inputs = {"input_ids": ids[None], "attention_mask": torch.ones(1, tokens, dtype=torch.int64)}
        if module.config.model_type == "longformer":
            self.inputs["global_attention_mask"] = torch.zeros(1, tokens, dtype=torch.int64)
            self.inputs["global_attention_mask"][0, 0] = 1

    def before(self) -> None:
        """Nothing: a call leaves everything as it was."""

    def call(self) -> torch.Tensor:
        return self.module(**self.inputs).last_hidden_state[0]


def timed(work: Attention | Model) -> tuple[float, torch.Tensor]:
    """Seconds and output of one call."""
    work.before()
    start = time.perf_counter()
    output = work.call()
    return time.perf_counter() - start, output


def measure(point: dict) -> dict:
    """Peak of the first call, time of those behind it, as bench_point.cc does."""
    torch.set_num_threads(point["threads"])
    if point["model"]:
        module = transformers.AutoModel.from_pretrained(point["model"], local_files_only=True).float().eval()
        small, work = Model(module, min(point["length"], 64)), Model(module, point["length"])
    else:
        small, work = Attention(point, min(point["length"], 64)), Attention(point, point["length"])
    with torch.inference_mode():
        timed(small)
        del small
        work.before()
        trim()
        before = resident("VmRSS")
        reset = reset_peak()
        seconds, output = timed(work)
        peak = max(0, resident("VmHWM") - before)
        magnitude = output.double().abs().mean().item()
        times = []
        while seconds <= LONG_CALL and sum(times) < MEASURED_SECONDS:
            del output
            one, output = timed(work)
            times.append(one)
        if times:
            seconds = sorted(times)[len(times) // 2]
    return {"seconds": seconds, "peak_bytes": peak, "magnitude": magnitude, "peak_is_of_the_call": reset}


def main() -> int:
    if sys.argv[1] == "check":
        print(json.dumps({"torch": torch.__version__, "transformers": transformers.__version__}))
    else:
        print(json.dumps(measure(json.loads(sys.argv[1]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
