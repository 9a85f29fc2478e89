#!/usr/bin/env python3
"""Writes tests/data/text/normalizer_steps.jsonl, regex.jsonl and sentencepiece.jsonl: what the reference gives.

Run in an environment that has tokenizers 0.22.2, transformers 4.57.6 and sentencepiece 0.2.3:

    python tools/normalizer_goldens.py [DIRECTORY]

normalizer_steps: {"normalizer"} defines one, {"text", "result", "places"} are its cases; places are the code points
[begin, end] of the text that each character of the result stands for. regex: {"pattern", "text", "marked"}, the text
with U+E000 in place of each match. sentencepiece: {"name", "class", "model" (base64)} defines a directory, {"text", "ids", "offsets"} its cases.
"""
import base64
import io
import json
import pathlib
import random
import sys
import tempfile

import sentencepiece
import tokenizers
import transformers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

LIMIT = 64 * 1024
# A character map in small: as nmt_nfkc's, with shortest entries of clusters, removals and expansions.
RULES = {"e\u0301": "\u00e9", "\ufb01": "fi", "\uff41": "a", "\r": " ", "\r\n": " ", "\n": " ",
         "\x01": "", "\u00ad": "", "\ufdfa": "\u0635\u0644\u0649 abc", "\u304b\u3099": "\u304c", "\u3099": "x",
         "\u2160": "I", "\u2167": "VIII", "a\u0301\u0323": "A", "\u0301": "'", "\u3000": " ", "\u1100\u1161": "\uac00"}
TEXTS = ["", "plain words  with   spaces ", "\u00c9t\u00e9 e\u0301te\u0301 a\u0301\u0323b a\u0301b", "\ufb01nd \uff41\r\nb\n\r",
         "\x01ab\x01c\u00ad", "\ufdfax", "\u304b\u3099\u3099\u304b", "\u2167\u2160 \u1100\u1161\u11a8", "\u1e9b\u0323\u0344",
         "<\u0338 =\u0338", "\u0f73\u0f71\u0f72", "\u1e0b\u0323 q\u0307\u0323", "\uac00\u11a8\u11a8", "\u212b\u2126\u00b5",
         "\u0915\u094d\u0937 \U0001f468\u200d\U0001f469 \u00a9\u200d\u00a9", "\t a\u00a0b\u2003\u3000 ", "\u200b\ufeffx\u2581y",
         "\u0130I\u1e9e\u03a3", "don't ``quote'' 12\u00bd\u0663", "\u4e2d\u6587 \U0001d15e", "\u0301\u0323start",
         "\u0600\u0661a \u0e33\u0e01", "\U00011131\U00011127 \U000105d2\u0307"]
PATTERNS = [" {2,}", r"\s+", r"\w+|[^\w\s]+", r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+",
            "(?=[A-Z])", "x*", "^", "$", "(?m).", r"\h{2}+", "a{,2}", r"[[:punct:]a-c[xyz]]", r"(?i:'s|\u00e9)", r"\p{Alpha}+",
            r"[\s\h]", r"\u4e2d", "(?<!a)b", r"\S{2}"]
PATTERN_TEXTS = ["axxb aab 'S 12fe", "helloWorldFoo\nx\n", "\u00c9t\u00e9's \u4e2d\u6587  123456 +-=\t\r\n", "a\u0301\u00b2\u200d_\u3000\u2028",
                 "\u1c89\u1c8a\U0002ebf0\U00016d40 \U0001ccd6"]


def charsmap():
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        for source, target in RULES.items():
            file.write(" ".join(f"{ord(c):x}" for c in source) + "\t" + " ".join(f"{ord(c):x}" for c in target) + "\n")
        file.flush()
        proto = sentencepiece_model_pb2.ModelProto.FromString(train(normalization_rule_tsv=file.name))
    return proto.normalizer_spec.precompiled_charsmap


def train(**settings):
    model = io.BytesIO()
    words = ["the", "of", "and", "hello", "world", "long", "former", "token", "ize", "caf\u00e9", "find", "20,5"]
    rng = random.Random(0)
    lines = [" ".join(rng.choice(words) + rng.choice(["", "s", "ed", rng.choice(words)]) for _ in range(9)) for _ in range(80)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=90, hard_vocab_limit=False, minloglevel=2,
        num_threads=1, **settings)
    return model.getvalue()


