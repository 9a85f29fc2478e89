#include "cli/load_options.h"

#include "base/limits.h"
#include "models/precision.h"

namespace longformer::cli {

void add_reading_options(CLI::App& app, LoadOverrides& overrides) {
  app.add_option(
         "--attention-window", overrides.attention_window,
         "Attention window instead of the model's, both sides together: one width, or one a "
         "layer; 0: full attention")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{0}, kMaxWindow))
      ->type_name("W[,W...]");
  app.add_option("--attention-dilation", overrides.attention_dilation,
                 "Step between the tokens of a window: one value, or one a layer")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{1}, kMaxSequence))
      ->type_name("D[,D...]");
  app.add_option("--max-tokens", overrides.max_tokens,
                 "Longest text that the model reads at once, special tokens included; more than it "
                 "was trained on needs --positions")
      ->check(CLI::Range(int64_t{1}, kMaxSequence))
      ->type_name("N");
  app.add_option("--positions", overrides.positions,
                 "Positions beyond the trained ones: interpolated (rotary ones go on), or repeated")
      ->check(CLI::IsMember({"extend", "repeat"}));
  app.add_option("--compute", overrides.compute,
                 "Arithmetic of the matrix products: f32; bf16 and int8 are faster and a little "
                 "less exact; default: int8 for a model that is stored so, else f32")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}));
}

void add_load_options(CLI::App& app, LoadOverrides& overrides) {
  add_reading_options(app, overrides);
  add_boolean(app, "--check-tensors", overrides.check_tensors,
              "Refuse a model whose weights hold NaN or infinity, and name the place");
}

void apply(const LoadOverrides& overrides, LoadOptions& options) {
  options.attention_window = overrides.attention_window;
  options.attention_dilation = overrides.attention_dilation;
  options.max_tokens = overrides.max_tokens;
  options.positions = PositionScheme::kTrained;
  if (overrides.positions == "extend") options.positions = PositionScheme::kExtend;
  if (overrides.positions == "repeat") options.positions = PositionScheme::kRepeat;
  options.compute = compute_from_name(overrides.compute).value_or(Compute::kStored);
  options.check_tensors = overrides.check_tensors;
}

std::string compute_note(const EncoderInfo& info) {
  return info.compute == Compute::kF32 ? "" : std::string(compute_name(info.compute));
}

void report_overrides(const EncoderInfo& info) {
  if (info.overrides.empty()) return;
  std::string line = "the model reads otherwise than its files say: ";
  for (size_t i = 0; i < info.overrides.size(); ++i) {
    line += (i == 0 ? "" : "; ") + info.overrides[i];
  }
  notice(line);
}

}  // namespace longformer::cli
