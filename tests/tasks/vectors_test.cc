// Vectors against the definition: states straight from Encoder::encode, pooled by hand.
#include "tasks/vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

constexpr size_t kHidden = 16;

class Vectors : public testing::Test {
 protected:
  TextModel load(const std::string& type, int64_t tokens, Pooling pooling = Pooling::kMean) {
    test::write_tiny_model(directory_.path(), type, tokens);
    return load_text_model(directory_.path(), {.load = {.threads = 2}, .pooling = pooling});
  }
  test::TemporaryDirectory directory_;
};

std::string story(int sentences) {
  const auto& words = test::tiny_words();
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    for (int k = 0; k < 5; ++k)
      text += words[8 + static_cast<size_t>(i * 7 + k * k * 3) % 22] + " ";
    text += "fox";
    text += i % 4 == 3 ? ".\n\n" : ". ";
  }
  return text;
}

TokenizedText tokens_of(const TextModel& model, std::string_view text) {
  return tokenize(model, text, TextRole::kDocument);
}

std::vector<int64_t> ids_of(const TextModel& model, std::string_view text) {
  return tokens_of(model, text).tokens.ids;
}

// With the vectors of sentences.
void passages_of(TextModel& model, const PreparedDocument& document, Reading reading,
                 const PassageVisitor& visit) {
  const PreparedDocument* documents[] = {&document};
  passage_vectors(model, documents, {reading, true}, {}, visit);
}

// States of prefix + ids + suffix.
std::vector<float> states_of(TextModel& model, std::span<const int64_t> ids) {
  EncoderInput input;
  input.input_ids = model.prefix;
  input.input_ids.insert(input.input_ids.end(), ids.begin(), ids.end());
  input.input_ids.insert(input.input_ids.end(), model.suffix.begin(), model.suffix.end());
  input.lengths = {static_cast<int64_t>(input.input_ids.size())};
  return model.encoder.encode(input).last_hidden_state;
}

std::vector<double> mean_rows(const std::vector<float>& states, size_t begin, size_t end) {
  std::vector<double> mean(kHidden, 0.0);
  for (size_t r = begin; r < end; ++r) {
    for (size_t c = 0; c < kHidden; ++c) mean[c] += states[r * kHidden + c];
  }
  for (double& x : mean) x /= static_cast<double>(end - begin);
  return mean;
}

void expect_near(std::span<const float> got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}

TEST_F(Vectors, OneWindowIsTheReferenceDefinition) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kMax}) {
    TextModel model = load("bert", 64, pooling);
    const auto ids = ids_of(model, "The old fox sleeps in the barn.");
    const auto states = states_of(model, ids);
    const size_t rows = states.size() / kHidden;
    ASSERT_EQ(rows, ids.size() + 2);
    std::vector<double> want = mean_rows(states, 0, rows);
    for (size_t c = 0; c < kHidden && pooling != Pooling::kMean; ++c) {
      want[c] = states[c];
      for (size_t r = 0; r < rows && pooling == Pooling::kMax; ++r) {
        want[c] = std::max(want[c], static_cast<double>(states[r * kHidden + c]));
      }
    }
    const DocumentVector got =
        document_vector(model, tokens_of(model, "The old fox sleeps in the barn."));
    EXPECT_EQ(got.windows, 1);
    expect_near(got.values, want);
  }
}

TEST_F(Vectors, NormalisedWhereTheModelSaysSo) {
  test::write_tiny_model(directory_.path(), "bert", 64);
  test::put_pooling(directory_.path(), "{}", true);
  TextModel model = load_text_model(directory_.path());
  double square = 0;
  for (const float x : document_vector(model, tokens_of(model, "a fox")).values)
    square += static_cast<double>(x) * x;
  EXPECT_NEAR(square, 1.0, 1e-6);
}

TEST_F(Vectors, ALongTextCountsEachTokenOnce) {
  for (const char* type : {"bert", "longformer"}) {
    TextModel model = load(type, 34);
    const auto ids = ids_of(model, story(20));
    ASSERT_GT(ids.size(), 100u);
    const auto windows =
        plan_windows(static_cast<int64_t>(ids.size()), 32, window_overlap(32, model.reach()));
    ASSERT_GT(windows.size(), 3u);
    std::vector<float> all;
    for (size_t i = 0; i < windows.size(); ++i) {
      const Window& w = windows[i];
      const auto states = states_of(model, std::span(ids).subspan(static_cast<size_t>(w.begin),
                                                                  static_cast<size_t>(w.size())));
      const auto take = [&](int64_t from, int64_t to) {
        all.insert(all.end(), states.begin() + from * static_cast<int64_t>(kHidden),
                   states.begin() + to * static_cast<int64_t>(kHidden));
      };
      if (i == 0) take(0, 1);
      take(1 + w.keep_begin - w.begin, 1 + w.keep_end - w.begin);
      if (i + 1 == windows.size()) take(1 + w.size(), 2 + w.size());
    }
    ASSERT_EQ(all.size() / kHidden, ids.size() + 2);
    const DocumentVector got = document_vector(model, tokens_of(model, story(20)));
    EXPECT_EQ(got.windows, static_cast<int64_t>(windows.size()));
    expect_near(got.values, mean_rows(all, 0, all.size() / kHidden));
  }
}

