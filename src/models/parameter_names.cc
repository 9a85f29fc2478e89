#include "models/parameter_names.h"

#include <algorithm>
#include <utility>

#include "models/weights.h"

namespace longformer {
namespace {

// Finds parameters by the model's names.
class Finder {
 public:
  Finder(const ParameterSet& parameters, const ParameterSources& sources)
      : parameters_(parameters), sources_(sources) {}

  const Parameter* find(const std::string& name) const {
    const auto source = sources_.find(name);
    if (source == sources_.end() || source->second.empty()) return nullptr;
    return &parameters_.at(source->second);
  }
  float* gradient(const std::string& name) const {
    const Parameter* const parameter = find(name);
    return parameter == nullptr ? nullptr : parameter->gradient;
  }
  NormGradient norm(const std::string& name) const {
    return {gradient(name + ".weight"), gradient(name + ".bias")};
  }
  TrainedLinear linear(const std::string& name) const {
    return part(name + ".weight", name + ".bias", 0, 1);
  }
  // The i-th of `parts` matrices that lie one above the other.
  TrainedLinear part(const std::string& weight_name, const std::string& bias_name, int64_t i,
                     int64_t parts) const {
    const Parameter* const weight = find(weight_name);
    if (weight == nullptr) return {};
    TrainedLinear linear;
    linear.out_features = weight->spec.shape[0] / parts;
    linear.in_features = weight->spec.shape[1];
    const int64_t first = i * linear.out_features;
    linear.weight = weight->value + first * linear.in_features;
    if (!weight->frozen()) linear.gradient.weight = weight->gradient + first * linear.in_features;
    const Parameter* const bias = find(bias_name);
    if (bias == nullptr) return linear;
    linear.bias = bias->value + first;
    if (!bias->frozen()) linear.gradient.bias = bias->gradient + first;
    return linear;
  }

 private:
  const ParameterSet& parameters_;
  const ParameterSources& sources_;
};

TrainedLayer trained_layer(const Finder& finder, const EncoderConfig& config, int64_t index) {
  const TensorNames& names = *config.names;
  const std::string prefix = names.layers + std::to_string(index) + ".";
  TrainedLayer layer;
  if (names.fused != nullptr) {
    TrainedLinear* const parts[] = {&layer.query, &layer.key, &layer.value};
    for (int64_t i = 0; i < 3; ++i) {
      *parts[i] =
          finder.part(prefix + names.fused + ".weight", prefix + names.fused + ".bias", i, 3);
    }
  } else {
    layer.query = finder.linear(prefix + names.query);
    layer.key = finder.linear(prefix + names.key);
    layer.value = finder.linear(prefix + names.value);
    layer.query_global = finder.linear(prefix + names.query + "_global");
    layer.key_global = finder.linear(prefix + names.key + "_global");
    layer.value_global = finder.linear(prefix + names.value + "_global");
  }
  layer.attention_output = finder.linear(prefix + names.attention_output);
  layer.attention_norm = finder.norm(prefix + names.attention_norm);
  layer.inner = finder.linear(prefix + names.inner);
  layer.outer = finder.linear(prefix + names.outer);
  layer.feed_forward_norm = finder.norm(prefix + names.feed_forward_norm);
  return layer;
}

bool is_frozen(const TrainedLinear& linear) {
  return linear.gradient.weight == nullptr && linear.gradient.bias == nullptr;
}
bool is_frozen(const NormGradient& norm) { return norm.gamma == nullptr && norm.beta == nullptr; }

}  // namespace

ModelNames parameter_names(const EncoderConfig& config, const HeadConfig& head) {
  ModelNames names;
  const auto add = [&](const std::string& name, const std::string& parameter, const Shape& shape) {
    names.sources[name] = parameter;
    // Biases and the weights of norms are vectors; nothing else is.
    names.specs.push_back({parameter, shape, shape.size() > 1});
  };
  const std::string prefix = config.name_prefixes.empty() ? "" : config.name_prefixes.front();
  const std::string pooler = config.names->pooler == nullptr ? "" : config.names->pooler;
  for (const io::ExpectedTensor& tensor : expected_tensors(config)) {
    const bool of_pooler = !pooler.empty() && tensor.name.starts_with(pooler + ".");
    if (of_pooler && !head.pooled) continue;
    add(tensor.name, prefix + tensor.name, tensor.shape);
  }
  for (const io::ExpectedTensor& tensor : expected_head_tensors(head, config)) {
    const bool by_tie = head.tied && tensor.name == head.output + ".weight";
    if (by_tie || tensor.name == head.tied_bias) continue;
    add(tensor.name, tensor.name, tensor.shape);
  }
  return names;
}

std::vector<TrainedLayer> trained_layers(const ParameterSet& parameters,
                                         const ParameterSources& sources,
                                         const EncoderConfig& config) {
  const Finder finder(parameters, sources);
  std::vector<TrainedLayer> layers;
  for (int64_t l = 0; l < config.layers; ++l) layers.push_back(trained_layer(finder, config, l));
  return layers;
}

bool is_frozen(const TrainedLayer& layer) {
  const auto all = {&layer.query,
                    &layer.key,
                    &layer.value,
                    &layer.query_global,
                    &layer.key_global,
                    &layer.value_global,
                    &layer.attention_output,
                    &layer.inner,
                    &layer.outer};
  return std::all_of(all.begin(), all.end(),
                     [](const TrainedLinear* linear) { return is_frozen(*linear); }) &&
         is_frozen(layer.attention_norm) && is_frozen(layer.feed_forward_norm);
}

TrainedHead trained_head(const ParameterSet& parameters, const ParameterSources& sources,
                         const HeadConfig& head, const EncoderConfig& config) {
  const Finder finder(parameters, sources);
  TrainedHead trained;
  if (!head.dense.empty()) trained.dense = finder.linear(head.dense);
  if (!head.norm.empty()) trained.norm = finder.norm(head.norm);
  const std::string output = head.tied ? std::string(config.names->word_embeddings) : head.output;
  trained.output = finder.part(output + ".weight", head.output_bias, 0, 1);
  return trained;
}

EmbeddingGradients embedding_gradients(const ParameterSet& parameters,
                                       const ParameterSources& sources,
                                       const EncoderConfig& config) {
  const Finder finder(parameters, sources);
  const TensorNames& names = *config.names;
  EmbeddingGradients gradients;
  gradients.word = finder.gradient(std::string(names.word_embeddings) + ".weight");
  gradients.word_padding = config.pad_token_id;
  if (names.position_embeddings != nullptr) {
    gradients.position = finder.gradient(std::string(names.position_embeddings) + ".weight");
    gradients.type = finder.gradient(std::string(names.type_embeddings) + ".weight");
    if (config.positions == PositionRule::kAfterPadding) {
      gradients.position_padding = config.pad_token_id;
    }
  }
  const NormGradient norm = finder.norm(names.embedding_norm);
  gradients.gamma = norm.gamma;
  gradients.beta = norm.beta;
  return gradients;
}

NormGradient norm_gradient(const ParameterSet& parameters, const ParameterSources& sources,
                           const std::string& name) {
  return Finder(parameters, sources).norm(name);
}

}  // namespace longformer
