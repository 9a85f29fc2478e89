#!/usr/bin/env python3
"""`longformer evaluate --json` beside scikit-learn, SciPy, seqeval, trec_eval (pytrec_eval) and the SQuAD code of Transformers.

Each case is one random data set of every kind, with classes that are never predicted, malformed tags, ties, empty answers
and Unicode; all numbers must agree within 1e-12 of the largest value. TriviaQA's and SQuAD 1.1's rules, which no package
holds, are written down here in Python, so that lower(), split() and re are the real ones.
"""

from __future__ import annotations

import collections
import contextlib
import io
import json
import math
import random
import re
import string
import sys
import unicodedata
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytrec_eval
from scipy import stats
from seqeval import scheme as schemes
from seqeval.metrics import classification_report as entity_report
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer
from transformers.data.metrics.squad_metrics import squad_evaluate

import common

LIMIT = 1e-12
WORDS = ["the", "The", "a", "an", "AN", "theory", "fox", "red-fox", "U.S.A.", "_x_", "\u2018n\u2019", "\u00b4", "`", "\u201cq\u201d", "!!", "\u0130stanbul",
         "\u039f\u0394\u039f\u03a3", "A\u03a3\u0301b", "stra\u00dfe", "STRA\u1e9eE", "a\u0301", "1\u00bd", "\u00a0", "\u3000", "\x1c", "\u200b", "\u65e5\u672c", "\ud55c", "\U0001f98a", "a'b", "e\u0301", "\u01c5", "\u00aa"]


def write_lines(path: Path, records: list[dict]) -> None:
    """JSON lines, ASCII or not by turns."""
    path.write_text("".join(json.dumps(record, ensure_ascii=index % 2 == 0) + "\n"
                            for index, record in enumerate(records)), "utf-8")


def differences(got: dict, want: dict, place: str = "") -> list[str]:
    """One line for each value that is absent or off; None stands for NaN."""
    wrong = []
    for key, value in want.items():
        if key not in got:
            wrong.append(f"{place}{key}: missing")
        elif isinstance(value, dict):
            wrong += differences(got[key], value, f"{place}{key}.")
        elif value is None or got[key] is None:
            if value is not got[key]:
                wrong.append(f"{place}{key}: {got[key]} instead of {value}")
        elif not abs(got[key] - value) <= LIMIT * max(1.0, abs(value)):
            wrong.append(f"{place}{key}: {got[key]!r} instead of {value!r}")
    return wrong


