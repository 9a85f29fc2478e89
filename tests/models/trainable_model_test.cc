// Gradients of whole models: against differences of the loss along random directions (dropout
// included, whose draws must be the same on both ways), and bits that must not depend on threads,
// checkpointing or the batch that a sequence is in. tests/oracle/gradients_oracle.py compares them
// with autograd.
#include "models/trainable_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "io/files.h"
#include "support/expect_error.h"
#include "support/random_model.h"

namespace longformer {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

struct Case {
  std::string family;
  Task task;
  std::string more = {};  // fields of config.json
};

std::string config_text(const Case& from) {
  const std::string window = from.family == "longformer" ? R"("attention_window": [6, 10], )" : "";
  const std::string dropout =
      from.family == "modernbert"
          ? R"("embedding_dropout": 0.1, "attention_dropout": 0.2, "classifier_dropout": 0.2, )"
          : R"("hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3, )";
  return R"({"model_type": ")" + from.family + R"(", "vocab_size": 70, "hidden_size": 24, )" +
         window + dropout +
         R"("num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40, )" +
         R"("pad_token_id": 1, "sep_token_id": 2, "type_vocab_size": 2, "local_attention": 6, )" +
         R"("max_position_embeddings": 80)" + from.more + "}";
}

void write_model(const std::filesystem::path& directory, const Case& from) {
  const std::string json = config_text(from);
  const EncoderConfig config = read_encoder_config(io::Config::parse(json, "config.json"));
  test::write_checkpoint(directory, json, config, test::random_tensors(config, 5, 0.15f));
}

TrainableModel load(const std::filesystem::path& directory, Task task, int threads = 2,
                    Activations activations = Activations::kKept, Compute compute = Compute::kF32) {
  TrainableOptions options;
  options.task.task = task;
  options.task.allow_new_head = true;
  options.task.seed = 3;
  options.task.load.threads = threads;
  options.task.load.compute = compute;
  options.activations = activations;
  return TrainableModel::load(directory, options);
}

// Sequences with odd lengths, some padding, and labels for the task.
TrainingBatch make_batch(const TrainableModel& model, uint64_t seed) {
  const TaskInfo& info = model.info();
  TrainingBatch batch;
  uint64_t next = 0;
  const auto draw = [&](int64_t below) {
    return static_cast<int64_t>(random_bits(seed, next++) % static_cast<uint64_t>(below));
  };
  const bool choices = info.task == Task::kMultipleChoice;
  batch.input.lengths = {37, 1, 22, 9};
  for (size_t s = 0; s < batch.input.lengths.size(); ++s) {
    const int64_t length = batch.input.lengths[s];
    const int64_t padding = length / 5;
    for (int64_t t = 0; t < length; ++t) {
      const bool padded = s % 2 == 0 ? t >= length - padding : t < padding;
      batch.input.input_ids.push_back(padded ? 1 : 3 + draw(60));
      batch.input.attention_mask.push_back(padded ? 0 : 1);
      batch.input.global_attention_mask.push_back(info.global_attention && draw(6) == 0 ? 1 : 0);
      batch.input.token_type_ids.push_back(
          draw(std::max<int64_t>(model.config().type_vocab_size, 1)));
      if (info.task == Task::kMaskedLm || info.task == Task::kTokenClassification) {
        batch.targets.classes.push_back(draw(3) == 0 ? draw(info.outputs) : kIgnoredLabel);
      }
    }
    batch.samples.push_back(choices ? s / 2 : 100 + s);
    if (info.task == Task::kQuestionAnswering) {
      const int64_t first = draw(length);
      batch.targets.spans.push_back({{first, first + draw(length - first)}, {0, 0}});
    }
    if (info.task != Task::kSequenceClassification) continue;
    if (info.problem == Problem::kSingleLabel) {
      batch.targets.classes.push_back(draw(info.outputs));
    } else {
      for (int64_t o = 0; o < info.outputs; ++o) {
        batch.targets.values.push_back(static_cast<float>(draw(2)));
      }
    }
  }
  if (choices) {
    batch.targets.choices = {2, 2};
    batch.targets.classes = {1, 0};
  }
  return batch;
}

double loss_of(TrainableModel& model, const TrainingBatch& batch, std::optional<uint64_t> dropout) {
  return model.accumulate(batch, {.scale = 0.0, .dropout = dropout}).sum;
}

class Gradients : public testing::TestWithParam<Case> {};

