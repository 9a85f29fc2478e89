#!/usr/bin/env python3
"""The hub cache between `longformer pull` and huggingface_hub, on random models behind a server that plays the hub.

Each case goes one of three ways. pull: the command fills the cache, huggingface_hub must find the whole snapshot without a
network and Transformers must load from it. download: huggingface_hub fills it, the command must find the model and need
nothing more. mixed: huggingface_hub has fetched a part of the files and left a part of the weights, the command completes
them. Every time `forward --model NAME` must agree with `forward --model DIRECTORY` to the bit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import huggingface_hub
import numpy as np
import torch
import transformers

import common

SERVER = Path(__file__).resolve().parents[1] / "hub" / "server.py"
FORMATS = ["safetensors", "sharded", "bin", "sharded bin"]
WAYS = ["pull", "download", "mixed"]


class Hub:
    """tests/hub/server.py over a folder of models."""

    def __init__(self, folder: Path):
        self.models, self.state = folder / "models", folder / "state"
        self.models.mkdir()
        self.state.mkdir()

    def __enter__(self) -> "Hub":
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER), "--models", str(self.models), "--state", str(self.state)], stdin=subprocess.PIPE)
        end = time.monotonic() + 20
        while not (self.state / "ports").exists():
            if time.monotonic() > end:
                raise OSError("tests/hub/server.py does not start")
            time.sleep(0.02)
        self.endpoint = f"http://127.0.0.1:{(self.state / 'ports').read_text().split()[0]}"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()

    def bodies(self) -> list[str]:
        """Paths of the large files that were fetched so far."""
        log = self.state / "log"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [line["path"] for line in lines if line["origin"] == "cdn" and line["method"] == "GET"]


def write_model(rng: np.random.Generator, folder: Path, kind: str) -> None:
    """A small random encoder as the reference saves it, with files that nobody needs beside it."""
    options = {"vocab_size": int(rng.integers(30, 200)), "hidden_size": 32, "num_hidden_layers": int(rng.integers(1, 3)),
               "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 40}
    torch.manual_seed(int(rng.integers(1 << 31)))
    if rng.random() < 0.5:
        model = transformers.BertModel(transformers.BertConfig(**options))
    else:
        model = transformers.LongformerModel(transformers.LongformerConfig(**options, attention_window=8, pad_token_id=1))
    size = sum(parameter.numel() * 4 for parameter in model.parameters())
    shard = {"max_shard_size": size // 3} if kind.startswith("sharded") else {}
    model.save_pretrained(folder, safe_serialization=not kind.endswith("bin"), **shard)
    (folder / "tf_model.h5").write_bytes(rng.bytes(100))
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(rng.bytes(100))
    (folder / "vocab.txt").write_text("".join(f"w{i}\n" for i in range(options["vocab_size"])))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')


def pull(options, hub: Hub, cache: Path, name: str) -> dict:
    """`longformer pull NAME --json`."""
    os.environ.update(HF_ENDPOINT=hub.endpoint, HF_HUB_CACHE=str(cache), no_proxy="127.0.0.1")
    return json.loads(common.run_command(options.binary, "pull", name, "--json").stdout)


def part_of_weights(cache: Path, name: str, rng: np.random.Generator) -> None:
    """Turns one large blob of the cache into the beginning of it, as a killed download leaves it."""
    repository = cache / ("models--" + name.replace("/", "--"))
    blobs = [path for path in sorted((repository / "blobs").iterdir()) if len(path.name) == 64]
    blob = blobs[int(rng.integers(len(blobs)))]
    data = blob.read_bytes()
    blob.with_name(blob.name + ".incomplete").write_bytes(data[:int(rng.integers(1, len(data)))])
    for link in (repository / "snapshots").rglob("*"):
        if link.is_symlink() and link.resolve() == blob.resolve():
            link.unlink()
    blob.unlink()


def check_found(options, hub: Hub, scratch: Path, cache: Path, name: str, rng: np.random.Generator) -> list[str]:
    """What both programs must see in a cache that is whole."""
    wrong = []
    folder = Path(huggingface_hub.snapshot_download(name, cache_dir=cache, local_files_only=True))
    scan = huggingface_hub.scan_cache_dir(cache)
    if scan.warnings or [repository.repo_id for repository in scan.repos] != [name]:
        wrong.append(f"huggingface_hub reports {scan.warnings or scan.repos}")
    model = transformers.AutoModel.from_pretrained(name, cache_dir=cache, local_files_only=True)
    source = transformers.AutoModel.from_pretrained(hub.models / name)
    for key, value in source.state_dict().items():
        if not torch.equal(model.state_dict()[key], value):
            wrong.append(f"{key} differs after the way through the cache")
    for path in folder.rglob("*"):
        if path.is_file() and path.read_bytes() != (hub.models / name / path.relative_to(folder)).read_bytes():
            wrong.append(f"{path.relative_to(folder)} has other bytes than on the server")
    inputs = {"input_ids": rng.integers(3, model.config.vocab_size, (1, 9))}
    by_name = common.forward(options.binary, name, inputs, scratch)
    by_folder = common.forward(options.binary, hub.models / name, inputs, scratch)
    wrong += [f"{key} differs by name and by directory" for key in by_folder if not (by_name[key] == by_folder[key]).all()]
    return wrong


def hub_case(options, report: common.Report, seed: int) -> None:
    """One model, one way."""
    rng = np.random.default_rng(seed)
    kind, way = FORMATS[seed % len(FORMATS)], WAYS[seed % len(WAYS)]
    name = str(rng.choice(["org/tiny-model", "tiny.model_2"]))
    with common.Scratch(options, f"hub_{seed}") as scratch:
        cache = scratch.path / "cache"
        wrong: list[str] = []
        try:
            with Hub(scratch.path) as hub:
                write_model(rng, hub.models / name, kind)
                if way != "pull":
                    huggingface_hub.snapshot_download(name, cache_dir=cache, endpoint=hub.endpoint,
                                                      ignore_patterns=["*.h5", "*.onnx"])
                if way == "mixed":
                    part_of_weights(cache, name, rng)
                before = hub.bodies()
                record = pull(options, hub, cache, name)
                fetched = len(hub.bodies()) - len(before)
                wanted = {"download": 0, "mixed": 1}.get(way, fetched)
                if fetched != wanted:
                    wrong.append(f"pull fetched {fetched} large files, {wanted} are needed")
                if way == "download" and record["downloaded_bytes"] != 0:
                    wrong.append(f"pull fetched {record['downloaded_bytes']} bytes of a model that was there")
                wrong += check_found(options, hub, scratch.path, cache, name, rng)
        except (common.CommandFailed, OSError, ValueError, KeyError) as failure:
            wrong.append(f"{type(failure).__name__}: {failure}")
        scratch.failed = bool(wrong)
        report.add(seed, f"{way}, {kind}", wrong)


def main() -> int:
    """Runs the cases."""
    options = common.parser(__doc__.splitlines()[0], cases=12).parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    huggingface_hub.utils.disable_progress_bars()
    report = common.Report("hub", options)
    for seed in range(options.seed, options.seed + options.cases):
        hub_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
