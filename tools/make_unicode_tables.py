#!/usr/bin/env python3
"""Generates src/text/unicode/unicode_tables.cc and unicode_form_tables.cc from the reference tokenizer library itself.

The reference mixes several Unicode versions, so each character set is read from its behaviour over all code
points rather than from any Unicode data file. Run in an environment that has tokenizers 0.22.2:

    python tools/make_unicode_tables.py [FOLDER]

The combining classes are stored as ranks: only their order matters to canonical ordering.
"""
import pathlib
import struct
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

VERSION = "0.22.2"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK = 128
# Bits of the flag table; the same names are written into the header of the C++ code.
DROP, CLEAN_SPACE, SPACE, CJK, PUNCTUATION, NONSPACING, MARK, WORD = (1 << i for i in range(8))
# Roles in grapheme clusters, in the order of the C++ code.
(OTHER, CONTROL, EXTEND, ZWJ, SPACING_MARK, PREPEND, LEAD, VOWEL, TRAIL, LEAD_VOWEL, LEAD_VOWEL_TRAIL, PICTOGRAPHIC,
 CONSONANT, LINKER, INDIC_EXTEND) = range(15)
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


def cluster_counter():
    """A function that counts the grapheme clusters of at most five bytes, longer ones character by character.

    The reference's Precompiled normaliser replaces such a cluster as a whole where its map has an entry that the
    cluster starts with. This map has each byte but NUL, replaced by "y".
    """
    units = [0] * 512
    units[0] = 256 << 10  # the root's offset: byte b leads to unit 256 ^ b
    for byte in range(1, 256):
        units[256 ^ byte] = byte | 0x100 | (byte << 10)  # offset `byte` leads to unit 256, the value
    units[256] = 1 << 31
    charsmap = struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + b"y\0"
    normalize = normalizers.Precompiled(charsmap).normalize_str
    return lambda text: len(normalize(text))


def read_grapheme_kinds():
    """Roles in grapheme clusters, from where clusters of at most five bytes begin and end."""
    count = cluster_counter()
    accent, lead, vowel, trail, zwj = "\u0301", "\u1100", "\u1161", "\u11a8", "\u200d"
    consonant, linker = "\u0915", "\u094d"
    assert count("xx") == 2 and count("x" + accent) == 1 and count(lead + vowel + accent) == 3
    kinds = [OTHER] * 0x110000
    for code in CODE_POINTS[1:]:
        char = chr(code)
        if char in "\r\n":
            kinds[code] = CONTROL
        elif count("x" + char) == 1:  # joins what stands before it
            # Only Extend and ZWJ may stand between a pictograph and its joiner.
            extends = count("\u00a9" + char + zwj + "\u00a9" + accent) == 5
            kinds[code] = EXTEND if extends else SPACING_MARK
            if char == zwj:
                kinds[code] = ZWJ
            elif count(consonant + char + consonant + accent) == 4:
                kinds[code] = LINKER
            elif count(consonant + char + linker + consonant + accent) == 5:
                kinds[code] = INDIC_EXTEND
        elif count(char + "x") == 1:
            kinds[code] = PREPEND
        elif count(char + accent + accent) == 2 if len(char.encode()) > 3 else count(char + accent) == 2:
            kinds[code] = CONTROL
        elif len(char.encode()) == 3 and count(lead + char + accent) == 3:
            takes_vowel, takes_trail = count(char + vowel + accent) == 3, count(char + trail + accent) == 3
            if count(vowel + char + accent) == 3:
                kinds[code] = VOWEL
            elif takes_vowel:
                kinds[code] = LEAD_VOWEL if takes_trail else LEAD
            else:
                kinds[code] = LEAD_VOWEL_TRAIL
        elif len(char.encode()) == 3 and count(vowel + char + accent) == 3:
            kinds[code] = TRAIL
        elif count("\u00a9" + zwj + char) == 3:
            kinds[code] = PICTOGRAPHIC
        elif count(char + linker + consonant + accent) == 4:
            kinds[code] = CONSONANT
    return kinds


def read_compatible(decompositions):
    """Compatibility decompositions where they differ from the canonical ones."""
    nfkd = normalizers.NFKD().normalize_str
    result = {}
    for code in CODE_POINTS:
        if code not in HANGUL:
            mapped = [ord(c) for c in nfkd(chr(code))]
            if mapped != decompositions.get(code, [code]):
                result[code] = mapped
    return result


def read_compositions(decompositions):
    """Pairs that compose, Hangul left out: a composed character, its last part and what comes before that."""
    nfc = normalizers.NFC().normalize_str
    result = {}
    for code, parts in decompositions.items():
        if nfc(chr(code)) != chr(code):
            continue
        first, second = nfc("".join(map(chr, parts[:-1]))), chr(parts[-1])
        assert len(first) == 1 and nfc(first + second) == chr(code), hex(code)
        result[ord(first), ord(second)] = code
    return result


