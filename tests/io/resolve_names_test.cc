#include "io/checkpoint/checkpoint.h"
#include "io/testing.h"

namespace longformer::io {
namespace {

using Names = std::vector<std::string>;

class ResolveNames : public DirectoryTest {
 protected:
  Checkpoint checkpoint(const std::vector<std::pair<std::string, Shape>>& tensors) const {
    put("model.safetensors", zeros_file(tensors));
    return Checkpoint::open(directory_);
  }

  static Names sources(const Resolution& resolution) {
    Names names;
    for (const ResolvedTensor& tensor : resolution.tensors) names.push_back(tensor.source);
    return names;
  }

  const std::vector<ExpectedTensor> expected_ = {{"embeddings.weight", {4, 2}},
                                                 {"embeddings.LayerNorm.weight", {2}},
                                                 {"embeddings.LayerNorm.bias", {2}}};
  const Names prefixes_ = {"bert.", "longformer"};  // with and without the dot
};

TEST_F(ResolveNames, BareNames) {
  const Resolution result = resolve_names(checkpoint({{"embeddings.LayerNorm.bias", {2}},
                                                      {"embeddings.LayerNorm.weight", {2}},
                                                      {"embeddings.weight", {4, 2}}}),
                                          expected_, prefixes_);
  const Names all = {"embeddings.weight", "embeddings.LayerNorm.weight",
                     "embeddings.LayerNorm.bias"};
  EXPECT_EQ(sources(result), all);
  EXPECT_EQ(result.report.loaded, all);
  EXPECT_TRUE(result.report.missing.empty());
  EXPECT_TRUE(result.report.unexpected.empty());
  EXPECT_TRUE(result.report.converted.empty());
}

TEST_F(ResolveNames, StripsWrappersAndBasePrefixesInAnyMixture) {
  for (const std::string prefix : {"bert.", "longformer.", "module.", "model.", "module.bert.",
                                   "model.longformer.", "module.model.bert.", "model.module."}) {
    const Resolution result =
        resolve_names(checkpoint({{prefix + "embeddings.weight", {4, 2}},
                                  {"embeddings.LayerNorm.weight", {2}},
                                  {prefix + "embeddings.LayerNorm.bias", {2}}}),
                      expected_, prefixes_);
    EXPECT_EQ(sources(result), (Names{prefix + "embeddings.weight", "embeddings.LayerNorm.weight",
                                      prefix + "embeddings.LayerNorm.bias"}));
    EXPECT_EQ(result.report.loaded.size(), 3u);
  }
}

TEST_F(ResolveNames, DoesNotStripWhatMakesNoMatch) {
  const std::vector<ExpectedTensor> expected = {{"model.weight", {1}}, {"bert.bias", {1}}};
  const Resolution result = resolve_names(
      checkpoint({{"model.weight", {1}}, {"bert.bias", {1}}, {"other.bert.bias", {1}}}), expected,
      prefixes_);
  EXPECT_EQ(sources(result), (Names{"model.weight", "bert.bias"}));
  EXPECT_EQ(result.report.unexpected, Names{"other.bert.bias"});
}

TEST_F(ResolveNames, RenamesGammaAndBetaOnlyAfterLayerNorm) {
  std::vector<ExpectedTensor> expected = expected_;
  expected.push_back({"scale.gamma", {1}});
  const Resolution result = resolve_names(checkpoint({{"bert.embeddings.weight", {4, 2}},
                                                      {"bert.embeddings.LayerNorm.gamma", {2}},
                                                      {"bert.embeddings.LayerNorm.beta", {2}},
                                                      {"bert.scale.gamma", {1}},
                                                      {"bert.preLayerNorm.gamma", {1}}}),
                                          expected, prefixes_);
  EXPECT_EQ(sources(result), (Names{"bert.embeddings.weight", "bert.embeddings.LayerNorm.gamma",
                                    "bert.embeddings.LayerNorm.beta", "bert.scale.gamma"}));
  EXPECT_EQ(result.report.converted,
            (Names{"bert.embeddings.LayerNorm.gamma -> embeddings.LayerNorm.weight",
                   "bert.embeddings.LayerNorm.beta -> embeddings.LayerNorm.bias"}));
  EXPECT_EQ(result.report.unexpected, Names{"bert.preLayerNorm.gamma"});
}

TEST_F(ResolveNames, IgnoresBuffersAndReportsHeadsSorted) {
  const Resolution result = resolve_names(checkpoint({{"bert.embeddings.weight", {4, 2}},
                                                      {"bert.embeddings.LayerNorm.weight", {2}},
                                                      {"bert.embeddings.LayerNorm.bias", {2}},
                                                      {"head.10.weight", {1}},
                                                      {"head.9.weight", {1}},
                                                      {"cls.bias", {1}},
                                                      {"position_ids", {1}},
                                                      {"bert.embeddings.position_ids", {1, 514}},
                                                      {"bert.embeddings.token_type_ids", {1}},
                                                      {"bert.embeddings.my_position_ids", {1}}}),
                                          expected_, prefixes_);
  EXPECT_EQ(result.report.unexpected, (Names{"bert.embeddings.my_position_ids", "cls.bias",
                                             "head.9.weight", "head.10.weight"}));
}

TEST_F(ResolveNames, OptionalAndFallbackTensors) {
  const std::vector<ExpectedTensor> expected = {
      {"query.weight", {2, 2}},
      {"query_global.weight", {2, 2}, false, "query.weight"},
      {"pooler.weight", {2}, true},
      {"pooler.bias", {2}, true}};
  const Resolution without = resolve_names(
      checkpoint({{"bert.query.weight", {2, 2}}, {"bert.pooler.bias", {2}}}), expected, prefixes_);
  EXPECT_EQ(sources(without),
            (Names{"bert.query.weight", "bert.query.weight", "", "bert.pooler.bias"}));
  EXPECT_EQ(without.report.loaded, (Names{"query.weight", "pooler.bias"}));
  EXPECT_EQ(without.report.missing, Names{"pooler.weight"});
  EXPECT_EQ(without.report.converted, Names{"query.weight -> query_global.weight"});

  const Resolution with = resolve_names(
      checkpoint({{"query.weight", {2, 2}}, {"query_global.weight", {2, 2}}}), expected, prefixes_);
  EXPECT_EQ(sources(with), (Names{"query.weight", "query_global.weight", "", ""}));
  EXPECT_TRUE(with.report.converted.empty());
}

TEST_F(ResolveNames, TiedTensorsServeInEitherDirection) {
  const std::string word = "embeddings.word_embeddings.weight";
  const std::vector<ExpectedTensor> expected = {{word, {4, 2}}};
  for (const std::string prefix : {"", "module.", "model."}) {
    for (const std::string head : {"lm_head.decoder.weight", "cls.predictions.decoder.weight"}) {
      const Resolution only_head = resolve_names(
          checkpoint({{prefix + head, {4, 2}}, {"lm_head.bias", {4}}}), expected, prefixes_);
      EXPECT_EQ(sources(only_head), Names{prefix + head});
      EXPECT_TRUE(only_head.report.loaded.empty());
      EXPECT_EQ(only_head.report.converted, Names{prefix + head + " -> " + word});
      EXPECT_EQ(only_head.report.unexpected, Names{"lm_head.bias"});
    }
  }
  const Resolution both =
      resolve_names(checkpoint({{"lm_head.decoder.weight", {4, 2}}, {"bert." + word, {4, 2}}}),
                    expected, prefixes_);
  EXPECT_EQ(sources(both), Names{"bert." + word});
  EXPECT_EQ(both.report.unexpected, Names{"lm_head.decoder.weight"});
  // A model with the head: the embedding serves where the decoder is absent.
  const std::vector<ExpectedTensor> with_head = {{word, {4, 2}},
                                                 {"lm_head.decoder.weight", {4, 2}, false, word}};
  const Resolution only_word =
      resolve_names(checkpoint({{"bert." + word, {4, 2}}}), with_head, prefixes_);
  EXPECT_EQ(sources(only_word), (Names{"bert." + word, "bert." + word}));
  EXPECT_EQ(only_word.report.converted, Names{word + " -> lm_head.decoder.weight"});
  const Resolution only_decoder =
      resolve_names(checkpoint({{"lm_head.decoder.weight", {4, 2}}}), with_head, prefixes_);
  EXPECT_EQ(sources(only_decoder), (Names{"lm_head.decoder.weight", "lm_head.decoder.weight"}));
  // A head of another width is no embedding, and says so.
  expect_error(ErrorCode::kInvalidFile, {"lm_head.decoder.weight", "[5, 2]", "[4, 2]"}, [&] {
    resolve_names(checkpoint({{"lm_head.decoder.weight", {5, 2}}}), expected, prefixes_);
  });
}

TEST_F(ResolveNames, MissingCoreTensorsAreAnErrorThatNamesThem) {
  expect_error(
      ErrorCode::kInvalidFile,
      {"lacks 2 of the model's 3", "embeddings.weight, embeddings.LayerNorm.bias", "bert.",
       "longformer.", "module."},
      [&] {
        resolve_names(checkpoint({{"embeddings.LayerNorm.weight", {2}}}), expected_, prefixes_);
      });
  expect_error(ErrorCode::kInvalidFile, {"none of the model's 3", "t5.shared"}, [&] {
    resolve_names(checkpoint({{"t5.shared", {2}}}), expected_, prefixes_);
  });
  expect_error(ErrorCode::kInvalidFile, {"none of", "empty"},
               [&] { resolve_names(checkpoint({}), expected_, prefixes_); });
  // A fallback that is missing itself does not help.
  expect_error(ErrorCode::kInvalidFile, {"lacks 2 of", "a, b"}, [&] {
    resolve_names(checkpoint({{"c", {1}}}), {{"c", {1}}, {"a", {1}}, {"b", {1}, false, "a"}},
                  prefixes_);
  });
  std::vector<ExpectedTensor> many = {{"c", {1}}};
  for (int i = 0; i < 20; ++i) many.push_back({"layer." + std::to_string(i), {1}});
  expect_error(ErrorCode::kInvalidFile, {"layer.7 and 12 more"}, [&] {
    resolve_names(checkpoint({{"c", {1}}}), many, prefixes_);
  });
}

TEST_F(ResolveNames, WrongShapesAreAnErrorWithBoth) {
  expect_error(ErrorCode::kInvalidFile, {"bert.embeddings.weight", "[2, 4]", "[4, 2]"}, [&] {
    resolve_names(checkpoint({{"bert.embeddings.weight", {2, 4}},
                              {"embeddings.LayerNorm.weight", {2}},
                              {"embeddings.LayerNorm.bias", {2}}}),
                  expected_, prefixes_);
  });
  // A tensor without elements is not a missing one.
  expect_error(ErrorCode::kInvalidFile, {"[0]", "[1]"}, [&] {
    resolve_names(checkpoint({{"w", {0}}}), {{"w", {1}, true}}, prefixes_);
  });
}

TEST_F(ResolveNames, TwoCandidatesForOneTensorAreAnErrorWithBoth) {
  expect_error(ErrorCode::kInvalidFile, {"bert.w", "longformer.w"}, [&] {
    resolve_names(checkpoint({{"bert.w", {1}}, {"longformer.w", {1}}}), {{"w", {1}}}, prefixes_);
  });
  expect_error(ErrorCode::kInvalidFile, {"LayerNorm.gamma", "LayerNorm.weight"}, [&] {
    resolve_names(checkpoint({{"LayerNorm.gamma", {1}}, {"LayerNorm.weight", {1}}}),
                  {{"LayerNorm.weight", {1}}}, prefixes_);
  });
}

}  // namespace
}  // namespace longformer::io
