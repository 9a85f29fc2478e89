#!/usr/bin/env python3
"""Writes tests/data/text/*.jsonl: what the reference tokenizer gives for small vocabularies made here.

Run in an environment that has tokenizers 0.22.2 and transformers 4.57.6:

    python tools/tokenizer_goldens.py [DIRECTORY]

A line {"name", "files"} defines a tokenizer by the contents of its files. A line {"use", "a", ...} is a case:
text "a" and perhaps "b", "special" (add_special_tokens), and the expected ids, types, sequence (-1: added by the
template) and offsets as bytes, code points and UTF-16 units. A line {"use", "decode", ...} is a decoding case.
"""
import json
import pathlib
import random
import sys
import tempfile

import tokenizers
import transformers
from tokenizers import Tokenizer

LIMIT = 64 * 1024
WORDS = """the and of to in is that for it un aff able naive cafe hello world long former token ize attention
new york foo bar straße istanbul i̇stanbul don t can n ' . , ! ? - # ## ##s ##able ##ing ##er ##ize ##former ##a̧
résumé ύδωρ привет ελλας σιγμας 中 文 字 𫠠 カタカナ ##カ 한국 ᄒ ##ᅡ ##ᆫ 1 2 2024 ##24 $ + © ##© ™ 😀 ##😀 """.split()


def small_vocabulary():
    tokens = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS
    tokens += [chr(c) for c in range(ord("a"), ord("z") + 1)]
    tokens += ["##" + chr(c) for c in range(ord("a"), ord("z") + 1)]
    tokens += [chr(c) for c in range(ord("A"), ord("K"))]
    tokens += [p + c for c in "éüñßøÉİ\u0301\u0307\u0323\u0345ςσ\u00ad\u200d\ufe0f" for p in ("", "##")]
    return list(dict.fromkeys(tokens))


def bert_json(vocabulary, **changes):
    ids = {token: i for i, token in enumerate(vocabulary)}
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    cls, sep = ({"SpecialToken": {"id": t, "type_id": 0}} for t in ("[CLS]", "[SEP]"))
    last = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
    first, second = ({"Sequence": {"id": s, "type_id": i}} for i, s in enumerate("AB"))
    result = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [dict(id=ids[t], content=t, **flags)
                         for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing", "single": [cls, first, sep], "pair": [cls, first, sep, second, last],
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": ids},
    }
    result.update(changes)
    return result


TRAPS = [
    "", " ", "\t\n", "hello world", "Hello, World!", "the unaffable tokenizer", "don't can't",
    "[MASK] [mask] x[SEP]y", "[CLS][SEP][PAD][UNK]", "[MASK", "naïve café résumé", "NAÏVE CAFÉ",
    "cafe\u0301 cafe\u0323\u0301 cafe\u0301\u0323", "\u0301\u0323abc", "e\u0301", "\u1e69 \u1e9b\u0323 \u212b \u0344",
    "a" * 99, "a" * 100, "a" * 101, "é" * 100, "é" * 101, "e\u0301" * 100, "a" * 100 + " " + "b" * 101 + "c",
    "İstanbul İ i̇", "ΣΊΓΜΑΣ ΕΛΛΑΣ ὝΔΩΡ", "STRASSE straße ẞ ﬁ Ǆ", "Привет", "中文字", "a中b文", "カタカナ ひらがな",
    "𫠠 𫤠 \U0002b81f\U0002b820\U0002b91f\U0002b920", "豈\U0002f800", "한국 한국어 하다", "2024 $2+2=4 <a> ^`|~",
    "© ™ x©y 😀 a😀b 👩\u200d💻 ❤\ufe0f", "a\u00adb a\u200db a\u200eb", "a\x00b\x01c\x7fd", "a\ufffdb", "a\u0378b\u2065c",
    "a\ue000b \U000f0000", "a\x0bb\x0cc\x1cd\x85e", "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u1680g", "a\ufeffb",
    "the\r\nand\rof", "a·b…c—d“e”f„g‚h¿i¡j§k¶", "\u0e01\u0e33\u0e38", "\u0f73\u0f71\u0f72", "##ing #", "hello\u0301",
    "zzz qqq1", "new york", "x\U000e0001y", "\U00011a97 \U0001e94a", "q\U00010d24\u0334",
]


