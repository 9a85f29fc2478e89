// ModernBERT (2024): pre-norm layers, rotary positions, a gated feed-forward half, and layers that
// attend to everything among layers with a window. No tables of positions and token types.
//
// Two writers: Transformers 4 states global_attn_every_n_layers, global_rope_theta and
// local_rope_theta; Transformers 5 states layer_types and rope_parameters, which win where a file
// has both.
#include <optional>

#include "base/limits.h"
#include "longformer/error.h"
#include "models/family.h"

namespace longformer {
namespace {

constexpr double kGlobalTheta = 160000;
constexpr double kLocalTheta = 10000;
constexpr double kLargestTheta = 1e12;

void refuse_scaling(const std::optional<io::Config>& object, const std::string& field) {
  if (!object) return;
  const io::Config& rope = *object;
  for (const char* key : {"rope_type", "type"}) {
    if (rope.string(key, "default") == "default") continue;
    throw Error(ErrorCode::kUnsupported,
                field + ": " + key +
                    " is not \"default\"; scaled rotary positions are not computed by this version",
                rope.place());
  }
}

// For each layer whether it attends to everything.
std::vector<bool> read_layer_types(const io::Config& config, int64_t layers) {
  std::vector<bool> global;
  if (!config.has("layer_types")) {
    const int64_t every = config.integer("global_attn_every_n_layers", 3, 1, kMaxLayers);
    for (int64_t layer = 0; layer < layers; ++layer) global.push_back(layer % every == 0);
    return global;
  }
  for (const std::string& type : config.strings("layer_types")) {
    if (type != "full_attention" && type != "sliding_attention") {
      throw Error(ErrorCode::kUnsupported,
                  "layer_types: layer " + std::to_string(global.size()) +
                      " is neither full_attention nor sliding_attention",
                  config.place());
    }
    global.push_back(type == "full_attention");
  }
  if (static_cast<int64_t>(global.size()) != layers) {
    throw Error(ErrorCode::kInvalidFile,
                "layer_types lists " + std::to_string(global.size()) + " values for " +
                    std::to_string(layers) + " layers",
                config.place());
  }
  return global;
}

struct Thetas {
  double global = kGlobalTheta;
  double local = kLocalTheta;
};

Thetas read_thetas(const io::Config& config) {
  refuse_scaling(config.object("rope_scaling"), "rope_scaling");
  Thetas thetas;
  thetas.global = config.number("global_rope_theta", kGlobalTheta, 1.0, kLargestTheta);
  const double local = config.contains("local_rope_theta") ? thetas.global : kLocalTheta;
  thetas.local = config.number("local_rope_theta", local, 1.0, kLargestTheta);
  const std::optional<io::Config> rope = config.object("rope_parameters");
  if (!rope) return thetas;
  refuse_scaling(rope, "rope_parameters");
  if (rope->has("rope_theta")) {
    throw Error(ErrorCode::kUnsupported,
                "rope_theta stands beside full_attention and sliding_attention, which have one "
                "each; write it into them",
                rope->place());
  }
  const auto section = [&](const char* name, double fallback) {
    const std::optional<io::Config> entry = rope->object(name);
    refuse_scaling(entry, std::string("rope_parameters.") + name);
    return entry ? entry->number("rope_theta", fallback, 1.0, kLargestTheta) : fallback;
  };
  thetas.global = section("full_attention", thetas.global);
  thetas.local = section("sliding_attention", thetas.local);
  return thetas;
}

}  // namespace

EncoderConfig read_modernbert_config(const io::Config& config) {
  EncoderConfig result = read_common_fields(config, {.vocab_size = 50368,
                                                     .layers = 22,
                                                     .intermediate_size = 1152,
                                                     .position_rows = 8192,
                                                     .pad_token_id = 50283,
                                                     .layer_norm_eps = 1e-5,
                                                     .eps_field = "norm_eps",
                                                     .activation_field = "hidden_activation"});
  result.model_class = "ModernBertModel";
  result.names = &kModernBertNames;
  // The original trainer called the model "bert." and its stack "encoder.".
  result.name_prefixes = {"model.", "bert.", "bert.encoder.", "encoder."};
  result.norm_placement = NormPlacement::kPre;
  result.first_norm = false;
  result.feed_forward = FeedForwardKind::kGated;
  result.attention_bias = config.boolean("attention_bias", false);
  result.feed_forward_bias = config.boolean("mlp_bias", false);
  result.norm_bias = config.boolean("norm_bias", false);
  result.position_kind = PositionKind::kRotary;
  result.masked_query = MaskedQuery::kAttend;
  if (result.head_dim() % 2 != 0) {
    throw Error(ErrorCode::kInvalidFile,
                "heads of size " + std::to_string(result.head_dim()) +
                    ": rotary positions need an even size",
                config.place());
  }
  const int64_t local = config.integer("local_attention", 128, 0, kMaxWindow);
  const Thetas thetas = read_thetas(config);
  for (const bool global : read_layer_types(config, result.layers)) {
    // A window of 0 or 1 is the token itself; 0 would mean no window here.
    result.attention_window.push_back(global ? 0 : std::max<int64_t>(local, 1));
    result.rotary_theta.push_back(global ? thetas.global : thetas.local);
  }
  return result;
}

}  // namespace longformer
