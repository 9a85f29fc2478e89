#!/usr/bin/env python3
"""`longformer tag` beside the reference's token-classification pipeline, end to end from text.

Models: pipelines_common.py, sure of what they say or with a disturbed head whose labels jump about, under several sets of
labels. Labels, words, indexes and offsets must be equal, scores within the tolerance of common.py: for every aggregation,
for texts, texts cut by a stride, and lists of words. The windows that `tag` makes by itself have no reference: here the
reference's grouping gets each token's scores from the documented window. brat and CoNLL files are read back by rules
of their own.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import transformers

import common
import pipelines_common as models

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
MAX_TOKENS = 64
AGGREGATIONS = ["none", "simple", "first", "average", "max"]
LABELS = [models.TAGS, ["PER", "LOC", "O", "date-time", "B"], ["O", "B-X-Y", "I-X-Y", "I-Z", "B-Z"], ["-", "B-", "I-", "B", "O-"],
          ["O", "B-PER", "E-PER", "S-PER", "I-PER"]]
ODD_PIECES = ["", " ", "\n", "\r\n", "\t", ".", ", ", "-", "(", ") ", "<unk>", "<mask>", "[UNK]", "e\u0301", "👩‍👩‍👧", "\u200b", "ß", "\u3000"]


def some_text(rng: random.Random, names: int, odd: float) -> str:
    """Names among fillers, a share of the spaces replaced by something odd."""
    words: list[str] = []
    for _ in range(names):
        words += models.tagged_words(rng)[0] + models.filler(rng, rng.randrange(3), odd)
    return "".join(word + (rng.choice(ODD_PIECES) if rng.random() < odd else " ") for word in words)


def relabel(model: models.TrainedModel, labels: list[str], rng: random.Random) -> None:
    """Other names for the labels; sometimes a head that is less sure."""
    model.model.config.id2label = dict(enumerate(labels))
    model.model.config.label2id = {label: index for index, label in enumerate(labels)}
    if rng.random() < 0.6:
        with torch.no_grad():
            weight = model.model.classifier.weight
            weight += torch.randn(weight.shape, generator=torch.Generator().manual_seed(rng.randrange(1 << 30))) * 0.4
    model.model.save_pretrained(model.directory)


def command(options, directory: Path, inputs: list[dict], scratch: Path, *arguments: object) -> list[dict]:
    """The records of a JSON lines file."""
    source = scratch / "in.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in inputs), encoding="utf-8")
    output = common.run_command(options.binary, "tag", "--model", directory, "--input", source, "--threads", 1, *arguments).stdout
    return common.json_lines(output)


def compare(what: str, record: dict, wanted: list[dict], text: str) -> list[str]:
    """All that the pipeline says, and what `tag` adds to it."""
    got = record["entities"]
    if len(got) != len(wanted):
        return [f"{what}: {len(got)} entities, want {len(wanted)}: {got} {wanted}"]
    wrong = []
    for one, want in zip(got, wanted):
        if not abs(one["score"] - want["score"]) <= common.BASE_TOLERANCE:
            wrong.append(f"{what}: score {one['score']}, want {want['score']}")
        wrong += [f"{what}: {key} {one.get(key)!r}, want {value!r} in {want}" for key, value in want.items()
                  if key != "score" and one.get(key) != value]
        begin, end = one["byte_start"], one["byte_end"]
        if one["text"] != text[one["start"]:one["end"]] or text.encode()[begin:end].decode() != one["text"]:
            wrong.append(f"{what}: the text of {one} is another one")
        if one["line_start"] != 1 + text.encode()[:begin].count(b"\n"):
            wrong.append(f"{what}: line {one['line_start']} of {one}")
    return wrong


def plan(tokens: int, room: int, reach: int) -> list[tuple[int, int, int, int]]:
    """The windows of docs/tasks.md: as few as possible, of equal size, parted in the middle of what neighbours share."""
    if tokens <= room:
        return [(0, tokens, 0, tokens)] if tokens else []
    overlap = min(max(room // 8, reach), room // 4)
    count = -(-(tokens - overlap) // (room - overlap))
    size = -(-(tokens + (count - 1) * overlap) // count)
    begins = [index * (tokens - size) // (count - 1) for index in range(count)]
    seams = [0] + [(begins[i + 1] + begins[i] + size) // 2 for i in range(count - 1)] + [tokens]
    return [(begin, begin + size, seams[i], seams[i + 1]) for i, begin in enumerate(begins)]


@torch.no_grad()
def windowed(pipe, model: models.TrainedModel, text: str, aggregation: str, reach: int) -> list[dict]:
    """The reference's grouping of scores that come from windows."""
    strategy = transformers.pipelines.token_classification.AggregationStrategy(aggregation)
    inputs = model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False)
    ids, rows = inputs["input_ids"], []
    first, last = model.tokenizer.cls_token_id, model.tokenizer.sep_token_id
    for begin, end, keep_begin, keep_end in plan(len(ids), MAX_TOKENS - 2, reach):
        logits = model.model(input_ids=torch.tensor([[first, *ids[begin:end], last]])).logits[0].softmax(-1).numpy()
        rows.append(logits[1 + keep_begin - begin:1 + keep_end - begin])
    entities = pipe.gather_pre_entities(text, np.array(ids), np.concatenate(rows), np.array(inputs["offset_mapping"]),
                                        np.zeros(len(ids)), strategy)
    for entity in entities:
        entity["start"], entity["end"], entity["index"] = int(entity["start"]), int(entity["end"]), entity["index"] + 1
    return [entity for entity in pipe.aggregate(entities, strategy) if entity.get("entity", entity.get("entity_group")) != "O"]


