// Longformer (2020): a sliding window per layer, global tokens with projections of their own;
// positions count the ids that are not padding and start at pad + 1; padded queries attend to
// nothing.
#include "base/limits.h"
#include "longformer/error.h"
#include "models/family.h"

namespace longformer {

EncoderConfig read_longformer_config(const io::Config& config) {
  EncoderConfig result = read_common_fields(config);
  result.model_class = "LongformerModel";
  result.pad_token_id = config.integer("pad_token_id", 1, 0, kMaxVocabulary);
  result.positions = PositionRule::kAfterPadding;
  result.masked_query = MaskedQuery::kZero;
  result.global_attention = true;
  result.name_prefixes = {"longformer."};
  std::vector<int64_t> windows = config.integers("attention_window", INT64_MIN, INT64_MAX);
  if (windows.empty() && !config.has("attention_window")) windows = {512};
  result.attention_window = check_windows(std::move(windows), result.layers, config.place());
  for (const int64_t dilation : config.integers("attention_dilation", INT64_MIN, INT64_MAX)) {
    if (dilation != 1) {
      throw Error(ErrorCode::kUnsupported,
                  "attention_dilation " + std::to_string(dilation) +
                      ": checkpoints with a dilated window are not read by this version",
                  config.place());
    }
  }
  if (config.boolean("autoregressive", false)) {
    throw Error(ErrorCode::kUnsupported,
                "autoregressive is true: causal checkpoints are not read by this version",
                config.place());
  }
  if (result.max_tokens() < 1) {
    throw Error(ErrorCode::kInvalidFile,
                "max_position_embeddings " + std::to_string(result.position_rows) +
                    " leaves no position after pad_token_id " +
                    std::to_string(result.pad_token_id) + "; tokens start at row pad_token_id + 1",
                config.place());
  }
  return result;
}

}  // namespace longformer
