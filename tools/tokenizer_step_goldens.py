#!/usr/bin/env python3
"""Writes tests/data/text/{decoders,post_processors,truncation}.jsonl: what single steps of the reference tokenizer give.

Run in an environment that has tokenizers 0.22.2:

    python tools/tokenizer_step_goldens.py [DIRECTORY]

decoders: {"decoder", "cases": [[tokens, text]...]}. post_processors: {"tokens"} is the vocabulary by id; then
{"post_processor", "cases"}, where a case has "a" and perhaps "b", each {"text"} or {"words"}, the spans in bytes
"spans" and "ids" of each side before, and after it "ids", "types", "offsets" and "sequence", with special tokens and
without. truncation: [tokens, second tokens or null, special tokens, max_length, stride, strategy, side, windows], a
window being [begin, end] or [begin, end, begin, end]; null where the reference refuses.
"""
import json
import os
import pathlib
import random
import sys

os.environ["RUST_BACKTRACE"] = "0"
import tokenizers
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

LIMIT = 64 * 1024
META = "\u2581"
EMPTY = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
         "pre_tokenizer": None, "post_processor": None, "decoder": None,
         "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def metaspace(scheme="always", replacement=META):
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": True}


def strip(content, start, stop):
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def sequence(*decoders):
    return {"type": "Sequence", "decoders": list(decoders)}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
FALLBACK, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}
DECODERS = [
    None,
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": False},
    {"type": "WordPiece", "prefix": "", "cleanup": True},
    {"type": "WordPiece", "prefix": "\u00e9", "cleanup": True},
    BYTE_LEVEL,
    metaspace(), metaspace("first"), metaspace("never"), metaspace("always", "a"),
    FALLBACK, FUSE, sequence(), sequence(sequence(FUSE), FALLBACK),
    strip(META, 1, 0), strip(" ", 3, 0), strip("\u00e9", 2, 0), strip("a", 0, 0),
    replace(META, " "), replace("a", "\u00e9\u00e9"), replace("", "-"), replace("aa", ""), replace("a.", "x"),
    replace("a+", "<>", "Regex"), replace("\\s+", "_", "Regex"), replace("[^a-z]", "", "Regex"),
    {"type": "BPEDecoder", "suffix": "</w>"}, {"type": "BPEDecoder", "suffix": ""},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "CTC", "pad_token": "a", "word_delimiter_token": " ", "cleanup": False},
    # Those of the Llama family, of T5 and Gemma.
    sequence(replace(META, " "), FALLBACK, FUSE, strip(" ", 1, 0)),
    sequence(FALLBACK, metaspace("never")), sequence(replace(META, " "), FALLBACK, FUSE),
]
TOKENS = ["a", "b", "##a", "##", META, META + "a", META + META + "b", "a" + META, "\u0120", "\u0120a", "\u00c3",
          "\u00a9", "\u00f0\u0141", "\u0138\u0122", "\u0100", "\u4e2d", "\u00e9", "\u0144", "<0x41>", "<0xe4>", "<0xB8>",
          "<0xAD>", "<0xFF>", "<0x+a>", "<0x-1>", "<0x\u00e9>", "<0xGG>", "<0x041>", "", " ", ".", ",", "?", "!", "'",
          "n't", "'s", "'m", "do not", "'ve", "'re", "aa", "aaa", "aab", "baa", "</w>", "a</w>", "</w></w>", "<pad>", "|",
          "a|b", "<s>", "\U0001F600", "a b", "\t\n", "  a", "A.B"]


def decoder_lines(rng):
    for decoder in DECODERS:
        tokenizer = Tokenizer.from_str(json.dumps({**EMPTY, "decoder": decoder}))
        decode = tokenizer.decoder.decode if decoder else " ".join
        cases = [[], ["a"], TOKENS[:22], TOKENS[22:]]
        cases += [rng.choices(TOKENS, k=rng.randint(1, 9)) for _ in range(12)]
        yield {"decoder": decoder, "cases": [[tokens, decode(list(tokens))] for tokens in cases]}


SPECIALS = ["<s>", "</s>", "<mask>", "<r>", "<n>"]
PIECES = [" ", " ", "  ", "a", "ab", "b", "\n", "\n\n", "\u00e9", "\U0001F600", "<mask>", " <mask>", "<r> ", "<n>", "\u00a0",
          "\u3000", "\u2003", "\u0120", ".", "\t", "x ", " a", " ab"]


def byte_tokenizer(prefix_space):
    tokens = SPECIALS + sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("\u0120", "\u0120"), ("\u0120", "a"), ("a", "b"), ("\u010a", "\u010a"), ("\u0120", "ab"),
              ("\u00c3", "\u00a9"), ("\u0120", "\u00c3\u00a9"), ("\u0120\u0120", "\u0120")]
    tokens += ["".join(pair) for pair in merges]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True, normalized=False),
                                  AddedToken("<r>", rstrip=True, normalized=False), "<n>"])
    return tokenizer, tokens