def by_character(normalizer, text):
    """The places of all characters: offsets of a tokenizer that makes each its own word."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("(?m)."), "isolated")
    return [list(span) for span in tokenizer.encode(text).offsets]


def as_json(normalizer):
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = normalizer
    return json.loads(tokenizer.to_str())["normalizer"]


def normalizer_lines():
    n = normalizers
    small = n.Precompiled(charsmap())
    cases = [n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Nmt(), n.ByteLevel(), n.Lowercase(), n.StripAccents(), n.BertNormalizer(),
             n.Strip(True, False), n.Strip(False, True), n.Prepend("\u2581x"), n.Replace("a", "\u00e9b"), n.Replace("", "_"),
             n.Replace(Regex(" {2,}"), "\u2581"), n.Replace(Regex("(?=[a-e])"), "_"), n.Replace(Regex(r"\p{L}"), ""), small,
             n.Sequence([small, n.Strip(False, True), n.Replace(Regex(" {2,}"), "\u2581")]),
             n.Sequence([n.Replace("``", '"'), n.NFKD(), n.StripAccents(), n.Lowercase(), small, n.Replace(Regex(" {2,}"), " ")]),
             n.Sequence([n.NFD(), n.NFC(), n.Prepend("_"), n.ByteLevel()])]
    lines = []
    for case in cases:
        lines.append({"normalizer": as_json(case)})
        for text in TEXTS:
            result = case.normalize_str(text)
            if result != text:
                lines.append({"text": text, "result": result, "places": by_character(case, text)})
    return lines


def regex_lines():
    lines = []
    for pattern in PATTERNS:
        for text in PATTERN_TEXTS:
            marked = normalizers.Replace(Regex(pattern), "\ue000").normalize_str(text)
            lines.append({"pattern": pattern, "text": text, "marked": marked})
    return lines


def sentencepiece_lines():
    classes = [("XLMRobertaTokenizer", "unigram", {}), ("XLMRobertaTokenizer", "bpe", {}),
               ("BigBirdTokenizer", "zero", dict(user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"], pad_id=3)),
               ("PegasusTokenizer", "unigram", dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)),
               ("AlbertTokenizer", "unigram", dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1,
                                                   control_symbols=["[CLS]", "[SEP]", "[MASK]"]))]
    texts = ["", "Hello  worlds of tokenizers ", "the\tlong former\n\u65e5\u672c", "caf\u00e9 cafe\u0301 20,5 ``x''",
             "a<mask>b [MASK] c</s>d <unk>", "\ufb01nd\u2581it \U0001f600\U0001f600 ok"]
    lines = []
    for name, kind, settings in classes:
        model = train(model_type="bpe" if kind == "bpe" else "unigram", normalization_rule_name="identity", **settings)
        if kind == "zero":
            proto = sentencepiece_model_pb2.ModelProto.FromString(model)
            for piece in proto.pieces:
                piece.score = 0.0
            model = proto.SerializeToString()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            for file in ("spiece.model", "sentencepiece.bpe.model"):
                (path / file).write_bytes(model)
            tokenizer = getattr(transformers, name + "Fast").from_pretrained(folder).backend_tokenizer
        lines.append({"class": name, "kind": kind, "model": base64.b64encode(model).decode()})
        for text in texts:
            encoding = tokenizer.encode(text)
            lines.append({"text": text, "ids": encoding.ids, "offsets": [list(span) for span in encoding.offsets],
                          "decoded": tokenizer.decode(encoding.ids)})
    return lines


def write(path, lines):
    text = "".join(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n" for line in lines)
    assert len(text) <= LIMIT, (path.name, len(text))
    path.write_text(text, encoding="ascii")


def main():
    if tokenizers.__version__ != "0.22.2":
        sys.exit(f"needs tokenizers 0.22.2, found {tokenizers.__version__}")
    default = pathlib.Path(__file__).resolve().parent.parent / "tests/data/text"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    write(folder / "normalizer_steps.jsonl", normalizer_lines())
    write(folder / "regex.jsonl", regex_lines())
    write(folder / "sentencepiece.jsonl", sentencepiece_lines())


if __name__ == "__main__":
    main()
