// A layer's weights among the parameters: values as stored, for the products of the way back, and
// where derivatives are added.
#pragma once

#include <cstdint>

#include "ops/weight_gradient.h"

namespace longformer {

struct TrainedLinear {
  const float* weight = nullptr;  // [out_features, in_features]; null: the layer has none
  const float* bias = nullptr;
  int64_t out_features = 0;
  int64_t in_features = 0;
  LinearGradient gradient;
};

// Null: not wanted, or absent.
struct NormGradient {
  float* gamma = nullptr;
  float* beta = nullptr;
};

struct TrainedLayer {
  TrainedLinear query, key, value, attention_output;
  TrainedLinear query_global, key_global, value_global;
  TrainedLinear inner, outer;
  NormGradient attention_norm, feed_forward_norm;
};

}  // namespace longformer
