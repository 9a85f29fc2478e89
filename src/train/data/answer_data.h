// Questions with the places of their answers: SQuAD 1.1 and 2.0, and rows.
#pragma once

#include <memory>
#include <string>

#include "io/datasets/question_rows.h"
#include "train/data/data_options.h"
#include "train/data/training_data.h"

namespace longformer::train {

// A window, or a text, in which no answer stands.
enum class NoAnswer {
  kFirstToken,  // its answer is the first token, as in SQuAD 2.0
  kDrop,        // left out and counted
};

struct AnswerDataOptions {
  io::QuestionFields fields;  // of rows
  NoAnswer no_answer = NoAnswer::kFirstToken;
};

// .json is a SQuAD file; anything else rows, as io::question_fault reads them (TriviaQA's own files
// hold no texts: write them as rows with their documents as contexts). An answer with a
// start is that place, which must say what the answer says; without starts (TriviaQA's aliases) it
// is every place where it stands as whole words, in any case. Windows as tasks::cut_question makes
// them; an answer counts in those that hold all of it. A split without a field keeps the questions
// of one context on one side.
std::unique_ptr<TrainingData> answer_data(const DataModel& model, const DataOptions& options,
                                          const AnswerDataOptions& how = {});

}  // namespace longformer::train
