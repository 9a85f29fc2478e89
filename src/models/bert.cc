// BERT: full attention, positions 0, 1, 2, …; padded queries attend like any other.
#include "models/family.h"

namespace longformer {

EncoderConfig read_bert_config(const io::Config& config) {
  EncoderConfig result = read_common_fields(config, {});
  read_bert_fields(config, result);
  result.model_class = "BertModel";
  result.positions = PositionRule::kSequential;
  result.masked_query = MaskedQuery::kAttend;
  result.name_prefixes = {"bert."};
  return result;
}

}  // namespace longformer
