// tag on small models with random heads: windows, words, offsets, what is left out.
#include "tasks/tag.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

constexpr const char* kLabels =
    R"("id2label": {"0": "O", "1": "B-A", "2": "I-A", "3": "B-B", "4": "I-B"}, )";

std::string some_words(int count) {
  const std::vector<std::string>& names = test::tiny_words();
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += names[static_cast<size_t>(8 + (i * i + i / 7) % 22)] + " ";
  }
  return text;
}

class Tag : public testing::Test {
 protected:
  // `tokens`: that the model reads. Attention reaches one token to each side, in two layers, and
  // positions say nothing.
  TaskTextModel load(int64_t tokens, const std::string& labels = kLabels) {
    const auto directory = directory_.path() / "model";
    const std::string json =
        test::tiny_config("longformer", 400, "\"initializer_range\": 1.0, " + labels);
    std::string narrow = json;
    narrow.replace(narrow.find("\"attention_window\": 8"), 21, "\"attention_window\": 2");
    const EncoderConfig config = read_encoder_config(io::Config::parse(narrow, "config.json"));
    test::Tensors tensors = test::random_tensors(config, 11, 0.3f);
    for (auto& [name, values] : tensors) {
      if (name.find("position_embeddings") == std::string::npos) continue;
      std::fill(values.begin(), values.end(), 0.0f);
    }
    std::filesystem::create_directories(directory);
    test::write_checkpoint(directory, narrow, config, tensors);
    test::put_vocabulary(directory);
    TaskOptions options;
    options.task = Task::kTokenClassification;
    options.allow_new_head = true;
    options.seed = 3;
    options.load.threads = 1;
    options.load.max_tokens = tokens;
    return load_task_text_model(directory, options);
  }

  static std::vector<TaggedText> run(TaskTextModel& model, const std::vector<TagInput>& inputs,
                                     const TagOptions& options = {}, int64_t batch_tokens = 4096) {
    TaskRun run;
    run.batch_tokens = batch_tokens;
    std::vector<TaggedText> results;
    tag(model, inputs, options, run, [&](size_t index, const TaggedText& result) {
      EXPECT_EQ(index, results.size());
      results.push_back(result);
    });
    return results;
  }

  static TaggedText run(TaskTextModel& model, const std::string& text,
                        const TagOptions& options = {}) {
    std::vector<TagInput> inputs;
    inputs.push_back(tag_input(model, text));
    return run(model, inputs, options).at(0);
  }

  static void expect_equal(const std::vector<TextEntity>& got,
                           const std::vector<TextEntity>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].label, want[i].label) << i;
      EXPECT_EQ(got[i].word, want[i].word) << i;
      EXPECT_EQ(got[i].bytes, want[i].bytes) << i;
      EXPECT_EQ(got[i].characters, want[i].characters) << i;
      EXPECT_EQ(got[i].index, want[i].index) << i;
      EXPECT_NEAR(got[i].score, want[i].score, 1e-5) << i;
    }
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Tag, LongTextsAreTaggedAsIfReadAtOnce) {
  const std::string text = some_words(300);
  for (const Aggregation aggregation :
       {Aggregation::kNone, Aggregation::kSimple, Aggregation::kFirst, Aggregation::kAverage,
        Aggregation::kMax}) {
    TagOptions options;
    options.aggregation = aggregation;
    options.ignore_labels.clear();
    TaskTextModel whole = load(399);
    const TaggedText expected = run(whole, text, options);
    ASSERT_EQ(expected.windows, 1);
    ASSERT_GT(expected.entities.size(), 20u);
    // Entities without gaps: every token is in one.
    for (size_t i = 1; i < expected.entities.size(); ++i) {
      EXPECT_EQ(expected.entities[i].bytes.begin, expected.entities[i - 1].bytes.end + 1);
    }
    // From 40 tokens on an eighth of the window is twice what two layers reach.
    for (const int64_t tokens : {40, 64, 100, 301}) {
      TaskTextModel cut = load(tokens);
      const TaggedText tagged = run(cut, text, options);
      EXPECT_GT(tagged.windows, 1);
      expect_equal(tagged.entities, expected.entities);
      ASSERT_EQ(tagged.words.size(), expected.words.size());
      for (size_t word = 0; word < tagged.words.size(); ++word) {
        EXPECT_EQ(tagged.words[word].label, expected.words[word].label) << word;
      }
    }
  }
}