TEST_F(Vectors, NothingIsDroppedAtTheEnd) {
  TextModel model = load("bert", 34);
  const std::string text = story(20);
  const auto a = document_vector(model, tokens_of(model, text + "moon"));
  const auto b = document_vector(model, tokens_of(model, text + "river"));
  EXPECT_NE(a.values, b.values);
}

TEST_F(Vectors, PassagesInTheirDocumentPoolTheirOwnStates) {
  for (const Pooling pooling :
       {Pooling::kMean, Pooling::kCls}) {  // cls has no first state inside: the mean
    TextModel model = load("longformer", 400, pooling);
    const std::string text = story(12);
    const PreparedDocument document = prepare(model, text, passage_options(model, 32));
    ASSERT_EQ(document.segmentation.passages.size(), 3u);
    const auto states = states_of(model, document.text.tokens.ids);
    int64_t next = 0;
    passages_of(model, document, Reading::kInDocument, [&](const PassageVectors& got) {
      ASSERT_EQ(got.passage, next++);
      EXPECT_EQ(got.windows, 1);
      const Passage& p = document.segmentation.passages[static_cast<size_t>(got.passage)];
      const auto row = [](int64_t token) { return static_cast<size_t>(token) + 1; };
      expect_near(got.values, mean_rows(states, row(p.token_begin), row(p.token_end)));
      ASSERT_EQ(got.sentences.size(),
                static_cast<size_t>(p.sentence_end - p.sentence_begin) * kHidden);
      for (int64_t s = p.sentence_begin; s < p.sentence_end; ++s) {
        const Sentence& sentence = document.segmentation.sentences[static_cast<size_t>(s)];
        expect_near(
            got.sentences.subspan(static_cast<size_t>(s - p.sentence_begin) * kHidden, kHidden),
            mean_rows(states, row(sentence.token_begin), row(sentence.token_end)));
      }
    });
    EXPECT_EQ(next, 3);
  }
}

TEST_F(Vectors, PassagesAcrossWindowsPoolBothParts) {
  TextModel model = load("longformer", 34);
  const PreparedDocument document = prepare(model, story(30), passage_options(model, 30));
  const auto& ids = document.text.tokens.ids;
  std::vector<float> kept;
  int64_t windows = 0;
  const TokenizedText* texts[] = {&document.text};
  read_windows(
      model, texts, WantedStates::kAll, {}, [&](const Sequence& sequence, const StateRun& run) {
        windows = sequence.count;
        if (run.part != StateRun::Part::kOwn) return;
        ASSERT_EQ(run.token * static_cast<int64_t>(kHidden), static_cast<int64_t>(kept.size()));
        kept.insert(kept.end(), run.states.begin(), run.states.end());
      });
  ASSERT_GT(windows, 3);
  ASSERT_EQ(kept.size(), ids.size() * kHidden);
  size_t seen = 0;
  passages_of(model, document, Reading::kInDocument, [&](const PassageVectors& got) {
    EXPECT_EQ(got.windows, windows);
    const Passage& p = document.segmentation.passages[static_cast<size_t>(got.passage)];
    expect_near(got.values, mean_rows(kept, static_cast<size_t>(p.token_begin),
                                      static_cast<size_t>(p.token_end)));
    ++seen;
  });
  EXPECT_EQ(seen, document.segmentation.passages.size());
}

TEST_F(Vectors, PassagesAloneAreTextsOfTheirOwnToTheBit) {
  TextModel model = load("bert", 64);
  const std::string text = story(40);
  const PreparedDocument document = prepare(model, text, passage_options(model, 32));
  ASSERT_GT(document.segmentation.passages.size(), 5u);
  passages_of(model, document, Reading::kAlone, [&](const PassageVectors& got) {
    const ByteRange bytes = document.segmentation.passages[static_cast<size_t>(got.passage)].bytes;
    const auto tokens = tokens_of(
        model, std::string_view(text).substr(static_cast<size_t>(bytes.begin),
                                             static_cast<size_t>(bytes.end - bytes.begin)));
    const std::vector<float> want = document_vector(model, tokens).values;
    EXPECT_TRUE(std::equal(want.begin(), want.end(), got.values.begin()));
  });
}

