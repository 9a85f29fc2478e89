// Answers of a model whose logits are known, beside what follows from them by hand.
#include "tasks/answer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "tasks/word_logits_model.h"

namespace longformer::tasks {
namespace {

class AnswerTest : public testing::Test {
 protected:
  // A fox begins and ends answers, corn may end them, a hen is half as much.
  TaskTextModel load(const std::string& type = "longformer", int64_t tokens = 64) const {
    test::write_word_logits_model(
        directory_.path(), type, tokens,
        {{"fox", {6, 5}}, {"corn", {-2, 4}}, {"hen", {3, 2}}, {"[CLS]", {1, 2}}});
    TaskOptions options;
    options.load.threads = 2;
    return load_task_text_model(directory_.path(), options);
  }

  static std::string words(const std::string& text, const Answer& answer) {
    return text.substr(static_cast<size_t>(answer.bytes.begin),
                       static_cast<size_t>(answer.bytes.end - answer.bytes.begin));
  }

  test::TemporaryDirectory directory_;
};

TEST_F(AnswerTest, ScoresAreTheProductOfTwoSoftmaxes) {
  TaskTextModel model = load();
  const std::string text = "the old fox eats red corn";
  AnswerOptions options;
  options.top_k = 3;
  options.impossible = true;
  const Answers got = answer(model, "the fox ?", text, options);
  // Of the question nothing counts, its fox neither; [CLS] does, and four words with logits of 0.
  const double starts = std::exp(6) + std::exp(-2) + std::exp(1) + 4;
  const double ends = std::exp(5) + std::exp(4) + std::exp(2) + 4;
  ASSERT_EQ(got.best.size(), 3u);
  EXPECT_EQ(words(text, got.best[0]), "fox");
  EXPECT_NEAR(got.best[0].score, std::exp(6) / starts * std::exp(5) / ends, 1e-5);
  EXPECT_EQ(words(text, got.best[1]), "fox eats red corn");
  EXPECT_NEAR(got.best[1].score, std::exp(6) / starts * std::exp(4) / ends, 1e-5);
  EXPECT_EQ(got.best[1].bytes, (text::Offset{8, 25}));
  EXPECT_EQ(words(text, got.best[2]), "fox eats");
  const double null_score = std::exp(1) / starts * std::exp(2) / ends;
  EXPECT_NEAR(got.null_score, null_score, 1e-6);
  EXPECT_EQ(got.global_tokens, 4);  // [CLS] the fox ?

  options.max_answer_length = 3;
  EXPECT_EQ(words(text, answer(model, "the fox ?", text, options).best[1]), "fox eats");
}

TEST_F(AnswerTest, EqualWordsAddUpWhateverTheirCase) {
  TaskTextModel model = load();
  const std::string text = "a FOX in rain a fox";
  const Answers got = answer(model, "one ?", text);
  const double starts = 2 * std::exp(6) + std::exp(1) + 4;
  const double ends = 2 * std::exp(5) + std::exp(2) + 4;
  EXPECT_NEAR(got.best[0].score, 2 * std::exp(11) / (starts * ends), 1e-5);
  EXPECT_EQ(words(text, got.best[0]), "FOX");  // the place found first
}

TEST_F(AnswerTest, OffsetsAreThoseOfTheTextAsItIs) {
  TaskTextModel model = load();
  // Accents that the normaliser drops, four bytes of an emoji, CR LF.
  const std::string accented = "\xF0\x9F\x99\x82 e\xCC\x81\r\nf\xC3\xB3x rain";
  const Answers got = answer(model, "one ?", accented);
  EXPECT_EQ(words(accented, got.best[0]), "f\xC3\xB3x");
  EXPECT_EQ(got.best[0].bytes, (text::Offset{10, 14}));
  EXPECT_EQ(got.best[0].characters, (text::Offset{6, 9}));
}

TEST_F(AnswerTest, GrowsToWholeWords) {
  TaskTextModel model = load();
  const std::string text = "two foxs eats";  // fox ##s
  EXPECT_EQ(words(text, answer(model, "one ?", text).best[0]), "foxs");
  AnswerOptions options;
  options.align_to_words = false;
  EXPECT_EQ(words(text, answer(model, "one ?", text, options).best[0]), "fox");
}

// 12 tokens a window: [CLS] two words [SEP] 7 of the text [SEP].
TEST_F(AnswerTest, ReadsLongTextsInWindows) {
  TaskTextModel model = load("longformer", 12);
  const std::string text = "a a a a a hen a a a a a a a fox a a";
  AnswerOptions options;
  options.top_k = 2;
  options.stride = 3;
  const CutText cut = cut_question(model, "one ?", text, options);
  ASSERT_EQ(cut.windows.size(), 4u);  // from 0, 4, 8, 12
  EXPECT_EQ(cut.tokens, 18);
  const Answers got = answer(model, "one ?", text, options);
  // The fox stands in the third and in the last window, which has 4 tokens.
  const auto score = [](double start, double end, double others) {
    return std::exp(start + end) /
           ((std::exp(start) + std::exp(1) + others) * (std::exp(end) + std::exp(2) + others));
  };
  EXPECT_EQ(words(text, got.best[0]), "fox");
  EXPECT_NEAR(got.best[0].score, score(6, 5, 6) + score(6, 5, 3), 1e-5);
  EXPECT_EQ(words(text, got.best[1]), "hen");
  EXPECT_NEAR(got.best[1].score, 2 * score(3, 2, 6), 1e-5);
  EXPECT_EQ(got.global_tokens, 4 * 3);
  // The null span: the least of all windows.
  const double null_score =
      std::exp(3) / ((std::exp(6) + std::exp(1) + 3) * (std::exp(5) + std::exp(2) + 3));
  EXPECT_NEAR(got.null_score,
              std::min(null_score, std::exp(3) / ((std::exp(6) + std::exp(1) + 6) *
                                                  (std::exp(5) + std::exp(2) + 6))),
              1e-6);
  // In calls of one window, and all at once.
  TaskRun run;
  run.batch_tokens = 1;
  const Answers one_by_one = answer(model, "one ?", text, options, run);
  EXPECT_EQ(one_by_one.best[0].score, got.best[0].score);
  EXPECT_EQ(one_by_one.best[1].score, got.best[1].score);
}

TEST_F(AnswerTest, NoAnswerTakesPartWhereItMay) {
  TaskTextModel model = load("bert");
  const std::string text = "rain snow";
  AnswerOptions options;
  Answers got = answer(model, "one ?", text, options);
  EXPECT_FALSE(got.best[0].none);
  const double starts = std::exp(1) + 2;
  const double ends = std::exp(2) + 2;
  const double null_score = std::exp(3) / starts / ends;
  EXPECT_NEAR(got.best[0].score, 1 / starts / ends, 1e-6);
  options.impossible = true;
  got = answer(model, "one ?", text, options);
  ASSERT_EQ(got.best.size(), 1u);
  EXPECT_TRUE(got.best[0].none);
  EXPECT_NEAR(got.best[0].score, null_score, 1e-6);
  EXPECT_EQ(got.best[0].characters, (text::Offset{0, 0}));
  options.no_answer_threshold = null_score - 1 / starts / ends + 0.01;
  EXPECT_FALSE(answer(model, "one ?", text, options).best[0].none);
  options.no_answer_threshold -= 0.02;
  EXPECT_TRUE(answer(model, "one ?", text, options).best[0].none);
}

TEST_F(AnswerTest, ManyTextsAreAnsweredInOrder) {
  TaskTextModel model = load("longformer", 12);
  std::vector<CutText> texts;
  const std::vector<std::string> contexts = {"a fox", "a a a a a a a a a a a a hen", "corn a a"};
  for (const std::string& context : contexts)
    texts.push_back(cut_question(model, "?", context, {}));
  std::vector<std::string> found;
  std::vector<int64_t> done;
  TaskRun run;
  run.progress = [&](int64_t some, int64_t all) {
    done.push_back(some);
    EXPECT_EQ(all, 6);  // windows
  };
  answer(model, texts, {}, run, [&](size_t index, const Answers& answers) {
    EXPECT_EQ(index, found.size());
    found.push_back(words(contexts[index], answers.best[0]));
  });
  EXPECT_EQ(found, (std::vector<std::string>{"fox", "hen", "corn"}));
  EXPECT_EQ(done, std::vector<int64_t>{6});
}

TEST_F(AnswerTest, RefusesWhatCannotBeAnswered) {
  TaskTextModel model = load("longformer", 12);
  const auto refused = [&](const std::string& question, const std::string& text,
                           const std::string& says, const AnswerOptions& options = {}) {
    test::expect_error(ErrorCode::kInvalidArgument, {says},
                       [&] { cut_question(model, question, text, options); });
  };
  refused("", "fox", "the question is empty");
  refused("one ?", "", "the text is empty");
  refused("one ?", " \n ", "the text has no tokens");
  refused("one ?", "a \xFF", "the text is not valid UTF-8");
  refused("a a a a a a a a a", "fox",
          "the question has 12 tokens with the special ones and leaves");
  AnswerOptions options;
  options.stride = 7;
  refused("one ?", "fox a a a a a a a a", "a stride of 7 must be below the 7", options);
  options.stride.reset();
  options.max_seq_len = 13;
  refused("one ?", "fox", "the model reads 12 at most", options);
  options.max_seq_len = 5;
  refused("one ?", "fox", "leaves no room", options);
  options.max_seq_len = 6;
  EXPECT_EQ(cut_question(model, "one ?", "fox a a", options).windows.size(), 3u);
}

}  // namespace
}  // namespace longformer::tasks
