#!/usr/bin/env python3
"""`longformer tokenize --json` beside the fast reference tokenizer: BPE, WordLevel and every pre-tokeniser.

Each case is one tokenizer and 500 random strings. Its kind goes round: byte-level BPE with random settings in
tokenizer.json; the same as vocab.json and merges.txt with the files beside them, read by Transformers' classes; and
random pre-tokenisers, normalisers and added tokens around BPE over characters, WordLevel or WordPiece. Then source code
and manual pages of the machine with two of them. Ids, tokens, code-point offsets, type ids and words must be equal.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import common
import random_text
from tokenizer_oracle import manual_pages, write_texts

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
STRINGS = 500
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LATER = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
         r"\s*[\r\n]+|\s+(?!\S)|\s+")
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
CONTENTS = ["<t>", "New York", "the", "abc", " lead", "ab", "    "]


class Dice:
    """Choices from a generator."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def chance(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, values: list):
        return values[int(self.rng.integers(len(values)))]

    def count(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))


def corpus() -> list[str]:
    """English, and a sample of every range of random_text."""
    other = "".join(chr(c) for low, high in random_text.RANGES for c in range(low, high, 37) if not 0xD800 <= c < 0xE000)
    return random_text.system_text(150_000).split("\n") + [other] * 3


def added_token(index: int, content: str, **flags) -> dict:
    return dict(id=index, content=content,
                **{**dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=False), **flags})


def document(model: dict, added: list[dict], **parts) -> dict:
    return {"version": "1.0", "truncation": {"max_length": 9, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
            "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": None, "post_processor": None,
            "decoder": None, "model": model, **parts}


def byte_level_model(dice: Dice, specials: list[str]) -> dict:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=dice.chance())
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=dice.count(300, 3000), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=specials, show_progress=False))
    return json.loads(tokenizer.to_str())["model"]


def byte_level(dice: Dice) -> dict:
    """As RoBERTa, GPT-2 or ModernBERT, with random settings."""
    model = byte_level_model(dice, SPECIALS + ["<mask>"])
    size = len(model["vocab"])
    if dice.chance():
        model["merges"] = [" ".join(pair) for pair in model["merges"]]
    model["ignore_merges"] = dice.chance(0.3)
    prefix = dice.chance()
    added = [added_token(i, t, special=True, lstrip=t == "<mask>") for i, t in enumerate(SPECIALS + ["<mask>"])]
    if dice.chance(0.4):
        added += [added_token(size + i, " " * n, normalized=True) for i, n in enumerate((4, 3, 2))]
    last = {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": dice.chance(), "use_regex": True}
    if dice.chance(0.4):
        first = dice.pick([{"type": "Digits", "individual_digits": dice.chance()},
                           {"type": "Split", "pattern": {"Regex": LATER}, "behavior": "Isolated", "invert": False}])
        last = {"type": "Sequence", "pretokenizers": [first, {**last, "use_regex": dice.chance()}]}
    post = dice.pick([None, {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
                             "trim_offsets": dice.chance(0.7), "add_prefix_space": prefix}])
    return document(model, added, normalizer=dice.pick([None, None, {"type": "NFC"}]), pre_tokenizer=last, post_processor=post)


def split_step(dice: Dice) -> dict:
    return dice.pick([
        {"type": "BertPreTokenizer"}, {"type": "Whitespace"}, {"type": "WhitespaceSplit"},
        {"type": "ByteLevel", "add_prefix_space": dice.chance(), "trim_offsets": True, "use_regex": dice.chance()},
        {"type": "Metaspace", "replacement": dice.pick(["\u2581", "_"]), "split": dice.chance(0.7),
         "prepend_scheme": dice.pick(["always", "first", "never"])},
        {"type": "Punctuation", "behavior": dice.pick(BEHAVIORS)},
        {"type": "Digits", "individual_digits": dice.chance()},
        {"type": "CharDelimiterSplit", "delimiter": dice.pick(["e", " ", "é", "-"])},
        {"type": "Split", "pattern": {"String": dice.pick(["a", "th", " ", "é", "  "])}, "behavior": dice.pick(BEHAVIORS),
         "invert": dice.chance(0.3)},
        {"type": "Split", "pattern": {"Regex": dice.pick([GPT2, LATER, r"\s+", r"\d", r"[^a-z]+", r"\p{Lu}\p{Ll}+"])},
         "behavior": dice.pick(BEHAVIORS), "invert": dice.chance(0.3)},
        {"type": "FixedLength", "length": dice.count(1, 6)},
    ])


def other_model(dice: Dice) -> dict:
    lines = corpus()
    kind = dice.count(0, 4)
    if kind == 0:
        words = sorted({word for line in lines[:300] for word in line.split()})[:900]
        tokens = dict.fromkeys(["<unk>", *words, *map(chr, range(33, 127)), *("\u2581" + chr(c) for c in range(97, 123))])
        return {"type": "WordLevel", "vocab": {token: i for i, token in enumerate(tokens)}, "unk_token": "<unk>"}
    if kind == 1:
        vocabulary = random_text.build_vocabulary("\n".join(lines[:400]), 500)
        return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": dice.pick([5, 100]), "vocab": {t: i for i, t in enumerate(vocabulary)}}
    affixes = {}
    if dice.chance(0.3):
        affixes["continuing_subword_prefix"] = "##"
    if dice.chance(0.3):
        affixes["end_of_word_suffix"] = "</w>"
    fallback = not affixes and dice.chance()  # with an affix the reference's spans of bytes lie outside the text
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = dice.pick([pre_tokenizers.Metaspace(), pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel()])
    names = [f"<0x{i:02X}>" for i in range(256)] if fallback else []
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=dice.count(400, 1500), limit_alphabet=dice.count(30, 600), special_tokens=["<unk>", *names],
        show_progress=False, **affixes))
    return {**json.loads(tokenizer.to_str())["model"], "unk_token": dice.pick(["<unk>", "<unk>", None]),
            "fuse_unk": dice.chance(), "byte_fallback": fallback, "ignore_merges": dice.chance(0.3)}


