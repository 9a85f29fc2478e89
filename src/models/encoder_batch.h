// From a caller's batch to what the graph reads: checked ids, positions by the family's rule, the
// attention pattern.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/pattern.h"
#include "longformer/encoder.h"
#include "models/family.h"

namespace longformer {

struct EncoderBatch {
  int64_t rows = 0;
  std::vector<int64_t> positions;   // [rows]
  std::vector<int64_t> types;       // [rows]
  std::vector<int64_t> first_rows;  // of each sequence
};

// Throws Error(kInvalidArgument) naming sequence, token and the allowed range for: vectors of the
// wrong length, an empty sequence, ids outside the vocabulary, types outside the type table,
// positions outside the position table, more tokens than the model reads, global tokens in a family
// without global attention.
EncoderBatch prepare_batch(const EncoderConfig& config, const EncoderInput& input);

// The pattern of the batch without its window and dilation, which are a layer's.
AttentionPattern attention_pattern(const EncoderConfig& config, const EncoderInput& input);

// Gives the pattern the window and the dilation of a layer.
void set_layer(const EncoderConfig& config, int64_t layer, AttentionPattern& pattern);

}  // namespace longformer
