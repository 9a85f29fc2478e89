// Texts that share calls of the encoder, and long ones whose states come in runs: the bits of each
// text are those of reading it by itself, as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tasks/document_queue.h"
#include "tasks/search.h"
#include "tasks/tiny_model.h"
#include "tasks/vectors.h"

namespace longformer::tasks {
namespace {

constexpr size_t kHidden = 16;

std::string story(int sentences, int variant) {
  const auto& words = test::tiny_words();
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    for (int k = 0; k < 5; ++k)
      text += words[8 + static_cast<size_t>(i * 7 + k * k * 3 + variant * 5) % 22] + " ";
    text += "fox";
    text += i % 4 == 3 ? ".\n\n" : ". ";
  }
  return text;
}

// 16 texts: empty, short, longer than the model reads; more than one call of the encoder in all.
std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (const int sentences : {1, 0, 40, 3, 400, 2, 9, 1, 70, 5, 250, 8, 30, 2, 1, 12}) {
    all.push_back(story(sentences, static_cast<int>(all.size())));
  }
  return all;
}

template <typename T>
std::vector<const T*> pointers(const std::vector<T>& values) {
  std::vector<const T*> all;
  for (const T& value : values) all.push_back(&value);
  return all;
}

class Batches : public testing::Test {
 protected:
  TextModel load(Pooling pooling, Compute compute) {
    test::write_tiny_model(directory_.path(), "longformer", 64);
    return load_text_model(directory_.path(),
                           {.load = {.threads = 2, .compute = compute}, .pooling = pooling});
  }
  // Reads 10,000 tokens as one sequence; with a window in each layer, as a stream.
  TextModel load_long(Pooling pooling) {
    test::write_tiny_model(directory_.path(), "longformer", 64);
    return load_text_model(
        directory_.path(),
        {.load = {.threads = 2, .max_tokens = 16384, .positions = PositionScheme::kRepeat},
         .pooling = pooling});
  }
  test::TemporaryDirectory directory_;
};

TEST_F(Batches, DocumentVectorsDoNotDependOnNeighbours) {
  for (const Compute compute : {Compute::kF32, Compute::kBf16}) {
    for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kLastToken}) {
      TextModel model = load(pooling, compute);
      std::vector<TokenizedText> tokens;
      for (const std::string& text : texts())
        tokens.push_back(tokenize(model, text, TextRole::kDocument));
      std::vector<const TokenizedText*> order = pointers(tokens);
      const std::vector<DocumentVector> together = document_vectors(model, order);
      std::reverse(order.begin(), order.end());
      const std::vector<DocumentVector> reversed = document_vectors(model, order);
      int64_t most = 0;
      for (size_t i = 0; i < tokens.size(); ++i) {
        const DocumentVector alone = document_vector(model, tokens[i]);
        EXPECT_EQ(together[i].values, alone.values) << i;
        EXPECT_EQ(reversed[tokens.size() - 1 - i].values, alone.values) << i;
        EXPECT_EQ(together[i].windows, alone.windows);
        most = std::max(most, alone.windows);
      }
      EXPECT_GT(most, 10);
      EXPECT_NE(together[0].values, together[3].values);
    }
  }
}

struct Collected {
  int64_t passage = 0;
  int64_t windows = 0;
  std::vector<float> values;
  std::vector<float> sentences;
  bool operator==(const Collected&) const = default;
};

std::vector<std::vector<Collected>> collect(TextModel& model,
                                            const std::vector<const PreparedDocument*>& documents,
                                            const PassageReading& reading) {
  std::vector<std::vector<Collected>> all(documents.size());
  int64_t last = 0;
  passage_vectors(model, documents, reading, {}, [&](const PassageVectors& vectors) {
    EXPECT_GE(vectors.document, last);
    last = vectors.document;
    all[static_cast<size_t>(vectors.document)].push_back(
        {vectors.passage,
         vectors.windows,
         {vectors.values.begin(), vectors.values.end()},
         {vectors.sentences.begin(), vectors.sentences.end()}});
  });
  return all;
}

