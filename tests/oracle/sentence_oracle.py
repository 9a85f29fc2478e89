#!/usr/bin/env python3
"""`longformer embed` beside sentence-transformers: random encoders with random modules and prompts behind them.

Directories are written by the package (5.7), or rewritten as versions 2 to 4 wrote them (a flag a pooling mode, old class
paths) and as version 6 names its classes. BERT and RoBERTa also after a step of training.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models as token_models, normalizers, pre_tokenizers, processors, trainers

import common
import random_text

warnings.filterwarnings("ignore")
from sentence_transformers import SentenceTransformer, models  # noqa: E402

logging.disable(logging.WARNING)
MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
FLAGS = {"cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens", "mean": "pooling_mode_mean_tokens",
         "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
         "weightedmean": "pooling_mode_weightedmean_tokens", "lasttoken": "pooling_mode_lasttoken"}
ACTIVATIONS = [torch.nn.Tanh(), torch.nn.Identity(), torch.nn.ReLU(), torch.nn.GELU(), torch.nn.SiLU(),
               torch.nn.Sigmoid()]
WORDS = ["query", "passage", "search", "fox", "night", "barn", "the", "a", "in", "corn", "rain", "river", ":", ".",
         "long", "old", "##s", "##ing", "represent", "text"]
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
CORPUS = ["the fox sleeps in the barn at night", "a long old river runs in the rain", "search query: text of a passage: corn",
          "represent the text: foxes, barns and rivers."] * 4


def word_piece() -> transformers.PreTrainedTokenizerFast:
    """BERT's: the prompt's last space leaves no token."""
    words = random_text.SPECIALS + WORDS
    ids = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(token_models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    return transformers.BertTokenizerFast(tokenizer_object=tokenizer, model_max_length=512)


def byte_level() -> transformers.PreTrainedTokenizerFast:
    """RoBERTa's: a space joins the word behind it."""
    tokenizer = Tokenizer(token_models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=320, show_progress=False, special_tokens=FAIRSEQ, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return transformers.RobertaTokenizerFast(tokenizer_object=tokenizer, model_max_length=512)


def unigram() -> transformers.PreTrainedTokenizerFast:
    """XLM-R's: a space before a word that is not a piece is a token of its own."""
    tokenizer = Tokenizer(token_models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(CORPUS, trainers.UnigramTrainer(
        vocab_size=60, show_progress=False, special_tokens=FAIRSEQ, unk_token="<unk>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=512, bos_token="<s>", eos_token="</s>", cls_token="<s>",
        sep_token="</s>", pad_token="<pad>", unk_token="<unk>")


def write_encoder(rng: np.random.Generator, folder: Path) -> str:
    """A small BERT, RoBERTa or XLM-R with its kind of tokenizer, as transformers saves them."""
    kind = str(rng.choice(["bert", "roberta", "xlm-roberta"]))
    fast = {"bert": word_piece, "roberta": byte_level, "xlm-roberta": unigram}[kind]()
    heads = int(rng.integers(1, 4))
    hidden = heads * int(rng.choice([8, 16, 20]))
    classes = {"bert": (transformers.BertConfig, transformers.BertModel),
               "roberta": (transformers.RobertaConfig, transformers.RobertaModel),
               "xlm-roberta": (transformers.XLMRobertaConfig, transformers.XLMRobertaModel)}
    config_class, model_class = classes[kind]
    config = config_class(
        vocab_size=len(fast), hidden_size=hidden, num_hidden_layers=int(rng.integers(1, 3)),
        num_attention_heads=heads, intermediate_size=2 * hidden, max_position_embeddings=514, initializer_range=0.1,
        pad_token_id=fast.pad_token_id)
    torch.manual_seed(int(rng.integers(1 << 30)))
    model_class(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return kind


def random_modules(rng: np.random.Generator, encoder: Path) -> tuple[list, bool, list[str]]:
    """Transformer, pooling, and up to three modules behind it."""
    transformer = models.Transformer(str(encoder))
    size = transformer.auto_model.config.hidden_size
    count = int(rng.choice([1, 1, 1, 2, 3]))
    modes = [str(mode) for mode in rng.choice(MODES, count, replace=False)]
    modes.sort(key=MODES.index)
    include_prompt = bool(rng.random() < 0.6)
    modules = [transformer, models.Pooling(size, pooling_mode=modes if count > 1 else modes[0],
                                           include_prompt=include_prompt)]
    size *= count
    for kind in rng.choice(["dense", "norm", "dropout", "none"], int(rng.integers(0, 4))):
        if kind == "dense":
            out = int(rng.choice([size, rng.integers(3, 40)]))
            modules.append(models.Dense(size, out, bias=bool(rng.random() < 0.7),
                                        activation_function=ACTIVATIONS[int(rng.integers(len(ACTIVATIONS)))]))
            size = out
        elif kind == "norm":
            modules.append(models.LayerNorm(size))
        elif kind == "dropout":
            modules.append(models.Dropout(0.2))
    if rng.random() < 0.6:
        modules.append(models.Normalize())
    return modules, include_prompt, modes


def rewrite(rng: np.random.Generator, folder: Path) -> str:
    """Sometimes turns the files into those of another version of the package."""
    style = str(rng.choice(["as saved", "old", "version 6"]))
    if style == "as saved":
        return style
    entries = json.loads((folder / "modules.json").read_text())
    for entry in entries:
        kind = entry["type"].split(".")[-1]
        entry["type"] = (f"sentence_transformers.models.{kind}" if style == "old" else
                         f"sentence_transformers.sentence_transformer.modules.{kind.lower()}.{kind}")
        if kind == "Pooling" and style == "old":
            path = folder / entry["path"] / "config.json"
            config = json.loads(path.read_text())
            names = config.pop("pooling_mode")
            names = [names] if isinstance(names, str) else names
            config.update({flag: mode in names for mode, flag in FLAGS.items()})
            config["word_embedding_dimension"] = config.pop("embedding_dimension")
            path.write_text(json.dumps(config))
    (folder / "modules.json").write_text(json.dumps(entries))
    return style


def random_prompts(rng: np.random.Generator) -> tuple[dict[str, str], str | None]:
    """Prompts as published models have them, or none."""
    if rng.random() < 0.3:
        return {}, None
    prompts = {"query": "query: ", "passage": "passage: "}
    if rng.random() < 0.4:
        prompts["represent"] = "represent the text: "
    default = str(rng.choice(list(prompts))) if rng.random() < 0.4 else None
    return prompts, default


def one_case(options, report: common.Report, seed: int) -> None:
    """One model; some texts as documents, as queries, and under each named prompt."""
    rng = np.random.default_rng(seed)
    with common.Scratch(options, f"sentence_{seed}") as scratch:
        kind = write_encoder(rng, scratch.path / "encoder")
        modules, include_prompt, modes = random_modules(rng, scratch.path / "encoder")
        prompts, default = random_prompts(rng)
        model = SentenceTransformer(modules=modules, device="cpu", prompts=prompts, default_prompt_name=default)
        model.eval()
        folder = scratch.path / "model"
        model.save(str(folder), create_model_card=False, safe_serialization=bool(rng.random() < 0.7))
        texts = [" ".join(str(word) for word in rng.choice(WORDS, int(rng.integers(1, 40)))) for _ in range(3)]
        files = []
        for index, text in enumerate(texts):
            files.append(scratch.path / f"{index}.txt")
            files[-1].write_text(text)
        wrong, ratio = ([], 0.0) if kind == "xlm-roberta" else compare_trained(options, folder, scratch.path, prompts, texts, files)
        style = rewrite(rng, folder)
        differences, worst = compare_embeddings(options, model, folder, prompts, texts, files)
        wrong, ratio = wrong + differences, max(ratio, worst)
        scratch.failed = bool(wrong)
        kinds = [type(module).__name__ for module in modules[2:]]
        report.add(seed, f"{kind}, {style}, pooling {modes}, include_prompt {include_prompt}, {kinds}, prompts "
                   f"{list(prompts)} default {default}", wrong, ratio)


def compare_embeddings(options, model: SentenceTransformer, folder: Path, prompts: dict[str, str], texts: list[str],
                       files: list[Path]) -> tuple[list[str], float]:
    """`embed` beside the package on texts as documents, as queries, and under each named prompt."""
    calls = [([], model.encode_document(texts)), (["--prompt", "fox: "], model.encode(texts, prompt="fox: "))]
    if "query" in prompts:
        calls.append((["--prompt", "query"], model.encode_query(texts)))
    if "represent" in prompts:
        calls.append((["--prompt", "represent"], model.encode(texts, prompt_name="represent")))
    wrong, ratio = [], 0.0
    for arguments, want in calls:
        try:
            result = common.run_command(options.binary, "embed", "--model", folder, *arguments, *files)
            rows = [line["embedding"] for line in common.json_lines(result.stdout)]
            got = {"embedding": np.array(rows, np.float32)}
            worst, lines = common.compare(got, {"embedding": np.asarray(want, np.float32)},
                                          common.BASE_TOLERANCE)
            ratio = max(ratio, worst)
            wrong += [f"{arguments}: {line}" for line in lines]
        except common.CommandFailed as failure:
            wrong.append(f"{arguments}: {failure}")
    return wrong, ratio


def compare_trained(options, folder: Path, scratch: Path, prompts: dict[str, str], texts: list[str],
                    files: list[Path]) -> tuple[list[str], float]:
    """The same after a step of training, with modules and prompts as they were."""
    try:
        common.run_command(options.binary, "train", "mlm", "--model", folder, "--output", scratch / "run", "--max-steps", 1,
                           "--learning-rate", 0.1, "--optim", "sgd", *files)
    except common.CommandFailed as failure:
        return [f"train: {failure}"], 0.0
    model = SentenceTransformer(str(scratch / "run" / "model"), device="cpu")
    model.eval()
    wrong, ratio = compare_embeddings(options, model, scratch / "run" / "model", prompts, texts, files)
    before = SentenceTransformer(str(folder), device="cpu").eval()
    if np.array_equal(before.encode(texts), model.encode(texts)):
        wrong.append("training changed nothing")
    return [f"trained: {line}" for line in wrong], ratio


def main() -> int:
    options = common.parser(__doc__, cases=20).parse_args()
    report = common.Report("sentence", options)
    for seed in range(options.seed, options.seed + options.cases):
        one_case(options, report, seed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
