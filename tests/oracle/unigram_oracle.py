#!/usr/bin/env python3
"""`longformer tokenize --json` beside the reference for Unigram models and SentencePiece files: ids, tokens, offsets.

A case is one tokenizer and 500 random strings: a tokenizer.json with a random normaliser, pre-tokeniser and model
(trained, all scores equal, or with bytes to fall back on), or a SentencePiece model trained here (Unigram or BPE, each
normalisation) that Transformers' fast classes convert.
"""

from __future__ import annotations

import collections
import io
import json
import logging
import os
import sys
from pathlib import Path

import numpy as np
import sentencepiece
import tokenizers
import transformers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import common
import random_text
import tokenizer_oracle

STRINGS = 500
ADDED = ["[MASK]", "<mask>", "</s>", "<unk>", "<doc>", "New York"]
SPACE = "\u2581"
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
RULES = ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]
# Transformers' classes and the pieces that their models must have.
CLASSES = {
    "XLMRoberta": (transformers.XLMRobertaTokenizerFast, dict(), "sentencepiece.bpe.model"),
    "BigBird": (transformers.BigBirdTokenizerFast, dict(
        user_defined_symbols=["[CLS]", "[SEP]", "[MASK]", "<sep_0>"], pad_id=3, bos_id=1, eos_id=2, unk_id=0),
        "spiece.model"),
    "Pegasus": (transformers.PegasusTokenizerFast, dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1), "spiece.model"),
    "Albert": (transformers.AlbertTokenizerFast, dict(
        pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"]), "spiece.model"),
    "DebertaV2": (transformers.DebertaV2TokenizerFast, dict(
        unk_piece="[UNK]", pad_piece="[PAD]", pad_id=0, unk_id=3, bos_id=-1, eos_id=-1,
        control_symbols=["[CLS]", "[SEP]"]), "spm.model"),
    "Camembert": (transformers.CamembertTokenizerFast, dict(), "sentencepiece.bpe.model"),
    "T5": (transformers.T5TokenizerFast, dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1), "spiece.model"),
    "RemBert": (transformers.RemBertTokenizerFast, dict(
        pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"]),
        "sentencepiece.model"),
    "FNet": (transformers.FNetTokenizerFast, dict(
        pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"]), "spiece.model"),
    "Barthez": (transformers.BarthezTokenizerFast, dict(
        bos_id=0, pad_id=1, eos_id=2, unk_id=3, control_symbols=["<mask>"]), "sentencepiece.bpe.model"),
    "Reformer": (transformers.ReformerTokenizerFast, dict(), "spiece.model"),
    "XLNet": (transformers.XLNetTokenizerFast, dict(
        unk_id=0, bos_id=1, eos_id=2, control_symbols=["<cls>", "<sep>", "<pad>", "<mask>"]), "spiece.model"),
}
JSON_KINDS = ["trained", "equal scores", "bytes", "random scores"]
KINDS = [name for pair in zip(CLASSES, JSON_KINDS * 3, strict=True) for name in pair]


def training_lines(rng: np.random.Generator, vocabulary: list[str], count: int) -> list[str]:
    lines = [random_text.random_text(rng, vocabulary, ADDED).replace("\n", " ") for _ in range(count)]
    text = random_text.system_text(120_000)
    return [line for line in lines + text.splitlines() if line.strip()]


def train_sentencepiece(rng: np.random.Generator, lines: list[str], rule: str, **settings) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=int(rng.integers(800, 2000)),
        normalization_rule_name=rule, hard_vocab_limit=False, minloglevel=2, character_coverage=0.98,
        num_threads=1, num_sub_iterations=1, **settings)
    return model.getvalue()


def charsmap(model: bytes) -> bytes:
    return sentencepiece_model_pb2.ModelProto.FromString(model).normalizer_spec.precompiled_charsmap


def random_normalizer(rng: np.random.Generator, maps: list[bytes]) -> normalizers.Normalizer:
    makers = [
        normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Nmt, normalizers.Lowercase,
        normalizers.StripAccents, normalizers.BertNormalizer,
        lambda: normalizers.Strip(bool(rng.integers(2)), bool(rng.integers(2))),
        lambda: normalizers.Replace("``", '"'), lambda: normalizers.Replace("a", "\u00e9\u0301x"),
        lambda: normalizers.Replace("e", ""), lambda: normalizers.Replace(Regex(" {2,}"), " "),
        lambda: normalizers.Replace(Regex(" {2,}"), SPACE), lambda: normalizers.Replace(Regex(r"\p{N}+|\p{P}"), "#"),
        lambda: normalizers.Prepend(SPACE), lambda: normalizers.Precompiled(maps[int(rng.integers(len(maps)))]),
        lambda: normalizers.Precompiled(maps[int(rng.integers(len(maps)))]),
        lambda: normalizers.Precompiled(maps[int(rng.integers(len(maps)))]),
    ]
    count = int(rng.integers(0, 5))
    if count == 0:
        return normalizers.Sequence([])
    steps = [makers[int(rng.integers(len(makers)))]() for _ in range(count)]
    return steps[0] if count == 1 else normalizers.Sequence(steps)


def random_pre_tokenizer(rng: np.random.Generator) -> pre_tokenizers.PreTokenizer:
    metaspace = pre_tokenizers.Metaspace(
        prepend_scheme=str(rng.choice(["always", "first", "never"])), split=bool(rng.random() < 0.8))
    return [metaspace, metaspace, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace]),
            pre_tokenizers.Sequence([pre_tokenizers.Punctuation(behavior="isolated"), metaspace]),
            pre_tokenizers.Sequence([])][int(rng.choice(5, p=[0.4, 0.2, 0.2, 0.1, 0.1]))]


