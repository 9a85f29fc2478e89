#!/usr/bin/env python3
"""Writes tests/data/text/{bpe,bpe_options,pretokenizers,bpe_directories}.jsonl, in the form of tokenizer_goldens.py.

Run in an environment that has tokenizers 0.22.2 and transformers 4.57.6:

    python tools/bpe_goldens.py [DIRECTORY]

Beyond that form, "a" and "b" may be lists of words, and "words" says which word each token belongs to.
"""
import json
import pathlib
import random
import sys
import tempfile

import tokenizers
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tokenizer_goldens import decode_case, random_text, utf16, write

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
CORPUS = ["the long documents of the world are longer than the window", "hello world, it's been a long time", "don't we'll I'm",
          "naïve café 中文 中文 😀", "2024 2,048 tokens", "   indented\n\n\tcode { return x; }", "unaffable tokenizer tokenization"] * 4
BYTE_TRAPS = [
    "", " ", "  ", "\n", "hello world", " hello", "Hello   world", "a <mask> b", "a<mask>b", "the  <mask>\n<mask>x", "<s></s><pad><unk>",
    "don't DON'T we'll a'sb 'tis \u2019s", "'s", "x \n\n  y", "x\t\ty \r\n z", "a\u00a0b \u00a0c", "e\u0301 é", "Ⅷ ² ½ 12 1a",
    "😀 😀😀 👩\u200d💻", "中文字 中 文", "\u2028x\u2029 y\u3000z", "a\x1cb\u200bc", "x ", "x  ", "tail\n", "\x00\x01\x7f\x80", "\ud7ff\ue000\U0010ffff",
]


def define(name, config):
    text = json.dumps(config, ensure_ascii=False, separators=(",", ":"))
    return {"name": name, "files": {"tokenizer_json": text}}, Tokenizer.from_str(text)


def case(name, tokenizer, a, b=None, special=True):
    split = isinstance(a, list)
    encoding = tokenizer.encode(a, b, is_pretokenized=split, add_special_tokens=special)
    sequence = [-1 if s is None else s for s in encoding.sequence_ids]
    words = [-1 if s < 0 else w for w, s in zip(encoding.word_ids, sequence)]
    line = {"use": name, "a": a, "ids": encoding.ids, "types": encoding.type_ids, "words": words}
    texts = [(a, b)[max(s, 0)] for s in sequence]
    if split:
        texts = [text[max(word, 0)] if text else "" for text, word in zip(texts, words)]
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


def added(index, content, **flags):
    return dict(id=index, content=content, **{**dict(single_word=False, lstrip=False, rstrip=False, normalized=False,
                                                     special=False), **flags})


def trained(size=295, **options):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=SPECIALS, show_progress=False))
    return {**json.loads(tokenizer.to_str())["model"], **options}


def document(model, tokens=(), **parts):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens), "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model, **parts}


def byte_level(prefix=False, **changes):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True, **changes}


def roberta(prefix=False, trim=True):
    return {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": trim, "add_prefix_space": prefix}


def make_bpe(rng):
    tokens = [added(i, t, special=True, lstrip=t == "<mask>") for i, t in enumerate(SPECIALS)]
    model = trained()
    pairs = dict(model, merges=[" ".join(pair) for pair in model["merges"]])
    runs = [added(len(model["vocab"]) + i, " " * n, normalized=True) for i, n in enumerate((4, 3, 2))]
    digits = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level()]}
    lines = []
    for name, config in {
        "roberta": document(model, tokens, pre_tokenizer=byte_level(), post_processor=roberta(), decoder=byte_level()),
        "prefix": document(pairs, tokens, pre_tokenizer=byte_level(True), post_processor=roberta(True), decoder=byte_level()),
        "runs": document(model, tokens + runs, pre_tokenizer=byte_level(), normalizer={"type": "NFC"}, decoder=byte_level()),
        "digits": document(dict(model, ignore_merges=True), tokens, pre_tokenizer=digits, post_processor=roberta(trim=False)),
    }.items():
        line, tokenizer = define(name, config)
        lines.append(line)
        lines += [case(name, tokenizer, text) for text in (BYTE_TRAPS if name == "roberta" else rng.sample(BYTE_TRAPS, 12))]
        lines += [case(name, tokenizer, random_text(rng)) for _ in range(4)]
        lines += [case(name, tokenizer, "long world", "hello"), case(name, tokenizer, "x", ""), case(name, tokenizer, "", "x", False),
                  case(name, tokenizer, ["the", "long", "", "don't <mask>"]), case(name, tokenizer, ["a"], [" b", "中文"])]
        lines.append(decode_case(name, tokenizer, list(range(0, len(model["vocab"]) + 3, 5))))
    return lines


