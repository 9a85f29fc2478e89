// The weights of an encoder: which tensors a config asks for, and their way from a checkpoint into
// packed memory.
#pragma once

#include <vector>

#include "io/checkpoint/checkpoint.h"
#include "models/family.h"
#include "nn/encoder_stack.h"

namespace longformer {

class ThreadPool;

struct EncoderWeights {
  EmbeddingWeights embeddings;
  std::vector<EncoderLayer> layers;
  LayerNorm final_norm;  // behind the last layer; absent in post-norm stacks
  bool has_pooler = false;
  Linear pooler;
  NameReport names;
  int64_t parameters = 0;  // elements of all tensors of the model, as the reference counts them
};

// Every tensor of the base model, by the names that the reference gives them.
std::vector<io::ExpectedTensor> expected_tensors(const EncoderConfig& config);

// Resolves, checks, packs; pages of the checkpoint's mapping are released layer by layer, so that
// no tensor is held twice. Throws Error as io::resolve_names() does, and kInvalidFile for a core
// tensor that does not hold floating point numbers.
EncoderWeights load_weights(const io::Checkpoint& checkpoint, const EncoderConfig& config,
                            ThreadPool& pool);

}  // namespace longformer
