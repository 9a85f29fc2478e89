// Heads against their definition in double precision on the encoder's own states, default global
// tokens, and what is refused.
#include "longformer/task_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/heads.h"
#include "support/expect_error.h"
#include "support/random_model.h"

namespace longformer {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

constexpr int64_t kHidden = 24;

std::string config_text(const std::string& type, const std::string& more) {
  const std::string window = type == "longformer" ? R"("attention_window": 6, )" : "";
  return R"({"model_type": ")" + type + R"(", "vocab_size": 70, "hidden_size": 24, )" + window +
         R"("num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20, )" +
         R"("pad_token_id": 1, "sep_token_id": 2, "type_vocab_size": 1, "local_attention": 6, )" +
         R"("max_position_embeddings": 80)" + more + "}";
}

// A checkpoint with the encoder's tensors and those of the head of `task`.
struct Written {
  io::Config config;
  EncoderConfig encoder;
  HeadConfig head;
  test::Tensors tensors;
};

Written write_model(const std::filesystem::path& directory, const std::string& type, Task task,
                    const std::string& more = "", const std::vector<std::string>& leave_out = {}) {
  Written written;
  const std::string json = config_text(type, more);
  written.config = io::Config::parse(json, "config.json");
  written.encoder = read_encoder_config(written.config);
  TaskOptions options;
  options.task = task;
  options.allow_new_head = true;
  written.head = read_head_config(written.config, written.encoder, options);
  written.tensors = test::random_tensors(written.encoder, 5, 0.2f);
  std::mt19937 engine(9);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  std::vector<io::NamedTensor> named;
  std::vector<io::ExpectedTensor> expected = expected_tensors(written.encoder);
  for (const io::ExpectedTensor& tensor : expected_head_tensors(written.head, written.encoder)) {
    const bool tied = written.head.tied && tensor.name == written.head.output + ".weight";
    if (tied || tensor.name == written.head.tied_bias) continue;
    std::vector<float>& values = written.tensors[tensor.name];
    values.resize(static_cast<size_t>(element_count(tensor.shape)));
    for (float& value : values) value = normal(engine);
    expected.push_back(tensor);
  }
  for (const io::ExpectedTensor& tensor : expected) {
    if (std::find(leave_out.begin(), leave_out.end(), tensor.name) != leave_out.end()) continue;
    named.push_back({tensor.name, make_tensor(tensor.shape, std::span<const float>(
                                                                written.tensors[tensor.name]))});
  }
  io::write_file_atomic(directory / "config.json", json);
  io::write_safetensors(directory / "model.safetensors", named);
  return written;
}

using Vector = std::vector<double>;

Vector affine(const Written& model, const std::string& weight, const std::string& bias,
              const Vector& x) {
  const std::vector<float>& w = model.tensors.at(weight);
  Vector y(w.size() / x.size());
  for (size_t o = 0; o < y.size(); ++o) {
    if (model.tensors.contains(bias)) y[o] = model.tensors.at(bias)[o];
    for (size_t i = 0; i < x.size(); ++i) y[o] += double{w[o * x.size() + i]} * x[i];
  }
  return y;
}

Vector normalized(const Written& model, const std::string& name, Vector x) {
  double mean = 0, variance = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (const double value : x) variance += (value - mean) * (value - mean) / kHidden;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = (x[i] - mean) / std::sqrt(variance + double{model.encoder.layer_norm_eps}) *
           model.tensors.at(name + ".weight")[i];
    if (model.tensors.contains(name + ".bias")) x[i] += model.tensors.at(name + ".bias")[i];
  }
  return x;
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