TEST_P(Gradients, AreSlopesOfTheLoss) {
  const TemporaryDirectory directory;
  write_model(directory.path(), GetParam());
  TrainableModel model = load(directory.path(), GetParam().task);
  const TrainingBatch batch = make_batch(model, 11);
  for (const std::optional<uint64_t> dropout : {std::optional<uint64_t>{}, {77}}) {
    model.parameters().clear_gradients(*model.pool());
    const TrainingLoss loss = model.accumulate(batch, {.scale = 1.0, .dropout = dropout});
    EXPECT_EQ(loss.labels, count_labels(batch.targets));
    for (Parameter& parameter : model.parameters().all()) {
      // A direction that the gradient leans to, so that the difference is well above rounding.
      double norm = 0;
      for (int64_t i = 0; i < parameter.elements; ++i) {
        norm += static_cast<double>(parameter.gradient[i]) * parameter.gradient[i];
      }
      norm = std::sqrt(norm);
      std::vector<float> direction(static_cast<size_t>(parameter.elements));
      double slope = 0;
      for (size_t i = 0; i < direction.size(); ++i) {
        const double lean = norm > 0 ? parameter.gradient[i] / norm : 0;
        const double draw = random_normal(13, i) / std::sqrt(static_cast<double>(direction.size()));
        direction[i] = static_cast<float>(lean + draw);
        // By convention the rows of padding have no gradient, though the loss may depend on them.
        const bool padding = parameter.spec.name.find("embeddings.weight") != std::string::npos &&
                             static_cast<int64_t>(i) / parameter.spec.shape.back() == 1;
        if (padding && parameter.spec.name.find("type") == std::string::npos) direction[i] = 0;
        slope += static_cast<double>(direction[i]) * parameter.gradient[i];
      }
      const std::vector<float> kept(parameter.value, parameter.value + parameter.elements);
      constexpr double kStep = 2e-3;
      double side[2];
      for (const int sign : {0, 1}) {
        for (size_t i = 0; i < direction.size(); ++i) {
          parameter.value[i] =
              kept[i] + static_cast<float>((sign == 0 ? kStep : -kStep) * direction[i]);
        }
        side[sign] = loss_of(model, batch, dropout);
      }
      std::copy(kept.begin(), kept.end(), parameter.value);
      const double difference = (side[0] - side[1]) / (2 * kStep);
      EXPECT_NEAR(difference, slope, 2e-2 * std::abs(slope) + 3e-3)
          << parameter.spec.name << (dropout ? " with dropout" : "");
    }
  }
}

TEST_P(Gradients, DropoutChangesTheLossAndItsKeyWhich) {
  const TemporaryDirectory directory;
  write_model(directory.path(), GetParam());
  TrainableModel model = load(directory.path(), GetParam().task);
  const TrainingBatch batch = make_batch(model, 11);
  const double plain = loss_of(model, batch, std::nullopt);
  EXPECT_NE(loss_of(model, batch, 1), plain);
  EXPECT_NE(loss_of(model, batch, 1), loss_of(model, batch, 2));
  EXPECT_EQ(loss_of(model, batch, 1), loss_of(model, batch, 1));
}

TEST_P(Gradients, BitsDependNeitherOnThreadsNorOnCheckpointing) {
  const TemporaryDirectory directory;
  write_model(directory.path(), GetParam());
  std::vector<std::vector<float>> first;
  for (const auto& [threads, activations] : {std::pair{1, Activations::kKept},
                                             {2, Activations::kKept},
                                             {3, Activations::kCheckpointed},
                                             {7, Activations::kKept}}) {
    TrainableModel model = load(directory.path(), GetParam().task, threads, activations);
    model.accumulate(make_batch(model, 4), {.scale = 0.5, .dropout = 9});
    std::vector<std::vector<float>> gradients;
    for (const Parameter& parameter : model.parameters().all()) {
      gradients.emplace_back(parameter.gradient, parameter.gradient + parameter.elements);
    }
    if (first.empty()) first = gradients;
    EXPECT_EQ(gradients, first) << threads << " threads";
  }
}

