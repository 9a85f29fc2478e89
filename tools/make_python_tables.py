#!/usr/bin/env python3
"""Generates src/text/unicode/python_tables.cc: what str.lower(), str.split() and the \\w of Python's re know about characters.

Read from the behaviour of the Python that runs it (its Unicode version is named in the result), with the table writer of
make_unicode_tables.py, whose environment this needs:

    python tools/make_python_tables.py [OUTPUT]
"""

from __future__ import annotations

import pathlib
import re
import sys
import unicodedata

from make_unicode_tables import table, write

SPACE, WORD, CASED, IGNORABLE = (1 << i for i in range(4))


def flags(character: str) -> int:
    """Whether it separates words, is one of \\w, and what it means for the sigma at the end of a word."""
    # Behind a letter, a capital sigma is final unless a cased character follows; ignorable ones are passed over.
    ignorable = ("a\u03a3" + character + "a").lower()[1] != ("a\u03a3" + character).lower()[1]
    cased = ("a\u03a3" + character).lower()[1] == "\u03c3"
    return (SPACE * (not character.split()) | WORD * bool(re.match(r"\w", character))
            | CASED * cased | IGNORABLE * ignorable)


def main() -> None:
    """Writes the table."""
    default = pathlib.Path(__file__).resolve().parent.parent / "src/text/unicode/python_tables.cc"
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    values = [0 if 0xD800 <= code < 0xE000 else flags(chr(code)) for code in range(0x110000)]
    write(output, f"make_python_tables.py from Python's Unicode {unicodedata.unidata_version}", "python_tables.h", table("uint8_t", "python", values))


if __name__ == "__main__":
    main()