class Case:
    """The random data of one seed and the command."""

    def __init__(self, binary: str, folder: Path, seed: int):
        self.binary, self.folder, self.random = binary, folder, random.Random(seed)

    def evaluate(self, task: str, gold: str, predicted: str, *more: object) -> dict:
        """What the command prints."""
        line = common.run_command(self.binary, "evaluate", "--task", task, "--data", self.folder / gold,
                                  "--predictions", self.folder / predicted, "--json", *more)
        return json.loads(line.stdout)

    def rows(self, task: str, gold: list, predicted: list) -> dict:
        """Labels in the rows of two files, in order or, half of the time, by id in another order."""
        pairs = [[{"label": label} for label in side] for side in (gold, predicted)]
        if self.random.random() < 0.5:
            for side in pairs:
                for index, record in enumerate(side):
                    record["id"] = f"q{index}"
            self.random.shuffle(pairs[1])
        write_lines(self.folder / "gold.jsonl", pairs[0])
        write_lines(self.folder / "predicted.jsonl", pairs[1])
        return self.evaluate(task, "gold.jsonl", "predicted.jsonl")

    def classification(self) -> list[str]:
        """Single labels: scikit-learn."""
        names = self.random.sample(["a", "B", "\u00e4", "3", "long name", "\U0001f98a", "Z"], self.random.randint(1, 7))
        count = self.random.choice([1, 2, 30, 300])
        gold = [self.random.choice(names[: max(1, len(names) - 1)]) for _ in range(count)]
        predicted = [self.random.choice([label, *names[1:], names[0]]) for label in gold]
        got = self.rows("classification", gold, predicted)
        want = {"accuracy": metrics.accuracy_score(gold, predicted),
                "matthews_corrcoef": metrics.matthews_corrcoef(gold, predicted)}
        for average in ("micro", "macro", "weighted"):
            scores = metrics.precision_recall_fscore_support(gold, predicted, average=average, zero_division=0)
            want |= zip((f"precision_{average}", f"recall_{average}", f"f1_{average}"), scores[:3])
        report = metrics.classification_report(gold, predicted, output_dict=True, zero_division=0)
        return (differences(got["metrics"], want)
                + differences(got["labels"], {name: report[name] for name in set(gold) | set(predicted)}))

    def multi_label(self) -> list[str]:
        """Sets of labels: scikit-learn."""
        names = ["x", "y", "z", "\u00e9"]
        count = self.random.randint(1, 60)
        gold, predicted = ([[name for name in names if self.random.random() < 0.4] for _ in range(count)] for _ in range(2))
        gold[0] = gold[0] or ["x"]
        got = self.rows("multi-label", gold, predicted)
        matrix = MultiLabelBinarizer().fit(gold + predicted)
        gold, predicted = matrix.transform(gold), matrix.transform(predicted)
        want = {"accuracy": metrics.accuracy_score(gold, predicted), "hamming_loss": metrics.hamming_loss(gold, predicted)}
        for average in ("micro", "macro", "weighted", "samples"):
            scores = metrics.precision_recall_fscore_support(gold, predicted, average=average, zero_division=0)
            want |= zip((f"precision_{average}", f"recall_{average}", f"f1_{average}"), scores[:3])
        return differences(got["metrics"], want)

    def regression(self) -> list[str]:
        """Numbers, with ties: scikit-learn and SciPy."""
        count = self.random.choice([2, 5, 200])
        digits = self.random.choice([0, 1, 17])
        gold = [round(self.random.gauss(0, 3), digits) for _ in range(count)]
        predicted = [round(value + self.random.gauss(0, 2), digits) for value in gold]
        got = self.rows("regression", gold, predicted)
        want: dict[str, Any] = {"mse": metrics.mean_squared_error(gold, predicted),
                                "mae": metrics.mean_absolute_error(gold, predicted)}
        for name, function in (("pearson", stats.pearsonr), ("spearmanr", stats.spearmanr)):
            value = float(function(gold, predicted).statistic)
            want[name] = None if math.isnan(value) else value
        return differences(got["metrics"], want)

    def tags(self, prefixes: str, count: int) -> list[str]:
        """Random tags; malformed more often than not."""
        types = ["PER", "LOC", "A-B", "\u00c4"]
        tags = [self.random.choice(prefixes) for _ in range(count)]
        return [prefix if prefix == "O" else f"{prefix}-{self.random.choice(types)}" for prefix in tags]

    def entities(self) -> list[str]:
        """Tag sequences in all schemes: seqeval."""
        wrong = []
        for name in ("lenient", "IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"):
            prefixes = {"lenient": "BIESOO"}.get(name, name.rstrip("12") + "O")
            gold = [self.tags(prefixes, self.random.randint(1, 8)) for _ in range(self.random.randint(1, 20))]
            gold[0] = {"BILOU": ["U-PER"], "IOBES": ["S-PER"], "IOE1": ["I-PER", "O"], "IOE2": ["I-PER", "E-PER"]}.get(name, ["B-PER", "O"])
            predicted = [[tag if self.random.random() < 0.6 else self.tags(prefixes, 1)[0] for tag in row] for row in gold]
            for side, path in ((gold, "gold.conll"), (predicted, "predicted.conll")):
                gap = self.random.choice([" ", "\t"])
                (self.folder / path).write_text("-DOCSTART- -X- O O\n\n" + "\n".join(
                    "".join(f"w{gap}x{gap}{tag}\n" for tag in row) for row in side), "utf-8")
            got = self.evaluate("entities", "gold.conll", "predicted.conll", "--scheme", name)
            mode = {} if name == "lenient" else {"mode": "strict", "scheme": getattr(schemes, name)}
            report = entity_report(gold, predicted, output_dict=True, zero_division=0, **mode)
            want = {}
            for average, prefix in (("micro", "overall"), ("macro", "macro"), ("weighted", "weighted")):
                row = report.pop(f"{average} avg")
                want |= {f"{prefix}_precision": row["precision"], f"{prefix}_recall": row["recall"], f"{prefix}_f1": row["f1-score"]}
            # A mean over no types at all: seqeval's NaN is 0 here, like its other divisions by zero.
            want = {key: 0.0 if math.isnan(value) else value for key, value in want.items()}
            labels = {kind: {"precision": row["precision"], "recall": row["recall"], "f1": row["f1-score"], "number": row["support"]}
                      for kind, row in report.items()}
            found = differences(got["metrics"], want) + differences(got["labels"], labels)
            if set(got["labels"]) != set(labels):
                found.append(f"types {sorted(got['labels'])} instead of {sorted(labels)}")
            wrong += [f"{name}: {line}" for line in found]
        return wrong

    def answer(self) -> str:
        """A few odd words."""
        return self.random.choice(["", " "]) + self.random.choice(["", " ", "-", ""]).join(
            word + self.random.choice(["", " ", ".", ", "]) for word in self.random.choices(WORDS, k=self.random.randint(0, 5)))

    def questions(self, least: int) -> tuple[dict[str, list[str]], dict[str, str]]:
        """Gold answers and a prediction each, often one of them in other words."""
        gold, predicted = {}, {}
        for index in range(self.random.randint(1, 60)):
            name = f"q\u00e9{index}"
            gold[name] = [self.answer() for _ in range(self.random.randint(least, 3))]
            near = self.random.choice(gold[name] or [""])
            predicted[name] = self.random.choice([near, near.upper(), "the " + near, self.answer(), ""])
        return gold, predicted

    def write_squad(self, gold: dict[str, list[str]], predicted: dict[str, str], version: str) -> None:
        """The official formats."""
        qas = [{"id": name, "question": "?", "answers": [{"text": text, "answer_start": 0} for text in answers]}
               for name, answers in gold.items()]
        half = len(qas) // 2
        data = {"version": version, "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": part}]} for part in (qas[:half], qas[half:])]}
        (self.folder / "gold.json").write_text(json.dumps(data), "utf-8")
        (self.folder / "predicted.json").write_text(json.dumps(predicted, ensure_ascii=False), "utf-8")

    def squad1(self) -> list[str]:
        """SQuAD 1.1."""
        gold, predicted = self.questions(1)
        self.write_squad(gold, predicted, "1.1")
        got = self.evaluate("squad", "gold.json", "predicted.json")
        return differences(got["metrics"], best_answers(gold, predicted, squad_form))

    def squad2(self) -> list[str]:
        """SQuAD 2.0, with no-answer probabilities that tie: Transformers."""
        gold, predicted = self.questions(0)
        self.write_squad(gold, predicted, "v2.0")
        more: list = []
        none = None
        threshold = self.random.choice([1.0, 0.5])
        if self.random.random() < 0.7:
            none = {name: round(self.random.random(), 1) for name in predicted}
            (self.folder / "none.json").write_text(json.dumps(none), "utf-8")
            more = ["--no-answer-probabilities", self.folder / "none.json", "--no-answer-threshold", threshold]
        got = self.evaluate("squad", "gold.json", "predicted.json", *more)
        examples = [SimpleNamespace(qas_id=name, answers=[{"text": text} for text in answers]) for name, answers in gold.items()]
        want = dict(squad_evaluate(examples, predicted, none, threshold if none else 1.0))
        if none is None:  # nothing to choose a threshold by
            want = {key: value for key, value in want.items() if not key.startswith("best_")}
        return differences(got["metrics"], want)

    def triviaqa(self) -> list[str]:
        """TriviaQA, with aliases of people that are not normal forms."""
        gold, predicted = self.questions(1)
        data = {"Domain": "Wikipedia", "Data": [
            {"QuestionId": name, "Answer": {"NormalizedAliases": [trivia_form(text) for text in answers[1:]], "HumanAnswers": answers[:1]}}
            for name, answers in gold.items()]}
        (self.folder / "gold.json").write_text(json.dumps(data), "utf-8")
        (self.folder / "predicted.json").write_text(json.dumps(predicted), "utf-8")
        got = self.evaluate("triviaqa", "gold.json", "predicted.json")
        return differences(got["metrics"], best_answers(gold, predicted, trivia_form))

    def ranking(self) -> list[str]:
        """Rankings with ties and grades: pytrec_eval, and scikit-learn's nDCG where nothing ties."""
        documents = [f"d{index}" for index in range(30)]
        cuts = [1, 3, 10, 100]
        judged = {f"q{index}": {name: self.random.choice([0, 0, 1, 2, 3, -1]) for name in self.random.sample(documents, self.random.randint(1, 20))}
                  for index in range(self.random.randint(1, 12))}
        run = {query: {name: round(self.random.random(), self.random.choice([1, 9])) for name in self.random.sample(documents, self.random.randint(1, 25))}
               for query in judged}
        (self.folder / "qrels.txt").write_text("".join(f"{query} 0 {name} {grade}\n" for query, of_query in judged.items() for name, grade in of_query.items()), "utf-8")
        (self.folder / "run.txt").write_text("".join(f"{query} Q0 {name} 1 {score} x\n" for query, of_query in run.items() for name, score in of_query.items()), "utf-8")
        got = self.evaluate("ranking", "qrels.txt", "run.txt", "--cuts", ",".join(map(str, cuts)))
        text = ",".join(map(str, cuts))
        names = {"ndcg", "map", "recip_rank", f"ndcg_cut.{text}", f"recall.{text}", f"P.{text}", f"map_cut.{text}"}
        of_queries = pytrec_eval.RelevanceEvaluator(judged, names).evaluate(run)
        keys = next(iter(of_queries.values()))
        want = {key: float(np.mean([of_query[key] for of_query in of_queries.values()])) for key in keys}
        wrong = differences(got["metrics"], want)
        return wrong + self.ranking_of_all(documents)

    def ranking_of_all(self, documents: list[str]) -> list[str]:
        """One query that ranks all that is judged."""
        grades = [self.random.randint(0, 3) for _ in documents]
        scores = self.random.sample(range(1000), len(documents))
        if not any(grades):
            return []
        write_lines(self.folder / "qrels.jsonl", [{"query": "q", "document": name, "relevance": grade} for name, grade in zip(documents, grades)])
        write_lines(self.folder / "run.jsonl", [{"query": "q", "document": name, "score": score} for name, score in zip(documents, scores)])
        got = self.evaluate("ranking", "qrels.jsonl", "run.jsonl", "--cuts", "7")
        return differences(got["metrics"], {"ndcg": metrics.ndcg_score([grades], [scores]), "ndcg_cut_7": metrics.ndcg_score([grades], [scores], k=7)})


