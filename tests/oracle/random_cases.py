"""Random configurations, checkpoints on disk and inputs, each a function of one generator."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file

import reference

ACTIVATIONS = ["gelu", "gelu", "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu",
               "silu", "swish", "tanh"]
HEAD_SIZES = [8, 12, 16, 20, 24, 32, 32, 40, 48, 64, 64, 80, 96, 128]
CLASSES = {
    "longformer": ["LongformerForMaskedLM", "LongformerForSequenceClassification",
                   "LongformerForTokenClassification", "LongformerForQuestionAnswering",
                   "LongformerForMultipleChoice"],
    "bert": ["BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification",
             "BertForTokenClassification", "BertForQuestionAnswering", "BertForMultipleChoice"],
}
for _type, _class in (("roberta", "Roberta"), ("xlm-roberta", "XLMRoberta"), ("camembert", "Camembert")):
    CLASSES[_type] = [f"{_class}For{_task}" for _task in ("MaskedLM", "SequenceClassification",
                                                          "TokenClassification", "QuestionAnswering")]
CLASSES["modernbert"] = ["ModernBertForMaskedLM", "ModernBertForSequenceClassification",
                         "ModernBertForTokenClassification"]
BARE = {"longformer": "LongformerModel", "bert": "BertModel", "roberta": "RobertaModel",
        "xlm-roberta": "XLMRobertaModel", "camembert": "CamembertModel", "modernbert": "ModernBertModel"}
ROBERTA = ("roberta", "xlm-roberta", "camembert")
STORAGES = ["plain", "plain", "sharded", "bfloat16", "float16", "foreign"]


def windows(rng: np.random.Generator, layers: int, length: int) -> list[int]:
    """A two-sided window a layer, from 4 (the reference fails at 2) to more than the text.

    Their least common multiple bounds what the reference must pad to.
    """
    while True:
        top = int(rng.choice([6, 16, 64, max(4, 2 * length)]))
        windows = [2 * int(rng.integers(2, top // 2 + 1)) for _ in range(layers)]
        if rng.random() < 0.3:
            windows = windows[:1] * layers
        if math.lcm(*windows) <= 2 * length + 600:
            return windows


def random_length(rng: np.random.Generator) -> int:
    """Tokens of a case: one, few, around tile borders, hundreds."""
    kind = rng.choice(5, p=[0.08, 0.22, 0.35, 0.2, 0.15])
    if kind == 0:
        return 1
    if kind == 3:
        return int(rng.choice([16, 32, 64, 128, 256])) + int(rng.integers(-1, 2))
    low, high = {1: (2, 12), 2: (12, 80), 4: (80, 400)}[kind]
    return int(rng.integers(low, high))


def random_config(rng: np.random.Generator, family: str, length: int, small: bool) -> transformers.PretrainedConfig:
    """A configuration for texts of `length` tokens; `small` keeps it cheap for long ones."""
    layers = 1 if small else int(rng.integers(1, 5))
    head_size = int(rng.choice(HEAD_SIZES if not small else [16, 32, 64]))
    if not small and rng.random() < 0.1:
        head_size = int(rng.integers(1, 70))
    heads = int(rng.integers(1, 3 if small else 5 if head_size <= 64 else 4))
    hidden = head_size * heads
    vocabulary = int(rng.integers(20, 200))
    pad = int(rng.choice([0, 1, rng.integers(2, min(vocabulary, 12))]))
    if family == "modernbert":
        return _modernbert_config(rng, layers, head_size + head_size % 2, heads, vocabulary, length)
    reserved = 0 if family == "bert" else pad + 1
    spare = 0 if rng.random() < 0.4 else int(rng.integers(1, 40))
    options = {
        "vocab_size": vocabulary, "hidden_size": hidden, "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": int(rng.choice([4 * hidden, 2 * hidden, rng.integers(1, 3 * hidden + 2)])),
        "hidden_act": str(rng.choice(ACTIVATIONS)), "max_position_embeddings": reserved + length + spare,
        "type_vocab_size": int(rng.integers(1, 3)), "pad_token_id": pad,
        "layer_norm_eps": float(rng.choice([1e-12, 1e-5])),
    }
    # Padding rows of the reference's tables must exist, also in tables for very short texts.
    options["max_position_embeddings"] = max(options["max_position_embeddings"], pad + 1)
    if family != "longformer":
        kind = reference.model_class(BARE[family]).config_class
        return kind(**options, attn_implementation="eager")
    return transformers.LongformerConfig(**options, attention_window=windows(rng, layers, length))


def _modernbert_config(rng: np.random.Generator, layers: int, head_size: int, heads: int, vocabulary: int,
                       length: int) -> transformers.PretrainedConfig:
    """All switches, windows of odd and even width from the token alone to more than the text."""
    hidden = head_size * heads
    specials = {name: int(rng.integers(vocabulary)) for name in
                ("pad_token_id", "cls_token_id", "bos_token_id", "sep_token_id", "eos_token_id")}
    return transformers.ModernBertConfig(
        **specials, vocab_size=vocabulary, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=int(rng.choice([2 * hidden, hidden, rng.integers(1, 3 * hidden + 2)])),
        hidden_activation=str(rng.choice(ACTIVATIONS)), max_position_embeddings=length + int(rng.integers(0, 40)),
        norm_eps=float(rng.choice([1e-12, 1e-5])), norm_bias=bool(rng.random() < 0.5),
        attention_bias=bool(rng.random() < 0.5), mlp_bias=bool(rng.random() < 0.5),
        global_attn_every_n_layers=int(rng.integers(1, 4)),
        local_attention=int(rng.integers(0, rng.choice([4, 16, 80, 2 * length + 2]))),
        global_rope_theta=float(rng.choice([160000.0, 10000.0, 500.0])),
        local_rope_theta=rng.choice([10000.0, 100.0, None]), attn_implementation="eager")


def random_model(rng: np.random.Generator, family: str, config: transformers.PretrainedConfig):
    """A model with random weights: bare, bare without pooler, or with a task head."""
    draw = rng.random()
    if draw < 0.5 or (draw < 0.6 and family == "modernbert"):  # which has no pooler
        model = reference.model_class(BARE[family])(config)
    elif draw < 0.6:
        model = reference.model_class(BARE[family])(config, add_pooling_layer=False)
    else:
        model = reference.model_class(str(rng.choice(CLASSES[family])))(config)
    reference.fill_random(model, rng, float(rng.choice([0.02, 0.05, 0.1])))
    return model.eval()


def write_safetensors(path: Path, tensors: dict[str, np.ndarray], order: list[str]) -> None:
    """The format by hand: tensors in any order, no padding of the header, so that the data lies unaligned."""
    names = {"float32": "F32", "int64": "I64"}
    header, offset = {}, 0
    for name in order:
        size = tensors[name].nbytes
        header[name] = {"shape": list(tensors[name].shape), "data_offsets": [offset, offset + size],
                        "dtype": names[str(tensors[name].dtype)]}
        offset += size
    text = json.dumps(header).encode()
    if (8 + len(text)) % 4 == 0:
        text += b" "
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(np.ascontiguousarray(tensors[name]).tobytes())


def make_foreign(rng: np.random.Generator, model: torch.nn.Module, folder: Path, changes: set[str]) -> None:
    """Rewrites model.safetensors with names and layout as old or other tools write them.

    "gamma": old names of norms; "buffer": a position_ids buffer; "no_global": no projections of global tokens, whose
    place the local ones take (in `model` too); "module."/"model.": a wrapper prefix. Always: any order, unaligned.
    """
    path = folder / "model.safetensors"
    tensors = load_file(path)
    prefix = "" if reference.bare(model) is model else model.base_model_prefix + "."
    if "trainer" in changes:
        base = {name: name.removeprefix(prefix) for name in tensors}
        tensors = {("bert.encoder." if base[name].startswith("layers.") else "bert.") + base[name]:
                   value for name, value in tensors.items()}
    if "gamma" in changes:
        tensors = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"):
                   value for name, value in tensors.items()}
    if "buffer" in changes:
        positions = model.config.max_position_embeddings
        tensors[prefix + "embeddings.position_ids"] = np.arange(positions)[None]
    if "no_global" in changes:
        tensors = {name: value for name, value in tensors.items() if "_global." not in name}
        for layer in reference.bare(model).encoder.layer:
            own = layer.attention.self
            for kind in ("query", "key", "value"):
                getattr(own, kind + "_global").load_state_dict(getattr(own, kind).state_dict())
    for wrapper in changes & {"module.", "model."}:
        tensors = {wrapper + name: value for name, value in tensors.items()}
    order = list(tensors)
    rng.shuffle(order)
    write_safetensors(path, tensors, order)


def _foreign_changes(rng: np.random.Generator, family: str) -> set[str]:
    if family == "modernbert":
        return {str(rng.choice(["module.", "trainer"]))}
    changes = {change for change in ("gamma", "buffer") if rng.random() < 0.6}
    if family == "longformer" and rng.random() < 0.4:
        changes.add("no_global")
    if rng.random() < 0.4:
        changes.add(str(rng.choice(["module.", "model."])))
    return changes


def _rewrite_config(rng: np.random.Generator, model: torch.nn.Module, folder: Path) -> None:
    """Windows as a number where they agree; fields that equal the default of the class left out."""
    path = folder / "config.json"
    fields = json.loads(path.read_text())
    windows = fields.get("attention_window")
    if isinstance(windows, list) and len(set(windows)) == 1 and rng.random() < 0.5:
        fields["attention_window"] = windows[0]
    if fields["model_type"] == "modernbert" and rng.random() < 0.5:
        _say_it_as_transformers_5_does(fields)
    if "torch_dtype" not in fields and "dtype" in fields and rng.random() < 0.3:
        fields["torch_dtype"] = fields.pop("dtype")
    if rng.random() < 0.5:
        defaults = type(model.config)().to_dict()
        fields = {key: value for key, value in fields.items()
                  if key in ("model_type", "architectures", "attention_window") or defaults.get(key) != value}
    path.write_text(json.dumps(fields, indent=2))


def write_as_transformers_5(folder: Path) -> None:
    """ModernBERT's config.json as the newer writer has it."""
    fields = json.loads((folder / "config.json").read_text())
    _say_it_as_transformers_5_does(fields)
    (folder / "config.json").write_text(json.dumps(fields, indent=2))


