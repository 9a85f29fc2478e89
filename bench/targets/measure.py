"""What all targets share: processes in turn, ratios a round, rows of the result, the machine."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

MIB = 1024 * 1024

Command = Sequence[object]
Timing = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Goal:
    """The values that a target must and should reach; `ceiling`: the measured value may not exceed them."""

    must: float
    aim: float
    ceiling: bool = False

    def reached(self, value: float) -> str:
        for name, bound in (("aim", self.aim), ("must", self.must)):
            if value <= bound if self.ceiling else value >= bound:
                return name
        return "short of must"


@dataclasses.dataclass(frozen=True)
class Row:
    """One measured figure: a value a round."""

    target: str
    work: str
    against: str
    values: list[float]
    goal: Goal | None = None  # none: a figure beside the targets
    unit: str = "x"
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        return self.goal.reached(self.median) if self.goal else ""

    def cells(self) -> list[str]:
        bounds = [f"{'≤ ' if self.goal.ceiling else ''}{value:g}" for value in (self.goal.must, self.goal.aim)] \
            if self.goal else ["", ""]
        unit = "" if self.unit == "1" else f" {self.unit}"
        return [self.target, self.work, self.against, number(self.median) + unit,
                f"{number(min(self.values))} to {number(max(self.values))}", *bounds, self.verdict, self.note]

    def as_json(self) -> dict[str, object]:
        return dataclasses.asdict(self) | {"median": self.median, "verdict": self.verdict}


HEADINGS = ["target", "work", "against", "median", "min to max", "must", "aim", "reached", "beside it"]


def number(value: float) -> str:
    """Three or four digits that matter."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 20 else f"{value:.3f}"


def run(command: Command) -> Timing:
    """Runs a process and returns the JSON object that it prints.

    Adds first_output_s: the seconds from its start to that line.
    """
    words = [str(word) for word in command]
    start = time.perf_counter()
    result, said = None, []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if line.startswith("{"):
                result = json.loads(line) | {"first_output_s": time.perf_counter() - start}
            else:
                said.append(line)
    if process.returncode != 0 or result is None:
        raise SystemExit(f"{' '.join(words)}\nended with {process.returncode}: {''.join(said)[-1500:]}")
    return result


def turns(sides: Mapping[str, Callable[[], Timing]], count: int) -> dict[str, list[Timing]]:
    """Calls all sides `count` times, in an order that turns around from round to round."""
    results: dict[str, list[Timing]] = {name: [] for name in sides}
    for index in range(count):
        for name in list(sides) if index % 2 == 0 else reversed(sides):
            results[name].append(sides[name]())
            seconds = results[name][-1].get("compute_s")
            print(f"  round {index + 1} of {count}: {name}" + (f", {seconds:.4g} s" if seconds else ""),
                  file=sys.stderr, flush=True)
    return results


def ratios(above: list[Timing], below: list[Timing], field: str = "compute_s") -> list[float]:
    """Of each round."""
    return [a[field] / b[field] for a, b in zip(above, below)]


def seconds(name: str, timings: list[Timing], field: str = "compute_s") -> str:
    return f"{name} {statistics.median(one[field] for one in timings):.4g} s"


def peak_memory(name: str, timings: list[Timing]) -> str:
    return f"{name} at most {max(one['peak_rss_bytes'] for one in timings) / MIB:.0f} MiB"


def largest_difference(ours: Path, theirs: Path, tensor: str = "last_hidden_state", limit: float = 1e-3) -> str:
    """Of an element of `tensor` in ours and of the peer's last_hidden_state.

    Times are worth nothing when both did not compute the same: then the run ends.
    """
    a, b = load_file(ours)[tensor], load_file(theirs)["last_hidden_state"]
    error = float(np.abs(a.reshape(-1) - b.reshape(-1)).max())
    if not error <= limit:
        raise SystemExit(f"the outputs {ours.name} and {theirs.name} differ by {error:.3g}, more than {limit:g}")
    return f"largest difference {error:.1e}"


def median_cosine(name: str, ours: Path, theirs: Path, limit: float = 0.98) -> str:
    """Of the token states with those of a float32 pass (random weights: no figure of quality)."""
    a, b = (load_file(path)["last_hidden_state"] for path in (ours, theirs))
    a, b = (x.reshape(-1, x.shape[-1]).astype(np.float64) for x in (a, b))
    cosine = float(np.median((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)))
    if not cosine >= limit:
        raise SystemExit(f"the states of {ours.name} and {theirs.name} have a median cosine of {cosine:.4f} only")
    return f"{name} cosine {cosine:.5f}"


@dataclasses.dataclass
class Bench:
    """One run of the benchmarks: where things are and how often they are measured."""

    binary: Path
    folder: Path
    pairs: int
    threads: int
    made: dict[str, Path] = dataclasses.field(default_factory=dict)

    def make(self, name: str, maker: Callable[[Path], None]) -> Path:
        """The file or folder of this name, made at its first use."""
        if name not in self.made:
            self.made[name] = self.folder / name
            maker(self.made[name])
        return self.made[name]

    def program(self, name: str) -> Path:
        """A program of bench/ that was built beside the command."""
        path = self.binary.parent / name
        if not path.is_file():
            raise SystemExit(f"{path} does not exist: build it (LONGFORMER_BENCH=ON)")
        return path

    def ours(self, model: Path, inputs: Path, outputs: str, compute: str = "f32", repeat: int = 1) -> Command:
        precision = [] if compute == "f32" else ["--compute", compute]
        return [self.binary, "forward", "--model", model, "--inputs", inputs, "--outputs", self.folder / outputs,
                "--threads", self.threads, "--timing", "--repeat", repeat, *precision]

    def peer(self, kind: str, inputs: Path, outputs: str, *options: object, repeat: int = 1) -> Command:
        return [sys.executable, Path(__file__).with_name("peers.py"), kind, "--inputs", inputs, "--outputs",
                self.folder / outputs, "--threads", self.threads, "--repeat", repeat, *options]

    def turns(self, sides: Mapping[str, Callable[[], Timing]]) -> dict[str, list[Timing]]:
        return turns(sides, self.pairs)

    def rounds(self, commands: Mapping[str, Command]) -> dict[str, list[Timing]]:
        """Each command a fresh process."""
        return self.turns({name: lambda command=command: run(command) for name, command in commands.items()})

    def peak(self, results: list[Timing], precision: str) -> float | None:
        """GFLOP/s a core from rounds of peak_bench, the best of them: a disturbed one would flatter shares of it."""
        found = [one[precision]["peak"] for one in results if precision in one]
        return max(found) if found else None


def machine(threads: int) -> str:
    """What the figures belong to."""
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")] if Path("/proc/cpuinfo").exists() else []
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "transformers", "onnxruntime"))
    return (f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors, {threads} threads, "
            f"{memory:.0f} GiB; {versions}; load average at the start {os.getloadavg()[0]:.2f}")
