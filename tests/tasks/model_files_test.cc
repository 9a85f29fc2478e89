#include "tasks/model_files.h"

#include <gtest/gtest.h>

#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

using test::expect_error;
using test::put;
using test::put_pooling;

class ModelFiles : public testing::Test {
 protected:
  const std::filesystem::path& path() const { return directory_.path(); }
  test::TemporaryDirectory directory_;
};

TEST_F(ModelFiles, PoolingFlagsOfPublishedModels) {
  const auto read = [&](const std::string& config) {
    put_pooling(path(), config, false);
    return read_pooling(path());
  };
  EXPECT_EQ(read(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false})").pooling,
            Pooling::kMean);
  EXPECT_EQ(read(R"({"pooling_mode_mean_tokens": false, "pooling_mode_cls_token": true})").pooling,
            Pooling::kCls);
  EXPECT_EQ(read(R"({"pooling_mode_mean_tokens": false, "pooling_mode_max_tokens": true})").pooling,
            Pooling::kMax);
  EXPECT_EQ(read(R"({"word_embedding_dimension": 16})").pooling,
            Pooling::kMean);  // the class's default
  EXPECT_EQ(read(R"({"pooling_mode": "cls", "embedding_dimension": 24})").pooling, Pooling::kCls);
  EXPECT_EQ(read(R"({"pooling_mode": "cls", "embedding_dimension": 24})").dimension, 24);
  EXPECT_EQ(read(R"({"pooling_mode": ["max"]})").pooling, Pooling::kMax);
  EXPECT_TRUE(read("{}").stated);
  EXPECT_FALSE(read("{}").normalize);
  put_pooling(path(), "{}", true);
  EXPECT_TRUE(read_pooling(path()).normalize);
}

TEST_F(ModelFiles, WithoutFilesTheMeanIsAnAssumption) {
  const PoolingSettings settings = read_pooling(path());
  EXPECT_EQ(settings.pooling, Pooling::kMean);
  EXPECT_FALSE(settings.stated);
  EXPECT_FALSE(settings.normalize);
  EXPECT_TRUE(read_pooling(path(), Pooling::kCls).stated);
  EXPECT_EQ(read_pooling(path(), Pooling::kCls).pooling, Pooling::kCls);
}

TEST_F(ModelFiles, WhatIsNotComputedIsRefusedByName) {
  const auto refuse = [&](const std::string& config, const std::string& name) {
    put_pooling(path(), config, false);
    expect_error(ErrorCode::kUnsupported, {name}, [&] { read_pooling(path()); });
    EXPECT_EQ(read_pooling(path(), Pooling::kMax).pooling,
              Pooling::kMax);  // the caller's choice wins
  };
  refuse(R"({"pooling_mode_mean_tokens": false, "pooling_mode_lasttoken": true})",
         "pooling_mode_lasttoken");
  refuse(R"({"pooling_mode_mean_sqrt_len_tokens": true})", "pooling_mode_mean_sqrt_len_tokens");
  refuse(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})", "several");
  refuse(R"({"pooling_mode_mean_tokens": false})", "none");
  refuse(R"({"pooling_mode": "weightedmean"})", "weightedmean");
  put(path() / "modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
                                   {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  expect_error(ErrorCode::kUnsupported, {"Dense", "module 1"}, [&] { read_pooling(path()); });
  put_pooling(path(), "{}", false);
  put(path() / "config_sentence_transformers.json", R"({"default_prompt_name": "query"})");
  expect_error(ErrorCode::kUnsupported, {"default_prompt_name"}, [&] { read_pooling(path()); });
}

TEST_F(ModelFiles, BrokenModuleListsAreRefused) {
  for (const char* text : {"", "{", "{}", "[]", "[1]", R"([{"type": "x.Transformer"}])",
                           R"([{"type": "x.Transformer", "path": "../other"}])",
                           R"([{"type": "x.Transformer", "path": "/etc"}])"}) {
    put(path() / "modules.json", text);
    expect_error(ErrorCode::kInvalidFile, {"modules.json"}, [&] { read_pooling(path()); });
  }
}

TEST_F(ModelFiles, LoadsAModelAndIgnoresTheLengthsOfItsTokenizerFiles) {
  test::write_tiny_model(path(), "longformer", 300);
  put(path() / "sentence_bert_config.json", R"({"max_seq_length": 128, "do_lower_case": true})");
  const TextModel model = load_text_model(path());
  EXPECT_EQ(model.capacity(), 298);  // not 126
  EXPECT_EQ(model.reach(), 4);
  EXPECT_EQ(model.prefix, (std::vector<int64_t>{2}));
  EXPECT_EQ(model.suffix, (std::vector<int64_t>{3}));
}

TEST_F(ModelFiles, TheTransformerMayLieInAFolderOfItsOwn) {
  test::write_tiny_model(path() / "0_Transformer", "bert", 32);
  put(path() / "modules.json",
      R"([{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}])");
  const TextModel model = load_text_model(path());
  EXPECT_EQ(model.capacity(), 30);
  EXPECT_EQ(model.reach(), 30);
}

TEST_F(ModelFiles, MoreTokensThanRowsIsRefusedWithBothNumbers) {
  test::write_tiny_model(path(), "bert", 32);
  std::ofstream(path() / "vocab.txt", std::ios::app) << "extra\nwords\n";
  expect_error(ErrorCode::kInvalidFile, {"up to 37", "36"}, [&] { load_text_model(path()); });
}

TEST_F(ModelFiles, AVectorSizeThatContradictsTheEncoderIsRefused) {
  test::write_tiny_model(path(), "bert", 32);
  put_pooling(path(), R"({"word_embedding_dimension": 384})", false);
  expect_error(ErrorCode::kInvalidFile, {"384", "16"}, [&] { load_text_model(path()); });
}

TEST_F(ModelFiles, LowerCaseBeforeACasedTokenizerIsRefused) {
  test::write_tiny_model(path(), "bert", 32);
  put(path() / "tokenizer_config.json",
      R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})");
  put(path() / "sentence_bert_config.json", R"({"max_seq_length": 128, "do_lower_case": true})");
  expect_error(ErrorCode::kUnsupported, {"do_lower_case"}, [&] { load_text_model(path()); });
}

TEST_F(ModelFiles, MissingFilesAreNamed) {
  expect_error(ErrorCode::kNotFound, {"tokenizer.json", "vocab.txt"},
               [&] { load_tokenizer(path()); });
  expect_error(ErrorCode::kNotFound, {"no such model directory"},
               [&] { load_tokenizer(path() / "nowhere"); });
  test::put_vocabulary(path());
  expect_error(ErrorCode::kNotFound, {"config.json"}, [&] { load_text_model(path()); });
}

}  // namespace
}  // namespace longformer::tasks
