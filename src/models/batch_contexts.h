// What the layers of one batch are computed with.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "models/encoder_batch.h"
#include "models/layer_plans.h"
#include "ops/attention_block.h"

namespace longformer {

class ThreadPool;

// Layers that agree share a plan, and the angles of one rotary base. Refers to config and batch.
class BatchContexts {
 public:
  BatchContexts(const EncoderConfig& config, const EncoderInput& input, const EncoderBatch& batch,
                ThreadPool& pool);

  const LayerPlans& plans() const { return plans_; }
  const std::vector<LayerContext>& contexts() const { return contexts_; }

 private:
  const RotaryAngles* angles_of(int64_t layer);

  const EncoderConfig& config_;
  const EncoderBatch& batch_;
  ThreadPool& pool_;
  LayerPlans plans_;
  std::map<double, std::unique_ptr<RotaryAngles>> angles_;
  std::vector<LayerContext> contexts_;
};

}  // namespace longformer