def random_text(rng):
    ranges = [(0x20, 0x7F)] * 5 + [(0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x780), (0xAC00, 0xAE00),
                                   (0x4E00, 0x5000), (0x1E00, 0x2100), (0x1F300, 0x1F600), (0, 0x20), (0x2B700, 0x2B940)]
    picked = rng.sample(ranges, rng.randrange(1, 4))
    return "".join(chr(rng.randrange(*rng.choice(picked))) for _ in range(rng.randrange(1, 24)))


def utf16(text):
    return len(text.encode("utf-16-le")) // 2


def case(name, tokenizer, a, b=None, special=True):
    encoding = tokenizer.encode(a, b, add_special_tokens=special)
    line = {"use": name, "a": a, "ids": encoding.ids, "types": encoding.type_ids}
    sequence = [-1 if s is None else s for s in encoding.sequence_ids]
    texts = [(a, b)[max(s, 0)] for s in sequence]
    for key, measure in (("bytes", lambda t: len(t.encode())), ("chars", len), ("utf16", utf16)):
        offsets = [[measure(t[:i]) for i in span] for t, span in zip(texts, encoding.offsets)]
        if key == "bytes" or offsets != line["bytes"]:
            line[key] = offsets
    if b is not None:
        line["b"] = b
        line["sequence"] = sequence
    if not special:
        line["special"] = False
    return line


def decode_case(name, tokenizer, ids):
    return {"use": name, "decode": ids, "text": tokenizer.decode(ids),
            "text_all": tokenizer.decode(ids, skip_special_tokens=False)}


