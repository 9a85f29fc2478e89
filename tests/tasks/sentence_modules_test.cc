#include "tasks/sentence_modules.h"

#include <gtest/gtest.h>

#include "tasks/tiny_model.h"

namespace longformer::tasks {
namespace {

using test::expect_error;
using test::put;
using test::put_pooling;
using Modes = std::vector<Pooling>;

class SentenceModulesTest : public testing::Test {
 protected:
  const std::filesystem::path& path() const { return directory_.path(); }
  SentenceModules read(const std::string& pooling) {
    put_pooling(path(), pooling, false);
    return read_sentence_modules(path());
  }
  void put_modules(const std::string& more) {
    put(path() / "modules.json",
        R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
            {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})" +
            more + "]");
    put(path() / "1_Pooling" / "config.json", "{}");
  }
  test::TemporaryDirectory directory_;
};

TEST_F(SentenceModulesTest, PoolingFlagsOfPublishedModels) {
  EXPECT_EQ(read(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false})").pooling,
            Modes{Pooling::kMean});
  EXPECT_EQ(read(R"({"pooling_mode_mean_tokens": false, "pooling_mode_cls_token": true})").pooling,
            Modes{Pooling::kCls});
  EXPECT_EQ(read(R"({"pooling_mode_mean_tokens": false, "pooling_mode_lasttoken": true})").pooling,
            Modes{Pooling::kLastToken});
  EXPECT_EQ(read(R"({"word_embedding_dimension": 16})").pooling,
            Modes{Pooling::kMean});  // the class's default
  // The order of the flags is fixed by the package, not by the file.
  EXPECT_EQ(
      read(
          R"({"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true, "pooling_mode_cls_token": true})")
          .pooling,
      (Modes{Pooling::kCls, Pooling::kMax, Pooling::kMean}));
}

TEST_F(SentenceModulesTest, PoolingModesByName) {
  const SentenceModules modules = read(R"({"pooling_mode": "cls", "embedding_dimension": 24})");
  EXPECT_EQ(modules.pooling, Modes{Pooling::kCls});
  EXPECT_EQ(modules.dimension, 24);
  EXPECT_TRUE(modules.include_prompt);
  EXPECT_TRUE(modules.stated);
  EXPECT_EQ(read(R"({"pooling_mode": ["max", "weightedmean"]})").pooling,
            (Modes{Pooling::kMax, Pooling::kWeightedMean}));
  EXPECT_FALSE(read(R"({"include_prompt": false})").include_prompt);
}

TEST_F(SentenceModulesTest, WithoutFilesTheMeanIsAnAssumption) {
  const SentenceModules modules = read_sentence_modules(path());
  EXPECT_EQ(modules.pooling, Modes{Pooling::kMean});
  EXPECT_FALSE(modules.stated);
  EXPECT_TRUE(modules.head.empty());
  EXPECT_TRUE(read_sentence_modules(path(), Pooling::kCls).stated);
  EXPECT_EQ(read_sentence_modules(path(), Pooling::kCls).pooling, Modes{Pooling::kCls});
}

TEST_F(SentenceModulesTest, ModulesBehindThePoolingInOrder) {
  put_modules(R"(, {"path": "2_Dense", "type": "sentence_transformers.base.modules.dense.Dense"},
                 {"path": "3_Dropout", "type": "sentence_transformers.models.Dropout"},
                 {"path": "4_Normalize", "type": "sentence_transformers.models.Normalize"})");
  const SentenceModules modules = read_sentence_modules(path());
  ASSERT_EQ(modules.head.size(), 2u);
  EXPECT_EQ(modules.head[0].kind, HeadModule::Kind::kDense);
  EXPECT_EQ(modules.head[0].directory, path() / "2_Dense");
  EXPECT_EQ(modules.head[1].kind, HeadModule::Kind::kNormalize);
}

TEST_F(SentenceModulesTest, WhatIsNotComputedIsRefusedByName) {
  const auto refuse = [&](const std::string& config, ErrorCode code, const std::string& name) {
    put_pooling(path(), config, false);
    expect_error(code, {name}, [&] { read_sentence_modules(path()); });
    EXPECT_EQ(read_sentence_modules(path(), Pooling::kMax).pooling,
              Modes{Pooling::kMax});  // the caller's choice wins
  };
  refuse(R"({"pooling_mode_mean_tokens": false})", ErrorCode::kInvalidFile, "false");
  refuse(R"({"pooling_mode": "median"})", ErrorCode::kUnsupported, "lasttoken");
  refuse(R"({"pooling_mode": []})", ErrorCode::kInvalidFile, "one to six");
  for (const char* kind : {"Router", "LSTM", "WeightedLayerPooling", "CNN"}) {
    put_modules(R"(, {"path": "2_X", "type": "sentence_transformers.models.)" + std::string(kind) +
                R"("})");
    expect_error(ErrorCode::kUnsupported, {kind, "module 2"},
                 [&] { read_sentence_modules(path()); });
  }
  put_modules(R"(, {"path": "2_N", "type": "my_modules.Normalize"})");
  expect_error(ErrorCode::kUnsupported, {"my_modules.Normalize"},
               [&] { read_sentence_modules(path()); });
  put_modules(R"(, {"path": "2_N", "type": "sentence_transformers.models.Normalize"})");
  put(path() / "2_N" / "config.json", R"({"module_input_name": "token_embeddings"})");
  expect_error(ErrorCode::kUnsupported, {"module_input_name"},
               [&] { read_sentence_modules(path()); });
}

TEST_F(SentenceModulesTest, PromptsByRoleNameAndText) {
  put(path() / "config_sentence_transformers.json",
      R"({"prompts": {"query": "query: ", "passage": "passage: ", "sts": "sts: ", "none": null},
          "default_prompt_name": "sts"})");
  const Prompts prompts = read_prompts(path());
  const auto resolve = [&](TextRole role, std::optional<std::string> choice) {
    return resolve_prompt(prompts, role, choice);
  };
  EXPECT_EQ(resolve(TextRole::kQuery, {}), "query: ");
  EXPECT_EQ(resolve(TextRole::kDocument, {}), "passage: ");
  EXPECT_EQ(resolve(TextRole::kDocument, "query"), "query: ");
  EXPECT_EQ(resolve(TextRole::kQuery, "document"), "passage: ");
  EXPECT_EQ(resolve(TextRole::kQuery, "sts"), "sts: ");
  EXPECT_EQ(resolve(TextRole::kQuery, "Represent: "), "Represent: ");
  EXPECT_EQ(resolve(TextRole::kQuery, ""), "");
  Prompts only_default = prompts;
  only_default.named = {{"sts", "sts: "}};
  EXPECT_EQ(resolve_prompt(only_default, TextRole::kQuery, {}), "sts: ");
  EXPECT_EQ(resolve_prompt({}, TextRole::kQuery, {}), "");
  expect_error(ErrorCode::kInvalidArgument, {"query", "sts"},
               [&] { resolve_prompt(only_default, TextRole::kQuery, "query"); });
}

TEST_F(SentenceModulesTest, BrokenPromptsAreRefused) {
  for (const char* text : {R"({"prompts": ["a"]})", R"({"prompts": {"query": 1}})",
                           R"({"default_prompt_name": "absent"})"}) {
    put(path() / "config_sentence_transformers.json", text);
    expect_error(ErrorCode::kInvalidFile, {"config_sentence_transformers.json"},
                 [&] { read_prompts(path()); });
  }
}

}  // namespace
}  // namespace longformer::tasks
