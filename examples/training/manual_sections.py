#!/usr/bin/env python3
"""Labelled documents whose evidence stands behind token 512: manual pages behind a licence, as files of a source archive begin.

    python3 examples/training/manual_sections.py OUTPUT [--man /usr/share/man] [--licences /usr/share/common-licenses]

Each document is a stretch of a licence, 520 words long (about 650 tokens, the same licences for every label), and behind it the
text of one manual page without its title and footer; the label is the page's section. Pages of sections 1, 2, 3, 5 and 8,
equally many of each; a page that is only another one's name is left out, and so are copies. Writes OUTPUT/train.jsonl and
OUTPUT/test.jsonl; a page is in one of them only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from pathlib import Path

SECTIONS = ["1", "2", "3", "5", "8"]
LICENCE_WORDS, PAGE_WORDS, LEAST_WORDS = 520, 200, 120


def page_text(path: Path) -> str:
    """The words of a page in the man or mdoc macros, without its title line; empty for a page that only names another one."""
    raw = gzip.open(path, "rt", encoding="utf-8", errors="replace").read() if path.suffix == ".gz" else path.read_text(errors="replace")
    if re.search(r"^\.so ", raw, re.MULTILINE):
        return ""
    lines = []
    for line in raw.splitlines():
        if line.startswith((".\\\"", "'\\\"", ".TH", ".Dt", ".Dd", ".Os", ".de", ".ds", ".nr", ".ie", ".el", ".if", ".so")):
            continue
        line = re.sub(r"^[.'][A-Za-z]+ ?", "", line)  # the macro, not its arguments
        line = re.sub(r"\\f(\[[^]]*\]|\(..|.)|\\s[-+]?\d|\\[&|^%/,:)]", "", line)
        line = line.replace("\\-", "-").replace("\\e", "\\").replace("\\(aq", "'").replace("\\(dq", '"')
        lines.append(re.sub(r"\\(\[[^]]*\]|\(..|\*\(..|\*.|.)", " ", line))
    return " ".join(" ".join(lines).split())


def pages(man: Path, section: str, chosen: random.Random) -> list[str]:
    """Texts of a section, each once, in random order."""
    texts = {}
    for path in sorted((man / f"man{section}").glob(f"*.{section}*")):
        if path.is_symlink():
            continue
        text = page_text(path)
        if len(text.split()) >= LEAST_WORDS:
            texts.setdefault(text, path.name)
    result = list(texts)
    chosen.shuffle(result)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--man", type=Path, default=Path("/usr/share/man"))
    parser.add_argument("--licences", type=Path, default=Path("/usr/share/common-licenses"))
    parser.add_argument("--train", type=int, default=80, help="documents of each label to train on (default 80)")
    parser.add_argument("--test", type=int, default=40, help="documents of each label to test on (default 40)")
    options = parser.parse_args()
    chosen = random.Random(1)
    licences = [" ".join(path.read_text(errors="replace").split()) for path in sorted(options.licences.iterdir())
                if path.is_file() and not path.is_symlink()]
    licences = [words for words in (text.split() for text in licences) if len(words) > LICENCE_WORDS]
    if not licences:
        parser.error(f"{options.licences} holds no licence of more than {LICENCE_WORDS} words")
    rows: dict[str, list[dict]] = {"train": [], "test": []}
    for section in SECTIONS:
        texts = pages(options.man, section, chosen)
        if len(texts) < options.train + options.test:
            parser.error(f"section {section} has {len(texts)} pages, {options.train + options.test} are needed: install more, "
                         "for example manpages and manpages-dev, or take fewer")
        for index, text in enumerate(texts[:options.train + options.test]):
            licence = chosen.choice(licences)
            start = chosen.randrange(len(licence) - LICENCE_WORDS)
            words = licence[start:start + LICENCE_WORDS] + text.split()[:PAGE_WORDS]
            rows["train" if index < options.train else "test"].append({"text": " ".join(words), "label": f"section {section}"})
    options.output.mkdir(parents=True, exist_ok=True)
    for side, found in rows.items():
        chosen.shuffle(found)
        (options.output / f"{side}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
        print(f"{options.output / side}.jsonl: {len(found)} documents")
    return 0


if __name__ == "__main__":
    sys.exit(main())
