// evaluate: what a model with a head predicts, beside gold labels.
#include <algorithm>
#include <functional>
#include <optional>

#include "cli/evaluate.h"
#include "io/json.h"
#include "longformer/error.h"
#include "tasks/answer.h"
#include "tasks/classify.h"
#include "tasks/fill_mask.h"
#include "tasks/label_set.h"
#include "tasks/long_text.h"
#include "tasks/masked_text.h"
#include "tasks/tag.h"
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

tasks::ScoreFunction score_function(const TaskInfo& info) {
  return info.problem == Problem::kRegression   ? tasks::ScoreFunction::kNone
         : info.problem == Problem::kMultiLabel ? tasks::ScoreFunction::kSigmoid
                                                : tasks::ScoreFunction::kSoftmax;
}

io::Cell prediction(const TaskInfo& info, std::span<const double> scores) {
  io::Cell cell;
  if (info.problem == Problem::kRegression) {
    cell.kind = io::Cell::Kind::kNumber;
    cell.number = scores[0];
  } else if (info.problem == Problem::kSingleLabel) {
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    cell = text_cell(info.labels[static_cast<size_t>(best)]);
  } else {
    cell.kind = io::Cell::Kind::kList;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] > 0.5) cell.list.push_back(text_cell(info.labels[i]));
    }
  }
  return cell;
}

// A gold label by its name or, where no label is called so, by its number.
void use_names(const tasks::LabelSet& labels, const std::string& place, io::Cell& cell) {
  for (io::Cell& item : cell.list) use_names(labels, place, item);
  if (cell.kind == io::Cell::Kind::kList) return;
  const std::optional<int64_t> number = labels.find(cell.text);
  if (!number) {
    throw Error(ErrorCode::kInvalidArgument,
                "its label is none of the model's, which are " + labels.list(), place);
  }
  cell.text = labels.name(*number);
}

// Calls `some` with ranges of at most kTextsHeld items.
void in_parts(size_t count, const std::function<void(size_t begin, size_t end)>& some) {
  ProgressBar bar;
  for (size_t begin = 0; begin < count; begin += kTextsHeld) {
    const size_t end = std::min(begin + kTextsHeld, count);
    some(begin, end);
    bar.update(static_cast<double>(end) / static_cast<double>(count));
  }
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
    const tasks::LabelSet labels(info.labels);
    for (io::Row& row : side.rows.rows) {
      for (auto& [name, cell] : row.cells) {
        if (name != options.label_field) continue;
        use_names(labels, options.data + " line " + std::to_string(row.line), cell);
      }
    }
  }
  const std::vector<io::Row>& rows = side.rows.rows;
  std::vector<io::Cell> predictions;
  in_parts(rows.size(), [&](size_t begin, size_t end) {
    std::vector<tasks::CutText> texts;
    for (size_t i = begin; i < end; ++i) {
      texts.push_back(tasks::cut_text(model, rows[i].find(options.text_field)->text, {},
                                      tasks::LongText::kWindows));
    }
    tasks::classify(model, texts, score_function(info), {},
                    [&](size_t, const tasks::Classification& found) {
                      predictions.push_back(prediction(info, found.scores));
                    });
  });
  report_bad(options.data, side.rows.bad, evaluation);
  CellPairs cells;
  for (size_t i = 0; i < predictions.size(); ++i) {
    cells.emplace_back(side.rows.rows[i].find(options.label_field), &predictions[i]);
  }
  if (cells.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "there is nothing to evaluate: it has no record that can be used", options.data);
  }
  score_rows(options.task, cells, evaluation);
  return evaluation;
}

