// What a caller wants otherwise than the checkpoint's config says.
#pragma once

#include <string>
#include <vector>

#include "longformer/encoder.h"
#include "models/family.h"

namespace longformer {

// Changes windows, dilation and lengths of `config` as `options` ask, for every layer that they
// reach, and returns a line for each change ("attention_window 512 -> 256"); nothing for what was
// so already. Throws kInvalidArgument naming the option for: a list of the wrong size, values out
// of range, a dilation where no layer has a window, more tokens than the model was trained on
// without a position scheme, a scheme with nothing to do; kUnsupported for rotary positions that
// repeat.
std::vector<std::string> apply_overrides(const LoadOptions& options, EncoderConfig& config);

}  // namespace longformer
