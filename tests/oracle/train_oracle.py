#!/usr/bin/env python3
"""`longformer train` beside the same training in PyTorch: small models of every task on batches of all examples.

The reference has its own tokenizer, classes, loss, optimizer (torch's AdamW and SGD, Transformers' Adafactor), schedule and
clipping, in float64. Loss, norm and learning rate of each of 20 steps must agree, whether the step is one batch or two halves
of texts of different length, then the weights. What the command wrote must load with the Auto classes, and in the next
release of Transformers, and give the logits that `forward` gives. Long models made by `train mlm` must load, with the
projections of global tokens equal to the local ones.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.optimization import Adafactor
from transformers.trainer_pt_utils import LabelSmoother, get_parameter_names

import common
import heads_oracle
import next_release
import pipelines_common as models
import reference

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

NEXT = next_release.NextRelease()
STEPS, EXAMPLES, MAX_TOKENS = 20, 8, 96
LOSS_TOLERANCE, NORM_TOLERANCE = 1e-4, 1e-3  # relative
# A parameter may end this share of the way that it went from where the reference's ended.
WEIGHT_SHARE = 2e-2
NOISE_SHARE = 1e-6  # a parameter whose gradient is less than this of all in every step has none
COMMANDS = {"single-label": "classify", "multi-label": "classify", "regression": "classify", "token-classification": "tag",
            "question-answering": "answer", "multiple-choice": "choose"}
# In turn by seed; "new": the head is made by the command, for the labels of the data.
CASES = [("single-label", "longformer", ""), ("token-classification", "bert", "words"), ("question-answering", "roberta", ""),
         ("multiple-choice", "longformer", ""), ("mlm", "roberta", ""), ("multi-label", "bert", ""),
         ("single-label", "roberta", "pairs new"), ("question-answering", "longformer", ""), ("regression", "longformer", ""),
         ("token-classification", "longformer", "words"), ("multiple-choice", "bert", ""), ("single-label", "bert", "new"),
         ("token-classification", "roberta", "spans new"), ("multi-label", "longformer", ""), ("mlm", "bert", ""),
         ("regression", "bert", ""), ("question-answering", "bert", ""), ("single-label", "longformer", "pairs"),
         ("token-classification", "longformer", "spans"), ("multiple-choice", "roberta", "")]


@dataclass
class Data:
    """Rows as the command reads them, and what the reference makes of them."""

    rows: list[dict] = field(default_factory=list)
    texts: list = field(default_factory=list)  # arguments of the tokenizer, one tuple an example
    labels: list = field(default_factory=list)
    labels_of_data: list[str] = field(default_factory=list)


def words_of(rng: random.Random) -> list[str]:
    """A text of any length that fits."""
    return models.filler(rng, rng.choice([1, 3, 8, 20]), 0.0)


def classify_data(rng: random.Random, task: str, how: str) -> Data:
    """Animals in texts; numbers for them."""
    data = Data(labels_of_data=sorted(models.ANIMALS))
    for index in range(EXAMPLES):
        chosen = [rng.choice(models.ANIMALS)] if task != "multi-label" else rng.sample(models.ANIMALS, rng.randrange(4))
        if "new" in how and index < len(models.ANIMALS):
            chosen = [models.ANIMALS[index]]  # every label is in the data
        text = models.text_about(rng, chosen, rng.choice([2, 5, 12, 30]))
        pair = " ".join(words_of(rng))
        label = {"single-label": chosen[0] if chosen else "", "multi-label": chosen, "regression": round(rng.gauss(0, 1), 3)}[task]
        data.rows.append({"text": text, "label": label} | ({"text_pair": pair} if "pairs" in how else {}))
        data.texts.append((text, pair) if "pairs" in how else (text,))
        data.labels.append(label)
    return data


def tag_data(rng: random.Random, how: str) -> Data:
    """Words with tags, or a text with the spans of its names."""
    data = Data(labels_of_data=sorted(models.TAGS))
    for _ in range(EXAMPLES):
        words, tags = models.tagged_words(rng)
        more = words_of(rng)
        words, tags = words + more, tags + ["O"] * len(more)
        data.texts.append(words)
        data.labels.append(tags)
        if "words" in how:
            data.rows.append({"words": words, "tags": tags})
            continue
        starts = [sum(len(word) + 1 for word in words[:index]) for index in range(len(words))]
        spans = []
        for start, word, tag in zip(starts, words, tags):
            if tag[0] == "B":
                spans.append({"start": start, "end": start + len(word), "label": tag[2:]})
            elif tag[0] == "I":
                spans[-1]["end"] = start + len(word)
        data.rows.append({"text": " ".join(words), "spans": spans})
    return data


def answer_data(rng: random.Random) -> Data:
    """The animal that sleeps, or nothing."""
    data = Data()
    for index in range(EXAMPLES):
        before, behind = " ".join(words_of(rng)), " ".join(words_of(rng))
        animal = rng.choice(models.ANIMALS)
        question, context = "who sleeps ?" if index % 2 else "who", f"{before} {animal} sleeps {behind}"
        answer = (len(before) + 1, len(before) + 1 + len(animal)) if rng.random() < 0.75 else None
        answers = [{"text": animal, "answer_start": answer[0]}] if answer else []
        data.rows.append({"question": question, "context": context, "answers": answers})
        data.texts.append((question, context))
        data.labels.append(answer)
    return data


def choose_data(rng: random.Random) -> Data:
    """Contexts with two to four choices."""
    data = Data()
    for _ in range(EXAMPLES):
        context, choices = " ".join(words_of(rng)), [" ".join(words_of(rng)[:9]) for _ in range(rng.randrange(2, 5))]
        right = rng.randrange(len(choices))
        data.rows.append({"context": context, "choices": choices, "label": right})
        data.texts.append([(context, choice) for choice in choices])
        data.labels.append(right)
    return data


def token_batch(tokenizer, data: Data, names: list[str], how: str) -> models.Batch:
    """The first token of a word has its tag; words of a text are those that the tokenizer makes."""
    texts = data.texts if "words" in how else [" ".join(words) for words in data.texts]
    inputs = tokenizer(texts, is_split_into_words="words" in how, padding=True, return_tensors="pt")
    owners = [inputs.word_ids(row) for row in range(EXAMPLES)]
    labels = torch.full_like(inputs["input_ids"], -100)
    for row, tags in enumerate(data.labels):
        for word, tag in enumerate(tags):
            labels[row, owners[row].index(word)] = names.index(tag)
    return {**inputs, "labels": labels}


def batches_of(task: str, model, tokenizer, data: Data, how: str) -> list[models.Batch]:
    """The examples as the model's class takes them: one batch, of choices one a question."""
    names = [model.config.id2label[index] for index in range(model.config.num_labels)]
    if task == "token-classification":
        return [token_batch(tokenizer, data, names, how)]
    if task == "multiple-choice":
        result = []
        for pairs, right in zip(data.texts, data.labels):
            inputs = tokenizer(*map(list, zip(*pairs)), padding=True, return_tensors="pt")
            result.append({**{name: value[None] for name, value in inputs.items()}, "labels": torch.tensor([right])})
        return result
    inputs = tokenizer(*map(list, zip(*data.texts)), padding=True, return_tensors="pt")
    if task == "single-label":
        return [{**inputs, "labels": torch.tensor([names.index(label) for label in data.labels])}]
    if task == "multi-label":
        return [{**inputs, "labels": torch.tensor([[float(name in chosen) for name in names] for chosen in data.labels])}]
    if task == "regression":
        return [{**inputs, "labels": torch.tensor(data.labels)[:, None]}]
    starts, ends = [], []
    for row, answer in enumerate(data.labels):
        # Where the answer's first and last characters lie, the space in front of a byte-level token left out.
        starts.append(inputs.char_to_token(row, answer[0], 1) if answer else 0)
        ends.append(inputs.char_to_token(row, answer[1] - 1, 1) if answer else 0)
    return [{**inputs, "start_positions": torch.tensor(starts), "end_positions": torch.tensor(ends)}]


