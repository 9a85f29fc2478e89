#include "models/family.h"

#include "base/limits.h"
#include "longformer/error.h"
#include "models/stored_weights.h"

namespace longformer {
namespace {

struct Family {
  std::string_view model_type;
  EncoderConfig (*read)(const io::Config&);
};

constexpr Family kFamilies[] = {
    {"longformer", read_longformer_config}, {"bert", read_bert_config},
    {"roberta", read_roberta_config},       {"xlm-roberta", read_roberta_config},
    {"camembert", read_roberta_config},     {"modernbert", read_modernbert_config},
};

std::string known_families() {
  std::string names;
  for (const Family& family : kFamilies) {
    if (!names.empty()) names += ", ";
    names += family.model_type;
  }
  return names;
}

EncoderConfig read_family(const io::Config& config) {
  const std::string type = config.string("model_type", "");
  if (is_original_longformer(config)) return read_original_longformer_config(config);
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return family.read(config);
  }
  const std::string what =
      type.empty() ? "\"model_type\" is missing" : "model_type \"" + type + "\" is not known";
  throw Error(ErrorCode::kUnsupported, what + "; this version reads: " + known_families(),
              config.place());
}

}  // namespace

EncoderConfig read_encoder_config(const io::Config& config) {
  EncoderConfig result = read_family(config);
  result.int8_weights = states_int8_weights(config);
  return result;
}

EncoderConfig read_common_fields(const io::Config& config, const CommonFields& defaults) {
  EncoderConfig result;
  result.model_type = config.string("model_type", "");
  result.vocab_size = config.integer("vocab_size", defaults.vocab_size, 1, kMaxVocabulary);
  result.hidden_size = config.integer("hidden_size", defaults.hidden_size, 1, kMaxHidden);
  result.layers = config.integer("num_hidden_layers", defaults.layers, 1, kMaxLayers);
  result.heads = config.integer("num_attention_heads", defaults.heads, 1, kMaxHidden);
  result.intermediate_size =
      config.integer("intermediate_size", defaults.intermediate_size, 1, 16 * kMaxHidden);
  result.position_rows =
      config.integer("max_position_embeddings", defaults.position_rows, 1, 2 * kMaxSequence);
  result.pad_token_id = config.integer("pad_token_id", defaults.pad_token_id, 0, kMaxVocabulary);
  result.layer_norm_eps =
      static_cast<float>(config.number(defaults.eps_field, defaults.layer_norm_eps, 0.0, 1.0));
  if (result.hidden_size % result.heads != 0) {
    throw Error(ErrorCode::kInvalidFile,
                "hidden_size " + std::to_string(result.hidden_size) +
                    " is not a multiple of num_attention_heads " + std::to_string(result.heads),
                config.place());
  }
  if (result.head_dim() > kMaxHeadDim) {
    throw Error(ErrorCode::kUnsupported,
                "heads of size " + std::to_string(result.head_dim()) +
                    " are not supported; the largest is " + std::to_string(kMaxHeadDim),
                config.place());
  }
  const auto known =
      kernels::activation_from_name(config.string(defaults.activation_field, "gelu"));
  if (!known) {
    throw Error(
        ErrorCode::kUnsupported,
        std::string(defaults.activation_field) + " is not one of " + kernels::activation_names(),
        config.place());
  }
  result.activation = *known;
  return result;
}

void read_bert_fields(const io::Config& config, EncoderConfig& result) {
  result.type_vocab_size = config.integer("type_vocab_size", 2, 1, kMaxVocabulary);
  if (config.string("position_embedding_type", "absolute") != "absolute") {
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
}

void check_positions(const EncoderConfig& result, const std::string& place) {
  if (result.trained_tokens() >= 1) return;
  throw Error(ErrorCode::kInvalidFile,
              "max_position_embeddings " + std::to_string(result.position_rows) +
                  " leaves no position after pad_token_id " + std::to_string(result.pad_token_id) +
                  "; tokens start at row pad_token_id + 1",
              place);
}

std::vector<int64_t> check_windows(std::vector<int64_t> windows, int64_t layers,
                                   const std::string& place) {
  if (windows.size() == 1) windows.assign(static_cast<size_t>(layers), windows[0]);
  if (static_cast<int64_t>(windows.size()) != layers) {
    throw Error(ErrorCode::kInvalidFile,
                "attention_window lists " + std::to_string(windows.size()) + " values for " +
                    std::to_string(layers) + " layers; give one value or one a layer",
                place);
  }
  for (size_t layer = 0; layer < windows.size(); ++layer) {
    if (windows[layer] <= 0 || windows[layer] % 2 != 0 || windows[layer] > kMaxWindow) {
      throw Error(ErrorCode::kInvalidFile,
                  "attention_window of layer " + std::to_string(layer) + " is " +
                      std::to_string(windows[layer]) +
                      "; it is the width of both sides together: an even number from 2 to " +
                      std::to_string(kMaxWindow),
                  place);
    }
  }
  return windows;
}

std::vector<int64_t> spread_over_layers(std::vector<int64_t> values, const std::string& field,
                                        int64_t layers, int64_t min, int64_t max,
                                        const std::string& place) {
  if (values.size() == 1) values.assign(static_cast<size_t>(layers), values[0]);
  if (static_cast<int64_t>(values.size()) != layers) {
    throw Error(ErrorCode::kInvalidFile,
                field + " lists " + std::to_string(values.size()) + " values for " +
                    std::to_string(layers) + " layers; give one value or one a layer",
                place);
  }
  for (size_t layer = 0; layer < values.size(); ++layer) {
    if (values[layer] < min || values[layer] > max) {
      throw Error(ErrorCode::kInvalidFile,
                  field + " of layer " + std::to_string(layer) + " is " +
                      std::to_string(values[layer]) + "; allowed is " + std::to_string(min) +
                      " to " + std::to_string(max),
                  place);
    }
  }
  return values;
}

}  // namespace longformer
