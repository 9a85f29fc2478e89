"""Vectors of texts and of passages: from the command (`longformer embed`), or from the reference implementation.

Both give unit vectors, [n, width] float32. Passages are always cut by the command, so that the two can be compared
vector by vector.
"""

import hashlib
import json
import pathlib
import subprocess
import tempfile

import numpy


def unit(vectors):
    norms = numpy.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / numpy.maximum(norms, 1e-12)


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F32": numpy.float32, "I64": numpy.int64}
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = numpy.frombuffer(
                data[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


class Command:
    """`longformer` with one model. Results are kept below `cache`, keyed by program, model, options and texts.

    `threads` are options that change no number, `options` are others of `longformer embed`.
    """

    def __init__(self, binary, model, cache, threads, options=()):
        self.binary, self.model, self.threads = str(binary), str(model), threads
        self.options = tuple(options)
        self.cache = pathlib.Path(cache) / "vectors"
        self.identity = hashlib.sha256()
        for file in [pathlib.Path(binary), *sorted(pathlib.Path(model).rglob("*"))]:
            if file.is_file():
                self.identity.update(hashlib.sha256(file.read_bytes()).digest())

    def _embed(self, texts, *more):
        options = (*self.options, *more)
        key = self.identity.copy()
        key.update(json.dumps([options, texts]).encode())
        kept = self.cache / f"{key.hexdigest()}.npz"
        if kept.is_file():
            with numpy.load(kept) as arrays:
                return {name: arrays[name] for name in arrays.files}
        tensors = {}
        with tempfile.TemporaryDirectory() as folder:
            # Equal texts would count once: each is written once, and looked up by its number.
            for number, text in enumerate(texts):
                pathlib.Path(folder, f"{number:06}.txt").write_text(text, encoding="utf-8", newline="")
            names = [f"{number:06}.txt" for number in range(len(texts))]
            for begin in range(0, len(names), 2000):  # bounds the command line
                output = str(pathlib.Path(folder, "out.safetensors"))
                result = subprocess.run(
                    [self.binary, "embed", "--model", self.model, *self.threads, *options,
                     "--output", output, *names[begin:begin + 2000]],
                    cwd=folder, capture_output=True, text=True, check=False)
                if result.returncode != 0:
                    raise SystemExit(f"longformer embed failed ({result.returncode}): {result.stderr.strip()}")
                tensors.update(read_safetensors(output))
        kept.parent.mkdir(parents=True, exist_ok=True)
        temporary = kept.with_suffix(".part.npz")
        numpy.savez(temporary, **tensors)
        temporary.rename(kept)
        return tensors

    def embed(self, texts):
        """One vector a text."""
        distinct = list(dict.fromkeys(texts))
        tensors = self._embed(distinct)
        row = {text: tensors[f"{number:06}.txt"] for number, text in enumerate(distinct)}
        return unit(numpy.stack([row[text] for text in texts]))

    def passages(self, texts, tokens, context):
        """[(byte ranges [n, 2], vectors [n, width]) a text]."""
        tensors = self._embed(texts, "--passages", "--passage-tokens", str(tokens),
                              "--context", context)
        return [(tensors[f"{number:06}.txt#bytes"], unit(tensors[f"{number:06}.txt"]))
                for number in range(len(texts))]

    def tokens(self, text):
        """Byte ranges of the tokens of a text, special tokens left out, and whether each starts a word."""
        result = subprocess.run(
            [self.binary, "tokenize", "--model", self.model, "--json", "--offsets", "byte", "-"],
            input=text, capture_output=True, text=True, encoding="utf-8", check=True)
        record = json.loads(result.stdout)
        kept = [(tuple(offsets), not token.startswith("##"))
                for offsets, token in zip(record["offsets"], record["tokens"], strict=True)
                if offsets[1] > offsets[0]]
        return [offsets for offsets, _ in kept], [start for _, start in kept]


class Reference:
    """The same from Transformers and PyTorch, on the ranges that the command cut. Slow: for a cross-check.

    `smallest_cosine` is that of the least equal pair of vectors, ours and theirs, so far.
    """

    def __init__(self, command):
        import tokenizers
        import torch
        import transformers
        self.torch, self.command, self.smallest_cosine = torch, command, 1.0
        model = pathlib.Path(command.model)
        self.tokenizer = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
        self.window = config.get("attention_window")
        family = transformers.LongformerModel if self.window else transformers.BertModel
        self.model = family.from_pretrained(model, add_pooling_layer=False).eval()
        offset = config["pad_token_id"] + 1 if self.window else 0
        self.capacity = config["max_position_embeddings"] - offset - 2  # without [CLS] and [SEP]
        self.first, self.last = (self.tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))

    def _compare(self, ours, theirs):
        self.smallest_cosine = min(self.smallest_cosine, float((ours * theirs).sum(axis=1).min()))
        return theirs

    def _states(self, ids):
        with self.torch.no_grad():
            inputs = self.torch.tensor([[self.first, *ids, self.last]])
            return self.model(inputs).last_hidden_state[0].numpy()

    def _windows(self, count):
        """As the command reads a long text: equal windows that overlap, each token from the one it is deeper in."""
        if count <= self.capacity:
            return [(0, count, 0, count)]
        reach = max(self.window) // 2 if self.window else self.capacity
        overlap = min(max(self.capacity // 8, reach), self.capacity // 4)
        number = -(-(count - overlap) // (self.capacity - overlap))
        size = -(-(count + (number - 1) * overlap) // number)
        starts = [i * (count - size) // (number - 1) for i in range(number)]
        seams = [0, *((starts[i + 1] + starts[i] + size) // 2 for i in range(number - 1)), count]
        return [(start, start + size, seams[i], seams[i + 1]) for i, start in enumerate(starts)]

    def _encode(self, text):
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def embed(self, texts):
        vectors = []
        for text in texts:
            ids, _ = self._encode(text)
            windows = self._windows(len(ids))
            parts = []
            for index, (begin, end, keep_begin, keep_end) in enumerate(windows):
                states = self._states(ids[begin:end])
                first = 0 if index == 0 else 1 + keep_begin - begin
                last = len(states) if index + 1 == len(windows) else 1 + keep_end - begin
                parts.append(states[first:last])
            vectors.append(numpy.concatenate(parts).mean(axis=0))
        return self._compare(self.command.embed(texts), unit(numpy.stack(vectors)))

    def passages(self, texts, tokens, context):
        results = []
        for text, (ranges, ours) in zip(texts, self.command.passages(texts, tokens, context), strict=True):
            bytes_before = numpy.cumsum([0, *(len(letter.encode()) for letter in text)])
            ids, offsets = self._encode(text)
            begins = bytes_before[[begin for begin, _ in offsets]]
            spans = [numpy.searchsorted(begins, edges) for edges in ranges]
            if context == "passage":
                vectors = [self._states(ids[begin:end]).mean(axis=0) for begin, end in spans]
            else:
                states = numpy.concatenate([
                    self._states(ids[begin:end])[1 + keep_begin - begin:1 + keep_end - begin]
                    for begin, end, keep_begin, keep_end in self._windows(len(ids))])
                vectors = [states[begin:end].mean(axis=0) for begin, end in spans]
            results.append((ranges, self._compare(ours, unit(numpy.stack(vectors)))))
        return results

    def tokens(self, text):
        return self.command.tokens(text)
