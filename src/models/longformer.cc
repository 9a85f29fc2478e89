// Longformer (2020): a sliding window per layer, global tokens with projections of their own;
// positions count the ids that are not padding and start at pad + 1; padded queries attend to
// nothing.
//
// Two layouts of files. The library's: model_type "longformer", attention_window counts both sides.
// The first release's, by the authors: model_type "roberta" or none, attention_window counts one
// side, and fields that the library does not know: attention_dilation, autoregressive,
// attention_mode. Their code accepted `autoregressive` but never passed it to its kernel; here it
// means what the kernel and the paper define, a window without a right side. Which implementation a
// mode stood for (sliding_chunks, tvm) does not change what is computed; n2 is plain RoBERTa.
#include "base/limits.h"
#include "longformer/error.h"
#include "models/family.h"

namespace longformer {
namespace {

void set_longformer(const io::Config& config, EncoderConfig& result) {
  result.model_type = "longformer";
  result.model_class = "LongformerModel";
  result.positions = PositionRule::kAfterPadding;
  result.masked_query = MaskedQuery::kZero;
  result.global_attention = true;
  result.name_prefixes = {"longformer.", "roberta."};
  check_positions(result, config.place());
}

std::vector<int64_t> read_dilation(const io::Config& config, int64_t layers) {
  std::vector<int64_t> dilation = config.integers("attention_dilation", INT64_MIN, INT64_MAX);
  if (dilation.empty()) dilation = {1};
  return spread_over_layers(std::move(dilation), "attention_dilation", layers, 1, kMaxSequence,
                            config.place());
}

// A file that calls itself longformer but has what only the first release's files have: it cannot
// be told what its windows count.
void refuse_mixed_layouts(const io::Config& config) {
  std::string field;
  const std::string mode = config.string("attention_mode", "longformer");
  if (mode != "longformer") field = "attention_mode";
  for (const int64_t dilation : config.integers("attention_dilation", INT64_MIN, INT64_MAX)) {
    if (dilation != 1) field = "attention_dilation " + std::to_string(dilation);
  }
  if (config.boolean("autoregressive", false)) field = "autoregressive true";
  if (field.empty()) return;
  throw Error(
      ErrorCode::kUnsupported,
      "model_type \"longformer\" together with " + field +
          ": with that model_type attention_window counts both sides, in the files that "
          "have this field it counts one. Set model_type to \"roberta\" where it counts one "
          "side, or remove the field",
      config.place());
}

}  // namespace

EncoderConfig read_longformer_config(const io::Config& config) {
  EncoderConfig result = read_common_fields(config, {.pad_token_id = 1});
  read_bert_fields(config, result);
  set_longformer(config, result);
  refuse_mixed_layouts(config);
  std::vector<int64_t> windows = config.integers("attention_window", INT64_MIN, INT64_MAX);
  if (windows.empty() && !config.has("attention_window")) windows = {512};
  result.attention_window = check_windows(std::move(windows), result.layers, config.place());
  return result;
}

bool is_original_longformer(const io::Config& config) {
  const std::string type = config.string("model_type", "");
  return (type.empty() || type == "roberta") &&
         (config.has("attention_mode") || config.has("attention_dilation"));
}

EncoderConfig read_original_longformer_config(const io::Config& config) {
  const std::string mode = config.string("attention_mode", "sliding_chunks");
  if (mode != "sliding_chunks" && mode != "tvm" && mode != "n2") {
    const std::string what = mode == "sliding_chunks_no_overlap"
                                 ? "attention_mode \"sliding_chunks_no_overlap\""
                                 : "attention_mode is unknown";
    throw Error(ErrorCode::kUnsupported, what + ": computed are sliding_chunks, tvm and n2",
                config.place());
  }
  EncoderConfig result = read_common_fields(config, {.vocab_size = 50265, .pad_token_id = 1});
  read_bert_fields(config, result);
  set_longformer(config, result);
  result.attention_dilation = read_dilation(config, result.layers);
  result.causal = config.boolean("autoregressive", false);
  if (mode == "n2") {
    result.model_type = "roberta";
    result.model_class = "RobertaModel";
    result.masked_query = MaskedQuery::kAttend;
    result.global_attention = false;
    result.attention_dilation.clear();
    return result;
  }
  if (!config.has("attention_window")) {
    throw Error(
        ErrorCode::kInvalidFile,
        "attention_window is missing; it lists the tokens that count on one side, one value "
        "a layer",
        config.place());
  }
  result.attention_window =
      spread_over_layers(config.integers("attention_window", INT64_MIN, INT64_MAX),
                         "attention_window", result.layers, 1, kMaxWindow / 2, config.place());
  for (int64_t& window : result.attention_window) window *= 2;
  return result;
}

}  // namespace longformer
