#!/usr/bin/env python3
"""`longformer answer` beside the reference's question-answering pipeline, end to end from text: scores, offsets and words of
small fine-tuned models of Longformer, RoBERTa and BERT, over one or several windows, for every setting of the pipeline, and
for pairs with one separator. A score may be off by 1e-4 of itself: what remains of the tolerance of logits."""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

import tokenizers
import torch
import transformers

import common
import pipelines_common as made

TOLERANCE = 1e-4
# Below this a float32 product has lost digits, and what the reference fills its list with has a score of 0.
SMALLEST = 1e-30
SEPARATORS = ["\n", "\r\n", "\t", "  ", "\u3000", "\f", "\u2028"]
WIDE = {ord(c): chr(ord(c) + 0xFEE0) for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}
# One line of --input each.
LINES = 6


def one_separator(model: made.TrainedModel, directory: Path) -> made.TrainedModel:
    """The same model with the template of TriviaQA's and of AI2's checkpoints: <s> question </s> text </s>."""
    shutil.copytree(model.directory, directory)
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    tokenizer.backend_tokenizer.post_processor = tokenizers.processors.Sequence([
        tokenizers.processors.ByteLevel(trim_offsets=True),
        tokenizers.processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>",
                                                 special_tokens=[("<s>", 0), ("</s>", 2)])])
    tokenizer.save_pretrained(directory)
    return made.TrainedModel(model.task, "longformer, one separator", directory, model.model, tokenizer, model.max_tokens)


def question_end(ids: torch.Tensor, separator: int) -> torch.Tensor:
    """Where the question of each row ends, whatever comes behind it; the reference's own function wants three separators
    in each row."""
    return torch.stack([(row == separator).nonzero()[0] for row in ids])


def make_models(folder: Path, seed: int) -> list[made.TrainedModel]:
    """One of each family, and the variant."""
    models = [made.make_model("question-answering", family, folder / family, seed) for family in made.FAMILIES]
    return [*models, one_separator(models[0], folder / "one_separator")]


