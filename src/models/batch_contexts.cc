#include "models/batch_contexts.h"

namespace longformer {

BatchContexts::BatchContexts(const EncoderConfig& config, const EncoderInput& input,
                             const EncoderBatch& batch, ThreadPool& pool)
    : config_(config),
      batch_(batch),
      pool_(pool),
      plans_(config, attention_pattern(config, input)) {
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    contexts_.push_back({&plans_.of(layer), angles_of(layer)});
  }
}

const RotaryAngles* BatchContexts::angles_of(int64_t layer) {
  if (config_.position_kind != PositionKind::kRotary) return nullptr;
  const double theta = config_.rotary_theta[static_cast<size_t>(layer)];
  std::unique_ptr<RotaryAngles>& angles = angles_[theta];
  if (angles == nullptr) {
    angles = std::make_unique<RotaryAngles>(
        make_rotary_angles(batch_.positions, theta, config_.head_dim(), pool_));
  }
  return angles.get();
}

}  // namespace longformer