def make_options(rng):
    """Characters instead of bytes; the second vocabulary spells few of them."""
    vocabulary = ["<unk>", "a", "b", "c", "##b", "##c", "##a", "a</w>", "b</w>", "c</w>", "##c</w>", "ab", "abc", "bc", "aab", "ab</w>",
                  "\u2581", "\u2581a", "é"] + [f"<0x{i:02X}>" for i in range(256) if i != 0xF0]
    merges = [["a", "b"], ["b", "c"], ["ab", "c"], ["a", "ab"], ["a", "b</w>"], ["\u2581", "a"]]
    prefixed = [["a", "##b"], ["ab", "##c"]]
    texts = ["", "a", "abc", "aab", "abab", "aaab abc", "xabc", "abxxc", "xx", "é😀a", "中", "a b", "ab\u00e9", "\u0000a", "cabcabcab" * 12]
    lines = []
    for i in range(20):
        options = dict(unk_token=rng.choice(["<unk>", "<unk>", None]), fuse_unk=rng.random() < 0.5, ignore_merges=rng.random() < 0.3,
                       continuing_subword_prefix=rng.choice([None, None, "##"]), end_of_word_suffix=rng.choice([None, None, "</w>"]))
        # With a prefix or suffix, the reference's spans of fallback bytes lie outside the text.
        plain = not options["continuing_subword_prefix"] and not options["end_of_word_suffix"]
        fallback = plain and rng.random() < 0.6
        model = {"type": "BPE", "dropout": None, **options, "byte_fallback": fallback,
                 "vocab": {token: k for k, token in enumerate(vocabulary if fallback else vocabulary[:19])},
                 "merges": prefixed if options["continuing_subword_prefix"] else merges}
        pre_tokenizer = rng.choice([None, {"type": "Whitespace"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}])
        name = f"options{i}"
        line, tokenizer = define(name, document(model, pre_tokenizer=pre_tokenizer))
        lines.append(line)
        lines += [case(name, tokenizer, text) for text in rng.sample(texts, 6)]
    return lines


def make_pretokenizers(rng):
    """Every word is unknown: spans and word numbers show the cuts."""
    behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
    gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    later = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    steps = [{"type": "BertPreTokenizer"}, {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "CharDelimiterSplit", "delimiter": "é"},
             {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False},
             {"type": "FixedLength", "length": 3}, byte_level(), byte_level(True, use_regex=False)]
    steps += [{"type": "Punctuation", "behavior": behavior} for behavior in behaviors]
    steps += [{"type": "Split", "pattern": {"String": "  " if i % 2 else "-"}, "behavior": behavior, "invert": False}
              for i, behavior in enumerate(behaviors)]
    steps += [{"type": "Split", "pattern": {"Regex": r"\d+"}, "behavior": behavior, "invert": invert}
              for behavior in behaviors for invert in (False, True)]
    steps += [{"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": behavior == "Removed"}
              for pattern in (gpt2, later) for behavior in ("Isolated", "Removed", "MergedWithNext")]
    steps += [{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": split}
              for scheme in ("always", "first", "never") for split in (True, False)]
    steps += [{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581"}]},
              {"type": "Sequence", "pretokenizers": [byte_level(), {"type": "Digits", "individual_digits": True}]},
              {"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}, {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"}]}]
    texts = ["", " ", "the-final--countdown", "-a-", "Hey friend!  How are you?!?", "a12 ½Ⅷ²3", "caféé é", "  two  spaces   end  ",
             "don't (stop): $5+2", "_x \u2581y\u2581", "\u00a0a\u2028b\u3000", "中文123字!?", "x <t> y<t> z", "a\u200d_b c\u0301"]
    model = {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}
    lines = []
    for i, step in enumerate(steps):
        name = f"pretokenizer{i}"
        line, tokenizer = define(name, document(model, [added(1, "<t>")], pre_tokenizer=step))
        lines.append(line)
        lines += [case(name, tokenizer, text) for text in rng.sample(texts, 6)]
    return lines


