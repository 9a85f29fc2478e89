// The table of options: names, defaults, texts and JSON, refusals, what may differ on resuming.
#include "train/options.h"

#include <gtest/gtest.h>

#include <set>

#include "support/expect_error.h"
#include "support/random_model.h"

namespace longformer::train {
namespace {

using test::expect_error;

void set(TrainingOptions& options, const std::string& name, const std::string& text) {
  set_option(options, option_entry(name), std::string_view(text));
}

TEST(Options, DefaultsAreThoseOfTrainingArguments) {
  const io::Json values = options_json({});
  const io::Json expected = {{"learning_rate", 5e-5},
                             {"weight_decay", 0.0},
                             {"adam_beta1", 0.9},
                             {"adam_beta2", 0.999},
                             {"adam_epsilon", 1e-8},
                             {"max_grad_norm", 1.0},
                             {"num_train_epochs", 3.0},
                             {"max_steps", -1},
                             {"lr_scheduler_type", "linear"},
                             {"warmup_ratio", 0.0},
                             {"warmup_steps", 0},
                             {"gradient_accumulation_steps", 1},
                             {"per_device_train_batch_size", 8},
                             {"group_by_length", false},
                             {"label_smoothing_factor", 0.0},
                             {"seed", 42},
                             {"save_steps", 500},
                             {"load_best_model_at_end", false},
                             {"optim", "adamw_torch"},
                             {"bf16", false},
                             {"gradient_checkpointing", false}};
  for (const auto& [name, value] : expected.items()) EXPECT_EQ(values.at(name), value) << name;
  EXPECT_EQ(values.at("logging_steps"), 10);
  check_options({});
}

TEST(Options, EachHasANameAHelpAndADefaultThatIsAllowed) {
  std::set<std::string_view> names;
  for (const OptionEntry& entry : option_table()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_GT(entry.help.size(), 10u) << entry.name;
    TrainingOptions options;
    set(options, std::string(entry.name), option_text({}, entry));
    EXPECT_EQ(options_json(options), options_json({})) << entry.name;
    EXPECT_EQ(entry.flag().find('_'), std::string::npos);
  }
  EXPECT_EQ(names.size(), options_json({}).size());
  EXPECT_EQ(option_entry("learning-rate").flag(), "--learning-rate");
}

// Values that are all unlike the defaults survive text and JSON.
TEST(Options, TextAndJsonKeepEachValue) {
  TrainingOptions options;
  for (const OptionEntry& entry : option_table()) {
    std::string text = "0.125";
    if (entry.is_boolean()) text = option_text(options, entry) == "true" ? "false" : "true";
    if (entry.member.index() == 1) text = "12345678901";
    if (entry.member.index() == 3) {
      text = entry.choices.empty() ? "accuracy" : std::string(entry.choices.back());
    }
    set(options, std::string(entry.name), text);
    EXPECT_EQ(option_text(options, entry), text);
    EXPECT_NE(options_json(options).at(std::string(entry.name)),
              options_json({}).at(std::string(entry.name)))
        << entry.name;
  }
  TrainingOptions again;
  apply_options(again, io::Json::parse(options_json(options).dump()), "run.json");
  EXPECT_EQ(options_json(again), options_json(options));
}

TEST(Options, RefusalsNameOptionValueAndWhatIsAllowed) {
  const struct {
    const char *name, *text, *allowed;
  } cases[] = {{"learning_rate", "fast", "a number above 0"},
               {"learning_rate", "0", "a number above 0"},
               {"learning_rate", "nan", "a number above 0"},
               {"learning_rate", "inf", "a number above 0"},
               {"learning_rate", "1e-4x", "a number above 0"},
               {"adam_beta1", "1", "a number of at least 0, below 1"},
               {"warmup_ratio", "1.5", "a number from 0 to 1"},
               {"num_train_epochs", "0", "a number above 0, at most 1e+06"},
               {"logging_steps", "0", "a whole number from 1"},
               {"logging_steps", "2.5", "a whole number from 1"},
               {"seed", "99999999999999999999", "a whole number from 0"},
               {"max_steps", "-2", "a whole number from -1"},
               {"bf16", "yes", "true or false"},
               {"optim", "adam", "adamw_torch, adafactor or sgd"},
               {"metric_for_best_model", "", "a name"},
               {"nan_policy", "", "stop, skip or warn"}};
  for (const auto& item : cases) {
    TrainingOptions options;
    const std::string before = options_json(options).dump();
    expect_error(ErrorCode::kInvalidArgument,
                 {item.name, "is \"" + std::string(item.text) + "\"", item.allowed},
                 [&] { set(options, item.name, item.text); });
    EXPECT_EQ(options_json(options).dump(), before);
  }
  expect_error(ErrorCode::kInvalidArgument, {"\"lr\"", "learning_rate"},
               [] { option_entry("lr"); });
}

TEST(Options, JsonFilesAreReadAndRefused) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "run.json";
  io::write_file_atomic(path, R"({"learning-rate": 1e-3, "max_steps": 7.0, "bf16": true,
    "greater_is_better": true, "optim": "sgd", "weight_decay": 1})");
  TrainingOptions options;
  read_options_file(options, path);
  EXPECT_EQ(options.learning_rate, 1e-3);
  EXPECT_EQ(options.max_steps, 7);
  EXPECT_TRUE(options.bf16);
  EXPECT_EQ(options.greater_is_better, "true");
  EXPECT_EQ(options.optim, "sgd");
  EXPECT_EQ(options.weight_decay, 1.0);
  const std::pair<const char*, const char*> cases[] = {
      {R"({"max_steps": 7.5})", "max_steps: is 7.5"},
      {R"({"max_steps": "7"})", "max_steps: is \"7\""},
      {R"({"max_steps": true})", "max_steps: is true"},
      {R"({"bf16": 1})", "bf16: is 1"},
      {R"({"optim": null})", "optim: is null"},
      {R"({"speed": 1})", "\"speed\" is no option"},
      {R"({"seed": 1, "seed": 2})", "seed"},
      {R"([1])", "options are one object"},
      {R"({"seed": )", "run.json"}};
  for (const auto& [json, says] : cases) {
    io::write_file_atomic(path, json);
    TrainingOptions ignored;
    try {
      read_options_file(ignored, path);
      ADD_FAILURE() << json;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("run.json"), std::string::npos) << error.what();
    }
  }
}