def read_forms(ranks, decompositions, compositions):
    """Which characters a normal form may change, or may let act on the ones before them."""
    forms = [0] * 0x110000
    joining = {second for _, second in compositions} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    functions = [(normalizers.NFD(), False), (normalizers.NFC(), True), (normalizers.NFKD(), False),
                 (normalizers.NFKC(), True)]
    for bit, (function, composed) in enumerate(functions):
        for code in CODE_POINTS:
            first = decompositions.get(code, [code])[0]
            if (ranks[code] or ranks[first] or function.normalize_str(chr(code)) != chr(code)
                    or composed and (code in joining or first in joining)):
                forms[code] |= 1 << bit
    assert not any(forms[:0xA0])
    return forms


def read_newer():
    """Ranges whose category in the reference's patterns is not that of Unicode 14, and a stand-in for each.

    PCRE2 10.42 knows Unicode 14, as Python 3.11 does. A stand-in has the category that the reference sees, in both,
    the same length in UTF-8 and, for ideographs, the same script.
    """
    assert unicodedata.unidata_version == "14.0.0", "run with Python 3.11, whose Unicode version is that of PCRE2 10.42"
    categories = {}
    for name in ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()):
        replace = normalizers.Replace(Regex(rf"\p{{{name}}}"), "\x01").normalize_str
        for start in range(0, len(CODE_POINTS), 4096):
            text = "".join(map(chr, CODE_POINTS[start:start + 4096]))
            for code, char, result in zip(CODE_POINTS[start:start + 4096], text, replace(text)):
                if result == "\x01" and (code != 1 or name == "Cc"):
                    categories[code] = name
    han = normalizers.Replace(Regex(r"\p{Han}"), "\x01").normalize_str

    def key(code):
        return categories[code], len(chr(code).encode()), code > 1 and han(chr(code)) == "\x01"

    differing = [c for c in CODE_POINTS if categories[c] != unicodedata.category(chr(c))]
    wanted, stand_ins = {key(c) for c in differing}, {}
    for code in CODE_POINTS:
        if categories[code] == unicodedata.category(chr(code)) and categories[code] != "Cn" and key(code) in wanted:
            stand_ins.setdefault(key(code), code)
    ranges = []
    for code in differing:
        stand_in = stand_ins[key(code)]
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == stand_in:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, stand_in])
    return ranges


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


def ragged_pool(mappings):
    """Values (number of the mapping) into starts[] of one pool of code points; mapping 0 is empty."""
    values, starts, data, places = [0] * 0x110000, [0, 0], [], {}
    for code, mapped in mappings.items():
        key = tuple(mapped)
        if key not in places:
            places[key] = len(starts) - 1
            data.extend(key)
            starts.append(len(data))
        values[code] = places[key]
    assert len(data) < 1 << 16
    return values, starts, data


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


def write(path, origin, header, parts):
    parts = [
        f"// Generated by tools/{origin}. Do not edit.\n",
        "// clang-format off\n",
        f'#include "text/unicode/{header}"\n\n',
        "namespace longformer::text::unicode {\n",
        *parts,
        "}  // namespace longformer::text::unicode\n",
        "// clang-format on\n",
    ]
    path.write_text("\n".join(parts).replace("\n\n\n", "\n\n"), encoding="ascii")


def main():
    if tokenizers.__version__ != VERSION:
        sys.exit(f"needs tokenizers {VERSION}, found {tokenizers.__version__}")
    default = pathlib.Path(__file__).resolve().parent.parent / "src/text/unicode"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    origin = f"make_unicode_tables.py from tokenizers {VERSION}"
    flags = read_flags()
    read_word_flags(flags)
    decompositions = read_decompositions()
    ranks = read_classes(decompositions)
    decomposition_values, decomposition_pool = pool(decompositions)
    lowercase_values, lowercase_pool = pool(read_lowercase())
    write(folder / "unicode_tables.cc", origin, "unicode_tables.h", [
        *table("uint8_t", "flag", flags),
        *table("uint8_t", "rank", ranks),
        *table("uint16_t", "decomposition", decomposition_values),
        *table("uint16_t", "lowercase", lowercase_values),
        array("char32_t", "decomposition_pool", decomposition_pool),
        array("char32_t", "lowercase_pool", lowercase_pool),
    ])
    compositions = read_compositions(decompositions)
    compatible_values, compatible_starts, compatible_pool = ragged_pool(read_compatible(decompositions))
    newer = read_newer()
    pairs = [f"{{{first}, {second}, {code}}}" for (first, second), code in sorted(compositions.items())]
    write(folder / "unicode_form_tables.cc", origin, "unicode_forms.h", [
        *table("uint8_t", "kind", read_grapheme_kinds()),
        *table("uint8_t", "form", read_forms(ranks, decompositions, compositions)),
        *table("uint16_t", "compatible", compatible_values),
        array("uint16_t", "compatible_starts", compatible_starts),
        array("char32_t", "compatible_pool", compatible_pool),
        array("Composition", "compositions", pairs),
        f"const uint32_t composition_count = {len(pairs)};\n",
        array("NewerRange", "newer_ranges", [f"{{{a}, {b}, {c}}}" for a, b, c in newer]),
        f"const uint32_t newer_range_count = {len(newer)};\n",
    ])


if __name__ == "__main__":
    main()
