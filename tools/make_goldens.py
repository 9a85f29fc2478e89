#!/usr/bin/env python3
"""Writes the golden models of tests/data/models: small checkpoints, inputs and what the reference gives for them.

Each case is a folder with config.json, the weights, inputs.safetensors and expected.safetensors: the outputs of the
bare encoder in float32, and in the metadata "tolerance": an element may be off by tolerance * max(1, largest
element of its tensor). Run it in an environment that has torch, transformers, safetensors and numpy:

    python tools/make_goldens.py [CASE...]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import zlib
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracle"))

import common  # noqa: E402
import fill_rule  # noqa: E402
import known_answers  # noqa: E402
import random_cases  # noqa: E402
import random_overrides  # noqa: E402
import reference  # noqa: E402

LIMIT = 64 * 1024  # bytes a file
SMALL = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 24, "max_position_embeddings": 40, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
         "hidden_act": "gelu"}


def build(rng: np.random.Generator, class_name: str, **fields):
    """A model of the reference with random weights."""
    pooler = fields.pop("pooler", True)
    kind = reference.model_class(class_name)
    if class_name.startswith("Longformer"):
        config = kind.config_class(**{**SMALL, "pad_token_id": 1, **fields})
    else:
        pad = 0 if class_name.startswith("Bert") else 1
        config = kind.config_class(**{**SMALL, "pad_token_id": pad, **fields}, attn_implementation="eager")
    model = kind(config) if pooler else kind(config, add_pooling_layer=False)
    reference.fill_random(model, rng, 0.1)
    return model.eval()


def ids_for(rng: np.random.Generator, batch: int, length: int) -> np.ndarray:
    """Real tokens: never a padding id of these cases."""
    return rng.integers(3, SMALL["vocab_size"], (batch, length))


def masked(ids: np.ndarray, rows: list[str], pad: int) -> dict[str, np.ndarray]:
    """Inputs with one pattern a row: '1' real, '0' padding with the padding id, 'h' masked with a real id."""
    table = np.array([list(row) for row in rows])
    return {"input_ids": np.where(table == "0", pad, ids), "attention_mask": (table == "1").astype(np.int64)}


def marks(rows: list[str]) -> np.ndarray:
    """A matrix of 0 and 1 from strings."""
    return np.array([[int(mark) for mark in row] for row in rows], np.int64)


# Each case: (generator) -> (model, inputs, storage). Its name is its folder.

def longformer_padding_left_right_holes(rng):
    model = build(rng, "LongformerModel", num_hidden_layers=3, attention_window=[4, 12, 6])
    inputs = masked(ids_for(rng, 4, 14), ["11111111100000", "00000111111111", "11h1011111hh11", "1" * 14], 1)
    inputs["global_attention_mask"] = marks(["10000000000000", "10000100000000", "00100010000001", "0" * 14])
    return model, inputs, "plain"


def longformer_globals_differ_by_row(rng):
    model = build(rng, "LongformerModel", attention_window=[6, 4], num_attention_heads=4)
    globals_ = marks(["0" * 15, "1" + "0" * 14, "101001000000111", "1" * 15])
    return model, {"input_ids": ids_for(rng, 4, 15), "global_attention_mask": globals_}, "plain"


def longformer_one_token(rng):
    return build(rng, "LongformerModel", attention_window=8), {"input_ids": ids_for(rng, 1, 1)}, "plain"


def longformer_positions_and_types(rng):
    model = build(rng, "LongformerModel", attention_window=[4, 4], type_vocab_size=2, layer_norm_eps=1e-12,
                  pad_token_id=0, hidden_act="gelu_new")
    ids = ids_for(rng, 2, 11)
    return model, {"input_ids": ids, "position_ids": rng.integers(0, 40, ids.shape),
                   "token_type_ids": rng.integers(0, 2, ids.shape)}, "plain"


def longformer_padding_id_inside_the_text(rng):
    model = build(rng, "LongformerModel", attention_window=[4, 8], pad_token_id=2)
    ids = ids_for(rng, 2, 12)
    ids[0, [3, 4, 9]] = ids[1, 0] = 2
    return model, {"input_ids": ids}, "plain"


def longformer_window_wider_than_the_text(rng):
    model = build(rng, "LongformerModel", attention_window=[64, 32], num_attention_heads=1)
    inputs = masked(ids_for(rng, 2, 9), ["111111111", "111110000"], 1)
    return model, inputs, "plain"


def longformer_sharded(rng):
    model = build(rng, "LongformerModel", attention_window=[4, 6])
    return model, {"input_ids": ids_for(rng, 2, 10), "global_attention_mask": marks(["1000000000"] * 2)}, "sharded"


def longformer_bfloat16(rng):
    model = build(rng, "LongformerModel", attention_window=[4, 6], num_attention_heads=4, hidden_size=32)
    return model, {"input_ids": ids_for(rng, 2, 10), "global_attention_mask": marks(["0100000000"] * 2)}, "bfloat16"


def longformer_without_global_projections(rng):
    model = build(rng, "LongformerForSequenceClassification", attention_window=[4, 4])
    return model, {"input_ids": ids_for(rng, 2, 10), "global_attention_mask": marks(["1100000000"] * 2)}, "no_global"


def longformer_row_of_padding(rng):
    model = build(rng, "LongformerModel", attention_window=[4, 4])
    inputs = masked(ids_for(rng, 3, 8), ["1" * 8, "0" * 8, "h" * 8], 1)
    inputs["global_attention_mask"] = marks(["10000000"] * 3)
    return model, inputs, "plain"


def longformer_many_tiles(rng):
    model = build(rng, "LongformerModel", num_hidden_layers=1, attention_window=[70], max_position_embeddings=712)
    inputs = {"input_ids": ids_for(rng, 1, 710), "global_attention_mask": np.zeros((1, 710), np.int64)}
    inputs["global_attention_mask"][0, [0, 5, 333, 640]] = 1
    return model, inputs, "bfloat16"


def bert_padding_left_right_holes(rng):
    model = build(rng, "BertModel", type_vocab_size=2, layer_norm_eps=1e-12)
    inputs = masked(ids_for(rng, 4, 13), ["1111111100000", "0000111111111", "11h10h11111h1", "1" * 13], 0)
    inputs["token_type_ids"] = rng.integers(0, 2, (4, 13))
    return model, inputs, "plain"


def bert_positions_float16_without_pooler(rng):
    model = build(rng, "BertModel", hidden_act="relu", pooler=False)
    ids = ids_for(rng, 2, 12)
    return model, {"input_ids": ids, "position_ids": rng.integers(0, 40, ids.shape)}, "float16"


def bert_old_names(rng):
    model = build(rng, "BertForPreTraining", layer_norm_eps=1e-12, type_vocab_size=2)
    return model, {"input_ids": ids_for(rng, 1, 1)}, "old_names"


def bert_row_of_padding(rng):
    model = build(rng, "BertModel")
    return model, masked(ids_for(rng, 2, 7), ["1111100", "0000000"], 0), "plain"


def build_modernbert(rng, class_name: str, **fields):
    """A ModernBERT: other names for some sizes, no pooler, four layers of which 0 and 3 are global."""
    sizes = {name: value for name, value in SMALL.items()
             if name not in ("type_vocab_size", "layer_norm_eps", "hidden_act")}
    kind = reference.model_class(class_name)
    specials = {"pad_token_id": 1, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
    config = kind.config_class(**{**sizes, **specials, "num_hidden_layers": 4, "local_attention": 6, **fields},
                               attn_implementation="eager")
    model = kind(config)
    reference.fill_random(model, rng, 0.1)
    return model.eval()


def roberta_padding_left_right_holes(rng):
    model = build(rng, "RobertaModel", num_attention_heads=4)
    return model, masked(ids_for(rng, 4, 13), ["1111111100000", "0000111111111", "11h10h11111h1", "1" * 13], 1), "plain"


def xlm_roberta_of_a_task_in_shards(rng):
    model = build(rng, "XLMRobertaForTokenClassification", hidden_act="gelu_new")
    return model, masked(ids_for(rng, 2, 12), ["1" * 12, "111111100000"], 1), "sharded"


def modernbert_padding_left_right_holes(rng):
    model = build_modernbert(rng, "ModernBertModel")
    return model, masked(ids_for(rng, 4, 14), ["11111111100000", "00000111111111", "11h1011111hh11", "1" * 14], 1), "plain"


def modernbert_odd_window_and_all_biases(rng):
    model = build_modernbert(rng, "ModernBertForMaskedLM", local_attention=5, norm_bias=True, attention_bias=True,
                             mlp_bias=True, global_attn_every_n_layers=2, local_rope_theta=None)
    return model, {"input_ids": ids_for(rng, 2, 15)}, "plain"


def modernbert_given_positions_bfloat16(rng):
    model = build_modernbert(rng, "ModernBertModel", hidden_activation="silu", num_hidden_layers=2)
    ids = ids_for(rng, 2, 11)
    return model, {"input_ids": ids, "position_ids": rng.integers(0, 4000, ids.shape)}, "bfloat16"


def modernbert_many_tiles(rng):
    model = build_modernbert(rng, "ModernBertModel", num_hidden_layers=2, local_attention=90,
                             max_position_embeddings=900)
    return model, {"input_ids": ids_for(rng, 1, 700)}, "bfloat16"


def modernbert_as_transformers_5_writes_it(rng):
    model = build_modernbert(rng, "ModernBertModel", num_hidden_layers=3, global_rope_theta=700.0,
                             local_rope_theta=30.0, global_attn_every_n_layers=2)
    return model, {"input_ids": ids_for(rng, 2, 12)}, "transformers_5"


def modernbert_names_of_the_trainer(rng):
    return build_modernbert(rng, "ModernBertForMaskedLM"), {"input_ids": ids_for(rng, 1, 9)}, "trainer"


def longformer_first_release(rng):
    model = build(rng, "LongformerModel", attention_window=[4, 8], num_attention_heads=4)
    inputs = masked(ids_for(rng, 2, 14), ["11111111110000", "1" * 14], 1)
    inputs["global_attention_mask"] = marks(["10000000000000", "10000100000000"])
    return model, inputs, "original"


CASES = [longformer_padding_left_right_holes, longformer_globals_differ_by_row, longformer_one_token,
         longformer_positions_and_types, longformer_padding_id_inside_the_text,
         longformer_window_wider_than_the_text, longformer_sharded, longformer_bfloat16,
         longformer_without_global_projections, longformer_row_of_padding, longformer_many_tiles,
         bert_padding_left_right_holes, bert_positions_float16_without_pooler, bert_old_names, bert_row_of_padding,
         longformer_first_release, roberta_padding_left_right_holes, xlm_roberta_of_a_task_in_shards,
         modernbert_padding_left_right_holes, modernbert_odd_window_and_all_biases,
         modernbert_given_positions_bfloat16, modernbert_many_tiles, modernbert_as_transformers_5_writes_it,
         modernbert_names_of_the_trainer]


def save_model(rng: np.random.Generator, model, folder: Path, storage: str) -> None:
    """Writes the checkpoint; other storages than the random ones change names, fields, or leave tensors out."""
    if storage in random_cases.STORAGES:
        random_cases.save_weights(model, folder, storage)
        return
    if storage == "original":
        random_overrides.save_original(rng, model, folder)
        return
    model.save_pretrained(folder)
    if storage == "transformers_5":
        random_cases.write_as_transformers_5(folder)
        return
    changes = {"old_names": {"gamma", "buffer"}, "no_global": {"no_global"}, "trainer": {"trainer"}}[storage]
    random_cases.make_foreign(rng, model, folder, changes)


def write_results(folder: Path, model, inputs: dict[str, np.ndarray], states: bool) -> None:
    """Inputs and expected outputs."""
    single, double = reference.run(reference.bare(model), inputs)
    limit = common.tolerance(single, double)
    if not states:
        single = {name: value for name, value in single.items() if not name.startswith("hidden_states")}
    save_file({name: np.ascontiguousarray(value) for name, value in inputs.items()},
              folder / "inputs.safetensors")
    save_file({name: np.ascontiguousarray(value) for name, value in single.items()},
              folder / "expected.safetensors", metadata={"tolerance": f"{limit:.3g}"})


def fill_rule_case(name: str, folder: Path) -> None:
    """One of the models whose weights follow the fill rule."""
    config, weights, inputs = getattr(fill_rule, name)()
    known_answers.write_model(folder, config, weights)
    kind = reference.model_class(config["architectures"][0])
    model = kind.from_pretrained(folder, attn_implementation="eager")
    write_results(folder, model, inputs, states=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("cases", nargs="*", help="names of cases; default: all")
    options.add_argument("--output", type=Path, default=ROOT / "tests" / "data" / "models")
    options = options.parse_args()
    makers = {case.__name__: case for case in CASES}
    for name in options.cases or ["longformer_fill_rule", "bert_fill_rule", "roberta_fill_rule", "modernbert_fill_rule", *makers]:
        folder = options.output / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if name.endswith("_fill_rule"):
            fill_rule_case(name.removesuffix("_fill_rule"), folder)
        else:
            rng = np.random.default_rng(zlib.crc32(name.encode()))
            model, inputs, storage = makers[name](rng)
            save_model(rng, model, folder, storage)
            write_results(folder, model, inputs, states=inputs["input_ids"].size < 200)
        (folder / "generation_config.json").unlink(missing_ok=True)
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        print(f"{name}: {sum(sizes.values()) // 1024} KB in {len(sizes)} files, largest {max(sizes.values())}")
        if max(sizes.values()) > LIMIT:
            print(f"{name}: a file is larger than {LIMIT} bytes: {sizes}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