def squad_form(text: str) -> str:
    """SQuAD's rules: lower case, ASCII punctuation away, articles to spaces, white space."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def trivia_form(text: str) -> str:
    """TriviaQA's rules: punctuation and four quotation marks to spaces, then as SQuAD's."""
    marks = string.punctuation + "\u2018\u2019\u00b4`"
    text = "".join(" " if letter in marks else letter for letter in text.replace("_", " ").lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def best_answers(gold: dict[str, list[str]], predicted: dict[str, str], form: Any) -> dict[str, float]:
    """Percentages of exact matches and of F1 over words, the best answer of each question."""
    exact = f1 = 0.0
    for name, answers in gold.items():
        words = form(predicted[name]).split()
        exact += max(form(answer) == form(predicted[name]) for answer in answers)
        best = 0.0
        for answer in answers:
            wanted = form(answer).split()
            same = sum((collections.Counter(words) & collections.Counter(wanted)).values())
            if same:
                precision, recall = same / len(words), same / len(wanted)
                best = max(best, 2 * precision * recall / (precision + recall))
        f1 += best
    return {"exact_match": 100.0 * exact / len(gold), "f1": 100.0 * f1 / len(gold)}


def every_character(binary: str, folder: Path) -> list[str]:
    """Each assigned character inside an answer, beside its lower case, in both rules: equal where Python says so."""
    wrong = []
    case = Case(binary, folder, 0)
    codes = [code for code in range(1, 0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
    for title, around in (("alone", "{}"), ("behind a letter", "x{}"), ("around an article", "{}a{}"), ("behind a sigma", "x\u03a3{}"),
                          ("between a sigma and a letter", "x\u03a3{}y")):
        predicted, gold = {}, {}
        for code in codes:
            text = around.replace("{}", chr(code))
            predicted[f"{code:x}"] = text
            gold[f"{code:x}"] = [squad_form(text)]
        case.write_squad(gold, predicted, "1.1")
        for task in ("squad", "triviaqa"):
            if task == "triviaqa":
                data = {"Data": [{"QuestionId": name, "Answer": {"NormalizedAliases": [trivia_form(text)]}} for name, text in predicted.items()]}
                (folder / "gold.json").write_text(json.dumps(data), "utf-8")
            got = case.evaluate(task, "gold.json", "predicted.json")["metrics"]["exact_match"]
            if got != 100.0:
                wrong.append(f"{title}, {task}: {round((100.0 - got) / 100 * len(codes))} characters have another normal form")
    return wrong


def main() -> int:
    """Runs the cases."""
    options = common.parser(__doc__, cases=20).parse_args()
    warnings.simplefilter("ignore")
    report = common.Report("metrics", options)
    kinds = ("classification", "multi_label", "regression", "entities", "squad1", "squad2", "triviaqa", "ranking")
    for seed in range(options.seed, options.seed + options.cases):
        with common.Scratch(options, f"metrics_{seed}") as scratch:
            case = Case(options.binary, scratch.path, seed)
            for kind in kinds:
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        wrong = getattr(case, kind)()
                except common.CommandFailed as error:
                    wrong = [str(error)]
                scratch.failed |= bool(wrong)
                report.add(seed, kind, wrong)
    with common.Scratch(options, "metrics_characters") as scratch:
        wrong = every_character(options.binary, scratch.path)
        scratch.failed = bool(wrong)
        report.add(options.seed, "every character", wrong)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
