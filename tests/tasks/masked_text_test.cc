// RoBERTa's masking: shares, what is left alone, what it depends on.
#include "tasks/masked_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

text::Encoding tokens_of(size_t count) {
  text::Encoding tokens;
  tokens.ids.assign(count, 7);
  tokens.type_ids.assign(count, 0);
  tokens.sequence.assign(count, 0);
  tokens.sequence.front() = tokens.sequence.back() = -1;
  return tokens;
}

TEST(MaskedText, SharesAreThoseOfTheRecipe) {
  const size_t count = 200'002;
  const MaskSettings settings{.mask_id = 4, .vocabulary = 1000, .share = 0.15, .seed = 3};
  const MaskedSequence masked = mask_tokens(tokens_of(count), 0, 0, settings);
  double chosen = 0, hidden = 0, random = 0;
  for (size_t t = 0; t < count; ++t) {
    const int64_t id = masked.sequence.tokens.ids[t];
    if (masked.sequence.wanted[t] == 0) {
      EXPECT_EQ(id, 7);
      continue;
    }
    ++chosen;
    hidden += id == 4 ? 1 : 0;
    random += id != 4 && id != 7 ? 1 : 0;
    ASSERT_GE(id, 0);
    ASSERT_LT(id, 1000);
  }
  ASSERT_EQ(static_cast<double>(masked.targets.size()), chosen);
  EXPECT_EQ(masked.sequence.wanted.front(), 0);
  EXPECT_EQ(masked.sequence.wanted.back(), 0);
  // Five standard deviations.
  const auto near = [](double got, double total, double share) {
    return std::abs(got - total * share) < 5 * std::sqrt(total * share * (1 - share)) + 1;
  };
  EXPECT_TRUE(near(chosen, count - 2, 0.15)) << chosen;
  EXPECT_TRUE(near(hidden, chosen, 0.8 + 0.1 / 1000)) << hidden;
  EXPECT_TRUE(near(random, chosen, 0.1 * 998 / 1000)) << random;
}

TEST(MaskedText, DependsOnSeedAndNumberAlone) {
  MaskSettings settings{.mask_id = 4, .vocabulary = 1000};
  const auto ids = [&](uint64_t number, size_t count) {
    return mask_tokens(tokens_of(count), number, 0, settings).sequence.tokens.ids;
  };
  const std::vector<int64_t> first = ids(0, 500);
  EXPECT_EQ(first, ids(0, 500));
  EXPECT_NE(first, ids(1, 500));
  const std::vector<int64_t> longer = ids(0, 600);
  EXPECT_TRUE(std::equal(first.begin(), first.end() - 1, longer.begin()));
  settings.seed = 1;
  EXPECT_NE(first, ids(0, 500));
}

// Against the model's own logits of the hidden text, one text at a time.
TEST(MaskedText, LogProbabilitiesAreThoseOfTheHiddenTokens) {
  test::TemporaryDirectory directory;
  test::write_tiny_model(directory.path(), "longformer", 32);
  TaskOptions options;
  options.task = Task::kMaskedLm;
  options.allow_new_head = true;
  TaskTextModel model = load_task_text_model(directory.path(), options);
  std::string many;  // in two windows
  for (int i = 0; i < 12; ++i) many += "the old fox runs ";
  const std::vector<std::string> texts = {"the fox sleeps in the rain", many, "", "old hen"};
  const MaskSettings settings{
      .mask_id = 4, .vocabulary = model.model.info().outputs, .share = 0.4, .seed = 9};
  uint64_t number = 0;
  std::vector<double> got;
  masked_log_probabilities(model, texts, settings, {.batch_tokens = 40}, number, got);
  EXPECT_EQ(number, texts.size());

  std::vector<double> want;
  for (size_t text = 0; text < texts.size(); ++text) {
    uint64_t before = 0;
    for (const text::Encoding& window :
         model.tokenizer.encode_windows(texts[text], std::nullopt, {}, {.max_length = 32})) {
      const MaskedSequence masked = mask_tokens(window, text, before, settings);
      before += window.size() - 2;
      EncoderInput input;
      input.input_ids = masked.sequence.tokens.ids;
      input.lengths = {static_cast<int64_t>(window.size())};
      const std::vector<float> logits = model.model.run(input, {}).logits;
      for (size_t t = 0; t < window.size(); ++t) {
        if (masked.sequence.wanted[t] == 0) continue;
        const auto size = static_cast<size_t>(settings.vocabulary);
        double sum = 0;
        for (size_t v = 0; v < size; ++v) sum += std::exp(double{logits[t * size + v]});
        const auto target = static_cast<size_t>(window.ids[t]);
        want.push_back(double{logits[t * size + target]} - std::log(sum));
      }
    }
  }
  ASSERT_GT(want.size(), 10u);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
}

// However the text is cut, the same tokens are hidden.
TEST(MaskedText, WindowsHideWhatTheWholeTextHides) {
  const MaskSettings settings{.mask_id = 4, .vocabulary = 1000};
  const std::vector<int64_t> whole =
      mask_tokens(tokens_of(302), 5, 0, settings).sequence.tokens.ids;
  std::vector<int64_t> cut = {7};
  for (uint64_t before = 0; before < 300; before += 100) {
    const std::vector<int64_t> ids =
        mask_tokens(tokens_of(102), 5, before, settings).sequence.tokens.ids;
    cut.insert(cut.end(), ids.begin() + 1, ids.end() - 1);
  }
  cut.push_back(7);
  EXPECT_EQ(cut, whole);
}

}  // namespace
}  // namespace longformer::tasks