// The definition of each family's head: specs of the reference's classes.
Vector expected_logits(const Written& model, const std::string& type, Task task, Vector x) {
  const auto tanh_all = [](Vector v) {
    for (double& value : v) value = std::tanh(value);
    return v;
  };
  const auto gelu_all = [](Vector v) {
    for (double& value : v) value = gelu(value);
    return v;
  };
  const std::string words = std::string(model.encoder.names->word_embeddings) + ".weight";
  if (type == "modernbert") {
    x = normalized(model, "head.norm", gelu_all(affine(model, "head.dense.weight", "", x)));
    if (task == Task::kMaskedLm) return affine(model, words, "decoder.bias", x);
    return affine(model, "classifier.weight", "classifier.bias", x);
  }
  const bool bert = type == "bert";
  switch (task) {
    case Task::kMaskedLm: {
      const std::string stem = bert ? "cls.predictions.transform." : "lm_head.";
      x = gelu_all(affine(model, stem + "dense.weight", stem + "dense.bias", x));
      x = normalized(model, stem + (bert ? "LayerNorm" : "layer_norm"), x);
      return affine(model, words, bert ? "cls.predictions.bias" : "lm_head.bias", x);
    }
    case Task::kSequenceClassification:
      if (bert) break;
      x = tanh_all(affine(model, "classifier.dense.weight", "classifier.dense.bias", x));
      return affine(model, "classifier.out_proj.weight", "classifier.out_proj.bias", x);
    case Task::kTokenClassification:
      return affine(model, "classifier.weight", "classifier.bias", x);
    case Task::kQuestionAnswering:
      return affine(model, "qa_outputs.weight", "qa_outputs.bias", x);
    case Task::kMultipleChoice:
      break;
  }
  x = tanh_all(affine(model, "pooler.dense.weight", "pooler.dense.bias", x));
  return affine(model, "classifier.weight", "classifier.bias", x);
}

EncoderInput two_sequences() {
  EncoderInput input;
  input.lengths = {9, 5};
  for (int64_t t = 0; t < 14; ++t) input.input_ids.push_back(3 + (11 * t) % 60);
  input.attention_mask.assign(14, 1);
  input.attention_mask[0] = input.attention_mask[13] = 0;
  return input;
}

// What a head reads of the encoder's states: one row a token, or one a sequence.
std::vector<Vector> read_states(const Written& model, const EncoderInput& input,
                                const std::vector<float>& states) {
  std::vector<Vector> rows;
  size_t row = 0;
  for (const int64_t length : input.lengths) {
    Vector mean(kHidden);
    double real = 0;
    std::vector<Vector> own;
    size_t first_real = static_cast<size_t>(length);
    for (size_t t = 0; t < static_cast<size_t>(length); ++t, ++row) {
      const float* const state = states.data() + row * kHidden;
      own.emplace_back(state, state + kHidden);
      if (input.attention_mask[row] == 0) continue;
      first_real = std::min(first_real, t);
      real += 1;
      for (size_t c = 0; c < kHidden; ++c) mean[c] += own.back()[c];
    }
    for (double& value : mean) value /= real;
    switch (model.head.rows) {
      case HeadRows::kTokens:
        rows.insert(rows.end(), own.begin(), own.end());
        break;
      case HeadRows::kFirst:
        rows.push_back(own[0]);
        break;
      case HeadRows::kFirstReal:
        rows.push_back(own[first_real]);
        break;
      case HeadRows::kMean:
        rows.push_back(mean);
        break;
    }
  }
  return rows;
}

constexpr Task kTasks[] = {Task::kMaskedLm, Task::kSequenceClassification,
                           Task::kTokenClassification, Task::kQuestionAnswering,
                           Task::kMultipleChoice};
constexpr const char* kTypes[] = {"longformer", "bert", "roberta", "modernbert"};

