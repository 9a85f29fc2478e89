#include "models/layer_plans.h"

#include <numeric>

#include "models/encoder_batch.h"

namespace longformer {

LayerPlans::LayerPlans(const EncoderConfig& config, AttentionPattern pattern) {
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    std::unique_ptr<AttentionPlan>& plan =
        plans_[{config.window_of(layer), config.dilation_of(layer)}];
    if (plan == nullptr) {
      set_layer(config, layer, pattern);
      plan = std::make_unique<AttentionPlan>(compile(pattern));
    }
    layers_.push_back(plan.get());
  }
}

std::vector<const AttentionPlan*> LayerPlans::distinct() const {
  std::vector<const AttentionPlan*> plans;
  for (const auto& [key, plan] : plans_) plans.push_back(plan.get());
  return plans;
}

AttentionPattern plain_pattern(const EncoderConfig& config, int64_t sequences, int64_t length,
                               int64_t global) {
  AttentionPattern pattern;
  pattern.heads = config.heads;
  pattern.masked_query = config.masked_query;
  pattern.lengths.assign(static_cast<size_t>(sequences), length);
  if (global > 0) {
    std::vector<int64_t> positions(static_cast<size_t>(global));
    std::iota(positions.begin(), positions.end(), int64_t{0});
    pattern.global.assign(static_cast<size_t>(sequences), positions);
  }
  return pattern;
}

}  // namespace longformer
