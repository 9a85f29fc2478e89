#!/usr/bin/env python3
"""Toy tasks that show how far attention reaches. Each trains a small model from nothing; needs the command and no package.

    python3 examples/training/toy_tasks.py [--binary build/release/bin/longformer] [--folder DIR] [question|reach|dilation …]

question  A question is answered from more than 2,048 tokens away. Two layers that see 4 tokens to each side reach 8 far,
          so only the global tokens of the question connect both; the same model without them must guess.
reach     The first token must name a symbol that stands D tokens behind it. Four layers that see 4 tokens to each side pass
          a symbol on over 4 x 4 = 16 tokens and not one further.
dilation  The same with every second token in the windows: 32 tokens far, and only over even distances.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPECIAL = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
FILLERS = [f"f{index}" for index in range(16)]
SYMBOLS = [f"s{index}" for index in range(8)]
KEYS = [f"k{index}" for index in range(8)]
FACTS = {key: [f"{key}v{index}" for index in range(8)] for key in KEYS}  # words that say a value of a key
TEST_ROWS = 200


def write_model(folder: Path, words: list[str], shape: dict) -> None:
    """A model directory without weights: config.json and a vocabulary of whole words."""
    folder.mkdir(parents=True)
    vocabulary = SPECIAL + words
    config = {"model_type": "longformer", "vocab_size": len(vocabulary), "pad_token_id": 1, "bos_token_id": 0, "sep_token_id": 2,
              "type_vocab_size": 1, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "initializer_range": 0.02,
              "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0} | shape
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "model_max_length": shape["max_position_embeddings"] - 2}))


def write_rows(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Command:
    """The command under test, and the folder where everything is made."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary, self.folder = binary, folder

    def run(self, *words: object) -> list[dict]:
        done = subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}\nended with {done.returncode}: {done.stderr[-2000:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def train(self, task: str, model: Path, run: str, rows: list[dict], *options: object) -> tuple[Path, dict, str]:
        """The trained model, what the last evaluation measured, and what the training took."""
        start = time.monotonic()
        output = self.folder / run
        data = write_rows(self.folder / f"{run}.jsonl", rows)
        lines = self.run("train", task, "--model", model, "--from-scratch", "true", "--output", output, "--json", "true",
                         "--logging-steps", 50, "--save-steps", 0, "--lr-scheduler-type", "cosine", "--warmup-ratio", 0.1,
                         "--weight-decay", 0.01, *options, data)
        return output / "model", lines[-1]["metrics"], f"{lines[-1]['step']} steps, {time.monotonic() - start:.0f} s"


def show(cells: list[object]) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def question_row(chosen: random.Random, before: int) -> dict:
    """Facts about four keys, all of them more than `before` tokens behind the question, and a question for one key."""
    keys = chosen.sample(KEYS, 4)
    words = chosen.choices(FILLERS, k=before + 1)
    places = []
    for key in keys:
        words += chosen.choices(FILLERS, k=chosen.randrange(1, 20))
        places.append(len(words))
        words.append(chosen.choice(FACTS[key]))
    words += chosen.choices(FILLERS, k=chosen.randrange(1, 20))
    asked = chosen.randrange(len(keys))
    fact = places[asked]
    return {"question": keys[asked], "context": " ".join(words),
            "answers": [{"text": words[fact], "answer_start": sum(len(word) + 1 for word in words[:fact])}]}


def question(command: Command) -> bool:
    """Exact answers with and without global tokens."""
    chosen = random.Random(1)
    model = command.folder / "question_model"
    write_model(model, FILLERS + KEYS + sum(FACTS.values(), []), {
        "architectures": ["LongformerForQuestionAnswering"], "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128, "attention_window": [8, 8], "max_position_embeddings": 2178})
    # Most examples are short, though further than the windows reach: there is one label an example, whatever its length.
    rows = [question_row(chosen, 16) for _ in range(20000)] + [question_row(chosen, 2048) for _ in range(1000)]
    test = write_rows(command.folder / "question_test.jsonl", [question_row(chosen, 2048) for _ in range(TEST_ROWS)])
    show(["global tokens", "exact answers", "training"])
    show(["---"] * 3)
    exact = {}
    for rule in ("question", "none"):
        _, metrics, took = command.train("answer", model, f"question_{rule}", rows, "--global", rule, "--learning-rate", 1e-3,
                                         "--per-device-train-batch-size", 64, "--tokens-per-batch", 4400, "--group-by-length",
                                         "true", "--num-train-epochs", 3, "--eval", test)
        exact[rule] = 100.0 * metrics["exact"]
        show([rule, f"{exact[rule]:.1f} %", took])
    return exact["question"] == 100.0 and exact["none"] < 50.0


def symbol_row(chosen: random.Random, distance: int, length: int) -> dict:
    """Fillers and one symbol, `distance` tokens behind the first token of the sequence."""
    words = chosen.choices(FILLERS, k=length)
    symbol = chosen.choice(SYMBOLS)
    words[distance - 1] = symbol
    return {"text": " ".join(words), "label": symbol}


def copied(command: Command, name: str, shape: dict, distances: list[int], length: int) -> dict[int, float]:
    """Accuracy over distance of one model that was trained on all of the distances."""
    chosen = random.Random(2)
    model = command.folder / f"{name}_model"
    write_model(model, FILLERS + SYMBOLS, {"architectures": ["LongformerForMaskedLM"], "hidden_size": 64, "num_hidden_layers": 4,
                                           "num_attention_heads": 4, "intermediate_size": 128,
                                           "max_position_embeddings": length + 4} | shape)
    rows = [symbol_row(chosen, chosen.choice(distances), length) for _ in range(20000)]
    trained, _, took = command.train("classify", model, name, rows, "--global", "none", "--learning-rate", 1e-3,
                                     "--per-device-train-batch-size", 32, "--max-steps", 4000)
    result = {}
    for distance in distances:
        test = [symbol_row(chosen, distance, length) for _ in range(TEST_ROWS)]
        path = write_rows(command.folder / f"{name}_{distance}.jsonl", test)
        found = command.run("classify", "--model", trained, "--global", "none", "--json", "--input", path)
        result[distance] = 100.0 * sum(one["label"] == row["label"] for one, row in zip(found, test)) / TEST_ROWS
    show(["tokens apart", *result])
    show(["---"] * (len(result) + 1))
    show([f"right, % ({took})", *(f"{value:.0f}" for value in result.values())])
    return result


def right_up_to(result: dict[int, float], reach: int) -> bool:
    """All right where the layers reach, and guesses (one of eight) behind it."""
    return all(value == 100.0 if distance <= reach else value < 40.0 for distance, value in result.items())


def reach(command: Command) -> bool:
    return right_up_to(copied(command, "reach", {"attention_window": [8] * 4}, list(range(1, 25)), 28), 16)


def dilation(command: Command) -> bool:
    """The layout of the first release, whose windows are counted to one side, is the one that knows dilation."""
    shape = {"model_type": "roberta", "attention_mode": "tvm", "attention_window": [4] * 4, "attention_dilation": [2] * 4}
    return right_up_to(copied(command, "dilation", shape, list(range(2, 49, 2)), 52), 32)


TASKS = {"question": question, "reach": reach, "dilation": dilation}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"{', '.join(TASKS)}; default: all")
    parser.add_argument("--binary", type=Path, default=Path(__file__).resolve().parents[2] / "build/release/bin/longformer")
    parser.add_argument("--folder", type=Path, help="keep everything there; default: a temporary folder that is removed")
    options = parser.parse_args()
    unknown = [name for name in options.tasks if name not in TASKS]
    if unknown:
        parser.error(f"no task {unknown[0]}: there are {', '.join(TASKS)}")
    folder = options.folder or Path(tempfile.mkdtemp(prefix="longformer_toys_"))
    folder.mkdir(parents=True, exist_ok=True)
    missed = []
    try:
        for name in options.tasks or TASKS:
            print(f"\n{name}", flush=True)
            if not TASKS[name](Command(options.binary.resolve(), folder)):
                missed.append(name)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    for name in missed:
        print(f"{name}: not what was expected", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
