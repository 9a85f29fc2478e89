#!/usr/bin/env python3
"""`longformer convert` on random BERT, RoBERTa and XLM-R checkpoints: Transformers must load the result and agree.

Checks of a case: exit code 0; the config and the position table follow the rule; the global projections are copies;
no tensor is missing or left over when the reference loads the directory; its AutoTokenizer gives the ids of the
source's; `forward` agrees with the reference on texts longer than the short model; and where the window covers the
text, with the short model itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers
from safetensors.torch import load_file

import common
import random_cases
import random_text
import reference
import tokenizer_oracle


FAMILIES = ["bert", "roberta", "xlm-roberta"]
TOKENIZERS = {"bert": "BertTokenizerFast", "roberta": "LongformerTokenizerFast",
              "xlm-roberta": "XLMRobertaTokenizerFast"}
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def make_roberta_tokenizer(folder: Path, family: str) -> None:
    """Byte-level BPE or Unigram files with the special tokens of their family."""
    if family == "roberta":
        letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        vocabulary = {token: index for index, token in enumerate([*SPECIALS, *letters, "he", "ll"])}
        (folder / "vocab.json").write_text(json.dumps(vocabulary))
        (folder / "merges.txt").write_text("#version: 0.2\nh e\nl l\n")
        files = [str(folder / name) for name in ("vocab.json", "merges.txt")]
        transformers.RobertaTokenizerFast(*files).save_pretrained(folder)
    else:
        pieces = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
        pieces += [(token, -1.0 - index / 8) for index, token in enumerate(["\u2581", "\u2581he", "l", "lo", "w", "o"])]
        model = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces + [("<mask>", 0.0)], unk_id=3))
        model.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        model.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
        transformers.XLMRobertaTokenizerFast(tokenizer_object=model).save_pretrained(folder)


def random_source(rng: np.random.Generator, family: str, folder: Path):
    """A checkpoint with tokenizer files as published ones carry them."""
    config = random_cases.random_config(rng, family, int(rng.integers(8, 80)), small=False)
    if family == "bert":
        config.pad_token_id = 0
    model = random_cases.random_model(rng, family, config)
    note = random_cases.save(rng, model, folder, str(rng.choice(random_cases.STORAGES)))
    if (folder / "model.safetensors").exists() and rng.random() < 0.4:
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin",
                   _use_new_zipfile_serialization=bool(rng.random() < 0.5))
        (folder / "model.safetensors").unlink()
        note += " as .bin"
    fields = json.loads((folder / "config.json").read_text())
    if family == "bert":
        vocabulary = random_text.SPECIALS + [chr(c) for c in range(33, 48)]
        tokenizer_oracle.make_tokenizer(folder, "uncased", vocabulary[:config.vocab_size])
        (folder / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 128}))
    else:
        make_roberta_tokenizer(folder, family)
        # Of the ids of the special tokens, the tokenizer's are those of the files; padding is the model's.
        fields |= {"bos_token_id": 0, "eos_token_id": 2}
    (folder / "config.json").write_text(json.dumps(fields, indent=2))
    (folder / "sentence_bert_config.json").write_text(json.dumps(
        {"max_seq_length": 128, "do_lower_case": False}))
    return reference.bare(model), f"{type(model).__name__} {note}"


def check_tokenizer(source: Path, target: Path, family: str, length: int) -> list[str]:
    """What the reference reads of the tokenizer that went along."""
    before, after = (transformers.AutoTokenizer.from_pretrained(folder) for folder in (source, target))
    text = "hello  low, HELLO \u00e9 %$ <mask> ," * 40  # more than the short model reads
    wrong = [] if before(text, verbose=False)["input_ids"] == after(text, verbose=False)["input_ids"] else [
        "tokenizer: other ids than the source's"]
    if type(after).__name__ != TOKENIZERS[family]:
        wrong.append(f"tokenizer: the reference takes {type(after).__name__}, want {TOKENIZERS[family]}")
    if after.model_max_length != length:
        wrong.append(f"tokenizer: model_max_length is {after.model_max_length}, want {length}")
    return wrong


def check_files(folder: Path, length: int, windows: int, short) -> list[str]:
    """The fields that the converter must write."""
    config = json.loads((folder / "config.json").read_text())
    window, layers = config.get("attention_window"), short.config.num_hidden_layers
    pad = short.config.pad_token_id
    want = {"model_type": "longformer", "architectures": ["LongformerModel"], "pad_token_id": pad,
            "max_position_embeddings": length + pad + 1}
    if short.config.model_type != "bert":
        want |= {"bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
    wrong = [f"config.json: {key} is {config.get(key)}, want {value}" for key, value in want.items()
             if config.get(key) != value]
    if window not in (windows, [windows] * layers):
        wrong.append(f"config.json: attention_window is {window}, want {windows}")
    if (folder / "tokenizer.json").exists():
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        wrong += [f"tokenizer.json: {key} is not null" for key in ("truncation", "padding") if tokenizer.get(key)]
    for name, key in (("tokenizer_config.json", "model_max_length"),
                      ("sentence_bert_config.json", "max_seq_length")):
        if (folder / name).exists():
            value = json.loads((folder / name).read_text()).get(key)
            wrong += [f"{name}: {key} is {value}, want {length}"] if value != length else []
    return wrong


def load_long(folder: Path, has_pooler: bool):
    """The reference's Longformer of a directory, and complaints about its names."""
    model, info = transformers.LongformerModel.from_pretrained(
        folder, output_loading_info=True, add_pooling_layer=has_pooler, dtype="float32")
    wrong = [f"the reference: {kind} {sorted(map(str, info[kind]))[:4]}"
             for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[kind]]
    return model.eval(), wrong


