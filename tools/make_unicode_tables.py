#!/usr/bin/env python3
"""Generates src/text/unicode_tables.cc from the reference tokenizer library itself.

The reference mixes several Unicode versions, so each character set is read from its behaviour over all code
points rather than from any Unicode data file. Run in an environment that has tokenizers 0.22.2:

    python tools/make_unicode_tables.py [OUTPUT]

The combining classes are stored as ranks: only their order matters to canonical ordering.
"""
import pathlib
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

VERSION = "0.22.2"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK = 128
# Bits of the flag table; the same names are written into the header of the C++ code.
DROP, CLEAN_SPACE, SPACE, CJK, PUNCTUATION, NONSPACING, MARK, WORD = (1 << i for i in range(8))
HANGUL = range(0xAC00, 0xD7A4)


def bert(clean=False, cjk=False, accents=False, lower=False):
    return normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=cjk, strip_accents=accents, lowercase=lower)


def read_flags():
    flags = [0] * 0x110000
    clean, cjk, accents = bert(clean=True), bert(cjk=True), bert(accents=True)
    marks, split = normalizers.StripAccents(), pre_tokenizers.BertPreTokenizer()
    for code in CODE_POINTS:
        char = chr(code)
        text = "a" + char + "b"
        cleaned = clean.normalize_str(text)
        if cleaned == "ab":
            flags[code] |= DROP
        elif cleaned == "a b":
            flags[code] |= CLEAN_SPACE
        else:
            assert cleaned == text, hex(code)
        padded = cjk.normalize_str(text)
        if padded == f"a {char} b":
            flags[code] |= CJK
        else:
            assert padded == text, hex(code)
        if accents.normalize_str(char) == "":
            flags[code] |= NONSPACING
        if marks.normalize_str(char) == "":
            flags[code] |= MARK
        pieces = [piece for piece, _ in split.pre_tokenize_str(text)]
        if pieces == ["a", "b"]:
            flags[code] |= SPACE
        elif pieces == ["a", char, "b"]:
            flags[code] |= PUNCTUATION
        else:
            assert pieces == [text], hex(code)
    return flags


