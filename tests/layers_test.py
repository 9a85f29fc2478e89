#!/usr/bin/env python3
"""The rules of the tree: who may include whom, where each library may be seen, folder READMEs, file sizes, mirrored tests.

Prints one line a breach, with the file, the line and the rule. `python3 tests/layers_test.py` runs it alone.
"""

from __future__ import annotations

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

# A folder may use the folders named here, and what those may use. CMakeLists.txt must say the same.
USES = {
    "base": [],
    "tensor": ["base"],
    "kernels": ["tensor"],
    "attention": ["kernels"],
    "ops": ["attention"],
    "nn": ["ops"],
    "io": ["tensor", "base"],
    "models": ["nn", "io"],
    "text": ["base"],
    "tasks": ["models", "text", "io"],
    "train": ["tasks"],
    "cli": ["tasks", "train"],
    "server": ["tasks", "train"],
    "capi": ["tasks", "train"],
}

# Where the headers of a library may appear: beginning of the header's name -> beginnings of paths below src.
SEEN_IN = {
    "oneapi/": ["kernels/gemm", "kernels/onednn.h", "kernels/products", "kernels/isa"],
    "dnnl": ["kernels/gemm", "kernels/onednn.h", "kernels/products", "kernels/isa"],
    "hwy/": ["kernels/rowwise", "kernels/isa", "kernels/scan"],
    "nlohmann/": ["io/", "cli/", "server/", "text/"],
    "CLI/": ["cli/"],
    "spdlog/": ["cli/", "server/"],
    "fmt/": ["cli/", "server/"],
    "utf8proc": ["text/"],
    "pcre2": ["text/regex"],
    "zlib": ["io/"],
    "openssl/": ["io/", "server/"],
    "sqlite3": ["io/collection/sqlite"],
    "libxml/": ["io/documents/libxml", "io/documents/html", "io/documents/xml_stream"],
    "zip.h": ["io/documents/office"],
    "iconv.h": ["io/documents/text_charset"],
    "curl/": ["io/hub/http_client.cc"],
    "omp": ["base/", "kernels/"],
    "immintrin": [],
    "arm_neon": [],
}