def with_globals(task: str, config, batch: models.Batch) -> models.Batch:
    """The task's default global tokens, given by the rule: the class finds them only where each row has three separators."""
    if config.model_type != "longformer":
        return batch
    kind = {"single-label": "SequenceClassification", "multi-label": "SequenceClassification",
            "regression": "SequenceClassification", "question-answering": "QuestionAnswering",
            "multiple-choice": "MultipleChoice", "token-classification": "TokenClassification"}[task]
    mask = heads_oracle._default_global(kind, batch["input_ids"].numpy(), config.sep_token_id)
    return {**batch, "global_attention_mask": torch.from_numpy(mask) * batch["attention_mask"]}


def loss_of(task: str, model, batches: list[models.Batch], smoothing: float) -> torch.Tensor:
    """The class's own loss; with smoothing the Trainer's. Of answers without the padding, which the class lets take part."""
    losses = []
    for batch in batches:
        targets = {name: value.double() if value.is_floating_point() else value for name, value in batch.items()}
        output = model(**targets)
        loss = output.loss
        if task == "question-answering":
            hidden = batch["attention_mask"] == 0
            parts = [torch.nn.functional.cross_entropy(output[f"{side}_logits"].masked_fill(hidden, -torch.inf),
                                                       batch[f"{side}_positions"]) for side in ("start", "end")]
            loss = sum(parts) / 2
        elif smoothing:
            loss = LabelSmoother(epsilon=smoothing)(output, batch["labels"])
        losses.append(loss)
    return sum(losses) / len(losses)


