#include "attention/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

// The projections that one query reads, or their derivatives.
template <typename Vector>
struct Projections {
  Vector* q;
  Vector* k;
  Vector* v;
};
using Inputs = Projections<const std::vector<double>>;
using Derivatives = Projections<std::vector<double>>;

void check_size(const std::vector<double>& values, const char* name, int64_t expected) {
  if (static_cast<int64_t>(values.size()) != expected) {
    throw Error(ErrorCode::kInvalidArgument,
                "has " + std::to_string(values.size()) + " values; the pattern needs " +
                    std::to_string(expected),
                std::string("attention reference input ") + name);
  }
}

int64_t check_inputs(const AttentionPattern& pattern, const ReferenceInputs& inputs) {
  validate(pattern);
  refuse_unsupported(pattern);
  if (inputs.head_dim < 1 || inputs.head_dim > kMaxHeadDim) {
    throw Error(ErrorCode::kInvalidArgument,
                "head_dim is " + std::to_string(inputs.head_dim) + "; allowed are 1 to " +
                    std::to_string(kMaxHeadDim),
                "attention reference");
  }
  int64_t tokens = 0;
  for (const int64_t length : pattern.lengths) tokens += length;
  const int64_t size = tokens * pattern.heads * inputs.head_dim;
  check_size(inputs.q, "q", size);
  check_size(inputs.k, "k", size);
  check_size(inputs.v, "v", size);
  if (!inputs.global_q.empty()) {
    check_size(inputs.global_q, "global_q", size);
    check_size(inputs.global_k, "global_k", size);
    check_size(inputs.global_v, "global_v", size);
  }
  return tokens;
}

// One query of one head over the keys of its sequence.
class Row {
 public:
  // first_token: the first token of the sequence.
  Row(const AttentionPattern& pattern, const Inputs& inputs, int64_t head_dim, int64_t sequence,
      int64_t first_token, int64_t head, int64_t i)
      : inputs_(inputs),
        heads_(pattern.heads),
        head_dim_(head_dim),
        first_token_(first_token),
        head_(head),
        i_(i),
        weights_(static_cast<size_t>(pattern.lengths[static_cast<size_t>(sequence)])),
        kept_(weights_.size(), 1.0) {
    softmax(pattern, sequence);
  }

  // Softmax weighted by count(); lse is -infinity where nothing counts.
  double lse() const { return lse_; }
  int64_t keys() const { return static_cast<int64_t>(weights_.size()); }

  void drop(const AttentionDropout& dropout, int64_t sequence) {
    const uint64_t key = dropout.row_key(sequence, head_, i_);
    for (size_t j = 0; j < kept_.size(); ++j) {
      const uint32_t bits = kernels::dropout_bits(key, static_cast<uint32_t>(j));
      kept_[j] = bits >= dropout.rule.threshold ? double{dropout.rule.scale} : 0.0;
    }
  }

  // Adds to out, head_dim values.
  void attend(double* out) const {
    for (int64_t j = 0; j < keys(); ++j) {
      if (weight(j) == 0) continue;
      for (int64_t c = 0; c < head_dim_; ++c)
        out[c] += weight(j) * kept(j) * (*inputs_.v)[at(j, c)];
    }
  }

  void derive(const double* d_out, const Derivatives& to) const {
    double delta = 0;
    std::vector<double> d_weights(weights_.size());
    for (int64_t j = 0; j < keys(); ++j) {
      if (weight(j) == 0) continue;
      double& d_weight = d_weights[static_cast<size_t>(j)];
      for (int64_t c = 0; c < head_dim_; ++c) {
        d_weight += kept(j) * d_out[c] * (*inputs_.v)[at(j, c)];
        (*to.v)[at(j, c)] += weight(j) * kept(j) * d_out[c];
      }
      delta += weight(j) * d_weight;
    }
    for (int64_t j = 0; j < keys(); ++j) {
      const double d_score = weight(j) * (d_weights[static_cast<size_t>(j)] - delta);
      if (d_score == 0) continue;
      for (int64_t c = 0; c < head_dim_; ++c) {
        (*to.q)[at(i_, c)] += d_score * (*inputs_.k)[at(j, c)];
        (*to.k)[at(j, c)] += d_score * (*inputs_.q)[at(i_, c)];
      }
    }
  }

 private:
  size_t at(int64_t position, int64_t c) const {
    return static_cast<size_t>(((first_token_ + position) * heads_ + head_) * head_dim_ + c);
  }
  double weight(int64_t j) const { return weights_[static_cast<size_t>(j)]; }
  double kept(int64_t j) const { return kept_[static_cast<size_t>(j)]; }

