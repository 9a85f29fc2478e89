// Choices as sequences of one example.
#include "train/data/choose_data.h"

#include "train/data/data_fixture.h"

namespace longformer::train {
namespace {

class ChooseData : public DataTest {
 protected:
  DataModel chooser(int64_t max_tokens = 64) const {
    DataModel model = this->model(Task::kMultipleChoice, max_tokens);
    model.info.outputs = 1;
    return model;
  }
};

TEST_F(ChooseData, ASequenceAChoice) {
  put("a.jsonl",
      R"({"context": "the rain", "question": "one ?", "choices": ["red fox", "hen", "dog"], "label": 1})"
      "\n"
      R"({"question": "two ?", "choices": ["red fox", "hen"], "label": "red fox"})"
      "\n");
  const auto data = choose_data(chooser(), options({path("a.jsonl")}));
  ASSERT_EQ(data->examples(), 2);
  const TrainingBatch first = data->example(0, 0, 0);
  EXPECT_EQ(words(first),
            "[CLS] the rain [SEP] one ? red fox [SEP] [CLS] the rain [SEP] one ? hen [SEP] "
            "[CLS] the rain [SEP] one ? dog [SEP]");
  EXPECT_EQ(first.input.lengths, (std::vector<int64_t>{9, 8, 8}));
  EXPECT_EQ(first.targets.classes, std::vector<int64_t>{1});
  EXPECT_EQ(first.targets.choices, std::vector<int64_t>{3});
  EXPECT_EQ(first.samples, (std::vector<uint64_t>{0, 0, 0}));
  EXPECT_EQ(data->tokens(0), 25);
  EXPECT_EQ(data->example(1, 0, 0).targets.classes, std::vector<int64_t>{0});
  const std::vector<uint8_t> expected =
      default_global(chooser().info, std::span(first.input.input_ids).first(9));
  EXPECT_TRUE(
      std::equal(expected.begin(), expected.end(), first.input.global_attention_mask.begin()));
}

TEST_F(ChooseData, ContextsAreCutOrRefused) {
  put("a.jsonl", R"({"context": ")" + text_of(50) +
                     R"(", "choices": ["fox", "hen"], "label": 0})"
                     "\n");
  DataOptions options = this->options({path("a.jsonl")});
  const auto data = choose_data(chooser(24), options);
  EXPECT_EQ(data->tokens(0), 48);
  EXPECT_EQ(data->notices().truncated, 2);
  options.long_text = tasks::LongText::kRefuse;
  expect_error(ErrorCode::kInvalidFile, {"a.jsonl line 1", "choice 1", "24"},
               [&] { choose_data(chooser(24), options); });
  options.long_text = tasks::LongText::kWindows;
  expect_error(ErrorCode::kInvalidArgument, {"windows"},
               [&] { choose_data(chooser(24), options); });
}

TEST_F(ChooseData, BadRowsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"question": "?", "choices": ["fox"], "label": 0})", "1 choices"},
      {R"({"question": "?", "choices": "fox", "label": 0})", "list of strings"},
      {R"({"choices": ["fox", "hen"], "label": 0})", "neither a context nor a question"},
      {R"({"question": "?", "choices": ["fox", "hen"], "label": 2})", "from 0 to 1"},
      {R"({"question": "?", "choices": ["fox", "fox"], "label": "fox"})", "from 0 to 1"},
      {R"({"question": "?", "choices": ["fox", "hen"]})", "has no field \"label\""},
  };
  for (const auto& [row, message] : rows) {
    put("a.jsonl", row + "\n");
    expect_error(ErrorCode::kInvalidFile, {"a.jsonl line 1", message},
                 [&] { choose_data(chooser(), options({path("a.jsonl")})); });
  }
}

}  // namespace
}  // namespace longformer::train
