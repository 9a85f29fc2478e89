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

TEST_F(ModelFiles, BrokenModuleListsAreRefused) {
  for (const char* text : {"", "{", "{}", "[]", "[1]", R"([{"type": "x.Transformer"}])",
                           R"([{"type": "x.Transformer", "path": "../other"}])",
                           R"([{"type": "x.Transformer", "path": "/etc"}])"}) {
    put(path() / "modules.json", text);
    expect_error(ErrorCode::kInvalidFile, {"modules.json"}, [&] { read_sentence_modules(path()); });
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