def context(rng: random.Random, words: int) -> str:
    """A text in which some animals sleep; the same animal often twice, in other capitals, wide letters or odd spaces."""
    animals = [rng.choice(made.ANIMALS) for _ in range(rng.randrange(0, 1 + words // 6))]
    parts = made.text_about(rng, animals, words).split(" ")
    changed = [part.upper() if rng.random() < 0.05 else part.translate(WIDE) if rng.random() < 0.03 else part for part in parts]
    odd = rng.choice([0, 0.1, 0.5])
    return "".join(word + (rng.choice(SEPARATORS) if rng.random() < odd else " ") for word in changed)[:-1] or "fox"


def settings(rng: random.Random, max_tokens: int) -> dict:
    """Parameters of the pipeline; what is absent is its default."""
    chosen: dict = {}
    if rng.random() < 0.5:
        chosen["top_k"] = rng.choice([1, 2, 5, 20])
    if rng.random() < 0.5:
        chosen["max_answer_len"] = rng.choice([1, 2, 8, 30, 500])
    if rng.random() < 0.5:
        chosen["handle_impossible_answer"] = rng.random() < 0.7
    if rng.random() < 0.3:
        chosen["align_to_words"] = rng.random() < 0.5
    if rng.random() < 0.6:
        chosen["max_seq_len"] = rng.randrange(40, max_tokens + 1)
        if rng.random() < 0.7:
            chosen["doc_stride"] = rng.randrange(0, 12)
    # The default, half a window, leaves no room for long questions in small ones.
    if "doc_stride" not in chosen and ("max_seq_len" in chosen or rng.random() < 0.5):
        chosen["doc_stride"] = rng.choice([0, 8, 11])
    return chosen


OPTIONS = {"top_k": "--top-k", "max_answer_len": "--max-answer-length", "handle_impossible_answer": "--handle-impossible",
           "align_to_words": "--align-to-words", "max_seq_len": "--max-seq-len", "doc_stride": "--stride"}


def arguments_of(chosen: dict) -> list[str]:
    """The same for the command."""
    result = []
    for name, value in chosen.items():
        result += [OPTIONS[name], str(value).lower()]
    return result


def expected(pipeline, question: str, text: str, chosen: dict) -> list[dict]:
    """What the pipeline says, without what it fills its list with."""
    answers = pipeline(question=question, context=text, **chosen)
    answers = answers if isinstance(answers, list) else [answers]
    return [answer for answer in answers if answer["score"] > SMALLEST]


def compare(got: list[dict], want: list[dict], what: str) -> tuple[list[str], float]:
    """One line for each answer that is wrong, and the largest error over the allowed one. Answers whose scores cannot be told
    apart may change places, and the last of them may be missing on either side."""
    wrong, worst = [], 0.0
    got = [answer for answer in got if answer["score"] > SMALLEST]
    if len(got) != len(want):
        wrong.append(f"{what}: {len(got)} answers, want {len(want)}: {got[:3]} {want[:3]}")
    for rank, (ours, theirs) in enumerate(zip(got, want)):
        ratio = abs(ours["score"] - theirs["score"]) / (TOLERANCE * theirs["score"])
        worst = max(worst, ratio)
        if ratio > 1:
            wrong.append(f"{what}: score {rank} is {ours['score']}, want {theirs['score']} ({theirs})")
        key = tuple(ours[name] for name in ("start", "end", "answer"))
        close = [other for other in want if abs(other["score"] - ours["score"]) <= TOLERANCE * ours["score"]]
        if key in [tuple(other[name] for name in ("start", "end", "answer")) for other in close]:
            continue
        if abs(ours["score"] - want[-1]["score"]) > TOLERANCE * ours["score"] or rank == 0:
            wrong.append(f"{what}: answer {rank} is {key}, want {theirs}")
    return wrong, worst


def check_lines(options, model: made.TrainedModel, pipeline, rng: random.Random, folder: Path) -> tuple[list[str], float, int]:
    """Some lines of --input with the same settings. The third number: texts of several windows."""
    chosen = settings(rng, model.max_tokens)
    question = rng.choice(["who sleeps ?", "who eats ?", "who sleeps at night ?"])
    texts = [context(rng, rng.choice([1, 8, 30, 120])) for _ in range(LINES)]
    lines = [{"question": question, "context": text, "id": str(number)} for number, text in enumerate(texts)]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = common.run_command(options.binary, "answer", "--model", model.directory, "--input", folder / "in.jsonl", "--threads", 1,
                                "--batch-tokens", rng.choice([1, 100, 4096]), *arguments_of(chosen))
    records = common.json_lines(result.stdout)
    wrong, worst = [], 0.0
    for number, text in enumerate(texts):
        got = [record for record in records if record["id"] == str(number)]
        for record in got:
            if text[record["start"]:record["end"]] != record["answer"]:
                wrong.append(f"line {number}: text[{record['start']}:{record['end']}] is not the answer {record['answer']!r}")
            inside = text.encode("utf-8")[record["byte_start"]:record["byte_end"]].decode("utf-8")
            if inside != record["answer"] or record["rank"] != got.index(record) + 1:
                wrong.append(f"line {number}: bytes or rank do not fit the answer {record}")
        lines_wrong, ratio = compare(got, expected(pipeline, question, text, chosen), f"{chosen} line {number}")
        wrong += lines_wrong
        worst = max(worst, ratio)
    return wrong, worst, sum(1 for record in records if record["rank"] == 1 and record["windows"] > 1)


def check_file(options, model: made.TrainedModel, pipeline, rng: random.Random, folder: Path) -> list[str]:
    """The default settings on a file: the pipeline's answer of its text, and the line on which it stands."""
    text = context(rng, 25).replace("\f", " ").replace("\t", " ")
    (folder / "text.txt").write_bytes(text.encode("utf-8"))
    result = common.run_command(options.binary, "answer", "--model", model.directory, "who sleeps ?", folder / "text.txt", "--json", "--stride", 8,
                                "--threads", 1)
    got = common.json_lines(result.stdout)
    want = expected(pipeline, "who sleeps ?", text, {"doc_stride": 8})
    wrong, _ = compare(got, want, "file")
    if got and got[0]["line_start"] != 1 + text.count("\n", 0, got[0]["start"]):
        wrong.append(f"file: line {got[0]['line_start']} of {text!r}")
    return wrong


def check_learnt(options, model: made.TrainedModel, rng: random.Random, folder: Path) -> list[str]:
    """The models answer what they were trained for."""
    lines, right = [], []
    for _ in range(20):
        before, behind = (" ".join(made.filler(rng, rng.randrange(1, 5), 0)) for _ in range(2))
        right.append(rng.choice(made.ANIMALS))
        lines.append({"id": str(len(lines)), "question": "who sleeps ?", "context": f"{before} {right[-1]} sleeps {behind}",
                      "answers": [rng.choice([right[-1], "fox"])]})
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = common.run_command(options.binary, "answer", "--model", model.directory, "--input", folder / "in.jsonl")
    records = common.json_lines(result.stdout)
    hits = sum(record["answer"] == animal for record, animal in zip(records, right))
    wrong = [] if hits >= 18 else [f"{hits} of 20 questions answered as learnt"]
    return wrong + made.check_evaluate(options.binary, model.directory, "squad", lines, records, folder)


def main() -> int:
    options = common.parser(__doc__, cases=40).parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.models.longformer.modeling_longformer._get_question_end_index = question_end
    report = common.Report("answer", options)
    windowed = 0
    with tempfile.TemporaryDirectory() as home:
        models = make_models(Path(home), seed=7)
        pipelines = [transformers.pipeline("question-answering", model=model.model, tokenizer=model.tokenizer, device="cpu")
                     for model in models]
        for seed in range(options.seed, options.seed + options.cases):
            rng = random.Random(seed)
            model, pipeline = models[seed % len(models)], pipelines[seed % len(models)]
            with common.Scratch(options, f"answer_{seed}") as scratch:
                worst = 0.0
                try:
                    wrong, worst, several = check_lines(options, model, pipeline, rng, scratch.path)
                    windowed += several
                    wrong += check_file(options, model, pipeline, rng, scratch.path)
                    if model.family != "longformer, one separator":  # it was trained with two
                        wrong += check_learnt(options, model, rng, scratch.path)
                except common.CommandFailed as failure:
                    wrong = [str(failure)]
                scratch.failed = bool(wrong)
                report.add(seed, model.family, wrong, worst)
    if options.cases >= 20 and windowed == 0:
        report.add(options.seed, "all", ["no text was read in several windows"])
    return report.finish(f", {windowed} texts of several windows")


if __name__ == "__main__":
    sys.exit(main())
