// Packing loses nothing; masking keeps its shares and depends on seed, epoch, example and place.
#include "train/data/mlm_data.h"

#include <algorithm>
#include <cmath>

#include "train/data/data_fixture.h"
#include "train/data/packing.h"

namespace longformer::train {
namespace {

class MlmData : public DataTest {
 protected:
  MlmOptions how() const { return {.mask_id = kMask}; }

  // The tokens before masking.
  static std::vector<int64_t> original(const TrainingBatch& batch) {
    std::vector<int64_t> ids = batch.input.input_ids;
    for (size_t t = 0; t < ids.size(); ++t) {
      if (batch.targets.classes[t] != kIgnoredLabel) ids[t] = batch.targets.classes[t];
    }
    return ids;
  }

  // Of all examples, without special tokens.
  std::vector<int64_t> all_tokens(const TrainingData& data) const {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < data.examples(); ++i) {
      for (const int64_t token : original(data.example(i, 1, 0))) {
        if (token != kCls && token != kSep) all.push_back(token);
      }
    }
    return all;
  }
};

TEST_F(MlmData, PackingLosesNothing) {
  std::string lines, all;
  for (int64_t i = 0; i < 30; ++i) {
    const std::string text = text_of(i * 7 % 41 + 1, i);
    lines += text + "\n" + (i % 3 == 0 ? "\n" : "");
    all += text + " ";
  }
  put("lines.txt", lines);
  const std::vector<int64_t> expected = tokenizer_->encode(all, {.add_special_tokens = false}).ids;
  for (const Packing packing : {Packing::kFill, Packing::kWhole}) {
    for (const int64_t length : {3, 4, 10, 64}) {
      DataOptions options = this->options({path("lines.txt")});
      options.max_length = length;
      MlmOptions how = this->how();
      how.files = TextFiles::kDocumentALine;
      how.packing = packing;
      const auto data = mlm_data(model(Task::kMaskedLm), options, how);
      EXPECT_EQ(all_tokens(*data), expected) << length;
      for (int64_t i = 0; i < data->examples(); ++i) {
        const TrainingBatch batch = data->example(i, 1, 0);
        ASSERT_LE(data->tokens(i), length);
        ASSERT_EQ(std::ssize(batch.input.input_ids), data->tokens(i));
        ASSERT_EQ(batch.input.input_ids.front(), kCls);
        ASSERT_EQ(batch.input.input_ids.back(), kSep);
        ASSERT_EQ(batch.samples, std::vector<uint64_t>{static_cast<uint64_t>(i)});
        const bool full = packing == Packing::kFill && length > 3 && i + 1 < data->examples();
        ASSERT_GE(data->tokens(i), full ? length - 1 : 3);
      }
    }
  }
}

TEST_F(MlmData, WholeDocumentsAreNotCut) {
  PackPlace place;
  const std::vector<int64_t> sizes = {5, 4, 0, 20, 2};
  const auto tokens = [&](int64_t i) { return sizes[static_cast<size_t>(i)]; };
  const PackRules rules{10, 1, 1, Packing::kWhole};
  std::vector<std::string> sequences;
  for (;;) {
    std::string text;
    for (const PackPiece& piece : next_sequence(rules, 5, tokens, place)) {
      text += std::to_string(piece.document) + ":" + std::to_string(piece.begin) + "-" +
              std::to_string(piece.end) + " ";
    }
    if (text.empty()) break;
    sequences.push_back(text);
  }
  EXPECT_EQ(sequences, (std::vector<std::string>{"0:0-5 ", "1:0-4 3:0-3 ", "3:3-11 ", "3:11-19 ",
                                                 "3:19-20 4:0-2 "}));
}

TEST_F(MlmData, SharesAreThoseOfTheRecipe) {
  put("long.txt", text_of(60'000));
  DataOptions options = this->options({path("long.txt")});
  const auto data = mlm_data(model(Task::kMaskedLm), options, how());
  double total = 0, chosen = 0, hidden = 0, kept = 0;
  for (int64_t i = 0; i < data->examples(); ++i) {
    const TrainingBatch batch = data->example(i, 5, 0);
    for (size_t t = 0; t < batch.input.input_ids.size(); ++t) {
      const int64_t token = batch.input.input_ids[t];
      const int64_t label = batch.targets.classes[t];
      if (token == kCls || token == kSep) {
        ASSERT_EQ(label, kIgnoredLabel);
        continue;
      }
      ++total;
      if (label == kIgnoredLabel) continue;
      ++chosen;
      hidden += token == kMask ? 1 : 0;
      kept += token == label ? 1 : 0;
      ASSERT_TRUE(token == kMask || token > kMask) << "a special token in place of a word";
    }
  }
  ASSERT_EQ(total, 60'000);
  const auto near = [](double got, double of, double share) {
    return std::abs(got - of * share) < 5 * std::sqrt(of * share * (1 - share));
  };
  EXPECT_TRUE(near(chosen, total, 0.15)) << chosen;
  EXPECT_TRUE(near(hidden, chosen, 0.8)) << hidden;
  EXPECT_TRUE(near(kept, chosen, 0.1 + 0.1 / 31)) << kept;  // 31 words are not special
}

TEST_F(MlmData, DependsOnSeedEpochExampleAndPlaceAlone) {
  put("long.txt", text_of(1000));
  const auto data = mlm_data(model(Task::kMaskedLm), options({path("long.txt")}), how());
  const auto again = mlm_data(model(Task::kMaskedLm), options({path("long.txt")}), how());
  for (int64_t i = data->examples() - 1; i >= 0; --i) {
    EXPECT_TRUE(same(data->example(i, 3, 2), again->example(i, 3, 2)));
  }
  EXPECT_NE(data->example(1, 3, 2).targets.classes, data->example(1, 3, 3).targets.classes);
  EXPECT_NE(data->example(1, 3, 2).targets.classes, data->example(1, 4, 2).targets.classes);
  EXPECT_NE(data->example(1, 3, 2).targets.classes, data->example(2, 3, 2).targets.classes);
}

TEST_F(MlmData, EachExampleHasALabel) {
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += text_of(1, i) + "\n";
  lines += "[MASK] [SEP]\n";  // nothing that could be hidden
  put("lines.txt", lines);
  DataOptions options = this->options({path("lines.txt")});
  options.max_length = 3;
  MlmOptions how = this->how();
  how.files = TextFiles::kDocumentALine;
  how.mlm_probability = 0.01;
  const auto data = mlm_data(model(Task::kMaskedLm), options, how);
  ASSERT_EQ(data->examples(), 202);
  for (int64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(count_labels(data->example(i, 7, 0).targets), 1) << i;
  }
  EXPECT_EQ(count_labels(data->example(200, 7, 0).targets), 0);
}

TEST_F(MlmData, ReadsRowsGlobsAndShards) {
  put("shards/a.jsonl", R"({"text": "the fox"})"
                        "\n");
  put("shards/b.csv", "text\nold hen\n");
  put("shards/c.txt", "red barn");
  put("shards/deep/d.txt", "rain");
  const DataOptions all = options({path("shards/*")});
  const auto data = mlm_data(model(Task::kMaskedLm), all, how());
  ASSERT_EQ(data->examples(), 1);
  std::string text;
  for (const int64_t token : original(data->example(0, 0, 0))) text += word(token) + " ";
  EXPECT_EQ(text, "[CLS] the fox [SEP] old hen [SEP] red barn [SEP] ");
  EXPECT_EQ(data->notices().records, 3);
  EXPECT_EQ(mlm_data(model(Task::kMaskedLm), options({path("shards/**/*.txt")}), how())->tokens(0),
            6);
  const auto deep = mlm_data(model(Task::kMaskedLm), options({path("shards")}), how());
  EXPECT_EQ(deep->tokens(0), 12);
  EXPECT_NE(data->identity().find("shards/a.jsonl 20 bytes sha256"), std::string::npos);
}

TEST_F(MlmData, ALargeFileIsOneDocument) {
  std::string text;
  while (text.size() < (9u << 20)) text += text_of(20'000) + "\n";
  put("large.txt", text);
  const auto data = mlm_data(model(Task::kMaskedLm, 4096), options({path("large.txt")}), how());
  const auto words = static_cast<int64_t>(std::count(text.begin(), text.end(), ' ') +
                                          std::count(text.begin(), text.end(), '\n'));
  int64_t tokens = 0;
  for (int64_t i = 0; i < data->examples(); ++i) tokens += data->tokens(i) - 2;
  EXPECT_EQ(tokens, words);
  EXPECT_EQ(data->notices().records, 1);
}

TEST_F(MlmData, DropsShortSequencesOnlyWhenAsked) {
  put("a.txt", text_of(10));
  DataOptions options = this->options({path("a.txt")});
  options.max_length = 10;
  MlmOptions how = this->how();
  EXPECT_EQ(mlm_data(model(Task::kMaskedLm), options, how)->examples(), 2);
  how.min_tokens = 3;
  const auto data = mlm_data(model(Task::kMaskedLm), options, how);
  EXPECT_EQ(data->examples(), 1);
  EXPECT_EQ(data->notices().dropped, 1);
}

TEST_F(MlmData, RefusesWhatItCannotDo) {
  put("a.txt", "the fox");
  put("empty.txt", "");
  put("bad.txt", std::string("the\nfo\0x\n", 9));
  const auto expect = [&](ErrorCode code, const std::vector<std::string>& parts,
                          const std::string& file,
                          const std::function<void(MlmOptions&, DataOptions&)>& change) {
    MlmOptions how = this->how();
    DataOptions options = this->options({path(file)});
    change(how, options);
    expect_error(code, parts, [&] { mlm_data(model(Task::kMaskedLm), options, how); });
  };
  const auto nothing = [](MlmOptions&, DataOptions&) {};
  expect(ErrorCode::kInvalidArgument, {"above 0"}, "a.txt",
         [](MlmOptions& how, DataOptions&) { how.mlm_probability = 0; });
  expect(ErrorCode::kInvalidArgument, {"mask token"}, "a.txt",
         [](MlmOptions& how, DataOptions&) { how.mask_id = 1000; });
  expect(ErrorCode::kInvalidArgument, {"regex"}, "a.txt",
         [](MlmOptions&, DataOptions& options) { options.global = "regex:a"; });
  expect(ErrorCode::kInvalidArgument, {"packed"}, "a.txt",
         [](MlmOptions&, DataOptions& options) { options.stride = 3; });
  expect(ErrorCode::kInvalidArgument, {"3 to the 64"}, "a.txt",
         [](MlmOptions&, DataOptions& options) { options.max_length = 65; });
  expect(ErrorCode::kInvalidFile, {"empty.txt"}, "empty.txt", nothing);
  expect(ErrorCode::kInvalidFile, {"bad.txt line 2", "NUL"}, "bad.txt",
         [](MlmOptions& how, DataOptions&) { how.files = TextFiles::kDocumentALine; });
  expect(ErrorCode::kNotFound, {"absent.txt"}, "absent.txt", nothing);
  expect(ErrorCode::kNotFound, {"no file matches"}, "*.none", nothing);
  expect(ErrorCode::kInvalidArgument, {"named twice"}, "a.txt",
         [](MlmOptions&, DataOptions& options) { options.paths.push_back(options.paths[0]); });
}

}  // namespace
}  // namespace longformer::train