TEST_F(Tag, AnEntityAcrossASeamComesOnce) {
  // Every token has the same label, so that all is one entity.
  TaskTextModel model = load(24, R"("id2label": {"0": "I-A"}, )");
  const std::string text = some_words(200);
  const TaggedText tagged = run(model, text);
  EXPECT_GT(tagged.windows, 8);
  ASSERT_EQ(tagged.entities.size(), 1u);
  EXPECT_EQ(tagged.entities[0].bytes, (text::Offset{0, static_cast<int64_t>(text.size()) - 1}));
  EXPECT_EQ(tagged.entities[0].end_word, 200);
  EXPECT_EQ(tagged.entities[0].score, 1);
}

TEST_F(Tag, WithAStrideWindowsAreTheReferences) {
  // Each window is one entity; of those that overlap the longest is kept, so only every other
  // stays.
  TaskTextModel model = load(22, R"("id2label": {"0": "I-A"}, )");
  TagOptions options;
  options.stride = 5;
  const std::string text = some_words(50);  // windows of tokens 0-20, 15-35, 30-50
  const TaggedText tagged = run(model, text, options);
  EXPECT_EQ(tagged.windows, 3);
  std::vector<std::pair<int64_t, int64_t>> words;
  for (const TextEntity& entity : tagged.entities) {
    words.emplace_back(entity.first_word, entity.end_word);
  }
  ASSERT_FALSE(words.empty());
  for (const auto& [first, end] : words) {
    EXPECT_EQ(end - first, 20);
    EXPECT_EQ(first % 15, 0);
  }
  EXPECT_EQ(run(model, some_words(20), options).windows, 1);
  options.stride = 20;
  test::expect_error(ErrorCode::kInvalidArgument, {"stride"}, [&] { run(model, text, options); });
  options.stride = 5;
  options.aggregation = Aggregation::kNone;
  test::expect_error(ErrorCode::kInvalidArgument, {"stride", "none"},
                     [&] { run(model, text, options); });
}

TEST_F(Tag, ResultsDoNotDependOnTheBatch) {
  TaskTextModel model = load(32);
  std::vector<TagInput> inputs;
  for (const int count : {0, 5, 90, 0, 1, 30, 31, 0}) {
    inputs.push_back(tag_input(model, some_words(count)));
  }
  TagOptions options;
  options.ignore_labels.clear();
  const std::vector<TaggedText> expected = run(model, inputs, options);
  ASSERT_EQ(expected.size(), inputs.size());
  EXPECT_TRUE(expected[0].entities.empty());
  EXPECT_EQ(expected[0].windows, 1);
  EXPECT_FALSE(expected[4].entities.empty());
  for (const int64_t batch : {1, 40, 100}) {
    const std::vector<TaggedText> results = run(model, inputs, options, batch);
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].entities.size(), expected[i].entities.size());
      for (size_t k = 0; k < results[i].entities.size(); ++k) {
        EXPECT_EQ(results[i].entities[k].score, expected[i].entities[k].score);
        EXPECT_EQ(results[i].entities[k].bytes, expected[i].entities[k].bytes);
      }
    }
  }
}

TEST_F(Tag, OffsetsCountCodePointsAndBytes) {
  TaskTextModel model = load(64);
  TagOptions options;
  options.aggregation = Aggregation::kNone;
  options.ignore_labels.clear();
  // The vocabulary lacks what is not ASCII: unknown tokens, whose word is their text.
  const TaggedText tagged = run(model, "é 🙂🙂 fox\r\n东 dogs", options);
  std::vector<std::string> words;
  for (const TextEntity& entity : tagged.entities) words.push_back(entity.word);
  EXPECT_EQ(words, (std::vector<std::string>{"é", "🙂🙂", "fox", "东", "dog", "##s"}));
  EXPECT_EQ(tagged.entities[2].bytes, (text::Offset{12, 15}));
  EXPECT_EQ(tagged.entities[2].characters, (text::Offset{5, 8}));
  EXPECT_EQ(tagged.entities[3].characters, (text::Offset{10, 11}));
  EXPECT_EQ(tagged.entities[5].bytes, (text::Offset{24, 25}));
  EXPECT_EQ(tagged.entities[0].index, 1);  // behind [CLS]
  EXPECT_EQ(tagged.entities[5].index, 6);
}

