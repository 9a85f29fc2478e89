// A model's tensors as parameters: their names, and where layers, embeddings and heads find them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/heads.h"
#include "nn/head_backward.h"
#include "nn/parameters.h"
#include "nn/trained_layer.h"
#include "ops/embedding.h"

namespace longformer {

// Names of the model -> of its parameters; "" for what a class does not have.
using ParameterSources = std::map<std::string, std::string>;

struct ModelNames {
  std::vector<ParameterSpec> specs;
  ParameterSources sources;
};
// Those that the reference's class of the head has: base tensors behind its prefix, the pooler only
// where the head reads it, tied tensors once.
ModelNames parameter_names(const EncoderConfig& config, const HeadConfig& head);

std::vector<TrainedLayer> trained_layers(const ParameterSet& parameters,
                                         const ParameterSources& sources,
                                         const EncoderConfig& config);
bool is_frozen(const TrainedLayer& layer);
TrainedHead trained_head(const ParameterSet& parameters, const ParameterSources& sources,
                         const HeadConfig& head, const EncoderConfig& config);
EmbeddingGradients embedding_gradients(const ParameterSet& parameters,
                                       const ParameterSources& sources,
                                       const EncoderConfig& config);
NormGradient norm_gradient(const ParameterSet& parameters, const ParameterSources& sources,
                           const std::string& name);

}  // namespace longformer