def write(path, lines):
    text = "".join(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n" for line in lines)
    assert len(text) <= LIMIT, (path.name, len(text))
    path.write_text(text, encoding="ascii")


def define(name, config):
    return {"name": name, "files": {"tokenizer_json": json.dumps(config)}}, Tokenizer.from_str(json.dumps(config))


def make_uncased(rng):
    line, tokenizer = define("uncased", bert_json(small_vocabulary()))
    lines = [line] + [case("uncased", tokenizer, text) for text in TRAPS]
    lines += [case("uncased", tokenizer, random_text(rng)) for _ in range(90)]
    for a, b in [("hello", "world"), ("", ""), ("hello", ""), ("", "world"), ("café [SEP] x", "中文")]:
        lines += [case("uncased", tokenizer, a, b), case("uncased", tokenizer, a, b, special=False)]
    lines.append(case("uncased", tokenizer, "hello world", special=False))
    return lines


def make_normalizers(rng):
    lines = []
    bert = "BertNormalizer"
    variants = [
        dict(type=bert, clean_text=c, handle_chinese_chars=h, strip_accents=s, lowercase=low)
        for c, h, s, low in [(True, True, None, False), (True, True, False, True), (True, True, True, False),
                             (False, True, None, True), (True, False, None, True), (False, False, False, False)]]
    variants += [None, {"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "NFD"},
                 {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]}]
    vocabulary = [t for t in small_vocabulary() if t[0] == "[" or len(t) == 1 or len(t) == 3 and t[:2] == "##"]
    for i, normalizer in enumerate(variants):
        name = f"normalizer{i}"
        changes = {"normalizer": normalizer}
        if i in (7, 9):
            changes["pre_tokenizer"] = None
        if i in (5, 8):
            changes["post_processor"] = None
        line, tokenizer = define(name, bert_json(vocabulary, **changes))
        lines.append(line)
        lines += [case(name, tokenizer, text) for text in rng.sample(TRAPS, 7) if len(text) < 90]
        lines += [case(name, tokenizer, random_text(rng)) for _ in range(4)]
        if i in (2, 5):
            lines.append(case(name, tokenizer, "hello é", "world"))
    return lines


def make_added(rng):
    vocabulary = small_vocabulary()[:110]
    contents = ["<t>", "New York", "the", "É", " lead", "tail ", "中", "ab", "abc", "<t><t>", "A", "a", "world"]
    lines = []
    for i in range(9):
        config = bert_json(vocabulary)
        for k, content in enumerate(rng.sample(contents, 6)):
            config["added_tokens"].append(dict(
                id=len(vocabulary) + k, content=content, single_word=rng.random() < 0.4, lstrip=rng.random() < 0.4,
                rstrip=rng.random() < 0.4, normalized=rng.random() < 0.5, special=rng.random() < 0.3))
        if i % 3 == 1:
            config["normalizer"]["lowercase"] = False
        if i % 3 == 2:
            config["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 4], "cls": ["[CLS]", 3]}
        used = [t["content"] for t in config["added_tokens"]]
        name = f"added{i}"
        line, tokenizer = define(name, config)
        lines.append(line)
        for _ in range(11):
            text = "".join(rng.choice(used + ["x", " ", "  ", "\u00a0", "é", "THE", "_", "-", "new york", "\u0301"])
                           for _ in range(rng.randrange(1, 9)))
            lines.append(case(name, tokenizer, text))
        lines.append(decode_case(name, tokenizer, [3] + list(range(len(vocabulary) - 3, len(vocabulary) + 6)) + [4]))
    return lines


def make_decode(rng):
    lines = []
    vocabulary = small_vocabulary()
    vocabulary += ["n't", "'m", "do", "not", "'s", "'ve", "'re", "a .", "x ' y", "b do not", "##.", "## .", ""]
    for i, decoder in enumerate([{"type": "WordPiece", "prefix": "##", "cleanup": True},
                                 {"type": "WordPiece", "prefix": "#", "cleanup": False}, None]):
        name = f"decoder{i}"
        line, tokenizer = define(name, bert_json(vocabulary, decoder=decoder))
        lines.append(line)
        lines.append(decode_case(name, tokenizer, []))
        size = len(vocabulary)
        for _ in range(20):
            ids = [rng.choice([rng.randrange(size), rng.randrange(size - 16, size), size + 5]) for _ in range(12)]
            lines.append(decode_case(name, tokenizer, ids))
    return lines


def make_directories(rng):
    """vocab.txt with the files beside it, as the model library's fast class reads them."""
    words = small_vocabulary()[:110]
    text = "\n".join(words) + "\n"
    flags = dict(lstrip=True, rstrip=False, normalized=False, single_word=False)
    directories = [
        {"vocab_txt": text},
        {"vocab_txt": text.replace("\n", "\r\n"), "tokenizer_config": json.dumps(
            {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False})},
        {"vocab_txt": text, "tokenizer_config": json.dumps({"do_basic_tokenize": False})},
        {"vocab_txt": text.rstrip("\n") + "\nhello\nthe", "tokenizer_config": json.dumps(
            {"tokenizer_class": "BertTokenizer", "model_max_length": 1e30})},
        {"vocab_txt": text, "special_tokens_map": json.dumps(
            {"mask_token": dict(content="[MASK]", **flags), "cls_token": "<cls>",
             "additional_special_tokens": ["<x>", "<y>"]}),
         "added_tokens": json.dumps({"<x>": len(words) + 1, "<cls>": len(words), "Word": len(words) + 2})},
        {"vocab_txt": text, "tokenizer_config": json.dumps({"added_tokens_decoder": {
            "5": dict(content="[MASK]", special=True, **flags),
            str(len(words)): dict(content="<n>", special=False, **dict(flags, normalized=True))},
            "mask_token": "[MASK]"})},
    ]
    names = {"vocab_txt": "vocab.txt", "tokenizer_config": "tokenizer_config.json",
             "special_tokens_map": "special_tokens_map.json", "added_tokens": "added_tokens.json"}
    lines = []
    for i, files in enumerate(directories):
        with tempfile.TemporaryDirectory() as folder:
            for key, content in files.items():
                (pathlib.Path(folder) / names[key]).write_bytes(content.encode())
            tokenizer = transformers.BertTokenizerFast.from_pretrained(folder).backend_tokenizer
        name = f"directory{i}"
        lines.append({"name": name, "files": files})
        for sample in ["Hello the Café 中文", "x [MASK] y", "hello <x> <cls> Word word <n> <N>", "the\x00 a\u00a0b", "naïve"]:
            lines.append(case(name, tokenizer, sample))
        lines.append(case(name, tokenizer, random_text(rng), "world"))
        lines.append(decode_case(name, tokenizer, list(range(0, len(words) + 4, 7))))
    return lines


def main():
    if tokenizers.__version__ != "0.22.2":
        sys.exit(f"needs tokenizers 0.22.2, found {tokenizers.__version__}")
    default = pathlib.Path(__file__).resolve().parent.parent / "tests/data/text"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in [("uncased", make_uncased), ("normalizers", make_normalizers), ("added_tokens", make_added),
                       ("decode", make_decode), ("directories", make_directories)]:
        write(folder / f"{name}.jsonl", make(random.Random(name)))


if __name__ == "__main__":
    main()
