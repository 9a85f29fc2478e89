// A model with a head and its tokenizer, and the way from texts to encoder input that all tasks
// share: pairs, windows, global tokens, calls of a bounded number of tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "longformer/task_model.h"
#include "tasks/global_rule.h"
#include "text/tokenizer.h"

namespace longformer::tasks {

struct TaskTextModel {
  TaskModel model;
  text::Tokenizer tokenizer;
  // Tokens of one sequence, special tokens included.
  int64_t max_tokens() const { return model.encoder().info().max_tokens; }
};

// Throws what TaskModel::load and load_tokenizer throw; kInvalidFile when the tokenizer has an id
// that the embedding table lacks.
TaskTextModel load_task_text_model(const std::filesystem::path& directory,
                                   const TaskOptions& options = {});

// What cuts texts into sequences needs of a model.
struct TextSpace {
  const text::Tokenizer& tokenizer;
  int64_t max_tokens;  // of one sequence, special tokens included
  TextSpace(const text::Tokenizer& words, int64_t tokens) : tokenizer(words), max_tokens(tokens) {}
  TextSpace(const TaskTextModel& model)  // NOLINT(google-explicit-constructor)
      : tokenizer(model.tokenizer), max_tokens(model.max_tokens()) {}
};

// One sequence on its way into the model.
struct TaskSequence {
  text::Encoding tokens;  // special tokens included; of one text or a pair
  // Texts that its offsets point into, for rules that search them; empty: not kept.
  std::string_view first;
  std::string_view second;
  std::vector<uint8_t> wanted;  // as TaskRunOptions; all or none of a call's sequences have it
};

struct TaskRun {
  int64_t batch_tokens = 4096;  // of one call of the encoder; more only where one sequence has more
  const GlobalRule* global = nullptr;                         // null: the task's default
  std::function<void(int64_t done, int64_t total)> progress;  // sequences
  std::function<bool()> cancelled;
};

// Runs the sequences in order in as few calls as the budget allows (never padded; the results do
// not depend on the budget) and visits each: its index, its logits [rows, outputs] (rows as
// TaskOutput), its number of global tokens. A sequence longer than the model reads throws
// kInvalidArgument, a logit that is no finite number kInvalidFile.
using LogitsVisitor =
    std::function<void(size_t index, std::span<const float> logits, int64_t global_tokens)>;
void run_sequences(TaskTextModel& model, std::span<const TaskSequence> sequences,
                   const TaskRun& run, const LogitsVisitor& visit);

}  // namespace longformer::tasks
