// evaluate: a model with a head on rows of texts: classes, sets of labels, numbers, hidden tokens.
#include <algorithm>
#include <charconv>

#include "cli/evaluate.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/masked_text.h"
#include "tasks/metrics/language.h"
#include "tasks/task_text.h"

namespace longformer::cli {
namespace {

constexpr size_t kTextsHeld = 256;  // whose tokens are in memory at once

std::string text_fault(io::Cell& cell) {
  return cell.kind == io::Cell::Kind::kText ? "" : "must be a string";
}

tasks::TaskTextModel load(const EvaluateOptions& options, Task task) {
  TaskOptions how{.load = {.threads = options.model.threads}, .task = task};
  apply(options.overrides, how.load);
  return tasks::load_task_text_model(model_directory(options.model), how);
}

Side read_texts(const EvaluateOptions& options) {
  Side side{options.data, io::read_rows(options.data)};
  check_field(options.text_field, text_fault, side);
  return side;
}

void check_problem(const std::string& task, const TaskInfo& info) {
  const Problem wanted = task == "classification" ? Problem::kSingleLabel
                         : task == "multi-label"  ? Problem::kMultiLabel
                                                  : Problem::kRegression;
  if (info.problem == wanted && (wanted != Problem::kRegression || info.outputs == 1)) return;
  throw Error(ErrorCode::kInvalidArgument,
              "the head of the model is for another problem than " + task +
                  "; see problem_type and num_labels in its config.json",
              "--task");
}

io::Cell text_cell(const std::string& text) {
  io::Cell cell;
  cell.kind = io::Cell::Kind::kText;
  cell.text = text;
  return cell;
}

io::Cell prediction(const TaskInfo& info, std::span<const float> logits) {
  io::Cell cell;
  if (info.problem == Problem::kRegression) {
    cell.kind = io::Cell::Kind::kNumber;
    cell.number = logits[0];
  } else if (info.problem == Problem::kSingleLabel) {
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    cell = text_cell(info.labels[static_cast<size_t>(best)]);
  } else {
    cell.kind = io::Cell::Kind::kList;
    for (size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] > 0) cell.list.push_back(text_cell(info.labels[i]));  // sigmoid above a half
    }
  }
  return cell;
}

// A gold label by its name or, where no label is called so, by its number.
void use_names(const TaskInfo& info, const std::string& place, io::Cell& cell) {
  for (io::Cell& item : cell.list) use_names(info, place, item);
  if (cell.kind == io::Cell::Kind::kList ||
      std::find(info.labels.begin(), info.labels.end(), cell.text) != info.labels.end()) {
    return;
  }
  size_t number = 0;
  const char* const last = cell.text.data() + cell.text.size();
  const auto [end, error] = std::from_chars(cell.text.data(), last, number);
  if (error == std::errc() && end == last && number < info.labels.size()) {
    cell.text = info.labels[number];
    return;
  }
  std::string names;
  for (const std::string& label : info.labels) {
    names += (names.empty() ? "" : ", ") + io::short_value(Json(label));
    if (names.size() > 200) break;
  }
  throw Error(ErrorCode::kInvalidArgument, "its label is none of the model's, which are " + names,
              place);
}

// The logits of each text that the model reads at once; other rows become bad ones.
std::vector<io::Cell> predict(tasks::TaskTextModel& model, const std::string& field, Side& side) {
  std::vector<io::Cell> predictions;
  std::vector<io::Row> read;
  std::vector<tasks::TaskSequence> sequences;
  ProgressBar bar;
  const auto run = [&] {
    tasks::run_sequences(model, sequences, {}, [&](size_t, std::span<const float> logits, int64_t) {
      predictions.push_back(prediction(model.model.info(), logits));
    });
    sequences.clear();
  };
  const size_t count = side.rows.rows.size();
  for (size_t i = 0; i < count; ++i) {
    io::Row& row = side.rows.rows[i];
    tasks::TaskSequence sequence;
    sequence.tokens = model.tokenizer.encode(row.find(field)->text);
    const auto size = static_cast<int64_t>(sequence.tokens.size());
    if (size == 0 || size > model.max_tokens()) {
      side.rows.bad.push_back({row.line, row.record,
                               "its text has " + std::to_string(size) +
                                   " tokens, the model reads " + "1 to " +
                                   std::to_string(model.max_tokens())});
      continue;
    }
    sequences.push_back(std::move(sequence));
    read.push_back(std::move(row));
    if (sequences.size() < kTextsHeld) continue;
    run();
    bar.update(static_cast<double>(i + 1) / static_cast<double>(count));
  }
  if (!sequences.empty()) run();
  side.rows.rows = std::move(read);
  return predictions;
}

Evaluation evaluate_classifier(const EvaluateOptions& options) {
  Evaluation evaluation;
  Side side = read_texts(options);
  check_field(
      options.label_field,
      [&](io::Cell& cell) { return check_cell(options.task, options.separator, cell); }, side);
  tasks::TaskTextModel model = load(options, Task::kSequenceClassification);
  const TaskInfo& info = model.model.info();
  check_problem(options.task, info);
  if (info.problem != Problem::kRegression) {
    for (io::Row& row : side.rows.rows) {
      for (auto& [name, cell] : row.cells) {
        if (name != options.label_field) continue;
        use_names(info, options.data + " line " + std::to_string(row.line), cell);
      }
    }
  }
  const std::vector<io::Cell> predictions = predict(model, options.text_field, side);
  report_bad(options.data, side.rows.bad, evaluation);
  CellPairs cells;
  for (size_t i = 0; i < predictions.size(); ++i) {
    cells.emplace_back(side.rows.rows[i].find(options.label_field), &predictions[i]);
  }
  score_rows(options.task, cells, evaluation);
  return evaluation;
}

Evaluation evaluate_masked(const EvaluateOptions& options) {
  Evaluation evaluation;
  const Side side = read_texts(options);
  report_bad(options.data, side.rows.bad, evaluation);
  tasks::TaskTextModel model = load(options, Task::kMaskedLm);
  const tasks::MaskSettings settings{.mask_id = tasks::mask_token(model.tokenizer),
                                     .vocabulary = model.model.info().outputs,
                                     .share = options.mask_share,
                                     .seed = static_cast<uint64_t>(options.seed)};
  std::vector<double> values;
  uint64_t number = 0;
  ProgressBar bar;
  const std::vector<io::Row>& rows = side.rows.rows;
  for (size_t begin = 0; begin < rows.size(); begin += kTextsHeld) {
    const size_t end = std::min(begin + kTextsHeld, rows.size());
    std::vector<std::string> texts;
    for (size_t i = begin; i < end; ++i) texts.push_back(rows[i].find(options.text_field)->text);
    tasks::masked_log_probabilities(model, texts, settings, {}, number, values);
    bar.update(static_cast<double>(end) / static_cast<double>(rows.size()));
  }
  evaluation.items = std::ssize(rows);
  const tasks::LanguageScores scores = tasks::language_scores(values);
  evaluation.metrics = {{"loss", scores.loss},
                        {"bits", scores.bits},
                        {"perplexity", scores.perplexity},
                        {"tokens", scores.tokens}};
  return evaluation;
}

}  // namespace

Evaluation evaluate_model(const EvaluateOptions& options) {
  return options.task == "mlm" ? evaluate_masked(options) : evaluate_classifier(options);
}

}  // namespace longformer::cli
