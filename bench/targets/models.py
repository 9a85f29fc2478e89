"""Random checkpoints in the shapes of published models, as the class initialises them, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import Bench
from safetensors.numpy import save_file

VOCABULARY = 50265
WINDOW = 512
LAYERS, HIDDEN, HEADS, FEED_FORWARD = 12, 768, 12, 3072  # longformer-base, RoBERTa-base, BERT-base
MINILM = {"num_hidden_layers": 6, "hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 12}


def longformer(bench: Bench, tokens: int = 4096) -> Path:
    """The shape of longformer-base-4096, with positions for `tokens`."""
    def write(folder: Path) -> None:
        import torch
        import transformers
        config = transformers.LongformerConfig(
            vocab_size=VOCABULARY, attention_window=WINDOW, max_position_embeddings=tokens + 2, type_vocab_size=1,
            layer_norm_eps=1e-5)
        torch.manual_seed(1)
        transformers.LongformerModel(config).save_pretrained(folder)
    return bench.make(f"longformer_{tokens}", write)


def roberta(bench: Bench, tokens: int) -> Path:
    """RoBERTa-base with positions for `tokens`: full attention over what Longformer reads through windows."""
    def write(folder: Path) -> None:
        import torch
        import transformers
        config = transformers.RobertaConfig(vocab_size=VOCABULARY, max_position_embeddings=tokens + 2, type_vocab_size=1,
                                            layer_norm_eps=1e-5)
        torch.manual_seed(1)
        transformers.RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return bench.make(f"roberta_{tokens}", write)


def bert(bench: Bench, name: str, shape: dict[str, int]) -> Path:
    """The shape of a BERT, without a pooler."""
    def write(folder: Path) -> None:
        import torch
        import transformers
        torch.manual_seed(1)
        transformers.BertModel(transformers.BertConfig(**shape), add_pooling_layer=False).save_pretrained(folder)
    return bench.make(name, write)


def onnx_graphs(bench: Bench, model: Path) -> dict[str, list[Path]]:
    """A BERT for ONNX Runtime: "f32" as exported and with the Transformers fusions, "int8" from the fused graph.

    int8: dynamic activations, signed weights with a scale a channel, the faster of the library's settings.
    """
    def write(folder: Path) -> None:
        import onnx
        import torch
        import transformers
        from onnxruntime.quantization import QuantType, quantize_dynamic
        from onnxruntime.transformers import optimizer

        class States(torch.nn.Module):
            """The model's token states alone."""

            def __init__(self, bare: torch.nn.Module) -> None:
                super().__init__()
                self.bare = bare

            def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
                return self.bare(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

        folder.mkdir()
        # The fusions know the graph of the eager attention.
        bare = transformers.BertModel.from_pretrained(model, add_pooling_layer=False, attn_implementation="eager")
        ids = torch.zeros((2, 128), dtype=torch.int64)
        names = ["input_ids", "attention_mask", "last_hidden_state"]
        torch.onnx.export(States(bare).eval(), (ids, torch.ones_like(ids)), str(folder / "exported.onnx"),
                          input_names=names[:2], output_names=names[2:],
                          dynamic_axes={key: {0: "batch", 1: "tokens"} for key in names}, opset_version=17, dynamo=False)
        fused = optimizer.optimize_model(str(folder / "exported.onnx"), model_type="bert", opt_level=1,
                                         num_heads=bare.config.num_attention_heads, hidden_size=bare.config.hidden_size)
        fused.save_model_to_file(str(folder / "fused.onnx"))
        quantize_dynamic(folder / "fused.onnx", folder / "int8.onnx", weight_type=QuantType.QInt8, per_channel=True,
                         extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    folder = bench.make(model.name + "_onnx", write)
    return {"f32": [folder / "exported.onnx", folder / "fused.onnx"], "int8": [folder / "int8.onnx"]}


def _saved(bench: Bench, name: str, tensors: Callable[[], dict[str, np.ndarray]]) -> Path:
    return bench.make(name + ".safetensors", lambda path: save_file(tensors(), path))


def spread_ids(count: int, vocabulary: int = VOCABULARY) -> np.ndarray:
    """Ids evenly over the vocabulary, shuffled: every part of the embedding table is read."""
    return np.random.default_rng(1).permutation(np.linspace(5, vocabulary - 1, count).astype(np.int64))


def document(bench: Bench, tokens: int, global_tokens: int = 1) -> Path:
    """One document; its first tokens are global."""
    def tensors() -> dict[str, np.ndarray]:
        ids = spread_ids(tokens)[None]
        mask = np.zeros_like(ids)
        mask[0, :global_tokens] = 1
        return {"input_ids": ids, "attention_mask": np.ones_like(ids), "global_attention_mask": mask}
    return _saved(bench, f"document_{tokens}_{global_tokens}", tensors)


def batch(bench: Bench, count: int, tokens: int, vocabulary: int) -> Path:
    """Sequences of one length, for models without global tokens."""
    def tensors() -> dict[str, np.ndarray]:
        ids = np.random.default_rng(1).integers(5, vocabulary, (count, tokens))
        return {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return _saved(bench, f"batch_{count}_{tokens}_{vocabulary}", tensors)


def ragged_documents(bench: Bench, count: int, shortest: int, longest: int) -> Path:
    """Documents of log-uniform lengths, one after the other."""
    def tensors() -> dict[str, np.ndarray]:
        random = np.random.default_rng(1)
        lengths = np.exp(random.uniform(np.log(shortest), np.log(longest), count)).astype(np.int64)
        return {"lengths": lengths, "input_ids": spread_ids(int(lengths.sum()))}
    return _saved(bench, f"ragged_{count}", tensors)


def projections(bench: Bench, tokens: int, heads: int, head_dim: int) -> Path:
    """q (scaled), k, v [tokens, heads, head_dim] of an attention by itself."""
    def tensors() -> dict[str, np.ndarray]:
        random = np.random.default_rng(1)
        q, k, v = (random.standard_normal((tokens, heads, head_dim), np.float32) for _ in range(3))
        return {"q": q / np.float32(head_dim) ** np.float32(0.5), "k": k, "v": v}
    return _saved(bench, f"projections_{tokens}", tensors)
