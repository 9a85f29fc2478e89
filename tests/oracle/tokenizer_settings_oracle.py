#!/usr/bin/env python3
"""Every setting of `longformer tokenize` beside the fast reference tokenizer.

Each case is one kind of tokenizer (byte-level BPE, BPE with byte fallback, Unigram, WordPiece), trained here, and three
settings: with or without a second text, word lists, special tokens, truncation with strategy, side and stride; then
decoding of random ids with and without special tokens. Ids, tokens, offsets, type ids, sequences and words of every
window must be equal. Two faults of the reference are not asked for: type ids of overflowing windows are those of the
first one, and so are sequences where a tokenizer has no post-processor.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from pathlib import Path

import numpy as np
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

import common
import random_text

FILES = 20
ID_LINES = 30
KINDS = ["byte-level BPE", "Unigram", "WordPiece", "BPE with byte fallback"]
UNITS = ["codepoint", "byte", "utf16"]
META = "\u2581"


def byte_level(corpus: str, rng: np.random.Generator) -> Tokenizer:
    """As RoBERTa, or with one of the other post-processors."""
    prefix, trim = bool(rng.random() < 0.5), bool(rng.random() < 0.7)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    specials = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, normalized=False)]
    tokenizer.train_from_iterator(corpus.splitlines(), trainers.BpeTrainer(
        vocab_size=1500, special_tokens=specials, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.decoder = decoders.ByteLevel()
    level = processors.ByteLevel(trim_offsets=trim, add_prefix_space=prefix)
    template = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B:1 </s>:1",
                                             special_tokens=[("<s>", 0), ("</s>", 2)])
    choice = rng.integers(5)
    if choice < 2:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=trim,
                                                                add_prefix_space=prefix)
    elif choice < 4:
        tokenizer.post_processor = [level, template, processors.Sequence([level, template])][int(rng.integers(3))]
    return tokenizer


def unigram(corpus: str, rng: np.random.Generator) -> Tokenizer:
    """As XLM-RoBERTa."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    scheme = ["always", "first", "never"][int(rng.integers(3))]
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(META, scheme, bool(rng.random() < 0.8))
    specials = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, normalized=False)]
    tokenizer.train_from_iterator(corpus.splitlines()[:1500], trainers.UnigramTrainer(
        vocab_size=800, special_tokens=specials, unk_token="<unk>", show_progress=False))
    tokenizer.decoder = decoders.Metaspace(META, scheme)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


def word_piece(corpus: str, rng: np.random.Generator) -> Tokenizer:
    """As BERT."""
    ids = {piece: index for index, piece in enumerate(random_text.build_vocabulary(corpus, 2000))}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=bool(rng.random() < 0.5))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=bool(rng.random() < 0.5))
    cls, sep = (("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"]))
    if rng.random() < 0.5:
        tokenizer.post_processor = processors.BertProcessing(sep, cls)
    else:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[cls, sep])
    tokenizer.add_special_tokens(random_text.SPECIALS)
    return tokenizer


def byte_fallback(corpus: str, rng: np.random.Generator) -> Tokenizer:
    """As the SentencePiece BPE files that were converted for the Llama family."""
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", META)
    trained.train_from_iterator(corpus.splitlines()[:1500], trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)],
        show_progress=False))
    model = json.loads(trained.to_str())["model"]
    tokenizer = Tokenizer(models.BPE(model["vocab"], [tuple(merge) for merge in model["merges"]], unk_token="<unk>",
                                     fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(META), normalizers.Replace(" ", META)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(META, " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    if rng.random() < 0.8:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", model["vocab"]["<s>"])])
    return tokenizer


MAKERS = dict(zip(KINDS, [byte_level, unigram, word_piece, byte_fallback]))


@dataclasses.dataclass
class Settings:
    """One way to call the command."""

    pair: bool
    words: bool
    special: bool
    unit: str
    max_length: int | None = None
    strategy: str = "longest_first"
    side: str = "right"
    stride: int = 0

    def arguments(self) -> list[object]:
        """The same as options."""
        result: list[object] = ["--json", "--offsets", self.unit, "--special-tokens", str(self.special).lower()]
        if self.words:
            result += ["--words"]
        if self.max_length is not None:
            result += ["--max-length", self.max_length, "--truncation", self.strategy.replace("_", "-"),
                       "--truncation-side", self.side, "--stride", self.stride]
        return result


