#include "models/fresh_weights.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "models/head_weights.h"

namespace longformer {
namespace {

// The deviation of a matrix or table. ModernBERT's (2024): what is added to the stream of states is
// drawn smaller by the root of how often that happens, classifiers by their input's size.
double deviation(const std::string& name, const EncoderConfig& config, const HeadConfig& head) {
  const TensorNames& names = *config.names;
  if (&names != &kModernBertNames) return head.initializer_range;
  const double added = head.initializer_range / std::sqrt(2.0 * static_cast<double>(config.layers));
  if (name == head.output + ".weight") {
    const bool vocabulary = head.info.task == Task::kMaskedLm;
    return vocabulary ? added : 1 / std::sqrt(static_cast<double>(config.hidden_size));
  }
  const bool adds = name.ends_with(std::string(".") + names.attention_output + ".weight") ||
                    name.ends_with(std::string(".") + names.outer + ".weight") ||
                    name == head.dense + ".weight";
  return adds ? added : head.initializer_range;
}

// The row that stands for padding and begins as zeros; negative: none.
int64_t padding_row(const std::string& name, const EncoderConfig& config) {
  const TensorNames& names = *config.names;
  if (name == std::string(names.word_embeddings) + ".weight") return config.pad_token_id;
  const bool positions = names.position_embeddings != nullptr &&
                         name == std::string(names.position_embeddings) + ".weight";
  return positions && config.positions == PositionRule::kAfterPadding ? config.pad_token_id : -1;
}

}  // namespace

void fill_fresh(ParameterSet& parameters, const ParameterSources& sources,
                const EncoderConfig& config, const HeadConfig& head, uint64_t seed) {
  for (const auto& [name, source] : sources) {
    if (source.empty()) continue;
    Parameter& parameter = parameters.at(source);
    const Shape& shape = parameter.spec.shape;
    const std::span<float> values(parameter.value, static_cast<size_t>(parameter.elements));
    if (shape.size() != 2) {
      std::fill(values.begin(), values.end(), name.ends_with(".weight") ? 1.0f : 0.0f);
      continue;
    }
    const NewTensors fresh(deviation(name, config, head), seed, head.initializer_cutoff);
    const std::vector<float> matrix = fresh.matrix(name, shape[0], shape[1]);
    std::copy(matrix.begin(), matrix.end(), values.begin());
    const int64_t padding = padding_row(name, config);
    if (padding < 0 || padding >= shape[0]) continue;
    std::fill_n(values.begin() + padding * shape[1], shape[1], 0.0f);
  }
}

}  // namespace longformer