def _say_it_as_transformers_5_does(fields: dict) -> None:
    """ModernBERT's layers and angles under the names of the newer writer."""
    every, wide = fields.pop("global_attn_every_n_layers"), fields.pop("global_rope_theta")
    near = fields.pop("local_rope_theta")
    fields["layer_types"] = ["sliding_attention" if layer % every else "full_attention"
                             for layer in range(fields["num_hidden_layers"])]
    fields["rope_parameters"] = {
        "full_attention": {"rope_type": "default", "rope_theta": wide},
        "sliding_attention": {"rope_type": "default", "rope_theta": wide if near is None else near}}


def save_weights(model: torch.nn.Module, folder: Path, storage: str) -> None:
    """Writes the checkpoint in one of STORAGES; `model` then holds the values that the file holds."""
    if storage in ("bfloat16", "float16"):
        # Rotary frequencies are buffers: not in the file, and not rounded by a class that loads it.
        buffers = {name: value.clone() for name, value in model.named_buffers()}
        model.to(getattr(torch, storage)).save_pretrained(folder)
        for name, value in model.float().named_buffers():
            value.copy_(buffers[name])
    elif storage == "sharded":
        total = sum(parameter.numel() * 4 for parameter in model.parameters())
        model.save_pretrained(folder, max_shard_size=max(total // 3, 64))
    else:
        model.save_pretrained(folder)


def save(rng: np.random.Generator, model: torch.nn.Module, folder: Path, storage: str) -> str:
    """Writes a checkpoint and varies its config; returns what was done."""
    save_weights(model, folder, storage)
    _rewrite_config(rng, model, folder)
    if storage != "foreign":
        return storage
    changes = _foreign_changes(rng, model.config.model_type)
    make_foreign(rng, model, folder, changes)
    return "+".join(["foreign", *sorted(changes)])


def _mask_row(rng: np.random.Generator, length: int) -> np.ndarray:
    """Real positions of one row: all, padding at either side, holes inside, rarely none."""
    row = np.ones(length, np.int64)
    kind = rng.choice(6, p=[0.25, 0.3, 0.15, 0.15, 0.1, 0.05])
    real = int(rng.integers(1, length + 1))
    if kind in (1, 4):
        row[real:] = 0
    if kind == 2:
        row[:length - real] = 0
    if kind in (3, 4):
        row[rng.random(length) < 0.3] = 0
    if kind == 5:
        row[:] = 0
    return row


def _global_row(rng: np.random.Generator, length: int) -> np.ndarray:
    row = np.zeros(length, np.int64)
    kind = rng.choice(6, p=[0.2, 0.2, 0.3, 0.15, 0.1, 0.05])
    if kind == 1:
        row[0] = 1
    if kind == 2:
        row[rng.integers(0, length, int(rng.integers(1, 5)))] = 1
    if kind == 3:
        row[:int(rng.integers(1, length + 1))] = 1
    if kind == 4:
        row[rng.random(length) < 0.4] = 1
    if kind == 5:
        row[:] = 1
    return row


def random_inputs(rng: np.random.Generator, config: transformers.PretrainedConfig, length: int,
                  batch: int) -> dict[str, np.ndarray]:
    """Ids and, each by chance, masks, globals, types and positions."""
    pad, shape = config.pad_token_id, (batch, length)
    real_ids = np.array([i for i in range(config.vocab_size) if i != pad])
    ids = rng.choice(real_ids, shape)
    inputs = {}
    if rng.random() < 0.8:
        mask = np.stack([_mask_row(rng, length) for _ in range(batch)])
        inputs["attention_mask"] = mask
        # Mostly padding has the padding id; the mask must win where it has another one.
        ids = np.where((mask == 0) & (rng.random(shape) < rng.choice([1.0, 1.0, 0.5, 0.0])), pad, ids)
    if rng.random() < 0.15:  # a padding id that counts as a real token
        ids[rng.random(shape) < 0.1] = pad
    inputs["input_ids"] = ids.astype(np.int64)
    if config.model_type == "longformer" and rng.random() < 0.75:
        inputs["global_attention_mask"] = np.stack([_global_row(rng, length) for _ in range(batch)])
    if config.model_type != "modernbert" and rng.random() < 0.5:
        inputs["token_type_ids"] = rng.integers(0, config.type_vocab_size, shape)
    if rng.random() < 0.25:
        inputs["position_ids"] = rng.integers(0, config.max_position_embeddings, shape)
    if config.model_type == "longformer" and "attention_mask" in inputs and rng.random() < 0.15:
        return _more_padding(inputs, pad, config.max_position_embeddings)
    return inputs


def _more_padding(inputs: dict[str, np.ndarray], pad: int, extra: int) -> dict[str, np.ndarray]:
    """Columns of padding behind every row: more than the position table has rows, which padding does not need."""
    fillers = {"input_ids": pad, "position_ids": pad}
    return {name: np.pad(value, ((0, 0), (0, extra)), constant_values=fillers.get(name, 0))
            for name, value in inputs.items()}


def describe(inputs: dict[str, np.ndarray]) -> str:
    """One line about the inputs, for a failure."""
    rows = [f"{name} {value.sum(axis=1).tolist()}" for name, value in inputs.items() if name.endswith("mask")]
    others = [name for name in ("token_type_ids", "position_ids") if name in inputs]
    return f"shape {list(inputs['input_ids'].shape)}, " + ", ".join(rows + others)
