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

}  // namespace
}  // namespace longformer
