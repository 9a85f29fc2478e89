// What the parts of `evaluate` share. One file a kind of data; each turns gold labels and
// predictions into an Evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/load_options.h"
#include "cli/output.h"
#include "io/datasets/bad_record.h"
#include "io/datasets/rows.h"
#include "io/datasets/squad_json.h"

namespace longformer::cli {

struct EvaluateOptions {
  std::string task;
  std::string data;
  std::string predictions;
  std::string id_field;  // empty: "id" where both files have it, else records are paired in order
  std::string label_field;  // empty: what the task names them
  std::string prediction_field;
  std::string separator = ",";  // of several labels in one cell of CSV
  std::string scheme = "lenient";
  int64_t label_column = -1;
  int64_t prediction_column = -1;
  std::string no_answer_probabilities;
  std::optional<double> no_answer_threshold;  // none: 1
  bool allow_missing = false;
  std::vector<int64_t> cuts = {1, 5, 10, 100};
  // Instead of predictions: the model that makes them.
  ModelOptions model;
  LoadOverrides overrides;
  bool by_model = false;
  std::string text_field;  // empty: what the task names it
  int64_t max_answer_length = 15;
  int64_t seed = 0;
  double mask_share = 0.15;
  bool json = false;
};

struct Evaluation {
  int64_t items = 0;    // compared
  int64_t skipped = 0;  // records that could not be read, named in notices
  int64_t missing = 0;  // items without a prediction that count as wrong
  Json metrics = Json::object();
  Json labels = Json::object();  // of each class or type of entity; empty where there are none
};

inline constexpr int64_t kNamedRecords = 10;  // of those that are left out

// Counts and, the first few, names records that are left out.
void report_bad(const std::string& file, const std::vector<io::BadRecord>& bad,
                Evaluation& evaluation);

// Appends to `labels` a name that it does not have yet, without searching it for the name.
void add_label(const std::string& name, Json scores, Json& labels);

// classification, multi-label, regression, mlm: rows of JSON lines, CSV or TSV.
Evaluation evaluate_rows(const EvaluateOptions& options);
// Predictions of a model; mlm hides tokens of the texts.
Evaluation evaluate_model(const EvaluateOptions& options);
// squad, triviaqa.
Evaluation evaluate_answers(const EvaluateOptions& options);
Evaluation evaluate_entities(const EvaluateOptions& options);
Evaluation evaluate_ranking(const EvaluateOptions& options);

// One file of rows, and the path that messages name.
struct Side {
  std::string path;
  io::Rows rows;
};
// Why a cell is not what the task needs; empty when it is. May turn it into what is needed.
using CellCheck = std::function<std::string(io::Cell&)>;
std::string check_cell(const std::string& task, const std::string& separator, io::Cell& cell);
// Moves rows without a usable cell to the bad ones. Throws kInvalidArgument when no row has the
// field: that is no fault of the rows.
void check_field(const std::string& field, const CellCheck& check, Side& side);
// Gold and predicted cells that check_cell() has seen.
using CellPairs = std::vector<std::pair<const io::Cell*, const io::Cell*>>;
void score_rows(const std::string& task, const CellPairs& cells, Evaluation& evaluation);

// Of log probabilities, at least one.
void score_language(std::span<const double> log_probabilities, Evaluation& evaluation);

// Predictions from anywhere, beside the questions of a file.
struct PredictedAnswer {
  std::string id;
  std::string text;                 // empty: "there is no answer"
  std::optional<double> no_answer;  // probability
};
enum class AnswerData { kSquad, kTriviaQa };
io::QuestionFile read_questions(const EvaluateOptions& options, AnswerData data,
                                Evaluation& evaluation);
// Throws kInvalidArgument naming the question: predicted twice, predicted and not asked, asked and
// not predicted (unless options.allow_missing: it counts as wrong).
void score_answers(const io::QuestionFile& gold, AnswerData data,
                   const std::vector<PredictedAnswer>& predictions, const EvaluateOptions& options,
                   Evaluation& evaluation);

// One file of tagged sentences, by number of the record.
struct Sentence {
  std::vector<std::string> words;  // of columns, or of JSON lines with options.text_field
  std::vector<std::string> tags;
};
struct Sentences {
  std::map<int64_t, Sentence> read;
  int64_t records = 0;  // with those that could not be read
};
Sentences read_sentences(const std::string& path, const std::string& field, int64_t column,
                         const EvaluateOptions& options, Evaluation& evaluation);

// Throws kInvalidArgument naming the file where no sentence has a tag, and the sentence where a tag
// does not go with the scheme.
void check_sentences(const std::string& path, const Sentences& sentences,
                     const std::string& scheme);

// Tags of each sentence, in the same order on both sides.
void score_entities(const std::vector<std::vector<std::string>>& gold,
                    const std::vector<std::vector<std::string>>& predicted,
                    const std::string& scheme, Evaluation& evaluation);

}  // namespace longformer::cli
