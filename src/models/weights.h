// The weights of an encoder: which tensors a config asks for, and their way from a checkpoint into
// packed memory.
#pragma once

#include <vector>

#include "io/checkpoint/checkpoint.h"
#include "models/family.h"
#include "models/precision.h"
#include "models/weight_reader.h"
#include "nn/encoder_stack.h"
#include "nn/head.h"

namespace longformer {

class ThreadPool;

struct EncoderWeights {
  EmbeddingWeights embeddings;
  std::vector<EncoderLayer> layers;
  LayerNorm final_norm;  // behind the last layer; absent in post-norm stacks
  bool has_pooler = false;
  StateTransform pooler;
  Precision precision;
  NameReport names;
  int64_t parameters = 0;  // elements of all tensors of the model, as the reference counts them
};

// Every tensor of the base model, by the names that the reference gives them; where the config says
// that it is stored in int8, also the scales.
std::vector<io::ExpectedTensor> expected_tensors(const EncoderConfig& config);

// The matrices of linear layers among them: those that int8 files hold as int8.
std::vector<std::string> linear_weights(const EncoderConfig& config);
// The second matrices of the feed-forward halves, which they hold as bf16.
std::vector<std::string> outer_weights(const EncoderConfig& config);

// Whether only global rows use the tensor: such matrices are not packed.
bool is_global_projection(const std::string& name);

// The checkpoint's names for them. Throws Error as io::resolve_names() does, and kInvalidFile where
// the scales of an int8 matrix do not stand beside it.
io::Resolution resolve_weights(const io::Checkpoint& checkpoint, const EncoderConfig& config);

// Resolves, checks, packs as `precision` says; pages of the checkpoint's mapping are released layer
// by layer, so that no tensor is held twice. Throws Error as resolve_weights() and
// models/stored_weights.h do, kInvalidFile for a core tensor that does not hold floating point
// numbers.
struct LoadWeights {
  Precision precision;
  bool check_tensors = false;  // refuse NaN and infinity (models/check_tensors.h)
};
EncoderWeights load_weights(const io::Checkpoint& checkpoint, const EncoderConfig& config,
                            const LoadWeights& options, ThreadPool& pool);

// Parts of it from any source. A layer on a pool thread.
EmbeddingWeights read_embeddings(const WeightReader& reader, const EncoderConfig& config);
EncoderLayer read_layer(const WeightReader& reader, const EncoderConfig& config, int64_t layer);

}  // namespace longformer