def optimizer_of(model, options: dict):
    """As the Trainer sets it up: no decay of biases and norms."""
    decaying = set(get_parameter_names(model, [torch.nn.LayerNorm], ["bias", "layernorm", "rmsnorm", "(?:^|\\.)norm(?:$|\\.)"]))
    named = list(model.named_parameters())
    groups = [{"params": [p for name, p in named if name in decaying], "weight_decay": options["weight_decay"]},
              {"params": [p for name, p in named if name not in decaying], "weight_decay": 0.0}]
    rate = options["learning_rate"]
    if options["optim"] == "adafactor":
        return Adafactor(groups, lr=rate, scale_parameter=False, relative_step=False)
    if options["optim"] == "sgd":
        return torch.optim.SGD(groups, lr=rate, momentum=options["sgd_momentum"])
    return torch.optim.AdamW(groups, lr=rate, eps=options["adam_epsilon"])


def train_reference(task: str, model, batches: list[models.Batch], options: dict) -> tuple[list[dict], dict[str, float]]:
    """Trains the model, which must be in float64; a record a step, and the largest share of the gradient that each parameter had."""
    optimizer = optimizer_of(model, options)
    warmup = options["warmup_steps"] or int(np.ceil(STEPS * options["warmup_ratio"]))
    schedule = transformers.get_scheduler(options["lr_scheduler_type"], optimizer, warmup, STEPS)
    log, shares = [], {name: 0.0 for name, _ in model.named_parameters()}
    for _ in range(STEPS):
        rate = schedule.get_last_lr()[0]
        optimizer.zero_grad()
        loss = loss_of(task, model, batches, options["label_smoothing_factor"])
        loss.backward()
        own = {name: float(p.grad.norm()) for name, p in model.named_parameters() if p.grad is not None}
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), options["max_grad_norm"] or torch.inf)
        optimizer.step()
        schedule.step()
        shares |= {name: max(shares[name], value / norm.item()) for name, value in own.items()}
        log.append({"loss": loss.item(), "grad_norm": norm.item(), "learning_rate": rate})
    return log, shares


