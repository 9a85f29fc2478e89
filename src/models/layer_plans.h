// The compiled attention of one batch, layer by layer; layers that agree share a plan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "attention/plan.h"
#include "models/family.h"

namespace longformer {

class LayerPlans {
 public:
  // pattern: of the batch; window and dilation are those of each layer.
  LayerPlans(const EncoderConfig& config, AttentionPattern pattern);
  const AttentionPlan& of(int64_t layer) const { return *layers_[static_cast<size_t>(layer)]; }
  // Each plan once.
  std::vector<const AttentionPlan*> distinct() const;

 private:
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<AttentionPlan>> plans_;
  std::vector<const AttentionPlan*> layers_;
};

// `sequences` texts of `length` tokens, nothing masked, the first `global` tokens of each global.
AttentionPattern plain_pattern(const EncoderConfig& config, int64_t sequences, int64_t length,
                               int64_t global);

}  // namespace longformer
