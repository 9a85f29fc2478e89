// RoBERTa, XLM-R and CamemBERT: BERT's graph with positions that count the ids that are not padding
// and start at pad + 1.
#include "longformer/error.h"
#include "models/family.h"

namespace longformer {
namespace {

struct Variant {
  std::string_view model_type;
  const char* model_class;
  int64_t vocab_size;  // default of the class
};

constexpr Variant kVariants[] = {
    {"roberta", "RobertaModel", 50265},
    {"xlm-roberta", "XLMRobertaModel", 30522},
    {"camembert", "CamembertModel", 30522},
};

const Variant& variant_of(const std::string& model_type) {
  for (const Variant& variant : kVariants) {
    if (variant.model_type == model_type) return variant;
  }
  return kVariants[0];
}

// A window in a file whose class knows none: written by a conversion that put Longformer's
// attention into RoBERTa. Two of them are around, one counting both sides and one counting one.
void refuse_unclear_window(const io::Config& config) {
  if (!config.has("attention_window")) return;
  throw Error(
      ErrorCode::kUnsupported,
      "attention_window in a " + config.string("model_type", "roberta") +
          " file without attention_mode: does it count both sides or one? Set model_type to "
          "\"longformer\" where it counts both, attention_mode to \"sliding_chunks\" where "
          "it counts one, or remove attention_window for full attention",
      config.place());
}

}  // namespace

EncoderConfig read_roberta_config(const io::Config& config) {
  const Variant& variant = variant_of(config.string("model_type", ""));
  EncoderConfig result =
      read_common_fields(config, {.vocab_size = variant.vocab_size, .pad_token_id = 1});
  read_bert_fields(config, result);
  result.model_type = variant.model_type;
  result.model_class = variant.model_class;
  result.positions = PositionRule::kAfterPadding;
  result.masked_query = MaskedQuery::kAttend;
  result.name_prefixes = {"roberta."};
  check_positions(result, config.place());
  refuse_unclear_window(config);
  return result;
}

}  // namespace longformer
