// BERT: full attention, positions 0, 1, 2, …; padded queries attend like any other.
#include "base/limits.h"
#include "longformer/error.h"
#include "models/family.h"

namespace longformer {

EncoderConfig read_bert_config(const io::Config& config) {
  EncoderConfig result = read_common_fields(config);
  result.model_class = "BertModel";
  result.pad_token_id = config.integer("pad_token_id", 0, 0, kMaxVocabulary);
  result.positions = PositionRule::kSequential;
  result.masked_query = MaskedQuery::kAttend;
  result.name_prefixes = {"bert."};
  const std::string positions = config.string("position_embedding_type", "absolute");
  if (positions != "absolute") {
    throw Error(ErrorCode::kUnsupported,
                "position_embedding_type is not \"absolute\"; relative positions are not computed "
                "by this version",
                config.place());
  }
  if (config.boolean("is_decoder", false) || config.boolean("add_cross_attention", false)) {
    throw Error(ErrorCode::kUnsupported,
                "a decoder (is_decoder, add_cross_attention); only encoders are read",
                config.place());
  }
  return result;
}

}  // namespace longformer
