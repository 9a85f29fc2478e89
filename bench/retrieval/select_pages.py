"""Writes pages.tsv anew: which pages of packages.txt make the benchmark. Not part of a run.

Takes pages of sections 1, 2, 5, 7 and 8 with a description in NAME and 2,001 to 10,000 WordPiece tokens without it
(the upper end keeps a run short), each description once, at most the listed number from a package, in the order of
the SHA-256 of their paths. Needs the Python package `tokenizers` and the model's tokenizer.json.

usage: select_pages.py TOKENIZER_JSON
"""

import hashlib
import pathlib
import sys

import tokenizers

import sources

HERE = pathlib.Path(__file__).resolve().parent
SECTIONS = "12578"


def candidates(package):
    """(version, [(path, file)]) of the package as the mirror has it now."""
    directory = sources.fetch_package(package)
    if directory is None:
        raise SystemExit(f"{package}: cannot be downloaded")
    root = directory / "usr/share"
    files = sorted(file for file in root.glob("man/man?/*") if not file.is_symlink())
    paths = [(str(file.relative_to(root)), file) for file in files if file.parent.name[3] in SECTIONS]
    paths.sort(key=lambda item: hashlib.sha256(item[0].removeprefix("man/").encode()).hexdigest())
    return (directory / "version").read_text(encoding="utf-8").strip(), paths


def main():
    sources.check_tools()
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    rows, seen = [], set()
    for line in (HERE / "packages.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        package, most = line.split()
        version, paths = candidates(package)
        taken = 0
        for path, file in paths:
            if taken == int(most):
                break
            if file.stat().st_size < 2500:  # compressed: cannot reach 2,000 tokens
                continue
            text = sources.rendered(file)
            split = sources.split_description(text)
            if not split or split[0] in seen:
                continue
            tokens = len(tokenizer.encode(split[1], add_special_tokens=False).ids)
            if not 2000 < tokens <= 10000:
                continue
            seen.add(split[0])
            taken += 1
            rows.append((path, package, version, sources.sha256(text), str(tokens)))
        print(f"{package} {version}: {taken}", file=sys.stderr)
    rows.sort()
    (HERE / "pages.tsv").write_text(
        "page\tpackage\tversion\tsha256\ttokens\n" + "".join("\t".join(row) + "\n" for row in rows),
        encoding="utf-8")
    print(f"{len(rows)} pages", file=sys.stderr)


if __name__ == "__main__":
    main()