Evaluation evaluate_masked(const EvaluateOptions& options) {
  Evaluation evaluation;
  const Side side = read_texts(options);
  report_bad(options.data, side.rows.bad, evaluation);
  tasks::TaskTextModel model = load(options, Task::kMaskedLm);
  const tasks::MaskSettings settings{
      .mask_id = tasks::mask_token(model_directory(options.model), model.tokenizer).id,
      .vocabulary = model.model.info().outputs,
      .share = options.mask_share,
      .seed = static_cast<uint64_t>(options.seed)};
  std::vector<double> values;
  uint64_t number = 0;
  const std::vector<io::Row>& rows = side.rows.rows;
  in_parts(rows.size(), [&](size_t begin, size_t end) {
    std::vector<std::string> texts;
    for (size_t i = begin; i < end; ++i) texts.push_back(rows[i].find(options.text_field)->text);
    tasks::masked_log_probabilities(model, texts, settings, {}, number, values);
  });
  if (values.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "has no masked token to evaluate", options.data);
  }
  evaluation.items = std::ssize(rows);
  score_language(values, evaluation);
  return evaluation;
}

Evaluation evaluate_question_answering(const EvaluateOptions& options) {
  Evaluation evaluation;
  const io::QuestionFile gold = read_questions(options, AnswerData::kSquad, evaluation);
  tasks::TaskTextModel model = load(options, Task::kQuestionAnswering);
  tasks::AnswerOptions how;
  how.max_answer_length = options.max_answer_length;
  how.impossible = gold.version2;
  std::vector<PredictedAnswer> predictions;
  std::vector<Error> unusable;  // questions that cannot be asked
  in_parts(gold.questions.size(), [&](size_t begin, size_t end) {
    std::vector<tasks::CutText> texts;
    std::vector<const io::GoldQuestion*> asked;
    for (size_t i = begin; i < end; ++i) {
      const io::GoldQuestion& one = gold.questions[i];
      try {
        texts.push_back(tasks::cut_question(model, one.question, gold.contexts[one.context], how));
        asked.push_back(&one);
      } catch (const Error& error) {
        unusable.emplace_back(error.code(), error.what(),
                              "question " + io::short_value(Json(one.id)));
      }
    }
    tasks::answer(model, texts, how, {}, [&](size_t index, const tasks::Answers& answers) {
      const text::Offset bytes = answers.best[0].bytes;
      const auto first = static_cast<size_t>(bytes.begin);
      PredictedAnswer predicted{
          asked[index]->id,
          texts[index].second.substr(first, static_cast<size_t>(bytes.end) - first),
          {}};
      if (gold.version2) predicted.no_answer = answers.null_score;
      predictions.push_back(std::move(predicted));
    });
  });
  if (predictions.empty() && !unusable.empty()) throw unusable[0];
  evaluation.skipped += std::ssize(unusable);
  for (size_t i = 0; i < std::min(unusable.size(), size_t{kNamedRecords}); ++i) {
    notice(std::string(unusable[i].what()) + "; counts as wrong");
  }
  EvaluateOptions scoring = options;
  scoring.allow_missing = true;
  score_answers(gold, AnswerData::kSquad, predictions, scoring, evaluation);
  return evaluation;
}

Evaluation evaluate_tagger(const EvaluateOptions& options) {
  Evaluation evaluation;
  Sentences gold =
      read_sentences(options.data, options.label_field, options.label_column, options, evaluation);
  check_sentences(options.data, gold, options.scheme);
  std::vector<std::vector<std::string>> words, tags, predicted;
  for (auto& [record, sentence] : gold.read) {
    words.push_back(std::move(sentence.words));
    tags.push_back(std::move(sentence.tags));
  }
  tasks::TaskTextModel model = load(options, Task::kTokenClassification);
  in_parts(words.size(), [&](size_t begin, size_t end) {
    const std::span<const std::vector<std::string>> part(words.data() + begin, end - begin);
    for (auto& labels : tasks::tag_sentences(model, part, {})) {
      predicted.push_back(std::move(labels));
    }
  });
  score_entities(tags, predicted, options.scheme, evaluation);
  return evaluation;
}

}  // namespace

Evaluation evaluate_model(const EvaluateOptions& options) {
  if (options.task == "mlm") return evaluate_masked(options);
  if (options.task == "squad") return evaluate_question_answering(options);
  if (options.task == "entities") return evaluate_tagger(options);
  return evaluate_classifier(options);
}

}  // namespace longformer::cli
