// An encoder with the head of a task on it, tensors in, logits out: what the reference's
// ...ForMaskedLM, ...ForSequenceClassification, ...ForTokenClassification, ...ForQuestionAnswering
// and ...ForMultipleChoice classes compute.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/encoder.h"

namespace longformer {

enum class Task {
  kMaskedLm,                // logits over the vocabulary, one row a token
  kSequenceClassification,  // one row a sequence
  kTokenClassification,     // one row a token
  kQuestionAnswering,       // two columns a token: start, end
  kMultipleChoice,          // one column a sequence; the sequences of a question are its choices
};
// "masked-lm", "sequence-classification", …
std::string_view task_name(Task task) noexcept;

// What the logits of a sequence classifier mean ("problem_type" of config.json; where that is
// absent: one label is a regression, more are exclusive).
enum class Problem {
  kSingleLabel,  // softmax
  kMultiLabel,   // a sigmoid each
  kRegression,   // the values themselves
};

struct TaskInfo {
  Task task = Task::kMaskedLm;
  std::string model_class;          // the reference's: "LongformerForMaskedLM"
  int64_t outputs = 0;              // columns of the logits
  std::vector<std::string> labels;  // of the two kinds of classifier: id2label, else LABEL_0, …
  Problem problem = Problem::kSingleLabel;
  std::string problem_type;             // as config.json says it; may be empty
  std::optional<int64_t> sep_token_id;  // ends the question; as config.json says
  bool global_attention = false;        // the family has global tokens
  // Tensors of the head that the checkpoint lacks and that are random
  // (TaskOptions::allow_new_head).
  std::vector<std::string> new_tensors;
};

struct TaskOptions {
  LoadOptions load;
  // Of the heads that the checkpoint may have; none: what model_class, or else "architectures" of
  // config.json, says.
  std::optional<Task> task;
  std::string model_class;      // "BertForTokenClassification"
  bool allow_new_head = false;  // fill absent tensors of the head from N(0, initializer_range)
  uint64_t seed = 0;            // of these
};

struct TaskRunOptions {
  bool hidden_states = false;  // as EncodeOptions
  // One a token, 1: its logits are wanted (masked LM and token classification). Empty: all.
  std::vector<uint8_t> wanted;
  std::function<void(int64_t done, int64_t total)> progress;
  std::function<bool()> cancelled;
};

struct TaskOutput {
  // [rows, TaskInfo::outputs]. rows: tokens, or those wanted, in order; or sequences.
  std::vector<float> logits;
  std::vector<int64_t> global_tokens;             // of each sequence, how many were global
  std::vector<std::vector<float>> hidden_states;  // as EncoderOutput
};

class TaskModel {
 public:
  // Throws what Encoder::load throws; kUnsupported where the checkpoint names no head that is
  // computed; kInvalidFile naming the tensors of the head that the checkpoint lacks.
  static TaskModel load(const std::filesystem::path& directory, const TaskOptions& options = {});

  TaskModel(TaskModel&&) noexcept;
  TaskModel& operator=(TaskModel&&) noexcept;
  ~TaskModel();

  const TaskInfo& info() const;
  Encoder& encoder();
  const Encoder& encoder() const;

  // As Encoder::encode. An empty global_attention_mask means the task's default (default_global());
  // one of zeros means no global token. Masked positions are never global.
  TaskOutput run(const EncoderInput& input, const TaskRunOptions& options = {});

 private:
  struct Impl;
  explicit TaskModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The tokens of one sequence that are global by default, 1 each; a vector of zeros where none is or
// the family has no global attention. Masked LM and token classification: none. Sequence
// classification: the first. Question answering: those in front of the first separator. Multiple
// choice: those behind the token that follows the first separator. Each row by itself; a row
// without a separator has none.
std::vector<uint8_t> default_global(const TaskInfo& info, std::span<const int64_t> ids);

}  // namespace longformer
