#include "attention/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

// The projections that one query reads.
struct Projections {
  const std::vector<double>* q;
  const std::vector<double>* k;
  const std::vector<double>* v;
};

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

// The softmax of one query over the keys of its sequence, weighted by count().
class Row {
 public:
  Row(const AttentionPattern& pattern, int64_t sequence, int64_t head, int64_t i)
      : pattern_(pattern), sequence_(sequence), head_(head), i_(i) {}

  // first_token: the first token of the sequence; out: head_dim values. Returns the log of the sum
  // of exp.
  double attend(const Projections& from, int64_t head_dim, int64_t first_token, double* out) const {
    const auto at = [&](int64_t position) {
      return static_cast<size_t>(((first_token + position) * pattern_.heads + head_) * head_dim);
    };
    const int64_t length = pattern_.lengths[static_cast<size_t>(sequence_)];
    const double nothing = -std::numeric_limits<double>::infinity();
    std::vector<int64_t> times(static_cast<size_t>(length));
    std::vector<double> scores(static_cast<size_t>(length));
    double maximum = nothing;
    for (int64_t j = 0; j < length; ++j) {
      times[static_cast<size_t>(j)] = count(pattern_, sequence_, head_, i_, j);
      if (times[static_cast<size_t>(j)] == 0) continue;
      double score = 0;
      for (int64_t c = 0; c < head_dim; ++c) {
        score +=
            (*from.q)[at(i_) + static_cast<size_t>(c)] * (*from.k)[at(j) + static_cast<size_t>(c)];
      }
      scores[static_cast<size_t>(j)] = score;
      maximum = std::max(maximum, score);
    }
    double sum = 0;
    for (int64_t j = 0; j < length; ++j) {
      if (times[static_cast<size_t>(j)] == 0) continue;
      const double weight = static_cast<double>(times[static_cast<size_t>(j)]) *
                            std::exp(scores[static_cast<size_t>(j)] - maximum);
      sum += weight;
      for (int64_t c = 0; c < head_dim; ++c) {
        out[c] += weight * (*from.v)[at(j) + static_cast<size_t>(c)];
      }
    }
    if (sum == 0) return nothing;
    for (int64_t c = 0; c < head_dim; ++c) out[c] /= sum;
    return maximum + std::log(sum);
  }

 private:
  const AttentionPattern& pattern_;
  int64_t sequence_;
  int64_t head_;
  int64_t i_;
};

}  // namespace

ReferenceOutputs attention_reference(const AttentionPattern& pattern,
                                     const ReferenceInputs& inputs) {
  const int64_t tokens = check_inputs(pattern, inputs);
  const Projections local{&inputs.q, &inputs.k, &inputs.v};
  const bool own = pattern.global_projections && !inputs.global_q.empty();
  const Projections global =
      own ? Projections{&inputs.global_q, &inputs.global_k, &inputs.global_v} : local;
  ReferenceOutputs outputs;
  outputs.out.resize(static_cast<size_t>(tokens * pattern.heads * inputs.head_dim));
  outputs.lse.resize(static_cast<size_t>(tokens * pattern.heads));
  int64_t first_token = 0;
  for (int64_t s = 0; s < static_cast<int64_t>(pattern.lengths.size()); ++s) {
    const int64_t length = pattern.lengths[static_cast<size_t>(s)];
    for (int64_t i = 0; i < length; ++i) {
      const Projections& from = is_global(pattern, s, i) ? global : local;
      for (int64_t h = 0; h < pattern.heads; ++h) {
        const int64_t row = (first_token + i) * pattern.heads + h;
        outputs.lse[static_cast<size_t>(row)] =
            Row(pattern, s, h, i)
                .attend(from, inputs.head_dim, first_token,
                        outputs.out.data() + row * inputs.head_dim);
      }
    }
    first_token += length;
  }
  return outputs;
}

}  // namespace longformer