// Frozen parameters have no gradient, and those of the others stay what they were.
TEST_P(Gradients, FreezingChangesNoOther) {
  const TemporaryDirectory directory;
  write_model(directory.path(), GetParam());
  TrainableModel whole = load(directory.path(), GetParam().task);
  const TrainingBatch batch = make_batch(whole, 4);
  whole.accumulate(batch, {.scale = 1.0, .dropout = 9});
  TrainableModel part = load(directory.path(), GetParam().task);
  for (const Parameter& parameter : whole.parameters().all()) {
    const std::string& name = parameter.spec.name;
    const bool upper =
        name.find("layer.1.") != std::string::npos || name.find("layers.1.") != std::string::npos;
    if (!upper) part.parameters().freeze(name);
  }
  EXPECT_LT(part.parameters().trained_elements(), part.parameters().elements());
  part.accumulate(batch, {.scale = 1.0, .dropout = 9});
  for (const Parameter& parameter : part.parameters().all()) {
    if (parameter.frozen()) continue;
    const Parameter& other = whole.parameters().at(parameter.spec.name);
    EXPECT_TRUE(
        std::equal(parameter.gradient, parameter.gradient + parameter.elements, other.gradient))
        << parameter.spec.name;
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.family + "_" + std::string(task_name(info.param.task)) + "_" +
                     std::to_string(info.index);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Gradients,
    testing::Values(
        Case{"longformer", Task::kMaskedLm}, Case{"longformer", Task::kSequenceClassification},
        Case{"longformer", Task::kTokenClassification}, Case{"longformer", Task::kMultipleChoice},
        Case{"longformer", Task::kQuestionAnswering}, Case{"bert", Task::kMaskedLm},
        Case{"bert", Task::kSequenceClassification,
             R"(, "problem_type": "multi_label_classification")"},
        Case{"bert", Task::kMultipleChoice},
        Case{"roberta", Task::kSequenceClassification, R"(, "problem_type": "regression")"},
        Case{"roberta", Task::kQuestionAnswering}, Case{"modernbert", Task::kMaskedLm},
        Case{"modernbert", Task::kSequenceClassification, R"(, "classifier_pooling": "mean")"}),
    name_of);

// A model without weights: what the reference's classes begin with.
TEST_P(Gradients, FreshWeightsAreAsTheReferenceDrawsThem) {
  const TemporaryDirectory directory;
  const Case& what = GetParam();
  io::write_file_atomic(
      directory.path() / "config.json",
      config_text({what.family, what.task, what.more + R"(, "initializer_range": 0.5)"}));
  TrainableOptions options;
  options.task.task = what.task;
  options.task.allow_new_head = true;
  options.task.seed = 3;
  expect_error(ErrorCode::kNotFound, {"holds no weights"},
               [&] { TrainableModel::load(directory.path(), options); });
  options.start = StartWeights::kFresh;
  TrainableModel model = TrainableModel::load(directory.path(), options);
  options.task.seed = 4;
  const TrainableModel other = TrainableModel::load(directory.path(), options);
  EXPECT_TRUE(model.info().new_tensors.empty());
  const bool modern = what.family == "modernbert";
  for (const Parameter& parameter : model.parameters().all()) {
    const std::string& name = parameter.spec.name;
    const std::vector<float> values(parameter.value, parameter.value + parameter.elements);
    if (parameter.spec.shape.size() == 1) {
      const float all = name.ends_with(".weight") ? 1.0f : 0.0f;
      EXPECT_EQ(values, std::vector<float>(values.size(), all)) << name;
      continue;
    }
    const auto columns = static_cast<size_t>(parameter.spec.shape[1]);
    const bool padded =
        name.find("word_embeddings") != std::string::npos ||
        name.find("tok_embeddings") != std::string::npos ||
        (name.find("position_embeddings") != std::string::npos && what.family != "bert");
    double squares = 0, largest = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      squares += static_cast<double>(values[i]) * values[i];
      largest = std::max(largest, std::abs(static_cast<double>(values[i])));
      EXPECT_EQ(values[i] == 0, padded && i / columns == 1) << name << " " << i;
    }
    const bool adds = name.find("attn.Wo") != std::string::npos ||
                      name.find("mlp.Wo") != std::string::npos ||
                      name.find("head.dense") != std::string::npos;
    double deviation = modern && adds ? 0.25 : 0.5;  // two layers
    if (modern && name == "classifier.weight") deviation = 1 / std::sqrt(24.0);
    if (modern) {
      EXPECT_LE(largest, 2 * deviation) << name;
      deviation *= 0.8796;  // of a normal distribution that is cut at two deviations
    }
    const double drawn = static_cast<double>(values.size() - (padded ? columns : 0));
    EXPECT_NEAR(std::sqrt(squares / drawn), deviation, 4 * deviation / std::sqrt(2 * drawn))
        << name;
    const float* const of_other = other.parameters().at(name).value;
    EXPECT_FALSE(std::equal(values.begin(), values.end(), of_other)) << name;
  }
  // The same seed, other threads: the same numbers, and a model that learns.
  TrainableModel again = [&] {
    options.task.seed = 3;
    options.task.load.threads = 3;
    return TrainableModel::load(directory.path(), options);
  }();
  const TrainingBatch batch = make_batch(model, 11);
  EXPECT_EQ(loss_of(model, batch, 7), loss_of(again, batch, 7));
}

