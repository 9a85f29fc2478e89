// What a training can be told, with the names and defaults of Hugging Face's TrainingArguments
// where the thing is the same. One table is the source of the command's flags, of options files, of
// what a checkpoint remembers, and of every message about a value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json.h"

namespace longformer::train {

struct TrainingOptions {
  double learning_rate = 5e-5;
  double weight_decay = 0;
  std::string optim = "adamw_torch";
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double sgd_momentum = 0;
  double max_grad_norm = 1;
  double num_train_epochs = 3;
  int64_t max_steps = -1;
  std::string lr_scheduler_type = "linear";
  double warmup_ratio = 0;
  int64_t warmup_steps = 0;
  int64_t per_device_train_batch_size = 8;
  int64_t tokens_per_batch = 0;
  int64_t gradient_accumulation_steps = 1;
  bool group_by_length = false;
  double label_smoothing_factor = 0;
  int64_t seed = 42;
  bool bf16 = false;
  bool gradient_checkpointing = false;
  int64_t logging_steps = 10;
  int64_t eval_steps = 0;
  bool eval_on_start = false;
  int64_t save_steps = 500;
  int64_t save_total_limit = 2;
  std::string metric_for_best_model = "loss";
  std::string greater_is_better = "auto";
  bool keep_best = true;
  bool load_best_model_at_end = false;
  int64_t early_stopping_patience = 0;
  double early_stopping_threshold = 0;
  std::string nan_policy = "skip";
  bool detect_anomaly = false;
  double outlier_zscore = 0;
  int64_t overfit_one_batch = 0;
  int64_t find_learning_rate = 0;
};

// Whether a run may be continued with another value.
enum class OnResume { kMustMatch, kMayDiffer };

struct OptionRange {
  double low = 0, high = std::numeric_limits<double>::infinity();
  bool low_excluded = false, high_excluded = false;
};

struct OptionEntry {
  using Member = std::variant<bool TrainingOptions::*, int64_t TrainingOptions::*,
                              double TrainingOptions::*, std::string TrainingOptions::*>;
  std::string_view name;
  Member member;
  OptionRange range;                      // of numbers
  std::vector<std::string_view> choices;  // of texts; empty: any but the empty one
  OnResume on_resume = OnResume::kMustMatch;
  std::string_view help;

  bool is_boolean() const noexcept { return member.index() == 0; }
  std::string flag() const;     // "--learning-rate"
  std::string allowed() const;  // "a number above 0", "adamw_torch, adafactor or sgd"
};

// In the order of --help.
std::span<const OptionEntry> option_table();
// By name, also with dashes. Throws kInvalidArgument with `place` and the names that there are.
const OptionEntry& option_entry(std::string_view name, const std::string& place = {});

// Throw kInvalidArgument that names the option, the value and what is allowed; `place` (a file)
// stands before the option's name.
void set_option(TrainingOptions& options, const OptionEntry& entry, std::string_view text,
                const std::string& place = {});
void set_option_json(TrainingOptions& options, const OptionEntry& entry, const io::Json& value,
                     const std::string& place = {});
std::string option_text(const TrainingOptions& options, const OptionEntry& entry);

// All options as one object, and back: what an object does not name stays as it is.
io::Json options_json(const TrainingOptions& options);
void apply_options(TrainingOptions& options, const io::Json& values, const std::string& place);
void read_options_file(TrainingOptions& options, const std::filesystem::path& path);

// Throws kInvalidArgument for values that do not go together.
void check_options(const TrainingOptions& options);

// "learning_rate is 0.001, and was 5e-05": each option that must match what a checkpoint remembers
// and does not.
std::vector<std::string> resume_differences(const io::Json& saved, const TrainingOptions& options);

// Whether more of the metric for the best model is better; "auto": unless it is a loss.
bool greater_is_better(const TrainingOptions& options);

}  // namespace longformer::train