def post_processors():
    for trim in (True, False):
        for prefix in (True, False):
            flags = {"trim_offsets": trim, "add_prefix_space": prefix}
            yield {"type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0], **flags}
            yield {"type": "ByteLevel", **flags, "use_regex": True}
    yield {"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0]}
    special = {t: {"id": t, "ids": [i], "tokens": [t]} for i, t in enumerate(SPECIALS[:2])}
    special["both"] = {"id": "both", "ids": [1, 0], "tokens": ["</s>", "<s>"]}
    piece = lambda name, type_id=0: {"SpecialToken": {"id": name, "type_id": type_id}}
    text = lambda name, type_id: {"Sequence": {"id": name, "type_id": type_id}}
    template = {"type": "TemplateProcessing", "single": [piece("<s>"), text("A", 2), piece("both", 3)],
                "pair": [piece("both", 5), text("B", 4), piece("</s>", 1), text("A", 0)], "special_tokens": special}
    yield template
    yield {"type": "Sequence", "processors": [{"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False,
                                               "use_regex": True}, template]}
    yield {"type": "Sequence", "processors": [{"type": "Sequence", "processors": [template]}]}
    yield None


def random_side(rng):
    if rng.random() < 0.3:
        return {"words": ["".join(rng.choices(PIECES, k=rng.randint(0, 3))) for _ in range(rng.randint(1, 4))]}
    return {"text": "".join(rng.choices(PIECES, k=rng.randint(0, 8)))}


def content(side):
    return side.get("text", side.get("words"))


def in_bytes(side, offsets, words):
    result = []
    for (begin, end), word in zip(offsets, words):
        text = side["words"][word] if "words" in side else side["text"]
        result.append([len(text[:begin].encode()), len(text[:end].encode())])
    return result


def after(tokenizer, sides, special):
    encoding = tokenizer.encode(*map(content, sides), is_pretokenized="words" in sides[0], add_special_tokens=special)
    offsets, sequence = [], [-1 if s is None else s for s in encoding.sequence_ids]
    for span, word, side in zip(encoding.offsets, encoding.word_ids, sequence):
        offsets += [[0, 0]] if side < 0 else in_bytes(sides[side], [span], [word])
    return {"ids": encoding.ids, "types": encoding.type_ids, "offsets": offsets, "sequence": sequence}


def post_processor_lines(rng):
    yield {"tokens": byte_tokenizer(False)[1]}
    for post in post_processors():
        cases = []
        for _ in range(9):
            tokenizer, _ = byte_tokenizer(rng.random() < 0.5)
            sides = [random_side(rng)]
            if rng.random() < 0.4:
                other = random_side(rng)
                while ("text" in other) != ("text" in sides[0]):
                    other = random_side(rng)
                sides.append(other)
            for side in sides:
                raw = tokenizer.encode(content(side), is_pretokenized="words" in side)
                side["ids"] = raw.ids
                side["spans"] = in_bytes(side, raw.offsets, raw.word_ids)
                if "words" in side:
                    side["word_ids"] = raw.word_ids
            if post:
                single = Tokenizer.from_str(json.dumps({**json.loads(tokenizer.to_str()), "post_processor": post}))
            else:
                single = tokenizer
            case = {"a": sides[0], "with": after(single, sides, True)}
            if rng.random() < 0.3:
                case["without"] = after(single, sides, False)
            if len(sides) > 1:
                case["b"] = sides[1]
            cases.append(case)
        yield {"post_processor": post, "cases": cases}


def word_tokenizer(post):
    names = ["<s>", "</s>"] + [f"{side}{i}" for side in "ab" for i in range(60)]
    tokenizer = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<s>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if post:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


def window(tokens, pair):
    result = []
    for side in "ab" if pair else "a":
        numbers = [int(token[1:]) for token in tokens if token[0] == side]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
        result += [numbers[0], numbers[-1] + 1] if numbers else [0, 0]
    return result


def truncation_lines(rng):
    tokenizers_by_specials = {False: word_tokenizer(False), True: word_tokenizer(True)}
    while True:
        special, pair = rng.random() < 0.6, rng.random() < 0.6
        specials = (4 if pair else 2) if special else 0
        first, second = rng.randint(0, 30), rng.randint(0, 30) if pair else None
        budget = rng.choice([rng.randint(1, 12), rng.randint(6, 50), rng.randint(6, 50)])
        stride = rng.randint(0, min(budget - 1, rng.choice([0, 2, 60])))
        strategy = rng.choice(["longest_first", "longest_first", "only_first", "only_second"])
        side = rng.choice(["right", "left"])
        tokenizer = tokenizers_by_specials[special]
        tokenizer.enable_truncation(budget + specials, stride=stride, strategy=strategy, direction=side)
        texts = [" ".join(f"{s}{i}" for i in range(n or 0)) for s, n in zip("ab", (first, second))]
        try:
            encoding = tokenizer.encode(texts[0], texts[1] if pair else None)
            windows = [window(e.tokens, pair) for e in [encoding, *encoding.overflowing]]
        except BaseException as error:  # a panic of the reference is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            windows = None
        # The reference puts a side without room into one endless window; the engine refuses.
        if windows and ((first > 0 and windows[0][:2] == [0, 0]) or (second and windows[0][2:] == [0, 0])):
            windows = None
        if windows and len(windows) > 40:
            continue
        yield [first, second, specials, budget + specials, stride, strategy, side, windows]


def write(path, lines):
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    assert len(text.encode()) <= LIMIT, (path, len(text.encode()))
    path.write_text(text, "utf-8")
    print(f"{path}: {len(text.encode())} bytes")


def main():
    assert tokenizers.__version__ == "0.22.2"
    default = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "text"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    rng = random.Random(8)
    write(folder / "decoders.jsonl", decoder_lines(rng))
    write(folder / "post_processors.jsonl", post_processor_lines(rng))
    cases = truncation_lines(rng)
    write(folder / "truncation.jsonl", [next(cases) for _ in range(300)])


if __name__ == "__main__":
    main()