// What a sequence adds to the gradients does not depend on those beside it, up to the order in
// which they are summed.
TEST(TrainableModel, GradientsOfABatchAreTheSumOfItsSequences) {
  const TemporaryDirectory directory;
  write_model(directory.path(), {"longformer", Task::kQuestionAnswering});
  TrainableModel together = load(directory.path(), Task::kQuestionAnswering);
  TrainableModel apart = load(directory.path(), Task::kQuestionAnswering);
  const TrainingBatch batch = make_batch(together, 21);
  together.accumulate(batch, {.scale = 1.0, .dropout = 5});
  size_t first = 0;
  for (size_t s = 0; s < batch.input.lengths.size(); ++s) {
    const auto length = static_cast<size_t>(batch.input.lengths[s]);
    const auto part = [&](const auto& all) {
      return std::decay_t<decltype(all)>(all.begin() + first, all.begin() + first + length);
    };
    TrainingBatch one;
    one.input.lengths = {batch.input.lengths[s]};
    one.input.input_ids = part(batch.input.input_ids);
    one.input.attention_mask = part(batch.input.attention_mask);
    one.input.global_attention_mask = part(batch.input.global_attention_mask);
    one.input.token_type_ids = part(batch.input.token_type_ids);
    one.targets.spans = {batch.targets.spans[s]};
    one.samples = {batch.samples[s]};
    apart.accumulate(one, {.scale = 1.0, .dropout = 5});
    first += length;
  }
  for (const Parameter& parameter : together.parameters().all()) {
    const Parameter& other = apart.parameters().at(parameter.spec.name);
    for (int64_t i = 0; i < parameter.elements; ++i) {
      ASSERT_NEAR(parameter.gradient[i], other.gradient[i],
                  1e-5 * std::max(1.0f, std::abs(other.gradient[i])))
          << parameter.spec.name << "[" << i << "]";
    }
  }
}

TEST(TrainableModel, Bf16GradientsPointTheSameWay) {
  const TemporaryDirectory directory;
  write_model(directory.path(), {"longformer", Task::kMaskedLm});
  TrainableModel exact = load(directory.path(), Task::kMaskedLm);
  TrainableModel rounded =
      load(directory.path(), Task::kMaskedLm, 2, Activations::kKept, Compute::kBf16);
  const TrainingBatch batch = make_batch(exact, 2);
  const double loss = exact.accumulate(batch, {.scale = 1.0, .dropout = 5}).sum;
  EXPECT_NEAR(rounded.accumulate(batch, {.scale = 1.0, .dropout = 5}).sum, loss, 0.02 * loss);
  double product = 0, norm = 0, other_norm = 0;
  for (const Parameter& parameter : exact.parameters().all()) {
    const float* const other = rounded.parameters().at(parameter.spec.name).gradient;
    for (int64_t i = 0; i < parameter.elements; ++i) {
      product += static_cast<double>(parameter.gradient[i]) * other[i];
      norm += static_cast<double>(parameter.gradient[i]) * parameter.gradient[i];
      other_norm += static_cast<double>(other[i]) * other[i];
    }
  }
  EXPECT_GT(product / std::sqrt(norm * other_norm), 0.999);
}

class Anomalies : public testing::Test {
 protected:
  void SetUp() override {
    write_model(directory_.path(), {"longformer", Task::kTokenClassification});
    model_.emplace(load(directory_.path(), Task::kTokenClassification));
    batch_ = make_batch(*model_, 5);
  }
  void set(const std::string& name, int64_t index, float value) {
    model_->parameters().at(name).value[index] = value;
  }
  std::string found() { return model_->find_anomaly(batch_, {.scale = 1.0, .dropout = 3}); }

