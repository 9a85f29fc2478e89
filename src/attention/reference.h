// The oracle of plan and kernels: dense, double precision, straight from count() of the pattern.
// Slow on purpose.
#pragma once

#include <vector>

#include "attention/pattern.h"

namespace longformer {

struct ReferenceInputs {
  int64_t head_dim = 0;
  std::vector<double> q, k, v;                       // [tokens][heads][head_dim], q already scaled
  std::vector<double> global_q, global_k, global_v;  // the same for global rows; empty: use q, k, v
};

struct ReferenceOutputs {
  std::vector<double> out;  // [tokens][heads][head_dim]
  std::vector<double> lse;  // [tokens][heads]; -infinity for a query that counts no key
};

ReferenceOutputs attention_reference(const AttentionPattern& pattern,
                                     const ReferenceInputs& inputs);

}  // namespace longformer