TEST_F(Batches, PassageVectorsDoNotDependOnNeighbours) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls}) {
    TextModel model = load(pooling, Compute::kF32);
    std::vector<PreparedDocument> prepared;
    for (const std::string& text : texts())
      prepared.push_back(prepare(model, text, passage_options(model, 30)));
    for (const Reading reading : {Reading::kAlone, Reading::kInDocument}) {
      const auto together = collect(model, pointers(prepared), {reading, true});
      const auto without = collect(model, pointers(prepared), {reading, false});
      for (size_t i = 0; i < prepared.size(); ++i) {
        const auto alone = collect(model, {&prepared[i]}, {reading, true});
        EXPECT_EQ(together[i], alone[0]) << i;
        ASSERT_EQ(without[i].size(), together[i].size());
        EXPECT_EQ(together[i].empty(), prepared[i].text.tokens.ids.empty());
        for (size_t p = 0; p < together[i].size(); ++p) {
          EXPECT_EQ(without[i][p].values, together[i][p].values);  // also where only edges are read
          EXPECT_TRUE(without[i][p].sentences.empty());
          EXPECT_FALSE(together[i][p].sentences.empty());
        }
      }
    }
  }
}

// cls and lasttoken alone read few states; beside the mean all are read.
TEST_F(Batches, ModesThatTakeOneStateHaveTheBitsOfAllStates) {
  test::write_tiny_model(directory_.path(), "longformer", 64);
  const TextModelOptions options{.load = {.threads = 2},
                                 .pooling = std::nullopt,
                                 .query_prompt = std::nullopt,
                                 .document_prompt = "the moon "};
  for (const std::string include : {"true", "false"}) {
    for (const std::string mode : {"cls_token", "lasttoken"}) {
      std::vector<DocumentVector> got[2];
      for (const bool mean : {false, true}) {
        test::put_pooling(directory_.path(),
                          R"({"pooling_mode_mean_tokens": )" +
                              std::string(mean ? "true" : "false") + R"(, "pooling_mode_)" + mode +
                              R"(": true, "include_prompt": )" + include + "}",
                          false);
        TextModel model = load_text_model(directory_.path(), options);
        ASSERT_EQ(model.modules.pooling.size(), mean ? 2u : 1u);
        std::vector<TokenizedText> tokens;
        for (const std::string& text : texts())
          tokens.push_back(tokenize(model, text, TextRole::kDocument));
        tokens.back().not_pooled = 2;
        got[mean] = document_vectors(model, pointers(tokens));
        const size_t at = model.modules.pooling[0] == Pooling::kMean ? kHidden : 0;
        for (DocumentVector& vector : got[mean]) {
          const std::vector<float> all = vector.values;
          vector.values.assign(all.begin() + static_cast<std::ptrdiff_t>(at),
                               all.begin() + static_cast<std::ptrdiff_t>(at + kHidden));
        }
      }
      for (size_t i = 0; i < got[0].size(); ++i) EXPECT_EQ(got[0][i].values, got[1][i].values) << i;
    }
  }
}

TEST_F(Batches, EdgesAreTheStatesThatAllHas) {
  TextModel model = load(Pooling::kCls, Compute::kF32);
  const TokenizedText text = tokenize(model, story(60, 1), TextRole::kDocument);
  const TokenizedText* one[] = {&text};
  std::vector<std::vector<float>> edges[2];
  for (const WantedStates wanted : {WantedStates::kAll, WantedStates::kEdges}) {
    read_windows(model, one, wanted, {}, [&](const Sequence&, const StateRun& run) {
      const std::span<const float> first = run.states.first(kHidden);
      const std::span<const float> last = run.states.last(kHidden);
      auto& list = edges[wanted == WantedStates::kEdges];
      list.emplace_back(first.begin(), first.end());
      list.emplace_back(last.begin(), last.end());
    });
  }
  ASSERT_GT(edges[0].size(), 12u);
  EXPECT_EQ(edges[0], edges[1]);
}

