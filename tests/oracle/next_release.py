"""Saved models in the next release of Transformers, which a process of its own loads: two releases do not fit into one.

`NextRelease().logits(...)` asks it; serve() is that process. It reads one request a line and answers with one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

PACKAGES = Path(sys.prefix) / "next-release"


class NextRelease:
    """The process, started when it is first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None

    def logits(self, folder: Path, inputs: dict[str, np.ndarray], scratch: Path) -> tuple[dict[str, np.ndarray], list[str]]:
        """The logits of a saved model of the class that its config.json names, and what loading it complained of."""
        if self._process is None:
            environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(PACKAGES), str(Path(__file__).parent)]), HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
            self._process = subprocess.Popen([sys.executable, "-c", "import next_release; next_release.serve()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                             env=environment)
        asked, answered = scratch / "next_inputs.safetensors", scratch / "next_logits.safetensors"
        save_file({name: np.ascontiguousarray(value) for name, value in inputs.items()}, asked)
        self._process.stdin.write(json.dumps({"folder": str(folder), "inputs": str(asked), "logits": str(answered)}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of {PACKAGES} ended")
        wrong = json.loads(answer)["wrong"]
        return (load_file(answered) if answered.exists() else {}), wrong


def answer(request: dict) -> list[str]:
    """Writes the logits; what Transformers says about the tensors and the tokenizer."""
    import torch
    import transformers
    kind = json.loads((Path(request["folder"]) / "config.json").read_text())["architectures"][0]
    model, said = getattr(transformers, kind).from_pretrained(request["folder"], output_loading_info=True,
                                                              attn_implementation="eager", dtype=torch.float32)
    transformers.AutoTokenizer.from_pretrained(request["folder"])
    with torch.no_grad():
        output = model.eval()(**{name: torch.from_numpy(value) for name, value in load_file(request["inputs"]).items()})
    save_file({name: output[name].numpy() for name in ("logits", "start_logits", "end_logits") if name in output},
              request["logits"])
    return [f"{transformers.__version__}, {what}: {sorted(map(str, names))}" for what, names in said.items() if names]


def serve() -> None:
    """Answers requests until there are no more."""
    import torch
    import transformers
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    replies, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is no answer
    for line in sys.stdin:
        try:
            wrong = answer(json.loads(line))
        except Exception as failure:  # whatever the other release objects to is a finding
            wrong = [f"the next release: {type(failure).__name__}: {failure}"]
        print(json.dumps({"wrong": wrong}), file=replies, flush=True)
