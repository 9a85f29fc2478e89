// Configs as they come, and configs that lie: each message names the field.
#include "models/family.h"

#include <gtest/gtest.h>

#include "longformer/error.h"
#include "models/weights.h"

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
  const EncoderConfig roberta = read(R"({"model_type": "roberta"})");
  EXPECT_EQ(roberta.vocab_size, 50265);
  EXPECT_EQ(roberta.pad_token_id, 1);
  EXPECT_EQ(roberta.max_tokens(), 510);
  EXPECT_EQ(roberta.model_class, "RobertaModel");
  for (const char* type : {"xlm-roberta", "camembert"}) {
    const EncoderConfig other = read("{\"model_type\": \"" + std::string(type) + "\"}");
    EXPECT_EQ(other.vocab_size, 30522);
    EXPECT_EQ(other.pad_token_id, 1);
    EXPECT_EQ(other.model_type, type);
  }
}

TEST(EncoderConfig, ModernBertDefaults) {
  const EncoderConfig modern = read(R"({"model_type": "modernbert"})");
  EXPECT_EQ(modern.vocab_size, 50368);
  EXPECT_EQ(modern.layers, 22);
  EXPECT_EQ(modern.intermediate_size, 1152);
  EXPECT_EQ(modern.max_tokens(), 8192);
  EXPECT_EQ(modern.pad_token_id, 50283);
  EXPECT_EQ(modern.type_vocab_size, 0);
  EXPECT_FLOAT_EQ(modern.layer_norm_eps, 1e-5f);
  EXPECT_FALSE(modern.norm_bias || modern.attention_bias || modern.feed_forward_bias);
  for (int64_t layer = 0; layer < 22; ++layer) {
    EXPECT_EQ(modern.window_of(layer), layer % 3 == 0 ? 0 : 128);
    EXPECT_EQ(modern.rotary_theta[layer], layer % 3 == 0 ? 160000 : 10000);
  }
}

// The published base model.
TEST(EncoderConfig, ModernBertHasThePublishedNumberOfParameters) {
  int64_t parameters = 0;
  for (const io::ExpectedTensor& tensor : expected_tensors(read(R"({"model_type": "modernbert"})")))
    parameters += element_count(tensor.shape);
  EXPECT_EQ(parameters, 149'014'272);
}

// Transformers 4 and 5 say the same in other words.
TEST(EncoderConfig, ModernBertOfBothWriters) {
  const std::string head = R"({"model_type": "modernbert", "num_hidden_layers": 4,
                               "local_attention": 10, )";
  const EncoderConfig old = read(head + R"("torch_dtype": "float32", "global_rope_theta": 500,
      "local_rope_theta": 20, "global_attn_every_n_layers": 2})");
  const EncoderConfig now = read(head + R"("dtype": "float32",
      "layer_types": ["full_attention", "sliding_attention", "full_attention",
                      "sliding_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 500.0},
                          "sliding_attention": {"rope_type": "default", "rope_theta": 20}}})");
  for (const EncoderConfig& config : {old, now}) {
    EXPECT_EQ(config.attention_window, (std::vector<int64_t>{0, 10, 0, 10}));
    EXPECT_EQ(config.rotary_theta, (std::vector<double>{500, 20, 500, 20}));
  }
  const EncoderConfig same = read(head + R"("global_rope_theta": 500, "local_rope_theta": null})");
  EXPECT_EQ(same.rotary_theta, (std::vector<double>{500, 500, 500, 500}));
  const EncoderConfig part =
      read(head + R"("rope_parameters": {"full_attention": {"rope_theta": 70}}})");
  EXPECT_EQ(part.rotary_theta, (std::vector<double>{70, 10000, 10000, 70}));
}

TEST(EncoderConfig, WidthsThatReachNoNeighbourAreTheTokenItself) {
  for (const char* width : {"0", "1"}) {
    const EncoderConfig modern = read(R"({"model_type": "modernbert", "num_hidden_layers": 2,
                                          "local_attention": )" +
                                      std::string(width) + "}");
    EXPECT_EQ(modern.attention_window, (std::vector<int64_t>{0, 1}));
  }
}

