"""Random Unicode text that is hard for tokenizers, and small WordPiece vocabularies. Standard library and numpy."""

from __future__ import annotations

import collections
import re
import unicodedata
from pathlib import Path

import numpy as np

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Ranges where normalisers differ: controls, spaces, accents, case rules, Hangul, ideographs and their borders.
RANGES = [
    (0x20, 0x7E), (0x20, 0x7E), (0x7F, 0xA1), (0xA1, 0x17F), (0x180, 0x24F), (0x250, 0x36F), (0x300, 0x36F),
    (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F),
    (0x10A0, 0x13FF), (0x1100, 0x11FF), (0x1AB0, 0x1AFF), (0x1C80, 0x1CBF), (0x1DC0, 0x1FFF), (0x2000, 0x206F),
    (0x2070, 0x214F), (0x2150, 0x218F), (0x2C00, 0x2DFF), (0x2E00, 0x2E7F), (0x3000, 0x30FF), (0x33F0, 0x3410),
    (0x4DB0, 0x4E10), (0x4E00, 0x9FFF), (0x9FF0, 0xA010), (0xA640, 0xA69F), (0xA720, 0xA7FF), (0xAC00, 0xD7FB),
    (0xE000, 0xE010), (0xF8F0, 0xFB4F), (0xFE00, 0xFE6F), (0xFE70, 0xFEFF), (0xFF00, 0xFFEF), (0xFFF0, 0xFFFD),
    (0x10000, 0x100FF), (0x10400, 0x104FF), (0x11000, 0x110FF), (0x1D400, 0x1D7FF), (0x1E900, 0x1E95F),
    (0x1F300, 0x1F6FF), (0x1FFF0, 0x20010), (0x2A6D0, 0x2A710), (0x2B730, 0x2B930), (0x2CEA0, 0x2CEC0),
    (0x2F800, 0x2FA2F), (0x30000, 0x3000F), (0xE0000, 0xE01EF), (0xF0000, 0xF0010), (0x10FFF0, 0x10FFFF),
]
CURIOUS = ["\u0130", "\u0131", "\u00df", "\u1e9e", "\u03a3", "\u03c2", "\u01c5", "\ufb01", "\u0345", "e\u0301",
           "\u1100\u1161\u11a8", "\u212b", "\u2126", "\u0378", "\u2065", "\u00ad", "\u200b", "\u200d", "\ufeff",
           "\ufffd", "\u2028", "\u2029", "\u0085", "\u180e", "\u3000", "\u00a0", "\U0002b81d", "\U0002b820",
           "\U0002b91f", "\U0002b920", "\U0001f468\u200d\U0001f469", "don't", "$5", "a+b", "\t", "\n", "\r\n"]


def _words(rng: np.random.Generator, vocabulary: list[str]) -> str:
    words = [vocabulary[i].removeprefix("##") for i in rng.integers(0, len(vocabulary), int(rng.integers(1, 12)))]
    return str(rng.choice([" ", " ", "", "  ", "-", "\n"])).join(words)


def _points(rng: np.random.Generator) -> str:
    low, high = RANGES[int(rng.integers(len(RANGES)))]
    return "".join(chr(c) for c in rng.integers(low, high + 1, int(rng.integers(1, 12))))


def _anywhere(rng: np.random.Generator) -> str:
    points = rng.integers(0x80, 0x110000, int(rng.integers(1, 8)))
    return "".join(chr(c) for c in points if not 0xD800 <= c < 0xE000)


def _long_word(rng: np.random.Generator) -> str:
    return str(rng.choice(["a", "\u00e9", "e\u0301", "\u0436", "\U0001d4d0"])) * int(rng.integers(98, 103))


def _special(rng: np.random.Generator, added: list[str]) -> str:
    word = str(rng.choice(added))
    word = [word, word, word.lower(), word.upper(), word[:-1]][int(rng.integers(5))]
    space = ["", " ", "  ", "\t", "x"]
    return space[int(rng.integers(5))] + word + space[int(rng.integers(5))]


def _control(rng: np.random.Generator) -> str:
    """One control character in enough letters for the whole to count as text."""
    return "abcdefgh ijklm" + chr(int(rng.integers(1, 32))) + "nopqrstu vwxyz"


def random_text(rng: np.random.Generator, vocabulary: list[str], added: list[str]) -> str:
    """One string: pieces of several kinds, with visible text, no NUL and no leading byte order mark."""
    makers = [lambda: _words(rng, vocabulary), lambda: _words(rng, vocabulary), lambda: _points(rng),
              lambda: _points(rng), lambda: _anywhere(rng), lambda: _long_word(rng),
              lambda: _special(rng, added), lambda: _control(rng),
              lambda: CURIOUS[int(rng.integers(len(CURIOUS)))]]
    weights = np.array([4, 4, 6, 6, 2, 0.3, 3, 0.5, 3])
    text = "".join(makers[k]() + (" " if rng.random() < 0.3 else "")
                   for k in rng.choice(len(makers), int(rng.integers(1, 12)), p=weights / weights.sum()))
    if rng.random() < 0.2:
        text = unicodedata.normalize(str(rng.choice(["NFC", "NFD", "NFKC"])), text)
    # A file with more control characters than one in ten is no text for the command.
    controls = sum(ord(c) < 32 or ord(c) == 127 for c in text)
    text += " letters" * max(0, controls - len(text) // 12)
    return text if text.strip() and not text.startswith("\ufeff") else "x" + text


def build_vocabulary(corpus: str, size: int) -> list[str]:
    """Specials, characters of every kind, and the most frequent beginnings and ends of words, in a fixed order."""
    words = collections.Counter(re.findall(r"\w+", corpus))
    words.update({word.lower(): count for word, count in words.items()})
    pieces: collections.Counter[str] = collections.Counter()
    for word, count in words.items():
        for cut in range(2, min(len(word), 14) + 1):
            pieces[word[:cut]] += count * cut
            pieces["##" + word[len(word) - cut:]] += count
    characters = sorted({chr(c) for low, high in RANGES for c in range(low, high + 1, 1 if high < 0x600 else 7)
                         if not chr(c).isspace() and not 0xD800 <= c < 0xE000} | set(corpus) - set(" \n\t\r"))
    ranked = sorted(pieces, key=lambda piece: (-pieces[piece], piece))
    singles = characters + ["##" + character for character in characters]
    return list(dict.fromkeys(SPECIALS + singles + ranked[:size]))


def system_text(limit: int = 400_000) -> str:
    """English text of this machine for a vocabulary; licences are everywhere on Debian."""
    folder = Path("/usr/share/common-licenses")
    files = sorted(path for path in folder.glob("*") if path.is_file()) if folder.is_dir() else []
    text = "\n".join(path.read_text("utf-8", "replace") for path in files)[:limit]
    return text or "The quick brown fox jumps over the lazy dog. Tokenizers split words into known pieces. " * 20
