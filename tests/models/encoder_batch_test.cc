// Positions by each family's rule, and batches that cannot be computed.
#include "models/encoder_batch.h"

#include <gtest/gtest.h>

namespace longformer {
namespace {

EncoderConfig config(const std::string& type, const std::string& more = "") {
  return read_encoder_config(io::Config::parse(
      R"({"model_type": ")" + type +
          R"(", "vocab_size": 50, "max_position_embeddings": 12, "type_vocab_size": 1)" + more +
          "}",
      "config.json"));
}

EncoderInput text(std::vector<int64_t> ids) {
  EncoderInput input;
  input.lengths = {static_cast<int64_t>(ids.size())};
  input.input_ids = std::move(ids);
  return input;
}

using Positions = std::vector<int64_t>;

TEST(Positions, LongformerCountsIdsThatAreNotPadding) {
  const EncoderConfig longformer = config("longformer");  // pad 1
  EXPECT_EQ(prepare_batch(longformer, text({5, 6, 7})).positions, (Positions{2, 3, 4}));
  EXPECT_EQ(prepare_batch(longformer, text({5, 6, 1, 1})).positions, (Positions{2, 3, 1, 1}));
  EXPECT_EQ(prepare_batch(longformer, text({1, 1, 5, 6})).positions, (Positions{1, 1, 2, 3}));
  EXPECT_EQ(prepare_batch(longformer, text({5, 1, 6})).positions, (Positions{2, 1, 3}));
}

// The rule looks at ids, never at the mask: a masked token with an ordinary id still counts.
TEST(Positions, LongformerIgnoresTheMask) {
  EncoderInput input = text({5, 6, 7, 8});
  input.attention_mask = {1, 0, 1, 1};
  EXPECT_EQ(prepare_batch(config("longformer"), input).positions, (Positions{2, 3, 4, 5}));
}

TEST(Positions, BertCountsEverything) {
  EXPECT_EQ(prepare_batch(config("bert"), text({0, 0, 5, 6})).positions, (Positions{0, 1, 2, 3}));
}

TEST(Positions, GivenOnesAreTaken) {
  EncoderInput input = text({5, 6, 7});
  input.position_ids = {11, 0, 3};
  EXPECT_EQ(prepare_batch(config("longformer"), input).positions, (Positions{11, 0, 3}));
}

TEST(Positions, StartAgainInEachSequence) {
  EncoderInput input = text({5, 6, 7, 8, 9});
  input.lengths = {2, 3};
  EXPECT_EQ(prepare_batch(config("bert"), input).positions, (Positions{0, 1, 0, 1, 2}));
  EXPECT_EQ(prepare_batch(config("longformer"), input).first_rows, (Positions{0, 2}));
}

// 12 rows, pad 1: ten tokens; padding beside them does not count.
TEST(Positions, LengthLimitCountsRealTokens) {
  const EncoderConfig longformer = config("longformer");
  EXPECT_EQ(prepare_batch(longformer, text(Positions(10, 5))).positions.back(), 11);
  EXPECT_THROW(prepare_batch(longformer, text(Positions(11, 5))), Error);
  Positions padded(10, 5);
  padded.insert(padded.end(), 20, 1);
  EXPECT_NO_THROW(prepare_batch(longformer, text(padded)));
  EXPECT_NO_THROW(prepare_batch(config("bert"), text(Positions(12, 5))));
  EXPECT_THROW(prepare_batch(config("bert"), text(Positions(13, 5))), Error);
}

