// The oracle of plan and kernels: dense, double precision, straight from count() of the pattern.
// Slow on purpose.
#pragma once

#include <vector>

#include "attention/dropout.h"
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

// dropout: null, or of the probabilities of all rows, global ones too; lse does not see it.
ReferenceOutputs attention_reference(const AttentionPattern& pattern, const ReferenceInputs& inputs,
                                     const AttentionDropout* dropout = nullptr);

// By each input, in its shape; those of global rows by their own projections where they have them,
// empty otherwise.
struct ReferenceDerivatives {
  std::vector<double> q, k, v;
  std::vector<double> global_q, global_k, global_v;
};
// d_out: [tokens][heads][head_dim]
ReferenceDerivatives attention_reference_backward(const AttentionPattern& pattern,
                                                  const ReferenceInputs& inputs,
                                                  const std::vector<double>& d_out,
                                                  const AttentionDropout* dropout = nullptr);

}  // namespace longformer
