"""What every oracle script shares: running the command, comparing with a tolerance, counting. Needs numpy only."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

# An element may be off by this much in any case, for a largest element of 1.
BASE_TOLERANCE = 2e-5
# Beyond that, by this many times what float32 costs the reference itself on the same case.
REFERENCE_FACTOR = 4.0


class CommandFailed(Exception):
    """The command ended with an exit code that the case does not allow."""


def parser(description: str, cases: int) -> argparse.ArgumentParser:
    """Options that all oracle scripts have."""
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--binary", required=True, help="path of the longformer command")
    result.add_argument("--cases", type=int, default=cases)
    result.add_argument("--seed", type=int, default=1, help="case i has the seed SEED + i")
    result.add_argument("--keep", type=Path, help="keep the files of failing cases below this folder")
    return result


def default_model() -> Path | None:
    """Where the default model lies, if it has been made."""
    script = Path(__file__).resolve().parents[2] / "tools" / "default_model.sh"
    result = subprocess.run([str(script), "--directory"], capture_output=True, text=True, check=False)
    folder = Path(result.stdout.strip()) if result.returncode == 0 else None
    return folder if folder and (folder / "config.json").is_file() else None


def run_command(binary: str, *arguments: object, allowed: tuple[int, ...] = (0,),
                timeout: float = 300.0) -> subprocess.CompletedProcess:
    """Runs the command; raises CommandFailed with the end of its standard error."""
    line = [binary, *[str(argument) for argument in arguments]]
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    result = subprocess.run(line, capture_output=True, env=environment, timeout=timeout, check=False)
    if result.returncode not in allowed:
        error = result.stderr.decode("utf-8", "replace").strip()[-600:]
        raise CommandFailed(f"exit {result.returncode} from {arguments[0]}: {error}")
    return result


def json_lines(output: bytes) -> list[dict]:
    """One object a line; str.splitlines() would also split at line separators inside strings."""
    return [json.loads(line) for line in output.decode("utf-8").split("\n") if line]


def forward(binary: str, model: Path, inputs: dict[str, np.ndarray], scratch: Path, *,
            threads: int = 1, model_class: str | None = None, hidden_states: bool = True,
            arguments: list | tuple = ()) -> dict[str, np.ndarray]:
    """`longformer forward` on named tensors, with more options where given."""
    source, target = scratch / "in.safetensors", scratch / "out.safetensors"
    target.unlink(missing_ok=True)
    save_file({name: np.ascontiguousarray(value) for name, value in inputs.items()}, source)
    arguments = [*arguments, "--model", model, "--inputs", source, "--outputs", target, "--threads", threads]
    if model_class:
        arguments += ["--class", model_class]
    if hidden_states:
        arguments += ["--hidden-states"]
    run_command(binary, "forward", *arguments)
    return load_file(target)


def scale_of(values: np.ndarray) -> float:
    """The size that errors are measured against: the largest element, at least 1."""
    return max(1.0, float(np.abs(values).max(initial=0.0)))


def tolerance(single: dict[str, np.ndarray], double: dict[str, np.ndarray]) -> float:
    """Relative tolerance of a case, from the reference in float32 and in float64."""
    own = max(float(np.abs(single[name] - double[name]).max(initial=0.0)) / scale_of(double[name])
              for name in double)
    return max(BASE_TOLERANCE, REFERENCE_FACTOR * own)


def compare(got: dict[str, np.ndarray], want: dict[str, np.ndarray], limit: float) -> tuple[float, list[str]]:
    """Largest error / allowed error over all tensors, and one line for each tensor that is wrong."""
    worst, wrong = 0.0, []
    if set(got) != set(want):
        wrong.append(f"tensors: got {sorted(got)}, want {sorted(want)}")
    for name in sorted(set(got) & set(want)):
        if got[name].shape != want[name].shape or got[name].dtype != np.float32:
            wrong.append(f"{name}: got {got[name].dtype}{list(got[name].shape)}, "
                         f"want float32{list(want[name].shape)}")
            continue
        error = np.abs(got[name].astype(np.float64) - want[name].astype(np.float64))
        error = np.where(np.isfinite(error), error, np.inf)
        ratio = float(error.max(initial=0.0)) / (limit * scale_of(want[name]))
        worst = max(worst, ratio)
        if not ratio <= 1.0:
            bad = [int(i) for i in np.unravel_index(int(error.argmax()), error.shape)]
            wrong.append(f"{name}{bad}: error {error.max():.3g} is {ratio:.3g} of the allowed, "
                         f"{int((error > limit * scale_of(want[name])).sum())} of {error.size} elements over")
    return worst, wrong


class Report:
    """Counts cases and prints one line for each failure, with the way to run it again."""

    def __init__(self, title: str, options: argparse.Namespace):
        self.title, self.options = title, options
        self.passed, self.failed, self.worst = 0, 0, 0.0

    def add(self, seed: int, what: str, wrong: list[str], ratio: float = 0.0) -> None:
        """Records one case."""
        if np.isfinite(ratio) and not wrong:
            self.worst = max(self.worst, ratio)
        if not wrong:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {self.title} seed {seed}, {what}")
        for line in wrong[:6]:
            print(f"  {line}")
        print(f"  again: {sys.executable} {sys.argv[0]} --binary {self.options.binary} "
              f"--seed {seed} --cases 1", flush=True)

    def finish(self, extra: str = "") -> int:
        """Prints the summary; returns the exit code."""
        worst = f", worst error/tolerance {self.worst:.3f}" if self.worst else ""
        print(f"{self.title}: {self.passed} passed, {self.failed} failed{worst}{extra}", flush=True)
        return 0 if self.failed == 0 and self.passed > 0 else 1


class Scratch:
    """A folder for the files of one case: removed, or moved below --keep when the case failed."""

    def __init__(self, options: argparse.Namespace, name: str):
        self.keep, self.name = options.keep, name
        self.path = Path(tempfile.mkdtemp(prefix="longformer_oracle_"))
        self.failed = False

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, kind, value, trace) -> None:
        if self.keep and (self.failed or kind is not None):
            self.keep.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.keep / self.name, ignore_errors=True)
            shutil.move(str(self.path), str(self.keep / self.name))
        else:
            shutil.rmtree(self.path, ignore_errors=True)
