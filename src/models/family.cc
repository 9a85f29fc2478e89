#include "models/family.h"

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

struct Family {
  std::string_view model_type;
  EncoderConfig (*read)(const io::Config&);
};

constexpr Family kFamilies[] = {
    {"longformer", read_longformer_config},
    {"bert", read_bert_config},
};

std::string known_families() {
  std::string names;
  for (const Family& family : kFamilies) {
    if (!names.empty()) names += ", ";
    names += family.model_type;
  }
  return names;
}

}  // namespace

EncoderConfig read_encoder_config(const io::Config& config) {
  const std::string type = config.string("model_type", "");
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return family.read(config);
  }
  const std::string what =
      type.empty() ? "\"model_type\" is missing" : "model_type \"" + type + "\" is not known";
  throw Error(ErrorCode::kUnsupported, what + "; this version reads: " + known_families(),
              config.place());
}

EncoderConfig read_common_fields(const io::Config& config) {
  EncoderConfig result;
  result.model_type = config.string("model_type", "");
  result.vocab_size = config.integer("vocab_size", 30522, 1, kMaxVocabulary);
  result.hidden_size = config.integer("hidden_size", 768, 1, kMaxHidden);
  result.layers = config.integer("num_hidden_layers", 12, 1, kMaxLayers);
  result.heads = config.integer("num_attention_heads", 12, 1, kMaxHidden);
  result.intermediate_size = config.integer("intermediate_size", 3072, 1, 16 * kMaxHidden);
  result.position_rows = config.integer("max_position_embeddings", 512, 1, 2 * kMaxSequence);
  result.type_vocab_size = config.integer("type_vocab_size", 2, 1, kMaxVocabulary);
  result.layer_norm_eps = static_cast<float>(config.number("layer_norm_eps", 1e-12, 0.0, 1.0));
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
  const std::string activation = config.string("hidden_act", "gelu");
  const auto known = kernels::activation_from_name(activation);
  if (!known) {
    throw Error(ErrorCode::kUnsupported, "hidden_act is not one of " + kernels::activation_names(),
                config.place());
  }
  result.activation = *known;
  return result;
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

}  // namespace longformer