def without_doubles(entities: list[dict]) -> list[dict]:
    """The reference lists a first entity without any text twice when it merges windows; `tag` does not."""
    return [entity for index, entity in enumerate(entities) if index == 0 or entity is not entities[index - 1]]


def check_texts(options, model: models.TrainedModel, scratch: Path, rng: random.Random) -> list[str]:
    """Short texts, then long ones: by a stride, and in windows."""
    pipe = transformers.pipeline("token-classification", model=model.model, tokenizer=model.tokenizer, device="cpu")
    fits = lambda text: len(model.tokenizer(text)["input_ids"]) <= MAX_TOKENS  # noqa: E731
    shorts = [text for text in (some_text(rng, rng.randrange(1, 4), rng.choice([0.0, 0.2, 0.5])) for _ in range(12)) if fits(text)]
    shorts += ["", " ", "\n\n"]
    longs = [some_text(rng, rng.randrange(20, 40), rng.choice([0.0, 0.3])) for _ in range(2)]
    stride = rng.choice([1, 8, 20, 40])
    reach = 8 if model.family == "longformer" else MAX_TOKENS
    labels = list(model.model.config.id2label.values())
    wrong = []
    for aggregation in AGGREGATIONS:
        # A label without its prefix is what entities are called.
        some = rng.choice([label if aggregation == "none" else label.split("-", 1)[-1] for label in labels])
        known = "O" in labels or (aggregation != "none" and "O" in [label.split("-", 1)[-1] for label in labels])
        ignored = rng.choice([["O"] if known else [], [], [some] if some else []])
        arguments = ["--aggregation", aggregation, "--scheme", "bio", "--ignore-labels", ",".join(ignored)]
        for record, text in zip(command(options, model.directory, [{"text": text} for text in shorts], scratch, *arguments,
                                        "--batch-tokens", rng.choice([1, 50, 4096])), shorts):
            wanted = pipe(text, aggregation_strategy=aggregation, ignore_labels=ignored) if text else []
            wrong += compare(f"{aggregation} {text!r}", record, wanted, text)
        arguments = ["--aggregation", aggregation, "--scheme", "bio"]
        for record, text in zip(command(options, model.directory, [{"text": text} for text in longs], scratch, *arguments), longs):
            wrong += compare(f"windows {aggregation} {text!r}", record, windowed(pipe, model, text, aggregation, reach), text)
            if record["windows"] < 2:
                wrong.append("a long text was read at once")
        if aggregation != "none":
            records = command(options, model.directory, [{"text": text} for text in longs], scratch, *arguments, "--stride", stride)
            for record, text in zip(records, longs):
                wanted = without_doubles(pipe(text, aggregation_strategy=aggregation, stride=stride))
                wrong += compare(f"stride {stride} {aggregation} {text!r}", record, wanted, text)
    return wrong


