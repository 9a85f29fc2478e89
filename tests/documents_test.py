#!/usr/bin/env python3
"""The documents say what the tree holds: links lead to files, docs/limits.md lists the limits of src/base/limits.h, and
docs/formats.md every environment variable that the sources read."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = {".git", "build", ".cache", ".venv"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def documents() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.md"))
            if not SKIPPED & set(path.relative_to(ROOT).parts) and "data" not in path.parts]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def value(expression: str) -> int:
    """An integer literal of C++, or two with a shift between."""
    digits = re.sub(r"'|(?<=\d)[uUlL]+\b", "", expression)
    digits = re.sub(r"\w+\{(\d+)\}", r"\1", digits)
    if not re.fullmatch(r"\d+( << \d+)?", digits):
        raise ValueError(f"cannot read the limit {expression!r}")
    first, _, shift = digits.partition(" << ")
    return int(first) << int(shift or 0)


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as the usual viewers make them."""
    headings = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class DocumentsTest(unittest.TestCase):
    def test_links_lead_somewhere(self) -> None:
        broken = []
        for document in documents():
            for link in LINK.findall(document.read_text(encoding="utf-8")):
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                path = (document.parent / target).resolve() if target else document
                if not path.exists():
                    broken.append(f"{document.relative_to(ROOT)}: {link} does not exist")
                elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                    broken.append(f"{document.relative_to(ROOT)}: {target} has no heading for #{anchor}")
        self.assertEqual(broken, [])

    def test_tour_has_ten_stops_with_files(self) -> None:
        stops = re.split(r"^## ", text("docs/tour.md"), flags=re.M)[1:]
        self.assertEqual([stop.split(".")[0] for stop in stops], [str(number) for number in range(1, 11)])
        for stop in stops:
            sources = [link for link in LINK.findall(stop) if re.match(r"\.\./(src|include)/", link)]
            self.assertTrue(sources, f"no link to a source file in stop {stop.splitlines()[0]!r}")

    def test_limits_are_those_of_the_header(self) -> None:
        header = dict(re.findall(r"inline constexpr \w+ (kMax\w+) = ([^;]+);", text("src/base/limits.h")))
        self.assertGreater(len(header), 10)
        rows = dict(re.findall(r"^\| `(kMax\w+)` \| ([\d,]+) \|", text("docs/limits.md"), re.M))
        expected = {name: value(expression) for name, expression in header.items()}
        self.assertEqual({name: int(number.replace(",", "")) for name, number in rows.items()}, expected)

    def test_environment_is_documented(self) -> None:
        read = set()
        sources = [path for folder in ("src", "tools") for path in (ROOT / folder).rglob("*")
                   if path.suffix in {".cc", ".h", ".sh"}] + [ROOT / "longformer", ROOT / "test"]
        for path in sources:
            content = path.read_text(encoding="utf-8")
            read |= set(re.findall(r'getenv\("(\w+)"\)', content)) | set(re.findall(r"\$\{([A-Z][A-Z_]+):-", content))
        table = set(re.findall(r"^\| `(\w+)` \|", text("docs/formats.md").split("## Environment")[1], re.M))
        self.assertGreater(len(read), 4)
        self.assertEqual(read - table, set(), "read by the sources, missing in docs/formats.md")


if __name__ == "__main__":
    unittest.main()
