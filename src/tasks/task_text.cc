#include "tasks/task_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "tasks/model_files.h"

namespace longformer::tasks {
namespace {

// What one call of the encoder gets.
struct Call {
  size_t first = 0;
  size_t count = 0;
};

Call next_call(std::span<const TaskSequence> sequences, size_t first, int64_t batch_tokens) {
  Call call{first, 0};
  int64_t tokens = 0;
  while (first + call.count < sequences.size()) {
    const auto more = static_cast<int64_t>(sequences[first + call.count].tokens.size());
    if (call.count > 0 && tokens + more > batch_tokens) break;
    tokens += more;
    ++call.count;
  }
  return call;
}

// Logits that a sequence has, of all those of a call.
size_t logit_rows(const TaskInfo& info, const TaskSequence& sequence) {
  const bool by_token = info.task == Task::kMaskedLm || info.task == Task::kTokenClassification ||
                        info.task == Task::kQuestionAnswering;
  if (!by_token) return 1;
  if (sequence.wanted.empty()) return sequence.tokens.size();
  return static_cast<size_t>(std::count_if(sequence.wanted.begin(), sequence.wanted.end(),
                                           [](uint8_t w) { return w != 0; }));
}

void check_finite(const TaskTextModel& model, std::span<const float> logits) {
  if (std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); })) return;
  throw Error(ErrorCode::kInvalidFile,
              model.model.info().model_class +
                  " gives a logit that is no finite number; its weights hold NaN, infinity or "
                  "enormous values: --check-tensors true names the place");
}

// Matches of the last text that was searched: the windows of a text come one after the other.
class Matches {
 public:
  const GlobalMatches& of(const GlobalRule& rule, std::string_view text) {
    if (!found_ || text.data() != text_.data() || text.size() != text_.size()) {
      found_ = rule.find(text);
      text_ = text;
    }
    return *found_;
  }

 private:
  std::string_view text_;
  std::optional<GlobalMatches> found_;
};

EncoderInput make_input(const TaskTextModel& model, std::span<const TaskSequence> sequences,
                        const GlobalRule* rule, std::array<Matches, 2>& matches) {
  const TaskInfo& info = model.model.info();
  const int64_t types = model.model.encoder().info().type_vocab_size;
  EncoderInput input;
  for (const TaskSequence& sequence : sequences) {
    const text::Encoding& tokens = sequence.tokens;
    input.lengths.push_back(static_cast<int64_t>(tokens.size()));
    input.input_ids.insert(input.input_ids.end(), tokens.ids.begin(), tokens.ids.end());
    // A model with one row of types reads all tokens as that one, pairs too.
    for (const int64_t type : tokens.type_ids) {
      input.token_type_ids.push_back(types > 1 ? type : 0);
    }
    if (rule == nullptr || !info.global_attention) continue;
    const std::vector<uint8_t> global = rule->apply(
        info, tokens, matches[0].of(*rule, sequence.first), matches[1].of(*rule, sequence.second));
    input.global_attention_mask.insert(input.global_attention_mask.end(), global.begin(),
                                       global.end());
  }
  return input;
}

}  // namespace

TaskTextModel load_task_text_model(const std::filesystem::path& directory,
                                   const TaskOptions& options) {
  TaskTextModel model{TaskModel::load(directory, options), load_tokenizer(directory)};
  check_vocabulary(model.tokenizer, model.model.encoder().info(), directory);
  return model;
}

void run_sequences(TaskTextModel& model, std::span<const TaskSequence> sequences,
                   const TaskRun& run, const LogitsVisitor& visit) {
  const auto outputs = static_cast<size_t>(model.model.info().outputs);
  std::array<Matches, 2> matches;  // of the first and the second texts
  for (size_t first = 0; first < sequences.size();) {
    const Call call = next_call(sequences, first, run.batch_tokens);
    const std::span<const TaskSequence> batch = sequences.subspan(first, call.count);
    const EncoderInput input = make_input(model, batch, run.global, matches);
    TaskRunOptions options;
    options.cancelled = run.cancelled;
    for (const TaskSequence& sequence : batch) {
      options.wanted.insert(options.wanted.end(), sequence.wanted.begin(), sequence.wanted.end());
    }
    const TaskOutput output = model.model.run(input, options);
    check_finite(model, output.logits);
    size_t begin = 0;
    for (size_t s = 0; s < batch.size(); ++s) {
      const size_t count = logit_rows(model.model.info(), batch[s]) * outputs;
      visit(first + s, std::span(output.logits).subspan(begin, count), output.global_tokens[s]);
      begin += count;
    }
    first += call.count;
    if (run.progress) {
      run.progress(static_cast<int64_t>(first), static_cast<int64_t>(sequences.size()));
    }
  }
}

}  // namespace longformer::tasks