def prefixed(model: models.TrainedModel, directory: Path) -> transformers.PreTrainedTokenizerFast:
    """The model again with a tokenizer that takes words: the reference refuses byte-level ones without add_prefix_space."""
    shutil.copytree(model.directory, directory)
    tokenizer = type(model.tokenizer).from_pretrained(model.directory, add_prefix_space=True, model_max_length=MAX_TOKENS)
    tokenizer.save_pretrained(directory)
    return tokenizer


def first_labels(pipe, words: list[str], split: bool) -> list[str]:
    """What the first token of each word is labelled; in a text a token belongs to the word in which it ends or, empty, begins."""
    settings = {"aggregation_strategy": "none", "ignore_labels": []}
    if split:
        owners = [word for word in pipe.tokenizer(words, is_split_into_words=True).word_ids() if word is not None]
        tokens = pipe([words], is_split_into_words=True, **settings)[0]
    else:
        tokens, text = pipe(" ".join(words), **settings), [index for index, word in enumerate(words) for _ in word + " "]
        ends = [max(token["start"], token["end"] - 1) for token in tokens]
        owners = [text[end] if " ".join(words)[end:end + 1] not in (" ", "") else None for end in ends]
    return [next((token["entity"] for token, owner in zip(tokens, owners) if owner == index), "O") for index in range(len(words))]


def check_words(options, model: models.TrainedModel, scratch: Path, rng: random.Random) -> list[str]:
    """Lists of words: entities, and a label a word."""
    lists = [models.tagged_words(rng)[0] + models.filler(rng, 3, 0.3) for _ in range(6)]
    lists = [words for words in lists if len(model.tokenizer(" ".join(words))["input_ids"]) <= MAX_TOKENS]
    tokenizer = prefixed(model, scratch / "prefixed")
    pipe = transformers.pipeline("token-classification", model=model.model, tokenizer=tokenizer, device="cpu")
    inputs = [{"words": words} for words in lists]
    wrong = []
    for aggregation in AGGREGATIONS:
        arguments = ["--aggregation", aggregation, "--scheme", "bio", "--ignore-labels", ""]
        for record, words in zip(command(options, scratch / "prefixed", inputs, scratch, *arguments), lists):
            wanted = pipe([words], is_split_into_words=True, aggregation_strategy=aggregation, ignore_labels=[])[0]
            wrong += compare(f"words {aggregation} {words}", record, wanted, " ".join(words))
            if aggregation in ("none", "simple", "first") and record["labels"] != (
                    want := first_labels(pipe, words, split=True)):
                wrong.append(f"labels of {words}: {record['labels']}, want {want}")
    names = list(model.model.config.id2label.values())
    if all(name == "O" or name[:2] in ("B-", "I-") and len(name) > 2 for name in names):
        predicted = [first_labels(pipe, words, split=True) for words in lists]
        gold = [{"words": words, "tags": [tag if rng.random() < 0.5 else rng.choice(names) for tag in tags]} for words, tags in zip(lists, predicted)]
        wrong += models.check_evaluate(options.binary, scratch / "prefixed", "entities", gold, [{"tags": tags} for tags in predicted], scratch)
    # A tokenizer that cannot take words reads them as a text.
    plain = transformers.pipeline("token-classification", model=model.model, tokenizer=model.tokenizer, device="cpu")
    for record, words in zip(command(options, model.directory, inputs, scratch, "--ignore-labels", ""), lists):
        want = first_labels(plain, words, split=model.family == "bert")
        if record["labels"] != want:
            wrong.append(f"labels of {words} as a text: {record['labels']}, want {want}")
    return wrong


