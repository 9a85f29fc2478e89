// Stores are found again by their key alone, never half, and noticed when data changes.
#include "train/data/token_store.h"

#include <chrono>
#include <thread>

#include "io/files.h"
#include "train/data/choose_data.h"
#include "train/data/classify_data.h"
#include "train/data/data_files.h"
#include "train/data/data_fixture.h"
#include "train/data/example_codec.h"
#include "train/data/mlm_data.h"

namespace longformer::train {
namespace {

namespace fs = std::filesystem;

class TokenStoreTest : public DataTest {
 protected:
  std::vector<fs::path> stores() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory_.path() / "cache")) {
      found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  DataModel classifier() const { return model(Task::kSequenceClassification, 64, {"x", "y"}); }
  static void touch(const fs::path& file) {
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(10));
  }
};

TEST_F(TokenStoreTest, HoldsRecords) {
  const std::vector<std::vector<int32_t>> records = {{1, 2, 3}, {}, {-7}, {5, 6}};
  {
    TokenStoreWriter writer(path("cache/s"), "key\n");
    for (const auto& record : records) {
      for (const int32_t value : record) writer.append(std::span(&value, 1));
      writer.end_record();
    }
    EXPECT_FALSE(io::entry_exists(path("cache/s"))) << "whole or not at all";
    writer.commit("notes\n");
  }
  const auto store = TokenStore::open(path("cache/s"), "key\n");
  ASSERT_TRUE(store);
  EXPECT_EQ(store->notes(), "notes\n");
  ASSERT_EQ(store->records(), 4);
  for (int64_t i = 0; i < 4; ++i) {
    const auto record = store->record(i);
    EXPECT_EQ(std::vector<int32_t>(record.begin(), record.end()), records[static_cast<size_t>(i)]);
  }
  expect_error(ErrorCode::kInvalidArgument, {"no example 4"}, [&] { (void)store->record(4); });
  EXPECT_FALSE(TokenStore::open(path("cache/s"), "other"));
  EXPECT_FALSE(TokenStore::open(path("cache/absent"), "key\n"));
}

TEST_F(TokenStoreTest, DamageNeverCrashes) {
  {
    TokenStoreWriter writer(path("s"), "k");
    writer.append(std::vector<int32_t>{1, 2, 3});
    writer.end_record();
    writer.commit("n");
  }
  const std::string good = io::read_file(path("s"), 1 << 20);
  for (size_t size = 0; size < good.size(); ++size) {
    put("t", good.substr(0, size));
    EXPECT_FALSE(TokenStore::open(path("t"), "k")) << size;
  }
  for (size_t at = 16; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xFF);
    put("t", bad);
    if (const auto store = TokenStore::open(path("t"), "k")) {
      for (int64_t i = 0; i < store->records(); ++i) (void)store->record(i);
    }
  }
}

TEST_F(TokenStoreTest, DamagedRecordsAreErrors) {
  TrainingBatch example;
  example.input.lengths = {3, 2};
  example.input.input_ids = {2, 9, 3, 2, 3};
  example.input.token_type_ids = {0, 1, 1, 0, 0};
  example.input.global_attention_mask = {1, 0, 0, 1, 0};
  example.targets.classes = {1, kIgnoredLabel};
  example.targets.values = {0.5f, -1e30f};
  example.targets.choices = {2};
  example.targets.spans = {{{0, 2}, {1, 1}}, {}};
  const std::vector<int32_t> record = encode_example(example);
  EXPECT_EQ(example_tokens(record, "p"), 5);
  EXPECT_TRUE(same(decode_example(record, 10, "p"), example));
  expect_error(ErrorCode::kInvalidFile, {"p: is damaged", "remove it"},
               [&] { (void)decode_example(record, 9, "p"); });
  for (size_t at = 0; at < record.size(); ++at) {
    for (const int32_t value : {-1, 1000, INT32_MAX, INT32_MIN}) {
      std::vector<int32_t> bad = record;
      bad[at] = value;
      try {
        (void)decode_example(bad, 10, "p");
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
      }
    }
    const auto part = std::span(record).first(at);
    expect_error(ErrorCode::kInvalidFile, {"damaged"},
                 [&] { (void)decode_example(part, 10, "p"); });
  }
}

TEST_F(TokenStoreTest, IsMadeOnceForTheSameData) {
  put("a.jsonl", R"({"text": "the fox", "label": "x"})"
                 "\n"
                 R"({"text": "", "label": "x"})"
                 "\n");
  DataOptions options = this->options({path("a.jsonl")});
  options.bad = BadRecords::kSkip;
  const auto first = classify_data(classifier(), options);
  ASSERT_EQ(stores().size(), 1u);
  const auto time = fs::last_write_time(stores()[0]);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto second = classify_data(classifier(), options);
  EXPECT_EQ(fs::last_write_time(stores()[0]), time);
  EXPECT_EQ(stores().size(), 1u);
  EXPECT_TRUE(same(first->example(0, 0, 0), second->example(0, 0, 0)));
  EXPECT_EQ(first->notices(), second->notices());
  EXPECT_EQ(first->identity(), second->identity());
  // Another length, other labels, other bytes: another store.
  options.max_length = 20;
  (void)classify_data(classifier(), options);
  EXPECT_EQ(stores().size(), 2u);
  (void)classify_data(model(Task::kSequenceClassification, 20, {"y", "x"}), options);
  EXPECT_EQ(stores().size(), 3u);
  put("a.jsonl", R"({"text": "the hen", "label": "x"})"
                 "\n");
  EXPECT_EQ(words(classify_data(classifier(), options)->example(0, 0, 0)), "[CLS] the hen [SEP]");
  EXPECT_EQ(stores().size(), 4u);
  // A store that was damaged is made again.
  for (const fs::path& store : stores()) io::write_file_atomic(store, "x");
  EXPECT_EQ(words(classify_data(classifier(), options)->example(0, 0, 0)), "[CLS] the hen [SEP]");
}

TEST_F(TokenStoreTest, ChangedFilesAreNoticed) {
  put("a.txt", "the fox");
  const auto data = mlm_data(model(Task::kMaskedLm), options({path("a.txt")}), {.mask_id = kMask});
  data->check_unchanged();
  touch(path("a.txt"));
  data->check_unchanged();  // the same bytes
  put("a.txt", "the hen");
  touch(path("a.txt"));
  expect_error(ErrorCode::kInvalidFile, {"a.txt", "data file changed during training"},
               [&] { data->check_unchanged(); });
  put("a.txt", "the old hen");
  expect_error(ErrorCode::kInvalidFile, {"a.txt", "changed"}, [&] { data->check_unchanged(); });
  fs::remove(path("a.txt"));
  expect_error(ErrorCode::kNotFound, {"a.txt"}, [&] { data->check_unchanged(); });
  EXPECT_EQ(data->examples(), 1);  // what was tokenised is still there
}

TEST_F(TokenStoreTest, NeedsADirectory) {
  put("a.txt", "the fox");
  DataOptions options = this->options({path("a.txt")});
  options.cache.clear();
  expect_error(ErrorCode::kInvalidArgument, {"directory"},
               [&] { mlm_data(model(Task::kMaskedLm), options, {.mask_id = kMask}); });
  options.cache = path("a.txt") + "/cache";
  expect_error(ErrorCode::kIo, {"a.txt"},
               [&] { mlm_data(model(Task::kMaskedLm), options, {.mask_id = kMask}); });
}

}  // namespace
}  // namespace longformer::train