  void softmax(const AttentionPattern& pattern, int64_t sequence) {
    const double nothing = -std::numeric_limits<double>::infinity();
    std::vector<int64_t> times(weights_.size());
    std::vector<double> scores(weights_.size());
    double maximum = nothing;
    for (int64_t j = 0; j < keys(); ++j) {
      times[static_cast<size_t>(j)] = count(pattern, sequence, head_, i_, j);
      if (times[static_cast<size_t>(j)] == 0) continue;
      double& score = scores[static_cast<size_t>(j)];
      for (int64_t c = 0; c < head_dim_; ++c) {
        score += (*inputs_.q)[at(i_, c)] * (*inputs_.k)[at(j, c)];
      }
      maximum = std::max(maximum, score);
    }
    double sum = 0;
    for (size_t j = 0; j < weights_.size(); ++j) {
      if (times[j] == 0) continue;
      weights_[j] = static_cast<double>(times[j]) * std::exp(scores[j] - maximum);
      sum += weights_[j];
    }
    lse_ = sum == 0 ? nothing : maximum + std::log(sum);
    if (sum == 0) return;
    for (double& weight : weights_) weight /= sum;
  }

  const Inputs inputs_;
  const int64_t heads_;
  const int64_t head_dim_;
  const int64_t first_token_;
  const int64_t head_;
  const int64_t i_;
  double lse_ = 0;
  std::vector<double> weights_;  // by key
  std::vector<double> kept_;     // what dropout multiplies them with
};

bool has_global_inputs(const AttentionPattern& pattern, const ReferenceInputs& inputs) {
  return pattern.global_projections && !inputs.global_q.empty();
}

// Calls body(row, index, global) for each query of each head; index: token * heads + head.
template <typename Body>
void for_each_row(const AttentionPattern& pattern, const ReferenceInputs& inputs,
                  const AttentionDropout* dropout, const Body& body) {
  const Inputs local{&inputs.q, &inputs.k, &inputs.v};
  const Inputs global{&inputs.global_q, &inputs.global_k, &inputs.global_v};
  int64_t first_token = 0;
  for (int64_t s = 0; s < static_cast<int64_t>(pattern.lengths.size()); ++s) {
    const int64_t length = pattern.lengths[static_cast<size_t>(s)];
    for (int64_t i = 0; i < length; ++i) {
      const bool own = has_global_inputs(pattern, inputs) && is_global(pattern, s, i);
      for (int64_t h = 0; h < pattern.heads; ++h) {
        Row row(pattern, own ? global : local, inputs.head_dim, s, first_token, h, i);
        if (dropout != nullptr) row.drop(*dropout, s);
        body(row, (first_token + i) * pattern.heads + h, own);
      }
    }
    first_token += length;
  }
}

}  // namespace

ReferenceOutputs attention_reference(const AttentionPattern& pattern, const ReferenceInputs& inputs,
                                     const AttentionDropout* dropout) {
  const int64_t tokens = check_inputs(pattern, inputs);
  ReferenceOutputs outputs;
  outputs.out.resize(static_cast<size_t>(tokens * pattern.heads * inputs.head_dim));
  outputs.lse.resize(static_cast<size_t>(tokens * pattern.heads));
  for_each_row(pattern, inputs, dropout, [&](const Row& row, int64_t index, bool) {
    row.attend(outputs.out.data() + index * inputs.head_dim);
    outputs.lse[static_cast<size_t>(index)] = row.lse();
  });
  return outputs;
}

ReferenceDerivatives attention_reference_backward(const AttentionPattern& pattern,
                                                  const ReferenceInputs& inputs,
                                                  const std::vector<double>& d_out,
                                                  const AttentionDropout* dropout) {
  const int64_t tokens = check_inputs(pattern, inputs);
  check_size(d_out, "d_out", tokens * pattern.heads * inputs.head_dim);
  ReferenceDerivatives result;
  for (std::vector<double>* values : {&result.q, &result.k, &result.v}) {
    values->resize(inputs.q.size());
  }
  if (has_global_inputs(pattern, inputs)) {
    for (std::vector<double>* values : {&result.global_q, &result.global_k, &result.global_v}) {
      values->resize(inputs.q.size());
    }
  }
  const Derivatives local{&result.q, &result.k, &result.v};
  const Derivatives global{&result.global_q, &result.global_k, &result.global_v};
  for_each_row(pattern, inputs, dropout, [&](const Row& row, int64_t index, bool own) {
    row.derive(d_out.data() + index * inputs.head_dim, own ? global : local);
  });
  return result;
}

}  // namespace longformer