def mixture(dice: Dice) -> dict:
    model = other_model(dice)
    model["vocab"] = {token: i for i, token in enumerate(model["vocab"])}
    contents = [CONTENTS[i] for i in dice.rng.permutation(len(CONTENTS))[:dice.count(0, 4)]]
    added = [added_token(len(model["vocab"]) + i, content, single_word=dice.chance(0.3), lstrip=dice.chance(0.3),
                         rstrip=dice.chance(0.3), normalized=dice.chance(), special=dice.chance())
             for i, content in enumerate(contents)]
    steps = [split_step(dice) for _ in range(dice.count(1, 4))]
    normalizer = dice.pick([None, None, {"type": "NFC"}, {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "\u2581"},
                            {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                             "lowercase": True}])
    return document(model, added, normalizer=normalizer,
                    pre_tokenizer=steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps})


def write_directory(dice: Dice, folder: Path) -> Tokenizer:
    """vocab.json, merges.txt and the files that older versions of Transformers wrote beside them."""
    import transformers

    kind = dice.pick(["Roberta", "Longformer", "LED", "Bart", "GPT2"])
    model = byte_level_model(dice, ["<s>"])
    words = [token for token in model["vocab"] if token != "<s>"]
    tokens = ["<|endoftext|>", *words] if kind == "GPT2" else [*SPECIALS, *words, "<mask>"]
    flags = dict(lstrip=False, rstrip=False, normalized=False, single_word=False)
    config = {"tokenizer_class": kind + "Tokenizer" + dice.pick(["", "Fast"]), "add_prefix_space": dice.chance(), "model_max_length": 1e30}
    files = {"vocab.json": json.dumps({t: i for i, t in enumerate(tokens)}, ensure_ascii=dice.chance()),
             "merges.txt": "#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in model["merges"])}
    if kind == "GPT2":
        config["add_bos_token"] = dice.chance()
    else:
        config["trim_offsets"] = dice.chance(0.7)
    if kind != "GPT2" and dice.chance():
        decoder = {str(len(tokens)): dict(flags, content="New York", special=False, normalized=True, single_word=True)}
        for index, token in [*enumerate(SPECIALS), (len(tokens) - 1, "<mask>")]:
            decoder[str(index)] = dict(flags, content=token, special=True, lstrip=token == "<mask>" and dice.chance())
        names = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>", sep_token="</s>", pad_token="<pad>", cls_token="<s>",
                     mask_token="<mask>")
        config.update(names, added_tokens_decoder=decoder)
    elif kind != "GPT2" and dice.chance():
        files["special_tokens_map.json"] = json.dumps({
            "mask_token": dict(flags, content="<mask>", lstrip=True, rstrip=dice.chance()), "cls_token": "<s>",
            "additional_special_tokens": ["<t>", "<doc>"]})
        files["added_tokens.json"] = json.dumps({"<t>": len(tokens), "<doc>": len(tokens) + 1, "abc": len(tokens) + 2})
    files["tokenizer_config.json"] = json.dumps(config)
    for name, content in files.items():
        (folder / name).write_text(content, "utf-8")
    return getattr(transformers, kind + "TokenizerFast").from_pretrained(folder).backend_tokenizer