def make_trimming(rng):
    """Spans trimmed by the text that a token was found in, which need not be how the vocabulary spells it."""
    words = {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1, " ": 2}, "unk_token": "<unk>"}
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], [" ", -3.0]], "byte_fallback": False}
    spaced = {"type": "Replace", "pattern": {"String": "_"}, "content": " "}
    texts = ["a  <M>  a", "a <m> a", " <unk> ", "_<unk>_", "  a <M>", "a__<M>_ a", "__<M>", "<M>_", "a \u3000x\u3000a", "\u3000x", "x  ",
             "  <R>  a", "a<L>  ", "_<L>__<R>_", " b a", "a b ", "<M><M> <M>", "  ", "a\u2003<R>\u2003é<L>"]
    lines = []
    for i, (model, normalizer) in enumerate([(words, {"type": "Lowercase"}), (words, spaced), (unigram, spaced), (unigram, None),
                                             (words, {"type": "Sequence", "normalizers": [{"type": "Strip", "strip_left": True, "strip_right": True}, spaced]})]):
        for prefix in (False, True):
            tokens = [added(3, "<M>", normalized=True, lstrip=True, rstrip=True), added(4, "<R>", rstrip=True),
                      added(5, "<L>", normalized=True, lstrip=True), added(6, " b", normalized=True), added(7, "_c", normalized=i % 2 == 0)]
            name = f"trimming{i}{prefix}"
            line, tokenizer = define(name, document(model, tokens, normalizer=normalizer, post_processor=byte_level(prefix)))
            lines.append(line)
            lines += [case(name, tokenizer, text) for text in texts]
            lines += [case(name, tokenizer, ["a ", " <M> ", " <unk>", "_c b"]), case(name, tokenizer, " <M>a", "a_c <R> ")]
    return lines


def make_directories(rng):
    """vocab.json and merges.txt with the files beside them, as the model library's fast classes read them."""
    model = trained(300)
    vocabulary = [token for token in model["vocab"] if token not in SPECIALS]
    merges = "#version: 0.2\n" + "".join(" ".join(pair) + "\n" for pair in model["merges"])
    flags = dict(lstrip=False, rstrip=False, normalized=False, single_word=False)
    size = len(vocabulary) + 5
    names = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>", sep_token="</s>", pad_token="<pad>", cls_token="<s>", mask_token="<mask>")
    decoder = {str(i): dict(flags, content=t, special=True, lstrip=t == "<mask>") for i, t in
               ((0, "<s>"), (1, "<pad>"), (2, "</s>"), (3, "<unk>"), (size - 1, "<mask>"))}
    decoder[str(size)] = dict(flags, content="<doc>", special=True, rstrip=True)
    decoder[str(size + 1)] = dict(flags, content="wo rd", special=False, normalized=True, single_word=True)
    configs = [
        ("Roberta", {}), ("LED", {"tokenizer_config": {"tokenizer_class": "LEDTokenizer", "model_max_length": 1e30}}),
        ("Longformer", {"tokenizer_config": {"tokenizer_class": "LongformerTokenizerFast", "add_prefix_space": True, "trim_offsets": False}}),
        ("Roberta", {"special_tokens_map": {"mask_token": dict(flags, content="<mask>", lstrip=True, rstrip=True), "cls_token": "<cls>",
                                            "additional_special_tokens": ["<x>"]}, "added_tokens": {"<x>": size + 1, "Word": size + 2, "<cls>": size}}),
        ("Bart", {"tokenizer_config": {**names, "tokenizer_class": "BartTokenizer", "added_tokens_decoder": decoder}}),
        ("GPT2", {"tokenizer_config": {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True}}),
    ]
    lines = []
    for i, (kind, extra) in enumerate(configs):
        tokens = ["<|endoftext|>"] + vocabulary if kind == "GPT2" else SPECIALS[:4] + vocabulary + SPECIALS[4:]
        files = {"vocab_json": json.dumps({token: k for k, token in enumerate(tokens)}, ensure_ascii=i % 2 == 0), "merges_txt": merges,
                 **{key: json.dumps(value) for key, value in extra.items()}}
        with tempfile.TemporaryDirectory() as folder:
            for key, content in files.items():
                name = {"merges_txt": "merges.txt"}.get(key, key.replace("_json", "") + ".json")
                (pathlib.Path(folder) / name).write_bytes(content.encode())
            tokenizer = getattr(transformers, kind + "TokenizerFast").from_pretrained(folder).backend_tokenizer
        name = f"directory{i}"
        lines.append({"name": name, "files": files})
        for text in ["hello <mask> world<mask>", "x <x> <cls>y Word word <doc>  z", "wo rd <wo rd> swo rd", "<s>a</s><|endoftext|>", " it's  中文 😀 é\n"]:
            lines.append(case(name, tokenizer, text))
        lines += [case(name, tokenizer, random_text(rng), "world"), case(name, tokenizer, ["a", "long", "time"])]
        lines.append(decode_case(name, tokenizer, list(range(0, size, 9))))
    return lines


def main():
    if tokenizers.__version__ != "0.22.2":
        sys.exit(f"needs tokenizers 0.22.2, found {tokenizers.__version__}")
    default = pathlib.Path(__file__).resolve().parent.parent / "tests/data/text"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in [("bpe", make_bpe), ("bpe_options", make_options), ("pretokenizers", make_pretokenizers),
                       ("trimming", make_trimming),
                       ("bpe_directories", make_directories)]:
        write(folder / f"{name}.jsonl", make(random.Random(name)))


if __name__ == "__main__":
    main()
