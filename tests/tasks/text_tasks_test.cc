// classify, fill-mask and choose on small models with random heads: how texts are cut, what is
// asked of the model, what becomes of its logits.
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "tasks/choose.h"
#include "tasks/classify.h"
#include "tasks/fill_mask.h"
#include "tasks/softmax.h"
#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

constexpr int64_t kTokens = 32;  // that the models read

std::string words(int count) {
  static const std::vector<std::string> names = {"fox", "hen", "barn", "night", "rain", "corn"};
  std::string text;
  for (int i = 0; i < count; ++i) text += names[static_cast<size_t>(i * i + i / 5) % 6] + " ";
  return text;
}

class TextTasks : public testing::Test {
 protected:
  TaskTextModel load(Task task, const std::string& type = "longformer",
                     const std::string& more = "") {
    const auto directory = directory_.path() / type;
    test::write_tiny_model(directory, type, kTokens);
    test::put(directory / "config.json",
              test::tiny_config(type, type == "longformer" ? kTokens + 1 : kTokens, more));
    TaskOptions options;
    options.task = task;
    options.allow_new_head = true;
    options.load.threads = 1;
    return load_task_text_model(directory, options);
  }

  static std::vector<double> scores_of(TaskTextModel& model, const std::vector<CutText>& texts,
                                       size_t index, const TaskRun& run = {}) {
    std::vector<double> scores;
    classify(model, texts, ScoreFunction::kSoftmax, run,
             [&](size_t i, const Classification& result) {
               if (i == index) scores = result.scores;
             });
    return scores;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(TextTasks, FunctionsAreThePipelines) {
  TaskInfo info;
  const auto function = [&](const std::string& type, Problem problem, int64_t outputs) {
    info.problem_type = type;
    info.problem = problem;
    info.outputs = outputs;
    return default_function(info);
  };
  EXPECT_EQ(function("", Problem::kSingleLabel, 3), ScoreFunction::kSoftmax);
  EXPECT_EQ(function("single_label_classification", Problem::kSingleLabel, 2),
            ScoreFunction::kSoftmax);
  EXPECT_EQ(function("multi_label_classification", Problem::kMultiLabel, 3),
            ScoreFunction::kSigmoid);
  EXPECT_EQ(function("regression", Problem::kRegression, 1), ScoreFunction::kNone);
  EXPECT_EQ(function("regression", Problem::kRegression, 4), ScoreFunction::kNone);
  // The classes take one label for a regression; the pipeline does not.
  EXPECT_EQ(function("", Problem::kRegression, 1), ScoreFunction::kSigmoid);
  EXPECT_EQ(function("single_label_classification", Problem::kSingleLabel, 1),
            ScoreFunction::kSigmoid);
}

TEST_F(TextTasks, Softmax) {
  const std::vector<float> logits = {std::log(1.0f), std::log(2.0f), std::log(5.0f)};
  const std::vector<double> scores = softmax(logits);
  EXPECT_NEAR(scores[0], 0.125, 1e-7);
  EXPECT_NEAR(scores[1], 0.25, 1e-7);
  EXPECT_NEAR(scores[2], 0.625, 1e-7);
  EXPECT_EQ(softmax(std::vector<float>{1e30f, -1e30f}), (std::vector<double>{1, 0}));
}

TEST_F(TextTasks, BestLabels) {
  const std::vector<double> scores = {0.2, 0.7, 0.2, 0.9};
  const auto labels = [&](size_t count, double threshold) {
    std::vector<size_t> result;
    for (const LabelScore& one : best_labels(scores, count, threshold)) result.push_back(one.label);
    return result;
  };
  EXPECT_EQ(labels(0, -1), (std::vector<size_t>{3, 1, 0, 2}));
  EXPECT_EQ(labels(2, -1), (std::vector<size_t>{3, 1}));
  EXPECT_EQ(labels(9, 0.2), (std::vector<size_t>{3, 1, 0, 2}));
  EXPECT_EQ(labels(0, 0.21), (std::vector<size_t>{3, 1}));
  EXPECT_EQ(labels(0, 1), (std::vector<size_t>{}));
}

TEST_F(TextTasks, LongTextsAreCutAsAsked) {
  const TaskTextModel model = load(Task::kSequenceClassification);
  const CutText fits = cut_text(model, words(30), {}, LongText::kRefuse);
  EXPECT_EQ(fits.windows.size(), 1u);
  EXPECT_EQ(fits.tokens, 30);
  test::expect_error(ErrorCode::kInvalidArgument, {"33 tokens", "at most 32"},
                     [&] { cut_text(model, words(31), {}, LongText::kRefuse); });
  const CutText cut = cut_text(model, words(31), {}, LongText::kTruncate);
  EXPECT_EQ(cut.windows.size(), 1u);
  EXPECT_EQ(cut.windows[0].size(), 32u);
  EXPECT_EQ(cut.truncated_tokens, 1);
  // 100 tokens, 30 fit, 3 are shared: three windows of 28 and a last one of 25, and two specials.
  const CutText windows = cut_text(model, words(100), {}, LongText::kWindows);
  ASSERT_EQ(windows.windows.size(), 4u);
  EXPECT_EQ(windows.tokens, 100);
  EXPECT_EQ(windows.truncated_tokens, 0);
  const text::Encoding whole = model.tokenizer.encode(words(100));
  std::vector<bool> seen(whole.size());
  for (const text::Encoding& window : windows.windows) {
    EXPECT_LE(window.size(), 32u);
    EXPECT_GE(window.size(), 27u);
    for (size_t i = 1; i + 1 < window.size(); ++i) {
      const auto found =
          std::find(whole.offsets.begin() + 1, whole.offsets.end() - 1, window.offsets[i]);
      ASSERT_NE(found, whole.offsets.end() - 1);
      seen[static_cast<size_t>(found - whole.offsets.begin())] = true;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 100);
}

TEST_F(TextTasks, TheSecondTextOfAPairIsInEveryWindow) {
  const TaskTextModel model = load(Task::kSequenceClassification, "bert");
  const CutText pair = cut_text(model, words(60), words(5), LongText::kWindows);
  ASSERT_GT(pair.windows.size(), 1u);
  EXPECT_EQ(pair.tokens, 65);
  for (const text::Encoding& window : pair.windows) {
    EXPECT_LE(window.size(), 32u);
    EXPECT_EQ(std::count(window.sequence.begin(), window.sequence.end(), 1), 5);
    EXPECT_EQ(window.type_ids.back(), 1);
  }
  test::expect_error(ErrorCode::kInvalidArgument, {"the second text has 20 tokens", "shorten it"},
                     [&] { cut_text(model, words(60), words(20), LongText::kWindows); });
  // As the reference truncates: the longer one first, then both alike.
  const CutText cut = cut_text(model, words(60), words(20), LongText::kTruncate);
  EXPECT_EQ(cut.windows[0].size(), 32u);
  EXPECT_EQ(cut.truncated_tokens, 51);
}

TEST_F(TextTasks, WindowsAreAveragedByTheirTokens) {
  TaskTextModel model = load(Task::kSequenceClassification);
  std::vector<CutText> texts;
  texts.push_back(cut_text(model, "the old fox runs in the night", {}, LongText::kWindows));
  texts.push_back(cut_text(model, words(75), {}, LongText::kWindows));
  ASSERT_EQ(texts[1].windows.size(), 3u);
  std::vector<double> expected(2);
  double weights = 0;
  for (const text::Encoding& window : texts[1].windows) {
    std::vector<CutText> alone(1);
    alone[0].windows = {window};
    const std::vector<double> scores = scores_of(model, alone, 0);
    const double weight = static_cast<double>(window.size()) - 2;
    for (size_t i = 0; i < 2; ++i) expected[i] += weight * scores[i];
    weights += weight;
  }
  const std::vector<double> scores = scores_of(model, texts, 1);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(scores[i], expected[i] / weights, 1e-12);
  for (const int64_t batch : {1, 30, 100000}) {
    TaskRun run;
    run.batch_tokens = batch;
    EXPECT_EQ(scores_of(model, texts, 1, run), scores) << batch;
  }
  EXPECT_NE(scores_of(model, texts, 0), scores);
}

TEST_F(TextTasks, GlobalTokensAreCountedOverWindows) {
  TaskTextModel model = load(Task::kSequenceClassification);
  std::vector<CutText> texts;
  texts.push_back(cut_text(model, words(75), {}, LongText::kWindows));
  int64_t global = 0;
  classify(model, texts, ScoreFunction::kSoftmax, {},
           [&](size_t, const Classification& result) { global = result.global_tokens; });
  EXPECT_EQ(global, 3);  // the first token of each
  const GlobalRule none = GlobalRule::parse("none", model.model.info());
  TaskRun run;
  run.global = &none;
  const std::vector<double> with = scores_of(model, texts, 0);
  const std::vector<double> without = scores_of(model, texts, 0, run);
  EXPECT_NE(with, without);
}

TEST_F(TextTasks, MaskTokensAreFound) {
  const TaskTextModel model = load(Task::kMaskedLm, "bert");
  const auto directory = directory_.path() / "bert";
  EXPECT_EQ(mask_token(directory, model.tokenizer).text, "[MASK]");
  test::put(directory / "special_tokens_map.json", R"({"mask_token": {"content": "moon"}})");
  EXPECT_EQ(mask_token(directory, model.tokenizer).text, "moon");
  test::put(directory / "special_tokens_map.json", R"({"mask_token": "rain"})");
  EXPECT_EQ(mask_token(directory, model.tokenizer).id, model.tokenizer.id("rain"));
  test::put(directory / "special_tokens_map.json", R"({"mask_token": "not a token"})");
  EXPECT_EQ(mask_token(directory, model.tokenizer).text, "[MASK]");
}

TEST_F(TextTasks, FillsAreSortedProbabilities) {
  TaskTextModel model = load(Task::kMaskedLm, "bert");
  const MaskToken mask = mask_token(directory_.path() / "bert", model.tokenizer);
  std::vector<MaskedText> texts;
  texts.push_back(cut_masks(model, "the [MASK] sleeps in the [MASK]", mask));
  texts.push_back(cut_masks(model, "rain [MASK]", mask));
  std::vector<FilledText> results;
  fill_masks(model, texts, 36, {}, {},
             [&](size_t, const FilledText& result) { results.push_back(result); });
  ASSERT_EQ(results.size(), 2u);
  ASSERT_EQ(results[0].masks.size(), 2u);
  ASSERT_EQ(results[1].masks.size(), 1u);
  for (const std::vector<MaskFill>& fills : results[0].masks) {
    ASSERT_EQ(fills.size(), 36u);
    double sum = 0;
    for (size_t i = 0; i < fills.size(); ++i) {
      sum += fills[i].score;
      if (i > 0) {
        EXPECT_GE(fills[i - 1].score, fills[i].score);
      }
    }
    EXPECT_NEAR(sum, 1, 1e-9);
  }
  for (const MaskFill& fill : results[0].masks[1]) {
    if (fill.token_str != "fox") continue;
    // The other mask, and with it the special tokens, stay.
    EXPECT_EQ(fill.sequence, "[CLS] the [MASK] sleeps in the fox [SEP]");
  }
  for (const MaskFill& fill : results[1].masks[0]) {
    if (fill.token_str == "fox") {
      EXPECT_EQ(fill.sequence, "rain fox");
    }
  }
  // Targets keep the scores that they have among all.
  std::vector<std::string> shortened;
  const std::vector<std::string> names = {"hen", "fox", "hen", "rains"};
  const std::vector<int64_t> targets = target_ids(model.tokenizer, names, shortened);
  EXPECT_EQ(targets.size(), 3u);
  EXPECT_EQ(shortened, (std::vector<std::string>{"rains"}));
  fill_masks(model, texts, 36, targets, {}, [&](size_t index, const FilledText& result) {
    ASSERT_EQ(result.masks[0].size(), 3u);
    for (const MaskFill& fill : result.masks[0]) {
      for (const MaskFill& other : results[index].masks[0]) {
        if (other.token == fill.token) {
          EXPECT_EQ(other.score, fill.score);
        }
      }
    }
  });
}

TEST_F(TextTasks, MasksOfLongTextsStandInTheMiddle) {
  const TaskTextModel model = load(Task::kMaskedLm, "bert");
  const MaskToken mask{*model.tokenizer.id("[MASK]"), "[MASK]"};
  const auto answered = [&](const std::string& text) {
    std::vector<std::vector<size_t>> result;
    for (const MaskWindow& window : cut_masks(model, text, mask).windows) {
      EXPECT_LE(window.tokens.size(), 32u);
      std::vector<size_t> positions;
      for (size_t i = 0; i < window.wanted.size(); ++i) {
        if (window.wanted[i] == 0) continue;
        EXPECT_EQ(window.tokens.ids[i], mask.id);
        positions.push_back(i);
      }
      result.push_back(positions);
    }
    return result;
  };
  using Positions = std::vector<std::vector<size_t>>;
  EXPECT_EQ(answered("fox [MASK] hen"), (Positions{{2}}));
  EXPECT_EQ(answered(words(100) + "[MASK] " + words(100)), (Positions{{16}}));
  EXPECT_EQ(answered("[MASK] " + words(100)), (Positions{{1}}));
  EXPECT_EQ(answered(words(100) + "[MASK]"), (Positions{{30}}));
  // Far apart, or too near to the edge of the first one's window: two windows.
  EXPECT_EQ(answered(words(50) + "[MASK] " + words(50) + "[MASK] " + words(50)),
            (Positions{{16}, {16}}));
  EXPECT_EQ(answered(words(50) + "[MASK] " + words(13) + "[MASK] " + words(50)),
            (Positions{{16}, {16}}));
  EXPECT_EQ(answered(words(50) + "[MASK] " + words(3) + "[MASK] " + words(50)),
            (Positions{{16, 20}}));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "[MASK] ";
  size_t count = 0;
  for (const auto& positions : answered(many)) count += positions.size();
  EXPECT_EQ(count, 100u);
  EXPECT_LT(answered(many).size(), 12u);
  test::expect_error(ErrorCode::kInvalidArgument, {"has no mask token; write [MASK]"},
                     [&] { cut_masks(model, "the fox", mask); });
  for (size_t i = 100; i <= kMaxMasks; ++i) many += "[MASK] ";
  test::expect_error(ErrorCode::kInvalidArgument, {"has 1001 mask tokens; at most 1000"},
                     [&] { cut_masks(model, many, mask); });
}

TEST_F(TextTasks, WordsForMasksAreBounded) {
  const TaskTextModel model = load(Task::kMaskedLm, "bert");
  const MaskToken mask{*model.tokenizer.id("[MASK]"), "[MASK]"};
  // "[CLS] fox [MASK] [MASK] [SEP]" and 64 bytes more, for each of two masks.
  const uint64_t one_each = 2 * (29 + 64);
  const MaskedText text = cut_masks(model, "fox [MASK] [MASK]", mask);
  const uint64_t most = (uint64_t{64} << 20) / one_each;
  EXPECT_NO_THROW(check_fill_bytes(model, text, most));
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"has 2 mask tokens; " + std::to_string(most + 1) + " words for each",
                      std::to_string((most + 1) * one_each) + " bytes", "at most 67108864",
                      "lower --top-k to " + std::to_string(most)},
                     [&] { check_fill_bytes(model, text, most + 1); });
}

TEST_F(TextTasks, ChoicesArePairs) {
  TaskTextModel model = load(Task::kMultipleChoice, "bert");
  const auto read = [&](const ChoiceQuestion& question, size_t pair) {
    const std::vector<CutText> pairs = cut_choices(model, question, LongText::kTruncate);
    EXPECT_EQ(pairs.size(), question.choices.size());
    return model.tokenizer.decode(pairs[pair].windows[0].ids, false);
  };
  EXPECT_EQ(read({"the fox", "", {"runs", "sleeps"}}, 1), "[CLS] the fox [SEP] sleeps [SEP]");
  EXPECT_EQ(read({"", "the hen", {"eats", "sleeps"}}, 0), "[CLS] the hen [SEP] eats [SEP]");
  EXPECT_EQ(read({"the fox", "comes", {"a", "the"}}, 1), "[CLS] the fox [SEP] comes the [SEP]");
  const std::vector<CutText> cut =
      cut_choices(model, {words(50), "", {words(3), words(10)}}, LongText::kTruncate);
  EXPECT_EQ(cut[0].truncated_tokens, 24);
  EXPECT_EQ(cut[1].truncated_tokens, 31);
  const auto refused = [&](const ChoiceQuestion& question, const std::string& says) {
    test::expect_error(ErrorCode::kInvalidArgument, {says},
                       [&] { cut_choices(model, question, LongText::kTruncate); });
  };
  refused({"the fox", "", {}}, "no choice");
  refused({"the fox", "", {"a", words(40)}}, "choice 2: ");
  test::expect_error(ErrorCode::kInvalidArgument, {"choice 1: ", "at most 32"}, [&] {
    cut_choices(model, {words(50), "", {"a"}}, LongText::kRefuse);
  });
}

TEST_F(TextTasks, TheBestChoiceDoesNotDependOnItsPlace) {
  TaskTextModel model = load(Task::kMultipleChoice);
  const std::vector<std::string> choices = {"runs", "sleeps in the barn", "eats corn"};
  std::vector<std::vector<CutText>> questions;
  questions.push_back(cut_choices(model, {"the fox", "", choices}, LongText::kTruncate));
  questions.push_back(cut_choices(model, {"the fox", "", {choices[2], choices[0], choices[1]}},
                                  LongText::kTruncate));
  std::vector<Choice> results;
  choose(model, questions, {}, [&](size_t, const Choice& result) { results.push_back(result); });
  ASSERT_EQ(results.size(), 2u);
  for (const Choice& result : results) {
    EXPECT_NEAR(std::accumulate(result.scores.begin(), result.scores.end(), 0.0), 1, 1e-12);
    EXPECT_EQ(result.scores[result.best],
              *std::max_element(result.scores.begin(), result.scores.end()));
  }
  EXPECT_EQ((results[0].best + 1) % 3, results[1].best);
  EXPECT_NEAR(results[0].scores[2], results[1].scores[0], 1e-12);
  EXPECT_EQ(results[0].global_tokens, results[1].global_tokens);
}

}  // namespace
}  // namespace longformer::tasks
