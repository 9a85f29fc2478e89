"""Deterministic weights and ids: a value is a hash of the tensor's name and the element's index. Needs numpy only.

For tensor name s and flat row-major index i: x = (FNV-1a-32(s) + i) mod 2^32, mixed (the Murmur3 finaliser), then
(x / 2^32 - 0.5) * scale in float64; tensors named "...norm....weight" get 1 added; rounded to float32.
"""

from __future__ import annotations

import numpy as np

Tensors = dict[str, np.ndarray]


def values(name: str, shape: tuple[int, ...], scale: float) -> np.ndarray:
    """The tensor of this name and shape."""
    start = 2166136261
    for byte in name.encode():
        start = ((start ^ byte) * 16777619) & 0xFFFFFFFF
    x = (np.uint64(start) + np.arange(int(np.prod(shape)), dtype=np.uint64)) & np.uint64(0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x ^= x >> np.uint64(shift)
        x = (x * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    x ^= x >> np.uint64(16)
    result = (x.astype(np.float64) / 2.0**32 - 0.5) * scale
    if "norm" in name.lower() and name.endswith(".weight"):
        result += 1.0
    return result.reshape(shape).astype(np.float32)


def token_ids(batch: int, length: int, vocabulary: int, low: int = 3) -> np.ndarray:
    """ids[b][t] = low + (7t + 11b^2 + 5b) mod (vocabulary - low)."""
    b, t = np.arange(batch)[:, None], np.arange(length)[None]
    return low + (7 * t + 11 * b * b + 5 * b) % (vocabulary - low)


# The sizes of all synthetic known answers.
VOCABULARY, HIDDEN, LAYERS, HEADS, INNER, POSITIONS, SCALE = 40, 16, 2, 4, 32, 64, 0.6


def _linear(name: str, out: int, inner: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, inner), f"{name}.bias": (out,)}


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}


def _encoder(prefix: str, types: int, projections: list[str]) -> dict[str, tuple[int, ...]]:
    names = {f"{prefix}.embeddings.word_embeddings.weight": (VOCABULARY, HIDDEN),
             f"{prefix}.embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
             f"{prefix}.embeddings.token_type_embeddings.weight": (types, HIDDEN),
             **_norm(f"{prefix}.embeddings.LayerNorm")}
    for index in range(LAYERS):
        layer = f"{prefix}.encoder.layer.{index}"
        for projection in projections:
            names |= _linear(f"{layer}.attention.self.{projection}", HIDDEN, HIDDEN)
        names |= _linear(f"{layer}.attention.output.dense", HIDDEN, HIDDEN)
        names |= _norm(f"{layer}.attention.output.LayerNorm")
        names |= _linear(f"{layer}.intermediate.dense", INNER, HIDDEN)
        names |= _linear(f"{layer}.output.dense", HIDDEN, INNER)
        names |= _norm(f"{layer}.output.LayerNorm")
    return names


_COMMON = {"vocab_size": VOCABULARY, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
           "num_attention_heads": HEADS, "intermediate_size": INNER, "max_position_embeddings": POSITIONS,
           "hidden_act": "gelu"}


def longformer() -> tuple[dict, Tensors, Tensors]:
    """Config, weights and inputs (with globals) of the Longformer known answer, a masked language model."""
    config = {"architectures": ["LongformerForMaskedLM"], "model_type": "longformer", **_COMMON,
              "type_vocab_size": 1, "layer_norm_eps": 1e-5, "attention_window": [4, 8], "pad_token_id": 1}
    kinds = ["query", "key", "value"]
    names = _encoder("longformer", 1, kinds + [kind + "_global" for kind in kinds])
    names |= _linear("lm_head.dense", HIDDEN, HIDDEN) | _norm("lm_head.layer_norm")
    names["lm_head.bias"] = (VOCABULARY,)
    ids = token_ids(2, 13, VOCABULARY)
    mask, globals_ = np.ones_like(ids), np.zeros_like(ids)
    ids[1, 9:], mask[1, 9:] = 1, 0
    globals_[0, 0] = globals_[0, 7] = globals_[1, 2] = 1
    return config, {name: values(name, shape, SCALE) for name, shape in names.items()}, {
        "input_ids": ids, "attention_mask": mask, "global_attention_mask": globals_}


