#!/usr/bin/env python3
"""Generates src/text/unicode/scanner_tables.cc: what the reference's pre-tokenisers take for letters and numbers.

Read from their behaviour over all code points, like the tables of make_unicode_tables.py, whose environment this needs:

    python tools/make_scanner_tables.py [OUTPUT]
"""
import pathlib
import sys

import tokenizers
from tokenizers import Regex, pre_tokenizers

from make_unicode_tables import CODE_POINTS, VERSION, table, write

LETTER, NUMBER, NUMERIC = (1 << i for i in range(3))


def members(splitter):
    """The code points that a pre-tokeniser isolates."""
    found = []
    for start in range(0, len(CODE_POINTS), 4096):
        text = "".join("\u0001" + chr(c) for c in CODE_POINTS[start:start + 4096] if c != 1)
        found += [ord(piece) for piece, _ in splitter.pre_tokenize_str(text) if len(piece) == 1 and piece != "\u0001"]
    return found


def pattern(text):
    return pre_tokenizers.Split(Regex(text), "isolated")


def main():
    if tokenizers.__version__ != VERSION:
        sys.exit(f"needs tokenizers {VERSION}, found {tokenizers.__version__}")
    default = pathlib.Path(__file__).resolve().parent.parent / "src/text/unicode/scanner_tables.cc"
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    classes = [0] * 0x110000
    # A code point that is isolated between two U+0001 is a match: other text stays together with them.
    for flag, splitter in ((LETTER, pattern(r"\p{L}")), (NUMBER, pattern(r"\p{N}")),
                           (NUMERIC, pre_tokenizers.Digits(individual_digits=True))):
        for code in members(splitter):
            classes[code] |= flag
    spaces = {9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
    assert set(members(pattern(r"\s"))) == spaces
    write(output, f"make_scanner_tables.py from tokenizers {VERSION}", "scanner_tables.h", table("uint8_t", "class", classes))


if __name__ == "__main__":
    main()
