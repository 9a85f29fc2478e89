// Spans of answers lead back to the answers; windows without one; places that are wrong.
#include "train/data/answer_data.h"

#include "train/data/answer_places.h"
#include "train/data/data_fixture.h"

namespace longformer::train {
namespace {

class AnswerData : public DataTest {
 protected:
  DataModel answerer(int64_t max_tokens = 64) const {
    DataModel model = this->model(Task::kQuestionAnswering, max_tokens);
    model.info.outputs = 2;
    return model;
  }
  // The words of each span, with "|" between; "(none)": the first token.
  std::string answers(const TrainingBatch& batch) const {
    std::string text;
    for (const TokenSpan& span : batch.targets.spans.at(0)) {
      text += text.empty() ? "" : "|";
      if (span == TokenSpan{}) text += "(none)";
      for (int64_t t = span.first; t <= span.last && span.first > 0; ++t) {
        text += (t > span.first ? " " : "") + word(batch.input.input_ids[static_cast<size_t>(t)]);
      }
    }
    return text;
  }
  static std::string squad(const std::string& context, const std::string& qas) {
    return R"({"version": "v2.0", "data": [{"paragraphs": [{"context": ")" + context +
           R"(", "qas": [)" + qas + "]}]}]}";
  }
};

TEST_F(AnswerData, StartsAreCodePoints) {
  put("a.json", squad("é the red fox runs in the night", R"(
      {"id": "1", "question": "one ?", "answers": [{"text": "red fox", "answer_start": 6},
        {"text": "fox", "answer_start": 10}, {"text": "fox", "answer_start": 10}]},
      {"id": "2", "question": "two ?", "answers": [], "is_impossible": true})"));
  const auto data = answer_data(answerer(), options({path("a.json")}));
  ASSERT_EQ(data->examples(), 2);
  const TrainingBatch first = data->example(0, 0, 0);
  EXPECT_EQ(words(first), "[CLS] one ? [SEP] [UNK] the red fox runs in the night [SEP]");
  EXPECT_EQ(answers(first), "red fox|fox");
  EXPECT_EQ(first.input.token_type_ids[3], 0);
  EXPECT_EQ(first.input.token_type_ids[4], 1);
  // The question is global.
  EXPECT_EQ(first.input.global_attention_mask,
            (std::vector<uint8_t>{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(answers(data->example(1, 0, 0)), "(none)");
  EXPECT_EQ(data->notices().unanswered, 1);
  const auto answered =
      answer_data(answerer(), options({path("a.json")}), {.no_answer = NoAnswer::kDrop});
  EXPECT_EQ(answered->examples(), 1);
  EXPECT_EQ(answered->notices().dropped, 1);
}

TEST_F(AnswerData, AliasesAreAllTheirPlaces) {
  put("a.jsonl",
      R"({"question": "one ?", "context": "The FOX, the fox and a foxs old hen.", "answers": ["Fox", "old hen", "moon"]})"
      "\n"
      R"({"question": "two ?", "context": "the hen", "answers": {"text": ["hen"], "answer_start": [4]}})"
      "\n"
      R"({"question": "two ?", "context": "the hen", "answers": [{"text": "hen", "answer_start": 4}]})"
      "\n"
      R"({"question": "two ?", "context": "the hen", "answers": ["moon"]})"
      "\n");
  const auto data = answer_data(answerer(), options({path("a.jsonl")}));
  ASSERT_EQ(data->examples(), 4);
  EXPECT_EQ(answers(data->example(0, 0, 0)), "fox|fox|old hen");
  EXPECT_EQ(answers(data->example(1, 0, 0)), "hen");
  EXPECT_EQ(answers(data->example(2, 0, 0)), "hen");
  EXPECT_EQ(answers(data->example(3, 0, 0)), "(none)");
}

TEST_F(AnswerData, AnAnswerCountsInTheWindowsThatHoldAllOfIt) {
  const std::string context = text_of(60) + " moon road " + text_of(60);
  put("a.jsonl", R"({"id": "q", "question": "one ?", "context": ")" + context +
                     R"(", "answers": ["moon road"]})"
                     "\n");
  DataOptions options = this->options({path("a.jsonl")});
  for (const int64_t stride : {0, 1, 5, 20}) {
    options.stride = stride;
    const auto data = answer_data(answerer(34), options);
    int64_t found = 0;
    std::vector<int64_t> seen;
    for (int64_t i = 0; i < data->examples(); ++i) {
      const TrainingBatch batch = data->example(i, 0, 0);
      const std::string text = words(batch);
      EXPECT_LE(data->tokens(i), 34);
      const bool whole = text.find("moon road") != std::string::npos;
      EXPECT_EQ(answers(batch), whole ? "moon road" : "(none)") << text;
      found += whole ? 1 : 0;
    }
    EXPECT_EQ(data->notices().unanswered, data->examples() - found);
    EXPECT_EQ(data->notices().windowed, 1);
    EXPECT_GE(found, stride > 0 ? 1 : 0) << stride;
  }
  options.stride.reset();
  options.long_text = tasks::LongText::kTruncate;
  const auto cut = answer_data(answerer(34), options);
  EXPECT_EQ(cut->examples(), 1);
  EXPECT_EQ(cut->notices().truncated_tokens, 122 - 29);
  options.long_text = tasks::LongText::kRefuse;
  expect_error(ErrorCode::kInvalidFile, {"a.jsonl line 1 question \"q\"", "tokens", "34"},
               [&] { answer_data(answerer(34), options); });
}

TEST_F(AnswerData, WrongPlacesAreNamed) {
  const auto expect = [&](const std::string& answers, const std::vector<std::string>& parts) {
    put("a.json",
        squad("the red fox", R"({"id": "7", "question": "one ?", "answers": [)" + answers + "]}, " +
                                 R"({"id": "8", "question": "two ?", "answers": []})"));
    DataOptions options = this->options({path("a.json")});
    std::vector<std::string> all = {"a.json question \"7\""};
    all.insert(all.end(), parts.begin(), parts.end());
    expect_error(ErrorCode::kInvalidFile, all, [&] { answer_data(answerer(), options); });
    options.bad = BadRecords::kSkip;
    const auto data = answer_data(answerer(), options);
    EXPECT_EQ(data->examples(), 1);
    EXPECT_EQ(data->notices().skipped, 1);
  };
  expect(R"({"text": "fox", "answer_start": 7})",
         {"answer_start 7", "not where the answer stands"});
  expect(R"({"text": "fox", "answer_start": 11})", {"outside the context of 11 characters"});
  expect(R"({"text": "fox", "answer_start": -1})", {"outside"});
  expect(R"({"text": "fox", "answer_start": 1.5})", {"outside"});
  expect(R"({"text": "foxes", "answer_start": 8})", {"not where"});
  expect(R"({"text": "", "answer_start": 8})", {"an answer is empty"});
  put("b.jsonl", R"({"question": "", "context": "fox", "answers": ["fox"]})"
                 "\n");
  expect_error(ErrorCode::kInvalidFile, {"b.jsonl line 1", "question is empty"},
               [&] { answer_data(answerer(), options({path("b.jsonl")})); });
  put("c.jsonl",
      R"({"question": "one", "context": "fox", "answers": [{"text": "fox", "answer_start": "0"}]})"
      "\n");
  expect_error(ErrorCode::kInvalidFile, {"c.jsonl line 1", "answer_start must be a number"},
               [&] { answer_data(answerer(), options({path("c.jsonl")})); });
  put("d.json", "{");
  expect_error(ErrorCode::kInvalidFile, {"d.json"},
               [&] { answer_data(answerer(), options({path("d.json")})); });
}

TEST_F(AnswerData, QuestionsOfAContextStayTogether) {
  std::string rows;
  for (int i = 0; i < 100; ++i) {
    rows += R"({"question": "one ?", "context": ")" + text_of(1 + i / 5) +
            R"(", "answers": []})"
            "\n";
  }
  put("a.jsonl", rows);
  DataOptions options = this->options({path("a.jsonl")});
  options.split = {SplitSide::kTraining, "", 0.4, 2};
  const auto training = answer_data(answerer(), options);
  options.split.side = SplitSide::kEvaluation;
  const auto evaluation = answer_data(answerer(), options);
  EXPECT_EQ(training->examples() + evaluation->examples(), 100);
  EXPECT_EQ(training->examples() % 5, 0);
  EXPECT_GT(evaluation->examples(), 0);
}

TEST_F(AnswerData, PlacesOfAliasesAreWholeWords) {
  io::GoldQuestion question;
  question.answers = {"us", "ÜBER", "a.b"};
  const std::string text = "House us US, über usa (a.B) xa.b";
  std::vector<std::string> found;
  for (const text::Offset& place : answer_places(text, question)) {
    found.push_back(text.substr(static_cast<size_t>(place.begin),
                                static_cast<size_t>(place.end - place.begin)));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"us", "US", "über", "a.B"}));
}

}  // namespace
}  // namespace longformer::train
