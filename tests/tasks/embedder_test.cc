// The public header, used as a program would.
#include "longformer/embedder.h"

#include <gtest/gtest.h>

#include "tasks/tiny_model.h"

namespace longformer {
namespace {

const std::string kText =
    "The old dog sleeps in the barn. Rain comes.\n\nThe river runs deep in the night. Snow.";

class EmbedderTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(directory_.path(), "longformer", 34);
    test::put_pooling(directory_.path(), R"({"pooling_mode": "mean"})", true);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(EmbedderTest, SaysWhatItIs) {
  const Embedder embedder = Embedder::load(directory_.path());
  EXPECT_EQ(embedder.dimension(), 16);
  EXPECT_EQ(embedder.max_tokens(), 32);
  EXPECT_EQ(embedder.pooling(), std::vector<Pooling>{Pooling::kMean});
  EXPECT_TRUE(embedder.normalized());
  EXPECT_EQ(embedder.info().model_type, "longformer");
  EXPECT_EQ(embedder.count_tokens("The fox."), 5);  // special tokens counted
  EmbedderOptions options;
  options.pooling = Pooling::kMax;
  options.prompt = "rain ";
  const Embedder other = Embedder::load(directory_.path(), options);
  EXPECT_EQ(other.pooling(), std::vector<Pooling>{Pooling::kMax});
  EXPECT_EQ(other.prompt(), "rain ");
  EXPECT_EQ(other.max_tokens(), 31);
}

TEST_F(EmbedderTest, EmbedsTextsOfAnyLength) {
  Embedder embedder = Embedder::load(directory_.path(), {.load = {.threads = 1}});
  const Embedding one = embedder.embed("The fox runs.", {});
  EXPECT_EQ(one.values.size(), 16u);
  EXPECT_EQ(one.tokens, 4);
  EXPECT_EQ(one.windows, 1);
  EXPECT_EQ(embedder.embed("The fox runs."), one.values);
  std::string text;
  for (int i = 0; i < 10; ++i) text += kText + "\n\n";
  EXPECT_GT(embedder.embed(text, {}).windows, 1);
  EXPECT_EQ(embedder.embed("").size(), 16u);
  EXPECT_EQ(embedder.embed("\xFF\xFE").size(), 16u);
  EXPECT_EQ(embedder.embed("The fox runs."), one.values);  // nothing is left behind
}

TEST_F(EmbedderTest, EmbedsPassages) {
  Embedder embedder = Embedder::load(directory_.path());
  PassageEmbedOptions options;
  options.passage_tokens = 16;
  const auto inside = embedder.embed_passages(kText, options);
  options.document_context = false;
  const auto alone = embedder.embed_passages(kText, options);
  ASSERT_EQ(inside.size(), 2u);
  ASSERT_EQ(alone.size(), 2u);
  EXPECT_EQ(inside[1].byte_begin, static_cast<int64_t>(kText.find("The river")));
  EXPECT_EQ(inside[1].byte_end, static_cast<int64_t>(kText.size()));
  EXPECT_EQ(inside[1].line_begin, 3);
  EXPECT_EQ(alone[0].values, embedder.embed("The old dog sleeps in the barn. Rain comes."));
  EXPECT_NE(inside[0].values, alone[0].values);
  options.passage_tokens = 33;
  test::expect_error(ErrorCode::kInvalidArgument, {"33"},
                     [&] { embedder.embed_passages(kText, options); });
}

TEST_F(EmbedderTest, CanBeStopped) {
  Embedder embedder = Embedder::load(directory_.path());
  EmbedOptions options;
  options.cancelled = [] { return true; };
  test::expect_error(ErrorCode::kCancelled, {}, [&] { embedder.embed("The fox", options); });
}

}  // namespace
}  // namespace longformer
