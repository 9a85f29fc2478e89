// Labels by name and number, several labels, numbers; long texts; rows that cannot be used.
#include "train/data/classify_data.h"

#include "tasks/global_rule.h"
#include "train/data/data_fixture.h"

namespace longformer::train {
namespace {

class ClassifyData : public DataTest {
 protected:
  DataModel classifier(std::vector<std::string> labels, Problem problem = Problem::kSingleLabel,
                       int64_t max_tokens = 64) const {
    DataModel model = this->model(Task::kSequenceClassification, max_tokens, std::move(labels));
    model.info.problem = problem;
    return model;
  }
};

TEST_F(ClassifyData, LabelsOfTheFilesAreSorted) {
  put("a.jsonl", R"({"text": "the fox", "label": "fox"})"
                 "\n"
                 R"({"text": "a hen", "label": "bird"})"
                 "\n");
  put("b.csv", "text,label\nold dog,dog\n");
  put("n.jsonl", R"({"text": "a", "label": 10})"
                 "\n"
                 R"({"text": "a", "label": "9"})"
                 "\n");
  EXPECT_EQ(classify_labels(options({path("a.jsonl"), path("b.csv")}), {}, Problem::kSingleLabel),
            (std::vector<std::string>{"bird", "dog", "fox"}));
  EXPECT_EQ(classify_labels(options({path("n.jsonl")}), {}, Problem::kSingleLabel),
            (std::vector<std::string>{"9", "10"}));
  const auto data =
      classify_data(classifier({"bird", "dog", "fox"}), options({path("a.jsonl"), path("b.csv")}));
  ASSERT_EQ(data->examples(), 3);
  EXPECT_EQ(data->labels(), (std::vector<std::string>{"bird", "dog", "fox"}));
  EXPECT_EQ(words(data->example(0, 0, 0)), "[CLS] the fox [SEP]");
  EXPECT_EQ(data->example(0, 0, 0).targets.classes, std::vector<int64_t>{2});
  EXPECT_EQ(data->example(2, 0, 0).targets.classes, std::vector<int64_t>{1});
  EXPECT_EQ(data->example(2, 0, 0).samples, std::vector<uint64_t>{2});
  EXPECT_EQ(data->example(0, 0, 0).input.global_attention_mask, (std::vector<uint8_t>{1, 0, 0, 0}));
}

TEST_F(ClassifyData, ALabelOutsideThoseOfTheModelEndsTheReading) {
  put("a.jsonl", R"({"text": "the fox", "label": 1})"
                 "\n\n"
                 R"({"text": "a hen", "label": "cow"})"
                 "\n");
  DataOptions skip = options({path("a.jsonl")});
  skip.bad = BadRecords::kSkip;
  expect_error(ErrorCode::kInvalidFile,
               {"a.jsonl line 3", "\"cow\"", "none of the 2 labels", "\"fox\", \"hen\""}, [&] {
                 classify_data(classifier({"fox", "hen"}), skip);
               });
  EXPECT_EQ(
      classify_data(classifier({"fox", "hen", "cow"}), skip)->example(0, 0, 0).targets.classes,
      std::vector<int64_t>{1});
}

TEST_F(ClassifyData, SeveralLabelsAndNumbers) {
  put("m.jsonl", R"({"text": "the fox", "label": ["b", "a"]})"
                 "\n"
                 R"({"text": "a hen", "label": []})"
                 "\n");
  put("m.csv", "text,label\nold dog,\"b,c\"\n");
  const DataOptions both = options({path("m.jsonl"), path("m.csv")});
  EXPECT_EQ(classify_labels(both, {}, Problem::kMultiLabel),
            (std::vector<std::string>{"a", "b", "c"}));
  const auto labels = classify_data(classifier({"a", "b", "c"}, Problem::kMultiLabel), both);
  EXPECT_EQ(labels->example(0, 0, 0).targets.values, (std::vector<float>{1, 1, 0}));
  EXPECT_EQ(labels->example(1, 0, 0).targets.values, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(labels->example(2, 0, 0).targets.values, (std::vector<float>{0, 1, 1}));
  put("r.tsv", "text\tlabel\nold dog\t-2.5\n");
  DataModel one = classifier({}, Problem::kRegression);
  one.info.outputs = 1;
  EXPECT_EQ(classify_data(one, options({path("r.tsv")}))->example(0, 0, 0).targets.values,
            std::vector<float>{-2.5f});
  put("large.csv", "text,label\nold dog,1e300\n");
  expect_error(ErrorCode::kInvalidFile, {"large.csv line 2", "32 bits"},
               [&] { classify_data(one, options({path("large.csv")})); });
  one.info.outputs = 2;
  expect_error(ErrorCode::kInvalidFile, {"r.tsv line 2", "1 numbers", "2"},
               [&] { classify_data(one, options({path("r.tsv")})); });
}

TEST_F(ClassifyData, LongTextsAsThePolicySays) {
  put("a.jsonl", R"({"text": ")" + text_of(50) +
                     R"(", "label": "x"})"
                     "\n");
  const DataModel small = classifier({"x"}, Problem::kSingleLabel, 22);
  DataOptions options = this->options({path("a.jsonl")});
  const auto windows = classify_data(small, options);
  EXPECT_EQ(windows->examples(), 3);
  EXPECT_EQ(windows->notices().windowed, 1);
  EXPECT_EQ(windows->example(2, 0, 0).targets.classes, std::vector<int64_t>{0});
  options.stride = 10;
  const auto strided = classify_data(small, options);
  EXPECT_EQ(strided->examples(), 4);
  EXPECT_EQ(strided->tokens(0), 22);
  options.stride.reset();
  options.long_text = tasks::LongText::kTruncate;
  const auto cut = classify_data(small, options);
  EXPECT_EQ(cut->examples(), 1);
  EXPECT_EQ(cut->notices().truncated_tokens, 30);
  options.long_text = tasks::LongText::kRefuse;
  expect_error(ErrorCode::kInvalidFile, {"a.jsonl line 1", "52 tokens", "22"},
               [&] { classify_data(small, options); });
}

