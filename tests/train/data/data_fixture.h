// A directory with files, and a tokenizer of the words of tiny_words().
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "tasks/model_files.h"
#include "tasks/tiny_model.h"
#include "train/data/data_options.h"
#include "train/data/training_data.h"

namespace longformer::train {

using test::expect_error;

// Ids of tiny_words(): [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4.
inline constexpr int64_t kCls = 2;
inline constexpr int64_t kSep = 3;
inline constexpr int64_t kMask = 4;

class DataTest : public testing::Test {
 protected:
  DataTest() {
    test::put_vocabulary(directory_.path() / "model");
    tokenizer_ =
        std::make_unique<text::Tokenizer>(tasks::load_tokenizer(directory_.path() / "model"));
  }

  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    test::put(directory_.path() / name, text);
    return path(name);
  }

  DataModel model(Task task, int64_t max_tokens = 64, std::vector<std::string> labels = {}) const {
    DataModel model{*tokenizer_, tokenizer_id(directory_.path() / "model"), {}, max_tokens, 2};
    model.info.task = task;
    model.info.labels = std::move(labels);
    model.info.outputs = std::ssize(model.info.labels);
    model.info.sep_token_id = kSep;
    model.info.global_attention = true;
    return model;
  }

  DataOptions options(std::vector<std::string> paths) const {
    DataOptions options;
    options.paths = std::move(paths);
    options.cache = directory_.path() / "cache";
    return options;
  }

  int64_t id(const std::string& word) const { return tokenizer_->id(word).value(); }
  std::string word(int64_t id) const { return tokenizer_->token(id); }
  // Words of an example's tokens, with a space between.
  std::string words(const TrainingBatch& batch) const {
    std::string text;
    for (const int64_t one : batch.input.input_ids) text += (text.empty() ? "" : " ") + word(one);
    return text;
  }
  // `count` words, none of them special, different from their neighbours.
  static std::string text_of(int64_t count, int64_t first = 0) {
    const std::vector<std::string>& all = test::tiny_words();
    std::string text;
    for (int64_t i = 0; i < count; ++i) {
      text += (text.empty() ? "" : " ") + all[8 + static_cast<size_t>((first + i) % 20)];
    }
    return text;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
};

inline bool same(const TrainingBatch& a, const TrainingBatch& b) {
  return a.input.lengths == b.input.lengths && a.input.input_ids == b.input.input_ids &&
         a.input.global_attention_mask == b.input.global_attention_mask &&
         a.input.token_type_ids == b.input.token_type_ids &&
         a.targets.classes == b.targets.classes && a.targets.values == b.targets.values &&
         a.targets.choices == b.targets.choices && a.targets.spans == b.targets.spans &&
         a.samples == b.samples;
}

}  // namespace longformer::train
