#!/usr/bin/env python3
"""`longformer classify`, `fill-mask` and `choose` beside the reference's pipelines, end to end from text.

Models: pipelines_common.py. Labels, tokens and texts must be equal where scores are further apart than the tolerance; scores
within it. Multiple choice has no pipeline: the model class is called as run_swag.py calls it. Texts in windows have none
either: the documented windows are cut by the reference's tokenizer and averaged here.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from pathlib import Path

import torch
import transformers

import common
import pipelines_common as models

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
MAX_TOKENS = 64
TASKS = ["single-label", "multi-label", "regression", "fill-mask", "multiple-choice"]


def close(got: float, want: float) -> bool:
    """Within the tolerance of common.py, for values of about 1."""
    return abs(got - want) <= common.BASE_TOLERANCE * max(1.0, abs(want))


def compare_ranked(got: list[dict], want: list[dict], keys: list[str]) -> list[str]:
    """Two lists by falling score: scores agree rank by rank, and what has them wherever no neighbour is as good."""
    if len(got) != len(want):
        return [f"{len(got)} results, want {len(want)}"]
    wrong = []
    for rank, (one, other) in enumerate(zip(got, want)):
        if not close(one["score"], other["score"]):
            wrong.append(f"rank {rank}: score {one['score']}, want {other['score']}")
        near = [want[k]["score"] for k in (rank - 1, rank + 1) if 0 <= k < len(want)]
        # What is cut off behind the last rank may be as good as that one.
        if any(close(score, other["score"]) for score in near) or rank == len(want) - 1 > 0:
            continue
        wrong += [f"rank {rank}: {key} {one[key]!r}, want {other[key]!r}" for key in keys if one[key] != other[key]]
    return wrong


def command_lines(options, model: models.TrainedModel, command: str, inputs: list[dict], scratch: Path,
                  rng: random.Random, *arguments: object) -> list[dict]:
    """The records of a JSON lines file; the same bytes for two sizes of a call."""
    source = scratch / "in.jsonl"
    source.write_text("".join(json.dumps(one, ensure_ascii=rng.random() < 0.5) + "\n" for one in inputs), encoding="utf-8")
    outputs = [common.run_command(options.binary, command, "--model", model.directory, "--input", source, "--batch-tokens", size,
                                  "--threads", 1, *arguments).stdout for size in (rng.randrange(1, 300), 4096)]
    if outputs[0] != outputs[1]:
        raise common.CommandFailed("the output depends on --batch-tokens")
    records = common.json_lines(outputs[0])
    if [record["line"] for record in records] != list(range(1, len(inputs) + 1)):
        raise common.CommandFailed(f"lines {[record['line'] for record in records]}, want 1..{len(inputs)}")
    return records


def some_text(rng: random.Random, words: int) -> str:
    """Text of about so many words."""
    return models.text_about(rng, [rng.choice(models.ANIMALS) for _ in range(rng.randrange(3))], words)


def window_scores(model: models.TrainedModel, text: str, second: str | None, function) -> tuple[torch.Tensor, int]:
    """docs/tasks.md: equal windows, an eighth shared, averaged by their tokens of the first text."""
    tokens = model.tokenizer(text, add_special_tokens=False)["input_ids"]
    other = model.tokenizer(second, add_special_tokens=False)["input_ids"] if second is not None else []
    specials = model.tokenizer.num_special_tokens_to_add(pair=second is not None)
    room = model.max_tokens - specials - len(other)
    overlap = room // 8
    count = -(-(len(tokens) - overlap) // (room - overlap))
    size = -(-(len(tokens) + (count - 1) * overlap) // count)
    inputs = model.tokenizer(text, second, truncation="only_first", max_length=size + specials + len(other), stride=overlap,
                             return_overflowing_tokens=True)
    total, weights = torch.zeros(model.model.config.num_labels), 0
    for index in range(len(inputs["input_ids"])):
        one = {name: torch.tensor([inputs[name][index]]) for name in model.tokenizer.model_input_names}
        weight = sum(kind == 0 for kind in inputs.sequence_ids(index))
        total += function(model.model(**one).logits[0]) * weight
        weights += weight
    return total / weights, len(inputs["input_ids"])


@torch.no_grad()
def check_classify(options, model: models.TrainedModel, scratch: Path, rng: random.Random) -> list[str]:
    """Short texts and pairs, then long ones truncated and in windows."""
    pipe = transformers.pipeline("text-classification", model=model.model, tokenizer=model.tokenizer, device="cpu")
    name = rng.choice(["softmax", "sigmoid", "none", None])
    arguments = [] if name is None else ["--function", name]
    settings = {} if name is None else {"function_to_apply": name}
    inputs = [{"text": some_text(rng, rng.randrange(1, 14))} for _ in range(6)] + [{"text": ""}]
    inputs += [{"text": some_text(rng, rng.randrange(1, 7)), "text_pair": some_text(rng, rng.randrange(1, 7))} for _ in range(4)]
    rng.shuffle(inputs)
    wrong = []
    records = command_lines(options, model, "classify", inputs, scratch, rng, "--top-k", 0, *arguments)
    for record, one in zip(records, inputs):
        wanted = pipe(one, top_k=None, **settings)
        wrong += compare_ranked(record["scores"], wanted, ["label"])
        if record["label"] != record["scores"][0]["label"]:
            wrong.append(f"label {record['label']} is not the best of {record['scores']}")
    best = command_lines(options, model, "classify", inputs, scratch, rng, *arguments)
    for record, one, every in zip(best, inputs, records):
        wanted = pipe(one["text"], **settings)[0] if "text_pair" not in one else pipe(one, **settings)
        if not close(record["score"], wanted["score"]) or record["scores"] != every["scores"][:1]:
            wrong.append(f"best {record['scores']}, want {wanted}")
    longs = [{"text": some_text(rng, rng.randrange(70, 300))} for _ in range(2)]
    longs += [{"text": some_text(rng, 100), "text_pair": some_text(rng, 4)}, {"text": some_text(rng, 3)}]
    records = command_lines(options, model, "classify", longs, scratch, rng, "--top-k", 0, "--long", "truncate", *arguments)
    for record, one in zip(records, longs):
        wanted = pipe(one, top_k=None, truncation=True, max_length=MAX_TOKENS, **settings)
        wrong += compare_ranked(record["scores"], wanted, ["label"])
        whole = len(model.tokenizer(**one)["input_ids"])
        if record["truncated_tokens"] != max(0, whole - MAX_TOKENS):
            wrong.append(f"{record['truncated_tokens']} tokens cut off, want {max(0, whole - MAX_TOKENS)}")
    functions = {"softmax": lambda logits: logits.softmax(-1), "sigmoid": torch.sigmoid, "none": lambda logits: logits,
                 None: {"single-label": lambda logits: logits.softmax(-1), "multi-label": torch.sigmoid,
                        "regression": lambda logits: logits}[model.task]}
    records = command_lines(options, model, "classify", longs[:3], scratch, rng, "--top-k", 0, *arguments)
    for record, one in zip(records, longs):
        scores, windows = window_scores(model, one["text"], one.get("text_pair"), functions[name])
        wanted = sorted(({"label": model.model.config.id2label[index], "score": float(score)}
                         for index, score in enumerate(scores)), key=lambda entry: -entry["score"])
        wrong += compare_ranked(record["scores"], wanted, ["label"])
        if record["windows"] != windows or windows < 2:
            wrong.append(f"{record['windows']} windows, want {windows}")
    return wrong + check_evaluate(options, model, pipe, functions[None], scratch, rng)


def check_evaluate(options, model: models.TrainedModel, pipe, function, scratch: Path, rng: random.Random) -> list[str]:
    """`evaluate --model` on short texts and one of several windows."""
    texts = [some_text(rng, rng.randrange(1, 14)) for _ in range(20)] + [some_text(rng, 100)]
    names = list(model.model.config.id2label.values())
    every = [{entry["label"]: entry["score"] for entry in pipe(text, top_k=None)} for text in texts[:-1]]
    scores, _ = window_scores(model, texts[-1], None, function)
    every.append({name: float(score) for name, score in zip(names, scores)})
    predict, invent = {
        "single-label": (lambda found: max(found, key=found.get), lambda: rng.choice(names)),
        "multi-label": (lambda found: [name for name in names if found[name] > 0.5], lambda: rng.sample(names, rng.randrange(len(names) + 1))),
        "regression": (lambda found: found[names[0]], lambda: rng.gauss(0, 1))}[model.task]
    gold = [{"text": text, "label": invent() if rng.random() < 0.5 else predict(found)} for text, found in zip(texts, every)]
    task = {"single-label": "classification"}.get(model.task, model.task)
    return models.check_evaluate(options.binary, model.directory, task, gold, [{"label": predict(found)} for found in every], scratch)


@torch.no_grad()
def check_fill_mask(options, model: models.TrainedModel, scratch: Path, rng: random.Random) -> list[str]:
    """One mask, several, targets; a mask in a long text is filled as its window alone."""
    mask = model.tokenizer.mask_token
    pipe = transformers.pipeline("fill-mask", model=model.model, tokenizer=model.tokenizer, device="cpu")

    def masked(words: int, masks: int) -> str:
        parts = some_text(rng, words).split(" ")
        for _ in range(masks):
            parts.insert(rng.randrange(len(parts) + 1), mask)
        return rng.choice([" ", "  "]).join(parts)

    texts = [f"{' '.join(models.filler(rng, 3))} the {animal} sleeps in the {mask}" for animal in models.ANIMALS]
    texts += [masked(rng.randrange(1, 10), rng.choice([1, 1, 2, 3])) for _ in range(7)]
    count = rng.choice([1, 5, 20])
    inputs = [{"body": text} for text in texts]
    wrong = []
    keys = ["token", "token_str", "sequence"]
    for targets in (None, ["barn", " river", "fox", "🙂"]):
        arguments, settings = ["--field", "body", "--top-k", count], {"top_k": count}
        if targets:
            settings["targets"] = targets
            arguments += [part for target in targets for part in ("--targets", target)]
        for record, text in zip(command_lines(options, model, "fill-mask", inputs, scratch, rng, *arguments), texts):
            wanted = pipe(text, **settings)
            wanted = wanted if isinstance(wanted[0], list) else [wanted]
            if len(record["masks"]) != len(wanted):
                wrong.append(f"{len(record['masks'])} masks, want {len(wanted)}")
                continue
            for got, want in zip(record["masks"], wanted):
                wrong += compare_ranked(got, want, keys)
    # A long text: the tokens in the middle of which the mask stands are all that is read.
    before, behind = (" ".join(models.filler(rng, rng.randrange(20, 120), 0.0)) for _ in range(2))
    record = command_lines(options, model, "fill-mask", [{"body": f"{before} {mask} {behind}"}], scratch, rng,
                           "--field", "body")[0]
    ids = model.tokenizer(f"{before} {mask} {behind}", add_special_tokens=False)["input_ids"]
    size = min(len(ids), MAX_TOKENS - 2)
    begin = min(max(0, ids.index(model.tokenizer.mask_token_id) - size // 2), len(ids) - size)
    window = torch.tensor([[model.tokenizer.cls_token_id, *ids[begin:begin + size], model.tokenizer.sep_token_id]])
    scores = model.model(input_ids=window).logits[0, window[0].tolist().index(model.tokenizer.mask_token_id)].softmax(-1)
    top = scores.topk(5)
    wrong += compare_ranked(record["masks"][0], [{"score": float(score), "token": int(token)}
                                                 for score, token in zip(top.values, top.indices)], ["token"])
    return wrong


@torch.no_grad()
def check_choose(options, model: models.TrainedModel, scratch: Path, rng: random.Random) -> list[str]:
    """Contexts, questions, both; long contexts are cut, and only they."""
    inputs = []
    for _ in range(8):
        context, choices, _ = models.choice_example(rng)
        choices = choices[:rng.randrange(1, 4)] + [some_text(rng, 2) for _ in range(rng.randrange(2))]
        one = {"context": context, "choices": choices}
        if rng.random() < 0.5:
            one["question"] = " ".join(models.filler(rng, rng.randrange(1, 5)))
        if "question" in one and rng.random() < 0.3:
            del one["context"]
        elif rng.random() < 0.3:
            one["context"] = some_text(rng, 100)
        inputs.append(one)
    wrong = []
    for record, one in zip(command_lines(options, model, "choose", inputs, scratch, rng), inputs):
        first = one.get("context", one.get("question"))
        seconds = [f"{one['question']} {choice}" if "question" in one and "context" in one else choice for choice in one["choices"]]
        pairs = model.tokenizer([first] * len(seconds), seconds, truncation="only_first", max_length=MAX_TOKENS, padding=True,
                                return_tensors="pt")
        scores = model.model(**{name: value.unsqueeze(0) for name, value in pairs.items()}).logits[0].softmax(-1).tolist()
        if len(scores) != len(record["scores"]) or not all(close(got, want) for got, want in zip(record["scores"], scores)):
            wrong.append(f"scores {record['scores']}, want {scores}")
        elif not close(scores[record["choice"]], max(scores)) or record["text"] != one["choices"][record["choice"]]:
            wrong.append(f"choice {record['choice']} of {scores}")
        cut = max(len(model.tokenizer(first, second)["input_ids"]) - MAX_TOKENS for second in seconds)
        if record["truncated_tokens"] != max(0, cut):
            wrong.append(f"{record['truncated_tokens']} tokens cut off, want {max(0, cut)}")
    return wrong


def main() -> int:
    """Case i trains one model: tasks and families take turns."""
    options = common.parser(__doc__, 30).parse_args()
    report = common.Report("text_tasks", options)
    checks = {"fill-mask": check_fill_mask, "multiple-choice": check_choose}
    for seed in range(options.seed, options.seed + options.cases):
        rng = random.Random(seed)
        task, family = TASKS[seed % len(TASKS)], list(models.FAMILIES)[seed // len(TASKS) % len(models.FAMILIES)]
        with common.Scratch(options, f"text_tasks_{seed}") as scratch:
            try:
                model = models.make_model(task, family, scratch.path / "model", seed, MAX_TOKENS)
                wrong = checks.get(task, check_classify)(options, model, scratch.path, rng)
            except common.CommandFailed as failure:
                wrong = [str(failure)]
            scratch.failed = bool(wrong)
        report.add(seed, f"{task} {family}", wrong)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