def read_word_flags(flags):
    """Word characters: those that keep a single_word token from matching; and checks what lstrip absorbs."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.add_tokens([AddedToken("<w>", single_word=True, normalized=False),
                          AddedToken("<s>", lstrip=True, rstrip=True, normalized=False)])
    word, strip = tokenizer.token_to_id("<w>"), tokenizer.token_to_id("<s>")
    for start in range(0, len(CODE_POINTS), 4096):
        codes = CODE_POINTS[start:start + 4096]
        before = tokenizer.encode_batch([chr(c) + "<w>" for c in codes])
        after = tokenizer.encode_batch(["<w>" + chr(c) for c in codes])
        spaces = tokenizer.encode_batch([chr(c) + "<s>" + chr(c) for c in codes])
        for code, left, right, space in zip(codes, before, after, spaces):
            assert (word in left.ids) == (word in right.ids), hex(code)
            if word not in left.ids:
                flags[code] |= WORD
            assert (space.ids == [strip]) == bool(flags[code] & SPACE), hex(code)


def read_decompositions():
    nfd = normalizers.NFD()
    result = {}
    for code in CODE_POINTS:
        mapped = nfd.normalize_str(chr(code))
        if code in HANGUL:
            index = code - 0xAC00
            jamo = [0x1100 + index // 588, 0x1161 + index % 588 // 28, 0x11A7 + index % 28]
            assert [ord(c) for c in mapped] == jamo[:3 if index % 28 else 2], hex(code)
        elif mapped != chr(code):
            result[code] = [ord(c) for c in mapped]
    return result


def read_lowercase():
    lower = normalizers.Lowercase()
    result = {}
    for code in CODE_POINTS:
        mapped = lower.normalize_str(chr(code))
        if mapped != chr(code):
            result[code] = [ord(c) for c in mapped]
    return result


def read_classes(decompositions):
    """Rank of the canonical combining class of each code point, 0 for starters, found by what changes places."""
    nfd = normalizers.NFD().normalize_str
    low, high = "\u0334", "\u0345"  # classes 1 and 240, the lowest and the highest

    def before(first, second):  # the class of `first` is lower, and both are marks
        return first != second and nfd(second + first) == first + second

    assert before(low, high)
    marks = [chr(c) for c in CODE_POINTS if c not in decompositions and c not in HANGUL
             and (before(chr(c), high) or before(low, chr(c)))]
    representatives = {}
    for mark in marks:
        representatives.setdefault(unicodedata.combining(mark), mark)
    order = sorted(representatives)
    order = [c for i, c in enumerate(order) if c > 0 and
             (i == 0 or order[i - 1] == 0 or before(representatives[order[i - 1]], representatives[c]))]
    for first, second in zip(order, order[1:]):
        assert before(representatives[first], representatives[second])
    ranks = [0] * 0x110000
    for mark in marks:
        rank = 1 + sum(before(representatives[c], mark) for c in order)
        assert rank <= len(order), hex(ord(mark))
        same = representatives[order[rank - 1]]
        assert not before(same, mark) and not before(mark, same), hex(ord(mark))
        ranks[ord(mark)] = rank
    for code in decompositions:  # a mark with a decomposition never reaches the ordering step itself
        ranks[code] = 0
    return ranks


def two_stage(values):
    """Splits into blocks; returns (index of each block, the distinct blocks one after the other)."""
    index, blocks, seen = [], [], {}
    for start in range(0, 0x110000, BLOCK):
        block = tuple(values[start:start + BLOCK])
        if block not in seen:
            seen[block] = len(seen)
            blocks.extend(block)
        index.append(seen[block])
    return index, blocks


def pool(mappings):
    """Values (offset << 3 | length) into one pool of code points; 0 where a code point maps to itself."""
    values, data, places = [0] * 0x110000, [0], {}
    for code, mapped in mappings.items():
        key = tuple(mapped)
        assert 0 < len(key) < 8
        if key not in places:
            places[key] = len(data)
            data.extend(key)
        values[code] = places[key] << 3 | len(key)
    assert max(values) < 1 << 16
    return values, data


def array(kind, name, values):
    lines, line = [], " "
    for value in values:
        item = f" {value},"
        if len(line) + len(item) > 100:
            lines.append(line)
            line = " "
        line += item
    lines.append(line)
    return f"const {kind} {name}[{len(values)}] = {{\n" + "\n".join(lines) + "\n};\n"


def table(kind, name, values):
    index, blocks = two_stage(values)
    index_kind = "uint8_t" if max(index) < 256 else "uint16_t"
    return array(index_kind, name + "_index", index), array(kind, name + "_blocks", blocks)


def main():
    if tokenizers.__version__ != VERSION:
        sys.exit(f"needs tokenizers {VERSION}, found {tokenizers.__version__}")
    default = pathlib.Path(__file__).resolve().parent.parent / "src/text/unicode_tables.cc"
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    flags = read_flags()
    read_word_flags(flags)
    decompositions = read_decompositions()
    ranks = read_classes(decompositions)
    decomposition_values, decomposition_pool = pool(decompositions)
    lowercase_values, lowercase_pool = pool(read_lowercase())
    parts = [
        f"// Generated by tools/make_unicode_tables.py from tokenizers {VERSION}. Do not edit.\n",
        "// clang-format off\n",
        '#include "text/unicode_tables.h"\n\n',
        "namespace longformer::text::unicode {\n",
        *table("uint8_t", "flag", flags),
        *table("uint8_t", "rank", ranks),
        *table("uint16_t", "decomposition", decomposition_values),
        *table("uint16_t", "lowercase", lowercase_values),
        array("char32_t", "decomposition_pool", decomposition_pool),
        array("char32_t", "lowercase_pool", lowercase_pool),
        "}  // namespace longformer::text::unicode\n",
        "// clang-format on\n",
    ]
    output.write_text("\n".join(parts).replace("\n\n\n", "\n\n"), encoding="ascii")


if __name__ == "__main__":
    main()