// States of prefix + prompt + text + suffix, read as one text.
TEST_F(Vectors, APromptStandsBeforeEveryWindowAndPassage) {
  test::write_tiny_model(directory_.path(), "bert", 34);
  for (const bool include : {true, false}) {
    test::put_pooling(directory_.path(),
                      include ? R"({"include_prompt": true})" : R"({"include_prompt": false})",
                      false);
    TextModel model = load_text_model(directory_.path(), {.load = {.threads = 2},
                                                          .pooling = std::nullopt,
                                                          .query_prompt = "rain ",
                                                          .document_prompt = "the moon "});
    EXPECT_EQ(model.capacity(), 30);
    const TokenizedText text = tokens_of(model, "a fox runs");
    EXPECT_EQ(text.prompt, (std::vector<int64_t>{12, 31}));
    EXPECT_EQ(text.tokens.offsets[0], (text::Offset{0, 1}));
    std::vector<int64_t> ids = text.prompt;
    ids.insert(ids.end(), text.tokens.ids.begin(), text.tokens.ids.end());
    const auto whole = states_of(model, ids);
    const size_t rows = whole.size() / kHidden;
    ASSERT_EQ(rows, 7u);
    expect_near(document_vector(model, text).values, mean_rows(whole, include ? 0 : 3, rows));
    const PreparedDocument document = prepare(model, "a fox runs", passage_options(model, 8));
    passages_of(model, document, Reading::kAlone, [&](const PassageVectors& got) {
      expect_near(got.values, mean_rows(whole, include ? 0 : 3, rows));
    });
    passages_of(model, document, Reading::kInDocument, [&](const PassageVectors& got) {
      expect_near(got.values, mean_rows(whole, 3, 6));
    });
    EXPECT_EQ(tokenize(model, "a", TextRole::kQuery).prompt, (std::vector<int64_t>{28}));
  }
  test::expect_error(ErrorCode::kInvalidArgument, {"room", "prompt"}, [&] {
    std::string prompt;
    for (int i = 0; i < 40; ++i) prompt += "rain ";
    load_text_model(directory_.path(), {.load = {},
                                        .pooling = std::nullopt,
                                        .query_prompt = std::nullopt,
                                        .document_prompt = prompt});
  });
}

TEST_F(Vectors, ModesThatTakeOneStateAverageOverTheWindows) {
  for (const Pooling pooling : {Pooling::kCls, Pooling::kLastToken}) {
    TextModel model = load("bert", 34, pooling);
    const auto ids = ids_of(model, story(20));
    std::vector<double> want(kHidden, 0.0);
    for (const Window& w :
         plan_windows(static_cast<int64_t>(ids.size()), 32, window_overlap(32, model.reach()))) {
      const auto states = states_of(model, std::span(ids).subspan(static_cast<size_t>(w.begin),
                                                                  static_cast<size_t>(w.size())));
      const size_t at = pooling == Pooling::kCls ? 0 : states.size() - kHidden;
      for (size_t c = 0; c < kHidden; ++c) {
        want[c] += static_cast<double>(states[at + c]) *
                   static_cast<double>(w.keep_end - w.keep_begin) / static_cast<double>(ids.size());
      }
    }
    expect_near(document_vector(model, tokens_of(model, story(20))).values, want);
  }
}

TEST_F(Vectors, ProgressReachesTheTotalAndCancellationStops) {
  TextModel model = load("bert", 34);
  const TokenizedText text = tokens_of(model, story(60));
  int64_t last = 0;
  int64_t all = 0;
  Hooks hooks;
  hooks.progress = [&](int64_t done, int64_t total) {
    EXPECT_GE(done, last);
    last = done;
    all = total;
  };
  document_vector(model, text, hooks);
  EXPECT_EQ(last, all);
  EXPECT_GT(all, static_cast<int64_t>(text.tokens.size()));
  hooks.progress = nullptr;
  hooks.cancelled = [] { return true; };
  test::expect_error(ErrorCode::kCancelled, {}, [&] { document_vector(model, text, hooks); });
}

TEST_F(Vectors, PassageBudgetsFollowTheModel) {
  TextModel model = load("bert", 34);
  EXPECT_EQ(passage_options(model, std::nullopt).passage_tokens, 32);
  EXPECT_EQ(passage_options(model, 20).passage_tokens, 20);
  test::expect_error(ErrorCode::kInvalidArgument, {"8 to 32", "33"},
                     [&] { passage_options(model, 33); });
  test::expect_error(ErrorCode::kInvalidArgument, {"7"}, [&] { passage_options(model, 7); });
}

}  // namespace
}  // namespace longformer::tasks
