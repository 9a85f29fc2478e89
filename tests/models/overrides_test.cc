// What LoadOptions change, what they refuse, and what they do to positions.
#include "models/overrides.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/random_model.h"

namespace longformer {
namespace {

using Lines = std::vector<std::string>;
using Values = std::vector<int64_t>;
using test::expect_error;

EncoderConfig config(const std::string& type, const std::string& more = "") {
  return read_encoder_config(
      io::Config::parse(R"({"model_type": ")" + type +
                            R"(", "vocab_size": 50, "hidden_size": 16, "num_attention_heads": 2,
             "intermediate_size": 24, "num_hidden_layers": 4, "max_position_embeddings": 20,
             "type_vocab_size": 1)" +
                            more + "}",
                        "config.json"));
}

Lines lines(EncoderConfig& changed, const LoadOptions& options) {
  return apply_overrides(options, changed);
}

TEST(Overrides, NothingIsChangedAndNothingReported) {
  EncoderConfig c = config("longformer", R"(, "attention_window": 8)");
  EXPECT_EQ(lines(c, {}), Lines{});
  EXPECT_EQ(lines(c, {.attention_window = {8}, .attention_dilation = {1}, .max_tokens = 18}),
            Lines{});
  EXPECT_EQ(c.attention_window, Values(4, 8));
  EXPECT_EQ(c.max_tokens(), 18);
}

TEST(Overrides, EachChangeHasALine) {
  EncoderConfig c = config("longformer", R"(, "attention_window": [8, 8, 8, 16])");
  EXPECT_EQ(lines(c, {.attention_window = {4},
                      .attention_dilation = {1, 2, 1, 2},
                      .max_tokens = 40,
                      .positions = PositionScheme::kRepeat}),
            (Lines{"attention_window 8, 8, 8, 16 -> 4", "attention_dilation 1 -> 1, 2, 1, 2",
                   "max_tokens 18 -> 40 (positions repeat)"}));
  EXPECT_EQ(c.attention_window, Values(4, 4));
  EXPECT_EQ(c.attention_dilation, (Values{1, 2, 1, 2}));
  EXPECT_EQ(c.max_tokens(), 40);
}

TEST(Overrides, OneWindowIsForLayersThatHaveOne) {
  EncoderConfig modern = config("modernbert", R"(, "local_attention": 6)");
  EXPECT_EQ(lines(modern, {.attention_window = {10}}),
            Lines{"attention_window full, 6, 6, full -> full, 10, 10, full"});
  EncoderConfig bert = config("bert");
  EXPECT_EQ(lines(bert, {.attention_window = {10}}), Lines{"attention_window full -> 10"});
  EXPECT_EQ(bert.attention_window, Values(4, 10));
}

TEST(Overrides, WidthZeroIsFullAttention) {
  EncoderConfig c = config("longformer", R"(, "attention_window": 8)");
  EXPECT_EQ(lines(c, {.attention_window = {0}}), Lines{"attention_window 8 -> full"});
  EXPECT_TRUE(c.attention_window.empty());
  EncoderConfig original = config("roberta", R"(, "attention_window": [4, 4, 4, 4],
                                              "attention_dilation": [2, 2, 2, 2])");
  EXPECT_EQ(lines(original, {.attention_window = {0, 8, 8, 8}}),
            Lines{"attention_window 8 -> full, 8, 8, 8"});
  EXPECT_EQ(original.attention_dilation, (Values{1, 2, 2, 2}));
}

TEST(Overrides, FewerTokensAreAPlainLimit) {
  EncoderConfig c = config("bert");
  EXPECT_EQ(lines(c, {.max_tokens = 5}), Lines{"max_tokens 20 -> 5"});
  EXPECT_EQ(c.max_tokens(), 5);
  EXPECT_EQ(c.position_scheme, PositionScheme::kTrained);
}