def read_brat(folder: Path, name: str) -> list[tuple[str, list[tuple[int, int]], str]]:
    """As brat reads it: lines by splitlines(), three columns, fragments whose texts stand at their offsets."""
    text = (folder / f"{name}.txt").read_bytes().decode()
    result = []
    for number, line in enumerate((folder / f"{name}.ann").read_bytes().decode().splitlines(), 1):
        key, place, words = line.split("\t")
        kind, spans = place.split(" ", 1)
        ranges = [(int(span.split(" ")[0]), int(span.split(" ")[1])) for span in spans.split(";")]
        if key != f"T{number}" or " ".join(text[begin:end] for begin, end in ranges) != words:
            raise common.CommandFailed(f"{line!r} does not fit the text")
        result.append((kind, ranges, words))
    return result


def check_formats(options, model: models.TrainedModel, scratch: Path, rng: random.Random) -> list[str]:
    """brat and CoNLL files say what the JSON lines say."""
    text = "\n".join(some_text(rng, 3, 0.3) for _ in range(rng.randrange(1, 12)))
    source = scratch / "text.txt"
    source.write_bytes(text.encode())
    arguments = ["tag", "--model", model.directory, source, "--threads", 1, "--ignore-labels", ""]
    record = common.json_lines(common.run_command(options.binary, *arguments, "--json").stdout)[0]
    common.run_command(options.binary, *arguments, "--format", "brat", "--output", scratch / "brat")
    wanted = [entity for entity in record["entities"] if entity["text"].strip()]
    got = read_brat(scratch / "brat", "text")
    wrong = [f"{len(got)} annotations, want {len(wanted)}"] if len(got) != len(wanted) else []
    for (_, ranges, words), entity in zip(got, wanted):
        if ranges[0][0] < entity["start"] or ranges[-1][1] > entity["end"] or words.split() != entity["text"].split():
            wrong.append(f"annotation {ranges} {words!r}, want {entity}")
    # Each visible character once, in order.
    lines = common.run_command(options.binary, *arguments, "--format", "conll").stdout.decode().split("\n")
    words = "".join(line.split("\t")[0] for line in lines[1:] if line)
    visible = lambda letters: [letter for letter in letters if letter.isprintable() and not letter.isspace()  # noqa: E731
                               and letter not in "_\ufffd"]
    if lines[0] != "-DOCSTART-\tO" or (model.family != "bert" and visible(words) != visible(text)):
        wrong.append(f"columns hold {visible(words)}, want {visible(text)}")
    return wrong


def main() -> int:
    """Case i trains one model: families and sets of labels take turns."""
    options = common.parser(__doc__, 30).parse_args()
    report = common.Report("tag", options)
    for seed in range(options.seed, options.seed + options.cases):
        rng = random.Random(seed)
        family, labels = list(models.FAMILIES)[seed % 3], LABELS[seed // 3 % len(LABELS)]
        with common.Scratch(options, f"tag_{seed}") as scratch:
            try:
                model = models.make_model("token-classification", family, scratch.path / "model", seed, MAX_TOKENS)
                relabel(model, labels, rng)
                wrong = [line for check in (check_texts, check_words, check_formats)
                         for line in check(options, model, scratch.path, rng)]
            except common.CommandFailed as failure:
                wrong = [str(failure)]
            scratch.failed = bool(wrong)
        report.add(seed, f"{family} {labels}", wrong)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