// The first release of Longformer: one-sided windows, in files that call themselves RoBERTa.
TEST(EncoderConfig, OriginalLongformerCountsOneSide) {
  for (const char* type : {R"("model_type": "roberta", )", ""}) {
    const EncoderConfig original =
        read("{" + std::string(type) + R"("num_hidden_layers": 2, "attention_mode": "tvm",
             "attention_window": [256, 32], "attention_dilation": [1, 2], "autoregressive": true,
             "max_position_embeddings": 4098})");
    EXPECT_EQ(original.model_type, "longformer");
    EXPECT_EQ(original.model_class, "LongformerModel");
    EXPECT_EQ(original.attention_window, (std::vector<int64_t>{512, 64}));
    EXPECT_EQ(original.attention_dilation, (std::vector<int64_t>{1, 2}));
    EXPECT_TRUE(original.causal);
    EXPECT_TRUE(original.global_attention);
    EXPECT_EQ(original.max_tokens(), 4096);
  }
  const EncoderConfig full =
      read(R"({"model_type": "roberta", "attention_mode": "n2", "attention_window": [256]})");
  EXPECT_EQ(full.model_class, "RobertaModel");
  EXPECT_TRUE(full.attention_window.empty());
  EXPECT_FALSE(full.global_attention);
}

// The library's own files carry this field.
TEST(EncoderConfig, ModeLongformerIsNoConflict) {
  EXPECT_EQ(read(R"({"model_type": "longformer", "attention_mode": "longformer",
                     "attention_dilation": [1, 1], "num_hidden_layers": 2,
                     "attention_window": 4})")
                .attention_window,
            (std::vector<int64_t>{4, 4}));
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
        Bad{R"({"model_type": "roberta", "position_embedding_type": "relative_key"})",
            "position_embedding_type", kUnsupported},
        Bad{R"({"model_type": "roberta", "max_position_embeddings": 2})", "max_position_embeddings",
            kFile},
        Bad{R"({"model_type": "roberta", "attention_window": [512]})", "both sides or one",
            kUnsupported},
        Bad{R"({"model_type": "modernbert", "hidden_size": 35, "num_attention_heads": 5})", "even",
            kFile},
        Bad{R"({"model_type": "modernbert", "local_attention": -1})", "local_attention", kFile},
        Bad{R"({"model_type": "modernbert", "global_attn_every_n_layers": 0})",
            "global_attn_every_n_layers", kFile},
        Bad{R"({"model_type": "modernbert", "rope_scaling": {"rope_type": "yarn"}})",
            "rope_scaling", kUnsupported},
        Bad{R"({"model_type": "modernbert", "rope_scaling": {"type": "linear", "factor": 2}})",
            "rope_scaling", kUnsupported},
        Bad{R"({"model_type": "modernbert", "rope_parameters":
                {"full_attention": {"rope_type": "dynamic"}}})",
            "rope_parameters.full_attention", kUnsupported},
        Bad{R"({"model_type": "modernbert", "rope_parameters": {"rope_theta": 3}})", "rope_theta",
            kUnsupported},
        Bad{R"({"model_type": "modernbert", "rope_parameters": 3})", "rope_parameters", kFile},
        Bad{R"({"model_type": "modernbert", "global_rope_theta": 0})", "global_rope_theta", kFile},
        Bad{R"({"model_type": "modernbert", "num_hidden_layers": 1, "layer_types": ["chunked"]})",
            "layer_types", kUnsupported},
        Bad{R"({"model_type": "modernbert", "layer_types": ["full_attention"]})",
            "1 values for 22 layers", kFile},
        Bad{R"({"model_type": "roberta", "attention_mode": "sliding_chunks_no_overlap"})",
            "sliding_chunks_no_overlap", kUnsupported},
        Bad{R"({"model_type": "roberta", "attention_mode": "longformer"})", "attention_mode",
            kUnsupported},
        Bad{R"({"attention_mode": "tvm"})", "attention_window is missing", kFile},
        Bad{R"({"attention_mode": "tvm", "attention_window": [0]})", "layer 0 is 0", kFile},
        Bad{R"({"attention_dilation": [0], "attention_window": [4]})",
            "attention_dilation of layer 0", kFile},
        Bad{R"({"attention_dilation": [1, 2], "attention_window": [4]})", "2 values for 12 layers",
            kFile},
        Bad{R"({"model_type": "longformer", "attention_mode": "tvm"})", "attention_mode",
            kUnsupported},
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