TEST(Overrides, WhatCannotBeIsRefusedByName) {
  const auto refused = [](const std::string& type, const LoadOptions& options, ErrorCode code,
                          const std::vector<std::string>& parts) {
    EncoderConfig c = config(type);
    expect_error(code, parts, [&] { apply_overrides(options, c); });
  };
  constexpr auto kBad = ErrorCode::kInvalidArgument;
  refused("longformer", {.attention_window = {-2}}, kBad, {"attention_window -2", "1 to"});
  refused("longformer", {.attention_window = {4, 4}}, kBad, {"2 values for 4 layers"});
  refused("longformer", {.attention_window = {int64_t{1} << 40}}, kBad, {"attention_window"});
  refused("longformer", {.attention_dilation = {0}}, kBad, {"attention_dilation 0"});
  refused("bert", {.attention_dilation = {2}}, kBad, {"attention_dilation", "attention_window"});
  refused("modernbert", {.attention_dilation = {2, 1, 1, 1}}, kBad, {"layer 0", "everything"});
  refused("bert", {.max_tokens = 21}, kBad, {"max_tokens 21", "20 tokens", "extend", "--to-long"});
  refused("longformer", {.max_tokens = 19}, kBad, {"max_tokens 19", "18 tokens"});
  refused("bert", {.max_tokens = -1}, kBad, {"max_tokens -1"});
  refused("bert", {.max_tokens = 20, .positions = PositionScheme::kExtend}, kBad,
          {"positions extend", "20 tokens"});
  refused("bert", {.positions = PositionScheme::kRepeat}, kBad, {"positions repeat"});
  refused("modernbert", {.max_tokens = 50, .positions = PositionScheme::kRepeat},
          ErrorCode::kUnsupported, {"rotary", "extend"});
}

// A model whose position table is a ramp, so that the row of each token can be seen in what the
// dense definition computes; and the same through the engine.
class LongerThanTheTable : public testing::TestWithParam<PositionScheme> {};

TEST_P(LongerThanTheTable, ReadsThePositionsOfTheFormula) {
  for (const char* type : {"bert", "roberta", "longformer"}) {
    const std::string json = R"({"model_type": ")" + std::string(type) +
                             R"(", "vocab_size": 50, "hidden_size": 16, "num_attention_heads": 2,
            "intermediate_size": 24, "num_hidden_layers": 1, "max_position_embeddings": 13,
            "type_vocab_size": 1, "pad_token_id": 2})";
    EncoderConfig changed = read_encoder_config(io::Config::parse(json, "config.json"));
    const test::Tensors tensors = test::random_tensors(changed, 4);
    test::TemporaryDirectory directory;
    test::write_checkpoint(directory.path(), json, changed, tensors);
    const LoadOptions options{.threads = 1, .max_tokens = 37, .positions = GetParam()};
    apply_overrides(options, changed);
    Encoder encoder = Encoder::load(directory.path(), options);
    EXPECT_EQ(encoder.info().max_tokens, 37);
    EXPECT_EQ(encoder.info().overrides.size(), 1u);
    EncoderInput text;
    text.lengths = {37};
    for (int64_t t = 0; t < 37; ++t) text.input_ids.push_back(3 + t % 40);
    const std::vector<double> want = test::reference_encoder(changed, tensors, text).last;
    const std::vector<float> got = encoder.encode(text).last_hidden_state;
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-5) << type << " " << i;
    text.lengths = {38};
    text.input_ids.push_back(5);
    expect_error(ErrorCode::kInvalidArgument, {"38 tokens", "at most 37"},
                 [&] { encoder.encode(text); });
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, LongerThanTheTable,
                         testing::Values(PositionScheme::kRepeat, PositionScheme::kExtend));

// Rotary angles go on: a text longer than the training gives what a model trained on more gives.
TEST(RotaryPositions, GoOnBeyondTheTraining) {
  const std::string head =
      R"({"model_type": "modernbert", "vocab_size": 50, "hidden_size": 16,
          "num_attention_heads": 2, "intermediate_size": 24, "num_hidden_layers": 2,
          "local_attention": 6, "max_position_embeddings": )";
  const EncoderConfig trained = read_encoder_config(io::Config::parse(head + "8}", "c"));
  const test::Tensors tensors = test::random_tensors(trained, 4);
  test::TemporaryDirectory shorter, longer;
  test::write_checkpoint(shorter.path(), head + "8}", trained, tensors);
  test::write_checkpoint(longer.path(), head + "64}", trained, tensors);
  EncoderInput text;
  text.lengths = {40};
  for (int64_t t = 0; t < 40; ++t) text.input_ids.push_back(3 + t % 40);
  Encoder extended = Encoder::load(
      shorter.path(), {.threads = 1, .max_tokens = 40, .positions = PositionScheme::kExtend});
  EXPECT_EQ(extended.info().overrides, Lines{"max_tokens 8 -> 40 (positions extend)"});
  EXPECT_EQ(extended.encode(text).last_hidden_state,
            Encoder::load(longer.path(), {.threads = 1}).encode(text).last_hidden_state);
}

}  // namespace
}  // namespace longformer
