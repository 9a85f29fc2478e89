"""Small fine-tuned models for comparisons with the reference's pipelines, and texts for them.

`make_model(task, family, directory, seed)` writes a model that Transformers trains on a toy task until it answers every
training example rightly: a few seconds on one core. Tokenizers are trained on the spot: byte-level BPE for longformer and
roberta, WordPiece for bert. The models know the words of ANIMALS, PLACES, … only; what matters is that their scores are
far from uniform and that answers, spans and tags are real ones.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import common

# task of make_model() -> what the reference's class is called behind the family's name
TASKS = {"fill-mask": "ForMaskedLM", "single-label": "ForSequenceClassification", "multi-label": "ForSequenceClassification",
         "regression": "ForSequenceClassification", "question-answering": "ForQuestionAnswering",
         "token-classification": "ForTokenClassification", "multiple-choice": "ForMultipleChoice"}
FAMILIES = {"longformer": "Longformer", "roberta": "Roberta", "bert": "Bert"}
ANIMALS = ["fox", "hen", "dog"]
PLACES = {"fox": "barn", "hen": "yard", "dog": "house"}
VERBS = ["sleeps", "eats", "runs"]
PEOPLE = [["Ada", "Byron"], ["José"], ["Grace", "Hopper"]]
CITIES = [["Paris"], ["New", "York"]]
FILLERS = ["the", "old", "red", "in", "at", "night", "and", "rain", "comes", "river", "long", "road", "moon", "snow"]
ODD_WORDS = ["naïve", "東京", "Straße", "🙂🙂", "e\u0301clair", "o'clock", "3.14", "—", "\u00a0", "кит", "ﬁn"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
MAX_STEPS = 600
SURE_LOSS = 0.15  # scores are then far from even
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]


@dataclass
class TrainedModel:
    """What make_model() gives: the model in evaluation mode, its tokenizer, and where both are saved."""

    task: str
    family: str
    directory: Path
    model: transformers.PreTrainedModel
    tokenizer: transformers.PreTrainedTokenizerFast
    max_tokens: int  # longest sequence, special tokens included


def filler(rng: random.Random, words: int, odd: float = 0.1) -> list[str]:
    """Words that no task asks about, a share of them outside ASCII."""
    return [rng.choice(ODD_WORDS) if rng.random() < odd else rng.choice(FILLERS) for _ in range(words)]


def text_about(rng: random.Random, animals: list[str], words: int = 6) -> str:
    """A text of about so many words that mentions these animals in this order."""
    parts = filler(rng, words)
    places = sorted(rng.randrange(len(parts) + 1) for _ in animals)
    for place, animal in reversed(list(zip(places, animals))):
        parts[place:place] = [animal, rng.choice(VERBS)]
    return " ".join(parts)


def corpus(seed: int) -> list[str]:
    """What tokenizers are trained on."""
    rng = random.Random(seed)
    lines = [text_about(rng, ANIMALS) for _ in range(200)]
    names = [" ".join(name) for name in PEOPLE + CITIES]
    return lines + [f"{name} lives in {place}" for name in names for place in PLACES.values()] * 4 + ["who sleeps ?", "yes no"] * 4


def byte_level(seed: int, family: str, max_tokens: int) -> transformers.PreTrainedTokenizerFast:
    """The tokenizer of RoBERTa and Longformer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer.train_from_iterator(corpus(seed), trainers.BpeTrainer(
        vocab_size=420, show_progress=False, special_tokens=[*SPECIALS, "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    kind = transformers.LongformerTokenizerFast if family == "longformer" else transformers.RobertaTokenizerFast
    return kind(tokenizer_object=tokenizer, model_max_length=max_tokens, bos_token="<s>", eos_token="</s>", sep_token="</s>",
                cls_token="<s>", unk_token="<unk>", pad_token="<pad>",
                mask_token=transformers.AddedToken("<mask>", lstrip=True, normalized=False))


def word_piece(seed: int, max_tokens: int) -> transformers.PreTrainedTokenizerFast:
    """BERT's tokenizer, cased so that names differ from words."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(corpus(seed), trainers.WordPieceTrainer(vocab_size=220, show_progress=False,
                                                                         special_tokens=specials))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return transformers.BertTokenizerFast(tokenizer_object=tokenizer, do_lower_case=False, model_max_length=max_tokens)


def untrained(task: str, family: str, tokenizer: transformers.PreTrainedTokenizerFast,
              max_tokens: int) -> transformers.PreTrainedModel:
    """A tiny model with random weights and the head of the task."""
    settings = {"vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                "intermediate_size": 64, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
                "initializer_range": 0.1, "pad_token_id": tokenizer.pad_token_id, "sep_token_id": tokenizer.sep_token_id,
                "type_vocab_size": 2 if family == "bert" else 1,
                "max_position_embeddings": max_tokens if family == "bert" else max_tokens + tokenizer.pad_token_id + 1}
    if family == "longformer":
        settings["attention_window"] = [16, 16]
    if task == "token-classification":
        settings |= {"id2label": dict(enumerate(TAGS)), "label2id": {tag: index for index, tag in enumerate(TAGS)}}
    if task in ("single-label", "multi-label"):
        problem = {"single-label": "single_label_classification", "multi-label": "multi_label_classification"}[task]
        settings |= {"problem_type": problem, "id2label": dict(enumerate(ANIMALS)),
                     "label2id": {name: index for index, name in enumerate(ANIMALS)}}
    if task == "regression":
        settings |= {"problem_type": "regression", "num_labels": 1}
    config = getattr(transformers, FAMILIES[family] + "Config")(**settings)
    return getattr(transformers, FAMILIES[family] + TASKS[task])(config)


Batch = dict[str, torch.Tensor]


def classification_batch(rng: random.Random, tokenizer: transformers.PreTrainedTokenizerFast, task: str) -> Batch:
    """Which animals a text mentions; as a regression, 1 for a fox and -1 for a hen."""
    texts, labels = [], []
    for _ in range(16):
        if task == "multi-label":
            chosen = [animal for animal in ANIMALS if rng.random() < 0.5]
            labels.append([float(animal in chosen) for animal in ANIMALS])
        else:
            chosen = [rng.choice(ANIMALS)]
            number = ANIMALS.index(chosen[0])
            labels.append([(1.0, -1.0, 0.0)[number]] if task == "regression" else number)
        texts.append(text_about(rng, chosen, rng.randrange(2, 12)))
    return {**tokenizer(texts, padding=True, return_tensors="pt"), "labels": torch.tensor(labels)}


def mask_batch(rng: random.Random, tokenizer: transformers.PreTrainedTokenizerFast, _: str) -> Batch:
    """The place that belongs to an animal."""
    animals = [rng.choice(ANIMALS) for _ in range(16)]
    heads = [f"{' '.join(filler(rng, rng.randrange(4)))} the {animal} sleeps in the" for animal in animals]
    inputs = tokenizer([f"{head} {tokenizer.mask_token}" for head in heads], padding=True, return_tensors="pt")
    masked = inputs["input_ids"] == tokenizer.mask_token_id
    labels = torch.full_like(inputs["input_ids"], -100)
    # The first piece of the word, where it has several.
    labels[masked] = torch.tensor([tokenizer(" " + PLACES[animal], add_special_tokens=False)["input_ids"][0] for animal in animals])
    return {**inputs, "labels": labels}


def tagged_words(rng: random.Random) -> tuple[list[str], list[str]]:
    """Words with names of people and places among them, and their tags."""
    words, tags = filler(rng, rng.randrange(1, 5), 0.0), []
    tags = ["O"] * len(words)
    for _ in range(rng.randrange(1, 4)):
        kind, name = rng.choice([("PER", person) for person in PEOPLE] + [("LOC", city) for city in CITIES])
        more = filler(rng, rng.randrange(1, 4), 0.0)
        words += [*name, *more]
        tags += [f"{'B' if index == 0 else 'I'}-{kind}" for index in range(len(name))] + ["O"] * len(more)
    return words, tags


def tag_batch(rng: random.Random, tokenizer: transformers.PreTrainedTokenizerFast, _: str) -> Batch:
    """People and places, by their names. Every piece of a word is trained."""
    texts, spans = [], []
    for _ in range(16):
        words, tags = tagged_words(rng)
        starts = [sum(len(word) + 1 for word in words[:index]) for index in range(len(words))]
        texts.append(" ".join(words))
        spans.append([(start, start + len(word), tag) for start, word, tag in zip(starts, words, tags)])
    inputs = tokenizer(texts, padding=True, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")
    labels = torch.full_like(inputs["input_ids"], -100)
    for row, words in enumerate(spans):
        for column, (begin, end) in enumerate(offsets[row].tolist()):
            for start, stop, tag in words:
                if begin < end and start < end and begin < stop:
                    # Pieces behind the first carry on the entity.
                    inside = tag.replace("B-", "I-") if begin > start else tag
                    labels[row, column] = TAGS.index(inside)
    return {**inputs, "labels": labels}


def question_batch(rng: random.Random, tokenizer: transformers.PreTrainedTokenizerFast, _: str) -> Batch:
    """Who sleeps: the animal in front of that verb; with none the first token, as in the data sets with no answer."""
    questions, contexts, answers = [], [], []
    for _ in range(16):
        before, behind = (" ".join(filler(rng, rng.randrange(1, 5), 0.05)) for _ in range(2))
        animal = rng.choice(ANIMALS)
        verb = "sleeps" if rng.random() < 0.8 else "eats"
        questions.append("who sleeps ?")
        contexts.append(f"{before} {animal} {verb} {behind}")
        answers.append((len(before) + 1, len(before) + 1 + len(animal)) if verb == "sleeps" else None)
    inputs = tokenizer(questions, contexts, padding=True, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")
    starts, ends = [], []
    for row, answer in enumerate(answers):
        kinds = inputs.sequence_ids(row)
        hits = [column for column, (begin, end) in enumerate(offsets[row].tolist())
                if answer and kinds[column] == 1 and begin < answer[1] and end > answer[0]]
        starts.append(hits[0] if hits else 0)
        ends.append(hits[-1] if hits else 0)
    return {**inputs, "start_positions": torch.tensor(starts), "end_positions": torch.tensor(ends)}


def choice_example(rng: random.Random) -> tuple[str, list[str], int]:
    """A context, three choices and which of them is right: the one that says yes."""
    right = rng.randrange(3)
    choices = [f"{' '.join(filler(rng, rng.randrange(1, 4)))} {'yes' if index == right else 'no'}" for index in range(3)]
    return text_about(rng, [rng.choice(ANIMALS)]), choices, right


def choice_batch(rng: random.Random, tokenizer: transformers.PreTrainedTokenizerFast, _: str) -> Batch:
    """[examples, choices, tokens], as run_swag.py builds pairs: the context again in front of each choice."""
    examples = [choice_example(rng) for _ in range(8)]
    firsts = [context for context, _, _ in examples for _ in range(3)]
    seconds = [choice for _, choices, _ in examples for choice in choices]
    inputs = tokenizer(firsts, seconds, padding=True, return_tensors="pt")
    grouped = {name: value.view(len(examples), 3, -1) for name, value in inputs.items()}
    return {**grouped, "labels": torch.tensor([right for _, _, right in examples])}


BATCHES: dict[str, Callable[[random.Random, transformers.PreTrainedTokenizerFast, str], Batch]] = {
    "fill-mask": mask_batch, "single-label": classification_batch, "multi-label": classification_batch,
    "regression": classification_batch, "question-answering": question_batch, "token-classification": tag_batch,
    "multiple-choice": choice_batch}


def all_right(task: str, output: transformers.utils.ModelOutput, batch: Batch) -> bool:
    """Whether every example of a batch is answered as it should be."""
    if task == "question-answering":
        return bool((output.start_logits.argmax(-1) == batch["start_positions"]).all()
                    and (output.end_logits.argmax(-1) == batch["end_positions"]).all())
    if task == "regression":
        return bool((output.logits - batch["labels"]).abs().max() < 0.3)
    if task == "multi-label":
        return bool(((output.logits > 0) == (batch["labels"] > 0.5)).all())
    labels = batch["labels"]
    known = labels != -100
    return bool((output.logits.argmax(-1)[known] == labels[known]).all())


def make_model(task: str, family: str, directory: Path, seed: int, max_tokens: int = 128) -> TrainedModel:
    """Trains a model, saves it with its tokenizer in `directory` and returns both. Tasks: TASKS; families: FAMILIES.

    Raises RuntimeError when the toy task is not learnt (three batches in a row without a mistake and with a small loss) in MAX_STEPS steps.
    """
    torch.manual_seed(seed)
    rng = random.Random(seed)
    tokenizer = word_piece(seed, max_tokens) if family == "bert" else byte_level(seed, family, max_tokens)
    model = untrained(task, family, tokenizer, max_tokens)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    right = 0
    for _ in range(MAX_STEPS):
        batch = BATCHES[task](rng, tokenizer, task)
        output = model(**batch)
        right = right + 1 if output.loss < SURE_LOSS and all_right(task, output, batch) else 0
        if right == 3:
            break
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
    else:
        raise RuntimeError(f"{family} did not learn {task} with seed {seed}")
    model.eval()
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return TrainedModel(task, family, directory, model, tokenizer, max_tokens)


def check_evaluate(binary: str, model: Path, task: str, gold: list[dict], predicted: list[dict], folder: Path, *arguments: object) -> list[str]:
    """`evaluate --model` says what `evaluate --predictions` says of the reference's predictions (metrics_oracle.py checks that)."""
    for name, rows in (("gold.jsonl", gold), ("predicted.jsonl", predicted)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    start = ["evaluate", "--task", task, "--data", folder / "gold.jsonl", *arguments, "--json"]
    by_model, by_file = (common.json_lines(common.run_command(binary, *start, *rest).stdout)[0]
                         for rest in (["--model", model, "--threads", 1], ["--predictions", folder / "predicted.jsonl"]))
    wrong = [f"{task}: {name} {by_model['metrics'].get(name)}, want {value}" for name, value in by_file["metrics"].items()
             if value is not None and not abs(by_model["metrics"].get(name, 1e30) - value) <= 1e-4 * max(1.0, abs(value))]
    if by_model["items"] != len(gold):
        wrong.append(f"{task}: {by_model['items']} items, want {len(gold)}")
    return wrong
