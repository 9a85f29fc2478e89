"""Manual pages and documentation of Debian packages as plain text: find or fetch, render, split off the description.

A file comes from the machine where it is installed with the listed text, else from its package, which
`apt-get download` fetches into the cache (minimal images leave manual pages and documentation out on purpose).
"""

import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

CACHE = pathlib.Path(
    os.environ.get("LONGFORMER_BENCH_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    / "longformer" / "bench-retrieval")
SHARE = pathlib.Path("/usr/share")
RENDERER = 1  # part of the cache key: raise it when render() changes its output


def check_tools():
    """Names what to install where a renderer is missing."""
    missing = [package for tool, package in
               (("man", "man-db"), ("groff", "groff-base"), ("col", "bsdextrautils"),
                ("dpkg-deb", "dpkg"), ("apt-get", "apt")) if not shutil.which(tool)]
    if missing:
        raise SystemExit("to render manual pages: apt-get install " + " ".join(missing))


def render(source):
    """The page as `man` shows it at 80 columns: left-aligned, not hyphenated, without header and footer.

    The first and the last line (title, date, version) are left out, so that a new release of a package whose
    text did not change keeps its hash.
    """
    environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80", MAN_KEEP_FORMATTING="",
                       MANROFFOPT="", GROFF_NO_SGR="1", MANPAGER="cat", PAGER="cat")
    environment.pop("MAN_KEEP_FORMATTING")
    shown = subprocess.run(["man", "--local-file", "--no-hyphenation", "--no-justification",
                            "--pager=cat", str(source)],
                           env=environment, capture_output=True, check=False)
    plain = subprocess.run(["col", "-bx"], input=shown.stdout, env=environment,
                           capture_output=True, check=True).stdout.decode("utf-8", "replace")
    lines = [line.rstrip() for line in plain.split("\n")]
    filled = [index for index, line in enumerate(lines) if line]
    if len(filled) < 3:
        return ""
    body = lines[filled[0] + 1:filled[-1]]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(body).strip("\n")) + "\n"


def split_description(text):
    """(description, page without its NAME section), or None where NAME has no `name - description`."""
    match = re.search(r"^NAME\n((?:[ \t].*\n|\n)+)", text, re.MULTILINE)
    if not match:
        return None
    line = " ".join(match.group(1).split())
    parts = re.split(r"\s(?:-|--|—|–)\s", line, maxsplit=1)
    if len(parts) != 2 or not parts[1]:
        return None
    return parts[1], text[:match.start()] + text[match.end():]


def sha256(text):
    return sha256_bytes(text.encode())


def sha256_bytes(data):
    return hashlib.sha256(data).hexdigest()


def _run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def _unpack_texts(archive, target):
    """Only the manual pages and the documentation of a .deb."""
    target.mkdir()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)],
                          stdout=subprocess.PIPE) as members:
        unpacked = subprocess.run(["tar", "-x", "-C", str(target), "--wildcards", "--no-same-owner",
                                   "./usr/share/man/*", "./usr/share/doc/*",
                                   "./usr/share/common-licenses/*"],
                                  stdin=members.stdout, capture_output=True, check=False)
    # tar exits with 2 where one of the three folders is not in the package.
    return members.returncode == 0 and unpacked.returncode in (0, 2)


def fetch_package(package, version=None):
    """The directory with the texts of a package: the version asked for where the mirror has it, else the
    newest. Its file `version` says which. None where the package cannot be had."""
    for wanted in ([f"{package}={version}"] if version else []) + [package]:
        target = CACHE / "packages" / wanted.replace("/", "_")
        if target.is_dir():
            return target
        download = CACHE / "download"
        shutil.rmtree(download, ignore_errors=True)
        download.mkdir(parents=True)
        # apt would drop its rights to a user who may not enter a private cache directory.
        result = _run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", wanted],
                      cwd=download)
        archives = list(download.glob("*.deb"))
        if result.returncode != 0 or not archives or not _unpack_texts(archives[0], download / "x"):
            continue
        got = _run(["dpkg-deb", "-f", str(archives[0]), "Version"]).stdout.strip()
        (download / "x" / "version").write_text(got + "\n", encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        (download / "x").rename(target)
        shutil.rmtree(download, ignore_errors=True)
        return target
    return None


def rendered(source):
    """The text of a file: a manual page as `man` shows it (kept in the cache), any other file as it is."""
    data = source.read_bytes()
    if not re.fullmatch(r"man\d", source.parent.name):
        if source.suffix == ".gz":
            data = gzip.decompress(data)
        return data.decode("utf-8")
    kept = CACHE / "rendered" / f"{RENDERER}-{hashlib.sha256(data).hexdigest()}.txt"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    text = render(source)
    kept.parent.mkdir(parents=True, exist_ok=True)
    temporary = kept.with_suffix(f".{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.rename(kept)
    return text


def listed_text(path, package, version, digest):
    """(text, note) of one listed file; path is below /usr/share. text is None where it cannot be had, note says so
    or that the text is another one than the listed."""
    found = None
    for root in (lambda: SHARE, lambda: fetch_package(package, version),
                 lambda: fetch_package(package)):
        base = root()
        if base is None:
            continue
        file = base / path if base == SHARE else base / "usr/share" / path
        if file.is_file():
            found = rendered(file)
            if sha256(found) == digest:
                return found, None
    if found is None:
        return None, f"{path}: not on this machine and not in the package {package}"
    return found, f"{path}: not the listed text of {package} {version}"


def read_list(file):
    """The rows of a table with a heading line, as dictionaries."""
    lines = pathlib.Path(file).read_text(encoding="utf-8").splitlines()
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines[1:] if line]
