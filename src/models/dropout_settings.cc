#include "models/dropout_settings.h"

#include <string>

#include "longformer/error.h"

namespace longformer {
namespace {

double probability(const io::Config& config, const std::string& field, double fallback) {
  const double value = config.number(field, fallback, 0.0, 1.0);
  if (value < 1.0) return value;
  throw Error(ErrorCode::kInvalidFile, field + " is 1: nothing would be kept; allowed is below 1",
              config.place());
}

DropoutSettings read_modernbert_dropout(const io::Config& config, const HeadConfig& head) {
  if (probability(config, "mlp_dropout", 0.0) > 0) {
    throw Error(ErrorCode::kUnsupported,
                "mlp_dropout is above 0: dropout inside the feed-forward half is not computed; set "
                "it to 0",
                config.place());
  }
  DropoutSettings settings;
  settings.embedding = probability(config, "embedding_dropout", 0.0);
  settings.attention = probability(config, "attention_dropout", 0.0);
  settings.attention_output = settings.attention;
  if (head.info.task != Task::kMaskedLm) {
    settings.head_out = probability(config, "classifier_dropout", 0.0);
  }
  return settings;
}

}  // namespace

DropoutSettings read_dropout(const io::Config& config, const EncoderConfig& encoder,
                             const HeadConfig& head) {
  if (encoder.names == &kModernBertNames) return read_modernbert_dropout(config, head);
  DropoutSettings settings;
  const double hidden = probability(config, "hidden_dropout_prob", 0.1);
  settings.embedding = settings.attention_output = settings.feed_forward = hidden;
  settings.attention = probability(config, "attention_probs_dropout_prob", 0.1);
  // Longformer's classes know no classifier_dropout, nor do RoBERTa's for multiple choice.
  const bool bert = encoder.model_type == "bert";
  const bool own = bert || (!encoder.global_attention && head.info.task != Task::kMultipleChoice);
  const double classifier = own ? probability(config, "classifier_dropout", hidden) : hidden;
  switch (head.info.task) {
    case Task::kSequenceClassification:
      settings.head_out = classifier;
      if (!bert) settings.head_in = classifier;
      break;
    case Task::kTokenClassification:
      settings.head_in = classifier;
      break;
    case Task::kMultipleChoice:
      settings.head_out = classifier;
      break;
    default:
      break;
  }
  return settings;
}

}  // namespace longformer