def random_settings(rng: np.random.Generator, tokenizer: Tokenizer) -> Settings:
    """Any combination that some text can meet."""
    settings = Settings(bool(rng.random() < 0.5), bool(rng.random() < 0.35), bool(rng.random() < 0.7),
                        UNITS[int(rng.integers(3))])
    if rng.random() < 0.75:
        room = int(rng.integers(2, 60))
        added = tokenizer.num_special_tokens_to_add(settings.pair) if settings.special else 0
        settings.max_length = room + added
        settings.stride = int(rng.integers(0, room)) if rng.random() < 0.3 else int(rng.integers(0, min(room, 4)))
        # The reference counts special tokens against the stride even where none are added.
        settings.stride = max(0, min(settings.stride, settings.max_length - tokenizer.num_special_tokens_to_add(False)))
        strategies = ["longest_first", "longest_first", "only_first"] + ["only_second"] * settings.pair
        settings.strategy = strategies[int(rng.integers(len(strategies)))]
        settings.side = ["right", "left"][int(rng.integers(2))]
    return settings


def added_words(tokenizer: Tokenizer) -> list[str]:
    return [token.content for token in tokenizer.get_added_tokens_decoder().values()][:8]


def random_input(rng: np.random.Generator, vocabulary: list[str], added: list[str], words: bool) -> str | list[str]:
    if not words:
        return random_text.random_text(rng, vocabulary, added)
    count = int(rng.integers(1, 15))
    pieces = [random_text.random_text(rng, vocabulary, added) for _ in range(3)]
    choices = ["", " ", " a", "b ", "word", "Two words", *" ".join(pieces).split()[:30], *pieces]
    words = [choices[int(rng.integers(len(choices)))] for _ in range(count)]
    words[0] = words[0].removeprefix("\ufeff")  # at the beginning of a file it marks the byte order
    return words


def write_input(folder: Path, name: str, value: str | list[str]) -> Path:
    """A text, or a list of words in one of the two formats."""
    if isinstance(value, str):
        path = folder / f"{name}.txt"
        path.write_bytes(value.encode("utf-8"))
        return path
    lines_will_do = value and value[-1] and not any("\n" in word or word.endswith("\r") for word in value)
    if lines_will_do and len("".join(value)) % 2:
        path = folder / f"{name}.txt"
        path.write_bytes("".join(word + "\n" for word in value).encode("utf-8"))
    else:
        path = folder / f"{name}.json"
        path.write_text(json.dumps(value, ensure_ascii=len("".join(value)) % 4 < 2), "utf-8")
    return path


def in_unit(text: str, position: int, unit: str) -> int:
    if unit == "codepoint":
        return position
    return len(text[:position].encode("utf-8" if unit == "byte" else "utf-16-le")) // (1 if unit == "byte" else 2)