TEST_F(ClassifyData, PairsAndRulesOfGlobalTokens) {
  put("a.jsonl", R"({"text": "the fox", "text_pair": "a red hen", "label": "x"})"
                 "\n"
                 R"({"text": "dog", "label": "x"})"
                 "\n");
  DataOptions options = this->options({path("a.jsonl")});
  options.global = "first+regex:red|dog";
  const auto data = classify_data(classifier({"x"}), options);
  const TrainingBatch pair = data->example(0, 0, 0);
  EXPECT_EQ(words(pair), "[CLS] the fox [SEP] a red hen [SEP]");
  EXPECT_EQ(pair.input.token_type_ids, (std::vector<int64_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(pair.input.global_attention_mask, (std::vector<uint8_t>{1, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(data->example(1, 0, 0).input.global_attention_mask, (std::vector<uint8_t>{1, 1, 0}));
}

TEST_F(ClassifyData, BadRowsAreNamedOrSkipped) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"text": "", "label": "x"})", "\"text\" is empty"},
      {R"({"text": 5, "label": "x"})", "must be a string"},
      {R"({"label": "x"})", "has no field \"text\""},
      {R"({"text": "fox"})", "has no field \"label\"; it has \"text\""},
      {R"({"text": "fox", "label": ["x"]})", "must be a string or a number"},
      {R"({"text": "fox", "label": ""})", "is empty"},
      {R"({"text": "fox", "text_pair": " ", "label": "x"})", "\"text_pair\" is empty"},
      {R"({"text": "fox", "label": )", "line 2"},
  };
  for (const auto& [row, message] : rows) {
    put("a.jsonl", R"({"text": "fox", "label": "x"})"
                   "\n" +
                       row + "\n");
    DataOptions options = this->options({path("a.jsonl")});
    expect_error(ErrorCode::kInvalidFile, {"a.jsonl line 2", message},
                 [&] { classify_data(classifier({"x"}), options); });
    options.bad = BadRecords::kSkip;
    const auto data = classify_data(classifier({"x"}), options);
    EXPECT_EQ(data->examples(), 1);
    EXPECT_EQ(data->notices().records, 2);
    EXPECT_EQ(data->notices().skipped, 1);
    ASSERT_EQ(data->notices().named.size(), 1u);
    EXPECT_NE(data->notices().named[0].find(message), std::string::npos);
  }
  put("none.jsonl", "\n");
  expect_error(ErrorCode::kInvalidFile, {"none.jsonl", "no example", "0 records"},
               [&] { classify_data(classifier({"x"}), options({path("none.jsonl")})); });
}

TEST_F(ClassifyData, SplitsNeverPartAGroup) {
  std::string rows;
  for (int i = 0; i < 400; ++i) {
    rows += R"({"text": ")" + text_of(3, i) + R"(", "label": ")" + std::to_string(i % 40) +
            R"(", "patient": )" + std::to_string(i % 40) + "}\n";
  }
  put("a.jsonl", rows);
  std::vector<std::string> labels;
  for (int i = 0; i < 40; ++i) labels.push_back(std::to_string(i));
  DataOptions options = this->options({path("a.jsonl")});
  options.split = {SplitSide::kTraining, "patient", 0.3, 4};
  const auto training = classify_data(classifier(labels), options);
  options.split.side = SplitSide::kEvaluation;
  const auto evaluation = classify_data(classifier(labels), options);
  EXPECT_EQ(training->examples() + evaluation->examples(), 400);
  EXPECT_GT(evaluation->examples(), 40);
  EXPECT_LT(evaluation->examples(), 240);
  std::vector<int> side(40);
  for (int64_t i = 0; i < training->examples(); ++i) {
    side[static_cast<size_t>(training->example(i, 0, 0).targets.classes[0])] = 1;
  }
  for (int64_t i = 0; i < evaluation->examples(); ++i) {
    EXPECT_EQ(side[static_cast<size_t>(evaluation->example(i, 0, 0).targets.classes[0])], 0);
  }
  EXPECT_NE(training->identity(), evaluation->identity());
  put("a.jsonl", rows + R"({"text": "fox", "label": 1})"
                        "\n");
  expect_error(ErrorCode::kInvalidFile, {"a.jsonl line 401", "\"patient\"", "split"}, [&] {
    classify_data(classifier(labels), options);
    options.split.side = SplitSide::kTraining;
    classify_data(classifier(labels), options);
  });
}

}  // namespace
}  // namespace longformer::train
