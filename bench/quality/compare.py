"""What bf16 and int8 change: token states, vectors and search results of the default model, against f32.

    python3 bench/quality/compare.py                  all pages and questions; two cores: about a quarter of an hour
    python3 bench/quality/compare.py --pages 40       a first look

Decides whether `--compute int8` is good enough, and which products may be int8: docs/default_model.md ("Precision").
Must: median cosine of token states 0.9985, worst cosine of a vector 0.999, MRR within 0.005 of f32.
README.md beside this file says what is measured.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "retrieval"))
import engines  # noqa: E402
import run as retrieval  # noqa: E402
import sources  # noqa: E402

PASSAGE = 192            # tokens, as the default
MOST_TOKENS = 4096       # of a page whose states are compared


def write_ids(path: pathlib.Path, ids: list[int]) -> None:
    data = numpy.asarray(ids, dtype="<i8").tobytes()
    header = json.dumps({"input_ids": {"dtype": "I64", "shape": [1, len(ids)],
                                       "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


class Setting:
    """One way to compute: a name, a model directory, options."""

    def __init__(self, name: str, binary: pathlib.Path, model: pathlib.Path, compute: str, threads: list[str]):
        self.name, self.binary, self.model = name, binary, model
        self.options = ["--compute", compute]
        self.threads = threads
        self.engine = engines.Command(binary, model, sources.CACHE, threads, self.options)

    def states(self, ids: list[int], folder: pathlib.Path) -> numpy.ndarray:
        """Token states [tokens, width]."""
        write_ids(folder / "in.safetensors", ids)
        subprocess.run([str(self.binary), "forward", "--model", str(self.model), *self.options, *self.threads,
                        "--inputs", "in.safetensors", "--outputs", "out.safetensors"], cwd=folder, check=True)
        return engines.read_safetensors(folder / "out.safetensors")["last_hidden_state"][0].copy()


def cosines(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    a, b = engines.unit(a.astype(numpy.float64)), engines.unit(b.astype(numpy.float64))
    return (a * b).sum(axis=-1)


def page_ids(setting: Setting, text: str) -> list[int]:
    result = subprocess.run([str(setting.binary), "tokenize", "--model", str(setting.model), "--json", "-"],
                            input=text, capture_output=True, text=True, encoding="utf-8", check=True)
    return json.loads(result.stdout.splitlines()[0])["input_ids"][:MOST_TOKENS]


def state_cosines(settings: list[Setting], pages: list[str]) -> list[numpy.ndarray]:
    """For each setting the cosine of each token's state to that of the first setting."""
    parts: list[list[numpy.ndarray]] = [[] for _ in settings]
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            ids = page_ids(settings[0], page)
            exact = settings[0].states(ids, pathlib.Path(folder))
            for part, setting in zip(parts[1:], settings[1:], strict=True):
                part.append(cosines(setting.states(ids, pathlib.Path(folder)), exact))
            parts[0].append(numpy.ones(len(ids)))
    return [numpy.concatenate(part) for part in parts]


def measure(setting: Setting, pages, descriptions, questions, texts) -> dict:
    """Vectors of passages in context and of whole pages, and MRR@10 of both benchmarks."""
    engine = setting.engine
    late = engine.passages(pages, PASSAGE, "document")
    queries = engine.embed(descriptions)
    scores = retrieval.best(queries, [vectors for _, vectors in late])
    readings = engine.passages(texts, PASSAGE, "document")
    asked = engine.embed([question for question, _, _ in questions])
    touched, half = [], []
    for query, (_, document, answer) in zip(asked, questions, strict=True):
        ranges, vectors = readings[document]
        for ranks, enough in ((touched, retrieval.touches), (half, retrieval.covers_half)):
            ranks.append(retrieval.passage_rank(vectors @ query, ranges, answer, enough))
    return {
        "passages": numpy.concatenate([vectors for _, vectors in late + readings]),
        "whole": numpy.concatenate([engine.embed(pages), queries, asked]),
        "mrr": [float(retrieval.reciprocal(ranks).mean())
                for ranks in (retrieval.document_ranks(scores), touched, half)],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/longformer")
    parser.add_argument("--model", type=pathlib.Path, help="default: the default model")
    parser.add_argument("--pages", type=int, default=10**6, help="how many")
    parser.add_argument("--questions", type=int, default=10**6, help="how many")
    parser.add_argument("--state-pages", type=int, default=40, help="pages whose token states are compared")
    parser.add_argument("--compute", nargs="*", default=["bf16", "int8", "int8-file"],
                        help="int8-file: the model as convert --dtype int8 stores it")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    return parser.parse_args()


def make_settings(options: argparse.Namespace, folder: str) -> list[Setting]:
    threads = ["--threads", str(options.threads)] if options.threads else []
    model = options.model or pathlib.Path(subprocess.run(
        [str(ROOT / "tools/default_model.sh"), "--binary", str(options.binary)],
        check=True, capture_output=True, text=True).stdout.strip())
    settings = [Setting("f32", options.binary, model, "f32", threads)]
    for compute in options.compute:
        if compute == "int8-file":
            stored = pathlib.Path(folder, "int8")
            subprocess.run([str(options.binary), "convert", "--dtype", "int8", str(model), str(stored)],
                           check=True, stdout=subprocess.DEVNULL)
            settings.append(Setting("int8, stored", options.binary, stored, "int8", threads))
        else:
            settings.append(Setting(compute, options.binary, model, compute, threads))
    return settings


def main() -> int:
    options = arguments()
    options.binary = options.binary.resolve()
    sources.check_tools()
    descriptions, pages, notes = retrieval.load_pages(options.pages)
    questions, texts, more = retrieval.load_questions(options.questions)
    for note in notes + more:
        print(f"note: {note}", file=sys.stderr)
    print(f"{len(pages)} pages, {len(questions)} questions over {len(texts)} documents")
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        settings = make_settings(options, folder)
        states = state_cosines(settings, pages[::max(1, len(pages) // options.state_pages)])
        exact = None
        for setting, cosine in zip(settings, states, strict=True):
            result = measure(setting, pages, descriptions, questions, texts)
            exact = exact or result
            vectors = [cosines(result[kind], exact[kind]) for kind in ("passages", "whole")]
            figures.append({"compute": setting.name, "states": len(cosine),
                            "state_median": float(numpy.median(cosine)),
                            "state_percentile_1": float(numpy.percentile(cosine, 1)),
                            "state_worst": float(cosine.min()),
                            "passage_median": float(numpy.median(vectors[0])),
                            "passage_worst": float(vectors[0].min()), "text_worst": float(vectors[1].min()),
                            "mrr_pages": result["mrr"][0], "mrr_questions": result["mrr"][1:]})
    print("\ncosine to f32      token states: median, 1 %, worst     passages: median, worst   texts: worst"
          "   MRR@10: pages; questions touched, half")
    for row in figures:
        print(f"{row['compute']:14} {row['state_median']:20.5f} {row['state_percentile_1']:.5f} "
              f"{row['state_worst']:.5f} {row['passage_median']:20.5f} {row['passage_worst']:.5f} "
              f"{row['text_worst']:14.5f} {row['mrr_pages']:12.4f}; "
              + " ".join(f"{value:.4f}" for value in row["mrr_questions"]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
