// The names that checkpoints give to the tensors of an encoder, as data: one table a layout.
#pragma once

namespace longformer {

// Names without ".weight" and ".bias"; null where the layout has no such tensor. Those of a layer
// follow `layers`, its index and a dot.
struct TensorNames {
  const char* word_embeddings;
  const char* position_embeddings;
  const char* type_embeddings;
  const char* embedding_norm;
  const char* layers;
  const char* query;  // with key and value; null where they are fused
  const char* key;
  const char* value;
  const char* fused;  // [3 hidden, hidden]: the rows of query, key and value
  const char* attention_output;
  const char* attention_norm;
  const char* inner;
  const char* outer;
  const char* feed_forward_norm;
  const char* final_norm;  // behind the last layer of a pre-norm stack
  const char* pooler;
};

// BERT and what descends from it: RoBERTa, XLM-R, Longformer (whose projections of global tokens
// are called as the local ones with _global behind).
inline constexpr TensorNames kBertNames = {
    .word_embeddings = "embeddings.word_embeddings",
    .position_embeddings = "embeddings.position_embeddings",
    .type_embeddings = "embeddings.token_type_embeddings",
    .embedding_norm = "embeddings.LayerNorm",
    .layers = "encoder.layer.",
    .query = "attention.self.query",
    .key = "attention.self.key",
    .value = "attention.self.value",
    .fused = nullptr,
    .attention_output = "attention.output.dense",
    .attention_norm = "attention.output.LayerNorm",
    .inner = "intermediate.dense",
    .outer = "output.dense",
    .feed_forward_norm = "output.LayerNorm",
    .final_norm = nullptr,
    .pooler = "pooler.dense",
};

inline constexpr TensorNames kModernBertNames = {
    .word_embeddings = "embeddings.tok_embeddings",
    .position_embeddings = nullptr,
    .type_embeddings = nullptr,
    .embedding_norm = "embeddings.norm",
    .layers = "layers.",
    .query = nullptr,
    .key = nullptr,
    .value = nullptr,
    .fused = "attn.Wqkv",
    .attention_output = "attn.Wo",
    .attention_norm = "attn_norm",
    .inner = "mlp.Wi",
    .outer = "mlp.Wo",
    .feed_forward_norm = "mlp_norm",
    .final_norm = "final_norm",
    .pooler = nullptr,
};

}  // namespace longformer
