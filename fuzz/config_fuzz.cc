// config.json, from bytes to the list of tensors that a model needs: an accepted object is written
// and read again, and is then the same; typed reads give a value or an error; an accepted
// architecture has one window and one step a layer, and tensors whose sizes can be counted.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/limits.h"
#include "io/config.h"
#include "longformer/error.h"
#include "models/family.h"
#include "models/weights.h"

namespace {

using longformer::EncoderConfig;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_plan(const EncoderConfig& config) {
  require(config.layers >= 1 && config.layers <= longformer::kMaxLayers);
  require(config.hidden_size % config.heads == 0);
  require(config.head_dim() >= 1 && config.head_dim() <= longformer::kMaxHeadDim);
  require(config.max_tokens() >= 1 && config.pad_token_id >= 0);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    require(config.window_of(layer) >= 0 && config.window_of(layer) <= longformer::kMaxWindow);
    require(config.dilation_of(layer) >= 1);
  }
  if (config.layers > 8) return;  // more of the same
  double bytes = 0;
  for (const auto& tensor : longformer::expected_tensors(config)) {
    require(!tensor.name.empty() && !tensor.shape.empty());
    for (const int64_t dimension : tensor.shape) require(dimension >= 1);
    bytes += 4.0 * static_cast<double>(longformer::element_count(tensor.shape));
  }
  require(bytes > 0 && bytes < 1e15);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using longformer::io::Config;
  try {
    const Config config =
        Config::parse(std::string_view(reinterpret_cast<const char*>(data), size), "input");
    const std::string once = config.dump();
    if (Config::parse(once, "dump").dump() != once) std::abort();
    try {
      check_plan(longformer::read_encoder_config(config));
    } catch (const longformer::Error& error) {
      require(error.code() != longformer::ErrorCode::kInternal);
    }
    for (const char* key : {"hidden_size", "attention_window", "layer_norm_eps", "model_type"}) {
      try {
        const int64_t value = config.integer(key, 7, 1, 100);
        if (value < 1 || value > 100) std::abort();
      } catch (const longformer::Error&) {
      }
      try {
        for (const int64_t value : config.integers(key, 2, 512)) {
          if (value < 2 || value > 512) std::abort();
        }
      } catch (const longformer::Error&) {
      }
      try {
        config.number(key, 1e-12, 0, 1);
      } catch (const longformer::Error&) {
      }
      try {
        config.string(key, "bert");
      } catch (const longformer::Error&) {
      }
    }
  } catch (const longformer::Error&) {
  }
  return 0;
}