// States of the whole text from one call that keeps them all.
std::vector<float> whole_states(TextModel& model, const TokenizedText& text) {
  EncoderInput input;
  input.input_ids = model.prefix;
  input.input_ids.insert(input.input_ids.end(), text.tokens.ids.begin(), text.tokens.ids.end());
  input.input_ids.insert(input.input_ids.end(), model.suffix.begin(), model.suffix.end());
  input.lengths = {static_cast<int64_t>(input.input_ids.size())};
  EXPECT_TRUE(model.encoder.streams(input));
  return model.encoder.encode(input).last_hidden_state;
}

std::vector<float> pooled(const std::vector<float>& states, Pooling mode, size_t begin,
                          size_t end) {
  Pooler pooler(std::span(&mode, 1), kHidden);
  pooler.add(std::span(states).subspan(begin * kHidden, (end - begin) * kHidden));
  std::vector<float> values(kHidden);
  pooler.result(values);
  return values;
}

TEST_F(Batches, StatesOfALongTextComeInRuns) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kLastToken}) {
    TextModel model = load_long(pooling);
    const PreparedDocument document = prepare(model, story(1500, 2), passage_options(model, 100));
    const size_t tokens = document.text.tokens.ids.size();
    ASSERT_GT(tokens, 9000u);
    const std::vector<float> states = whole_states(model, document.text);
    const size_t rows = states.size() / kHidden;
    ASSERT_EQ(rows, tokens + 2);

    int64_t runs = 0;
    std::vector<float> seen;
    const TokenizedText* one[] = {&document.text};
    read_windows(model, one, WantedStates::kAll, {},
                 [&](const Sequence& sequence, const StateRun& run) {
                   EXPECT_EQ(sequence.count, 1);
                   if (run.part == StateRun::Part::kOwn) {
                     EXPECT_EQ(static_cast<size_t>(run.token + 1) * kHidden, seen.size());
                     ++runs;
                   }
                   seen.insert(seen.end(), run.states.begin(), run.states.end());
                   EXPECT_EQ(run.last, seen.size() == states.size());
                 });
    EXPECT_GT(runs, 4);
    EXPECT_EQ(seen, states);

    EXPECT_EQ(document_vector(model, document.text).values, pooled(states, pooling, 0, rows));
    const auto passages = collect(model, {&document}, {Reading::kInDocument, true});
    const Segmentation& segmentation = document.segmentation;
    ASSERT_EQ(passages[0].size(), segmentation.passages.size());
    for (size_t p = 0; p < passages[0].size(); ++p) {
      const Passage& passage = segmentation.passages[p];
      const auto mean_of = [&](int64_t begin, int64_t end) {
        return pooled(states, Pooling::kMean, static_cast<size_t>(begin) + 1,
                      static_cast<size_t>(end) + 1);
      };
      EXPECT_EQ(passages[0][p].values, mean_of(passage.token_begin, passage.token_end));
      const Sentence& last = segmentation.sentences[static_cast<size_t>(passage.sentence_end) - 1];
      EXPECT_TRUE(std::ranges::equal(std::span(passages[0][p].sentences).last(kHidden),
                                     mean_of(last.token_begin, last.token_end)));
    }
  }
}