TEST(TaskModel, HeadsMatchTheirDefinition) {
  for (const std::string type : kTypes) {
    for (const Task task : kTasks) {
      for (const std::string more : {"", R"(, "classifier_pooling": "mean")"}) {
        if (!more.empty() && type != "modernbert") continue;
        SCOPED_TRACE(type + " " + std::string(task_name(task)) + more);
        const TemporaryDirectory directory;
        const Written model = write_model(
            directory.path(), type, task,
            more +
                R"(, "id2label": {"0": "a", "1": "b", "2": "c"}, "classifier_activation": "gelu")");
        TaskOptions options;
        options.task = task;
        TaskModel loaded = TaskModel::load(directory.path(), options);
        EncoderInput input = two_sequences();
        if (type == "longformer") input.global_attention_mask.assign(14, 0);
        const TaskOutput output = loaded.run(input);
        const EncoderOutput states = loaded.encoder().encode(input);
        size_t at = 0;
        for (const Vector& state : read_states(model, input, states.last_hidden_state)) {
          for (const double want : expected_logits(model, type, task, state)) {
            ASSERT_LT(at, output.logits.size());
            ASSERT_NEAR(output.logits[at++], want, 2e-5 * std::max(1.0, std::abs(want)));
          }
        }
        EXPECT_EQ(at, output.logits.size());
      }
    }
  }
}

TEST(TaskModel, WantedRowsAndThreadsHaveTheBitsOfTheWhole) {
  const TemporaryDirectory directory;
  write_model(directory.path(), "longformer", Task::kMaskedLm);
  const EncoderInput input = two_sequences();
  TaskOptions options;
  options.task = Task::kMaskedLm;
  std::vector<float> all;
  for (const int threads : {1, 3}) {
    options.load.threads = threads;
    TaskModel model = TaskModel::load(directory.path(), options);
    TaskRunOptions run;
    const std::vector<float> logits = model.run(input).logits;
    if (all.empty()) all = logits;
    EXPECT_EQ(logits, all);
    run.wanted.assign(14, 0);
    run.wanted[3] = run.wanted[12] = 1;
    std::vector<float> want(all.begin() + 3 * 70, all.begin() + 4 * 70);
    want.insert(want.end(), all.begin() + 12 * 70, all.begin() + 13 * 70);
    EXPECT_EQ(model.run(input, run).logits, want);
    run.hidden_states = true;
    const TaskOutput with_states = model.run(input, run);
    EXPECT_EQ(with_states.logits, want);
    EXPECT_EQ(with_states.hidden_states.size(), 3u);
    for (const size_t marks : {size_t{0}, size_t{13}}) {
      run.wanted.assign(marks == 0 ? 14 : marks, marks == 0 ? 0 : 1);
      expect_error(ErrorCode::kInvalidArgument, {"wanted marks", "14"},
                   [&] { model.run(input, run); });
    }
  }
}

TEST(TaskModel, DefaultGlobalTokensFollowTheTaskRowByRow) {
  TaskInfo info;
  info.global_attention = true;
  info.sep_token_id = 2;
  const std::vector<int64_t> ids = {0, 7, 8, 2, 2, 9, 10, 11, 2, 1, 1};
  const auto text = [&](Task task, const std::vector<int64_t>& row) {
    info.task = task;
    std::string marks;
    for (const uint8_t mark : default_global(info, row)) marks += mark != 0 ? '1' : '0';
    return marks;
  };
  EXPECT_EQ(text(Task::kQuestionAnswering, ids), "11100000000");
  EXPECT_EQ(text(Task::kMultipleChoice, ids), "00000111111");
  EXPECT_EQ(text(Task::kSequenceClassification, ids), "10000000000");
  EXPECT_EQ(text(Task::kMaskedLm, ids), "00000000000");
  EXPECT_EQ(text(Task::kTokenClassification, ids), "00000000000");
  // One separator, none, four, one at the end: never refused.
  EXPECT_EQ(text(Task::kQuestionAnswering, {0, 7, 2, 9, 2}), "11000");
  EXPECT_EQ(text(Task::kQuestionAnswering, {0, 7, 9}), "000");
  EXPECT_EQ(text(Task::kQuestionAnswering, {0, 2, 2, 7, 2, 2}), "100000");
  EXPECT_EQ(text(Task::kMultipleChoice, {0, 7, 9}), "000");
  EXPECT_EQ(text(Task::kMultipleChoice, {0, 7, 2}), "000");
  EXPECT_EQ(text(Task::kMultipleChoice, {0, 2, 2, 5}), "0001");
  EXPECT_EQ(text(Task::kSequenceClassification, {}), "");
  info.global_attention = false;
  EXPECT_EQ(text(Task::kSequenceClassification, ids), "00000000000");
}

