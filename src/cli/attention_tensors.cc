#include "cli/attention_tensors.h"

#include <algorithm>
#include <string>

#include "models/memory_need.h"

namespace longformer::cli {

AttentionTensors::AttentionTensors(const EncoderInfo& info, const EncoderInput& input)
    : heads_(info.heads),
      batch_(static_cast<int64_t>(input.lengths.size())),
      length_(input.lengths.front()),
      zero_globals_(info.model_type == "longformer") {
  find_globals(input);
  int64_t widest = 1;
  for (const int64_t window : info.attention_window) widest = std::max(widest, window);
  padded_ = slots_ > 0 ? (length_ + widest - 1) / widest * widest : 0;
  uint64_t elements = 0;
  const int64_t rows = batch_ * heads_;
  for (int64_t l = 0; l < info.layers; ++l) {
    const auto at = static_cast<size_t>(l);
    const int64_t window = info.attention_window.empty() ? 0 : info.attention_window[at];
    Layer layer;
    layer.reach = window / 2;
    layer.dilation = info.attention_dilation.empty() ? 1 : info.attention_dilation[at];
    layer.band = zero_globals_ && window > 0;
    layer.columns = layer.band ? slots_ + 2 * layer.reach + 1 : length_;
    elements += static_cast<uint64_t>(rows) * static_cast<uint64_t>(length_ * layer.columns) +
                static_cast<uint64_t>(rows) * static_cast<uint64_t>(padded_ * slots_);
    layers_.push_back(std::move(layer));
  }
  check_room(elements * sizeof(float), 0, "the attention probabilities of all layers need",
             "give fewer or shorter sequences at once");
  // At once, so that what a pass asks for later counts on what is left.
  for (Layer& layer : layers_) clear(layer);
}

void AttentionTensors::clear(Layer& layer) const {
  const int64_t rows = batch_ * heads_;
  layer.local.assign(static_cast<size_t>(rows * length_ * layer.columns), 0.0f);
  layer.global.assign(static_cast<size_t>(rows * padded_ * slots_), 0.0f);
}

void AttentionTensors::find_globals(const EncoderInput& input) {
  slot_.assign(input.input_ids.size(), -1);
  if (input.global_attention_mask.empty()) return;
  for (int64_t s = 0; s < batch_; ++s) {
    int64_t count = 0;
    for (int64_t row = s * length_; row < (s + 1) * length_; ++row) {
      const auto at = static_cast<size_t>(row);
      const bool real = input.attention_mask.empty() || input.attention_mask[at] != 0;
      if (real && input.global_attention_mask[at] != 0) slot_[at] = count++;
    }
    slots_ = std::max(slots_, count);
  }
}

void AttentionTensors::add(const LayerAttention& attention) {
  Layer& layer = layers_[static_cast<size_t>(attention.layer)];
  clear(layer);
  attention.visit([&](const AttentionRow& seen) {
    if (seen.global) {
      add_global(seen, layer);
    } else {
      add_local(seen, layer);
    }
  });
}

void AttentionTensors::add_local(const AttentionRow& seen, Layer& layer) const {
  const int64_t sequence = seen.row / length_;
  const int64_t query = seen.row % length_;
  for (int64_t h = 0; h < heads_; ++h) {
    const AttentionLinks& links = seen.heads[static_cast<size_t>(h)];
    float* to = layer.local.data() + ((sequence * heads_ + h) * length_ + query) * layer.columns;
    for (size_t i = 0; i < links.keys.size(); ++i) {
      const int64_t key = links.keys[i] % length_;
      if (!layer.band) {
        to[key] = links.weights[i];
      } else if (i < seen.global_keys) {
        to[slot_[static_cast<size_t>(links.keys[i])]] = links.weights[i];
      } else {
        to[slots_ + layer.reach + (key - query) / layer.dilation] = links.weights[i];
      }
    }
  }
}

void AttentionTensors::add_global(const AttentionRow& seen, Layer& layer) const {
  const int64_t sequence = seen.row / length_;
  const int64_t slot = slot_[static_cast<size_t>(seen.row)];
  for (int64_t h = 0; h < heads_; ++h) {
    const AttentionLinks& links = seen.heads[static_cast<size_t>(h)];
    float* to = layer.global.data() + (sequence * heads_ + h) * padded_ * slots_;
    for (size_t i = 0; i < links.keys.size(); ++i) {
      to[links.keys[i] % length_ * slots_ + slot] = links.weights[i];
    }
  }
}

std::vector<io::NamedTensor> AttentionTensors::take() {
  std::vector<io::NamedTensor> tensors;
  const auto move = [&](const char* name, size_t layer, const Shape& shape,
                        std::vector<float>& values) {
    tensors.push_back(
        {name + std::to_string(layer), make_tensor(shape, std::span<const float>(values))});
    values = {};
  };
  for (size_t l = 0; l < layers_.size(); ++l) {
    move("attentions.", l, {batch_, heads_, length_, layers_[l].columns}, layers_[l].local);
  }
  for (size_t l = 0; slots_ > 0 && l < layers_.size(); ++l) {
    move("global_attentions.", l, {batch_, heads_, padded_, slots_}, layers_[l].global);
  }
  return tensors;
}

}  // namespace longformer::cli