def make_tokenizer(dice: Dice, kind: int, folder: Path) -> Tokenizer:
    """Writes the files of a tokenizer and returns the reference for them."""
    if kind == 1:
        tokenizer = write_directory(dice, folder)
    else:
        text = json.dumps(byte_level(dice) if kind == 0 else mixture(dice))
        tokenizer = Tokenizer.from_str(text)
        tokenizer.no_truncation()
        (folder / "tokenizer.json").write_text(text, "utf-8")
    config = {"model_type": "roberta", "vocab_size": tokenizer.get_vocab_size()}
    (folder / "config.json").write_text(json.dumps(config))
    return tokenizer


def difference(got: dict, want, tokens: dict[int, str]) -> str | None:
    """The first token where two encodings part."""
    words = [-1 if sequence is None else word for word, sequence in zip(want.word_ids, want.sequence_ids)]
    wanted = list(zip(want.ids, [tokens[i] for i in want.ids], [list(pair) for pair in want.offsets], want.type_ids, words))
    mine = list(zip(*(got[key] for key in ("input_ids", "tokens", "offsets", "type_ids", "words"))))
    if mine == wanted:
        return None
    at = next((i for i, (a, b) in enumerate(zip(mine, wanted)) if a != b), min(len(mine), len(wanted)))
    return f"token {at}: got {ascii(mine[at:at + 1])}, want {ascii(wanted[at:at + 1])} ({len(mine)} and {len(wanted)} tokens)"


def compare_texts(options, report: common.Report, seed: int, what: str, folder: Path, tokenizer: Tokenizer,
                  texts: dict[Path, str]) -> None:
    """Tokenizes files in batches and compares each with its text; counts every text as a case."""
    files = list(texts)
    tokens = {index: token for token, index in tokenizer.get_vocab().items()}
    for start in range(0, len(files), 500):
        batch = files[start:start + 500]
        try:
            result = common.run_command(options.binary, "tokenize", "--model", folder, *batch, "--json", allowed=(0, 3))
            lines = {line["file"]: line for line in common.json_lines(result.stdout)}
        except (common.CommandFailed, json.JSONDecodeError, UnicodeDecodeError) as failure:
            report.add(seed, f"{what}, {len(batch)} files", [str(failure)])
            continue
        for file, want in zip(batch, tokenizer.encode_batch([texts[file] for file in batch])):
            line = lines.get(str(file))
            wrong = difference(line, want, tokens) if line else "no line"
            report.add(seed, f"{what}, {file.name}", [wrong] if wrong else [])


def source_code(count: int) -> dict[Path, str]:
    """Headers of this machine that are UTF-8, each content once."""
    texts: dict[str, Path] = {}
    paths = sorted(path for path in Path("/usr/include").glob("**/*.h") if path.is_file() and not path.is_symlink())
    for path in paths[::max(1, len(paths) // max(1, count))][:count]:
        try:
            text = path.read_bytes().decode("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        if text.strip() and "\0" not in text and not text.startswith("\ufeff") and len(text) < 200_000:
            texts.setdefault(text, path)
    return {path: text for text, path in texts.items()}


def main() -> int:
    options = common.parser(__doc__.splitlines()[0], cases=20).parse_args()
    report = common.Report("bpe_oracle", options)
    for seed in range(options.seed, options.seed + options.cases):
        dice, kind = Dice(np.random.default_rng(seed)), seed % 3
        with common.Scratch(options, f"bpe_{seed}") as scratch:
            model = scratch.path / "model"
            model.mkdir()
            tokenizer = make_tokenizer(dice, kind, model)
            words = [token for token in tokenizer.get_vocab(with_added_tokens=False) if token.isascii() and token.isprintable()]
            added = [token.content for token in tokenizer.get_added_tokens_decoder().values()] or ["<t>"]
            texts = [random_text.random_text(dice.rng, sorted(words), sorted(added)) for _ in range(STRINGS)]
            failed = report.failed
            what = ["byte-level BPE", "vocab.json and merges.txt", "other models and pre-tokenisers"][kind]
            compare_texts(options, report, seed, what, model, tokenizer, write_texts(scratch.path / "texts", texts))
            if seed - options.seed < 2:
                compare_texts(options, report, seed, f"{what}, source code", model, tokenizer, source_code(100))
                compare_texts(options, report, seed, f"{what}, manual pages", model, tokenizer, manual_pages(100))
            scratch.failed = report.failed > failed
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
