// Configs as they come, and configs that lie: each message names the field.
#include "models/family.h"

#include <gtest/gtest.h>

#include "longformer/error.h"

namespace longformer {
namespace {

EncoderConfig read(const std::string& text) {
  return read_encoder_config(io::Config::parse(text, "config.json"));
}

TEST(EncoderConfig, AbsentFieldsHaveTheReferenceDefaults) {
  const EncoderConfig longformer = read(R"({"model_type": "longformer"})");
  EXPECT_EQ(longformer.vocab_size, 30522);
  EXPECT_EQ(longformer.hidden_size, 768);
  EXPECT_EQ(longformer.layers, 12);
  EXPECT_EQ(longformer.heads, 12);
  EXPECT_EQ(longformer.intermediate_size, 3072);
  EXPECT_EQ(longformer.position_rows, 512);
  EXPECT_EQ(longformer.type_vocab_size, 2);
  EXPECT_EQ(longformer.pad_token_id, 1);
  EXPECT_EQ(longformer.max_tokens(), 510);
  EXPECT_FLOAT_EQ(longformer.layer_norm_eps, 1e-12f);
  EXPECT_EQ(longformer.attention_window, std::vector<int64_t>(12, 512));
  const EncoderConfig bert = read(R"({"model_type": "bert"})");
  EXPECT_EQ(bert.pad_token_id, 0);
  EXPECT_EQ(bert.max_tokens(), 512);
  EXPECT_TRUE(bert.attention_window.empty());
}

// The published base model: 4,098 rows, pad 1, 4,096 tokens.
TEST(EncoderConfig, UsableLengthIsRowsMinusPadMinusOne) {
  EXPECT_EQ(
      read(R"({"model_type": "longformer", "max_position_embeddings": 4098, "pad_token_id": 1})")
          .max_tokens(),
      4096);
}

TEST(EncoderConfig, WindowIsOneValueOrAList) {
  const std::string head =
      R"({"model_type": "longformer", "num_hidden_layers": 2, "attention_window": )";
  EXPECT_EQ(read(head + "64}").attention_window, (std::vector<int64_t>{64, 64}));
  EXPECT_EQ(read(head + "[64, 128]}").attention_window, (std::vector<int64_t>{64, 128}));
}

struct Bad {
  const char* json;
  const char* says;
  ErrorCode code;
};

class BadConfig : public testing::TestWithParam<Bad> {};

TEST_P(BadConfig, IsRefusedByName) {
  try {
    read(GetParam().json);
    FAIL() << "accepted " << GetParam().json;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos) << error.what();
  }
}

constexpr auto kFile = ErrorCode::kInvalidFile;
constexpr auto kUnsupported = ErrorCode::kUnsupported;
INSTANTIATE_TEST_SUITE_P(
    Fields, BadConfig,
    testing::Values(
        Bad{R"({})", "model_type", kUnsupported},
        Bad{R"({"model_type": "gpt2"})", "longformer, bert", kUnsupported},
        Bad{R"({"model_type": "bert", "hidden_size": 100, "num_attention_heads": 7})",
            "hidden_size 100", kFile},
        Bad{R"({"model_type": "bert", "num_hidden_layers": 0})", "num_hidden_layers", kFile},
        Bad{R"({"model_type": "bert", "num_attention_heads": 0})", "num_attention_heads", kFile},
        Bad{R"({"model_type": "bert", "hidden_size": -768})", "hidden_size", kFile},
        Bad{R"({"model_type": "bert", "hidden_size": 1e300})", "hidden_size", kFile},
        Bad{R"({"model_type": "bert", "hidden_size": "768"})", "hidden_size", kFile},
        Bad{R"({"model_type": "bert", "hidden_size": 768.5})", "hidden_size", kFile},
        Bad{R"({"model_type": "bert", "num_hidden_layers": 9999999})", "num_hidden_layers", kFile},
        Bad{R"({"model_type": "bert", "hidden_size": 1024, "num_attention_heads": 1})", "256",
            kUnsupported},
        Bad{R"({"model_type": "bert", "hidden_act": "mish"})", "hidden_act", kUnsupported},
        Bad{R"({"model_type": "bert", "layer_norm_eps": -1})", "layer_norm_eps", kFile},
        Bad{R"({"model_type": "bert", "position_embedding_type": "relative_key"})",
            "position_embedding_type", kUnsupported},
        Bad{R"({"model_type": "bert", "is_decoder": true})", "decoder", kUnsupported},
        Bad{R"({"model_type": "longformer", "attention_dilation": [1, 2]})", "attention_dilation 2",
            kUnsupported},
        Bad{R"({"model_type": "longformer", "autoregressive": true})", "autoregressive",
            kUnsupported},
        Bad{R"({"model_type": "longformer", "attention_window": 7})", "layer 0 is 7", kFile},
        Bad{R"({"model_type": "longformer", "attention_window": 0})", "layer 0 is 0", kFile},
        Bad{R"({"model_type": "longformer", "attention_window": -4})", "layer 0 is -4", kFile},
        Bad{R"({"model_type": "longformer", "attention_window": 2147483650})",
            "layer 0 is 2147483650", kFile},
        Bad{R"({"model_type": "longformer", "attention_window": [4, 4, 4]})",
            "3 values for 12 layers", kFile},
        Bad{R"({"model_type": "longformer", "attention_window": []})", "0 values for 12 layers",
            kFile},
        Bad{R"({"model_type": "longformer", "max_position_embeddings": 2, "pad_token_id": 1})",
            "max_position_embeddings", kFile}));

}  // namespace
}  // namespace longformer
