// Where a model drops in training, and how much: from config.json, as the reference's classes do.
#pragma once

#include "io/config.h"
#include "models/family.h"
#include "models/heads.h"

namespace longformer {

// Probabilities; 0: nothing is dropped.
struct DropoutSettings {
  double embedding = 0;         // of the embeddings, behind their norm
  double attention = 0;         // of attention probabilities
  double attention_output = 0;  // of what the attention half adds
  double feed_forward = 0;      // of what the feed-forward half adds
  double head_in = 0;           // of the states that the head reads
  double head_out = 0;          // in front of its output matrix
};

// Throws kInvalidFile for a probability outside [0, 1), kUnsupported for ModernBERT's mlp_dropout
// inside the feed-forward half.
DropoutSettings read_dropout(const io::Config& config, const EncoderConfig& encoder,
                             const HeadConfig& head);

}  // namespace longformer
