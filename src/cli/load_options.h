// How a model is loaded: windows, dilation and lengths other than the checkpoint's, the arithmetic,
// the check of its weights: the options that every command with a model shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "longformer/encoder.h"

namespace longformer::cli {

struct LoadOverrides {
  std::vector<int64_t> attention_window;
  std::vector<int64_t> attention_dilation;
  int64_t max_tokens = 0;
  std::string positions;  // "", "extend", "repeat"
  std::string compute;    // "", "f32", "bf16", "int8"
  bool check_tensors = false;
};

// Adds --attention-window, --attention-dilation, --max-tokens, --positions and --compute.
void add_reading_options(CLI::App& app, LoadOverrides& overrides);
// These and --check-tensors.
void add_load_options(CLI::App& app, LoadOverrides& overrides);

// Puts them into what Encoder::load and load_text_model take.
void apply(const LoadOverrides& overrides, LoadOptions& options);

// "bf16" or "int8", where numbers are not computed in f32, for what is written beside them.
std::string compute_note(const EncoderInfo& info);

// A notice on standard error that says what the options changed; nothing where they changed
// nothing.
void report_overrides(const EncoderInfo& info);

}  // namespace longformer::cli