def check_weights(short, long, period: int) -> list[str]:
    """Rows of the position table and copies of the projections, exactly."""
    wrong = []
    old = short.embeddings.position_embeddings.weight
    new = long.embeddings.position_embeddings.weight
    first = short.config.pad_token_id + 1
    kept, start = ([0] * first, 0) if short.config.model_type == "bert" else (list(range(first)), first)
    rows = kept + [start + k % period for k in range(new.shape[0] - first)]
    if not (new == old[rows]).all():
        wrong.append(f"position table: row {int((new != old[rows]).any(dim=1).nonzero()[0])} is wrong")
    for index, layer in enumerate(long.encoder.layer):
        own, source = layer.attention.self, short.encoder.layer[index].attention.self
        for kind in ("query", "key", "value"):
            want = getattr(source, kind).state_dict()
            for name in (kind, kind + "_global"):
                got = getattr(own, name).state_dict()
                if any((got[part] != want[part]).any() for part in want):
                    wrong.append(f"layer {index} {name} is not the source's {kind}")
    return wrong


def agreement(options, rng: np.random.Generator, folder: Path, scratch: Path, models: dict, length: int,
              covered: int) -> tuple[float, list[str]]:
    """`forward` beside the long reference on a long text and beside the short one on a covered text."""
    ratio, wrong = 0.0, []
    config, short = models["long"].config, models["short"]
    for name, rows in (("long", int(rng.integers(1, length + 1))), ("short", int(rng.integers(1, covered + 1)))):
        ids = rng.choice([index for index in range(config.vocab_size) if index != config.pad_token_id], (2, rows))
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        inputs["attention_mask"][1, int(rng.integers(1, rows + 1)):] = 0
        if name == "long":
            inputs["global_attention_mask"] = (rng.random(ids.shape) < 0.1).astype(np.int64)
        single, double = reference.run(models[name], inputs)
        got = common.forward(options.binary, folder, inputs, scratch)
        if name == "short":  # padded rows differ by definition: zeros there, ordinary rows here
            real = inputs["attention_mask"][..., None] == 1
            clear = lambda tensors: {key: np.where(real, value, 0) if value.ndim == 3 else value
                                     for key, value in tensors.items()}
            got, single, double = clear(got), clear(single), clear(double)
        part, lines = common.compare(got, single, common.tolerance(single, double))
        ratio = max(ratio, part)
        wrong += [f"beside the {name} model, {rows} tokens: {line}" for line in lines]
    return ratio, wrong