TEST(TaskModel, GlobalTokensAreCountedAndChangeWhatIsFarAway) {
  const TemporaryDirectory directory;
  write_model(directory.path(), "longformer", Task::kSequenceClassification);
  TaskOptions options;
  options.task = Task::kSequenceClassification;
  TaskModel model = TaskModel::load(directory.path(), options);
  EncoderInput input;
  input.lengths = {40, 3};
  for (int64_t t = 0; t < 43; ++t) input.input_ids.push_back(3 + t);
  const TaskOutput by_default = model.run(input);
  EXPECT_EQ(by_default.global_tokens, (std::vector<int64_t>{1, 1}));
  EncoderInput changed = input;
  changed.input_ids[39] = 60;  // behind the reach of two layers of 3
  EXPECT_NE(model.run(changed).logits[0], by_default.logits[0]);
  input.global_attention_mask.assign(43, 0);
  changed.global_attention_mask.assign(43, 0);
  const TaskOutput without = model.run(input);
  EXPECT_EQ(without.global_tokens, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(model.run(changed).logits, without.logits);
  // A masked first token is not global.
  input.global_attention_mask.clear();
  input.attention_mask.assign(43, 1);
  input.attention_mask[0] = 0;
  EXPECT_EQ(model.run(input).global_tokens, (std::vector<int64_t>{0, 1}));
}

TEST(TaskModel, AnAbsentHeadIsRefusedAndNeverRandomUnlessAllowed) {
  const TemporaryDirectory directory;
  const auto load = [&](const TaskOptions& options) {
    return TaskModel::load(directory.path(), options);
  };
  write_model(directory.path(), "longformer", Task::kQuestionAnswering, "", {"qa_outputs.bias"});
  TaskOptions options;
  options.task = Task::kQuestionAnswering;
  expect_error(ErrorCode::kInvalidFile, {"question-answering", "qa_outputs.bias is missing"},
               [&] { load(options); });
  options.allow_new_head = true;
  EXPECT_EQ(load(options).info().new_tensors, (std::vector<std::string>{"qa_outputs.bias"}));
  // Without any head: the matrix is random, the same for a seed, another for another.
  write_model(directory.path(), "longformer", Task::kQuestionAnswering, "",
              {"qa_outputs.weight", "qa_outputs.bias"});
  const EncoderInput input = two_sequences();
  const std::vector<float> first = load(options).run(input).logits;
  EXPECT_EQ(load(options).run(input).logits, first);
  options.seed = 1;
  EXPECT_NE(load(options).run(input).logits, first);
  options.task.reset();
  expect_error(ErrorCode::kUnsupported, {"architectures names no head", "LongformerForMaskedLM"},
               [&] { load(options); });
  io::write_file_atomic(
      directory.path() / "config.json",
      config_text("longformer", R"(, "architectures": "LongformerForQuestionAnswering")"));
  expect_error(ErrorCode::kInvalidFile, {"architectures", "must be a list of strings"},
               [&] { load(options); });
  write_model(directory.path(), "longformer", Task::kQuestionAnswering);
  options.model_class = "BertForMaskedLM";
  expect_error(ErrorCode::kUnsupported, {"BertForMaskedLM is not computed for a longformer"},
               [&] { load(options); });
}

TEST(TaskModel, TheHeadOfAnotherTaskUnderTheSameNamesIsRefused) {
  const TemporaryDirectory directory;
  write_model(directory.path(), "bert", Task::kTokenClassification,
              R"(, "architectures": ["BertForTokenClassification"])");
  TaskOptions options;
  EXPECT_EQ(TaskModel::load(directory.path(), options).info().model_class,
            "BertForTokenClassification");
  options.task = Task::kSequenceClassification;
  expect_error(ErrorCode::kInvalidFile, {"BertForTokenClassification", "sequence-classification"},
               [&] { TaskModel::load(directory.path(), options); });
}

TEST(TaskModel, LabelsComeFromTheConfigurationAndMustFit) {
  const TemporaryDirectory directory;
  TaskOptions options;
  options.task = Task::kTokenClassification;
  const auto labels = [&](const std::string& more) {
    write_model(directory.path(), "bert", Task::kTokenClassification, more);
    return TaskModel::load(directory.path(), options).info().labels;
  };
  EXPECT_EQ(labels(""), (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(labels(R"(, "num_labels": 1)"), (std::vector<std::string>{"LABEL_0"}));
  EXPECT_EQ(labels(R"(, "id2label": {"1": "x", "0": "O"})"), (std::vector<std::string>{"O", "x"}));
  for (const std::string key : {"2", "-1", "a", "", "99999999999", "00", "01", "+1", "1.0", " 1"}) {
    expect_error(ErrorCode::kInvalidFile, {"id2label", "0 to 1"},
                 [&] { labels(R"(, "id2label": {"0": "O", ")" + key + R"(": "x"})"); });
  }
  expect_error(ErrorCode::kInvalidFile, {"id2label", "0 to 2", "without leading zeros"},
               [&] { labels(R"(, "id2label": {"0": "a", "00": "b", "1": "c"})"); });
  // As many labels as the head has rows.
  write_model(directory.path(), "bert", Task::kTokenClassification);
  io::write_file_atomic(directory.path() / "config.json",
                        config_text("bert", R"(, "num_labels": 5)"));
  expect_error(ErrorCode::kInvalidFile, {"classifier.weight", "[2, 24]", "[5, 24]"},
               [&] { TaskModel::load(directory.path(), options); });
}

TEST(TaskModel, ProblemTypes) {
  const auto problem = [](const std::string& more) {
    const io::Config config = io::Config::parse(config_text("roberta", more), "config.json");
    TaskOptions options;
    options.task = Task::kSequenceClassification;
    return read_head_config(config, read_encoder_config(config), options).info.problem;
  };
  EXPECT_EQ(problem(""), Problem::kSingleLabel);
  EXPECT_EQ(problem(R"(, "num_labels": 1)"), Problem::kRegression);
  EXPECT_EQ(problem(R"(, "problem_type": "multi_label_classification")"), Problem::kMultiLabel);
  EXPECT_EQ(problem(R"(, "problem_type": "regression")"), Problem::kRegression);
  EXPECT_EQ(problem(R"(, "num_labels": 1, "problem_type": "single_label_classification")"),
            Problem::kSingleLabel);
  expect_error(ErrorCode::kUnsupported, {"problem_type"},
               [&] { problem(R"(, "problem_type": "other")"); });
}

TEST(TaskModel, ATiedOutputComesFromTheEmbeddingUnlessTheFileSaysOtherwise) {
  const TemporaryDirectory directory;
  write_model(directory.path(), "roberta", Task::kMaskedLm, R"(, "tie_word_embeddings": false)",
              {"lm_head.decoder.weight"});
  TaskOptions options;
  options.task = Task::kMaskedLm;
  expect_error(ErrorCode::kInvalidFile, {"lm_head.decoder.weight is missing"},
               [&] { TaskModel::load(directory.path(), options); });
  io::write_file_atomic(directory.path() / "config.json", config_text("roberta", ""));
  EXPECT_TRUE(TaskModel::load(directory.path(), options).info().new_tensors.empty());
}

}  // namespace
}  // namespace longformer