// Rotary positions have no table: no row to run out of, and no other use than angles.
TEST(Positions, RotaryOnesAreFree) {
  const EncoderConfig modern = config("modernbert");
  EncoderInput input = text({50 - 1, 6, 7});
  EXPECT_EQ(prepare_batch(modern, input).positions, (Positions{0, 1, 2}));
  input.position_ids = {500'000, 0, 3};
  EXPECT_EQ(prepare_batch(modern, input).positions, (Positions{500'000, 0, 3}));
  input.position_ids = {-1, 0, 3};
  EXPECT_THROW(prepare_batch(modern, input), Error);
  input.position_ids = {int64_t{1} << 40, 0, 3};
  EXPECT_THROW(prepare_batch(modern, input), Error);
}

TEST(Positions, RobertaCountsAsLongformerDoes) {
  for (const char* type : {"roberta", "xlm-roberta", "camembert"}) {
    const EncoderConfig roberta = config(type);
    EXPECT_EQ(prepare_batch(roberta, text({1, 5, 1, 6})).positions, (Positions{1, 2, 1, 3}));
    EXPECT_THROW(prepare_batch(roberta, text(Positions(11, 5))), Error);
  }
}

void expect_refused(const std::string& type, const EncoderInput& input, const std::string& says) {
  try {
    prepare_batch(config(type), input);
    FAIL() << "accepted; should say " << says;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(PrepareBatch, RefusesByNameAndPlace) {
  expect_refused("bert", text({5, 50}), "id 50 (sequence 0, token 1)");
  expect_refused("bert", text({-1}), "id -1");
  EncoderInput types = text({5, 6});
  types.token_type_ids = {0, 1};
  expect_refused("longformer", types, "token type 1 (sequence 0, token 1)");
  expect_refused("modernbert", types, "without types");
  types.token_type_ids = {0, 0};
  EXPECT_NO_THROW(prepare_batch(config("modernbert"), types));
  EncoderInput positions = text({5, 6});
  positions.position_ids = {0, 12};
  expect_refused("bert", positions, "position 12");
  EncoderInput mask = text({5, 6});
  mask.attention_mask = {1};
  expect_refused("bert", mask, "attention_mask holds 1");
  EncoderInput global = text({5, 6});
  global.global_attention_mask = {1, 0};
  expect_refused("bert", global, "global");
  EncoderInput lengths = text({5, 6});
  lengths.lengths = {3};
  expect_refused("bert", lengths, "add up to 3");
  EncoderInput empty = text({5, 6});
  empty.lengths = {2, 0};
  expect_refused("bert", empty, "sequence 1 has length 0");
}

TEST(AttentionPatternOfBatch, MasksBecomeRanges) {
  EncoderInput input = text({5, 6, 7, 8, 1, 9});
  input.attention_mask = {0, 1, 1, 0, 0, 1};
  input.global_attention_mask = {1, 0, 1, 0, 0, 0};
  const AttentionPattern pattern = attention_pattern(config("longformer"), input);
  EXPECT_EQ(pattern.valid, (std::vector<std::vector<Interval>>{{{1, 3}, {5, 6}}}));
  EXPECT_TRUE(is_global(pattern, 0, 2));
  EXPECT_FALSE(is_global(pattern, 0, 0));  // padding beats global
}

TEST(AttentionPatternOfBatch, EachLayerHasItsWindowAndDilation) {
  const EncoderConfig original = config(
      "roberta", R"(, "num_hidden_layers": 2, "num_attention_heads": 3, "attention_mode": "tvm",
                      "autoregressive": true, "attention_window": [4, 6],
                      "attention_dilation": [1, 2])");
  AttentionPattern pattern = attention_pattern(original, text({5, 6}));
  set_layer(original, 1, pattern);
  EXPECT_EQ(pattern.window, (Window{6, 0}));
  EXPECT_EQ(pattern.dilation, (std::vector<int64_t>{2, 2, 2}));
  set_layer(original, 0, pattern);
  EXPECT_EQ(pattern.window, (Window{4, 0}));
  EXPECT_TRUE(pattern.dilation.empty());
  const EncoderConfig modern = config("modernbert", R"(, "local_attention": 5)");
  set_layer(modern, 1, pattern);
  EXPECT_EQ(pattern.window, (Window{2, 2}));
  set_layer(modern, 0, pattern);
  EXPECT_FALSE(pattern.window.has_value());
}

}  // namespace
}  // namespace longformer
