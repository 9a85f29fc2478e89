#include "models/heads.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/limits.h"

namespace longformer {
namespace {

using kernels::Activation;

// What a head applies behind its dense layer.
enum class HeadActivation { kTanh, kGelu, kStack };  // kStack: that of the encoder's layers

struct HeadRow {
  Task task;
  HeadRows rows;
  const char* dense;  // kPooler: the bare model's
  HeadActivation activation;
  const char* norm;
  const char* output;
  const char* output_bias;
  const char* tied_bias;
};

constexpr const char* kPooler = "pooler.dense";

constexpr HeadRow kBertHeads[] = {
    {Task::kMaskedLm, HeadRows::kTokens, "cls.predictions.transform.dense", HeadActivation::kStack,
     "cls.predictions.transform.LayerNorm", "cls.predictions.decoder", "cls.predictions.bias",
     "cls.predictions.decoder.bias"},
    {Task::kSequenceClassification, HeadRows::kFirst, kPooler, HeadActivation::kTanh, "",
     "classifier", "classifier.bias", ""},
    {Task::kTokenClassification, HeadRows::kTokens, "", HeadActivation::kTanh, "", "classifier",
     "classifier.bias", ""},
    {Task::kQuestionAnswering, HeadRows::kTokens, "", HeadActivation::kTanh, "", "qa_outputs",
     "qa_outputs.bias", ""},
    {Task::kMultipleChoice, HeadRows::kFirst, kPooler, HeadActivation::kTanh, "", "classifier",
     "classifier.bias", ""},
};

// RoBERTa, XLM-R, CamemBERT, Longformer.
constexpr HeadRow kRobertaHeads[] = {
    {Task::kMaskedLm, HeadRows::kTokens, "lm_head.dense", HeadActivation::kGelu,
     "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias", "lm_head.decoder.bias"},
    {Task::kSequenceClassification, HeadRows::kFirst, "classifier.dense", HeadActivation::kTanh, "",
     "classifier.out_proj", "classifier.out_proj.bias", ""},
    {Task::kTokenClassification, HeadRows::kTokens, "", HeadActivation::kTanh, "", "classifier",
     "classifier.bias", ""},
    {Task::kQuestionAnswering, HeadRows::kTokens, "", HeadActivation::kTanh, "", "qa_outputs",
     "qa_outputs.bias", ""},
    {Task::kMultipleChoice, HeadRows::kFirst, kPooler, HeadActivation::kTanh, "", "classifier",
     "classifier.bias", ""},
};

// The activation is "classifier_activation", the rows of a sequence "classifier_pooling".
constexpr HeadRow kModernBertHeads[] = {
    {Task::kMaskedLm, HeadRows::kTokens, "head.dense", HeadActivation::kStack, "head.norm",
     "decoder", "decoder.bias", ""},
    {Task::kSequenceClassification, HeadRows::kFirst, "head.dense", HeadActivation::kStack,
     "head.norm", "classifier", "classifier.bias", ""},
    {Task::kTokenClassification, HeadRows::kTokens, "head.dense", HeadActivation::kStack,
     "head.norm", "classifier", "classifier.bias", ""},
    {Task::kQuestionAnswering, HeadRows::kTokens, "head.dense", HeadActivation::kStack, "head.norm",
     "classifier", "classifier.bias", ""},
    {Task::kMultipleChoice, HeadRows::kFirstReal, "head.dense", HeadActivation::kStack, "head.norm",
     "classifier", "classifier.bias", ""},
};

struct ClassEnding {
  Task task;
  std::string_view ending;
  std::string_view name;
};
constexpr std::array<ClassEnding, 5> kEndings = {{
    {Task::kMaskedLm, "ForMaskedLM", "masked-lm"},
    {Task::kSequenceClassification, "ForSequenceClassification", "sequence-classification"},
    {Task::kTokenClassification, "ForTokenClassification", "token-classification"},
    {Task::kQuestionAnswering, "ForQuestionAnswering", "question-answering"},
    {Task::kMultipleChoice, "ForMultipleChoice", "multiple-choice"},
}};

const ClassEnding& ending_of(Task task) {
  return *std::find_if(kEndings.begin(), kEndings.end(),
                       [task](const ClassEnding& ending) { return ending.task == task; });
}

bool is_modernbert(const EncoderConfig& encoder) { return encoder.names == &kModernBertNames; }

std::span<const HeadRow> heads_of(const EncoderConfig& encoder) {
  if (is_modernbert(encoder)) return kModernBertHeads;
  if (encoder.model_type == "bert") return kBertHeads;
  return kRobertaHeads;
}

std::string class_prefix(const EncoderConfig& encoder) {
  const std::string& bare = encoder.model_class;
  return bare.substr(0, bare.size() - std::string_view("Model").size());
}

std::optional<Task> task_of_class(std::string_view name) {
  // BERT's pretraining class has the masked LM's head beside that of the next sentence.
  if (name.ends_with("ForPreTraining")) return Task::kMaskedLm;
  for (const ClassEnding& ending : kEndings) {
    if (name.ends_with(ending.ending)) return ending.task;
  }
  return std::nullopt;
}

// The task of "architectures", and whether a class stands there that is neither bare nor computed.
struct Stated {
  std::optional<Task> task;
  std::string name;  // the first class that is not the bare model's
};
Stated stated_task(const io::Config& config, const EncoderConfig& encoder) {
  Stated stated;
  for (const std::string& name : config.string_list("architectures")) {
    if (name == encoder.model_class) continue;
    if (stated.name.empty()) stated.name = name;
    if (!stated.task) stated.task = task_of_class(name);
  }
  return stated;
}

void read_labels(const io::Config& config, TaskInfo& info) {
  const auto names = config.string_map("id2label");
  constexpr int64_t kMaxLabels = 1000000;
  info.outputs = names.empty() ? config.integer("num_labels", 2, 1, kMaxLabels)
                               : static_cast<int64_t>(names.size());
  for (int64_t label = 0; label < info.outputs; ++label) {
    info.labels.push_back("LABEL_" + std::to_string(label));
  }
  for (const auto& [key, name] : names) {
    // With a leading zero the same number may stand there twice.
    const bool number = !key.empty() && key.size() <= 7 && (key[0] != '0' || key == "0") &&
                        key.find_first_not_of("0123456789") == std::string::npos;
    if (!number || std::stoll(key) >= info.outputs) {
      throw Error(ErrorCode::kInvalidFile,
                  "id2label names " + std::to_string(info.outputs) +
                      " labels; their numbers must be 0 to " + std::to_string(info.outputs - 1) +
                      ", without leading zeros",
                  config.place());
    }
    info.labels[static_cast<size_t>(std::stoll(key))] = name;
  }
}

void read_problem(const io::Config& config, TaskInfo& info) {
  info.problem_type = config.string("problem_type", "");
  if (info.problem_type == "regression" || (info.problem_type.empty() && info.outputs == 1)) {
    info.problem = Problem::kRegression;
  } else if (info.problem_type == "multi_label_classification") {
    info.problem = Problem::kMultiLabel;
  } else if (info.problem_type.empty() || info.problem_type == "single_label_classification") {
    info.problem = Problem::kSingleLabel;
  } else {
    throw Error(ErrorCode::kUnsupported,
                "problem_type is none of regression, single_label_classification, "
                "multi_label_classification",
                config.place());
  }
}

void read_modernbert_head(const io::Config& config, HeadConfig& head) {
  const std::string pooling = config.string("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean") {
    throw Error(ErrorCode::kUnsupported, "classifier_pooling is neither \"cls\" nor \"mean\"",
                config.place());
  }
  if (head.rows != HeadRows::kTokens && pooling == "mean") head.rows = HeadRows::kMean;
  const auto activation =
      kernels::activation_from_name(config.string("classifier_activation", "gelu"));
  if (!activation) {
    throw Error(ErrorCode::kUnsupported,
                "classifier_activation is not one of " + kernels::activation_names(),
                config.place());
  }
  head.activation = *activation;
  // Null is 3 to the reference. Far below 1 hardly any draw would be kept.
  head.initializer_cutoff =
      config.contains("initializer_cutoff_factor") && !config.has("initializer_cutoff_factor")
          ? 3.0
          : config.number("initializer_cutoff_factor", 2.0, 0.1, 1e3);
  head.dense_bias = config.boolean("classifier_bias", false);
  if (head.tied || head.info.task == Task::kMaskedLm) {
    head.has_output_bias = config.boolean("decoder_bias", true);
  }
}

// Whose special tokens have defaults in the reference's configuration classes.
std::optional<int64_t> read_separator(const io::Config& config, const EncoderConfig& encoder) {
  const int64_t fallback = encoder.global_attention ? 2 : -1;
  const int64_t id = config.integer("sep_token_id", fallback, 0, kMaxVocabulary);
  return id < 0 ? std::nullopt : std::optional<int64_t>(id);
}

HeadConfig make_head(const io::Config& config, const EncoderConfig& encoder, Task task) {
  const std::span<const HeadRow> rows = heads_of(encoder);
  const HeadRow& row = *std::find_if(rows.begin(), rows.end(),
                                     [task](const HeadRow& entry) { return entry.task == task; });
  HeadConfig head;
  head.info.task = task;
  head.info.model_class = class_prefix(encoder) + std::string(ending_of(task).ending);
  head.info.global_attention = encoder.global_attention;
  head.info.sep_token_id = read_separator(config, encoder);
  head.rows = row.rows;
  head.pooled = row.dense == kPooler;
  head.dense = row.dense;
  head.norm = row.norm;
  head.output = row.output;
  head.output_bias = row.output_bias;
  head.tied_bias = row.tied_bias;
  head.initializer_range = config.number("initializer_range", 0.02, 0.0, 1e3);
  head.tied = task == Task::kMaskedLm && config.boolean("tie_word_embeddings", true);
  if (row.activation == HeadActivation::kGelu) head.activation = Activation::kGelu;
  if (row.activation == HeadActivation::kStack) head.activation = encoder.activation;
  switch (task) {
    case Task::kMaskedLm:
      head.info.outputs = encoder.vocab_size;
      break;
    case Task::kQuestionAnswering:
      head.info.outputs = 2;
      break;
    case Task::kMultipleChoice:
      head.info.outputs = 1;
      break;
    default:
      read_labels(config, head.info);
      if (task == Task::kSequenceClassification) read_problem(config, head.info);
  }
  if (is_modernbert(encoder)) read_modernbert_head(config, head);
  return head;
}

}  // namespace

std::string_view task_name(Task task) noexcept { return ending_of(task).name; }

std::string head_classes(const EncoderConfig& encoder) {
  std::string names;
  for (const ClassEnding& ending : kEndings) {
    names += (names.empty() ? "" : ", ") + class_prefix(encoder) + std::string(ending.ending);
  }
  return names;
}

TaskInfo bare_info(const io::Config& config, const EncoderConfig& encoder) {
  TaskInfo info;
  info.model_class = encoder.model_class;
  info.global_attention = encoder.global_attention;
  info.sep_token_id = read_separator(config, encoder);
  return info;
}

std::optional<HeadConfig> stated_head(const io::Config& config, const EncoderConfig& encoder) {
  const Stated stated = stated_task(config, encoder);
  if (!stated.task) return std::nullopt;
  return make_head(config, encoder, *stated.task);
}

HeadConfig read_head_config(const io::Config& config, const EncoderConfig& encoder,
                            const TaskOptions& options) {
  if (!options.model_class.empty()) {
    const std::optional<Task> task = task_of_class(options.model_class);
    const bool known =
        task && options.model_class == class_prefix(encoder) + std::string(ending_of(*task).ending);
    if (!known || (options.task && *options.task != *task)) {
      throw Error(ErrorCode::kUnsupported, options.model_class + " is not computed for a " +
                                               encoder.model_type + " checkpoint; there are " +
                                               encoder.model_class + ", " + head_classes(encoder));
    }
    return make_head(config, encoder, *task);
  }
  const Stated stated = stated_task(config, encoder);
  if (!options.task) {
    if (stated.task) return make_head(config, encoder, *stated.task);
    throw Error(ErrorCode::kUnsupported,
                "architectures names no head that is computed; say which class to take: " +
                    head_classes(encoder),
                config.place());
  }
  // The same tensors mean another thing in another class: names alone do not tell.
  if (stated.task && *stated.task != *options.task && !options.allow_new_head) {
    throw Error(ErrorCode::kInvalidFile,
                "the checkpoint has the head of " +
                    make_head(config, encoder, *stated.task).info.model_class +
                    " (architectures), not one for " + std::string(task_name(*options.task)) +
                    "; take a checkpoint that was trained for it",
                config.place());
  }
  return make_head(config, encoder, *options.task);
}

std::vector<io::ExpectedTensor> expected_head_tensors(const HeadConfig& head,
                                                      const EncoderConfig& encoder) {
  const int64_t hidden = encoder.hidden_size;
  std::vector<io::ExpectedTensor> tensors;
  const auto add = [&](const std::string& name, Shape shape, const std::string& fallback = {}) {
    tensors.push_back({name, std::move(shape), true, fallback});
  };
  if (!head.dense.empty() && !head.pooled) {
    add(head.dense + ".weight", {hidden, hidden});
    if (head.dense_bias) add(head.dense + ".bias", {hidden});
  }
  if (!head.norm.empty()) {
    add(head.norm + ".weight", {hidden});
    if (encoder.norm_bias) add(head.norm + ".bias", {hidden});
  }
  add(head.output + ".weight", {head.info.outputs, hidden});
  if (head.has_output_bias) add(head.output_bias, {head.info.outputs}, head.tied_bias);
  if (!head.tied_bias.empty()) add(head.tied_bias, {head.info.outputs});
  return tensors;
}

}  // namespace longformer