@contextlib.contextmanager
def silence():
    """The reference prints a line on standard error when it panics, past Python."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def expected_windows(tokenizer: Tokenizer, settings: Settings, sides: list[str | list[str]],
                     tokens: dict[int, str]) -> list[dict] | None:
    """What the command must print; None where the reference refuses."""
    if settings.max_length is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(settings.max_length, stride=settings.stride, strategy=settings.strategy,
                                    direction=settings.side)
    try:
        with silence():
            first = tokenizer.encode(*sides, is_pretokenized=settings.words, add_special_tokens=settings.special)
    except BaseException as error:  # a panic of the reference is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return None
    has_post = tokenizer.post_processor is not None
    windows, types = [], {s: t for s, t in zip(first.sequence_ids, first.type_ids) if s is not None}
    for number, encoding in enumerate([first, *first.overflowing]):
        sequences = list(encoding.sequence_ids)
        if number and not has_post:  # the reference counts all as the first text here, and types are right
            sequences = list(encoding.type_ids)
        offsets = []
        for span, word, side in zip(encoding.offsets, encoding.word_ids, sequences):
            text = "" if side is None else sides[side][word] if settings.words else sides[side]
            offsets.append([in_unit(text, place, settings.unit) for place in span])
        windows.append({
            "input_ids": encoding.ids, "tokens": [tokens[i] for i in encoding.ids], "offsets": offsets,
            "type_ids": [own if s is None else types.get(s, own) for s, own in zip(sequences, encoding.type_ids)],
            "sequence_ids": [-1 if s is None else s for s in sequences],
            "words": [-1 if w is None else w for w in encoding.word_ids]})
    return windows


def difference(got: list[dict], want: list[dict] | None) -> str | None:
    """The first place where the windows of a file part."""
    if want is None:
        return f"printed {len(got)} windows where the reference refuses" if got else None
    if len(got) != len(want):
        return f"{len(got)} windows, want {len(want)}"
    for number, (mine, theirs) in enumerate(zip(got, want)):
        if mine["window"] != number:
            return f"window {number} calls itself {mine['window']}"
        for key, values in theirs.items():
            if mine[key] == values:
                continue
            at = next((i for i, (a, b) in enumerate(zip(mine[key], values)) if a != b), min(len(mine[key]), len(values)))
            return (f"window {number}, {key}[{at}]: got {ascii(mine[key][at:at + 3])}, want {ascii(values[at:at + 3])} "
                    f"(ids {theirs['input_ids'][max(0, at - 1):at + 2]})")
    return None


def compare_settings(options, report: common.Report, seed: int, rng: np.random.Generator, scratch: Path, kind: str,
                     tokenizer: Tokenizer) -> None:
    """One call of the command over several files."""
    settings = random_settings(rng, tokenizer)
    vocabulary = list(tokenizer.get_vocab())[:3000]
    tokens = {index: token for token, index in tokenizer.get_vocab().items()}
    added = added_words(tokenizer) or ["<s>"]
    inputs = [random_input(rng, vocabulary, added, settings.words) for _ in range(FILES)]
    files = [write_input(scratch, f"{index:03}", value) for index, value in enumerate(inputs)]
    arguments, second = settings.arguments(), []
    if settings.pair:
        second = [random_input(rng, vocabulary, added, settings.words)]
        arguments += ["--pair", write_input(scratch, "pair", second[0])]
    what = f"{kind}, {settings}"
    try:
        result = common.run_command(options.binary, "tokenize", "--model", scratch / "model", *files, *arguments,
                                    allowed=(0, 2, 3))
        records = common.json_lines(result.stdout)
    except (common.CommandFailed, json.JSONDecodeError, UnicodeDecodeError) as failure:
        report.add(seed, what, [str(failure)])
        return
    notices = result.stderr.decode("utf-8", "replace").strip()[:300]
    for path, value in zip(files, inputs):
        want = expected_windows(tokenizer, settings, [value, *second], tokens)
        got = [record for record in records if record["file"] == str(path)]
        wrong = difference(got, want)
        if wrong:
            wrong += f"; sides {ascii([value, *second])[:400]}; notices: {notices}"
        report.add(seed, f"{what}, {path.name}", [wrong] if wrong else [])
        path.unlink()


def compare_decoding(options, report: common.Report, seed: int, rng: np.random.Generator, scratch: Path, kind: str,
                     tokenizer: Tokenizer) -> None:
    """Random ids, among them special ones and some that no token has; and the ids of texts."""
    tokenizer.no_truncation()
    size, vocabulary = tokenizer.get_vocab_size(), list(tokenizer.get_vocab())[:3000]
    lists = [[int(i) for i in rng.integers(0, size + 2, int(rng.integers(1, 20)))] for _ in range(ID_LINES // 2)]
    lists += [[int(i) for i in rng.integers(0, min(size, 300), int(rng.integers(1, 9)))] for _ in range(ID_LINES // 4)]
    lists += [tokenizer.encode(random_text.random_text(rng, vocabulary, added_words(tokenizer) or ["<s>"])).ids or [0]
              for _ in range(ID_LINES // 4)]
    forms = [lambda ids: " ".join(map(str, ids)), lambda ids: ", ".join(map(str, ids)), json.dumps,
             lambda ids: json.dumps({"input_ids": ids})]
    path = scratch / "ids.txt"
    path.write_text("".join(forms[int(rng.integers(4))](ids) + "\n" for ids in lists))
    for skip in (True, False):
        what = f"{kind}, decode, special tokens {'left out' if skip else 'kept'}"
        try:
            result = common.run_command(options.binary, "tokenize", "--model", scratch / "model", "--decode", path,
                                        "--json", "--skip-special-tokens", str(skip).lower())
            got = [line["text"] for line in common.json_lines(result.stdout)]
        except (common.CommandFailed, json.JSONDecodeError, UnicodeDecodeError) as failure:
            report.add(seed, what, [str(failure)])
            continue
        want = [tokenizer.decode(ids, skip_special_tokens=skip) for ids in lists]
        wrong = [f"ids {ids}: got {ascii(a)}, want {ascii(b)}" for ids, a, b in zip(lists, got, want) if a != b]
        if len(got) != len(want):
            wrong.append(f"{len(got)} lines, want {len(want)}")
        report.add(seed, what, wrong)


def main() -> int:
    options = common.parser(__doc__.splitlines()[0], cases=20).parse_args()
    report = common.Report("tokenizer settings", options)
    corpus = random_text.system_text(150_000)
    for seed in range(options.seed, options.seed + options.cases):
        rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
        with common.Scratch(options, f"settings_{seed}") as scratch:
            tokenizer, failed = MAKERS[kind](corpus, rng), report.failed
            (scratch.path / "model").mkdir()
            tokenizer.save(str(scratch.path / "model" / "tokenizer.json"))
            for _ in range(3):
                compare_settings(options, report, seed, rng, scratch.path, kind, tokenizer)
            compare_decoding(options, report, seed, rng, scratch.path, kind, tokenizer)
            scratch.failed = report.failed > failed
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