def bert() -> tuple[dict, Tensors, Tensors]:
    """Config, weights and inputs of the BERT known answer, a masked language model."""
    config = {"architectures": ["BertForMaskedLM"], "model_type": "bert", **_COMMON,
              "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0}
    names = _encoder("bert", 2, ["query", "key", "value"])
    names["cls.predictions.bias"] = (VOCABULARY,)
    names |= _linear("cls.predictions.transform.dense", HIDDEN, HIDDEN)
    names |= _norm("cls.predictions.transform.LayerNorm")
    ids = token_ids(2, 9, VOCABULARY)
    mask, types = np.ones_like(ids), np.zeros_like(ids)
    ids[1, 6:], mask[1, 6:], types[:, 5:] = 1, 0, 1
    return config, {name: values(name, shape, SCALE) for name, shape in names.items()}, {
        "input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def roberta() -> tuple[dict, Tensors, Tensors]:
    """Config, weights and inputs of the RoBERTa known answer, a masked language model."""
    config = {"architectures": ["RobertaForMaskedLM"], "model_type": "roberta", **_COMMON,
              "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}
    names = _encoder("roberta", 1, ["query", "key", "value"])
    names |= _linear("lm_head.dense", HIDDEN, HIDDEN) | _norm("lm_head.layer_norm")
    names["lm_head.bias"] = (VOCABULARY,)
    ids = token_ids(2, 9, VOCABULARY)
    mask = np.ones_like(ids)
    ids[1, 6:], mask[1, 6:] = 1, 0
    return config, {name: values(name, shape, SCALE) for name, shape in names.items()}, {
        "input_ids": ids, "attention_mask": mask}


def modernbert(biases: bool = False) -> tuple[dict, Tensors, Tensors]:
    """Config, weights and inputs of the ModernBERT known answers, without or with all bias switches."""
    layers, inner = 4, 12
    switches = {name: biases for name in ("norm_bias", "attention_bias", "mlp_bias", "classifier_bias")}
    config = {"architectures": ["ModernBertForMaskedLM"], "model_type": "modernbert", **_COMMON, **switches,
              "num_hidden_layers": layers, "num_attention_heads": 2, "intermediate_size": inner,
              "local_attention": 5, "pad_token_id": 1, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2,
              "sep_token_id": 2}
    del config["hidden_act"]
    shapes = {"model.embeddings.tok_embeddings": (VOCABULARY, HIDDEN), "model.embeddings.norm": (HIDDEN,),
              "model.final_norm": (HIDDEN,), "head.dense": (HIDDEN, HIDDEN), "head.norm": (HIDDEN,)}
    for index in range(layers):
        layer = f"model.layers.{index}."
        if index > 0:
            shapes[layer + "attn_norm"] = (HIDDEN,)
        shapes |= {layer + "attn.Wqkv": (3 * HIDDEN, HIDDEN), layer + "attn.Wo": (HIDDEN, HIDDEN),
                   layer + "mlp_norm": (HIDDEN,), layer + "mlp.Wi": (2 * inner, HIDDEN),
                   layer + "mlp.Wo": (HIDDEN, inner)}
    names = {f"{name}.weight": shape for name, shape in shapes.items()}
    if biases:
        names |= {f"{name}.bias": shape[:1] for name, shape in shapes.items() if "tok_embeddings" not in name}
    names["decoder.bias"] = (VOCABULARY,)
    ids = token_ids(2, 9, VOCABULARY)
    mask = np.ones_like(ids)
    ids[1, 6:], mask[1, 6:] = 1, 0
    return config, {name: values(name, shape, SCALE) for name, shape in names.items()}, {
        "input_ids": ids, "attention_mask": mask}
