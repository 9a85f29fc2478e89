// How well masked tokens were predicted.
#pragma once

#include <cstdint>
#include <span>

namespace longformer::tasks {

struct LanguageScores {
  int64_t tokens = 0;     // that were to be predicted
  double loss = 0;        // mean of -log p of the right token, in nats: cross entropy
  double bits = 0;        // the same in bits a masked token ("BPC" of masked language models)
  double perplexity = 0;  // exp(loss)
};

// Of log p of the right tokens, natural logarithm. Throws kInvalidArgument: none, one above 0, NaN.
LanguageScores language_scores(std::span<const double> log_probabilities);

// log softmax(logits)[target], in double precision.
double log_probability(std::span<const float> logits, int64_t target);

}  // namespace longformer::tasks