TEST_F(Batches, ScoresDoNotDependOnOtherFiles) {
  TextModel model = load(Pooling::kMean, Compute::kF32);
  const std::vector<std::string> all = texts();
  const int64_t long_texts = std::ranges::count_if(all, [&](const std::string& text) {
    const TokenizedText tokens = tokenize(model, text, TextRole::kDocument);
    return static_cast<int64_t>(tokens.tokens.ids.size()) > model.capacity();
  });
  ASSERT_GT(long_texts, 3);
  for (const Context context : {Context::kPassage, Context::kDocument, Context::kBoth}) {
    SearchOptions options;
    options.context = context;
    options.passages = passage_options(model, 30);
    options.top = 100000;
    options.words_weight = 0;
    using Scores = std::map<std::pair<std::string, int64_t>, std::pair<double, std::string>>;
    const auto take = [](Search& search, Scores& scores) {
      for (const SearchResult& result : search.results()) {
        scores[{result.file, result.byte_start}] = {result.cosine, result.best_sentence};
      }
    };
    Scores together;
    Scores reversed;
    Scores alone;
    Search forward(model, "the old dog", options);
    Search backward(model, "the old dog", options);
    for (size_t i = 0; i < all.size(); ++i) {
      forward.add(std::to_string(i), all[i]);
      backward.add(std::to_string(all.size() - 1 - i), all[all.size() - 1 - i]);
      Search single(model, "the old dog", options);
      single.add(std::to_string(i), all[i]);
      take(single, alone);
    }
    take(forward, together);
    take(backward, reversed);
    EXPECT_EQ(together, alone);
    EXPECT_EQ(reversed, alone);
    EXPECT_GT(alone.size(), 100u);
    EXPECT_EQ(forward.summary().documents, static_cast<int64_t>(all.size()));
    EXPECT_EQ(forward.summary().windowed, context == Context::kPassage ? 0 : long_texts);
  }
}

WaitingDocument waiting(int64_t key, size_t tokens, size_t bytes = 10) {
  WaitingDocument document;
  document.key = key;
  document.document.text.assign(bytes, 'x');
  document.prepared.text.tokens.ids.assign(tokens, 5);
  return document;
}

TEST(DocumentQueueTest, FillsACallAndKeepsTheOrder) {
  std::vector<std::vector<int64_t>> batches;
  DocumentQueue queue([&](DocumentBatch batch) {
    batches.emplace_back();
    for (const WaitingDocument& document : batch) batches.back().push_back(document.key);
  });
  queue.add(waiting(0, 1000));
  queue.add(waiting(1, 2000));
  EXPECT_TRUE(batches.empty());
  queue.add(waiting(2, 1500));    // does not fit beside them
  queue.add(waiting(3, 100000));  // fills a call by itself
  queue.add(waiting(4, 0));
  queue.add(waiting(5, 0, kWaitingBytes));  // bytes count where tokens do not
  queue.add(waiting(6, 10));
  queue.add(waiting(7, 10));
  queue.add(waiting(7, 10));
  queue.drop(7);
  queue.drop(5);
  queue.flush();
  queue.flush();
  EXPECT_EQ(batches, (std::vector<std::vector<int64_t>>{{0, 1}, {2}, {3}, {4}, {5}, {6}}));
}

TEST(DocumentQueueTest, DocumentsWithoutTokensFillItToo) {
  size_t most = 0;
  DocumentQueue queue([&](DocumentBatch batch) { most = std::max(most, batch.size()); });
  for (int64_t i = 0; i < 3 * kBatchTokens; ++i) queue.add(waiting(i, 0, 0));
  EXPECT_EQ(most, static_cast<size_t>(kBatchTokens));
}

TEST(DocumentQueueTest, ProgressGoesFromDocumentToDocument) {
  std::vector<WaitingDocument> batch;
  for (int64_t i = 0; i < 3; ++i) batch.push_back(waiting(i, 99));
  double last = 0;
  const BatchProgress progress = [&](const WaitingDocument& document, double share) {
    last = static_cast<double>(document.key) + share;
  };
  const Hooks hooks = batch_hooks(batch, progress, {});
  const std::pair<int64_t, double> expected[] = {{0, 0.0}, {50, 0.5}, {150, 1.5}, {300, 3.0}};
  for (const auto& [done, place] : expected) {
    hooks.progress(done, 300);
    EXPECT_DOUBLE_EQ(last, place);
  }
}

}  // namespace
}  // namespace longformer::tasks