  TemporaryDirectory directory_;
  std::optional<TrainableModel> model_;
  TrainingBatch batch_;
};

TEST_F(Anomalies, NothingIsFoundInAnOrdinaryPass) {
  EXPECT_EQ(found(), "");
  EXPECT_GT(model_->accumulate(batch_, {.scale = 1.0, .dropout = 3}).sum, 0.0);
}

TEST_F(Anomalies, TheParameterIsNamed) {
  set("longformer.encoder.layer.1.output.dense.weight", 41, std::nanf(""));
  EXPECT_EQ(found(),
            "the parameter longformer.encoder.layer.1.output.dense.weight: element 41 is NaN");
}

// Finite weights, and a row of the second layer that is too large for a norm.
TEST_F(Anomalies, TheFirstLayerWithOneIsNamed) {
  set("longformer.encoder.layer.1.output.dense.bias", 7, 3e38f);
  const std::string text = found();
  EXPECT_EQ(text.find("the output of layer 1: token 0 of sequence 0, element 0 is NaN"), 0u)
      << text;
}

// The output matrix lets the logits be finite, and the way back overflow.
TEST_F(Anomalies, TheWayBackIsWatchedToo) {
  const std::string text = [&] {
    Parameter& weight = model_->parameters().at("classifier.weight");
    std::fill_n(weight.value, weight.elements, 0.0f);
    TrainingPass pass{.scale = std::numeric_limits<double>::infinity(), .dropout = 3};
    return model_->find_anomaly(batch_, pass);
  }();
  EXPECT_EQ(text.find("the derivative by what the head reads: token "), 0u) << text;
}

// Two layers of 24 in 40, by hand: projections, feed-forward and counted pairs, three times.
TEST(TrainableModel, CountsTheOperationsOfAStep) {
  const TemporaryDirectory directory;
  write_model(directory.path(), {"bert", Task::kTokenClassification});
  TrainableModel model = load(directory.path(), Task::kTokenClassification);
  TrainingBatch batch;
  batch.input.lengths = {10, 4, 10};
  batch.input.input_ids.assign(24, 5);
  batch.targets.classes.assign(24, 1);
  const double layer = 24.0 * (4 * 24 * 24 + 2 * 24 * 40) + 2.0 * 24 * (100 + 16 + 100);
  const double head = 24.0 * 24 * static_cast<double>(model.info().outputs);
  EXPECT_DOUBLE_EQ(model.flop(batch), 2 * 3 * (2 * layer + head));
  // Without derivatives by weights, and none at all below the lowest layer that needs them.
  for (const Parameter& parameter : model.parameters().all()) {
    const std::string& name = parameter.spec.name;
    if (name.find("layer.1.") == std::string::npos &&
        name.find("classifier") == std::string::npos) {
      model.parameters().freeze(name);
    }
  }
  EXPECT_DOUBLE_EQ(model.flop(batch), 2 * (layer + 3 * layer + 3 * head));
}

TEST(TrainableModel, RefusesTargetsThatDoNotFit) {
  const TemporaryDirectory directory;
  write_model(directory.path(), {"bert", Task::kTokenClassification});
  TrainableModel model = load(directory.path(), Task::kTokenClassification);
  TrainingBatch batch;
  batch.input.lengths = {3};
  batch.input.input_ids = {5, 6, 7};
  batch.targets.classes = {0, 2, kIgnoredLabel};
  expect_error(ErrorCode::kInvalidArgument, {"label 2 of token 1 is outside 0 to 1"},
               [&] { model.accumulate(batch, {}); });
  batch.targets.classes = {0, 1};
  expect_error(ErrorCode::kInvalidArgument, {"labels holds 2 values", "one a token is 3"},
               [&] { model.accumulate(batch, {}); });
}

TEST(TrainableModel, RefusesAnswersOutsideTheText) {
  const TemporaryDirectory directory;
  write_model(directory.path(), {"bert", Task::kQuestionAnswering});
  TrainableModel model = load(directory.path(), Task::kQuestionAnswering);
  TrainingBatch batch;
  batch.input.lengths = {3};
  batch.input.input_ids = {5, 6, 7};
  batch.targets.spans = {{{1, 3}}};
  expect_error(ErrorCode::kInvalidArgument, {"sequence 0 is tokens 1 to 3", "tokens 0 to 2"},
               [&] { model.accumulate(batch, {}); });
}

}  // namespace
}  // namespace longformer