TEST(Options, ThoseThatDoNotGoTogether) {
  TrainingOptions options;
  options.load_best_model_at_end = true;
  options.keep_best = false;
  expect_error(ErrorCode::kInvalidArgument, {"load_best_model_at_end", "keep_best"},
               [&] { check_options(options); });
  options = {};
  options.lr_scheduler_type = "polynomial";
  options.learning_rate = 1e-8;
  expect_error(ErrorCode::kInvalidArgument, {"learning_rate", "polynomial"},
               [&] { check_options(options); });
  options = {};
  options.find_learning_rate = 3;
  expect_error(ErrorCode::kInvalidArgument, {"find_learning_rate", "is 3"},
               [&] { check_options(options); });
}

TEST(Options, WhatMayDifferOnResuming) {
  const io::Json saved = options_json({});
  TrainingOptions options;
  options.logging_steps = options.save_steps = options.eval_steps = options.max_steps = 3;
  options.num_train_epochs = 9;
  options.nan_policy = "stop";
  EXPECT_EQ(resume_differences(saved, options), std::vector<std::string>{});
  options.learning_rate = 0.5;
  options.seed = 1;
  EXPECT_EQ(
      resume_differences(saved, options),
      (std::vector<std::string>{"learning_rate is 0.5, and was 5e-05", "seed is 1, and was 42"}));
}

TEST(Options, WhichMetricsAreBetterGreater) {
  TrainingOptions options;
  EXPECT_FALSE(greater_is_better(options));
  options.metric_for_best_model = "f1";
  EXPECT_TRUE(greater_is_better(options));
  options.greater_is_better = "false";
  EXPECT_FALSE(greater_is_better(options));
}

}  // namespace
}  // namespace longformer::train