TOP_FOLDERS = ["cmake", "tests", "bench", "docs", "tools", "fuzz", "examples", "include"]
TEST_FOLDERS_OF_THEIR_OWN = ["data", "hub", "oracle", "support"]
MAX_README_LINES = 15
MAX_SOURCE_LINES = 800
CODE = {".h", ".cc", ".py", ".sh", ".cmake"}
TEXT = CODE | {".md", ".txt", ".json", ".yaml", ".yml", ".env", ".toml", ""}
SKIPPED = {".git", "build", ".cache", ".venv", "__pycache__"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(folder: str) -> set[str]:
    result = {folder}
    for used in USES[folder]:
        result |= reachable(used)
    return result


def files(folder: Path, suffixes: set[str]) -> list[Path]:
    """The files below a folder, without build products."""
    if not folder.is_dir():
        return []
    result = []
    for path in sorted(folder.iterdir()):
        if path.name in SKIPPED or path.is_symlink():
            continue
        if path.is_dir():
            result += files(path, suffixes)
        elif path.suffix in suffixes:
            result.append(path)
    return result


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def includes(path: Path) -> list[tuple[int, str, str]]:
    """(line number, < or ", name) of each include."""
    return [(number, match[1], match[2]) for number, line in enumerate(lines(path), 1)
            if (match := INCLUDE.match(line))]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_generated(path: Path) -> bool:
    return any("enerated by tools/" in line for line in lines(path)[:5])


class LayersTest(unittest.TestCase):
    def expect_none(self, breaches: list[str]) -> None:
        if breaches:
            self.fail("\n" + "\n".join(breaches))

    def test_folders_of_src_are_known(self) -> None:
        found = {path.name for path in SOURCE.iterdir() if path.is_dir()}
        self.expect_none([f"src/{folder}: no such layer; add it to tests/layers_test.py and docs"
                          for folder in sorted(found - set(USES))])

    def test_includes_follow_the_layers(self) -> None:
        breaches = []
        for path in files(SOURCE, {".h", ".cc"}):
            folder = path.relative_to(SOURCE).parts[0]
            allowed = reachable(folder)
            for number, kind, header in includes(path):
                if kind != '"':
                    continue
                first = header.split("/")[0]
                place = f"{name(path)}:{number}"
                if first == "longformer":
                    if not (ROOT / "include" / header).is_file():
                        breaches.append(f'{place}: "{header}" does not exist in include/')
                elif first not in USES:
                    breaches.append(f'{place}: "{header}" is no path below src; write "folder/file.h"')
                elif first not in allowed:
                    breaches.append(f"{place}: {folder} may not use {first}, only {', '.join(sorted(allowed))}")
                elif not (SOURCE / header).is_file():
                    breaches.append(f'{place}: "{header}" does not exist in src/')
        self.expect_none(breaches)

    def test_libraries_stay_where_they_belong(self) -> None:
        breaches = []
        for path in files(SOURCE, {".h", ".cc"}) + files(ROOT / "include", {".h"}):
            place = path.relative_to(SOURCE if SOURCE in path.parents else ROOT).as_posix()
            for number, _, header in includes(path):
                for beginning, homes in SEEN_IN.items():
                    if header.startswith(beginning) and not any(place.startswith(home) for home in homes):
                        breaches.append(f"{name(path)}:{number}: <{header}> may be seen only in "
                                        f"{', '.join(homes) or 'no file: use Highway'}")
        self.expect_none(breaches)

    def test_public_headers_are_self_contained(self) -> None:
        breaches = [f"{name(path)}:{number}: public headers include only the standard library and each other"
                    for path in files(ROOT / "include", {".h"}) for number, kind, header in includes(path)
                    if (kind == '"') != header.startswith("longformer/")
                    or (kind == "<" and ("/" in header or (header.endswith(".h") and header != "stdint.h")))]
        self.expect_none(breaches)

    def test_cmake_links_the_same_layers(self) -> None:
        text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        breaches = []
        found = {}
        for layer, arguments in re.findall(r"longformer_layer\((\w+)([^)]*)\)", text):
            self.assertIn(layer, USES, f"CMakeLists.txt names a layer that is none: {layer}")
            found[layer] = re.findall(r"longformer_(\w+)", arguments)
            reached = set().union(*(reachable(used) for used in USES[layer]))
            breaches += [f"CMakeLists.txt: {layer} links {linked}, which it may not use"
                         for linked in found[layer] if linked not in reached]
        self.assertGreater(len(found), 5, "no longformer_layer() lines found in CMakeLists.txt")
        breaches += [f"src/{folder.name} has sources but no longformer_layer() in CMakeLists.txt"
                     for folder in sorted(SOURCE.iterdir())
                     if folder.name not in found and folder.name != "cli" and any(folder.glob("*.cc"))]
        self.expect_none(breaches)

    def test_folders_have_a_short_readme(self) -> None:
        breaches = []
        folders = [folder for folder in sorted(SOURCE.rglob("*")) if folder.is_dir() and any(folder.iterdir())]
        for folder in folders + [ROOT / top for top in TOP_FOLDERS]:
            readme = folder / "README.md"
            if not readme.is_file():
                breaches.append(f"{name(folder)}: has no README.md (purpose, what it may include, where to start)")
                continue
            text = [line for line in lines(readme) if not line.startswith("|")]  # figures in a table are not counted
            if not 1 <= len(text) <= MAX_README_LINES:
                breaches.append(f"{name(readme)}: {len(text)} lines, at most {MAX_README_LINES}")
        self.expect_none(breaches)

    def test_files_are_short(self) -> None:
        self.expect_none([f"{name(path)}: {len(lines(path))} lines, at most {MAX_SOURCE_LINES}"
                          for path in files(ROOT, CODE)
                          if len(lines(path)) > MAX_SOURCE_LINES and not is_generated(path)])

    def test_tests_mirror_the_sources(self) -> None:
        breaches = []
        tests = ROOT / "tests"
        for folder in sorted(path for path in tests.iterdir() if path.is_dir() and path.name not in SKIPPED):
            if folder.name in TEST_FOLDERS_OF_THEIR_OWN:
                continue
            if folder.name not in USES:
                breaches.append(f"{name(folder)}: src has no such folder")
            breaches += [f"{name(path)}: tests are called <file>_test.cc"
                         for path in sorted(folder.glob("*.cc")) if not path.name.endswith("_test.cc")]
        breaches += [f"src/{folder.name}: has sources but no tests/{folder.name}/*_test.cc"
                     for folder in sorted(SOURCE.iterdir())
                     if any(folder.glob("*.cc")) and not any((tests / folder.name).glob("*_test.*"))]
        self.expect_none(breaches)

    def test_no_paths_of_a_developers_machine(self) -> None:
        homes = "|".join(["home", "root", "Users", "work", "tmp", "scratch", "mnt"])
        path_of_a_machine = re.compile(r"(?<![\w./~$}*>-])/(?:" + homes + r")(?:/|\b)")
        breaches = [f"{name(path)}:{number}: names a path of somebody's machine: {match[0]}"
                    for path in files(ROOT, TEXT)
                    if not {ROOT / "tests" / "data", ROOT / "fuzz" / "seeds"} & set(path.parents)
                    for number, line in enumerate(lines(path), 1)
                    if (match := path_of_a_machine.search(line))]
        self.expect_none(breaches)


if __name__ == "__main__":
    unittest.main()