TEST_F(Tag, WhatIsLeftOut) {
  TaskTextModel model = load(64);
  TagOptions options;
  options.ignore_labels.clear();
  const std::string text = some_words(40);
  const std::vector<TextEntity> all = run(model, text, options).entities;
  const auto count = [](const std::vector<TextEntity>& entities, const std::string& label) {
    return std::count_if(entities.begin(), entities.end(),
                         [&](const TextEntity& entity) { return entity.label == label; });
  };
  ASSERT_GT(count(all, "A"), 0);
  ASSERT_GT(count(all, "B") + count(all, "O"), 0);
  options.ignore_labels = {"A"};
  const std::vector<TextEntity> some = run(model, text, options).entities;
  EXPECT_EQ(count(some, "A"), 0);
  EXPECT_EQ(std::ssize(some), std::ssize(all) - count(all, "A"));
  options.ignore_labels.clear();
  options.threshold = 0.6;
  const TaggedText sure = run(model, text, options);
  EXPECT_EQ(std::ssize(sure.entities),
            std::count_if(all.begin(), all.end(),
                          [](const TextEntity& entity) { return entity.score >= 0.6; }));
  // The same words have a label in columns.
  const std::vector<std::string> labels = word_labels(sure, model.model.info().labels, options);
  std::vector<bool> inside(labels.size());
  for (const TextEntity& entity : sure.entities) {
    for (int64_t word = entity.first_word; word < entity.end_word; ++word) {
      inside[static_cast<size_t>(word)] = entity.label != "O";
    }
  }
  for (size_t word = 0; word < labels.size(); ++word) {
    EXPECT_EQ(labels[word] != "O", inside[word]) << word;
  }
}

TEST_F(Tag, WordsHaveTheLabelOfTheirFirstToken) {
  TaskTextModel model = load(64);
  const std::vector<std::string> words = {"fox", "dogs", "", "the old", "barns", "🙂"};
  std::vector<TagInput> inputs;
  inputs.push_back(tag_input(model, std::span<const std::string>(words)));
  EXPECT_EQ(inputs[0].text, "fox dogs  the old barns 🙂");
  EXPECT_TRUE(inputs[0].split);
  // fox dog ##s the old barn ##s [UNK]
  const std::vector<size_t> first_tokens = {0, 1, kNoLabel, 3, 5, 7};
  TagOptions options;
  options.aggregation = Aggregation::kNone;
  options.ignore_labels.clear();
  const TaggedText tagged = run(model, inputs, options).at(0);
  ASSERT_EQ(tagged.entities.size(), 8u);
  EXPECT_EQ(tagged.entities[5].first_word, 4);
  EXPECT_EQ(tagged.entities[5].end_word, 5);
  EXPECT_EQ(tagged.entities[5].characters, (text::Offset{18, 22}));
  EXPECT_EQ(tagged.entities[7].bytes, (text::Offset{24, 28}));
  const std::vector<std::vector<std::string>> sentences = {words, {}, {"fox"}};
  const std::vector<std::vector<std::string>> labels = tag_sentences(model, sentences, {});
  ASSERT_EQ(labels.size(), 3u);
  ASSERT_EQ(labels[0].size(), words.size());
  for (size_t word = 0; word < words.size(); ++word) {
    const size_t token = first_tokens[word];
    EXPECT_EQ(labels[0][word], token == kNoLabel ? "O" : tagged.entities[token].label) << word;
  }
  EXPECT_TRUE(labels[1].empty());
  EXPECT_EQ(labels[2].size(), 1u);
}

TEST_F(Tag, LongListsOfWords) {
  TaskTextModel whole = load(399);
  TaskTextModel cut = load(30);
  std::vector<std::vector<std::string>> sentences(1);
  for (int i = 0; i < 200; ++i) {
    sentences[0].push_back(test::tiny_words()[static_cast<size_t>(8 + i * i % 22)] +
                           (i % 3 == 0 ? "s" : ""));
  }
  EXPECT_EQ(tag_sentences(cut, sentences, {}), tag_sentences(whole, sentences, {}));
}

TEST_F(Tag, GlobalTokensAreCounted) {
  TaskTextModel model = load(32);
  std::vector<TagInput> inputs;
  inputs.push_back(tag_input(model, some_words(100)));
  EXPECT_EQ(run(model, inputs).at(0).global_tokens, 0);
  const GlobalRule first = GlobalRule::parse("first", model.model.info());
  TaskRun settings;
  settings.global = &first;
  tag(model, inputs, {}, settings, [](size_t, const TaggedText& result) {
    EXPECT_EQ(result.global_tokens, result.windows);
    EXPECT_GT(result.windows, 3);
  });
}

TEST_F(Tag, AModelWithoutRoomIsRefused) {
  TaskTextModel model = load(2);
  test::expect_error(ErrorCode::kInvalidArgument, {"2 tokens", "no room"},
                     [&] { run(model, "fox"); });
}

}  // namespace
}  // namespace longformer::tasks
