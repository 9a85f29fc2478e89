#include "tasks/metrics/language.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "longformer/error.h"

namespace longformer::tasks {

LanguageScores language_scores(std::span<const double> log_probabilities) {
  if (log_probabilities.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "there is no masked token to evaluate");
  }
  double sum = 0;
  for (size_t i = 0; i < log_probabilities.size(); ++i) {
    if (!(log_probabilities[i] <= 0)) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "log probability " + std::to_string(i + 1) +
              " is above 0 or not a number; natural logarithms of probabilities are needed");
    }
    sum -= log_probabilities[i];
  }
  LanguageScores result;
  result.tokens = std::ssize(log_probabilities);
  result.loss = sum / static_cast<double>(result.tokens);
  result.bits = result.loss / std::numbers::ln2;
  result.perplexity = std::exp(result.loss);
  return result;
}

double log_probability(std::span<const float> logits, int64_t target) {
  if (target < 0 || target >= std::ssize(logits)) {
    throw Error(ErrorCode::kInvalidArgument, "token " + std::to_string(target) +
                                                 " is not among the " +
                                                 std::to_string(logits.size()) + " of the model");
  }
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return logits[static_cast<size_t>(target)] - largest - std::log(sum);
}

}  // namespace longformer::tasks