def random_pieces(rng: np.random.Generator, lines: list[str]) -> list[list]:
    """Parts of words of every script, with the logarithm of their frequency as the score."""
    counts: collections.Counter[str] = collections.Counter()
    for word in " ".join(lines).split():
        word = SPACE + word
        for length in range(1, int(rng.integers(2, 12))):
            start = int(rng.integers(0, max(1, len(word) - length + 1)))
            counts[word[start:start + length]] += 1
    counts.update(dict.fromkeys(SPACE + "aeiou", 1))
    total = sum(counts.values())
    return [[piece, float(np.log(count / total))] for piece, count in counts.items() if piece not in SPECIALS]


def make_json(rng: np.random.Generator, folder: Path, kind: str, lines: list[str], maps: list[bytes]) -> Tokenizer:
    """Writes a tokenizer.json and returns the reference for it."""
    if kind == "trained":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.train_from_iterator(random_text.system_text(120_000).splitlines(), trainers.UnigramTrainer(
            vocab_size=int(rng.integers(300, 1500)), special_tokens=SPECIALS, unk_token="<unk>", show_progress=False))
    else:
        vocabulary = [[piece, 0.0] for piece in SPECIALS] + random_pieces(rng, lines)
        tokenizer = Tokenizer(models.Unigram([tuple(entry) for entry in vocabulary], 3, False))
    tokenizer.normalizer, tokenizer.pre_tokenizer = random_normalizer(rng, maps), random_pre_tokenizer(rng)
    saved = json.loads(tokenizer.to_str())
    vocabulary = saved["model"]["vocab"]
    if kind == "equal scores":
        vocabulary = [[piece, 0.0] for piece, _ in vocabulary]
    elif kind == "random scores":
        vocabulary = [[piece, float(np.round(rng.normal(-5, 4), int(rng.integers(0, 3))))] for piece, _ in vocabulary]
    elif kind == "bytes":
        vocabulary += [[f"<0x{byte:02X}>", -20.0] for byte in range(256 if rng.random() < 0.8 else 250)]
        saved["model"]["byte_fallback"] = True
    saved["model"]["vocab"] = vocabulary
    saved["decoder"] = json.loads(decoders.Metaspace().__getstate__())
    tokenizer = Tokenizer.from_str(json.dumps(saved))
    if rng.random() < 0.5:
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
        tokenizer.add_tokens([AddedToken("<doc>", rstrip=True, normalized=True), AddedToken("New York")])
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def make_directory(rng: np.random.Generator, folder: Path, name: str, lines: list[str]) -> Tokenizer:
    """Writes a SentencePiece model as a class names it and returns what Transformers makes of it."""
    kind, settings, file = CLASSES[name]
    model_type = "bpe" if rng.random() < 0.25 else "unigram"
    model = train_sentencepiece(rng, lines, str(rng.choice(RULES)), model_type=model_type, **settings)
    if rng.random() < 0.3 and model_type == "unigram":
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        for piece in proto.pieces:
            piece.score = 0.0
        model = proto.SerializeToString()
    for path in {folder / file, folder / "spiece.model"}:  # the class's own name for it, and one that we know
        path.write_bytes(model)
    config = {"tokenizer_class": kind.__name__.removesuffix("Fast")}
    if name in ("Albert", "FNet", "RemBert", "XLNet"):
        config |= {"do_lower_case": bool(rng.integers(2)), "keep_accents": bool(rng.integers(2))}
    if name == "DebertaV2":
        config |= {"do_lower_case": bool(rng.integers(2)), "split_by_punct": bool(rng.integers(2))}
    if name == "Pegasus" and rng.random() < 0.5:
        config |= {"offset": 0, "mask_token_sent": None, "mask_token": "[MASK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return kind.from_pretrained(folder).backend_tokenizer


def main() -> int:
    options = common.parser(__doc__.splitlines()[0], cases=20).parse_args()
    os.environ["RUST_BACKTRACE"] = "0"
    logging.getLogger("transformers").setLevel(logging.ERROR)
    report = common.Report("unigram", options)
    vocabulary = random_text.build_vocabulary(random_text.system_text(), 2000)
    maps = [charsmap(train_sentencepiece(np.random.default_rng(0), ["some words to train with"] * 20, rule))
            for rule in RULES if rule != "identity"]
    for seed in range(options.seed, options.seed + options.cases):
        rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
        with common.Scratch(options, f"unigram_{seed}") as scratch:
            lines = training_lines(rng, vocabulary, 100)
            if kind in CLASSES:
                tokenizer = make_directory(rng, scratch.path, kind, lines)
            else:
                tokenizer = make_json(rng, scratch.path, kind, lines, maps)
            (scratch.path / "config.json").write_text(json.dumps(
                {**tokenizer_oracle.CONFIG, "vocab_size": tokenizer.get_vocab_size()}))
            texts = [random_text.random_text(rng, vocabulary, ADDED) for _ in range(STRINGS)]
            failed = report.failed
            tokenizer_oracle.compare_texts(options, report, seed, kind, scratch.path, tokenizer,
                                           tokenizer_oracle.write_texts(scratch.path / "texts", texts))
            scratch.failed = report.failed > failed
    return report.finish(f" (tokenizers {tokenizers.__version__}, sentencepiece {sentencepiece.__version__})")


if __name__ == "__main__":
    sys.exit(main())
