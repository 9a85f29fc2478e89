#include "models/overrides.h"

#include <algorithm>

#include "base/limits.h"
#include "longformer/error.h"

namespace longformer {
namespace {

constexpr size_t kValuesInMessage = 12;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

bool any_window(const EncoderConfig& config) {
  return std::any_of(config.attention_window.begin(), config.attention_window.end(),
                     [](int64_t window) { return window != 0; });
}

// One value a layer from one for all that `applies` to, or from a list.
template <typename Applies>
std::vector<int64_t> per_layer(const std::vector<int64_t>& values, const std::string& option,
                               std::vector<int64_t> current, const Applies& applies) {
  if (values.size() != 1 && values.size() != current.size()) {
    refuse(option + " has " + std::to_string(values.size()) + " values for " +
           std::to_string(current.size()) + " layers; give one value, or one a layer");
  }
  if (values.size() == current.size() && values.size() != 1) return values;
  for (size_t layer = 0; layer < current.size(); ++layer) {
    if (applies(static_cast<int64_t>(layer))) current[layer] = values[0];
  }
  return current;
}

// "512", "full", "128, full, 128"
std::string listed(const std::vector<int64_t>& values, const char* zero) {
  const auto one = [&](int64_t value) { return value == 0 ? zero : std::to_string(value); };
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
    return one(values[0]);
  }
  std::string text;
  for (size_t i = 0; i < values.size() && i < kValuesInMessage; ++i) {
    text += (i == 0 ? "" : ", ") + one(values[i]);
  }
  return values.size() > kValuesInMessage ? text + ", …" : text;
}

void report(const std::string& what, const std::vector<int64_t>& before,
            const std::vector<int64_t>& after, std::vector<std::string>& lines) {
  if (before == after) return;
  lines.push_back(what + " " + listed(before, "full") + " -> " + listed(after, "full"));
}

void change_windows(const std::vector<int64_t>& wanted, EncoderConfig& config,
                    std::vector<std::string>& lines) {
  if (wanted.empty()) return;
  for (const int64_t window : wanted) {
    if (window < 0 || window > kMaxWindow) {
      refuse("attention_window " + std::to_string(window) +
             "; it is the width of both sides together, 1 to " + std::to_string(kMaxWindow) +
             ", or 0 for full attention");
    }
  }
  std::vector<int64_t> before;
  for (int64_t layer = 0; layer < config.layers; ++layer) before.push_back(config.window_of(layer));
  // A model without any window gets one everywhere; in one that mixes, full layers stay full.
  const bool everywhere = !any_window(config);
  config.attention_window = per_layer(wanted, "attention_window", before, [&](int64_t layer) {
    return everywhere || before[static_cast<size_t>(layer)] != 0;
  });
  report("attention_window", before, config.attention_window, lines);
  // A layer that lost its window has nothing to dilate.
  for (int64_t layer = 0; layer < config.layers && !config.attention_dilation.empty(); ++layer) {
    if (config.window_of(layer) == 0) config.attention_dilation[static_cast<size_t>(layer)] = 1;
  }
  if (!any_window(config)) config.attention_window.clear();
}

void change_dilation(const std::vector<int64_t>& wanted, EncoderConfig& config,
                     std::vector<std::string>& lines) {
  if (wanted.empty()) return;
  if (!any_window(config)) {
    refuse("attention_dilation: every layer of this " + config.model_type +
           " model attends to everything, so there is no window to dilate; give attention_window "
           "too");
  }
  std::vector<int64_t> before;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    before.push_back(config.dilation_of(layer));
  }
  config.attention_dilation = per_layer(wanted, "attention_dilation", before, [&](int64_t layer) {
    return config.window_of(layer) != 0;
  });
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const int64_t dilation = config.dilation_of(layer);
    if (dilation < 1 || dilation > kMaxSequence) {
      refuse("attention_dilation " + std::to_string(dilation) +
             "; it is the step between the tokens of a window: 1 to " +
             std::to_string(kMaxSequence));
    }
    if (dilation > 1 && config.window_of(layer) == 0) {
      refuse("attention_dilation " + std::to_string(dilation) + " of layer " +
             std::to_string(layer) + ", which attends to everything; give 1 there");
    }
  }
  report("attention_dilation", before, config.attention_dilation, lines);
}

const char* scheme_name(PositionScheme scheme) {
  return scheme == PositionScheme::kRepeat ? "repeat" : "extend";
}

void change_length(const LoadOptions& options, EncoderConfig& config,
                   std::vector<std::string>& lines) {
  const int64_t trained = config.trained_tokens();
  const int64_t wanted = options.max_tokens;
  const bool longer = wanted > trained;
  if (wanted < 0 || wanted > kMaxSequence) {
    refuse("max_tokens " + std::to_string(wanted) + "; allowed is 1 to " +
           std::to_string(kMaxSequence) + ", or 0 for what the model was trained on");
  }
  if (!longer && options.positions != PositionScheme::kTrained) {
    refuse(std::string("positions ") + scheme_name(options.positions) +
           ": the model has positions for " + std::to_string(trained) +
           " tokens; give max_tokens above that, or leave positions alone");
  }
  if (wanted == 0 || wanted == trained) return;
  if (longer && options.positions == PositionScheme::kTrained) {
    refuse("max_tokens " + std::to_string(wanted) + ": the model has positions for " +
           std::to_string(trained) +
           " tokens; say how it shall read more (positions extend or repeat), or make a long model "
           "of it with convert --to-long");
  }
  if (longer && config.position_kind == PositionKind::kRotary &&
      options.positions == PositionScheme::kRepeat) {
    throw Error(ErrorCode::kUnsupported,
                "positions repeat: rotary positions are differences, which would jump where they "
                "start again; use positions extend");
  }
  config.token_limit = wanted;
  std::string line = "max_tokens " + std::to_string(trained) + " -> " + std::to_string(wanted);
  if (longer) {
    config.position_scheme = options.positions;
    line += std::string(" (positions ") + scheme_name(options.positions) + ")";
  }
  lines.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> apply_overrides(const LoadOptions& options, EncoderConfig& config) {
  std::vector<std::string> lines;
  change_windows(options.attention_window, config, lines);
  change_dilation(options.attention_dilation, config, lines);
  change_length(options, config, lines);
  return lines;
}

}  // namespace longformer
