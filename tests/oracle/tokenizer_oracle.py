#!/usr/bin/env python3
"""`longformer tokenize --json` beside the fast reference tokenizer: ids, tokens and code-point offsets.

Each case is one kind of tokenizer and 500 random strings; then every code point, the manual pages of the machine,
and both with the tokenizer of the default model where it is made.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import common
import random_text

STRINGS = 500
ADDED = ["[MASK]", "[SEP]", "[PAD]", "<doc>", "New York", "abc"]
CONFIG = {"model_type": "bert", "architectures": ["BertModel"]}

# Options of the BERT normaliser, and whether odd added tokens come with it.
KINDS = {
    "uncased": (dict(lowercase=True, strip_accents=None), False),
    "cased": (dict(lowercase=False, strip_accents=None), False),
    "uncased, added tokens": (dict(lowercase=True, strip_accents=None), True),
    "lowercase, accents kept": (dict(lowercase=True, strip_accents=False), False),
    "cased, accents stripped, no ideograph rule, unclean": (
        dict(lowercase=False, strip_accents=True, handle_chinese_chars=False, clean_text=False), True),
    "vocab.txt": (dict(lowercase=True, strip_accents=None), False),
}


def make_tokenizer(folder: Path, kind: str, vocabulary: list[str]) -> Tokenizer:
    """Writes the tokenizer files of one kind and returns the reference for them."""
    settings, added = KINDS[kind]
    ids = {piece: index for index, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(**{"clean_text": True, "handle_chinese_chars": True, **settings})
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])])
    tokenizer.add_special_tokens(random_text.SPECIALS)
    if added:
        tokenizer.add_special_tokens([AddedToken("<doc>", lstrip=True, normalized=False)])
        tokenizer.add_tokens([AddedToken("New York", single_word=True, normalized=True),
                              AddedToken("abc", rstrip=True, normalized=False)])
    (folder / "config.json").write_text(json.dumps({**CONFIG, "vocab_size": tokenizer.get_vocab_size()}))
    if kind == "vocab.txt":
        (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in vocabulary), "utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512}))
    else:
        # What published files carry and `tokenize` must not obey.
        tokenizer.enable_truncation(16)
        tokenizer.enable_padding(length=16)
        tokenizer.save(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
    return tokenizer


def run_tokenize(binary: str, model: Path, files: list[Path]) -> tuple[dict[str, dict], str]:
    """One call; the lines by file, and the notices of the command."""
    result = common.run_command(binary, "tokenize", "--model", model, *files, "--json", allowed=(0, 3))
    lines = common.json_lines(result.stdout)
    return {line["file"]: line for line in lines}, result.stderr.decode("utf-8", "replace").strip()


def difference(got: dict, want, tokens: dict[int, str], text: str) -> str | None:
    """The first token where two encodings part, with the text around it.

    `tokens` are those of the vocabulary: the reference's own list shows added tokens as the text spells them.
    """
    fields = [list(got["input_ids"]), list(got["tokens"]), [tuple(pair) for pair in got["offsets"]]]
    wanted = [want.ids, [tokens[i] for i in want.ids], [tuple(pair) for pair in want.offsets]]
    if fields == wanted:
        return None
    mine, theirs = list(zip(*fields)), list(zip(*wanted))
    at = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    place = theirs[at] if at < len(theirs) else None
    around = ascii(text[max(0, place[2][0] - 12):place[2][1] + 12]) if place else "the end"
    return (f"token {at}: got {ascii(mine[at]) if at < len(mine) else None}, want {ascii(place)} near {around} "
            f"({len(mine)} and {len(theirs)} tokens)")


def compare_texts(options, report: common.Report, seed: int, kind: str, model: Path, tokenizer: Tokenizer,
                  texts: dict[Path, str]) -> None:
    """Tokenizes files in batches and compares each with its text; counts every text as a case."""
    files = list(texts)
    tokens = {index: token for token, index in tokenizer.get_vocab().items()}
    for start in range(0, len(files), 1000):
        batch = files[start:start + 1000]
        try:
            lines, notices = run_tokenize(options.binary, model, batch)
        except (common.CommandFailed, json.JSONDecodeError, UnicodeDecodeError) as failure:
            report.add(seed, f"{kind}, {len(batch)} files", [str(failure)])
            continue
        for file, want in zip(batch, tokenizer.encode_batch([texts[file] for file in batch])):
            line = lines.get(str(file))
            wrong = difference(line, want, tokens, texts[file]) if line else f"no line; notices: {notices[:200]}"
            report.add(seed, f"{kind}, {file.name}", [wrong] if wrong else [])


def write_texts(folder: Path, texts: list[str]) -> dict[Path, str]:
    """One file a text. Equal texts would count once, so they are left out here."""
    folder.mkdir()
    files = {folder / f"{index:05}.txt": text for index, text in enumerate(dict.fromkeys(texts))}
    for path, text in files.items():
        path.write_bytes(text.encode("utf-8"))
    return files


def every_code_point() -> list[str]:
    """Each code point between letters, in lines of 256; control characters thinned out by more letters."""
    points = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    texts = ["".join(f"wordy{chr(c)}letters " for c in points[:160])]
    for start in range(160, len(points), 4096):
        texts.append("\n".join("".join(f"a{chr(c)}b " for c in points[i:i + 256])
                               for i in range(start, min(start + 4096, len(points)), 256)))
    return texts


def manual_pages(count: int) -> dict[Path, str]:
    """Compressed manual pages that are UTF-8 text, spread over the alphabet, each content once."""
    folder = Path("/usr/share/man/man1")
    pages = sorted(path for path in folder.glob("*.gz") if path.is_file() and not path.is_symlink())
    texts: dict[str, Path] = {}
    for path in pages[::max(1, len(pages) // max(1, count))][:count]:
        try:
            text = gzip.decompress(path.read_bytes()).decode("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        if text.strip() and "\0" not in text:
            texts.setdefault(text, path)
    return {path: text for text, path in texts.items()}


def main() -> int:
    options = common.parser(__doc__.splitlines()[0], cases=20)
    options.add_argument("--default-model", type=Path, default=common.default_model(),
                         help="a model directory with tokenizer.json; default: the default model where it is made")
    options = options.parse_args()
    report = common.Report("tokenizer", options)
    vocabulary = random_text.build_vocabulary(random_text.system_text(), 6000)
    for seed in range(options.seed, options.seed + options.cases):
        rng, kind = np.random.default_rng(seed), list(KINDS)[seed % len(KINDS)]
        with common.Scratch(options, f"tokenizer_{seed}") as scratch:
            tokenizer = make_tokenizer(scratch.path, kind, vocabulary)
            texts = [random_text.random_text(rng, vocabulary, ADDED) for _ in range(STRINGS)]
            failed = report.failed
            compare_texts(options, report, seed, kind, scratch.path, tokenizer,
                          write_texts(scratch.path / "texts", texts))
            scratch.failed = report.failed > failed
    with common.Scratch(options, "tokenizer_all") as scratch:
        sweep, pages = write_texts(scratch.path / "texts", every_code_point()), manual_pages(25 * options.cases)
        for kind in ("uncased", "cased"):
            model = scratch.path / kind
            model.mkdir()
            tokenizer = make_tokenizer(model, kind, vocabulary)
            compare_texts(options, report, options.seed, f"every code point, {kind}", model, tokenizer, sweep)
            compare_texts(options, report, options.seed, f"manual pages, {kind}", model, tokenizer, pages)
        if options.default_model:
            tokenizer = Tokenizer.from_file(str(options.default_model / "tokenizer.json"))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            for what, texts in (("every code point", sweep), ("manual pages", pages)):
                compare_texts(options, report, options.seed, f"{what}, default model", options.default_model,
                              tokenizer, texts)
    model = "with" if options.default_model else "without"
    return report.finish(f" ({len(pages)} manual pages, {model} the default model)")


if __name__ == "__main__":
    sys.exit(main())