def random_options(rng: random.Random, seed: int, task: str) -> dict:
    """An optimizer with a schedule, in turn by seed, and the rest at random."""
    optim = ["adamw_torch", "adafactor", "sgd"][seed % 3]
    halves = rng.random() < 0.5
    return {"optim": optim, "max_steps": STEPS, "logging_steps": 1, "save_steps": 0,
            "learning_rate": {"adamw_torch": 2e-3, "adafactor": 2e-3, "sgd": 0.05}[optim] * rng.choice([0.5, 1.0]),
            "sgd_momentum": rng.choice([0.0, 0.9]) if optim == "sgd" else 0.0,
            "adam_epsilon": rng.choice([1e-8, 1e-6]),
            "lr_scheduler_type": ["linear", "cosine", "constant_with_warmup", "polynomial", "inverse_sqrt"][seed // 3 % 5],
            "warmup_steps": rng.choice([0, 4]), "warmup_ratio": rng.choice([0.0, 0.25]),
            "max_grad_norm": rng.choice([0.0, 0.3, 1.0]), "weight_decay": rng.choice([0.0, 0.01, 0.3]),
            "label_smoothing_factor": rng.choice([0.0, 0.1]) if task in ("single-label", "token-classification") else 0.0,
            "per_device_train_batch_size": EXAMPLES // 2 if halves else EXAMPLES,
            "gradient_accumulation_steps": 2 if halves else 1, "group_by_length": rng.random() < 0.5,
            "gradient_checkpointing": rng.random() < 0.3, "seed": rng.randrange(1000)}


def command(options, task: str, model: Path, run: Path, files: Path, settings: dict, *arguments: object) -> list[dict]:
    """Runs `train`; the lines of its log."""
    flags = [part for name, value in settings.items()
             for part in ("--" + name.replace("_", "-"), str(value).lower() if isinstance(value, bool) else value)]
    common.run_command(options.binary, "train", task, "--model", model, "--output", run, *arguments, *flags, files)
    return common.json_lines((run / "metrics.jsonl").read_bytes())


def compare_logs(got: list[dict], want: list[dict]) -> tuple[list[str], float]:
    """Every step; what is wrong, and the largest error by what is allowed."""
    if [one["step"] for one in got] != list(range(1, STEPS + 1)):
        return [f"steps {[one['step'] for one in got]}"], float("inf")
    wrong, worst = [], 0.0
    for name, limit in (("loss", LOSS_TOLERANCE), ("grad_norm", NORM_TOLERANCE), ("learning_rate", 1e-6)):
        for step, (one, other) in enumerate(zip(got, want), 1):
            ratio = abs(one[name] - other[name]) / (limit * abs(other[name]) + 1e-12)
            worst = max(worst, ratio)
            if not ratio <= 1.0:
                wrong.append(f"step {step}: {name} {one[name]}, want {other[name]}")
                break
    return wrong, worst


def compare_weights(got: dict, want: dict, start: dict, shares: dict[str, float]) -> list[str]:
    """Where the training ended. Not of parameters without effect (biases of keys, a bias in front of a softmax over its rows),
    whose gradient is rounding that optimizers make as large as any other."""
    wrong = []
    everything = np.sqrt(sum(float(((want[name] - start[name]) ** 2).sum()) for name in shares))
    for name, share in shares.items():
        if 0 < share < NOISE_SHARE:
            continue
        error = float((got[name].double() - want[name]).norm())
        allowed = WEIGHT_SHARE * float((want[name] - start[name]).norm()) + (1e-3 * float(everything) if share else 0.0)
        if not error <= allowed:
            wrong.append(f"{name}: {error:.3g} from the reference's, allowed {allowed:.3g}")
    return wrong


def load(folder: Path, kind: str) -> tuple[transformers.PreTrainedModel, list[str]]:
    """The model as Transformers reads it, and what it says about its tensors."""
    model, said = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
    return model.eval(), [f"{folder.name}: {what}: {sorted(names)}" for what, names in said.items() if names]


def check_forward(options, model, folder: Path, batch: models.Batch, scratch: Path) -> tuple[float, list[str]]:
    """The logits of a saved model: the command's, and those of Transformers in both releases."""
    inputs = {name: value.numpy() for name, value in batch.items()
              if name in ("input_ids", "attention_mask", "token_type_ids")}
    theirs = {name: value.numpy() for name, value in batch.items() if name in inputs or name == "global_attention_mask"}
    single, double = reference.run_task(model, theirs)
    got = common.forward(options.binary, folder, inputs, scratch, hidden_states=False)
    # Rows of padding hold whatever each makes of them.
    shown = batch["attention_mask"].numpy()[..., None].astype(np.float32)
    newer, wrong = NEXT.logits(folder, theirs, scratch)
    for tensors in (got, single, double, newer):
        for name, value in tensors.items():
            if name != "logits":
                tensors[name] = value * shown[..., 0]
            elif value.ndim == 3:
                tensors[name] = value * shown
    allowed = common.tolerance(single, double)
    ratio, differences = common.compare(got, single, allowed)
    next_ratio, next_differences = common.compare(got, newer, allowed)
    return max(ratio, next_ratio), wrong + differences + [f"the next release: {line}" for line in next_differences]


def make_start(options, rng: random.Random, task: str, family: str, how: str, scratch: Path, data: Data, seed: int):
    """A checkpoint to start from, its tokenizer and its class; with "new" its head is the command's."""
    tokenizer = (models.word_piece(seed, MAX_TOKENS) if family == "bert" else models.byte_level(seed, family, MAX_TOKENS))
    torch.manual_seed(seed)
    model = models.untrained("fill-mask" if "new" in how or task == "mlm" else task, family, tokenizer, MAX_TOKENS)
    reference.fill_random(model, np.random.default_rng(seed), 0.1)
    start = scratch / "start"
    model.save_pretrained(start)
    tokenizer.save_pretrained(start)
    if "words" in how and family != "bert":
        tokenizer = type(tokenizer).from_pretrained(start, add_prefix_space=True)
        tokenizer.save_pretrained(start)
    wrong = []
    if "new" in how:
        still = {"optim": "sgd", "learning_rate": 1e-30, "max_steps": 1, "seed": rng.randrange(1000)}
        command(options, COMMANDS[task], start, scratch / "head", scratch / "data.jsonl", still, "--labels", "data")
        start = scratch / "head" / "model"
        names = json.loads((start / "config.json").read_text())["id2label"]
        if list(names.values()) != data.labels_of_data:
            wrong.append(f"labels of the data: {names}, want {data.labels_of_data}")
    kind = models.FAMILIES[family] + models.TASKS["fill-mask" if task == "mlm" else task]
    return start, tokenizer, kind, wrong


def task_case(options, scratch: Path, seed: int, task: str, family: str, how: str) -> tuple[str, list[str], float]:
    """One training on both sides."""
    rng = random.Random(seed)
    data = (tag_data(rng, how) if task == "token-classification" else answer_data(rng) if task == "question-answering"
            else choose_data(rng) if task == "multiple-choice" else classify_data(rng, task, how))
    (scratch / "data.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in data.rows))
    settings = random_options(rng, seed, task)
    start, tokenizer, kind, wrong = make_start(options, rng, task, family, how, scratch, data, seed)
    run = scratch / "run"
    log = command(options, COMMANDS[task], start, run, scratch / "data.jsonl", settings, "--threads", 1 + seed % 3)

    model, said = load(start, kind)
    wrong += said
    before = copy.deepcopy(model).double().state_dict()
    batches = [with_globals(task, model.config, batch) for batch in batches_of(task, model, tokenizer, data, how)]
    trained = copy.deepcopy(model).double()
    with torch.enable_grad(), reference._softmax_in_the_type_of_its_input():
        want, shares = train_reference(task, trained, batches, settings)
    differences, worst = compare_logs(log, want)
    wrong += differences

    auto = {"ForSequenceClassification": "AutoModelForSequenceClassification", "ForTokenClassification": "AutoModelForTokenClassification",
            "ForQuestionAnswering": "AutoModelForQuestionAnswering", "ForMultipleChoice": "AutoModelForMultipleChoice"}[models.TASKS[task]]
    result, said = load(run / "model", auto)
    wrong += said
    if type(result).__name__ != kind:
        wrong.append(f"is a {type(result).__name__}")
    wrong += compare_weights(result.state_dict(), trained.state_dict(), before, shares)
    for name in ("id2label", "label2id", "problem_type"):
        if getattr(result.config, name) != getattr(model.config, name):
            wrong.append(f"{name}: {getattr(result.config, name)}, want {getattr(model.config, name)}")
    own = transformers.AutoTokenizer.from_pretrained(run / "model")
    for text in ("the fox sleeps", " José  in New York?", "naïve 東京"):
        if own(text)["input_ids"] != tokenizer(text)["input_ids"]:
            wrong.append(f"the tokenizer of the result reads {text!r} otherwise")
    ratio, differences = check_forward(options, result, run / "model", batches[0], scratch)
    wrong += differences
    return describe(settings), wrong, max(worst, ratio)


def describe(settings: dict) -> str:
    """The settings that are not plain."""
    return ", ".join(f"{name} {value}" for name, value in settings.items()
                     if value and name not in ("max_steps", "logging_steps", "seed"))


def mlm_case(options, scratch: Path, seed: int, family: str) -> tuple[str, list[str], float]:
    """A short model made long and trained on running text."""
    rng = random.Random(seed)
    start, tokenizer, _, wrong = make_start(options, rng, "mlm", family, "", scratch, Data(), seed)
    text = scratch / "text.txt"
    text.write_text(" ".join(models.filler(rng, 600, 0.0)) + "\n")
    long, window = 2 * MAX_TOKENS, rng.choice([8, 16, 32])
    settings = random_options(rng, seed, "mlm") | {"per_device_train_batch_size": 2, "max_steps": 6, "seed": seed}
    run = scratch / "run"
    log = command(options, "mlm", start, run, text, settings, "--to-long", long, "--long-window", window)
    losses = [one["loss"] for one in log]
    if len(losses) != 6 or not all(0 < loss < 20 for loss in losses):
        wrong.append(f"losses {losses}")
    model, said = load(run / "model", "LongformerForMaskedLM")
    wrong += said
    config = model.config
    if config.attention_window not in (window, [window] * config.num_hidden_layers):
        wrong.append(f"attention_window {config.attention_window}, want {window}")
    state, before = model.state_dict(), load(run / "start", "LongformerForMaskedLM")[0].state_dict()
    for name, value in state.items():
        if "_global." in name and not torch.equal(value, state[name.replace("_global.", ".")]):
            wrong.append(f"{name} is not the local one")
        if name.endswith("query.weight") and torch.equal(value, before[name]):
            wrong.append(f"{name} was not trained")
    ids = tokenizer(text.read_text()[:700], truncation=True, max_length=long, return_tensors="pt")
    batch = {"input_ids": ids["input_ids"], "attention_mask": ids["attention_mask"]}
    ratio, differences = check_forward(options, model, run / "model", batch, scratch)
    own = transformers.AutoTokenizer.from_pretrained(run / "model")
    if own.model_max_length != long or own("the old fox")["input_ids"] != tokenizer("the old fox")["input_ids"]:
        wrong.append(f"the tokenizer of the result reads {own.model_max_length} tokens: {own('the old fox')['input_ids']}")
    return f"window {window}, " + describe(settings), wrong + differences, ratio


def one_case(options, report: common.Report, seed: int) -> None:
    """One training."""
    task, family, how = CASES[seed % len(CASES)]
    with common.Scratch(options, f"train_{seed}") as scratch:
        worst, note = 0.0, ""
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                if task == "mlm":
                    note, wrong, worst = mlm_case(options, scratch.path, seed, family)
                else:
                    note, wrong, worst = task_case(options, scratch.path, seed, task, family, how)
        except common.CommandFailed as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{task} {family} {how} {note}", wrong, worst)


def main() -> int:
    options = common.parser(__doc__, cases=len(CASES)).parse_args()
    report = common.Report("train", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