def convert_case(options, report: common.Report, seed: int, source: Path | None = None) -> None:
    """One conversion; of `source`, or of a random checkpoint."""
    rng = np.random.default_rng(seed)
    with common.Scratch(options, f"convert_{seed}") as scratch:
        folder, target = source or scratch.path / "short", scratch.path / "long"
        if source is None:
            folder.mkdir()
            short, note = random_source(rng, FAMILIES[seed % len(FAMILIES)], folder)
        else:
            short, note = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval(), "given"
        rows = short.config.max_position_embeddings
        if short.config.model_type != "bert":
            rows -= short.config.pad_token_id + 1
        period = rows if rng.random() < 0.5 else int(rng.integers(1, rows + 1))
        length = int(rng.integers(rows, 5 * rows + 1)) if source is None else 1024
        window = 2 * int(rng.integers(2, rows + 8))
        arguments = ["--to-long", length, "--attention-window", window]
        if period != rows:
            arguments += ["--position-period", period]
        ratio = 0.0
        try:
            common.run_command(options.binary, "convert", *arguments, folder, target)
            wrong = check_files(target, length, window, short)
            wrong += check_tokenizer(folder, target, short.config.model_type, length)
            long, complaints = load_long(target, short.pooler is not None)
            wrong += complaints + check_weights(short, long, period)
            covered = min(period, window // 2 + 1)
            ratio, lines = agreement(options, rng, target, scratch.path, {"long": long, "short": short},
                                     min(length, 600), covered)
            wrong += lines
        except (common.CommandFailed, OSError, ValueError) as failure:
            wrong = [str(failure)]
        scratch.failed = bool(wrong)
        report.add(seed, f"{note}, {' '.join(map(str, arguments))}", wrong, ratio)


def default_model_case(options, report: common.Report, seed: int) -> None:
    """The converted default model: Transformers loads it and agrees on long texts with globals and padding."""
    rng, folder = np.random.default_rng(seed), options.default_model
    with common.Scratch(options, "convert_default") as scratch:
        ratio = 0.0
        try:
            fields = json.loads((folder / "config.json").read_text())
            long, wrong = load_long(folder, has_pooler=True)
            for rows in (1, 40, 700):
                ids = rng.integers(1000, fields["vocab_size"], (2, rows))
                inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids),
                          "global_attention_mask": np.zeros_like(ids)}
                inputs["attention_mask"][1, rows - rows // 3:] = 0
                inputs["global_attention_mask"][0, 0] = 1
                single, double = reference.run(long, inputs)
                got = common.forward(options.binary, folder, inputs, scratch.path, threads=2)
                part, lines = common.compare(got, single, common.tolerance(single, double))
                ratio, wrong = max(ratio, part), wrong + lines
        except (common.CommandFailed, OSError, ValueError) as failure:
            wrong = [str(failure)]
        report.add(seed, f"default model {folder}", wrong, ratio)


def main() -> int:
    options = common.parser(__doc__.splitlines()[0], cases=20)
    options.add_argument("--default-model", type=Path, default=common.default_model(),
                         help="a converted model; default: the default model where it is made")
    options.add_argument("--source", type=Path, help="convert this checkpoint too")
    options = options.parse_args()
    report = common.Report("convert", options)
    for seed in range(options.seed, options.seed + options.cases):
        convert_case(options, report, seed)
    if options.source:
        convert_case(options, report, options.seed, options.source)
    if options.default_model:
        default_model_case(options, report, options.seed)
    return report.finish(f" ({'with' if options.default_model else 'without'} the default model)")


if __name__ == "__main__":
    sys.exit(main())
